/* machine.h - where and how a result was made: machine, build, commit, processors, memory. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <inttypes.h>
#include <malloc.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <axo/version.h>

#include "clock.h"

/* The Makefile says how this program and the library were built. */
#ifndef BENCH_VARIANT
#define BENCH_VARIANT "unknown"
#endif
#ifndef BENCH_FLAGS
#define BENCH_FLAGS "unknown"
#endif
#if defined(__clang__)
#define BENCH_COMPILER "clang " __VERSION__
#else
#define BENCH_COMPILER "gcc " __VERSION__
#endif
#define BENCH_COMMIT_MAX 64

/* Processors that this process may run on. */
static inline int machine_cpus(void)
{
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
}

/* The first line of what a command prints, without its end; "" if there is none. */
static inline void machine_ask(const char *command, char *out, int size)
{
    FILE *pipe = popen(command, "r");
    if (pipe == NULL || fgets(out, size, pipe) == NULL)
        out[0] = '\0';
    if (pipe != NULL)
        (void)pclose(pipe); /* what it printed is all that counts */
    out[strcspn(out, "\n")] = '\0';
}

/* The commit of the checkout that the program is started in, "-dirty" if tracked files differ from
 * it; "unknown" outside of one. */
static inline void machine_commit(char out[BENCH_COMMIT_MAX])
{
    char changed[16];
    machine_ask("git rev-parse HEAD 2>/dev/null", out, BENCH_COMMIT_MAX - 8);
    if (out[0] == '\0') {
        (void)snprintf(out, BENCH_COMMIT_MAX, "unknown");
        return;
    }
    machine_ask("git status --porcelain --untracked-files=no 2>/dev/null", changed, sizeof changed);
    if (changed[0] != '\0')
        strcat(out, "-dirty");
}

/* What the processor calls itself. */
static inline void machine_cpu(char cpu[256])
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "r");
    (void)strcpy(cpu, "unknown");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "model name : %255[^\n\"\\]", cpu) == 1)
            break;
    }
    if (file != NULL)
        (void)fclose(file); /* only read */
}

/* Writes the machine as the inside of a JSON object. */
static inline void machine_json(FILE *out)
{
    char cpu[256];
    double load = 0.0;
    struct utsname kernel = {.release = "unknown"};
    machine_cpu(cpu);
    (void)uname(&kernel);         /* else "unknown" */
    (void)getloadavg(&load, 1);   /* else 0 */
    (void)fprintf(out, "\"cpu\":\"%s\",\"cpus\":%d,\"kernel\":\"%s\",\"load\":%.2f", cpu,
                  machine_cpus(), kernel.release, load);
}

/* Writes the build as the inside of a JSON object. */
static inline void machine_build_json(FILE *out)
{
    (void)fprintf(out,
                  "\"compiler\":\"%s\",\"flags\":\"%s\",\"variant\":\"%s\",\"library\":\"%s\"",
                  BENCH_COMPILER, BENCH_FLAGS, BENCH_VARIANT, axo_version());
}

/* ---- processors ---------------------------------------------------------------------------- */

/* Seconds of processor time, of this process and of all; and the wall's. */
typedef struct bench_usage_mark {
    double own;
    double all;
    uint64_t wall_ns;
} bench_usage_mark;

static inline double bench_all_seconds(void)
{
    uint64_t used[8] = {0};
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL)
        return 0.0;
    int read =
        fscanf(file,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64,
               &used[0], &used[1], &used[2], &used[3], &used[4], &used[5], &used[6], &used[7]);
    (void)fclose(file); /* only read */
    if (read != 8)
        return 0.0;
    uint64_t busy = used[0] + used[1] + used[2] + used[5] + used[6] + used[7];
    return (double)busy / 100.0; /* USER_HZ is 100 on every Linux ABI that matters here */
}

static inline double bench_seconds_of(const struct rusage *used)
{
    return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
           (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e6;
}

static inline void bench_mark(bench_usage_mark *mark)
{
    struct rusage own;
    (void)getrusage(RUSAGE_SELF, &own); /* cannot fail with these arguments */
    mark->own = bench_seconds_of(&own);
    (void)getrusage(RUSAGE_CHILDREN, &own); /* those that have been waited for, and theirs */
    mark->own += bench_seconds_of(&own);
    mark->all = bench_all_seconds();
    mark->wall_ns = clock_ns();
}

/* The share of all processors that other processes used between two marks. */
static inline double bench_foreign(const bench_usage_mark *from, const bench_usage_mark *to)
{
    double wall = (double)(to->wall_ns - from->wall_ns) / 1e9 * (double)machine_cpus();
    double foreign = (to->all - from->all) - (to->own - from->own);
    return foreign > 0.0 && wall > 0.0 ? foreign / wall : 0.0;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Gives back what the C library keeps, and makes the peak of the resident set start anew, where the
 * kernel lets us. */
static inline void bench_peak_reset(void)
{
    (void)malloc_trim(0); /* 0: there was nothing to give back */
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL)
        return;
    (void)fputs("5", file); /* without it the peak is the program's, not the run's */
    (void)fclose(file);
}

/* A line of /proc/self/status in bytes: "VmHWM", "VmRSS". */
static inline uint64_t bench_status_bytes(const char *name)
{
    char line[256];
    uint64_t kib = 0;
    size_t length = strlen(name);
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            kib = strtoull(line + length + 1, NULL, 10);
            break;
        }
    }
    (void)fclose(file); /* only read */
    return kib * 1024;
}

static inline uint64_t bench_peak_bytes(void)
{
    return bench_status_bytes("VmHWM");
}

static inline uint64_t bench_resident_bytes(void)
{
    return bench_status_bytes("VmRSS");
}

#endif
