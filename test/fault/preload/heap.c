/* heap.c - each block that is taken from the C library's heap, for a whole program (LD_PRELOAD):
 * who has called for it, as the names of the modules and functions on the stack.
 *
 * A program that looks for heap_watch by dlsym says with it which blocks are meant: heap_watch(1)
 * begins, heap_watch(0) ends. For each that is taken meanwhile a line goes to the standard error:
 *
 *   heap: 48 bytes by libaxo.so.0 libaxo.so.0 heap_world libc.so.6
 *   heap: 288 bytes by ld-linux-x86-64.so.2 _dl_allocate_tls ...
 *
 * and heap_watch returns their number, so far. The program asks for no memory itself meanwhile. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#define PUBLIC __attribute__((visibility("default")))
#define FRAMES 12
#define LINE   1024

/* glibc's own. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static atomic_bool watched;
static atomic_ulong taken;
static _Thread_local bool inside; /* what the report itself takes */

typedef struct report {
    size_t length;
    unsigned frames;
    char text[LINE];
} report;

static void report_add(report *it, const char *text)
{
    const char *slash = strrchr(text, '/');
    int room = (int)(sizeof it->text - it->length);
    int length = snprintf(it->text + it->length, (size_t)room, " %s",
                          slash != NULL ? slash + 1 : text);
    it->length += (size_t)(length < room ? length : room - 1);
}

static _Unwind_Reason_Code report_frame(struct _Unwind_Context *context, void *arg)
{
    report *it = arg;
    Dl_info info;
    uintptr_t pc = _Unwind_GetIP(context);
    if (pc == 0 || it->frames++ == FRAMES)
        return _URC_END_OF_STACK;
    if (dladdr((void *)(pc - 1), &info) == 0 || info.dli_fname == NULL)
        report_add(it, "?");
    else if (strstr(info.dli_fname, "/heap.so") == NULL) {
        report_add(it, info.dli_fname);
        if (info.dli_sname != NULL)
            report_add(it, info.dli_sname);
    }
    return _URC_NO_REASON;
}

static void report_block(size_t size)
{
    report it = {0};
    if (!atomic_load(&watched) || inside)
        return;
    inside = true;
    atomic_fetch_add(&taken, 1);
    it.length = (size_t)snprintf(it.text, sizeof it.text, "heap: %zu bytes by", size);
    (void)_Unwind_Backtrace(report_frame, &it);
    it.text[it.length < LINE - 1 ? it.length++ : LINE - 1] = '\n';
    (void)!write(STDERR_FILENO, it.text, it.length);
    inside = false;
}

PUBLIC unsigned long heap_watch(int on);
PUBLIC unsigned long heap_watch(int on)
{
    atomic_store(&watched, on != 0);
    return atomic_load(&taken);
}

PUBLIC void *malloc(size_t size)
{
    report_block(size);
    return __libc_malloc(size);
}

PUBLIC void *calloc(size_t count, size_t size)
{
    report_block(count * size);
    return __libc_calloc(count, size);
}

PUBLIC void *realloc(void *block, size_t size)
{
    report_block(size);
    return __libc_realloc(block, size);
}

PUBLIC void *memalign(size_t align, size_t size);
PUBLIC void *memalign(size_t align, size_t size)
{
    report_block(size);
    return __libc_memalign(align, size);
}

PUBLIC void *aligned_alloc(size_t align, size_t size)
{
    report_block(size);
    return __libc_memalign(align, size);
}

PUBLIC int posix_memalign(void **out, size_t align, size_t size)
{
    report_block(size);
    *out = __libc_memalign(align, size);
    return *out != NULL ? 0 : 12;
}
