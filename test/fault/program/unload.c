/* unload.c - loads libaxo.so, runs a system, and unloads it, again and again: no thread and no
 * mapping of it is left.
 *
 *     unload build/debug/libaxo.so.0.1.0 50 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "support/census.h"

/* What is called of it, found anew in each round. */
typedef struct unload_calls {
    axo_status (*start)(const axo_options *options, axo_system **out);
    axo_status (*spawn)(axo_system *system, const axo_props *props, axo_ref *out);
    axo_status (*send)(axo_system *system, axo_ref to, uint32_t tag, const void *payload,
                       size_t size);
    axo_status (*stop)(axo_system *system, int64_t timeout_ns, axo_late *late, uint32_t late_max,
                       uint32_t *late_count);
    axo_status (*destroy)(axo_system *system);
    axo_status (*fail)(axo_ctx *ctx, int32_t code, const char *format, ...);
} unload_calls;

static unload_calls unload_axo;
static unsigned unload_handled;

static void unload_find(void *library, const char *name, void *call)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        (void)printf("%s is not in it\n", name);
        exit(1);
    }
    memcpy(call, &found, sizeof found);
}

static axo_status unload_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)__atomic_add_fetch(&unload_handled, 1, __ATOMIC_RELAXED);
    return message->tag % 3 == 0 ? unload_axo.fail(ctx, 1, "every third") : AXO_OK;
}

/* Whether a file with this in its name is mapped; and how many mappings there are. */
static unsigned unload_mappings(const char *name, unsigned *of_it)
{
    char line[1024];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    *of_it = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        count++;
        *of_it += strstr(line, name) != NULL;
    }
    if (maps != NULL)
        (void)fclose(maps);
    return count;
}

static int unload_round(const char *path, unsigned round)
{
    static const axo_class cls = AXO_CLASS(.name = "guest", .receive = unload_receive);
    axo_options options = AXO_OPTIONS(.workers = 1 + round % 4);
    axo_props props = AXO_PROPS(.cls = &cls, .dispatcher = round % 3);
    axo_system *system = NULL;
    axo_ref ref;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)printf("round %u: %s\n", round, dlerror());
        return 1;
    }
    unload_find(library, "axo_system_start", (void *)&unload_axo.start);
    unload_find(library, "axo_system_spawn", (void *)&unload_axo.spawn);
    unload_find(library, "axo_system_send", (void *)&unload_axo.send);
    unload_find(library, "axo_system_stop", (void *)&unload_axo.stop);
    unload_find(library, "axo_system_destroy", (void *)&unload_axo.destroy);
    unload_find(library, "axo_fail", (void *)&unload_axo.fail);
    axo_status status = unload_axo.start(&options, &system);
    for (unsigned i = 0; status == AXO_OK && i < 8; i++) {
        status = unload_axo.spawn(system, &props, &ref);
        for (uint32_t tag = 1; status == AXO_OK && tag <= 10; tag++)
            status = unload_axo.send(system, ref, tag, NULL, 0);
    }
    if (status == AXO_OK)
        status = unload_axo.stop(system, INT64_C(30000000000), NULL, 0, NULL);
    if (status == AXO_OK)
        status = unload_axo.destroy(system);
    if (status != AXO_OK || dlclose(library) != 0) {
        (void)printf("round %u: status %d\n", round, (int)status);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned of_it = 0;
    unsigned first = 0;
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 50;
    if (argc < 2)
        return 2;
    for (unsigned round = 0; round < rounds; round++) {
        if (unload_round(argv[1], round) != 0)
            return 1;
        unsigned mappings = unload_mappings("libaxo", &of_it);
        if (round == 4)
            first = mappings; /* the arenas of the C library are there */
        if (census_settled(1) != 1 || of_it != 0 || (round > 4 && mappings > first + 8)) {
            (void)printf("round %u: %u threads, %u mappings of it, %u in all, %u at first\n", round,
                         census_threads(), of_it, mappings, first);
            return 1;
        }
    }
    (void)printf("fault point unload: %u\n", rounds);
    return 0;
}
