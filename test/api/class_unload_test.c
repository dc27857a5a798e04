/* class_unload_test.c - a plugin whose actors live is replaced and unloaded, again and again, while
 * they work, fail, break and end: on workers, in a manual system, and by lent threads. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/slower.h"

#include "plugin/mind.h"

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define UNLOAD_ACTORS 48

typedef struct unload_plugin {
    void *library;
    const mind *it;
    char path[4096];
    const void *code; /* an address in it */
} unload_plugin;

typedef struct unload_world {
    axo_system *system;
    axo_ref actors[UNLOAD_ACTORS];
    uint32_t version; /* of the plugin that is loaded */
    unload_plugin plugin;
    _Atomic uint32_t quit;
    _Atomic uint64_t counted;
    _Atomic uint64_t failures;
    uint64_t chance;
} unload_world;

static unload_world *the;

/* ---- the plugin's host ---- */

static void unload_counted(uint32_t id, uint32_t count)
{
    assert_true(id < UNLOAD_ACTORS && count > 0);
    atomic_fetch_add(&the->counted, 1);
}

static void unload_wrong(const char *what)
{
    fail_msg("%s", what);
}

static const mind_host unload_host = {
    .fail = axo_fail,
    .fail_as = axo_fail_as,
    .become = axo_become,
    .stop_self = axo_stop_self,
    .counted = unload_counted,
    .wrong = unload_wrong,
};

static unload_plugin unload_load(uint32_t version)
{
    unload_plugin out;
    mind_open_fn open;
    void *found;
    memset(&out, 0, sizeof out);
    ssize_t length = readlink("/proc/self/exe", out.path, sizeof out.path - 64);
    assert_true(length > 0);
    out.path[length] = 0;
    char *end = strrchr(out.path, '/') + 1;
    (void)snprintf(end, 64, "plugin/mind%u.so", version);
    out.library = dlopen(out.path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(out.library);
    found = dlsym(out.library, "mind_open");
    assert_non_null(found);
    memcpy(&open, &found, sizeof open);
    out.it = open(&unload_host);
    memcpy(&out.code, &out.it->cls->receive, sizeof out.code);
    return out;
}

/* It is gone: neither a library of this name nor any module at the address of its code. */
static void unload_unload(unload_plugin *plugin)
{
    Dl_info info;
    assert_true(dladdr(plugin->code, &info) != 0 && strcmp(info.dli_fname, plugin->path) == 0);
    assert_int_equal(dlclose(plugin->library), 0);
    assert_null(dlopen(plugin->path, RTLD_NOW | RTLD_NOLOAD));
    assert_true(dladdr(plugin->code, &info) == 0 || strcmp(info.dli_fname, plugin->path) != 0);
}

/* ---- a world ---- */

static axo_directive unload_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   void *user)
{
    /* one restart of 8 is a Resume: with what the other plugin has made of the state */
    return atomic_fetch_add(&the->failures, 1) % 8 == 0 ? AXO_RESUME : AXO_RESTART;
}

static const axo_strategy unload_strategy = AXO_STRATEGY(.decider = unload_decide);

enum { PARENT_SPAWN = 1 };

typedef struct unload_order {
    const axo_class *cls;
    uint32_t first;
    uint32_t step;
} unload_order;

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const unload_order *order = message->payload;
    for (uint32_t i = order->first; i < UNLOAD_ACTORS; i += order->step) {
        axo_props props = AXO_PROPS(.cls = order->cls, .args = &i, .args_size = sizeof i,
                                    .dispatcher = i % 24 == 0 && order->step > 1
                                                      ? AXO_DISPATCH_PINNED
                                                      : AXO_DISPATCH_DEFAULT);
        assert_int_equal(axo_spawn(ctx, &props, &the->actors[i]), AXO_OK);
    }
    return AXO_OK;
}

static const axo_class parent_class = AXO_CLASS(.name = "parent", .receive = parent_receive);

/* `step` 1: with the default dispatcher alone. */
static void unload_begin(unload_world *w, axo_options options, uint32_t step)
{
    axo_props props = AXO_PROPS(.cls = &parent_class, .strategy = &unload_strategy);
    memset(w, 0, sizeof *w);
    the = w;
    w->version = 1;
    w->chance = 88172645463325252u;
    w->plugin = unload_load(1);
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
    for (uint32_t i = 0; i < step; i++) {
        axo_ref parent;
        unload_order order = {.cls = w->plugin.it->cls, .first = i, .step = step};
        assert_int_equal(axo_system_spawn(w->system, &props, &parent), AXO_OK);
        assert_int_equal(axo_system_send(w->system, parent, PARENT_SPAWN, &order, sizeof order),
                         AXO_OK);
    }
    assert_int_equal(axo_system_quiesce(w->system, 60 * SECOND), AXO_OK);
}

static void unload_finish(unload_world *w)
{
    assert_int_equal(axo_system_quiesce(w->system, 60 * SECOND), AXO_OK);
    assert_int_equal(axo_system_stop(w->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
    unload_unload(&w->plugin);
}

static void unload_send_one(unload_world *w, uint64_t *chance)
{
    *chance ^= *chance << 13;
    *chance ^= *chance >> 7;
    *chance ^= *chance << 17;
    const uint32_t what = (uint32_t)(*chance >> 33) % 64;
    const uint32_t tag = what < 6 ? MIND_FALL : what < 8 ? MIND_BREAK : MIND_COUNT;
    axo_status status =
        axo_system_send(w->system, w->actors[(*chance >> 40) % UNLOAD_ACTORS], tag, NULL, 0);
    assert_true(status == AXO_OK || status == AXO_EGONE);
}

/* The other plugin takes the place of this one; `drive` runs the world meanwhile, if that is what
 * it takes. */
static void unload_swap(unload_world *w, int64_t timeout_ns, void (*drive)(unload_world *w))
{
    unload_plugin next = unload_load(3 - w->version);
    const axo_replacement what = AXO_REPLACEMENT(.from = w->plugin.it->cls, .to = next.it->cls,
                                                 .migrate = next.it->migrate);
    axo_status status;
    while ((status = axo_class_replace(w->system, &what, timeout_ns)) == AXO_ETIMEDOUT)
        drive(w);
    assert_int_equal(status, AXO_OK);
    unload_unload(&w->plugin);
    w->plugin = next;
    w->version = 3 - w->version;
}

/* ---- workers ---- */

static void *unload_sender(void *arg)
{
    unload_world *w = arg;
    uint64_t chance = 0x9e3779b97f4a7c15u ^ (uint64_t)(uintptr_t)&chance;
    while (atomic_load(&w->quit) == 0) {
        for (uint32_t i = 0; i < 64; i++)
            unload_send_one(w, &chance);
        (void)usleep(200);
    }
    return NULL;
}

static void unload_wait(unload_world *w)
{
    (void)w;
    (void)usleep(100);
}

static void unload_on_workers(uint32_t workers, int64_t timeout_ns)
{
    unload_world w;
    pthread_t senders[2];
    axo_options options = AXO_OPTIONS(.workers = workers);
    unload_begin(&w, options, 4);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&senders[i], NULL, unload_sender, &w), 0);
    for (uint32_t i = 0; i < slower_share(60, 8); i++)
        unload_swap(&w, timeout_ns, unload_wait);
    atomic_store(&w.quit, 1);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(senders[i], NULL), 0);
    assert_true(atomic_load(&w.counted) > 0 && atomic_load(&w.failures) > 0);
    unload_finish(&w);
}

static void unloaded_on_workers(void **state)
{
    unload_on_workers(4, -1);
}

static void unloaded_on_one_worker(void **state)
{
    unload_on_workers(1, -1);
}

static void unloaded_in_short_calls(void **state)
{
    unload_on_workers(3, 20000);
}

/* ---- crashes ---- */

/* The sanitizers report such code before it crashes; crashes are contained on x86-64 only. */
#if defined(AXO_ASAN) || defined(AXO_TSAN) || !defined(__x86_64__)
#define UNLOAD_CRASHES 0
#else
#define UNLOAD_CRASHES 1
#endif

/* migrate, which is in the new plugin, crashes in the turns of actors of the old one. */
static void migrate_that_crashes(void **state)
{
    unload_world w;
    axo_options options = AXO_OPTIONS(.workers = 2, .contain = 1, .crashes_max = 1000);
    if (!UNLOAD_CRASHES || slower() > 1) /* memcheck reports the crashes */
        skip();
    (void)signal(SIGSEGV, SIG_DFL); /* cmocka has a handler */
    unload_begin(&w, options, 4);
    unload_plugin next = unload_load(2);
    const axo_replacement what =
        AXO_REPLACEMENT(.from = w.plugin.it->cls, .to = next.it->cls,
                        .migrate = next.it->migrate, .user = (void *)(uintptr_t)8);
    assert_int_equal(axo_class_replace(w.system, &what, 60 * SECOND), AXO_OK);
    unload_unload(&w.plugin);
    w.plugin = next;
    assert_int_equal(axo_system_quiesce(w.system, 60 * SECOND), AXO_OK);
    assert_int_equal(axo_system_crashes(w.system, NULL, 0), UNLOAD_ACTORS);
    assert_int_equal(atomic_load(&w.failures), UNLOAD_ACTORS);
    for (uint32_t i = 0; i < UNLOAD_ACTORS; i++)
        assert_int_equal(axo_system_send(w.system, w.actors[i], MIND_COUNT, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_quiesce(w.system, 60 * SECOND), AXO_OK);
    assert_int_equal(atomic_load(&w.counted), UNLOAD_ACTORS);
    unload_finish(&w);
}

/* ---- a manual system ---- */

static void manual_drive(unload_world *w)
{
    for (uint32_t i = 0; i < 32; i++)
        unload_send_one(w, &w->chance);
    assert_int_equal(axo_run_host(w->system, -1, NULL), AXO_OK);
}

/* An hour of a game that gets a plugin every minute: the clock is the program's. */
static _Atomic int64_t manual_now;

static int64_t manual_clock(void *user)
{
    return manual_now;
}

static void manual_play(uint32_t manual, uint32_t minutes)
{
    unload_world w;
    axo_options options = AXO_OPTIONS(.manual = manual, .clock = manual_clock);
    manual_now = 0;
    unload_begin(&w, options, manual == AXO_MANUAL_ALL ? 1 : 4);
    for (uint32_t minute = 0; minute < minutes; minute++) {
        for (uint32_t frame = 0; frame < 60; frame++) {
            manual_drive(&w);
            manual_now += SECOND;
        }
        unload_swap(&w, 0, manual_drive);
    }
    assert_true(atomic_load(&w.failures) > 20 * minutes);
    unload_finish(&w);
}

static void unloaded_in_a_manual_system(void **state)
{
    manual_play(AXO_MANUAL_ALL, slower_share(60, 10));
}

static void unloaded_beside_threads(void **state)
{
    manual_play(AXO_MANUAL_DEFAULT, slower_share(20, 5));
}

/* ---- lent threads ---- */

static void *lent_visitor(void *arg)
{
    unload_world *w = arg;
    while (atomic_load(&w->quit) == 0) {
        axo_status status = axo_worker_run(w->system, 0, MS, NULL);
        assert_true(status == AXO_OK || status == AXO_EBUSY);
        (void)usleep(50);
    }
    return NULL;
}

static void lent_drive(unload_world *w)
{
    for (uint32_t i = 0; i < 32; i++)
        unload_send_one(w, &w->chance);
    axo_status status = axo_worker_run(w->system, 1, MS, NULL);
    assert_true(status == AXO_OK || status == AXO_EBUSY);
}

static void unloaded_by_lent_threads(void **state)
{
    unload_world w;
    pthread_t visitor;
    axo_options options = AXO_OPTIONS(.workers = 2, .threads = AXO_THREADS_LENT);
    unload_begin(&w, options, 1);
    for (uint32_t i = 0; i < slower_share(20, 4); i++)
        unload_swap(&w, 0, lent_drive); /* this thread alone */
    assert_int_equal(pthread_create(&visitor, NULL, lent_visitor, &w), 0);
    for (uint32_t i = 0; i < slower_share(20, 4); i++) {
        lent_drive(&w);
        unload_swap(&w, -1, lent_drive);
    }
    atomic_store(&w.quit, 1);
    assert_int_equal(pthread_join(visitor, NULL), 0);
    unload_finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unloaded_on_workers),
        cmocka_unit_test(unloaded_on_one_worker),
        cmocka_unit_test(unloaded_in_short_calls),
        cmocka_unit_test(migrate_that_crashes),
        cmocka_unit_test(unloaded_in_a_manual_system),
        cmocka_unit_test(unloaded_beside_threads),
        cmocka_unit_test(unloaded_by_lent_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
