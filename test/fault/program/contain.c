/* contain.c - whether a program may have its crashes contained, and one that is: for programs that
 * are built in other ways than the tests.
 *
 *     contain          asks, and says the status; then a system without runs
 *     contain crash    has an actor write to null, and ends with 0 if the next instance goes on
 *     contain stuck    has it loop for ever, which its watchdog ends; the same
 *     contain plugin IT.so    as crash, of an actor whose class is that module's: this file, too;
 *                             with CONTAIN_PLUGINS
 *     contain guarded  has it write to null in a guard, which ends the process
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <axo/axo.h>

enum { CONTAIN_CRASH = 1, CONTAIN_STUCK, CONTAIN_GUARDED, CONTAIN_PING };

static char *volatile contain_null;
static volatile unsigned long contain_turns;
static atomic_uint contain_pings;
static atomic_uint contain_instance;

__attribute__((noinline)) void contain_write(void);

void contain_write(void)
{
    contain_null[16] = 1;
}

static axo_status contain_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag == CONTAIN_GUARDED)
        axo_guard_begin(ctx);
    if (message->tag == CONTAIN_CRASH || message->tag == CONTAIN_GUARDED)
        contain_write();
    while (message->tag == CONTAIN_STUCK)
        contain_turns++;
    atomic_store(&contain_instance, axo_instance(ctx));
    atomic_fetch_add(&contain_pings, 1);
    return AXO_OK;
}

static const axo_class contain_class =
    AXO_CLASS(.name = "contained", .receive = contain_receive, .on_crash = AXO_CRASH_FAILS,
              .watchdog_ms = 20);

typedef struct contain_part {
    const axo_class *cls;
    atomic_uint *pings;
    atomic_uint *instance;
} contain_part;

extern const contain_part contain_own;
const contain_part contain_own = {&contain_class, &contain_pings, &contain_instance};

/* Its actor has handled a message, and is of this instance. */
static int contain_run(const axo_options *options, const contain_part *part, uint32_t first)
{
    axo_props props = AXO_PROPS(.cls = part->cls, .name = "it");
    axo_system *system;
    axo_ref ref;
    axo_status status = axo_system_start(options, &system);
    if (status == AXO_OK)
        status = axo_system_spawn(system, &props, &ref);
    if (status == AXO_OK)
        status = axo_system_send(system, ref, first, NULL, 0);
    if (status == AXO_OK)
        status = axo_system_send(system, ref, CONTAIN_PING, NULL, 0);
    for (int i = 0; status == AXO_OK && i < 30000 && atomic_load(part->pings) == 0; i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (status == AXO_OK)
        status = axo_system_stop(system, INT64_C(30000000000), NULL, 0, NULL);
    if (status == AXO_OK)
        status = axo_system_destroy(system);
    (void)printf("%s, instance %u\n", axo_status_name(status), atomic_load(part->instance));
    const unsigned wanted = first == CONTAIN_PING ? 1 : 2;
    return status == AXO_OK && atomic_load(part->instance) == wanted ? 0 : 1;
}

#ifdef CONTAIN_PLUGINS
static int contain_plugin(const axo_options *options, const char *path)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const contain_part *part = module != NULL ? dlsym(module, "contain_own") : NULL;
    if (part == NULL || part == &contain_own)
        return 2;
    return contain_run(options, part, CONTAIN_CRASH);
}
#endif

int main(int argc, char **argv)
{
    axo_options options = AXO_OPTIONS(.workers = 1, .contain = 1);
    axo_options without = AXO_OPTIONS(.workers = 1);
    axo_system *system = NULL;
    if (argc > 1 && strcmp(argv[1], "crash") == 0)
        return contain_run(&options, &contain_own, CONTAIN_CRASH);
#ifdef CONTAIN_PLUGINS
    if (argc > 2 && strcmp(argv[1], "plugin") == 0)
        return contain_plugin(&options, argv[2]);
#endif
    if (argc > 1 && strcmp(argv[1], "stuck") == 0)
        return contain_run(&options, &contain_own, CONTAIN_STUCK);
    if (argc > 1 && strcmp(argv[1], "guarded") == 0)
        return contain_run(&options, &contain_own, CONTAIN_GUARDED);
    axo_status status = axo_system_start(&options, &system);
    (void)printf("contain: %s\n", axo_status_name(status));
    if (status == AXO_OK) {
        (void)axo_system_stop(system, -1, NULL, 0, NULL);
        (void)axo_system_destroy(system);
    }
    return contain_run(&without, &contain_own, CONTAIN_PING);
}
