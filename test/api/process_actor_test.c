/* process_actor_test.c - an actor that is a process is an actor: messages, hooks, failures. */
#include <poll.h>

#include "api/process_world.h"

static void many_in_order(void **unused)
{
    world w;
    w_start(&w, 1);
    axo_ref ref = w_spawn(&w, 0);
    for (int64_t i = 0; i < 20000; i++)
        w_tell(&w, ref, W_ADD, i);
    w_in_order(&w, W_ADD, 20000);
    w_said last = w_nth(&w, W_ADD, 19999);
    assert_int_equal(last.it.sum, INT64_C(20000) * 19999 / 2);
    assert_true(axo_ref_equal(last.from, ref)); /* whom others know */
    assert_true(axo_ref_equal(last.it.self, ref));
    assert_int_equal(last.it.instance, 1);
    assert_int_not_equal(last.it.pid, getpid());
    assert_int_equal(w_count(&w, W_CONSTRUCT), 1);
    assert_int_equal(w_count(&w, W_PRE_START), 1);
    w_end(&w);
}

static void many_out(void **unused)
{
    world w;
    w_start(&w, 0);
    axo_ref ref = w_spawn(&w, 0);
    w_tell(&w, ref, W_MANY, 20000); /* its ring is full a hundred times */
    w_in_order(&w, W_MANY, 20000);
    w_tell(&w, ref, W_SELF, 3);
    assert_int_equal(w_nth(&w, W_ADD, 0).it.value, 3);
    w_tell(&w, ref, W_REPLY, 4);
    w_said reply = w_nth(&w, W_ASKED, 0);
    assert_int_equal(reply.size, 8);
    assert_true(axo_ref_equal(reply.from, ref));
    w_tell(&w, ref, W_FORWARD, 5);
    assert_true(axo_ref_equal(w_nth(&w, W_FORWARD, 0).from, w.collector)); /* as it was sent */
    w_tell(&w, ref, W_CHILD, 0);
    assert_true(axo_ref_equal(w_nth(&w, W_CHILD, 0).from, ref));
    w_tell(&w, ref, W_TAKE, 6);
    assert_int_equal(w_nth(&w, W_TAKE, 0).it.value, 6);
    w_tell(&w, ref, W_LINE, 7);
    W_UNTIL(&w, w.lines == 1);
    w_end(&w);
}

static void payload_free(void *payload, void *user)
{
    ++*(int *)user;
    free(payload);
}

static void owned_payloads_go_as_bytes(void **unused)
{
    world w;
    int freed = 0;
    w_start(&w, 0);
    axo_ref ref = w_spawn(&w, 0);
    int64_t *value = malloc(sizeof *value);
    *value = 9;
    assert_int_equal(axo_system_send_owned(w.system, ref, W_ADD, value, sizeof *value,
                                           payload_free, &freed),
                     AXO_OK);
    assert_int_equal(w_nth(&w, W_ADD, 0).it.value, 9);
    w.answer = AXO_RESUME;
    assert_int_equal(axo_system_send_owned(w.system, ref, W_ADD, &freed, 0, NULL, NULL), AXO_OK);
    w_failed(&w, 1, AXO_FAILURE_ORDINARY, AXO_EINVAL, "a payload of unknown size, for a process");
    w_end(&w);
    assert_int_equal(freed, 1);
}

static void too_large(void **unused)
{
    world w;
    char bytes[4000] = {0};
    w_start(&w, 0);
    axo_ref ref = w_spawn(&w, 0);
    pid_t pid = w_pid(&w, ref);
    w.answer = AXO_RESUME;
    assert_int_equal(axo_system_send(w.system, ref, W_ADD, bytes, sizeof bytes), AXO_OK);
    w_failed(&w, 1, AXO_FAILURE_ORDINARY, AXO_ETOOBIG,
             "a payload of 4000 bytes; a ring of 4096 has room for 2000");
    assert_int_equal(w_pid(&w, ref), pid);
    assert_int_equal(axo_system_send(w.system, ref, W_ADD, bytes, 2000), AXO_OK);
    w_await(&w, W_ADD, 1);
    w_tell(&w, ref, W_BIG, 2000);
    assert_int_equal(w_nth(&w, W_BIG, 0).size, 2000);
    w_await(&w, W_WHO, 3); /* behind it */
    w_tell(&w, ref, W_BIG, 2001); /* to its sender nobody has the reference */
    assert_int_equal(w_nth(&w, W_WHO, 3).it.value, AXO_EGONE);
    w_end(&w);
}

/* ---- failures ---- */

static void resume(void **unused)
{
    world w;
    w_start(&w, 0);
    w.answer = AXO_RESUME;
    axo_ref ref = w_spawn(&w, 0);
    pid_t pid = w_pid(&w, ref);
    w_tell(&w, ref, W_ADD, 0);
    w_tell(&w, ref, W_FAIL, 41);
    w_tell(&w, ref, W_ADD, 1);
    w_failed(&w, 1, AXO_FAILURE_ORDINARY, 41, "told to, 41");
    assert_int_equal(w.last.has_message, 1);
    assert_int_equal(w.last.tag, W_FAIL);
    assert_true(axo_ref_equal(w.last.sender, w.collector));
    assert_true(axo_ref_equal(w.last.actor, ref));
    w_in_order(&w, W_ADD, 2);
    W_UNTIL(&w, w.failed_answers == 1);
    w_tell(&w, ref, W_THROW, 42);
    w_failed(&w, 2, AXO_FAILURE_ORDINARY, 42, "thrown");
    w_tell(&w, ref, W_TICKS, 0); /* under no message of ours */
    w_failed(&w, 3, AXO_FAILURE_ORDINARY, 5, "tick");
    assert_int_equal(w.last.has_message, 0);
    w_tell(&w, ref, W_ADD, 2);
    w_in_order(&w, W_ADD, 3);
    assert_int_equal(w_nth(&w, W_ADD, 2).it.sum, 3); /* the same state */
    assert_int_equal(w_pid(&w, ref), pid);
    assert_int_equal(w_count(&w, W_CONSTRUCT), 1);
    w_end(&w);
}

static void restart(void **unused)
{
    world w;
    w_start(&w, 1);
    axo_ref ref = w_spawn(&w, 0);
    pid_t pid = w_pid(&w, ref);
    w_tell(&w, ref, W_ADD, 0);
    w_tell(&w, ref, W_FAIL, 41);
    for (int64_t i = 1; i < 1000; i++)
        w_tell(&w, ref, W_ADD, i);
    w_in_order(&w, W_ADD, 1000);
    w_said hook = w_nth(&w, W_PRE_RESTART, 0);
    assert_int_equal(hook.it.pid, pid);
    assert_int_equal(hook.it.value, 41);
    assert_int_equal(hook.it.message, W_FAIL);
    assert_string_equal(hook.it.text, "told to, 41");
    assert_int_equal(w_nth(&w, W_POST_STOP, 0).it.pid, pid);
    hook = w_nth(&w, W_POST_RESTART, 0);
    assert_int_not_equal(hook.it.pid, pid);
    assert_int_equal(hook.it.value, 41);
    assert_int_equal(hook.it.message, AXO_FAILURE_ORDINARY);
    assert_string_equal(hook.it.text, "told to, 41");
    assert_int_equal(w_count(&w, W_PRE_START), 2);
    assert_int_equal(w_nth(&w, W_ADD, 999).it.sum, 999 * 500); /* a new state */
    assert_int_equal(w.failures, 1);
    w_end(&w);
}

static void stop(void **unused)
{
    world w;
    w_start(&w, 0);
    w.answer = AXO_STOP;
    axo_ref ref = w_spawn(&w, 0);
    w_tell(&w, ref, W_FAIL, 1);
    W_UNTIL(&w, w.terminated == 1);
    assert_int_equal(w_count(&w, W_POST_STOP), 1);
    ref = w_spawn(&w, 0);
    (void)w_pid(&w, ref);
    assert_int_equal(axo_system_stop_actor(w.system, ref), AXO_OK);
    W_UNTIL(&w, w.terminated == 2);
    assert_int_equal(w_count(&w, W_POST_STOP), 2); /* said before the notice comes */
    assert_in_range(w.dead, 0, 1); /* what it had just handled */
    uint32_t dead = w.dead;
    ref = w_spawn(&w, 0);
    for (int64_t i = 0; i < 100; i++)
        w_tell(&w, ref, W_ADD, i);
    w_tell(&w, ref, W_STOP_SELF, 0);
    W_UNTIL(&w, w.terminated == 3);
    w_in_order(&w, W_ADD, 100);
    assert_int_equal(w_count(&w, W_POST_STOP), 3);
    assert_int_equal(w.dead, dead); /* of its own accord it leaves none */
    w_end(&w);
}

static void permanent(void **unused)
{
    world w;
    w_start(&w, 0);
    axo_process recipe = w_recipe(&w);
    axo_ref ref = w_spawn_as(&w, &recipe, 0, AXO_PERMANENT);
    w_tell(&w, ref, W_STOP_SELF, 0);
    w_tell(&w, ref, W_ADD, 0);
    w_failed(&w, 1, AXO_FAILURE_ENDED, 0, "");
    w_in_order(&w, W_ADD, 1);
    w_tell(&w, ref, W_EXIT, 0);
    w_tell(&w, ref, W_ADD, 1);
    w_in_order(&w, W_ADD, 2);
    w_failed(&w, 2, AXO_FAILURE_ENDED, 0, "");
    w.answer = AXO_RESUME; /* of what is not there is a restart */
    w_tell(&w, ref, W_EXIT, 0);
    w_tell(&w, ref, W_ADD, 2);
    w_in_order(&w, W_ADD, 3);
    assert_int_equal(w.failures, 4);
    w_end(&w);
}

static void crash(void **unused)
{
    static const int signals[] = {SIGSEGV, SIGABRT, SIGKILL};
    static const char *const texts[] = {"killed by SIGSEGV", "killed by SIGABRT",
                                        "killed by SIGKILL"};
    world w;
    int64_t next = 0;
    w_start(&w, 2);
    axo_ref ref = w_spawn(&w, 0);
    for (uint32_t i = 0; i < 9; i++) {
        w_tell(&w, ref, W_ADD, next++);
        w_tell(&w, ref, W_CRASH, signals[i % 3]);
        w_tell(&w, ref, W_ADD, next++);
        w_failed(&w, i + 1, AXO_FAILURE_CRASH, signals[i % 3], texts[i % 3]);
        assert_int_equal(w.last.has_message, 1);
        assert_int_equal(w.last.tag, W_CRASH);
        w_in_order(&w, W_ADD, (uint32_t)next);
    }
    assert_int_equal(w_count(&w, W_PRE_RESTART), 0); /* no hook of a broken one */
    assert_int_equal(w_count(&w, W_POST_STOP), 0);
    assert_int_equal(w_count(&w, W_POST_RESTART), 9);
    w_tell(&w, ref, W_EXIT, 3);
    w_failed(&w, 10, AXO_FAILURE_CRASH, 3, "exited with status 3");
    W_UNTIL(&w, w.failed_answers == 10);
    w.answer = AXO_RESUME; /* is Restart */
    w_tell(&w, ref, W_CRASH, SIGSEGV);
    w_tell(&w, ref, W_ADD, next++);
    w_in_order(&w, W_ADD, (uint32_t)next);
    w_tell(&w, ref, W_EXIT, 0); /* a transient one has ended */
    W_UNTIL(&w, w.terminated == 1);
    assert_int_equal(w.failures, 11);
    w_end(&w);
}

/* One that has nothing to do is not stuck, however often it is looked at. */
static void watchdog(void **unused)
{
    world w;
    w_start(&w, 2);
    axo_process recipe = w_recipe(&w);
    recipe.watchdog_ns = W_SECOND / 2;
    axo_ref idle = w_spawn_as(&w, &recipe, 0, AXO_TRANSIENT);
    pid_t pid = w_pid(&w, idle);
    recipe.watchdog_ns = W_SECOND;
    axo_ref ref = w_spawn_as(&w, &recipe, 0, AXO_TRANSIENT);
    w_tell(&w, ref, W_ADD, 0);
    w_tell(&w, ref, W_LOOP, 0);
    w_tell(&w, ref, W_ADD, 1);
    w_in_order(&w, W_ADD, 2);
    w_failed(&w, 1, AXO_FAILURE_STUCK, 0, "no progress for 1000 ms, killed");
    assert_int_equal(w.last.tag, W_LOOP);
    w_tell(&w, ref, W_LOOP, 0);
    w_failed(&w, 2, AXO_FAILURE_STUCK, 0, "no progress for 1000 ms, killed");
    assert_true(axo_ref_equal(w.last.actor, ref));
    assert_int_equal(w_pid(&w, idle), pid);
    w_end(&w);
}

static void poison(void **unused)
{
    world w;
    w_start(&w, 1);
    w.strategy.quarantine = 2;
    axo_ref ref = w_spawn(&w, 0);
    w_tell(&w, ref, W_CRASH, SIGSEGV);
    w_tell(&w, ref, W_ADD, 0);
    w_tell(&w, ref, W_CRASH, SIGSEGV);
    w_tell(&w, ref, W_ADD, 1);
    w_in_order(&w, W_ADD, 2);
    W_UNTIL(&w, w.poison == 1);
    w_end(&w);
}

/* ---- starts and stops ---- */

static void starts_that_fail(void **unused)
{
    world w;
    w_start(&w, 0);
    w.answer = AXO_STOP;
    (void)w_spawn(&w, W_START_FAILS);
    w_failed(&w, 1, AXO_FAILURE_INIT, 77, "construct says no");
    W_UNTIL(&w, w.terminated == 1);
    (void)w_spawn(&w, W_START_CRASHES);
    w_failed(&w, 2, AXO_FAILURE_INIT, SIGABRT, "killed by SIGABRT before it has started");
    W_UNTIL(&w, w.terminated == 2);
    axo_process recipe = w_recipe(&w);
    recipe.start_ns = W_SECOND / 2;
    (void)w_spawn_as(&w, &recipe, W_START_HANGS, AXO_TRANSIENT);
    W_UNTIL(&w, w.terminated == 3);
    w_failed(&w, 3, AXO_FAILURE_INIT, AXO_ETIMEDOUT, "it has not started in time");
    w.answer = AXO_RESTART; /* a first one again: pre_start, not post_restart */
    axo_ref ref = w_spawn(&w, W_START_FAILS);
    W_UNTIL(&w, w.failures >= 6);
    assert_int_equal(axo_system_stop_actor(w.system, ref), AXO_OK);
    W_UNTIL(&w, w.terminated == 4);
    assert_int_equal(w.last.kind, AXO_FAILURE_INIT);
    w_end(&w);
}

static void restarts_that_fail(void **unused)
{
    world w;
    w_start(&w, 0);
    w.answer = (axo_directive)0; /* the default: Stop */
    axo_ref ref = w_spawn(&w, W_RESTART_FAILS);
    w_tell(&w, ref, W_CRASH, SIGSEGV);
    W_UNTIL(&w, w.terminated == 1);
    w_failed(&w, 2, AXO_FAILURE_POST_RESTART, 78, "post_restart says no");
    ref = w_spawn(&w, W_HOOK_FAILS); /* a pre_restart that fails is a line of the log */
    uint32_t lines = w.lines;
    w_tell(&w, ref, W_FAIL, 1);
    w_tell(&w, ref, W_ADD, 0);
    w_in_order(&w, W_ADD, 1);
    W_UNTIL(&w, w.lines > lines);
    w_end(&w);
}

static void stops_that_hang(void **unused)
{
    world w;
    w_start(&w, 0);
    axo_process recipe = w_recipe(&w);
    recipe.stop_ns = W_SECOND / 2;
    axo_ref ref = w_spawn_as(&w, &recipe, W_STOP_HANGS, AXO_TRANSIENT);
    (void)w_pid(&w, ref);
    assert_int_equal(axo_system_stop_actor(w.system, ref), AXO_OK);
    W_UNTIL(&w, w.terminated == 1);
    ref = w_spawn_as(&w, &recipe, W_START_HANGS, AXO_TRANSIENT); /* stopped as it starts */
    assert_int_equal(axo_system_stop_actor(w.system, ref), AXO_OK);
    W_UNTIL(&w, w.terminated == 2);
    w_end(&w);
}

/* ---- what its process handles out of order ---- */

static void stash_there(void **unused)
{
    world w;
    w_start(&w, 1);
    axo_ref ref = w_spawn(&w, 0);
    w_tell(&w, ref, W_STASH, 0); /* stashed again when it comes back: it is handled by nobody */
    w_tell(&w, ref, W_ADD, 0);
    w_tell(&w, ref, W_CRASH, SIGSEGV);
    w_tell(&w, ref, W_ADD, 1);
    w_in_order(&w, W_ADD, 2); /* none twice, though an older one is not handled */
    w_failed(&w, 1, AXO_FAILURE_CRASH, SIGSEGV, "killed by SIGSEGV");
    w_tell(&w, ref, W_BECOME, 0);
    w_tell(&w, ref, W_ADD, 2);
    assert_int_equal(w_nth(&w, W_BECOME, 0).it.value, W_ADD);
    w_end(&w);
    assert_in_range(w.dead, 1, 6); /* what nobody has handled, and what stands behind it */
}

/* ---- restarts by others ---- */

static void injected(void **unused)
{
    world w;
    int64_t next = 0;
    w_start(&w, 2);
    axo_ref ref = w_spawn(&w, 0);
    for (uint32_t round = 0; round < 20; round++) {
        if (round % 2 == 0) /* else it may still be on its way up */
            (void)w_pid(&w, ref);
        for (uint32_t i = 0; i < 300; i++) {
            w_tell(&w, ref, W_ADD, next++);
            if (i == 150)
                assert_int_equal(
                    axo_system_fail(w.system, ref, AXO_FAILURE_ORDINARY, (int32_t)round), AXO_OK);
        }
        W_UNTIL(&w, w.failures == round + 1);
    }
    w_in_order(&w, W_ADD, (uint32_t)next);
    w_await(&w, W_PRE_RESTART, 1);
    assert_int_equal(w_nth(&w, W_PRE_RESTART, 0).it.message, AXO_INJECTED);
    w_end(&w);
}

/* All for one: a sibling crashes while this one is at work. */
static void siblings(void **unused)
{
    world w;
    int64_t next = 0;
    w_start(&w, 2);
    w.strategy.scope = AXO_ALL_FOR_ONE;
    axo_ref other = w_spawn(&w, 0);
    axo_ref ref = w_spawn(&w, 0);
    for (uint32_t round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < 200; i++) {
            w_tell(&w, ref, W_ADD, next++);
            if (i == 100)
                w_tell(&w, other, W_CRASH, SIGSEGV);
        }
        W_UNTIL(&w, w.failures == round + 1);
    }
    w_in_order(&w, W_ADD, (uint32_t)next);
    w_end(&w);
}

/* All for one: a sibling crashes while this one is in a message from which its process does not
 * come back before it is killed: that message is handled, by the one that is gone. */
static void killed_under_a_message(void **unused)
{
    world w;
    w_start(&w, 2);
    w.strategy.scope = AXO_ALL_FOR_ONE;
    axo_process recipe = w_recipe(&w);
    recipe.stop_ns = W_SECOND / 10;
    axo_ref other = w_spawn_as(&w, &recipe, 0, AXO_TRANSIENT);
    axo_ref ref = w_spawn_as(&w, &recipe, 0, AXO_TRANSIENT);
    w_tell(&w, ref, W_SLEEP, 10000);
    w_tell(&w, ref, W_ADD, 0);
    w_await(&w, W_SLEEP, 1);
    w_tell(&w, other, W_CRASH, SIGSEGV);
    w_in_order(&w, W_ADD, 1);
    assert_int_equal(w_count(&w, W_SLEEP), 1);
    assert_int_equal(w.failures, 1);
    w_end(&w);
}

static void kept_waiting(void **unused)
{
    world w;
    w_start(&w, 0);
    w.answer = AXO_STOP;
    axo_process recipe = w_recipe(&w);
    recipe.stash_max = 10;
    axo_ref ref = w_spawn_as(&w, &recipe, W_START_HANGS, AXO_TRANSIENT);
    for (int64_t i = 0; i < 11; i++)
        w_tell(&w, ref, W_ADD, i);
    W_UNTIL(&w, w.failures == 1);
    assert_int_equal(w.last.code, AXO_EFULL);
    W_UNTIL(&w, w.terminated == 1);
    W_UNTIL(&w, w.dead == 10);
    w_end(&w);
}

/* ---- bad input ---- */

static void refused(void **unused)
{
    world w;
    axo_ref ref;
    w_start(&w, 0);
    const axo_props good = AXO_PROPS(.cls = &w_class);
    axo_process recipe = AXO_PROCESS(.zygote = w.zygote, .confine = 4);
    assert_int_equal(axo_system_process_spawn(w.system, &recipe, &good, &ref), AXO_EINVAL);
    assert_true(axo_ref_is_none(ref));
    recipe = (axo_process)AXO_PROCESS();
    assert_int_equal(axo_system_process_spawn(w.system, &recipe, &good, &ref), AXO_EINVAL);
    recipe = (axo_process)AXO_PROCESS(.zygote = w.zygote, .watchdog_ns = 999999);
    assert_int_equal(axo_system_process_spawn(w.system, &recipe, &good, &ref), AXO_EINVAL);
    recipe = (axo_process)AXO_PROCESS(.zygote = w.zygote);
    axo_props bad = AXO_PROPS(.cls = &w_class, .args = &w);
    assert_int_equal(axo_system_process_spawn(w.system, &recipe, &bad, &ref), AXO_EINVAL);
    bad = (axo_props)AXO_PROPS(.cls = &w_class, .strategy = &w.strategy);
    assert_int_equal(axo_system_process_spawn(w.system, &recipe, &bad, &ref), AXO_EINVAL);
    assert_int_equal(axo_system_process_spawn(NULL, &recipe, &good, &ref), AXO_EINVAL);
    assert_int_equal(axo_system_process_spawn(w.system, NULL, &good, &ref), AXO_EINVAL);
    assert_int_equal(axo_system_process_spawn(w.system, &recipe, NULL, &ref), AXO_EINVAL);
    assert_int_equal(axo_system_process_spawn(w.system, &recipe, &good, NULL), AXO_EINVAL);
    assert_int_equal(axo_process_spawn(NULL, &recipe, &good, &ref), AXO_ECONTEXT);
    assert_true(axo_ref_is_none(axo_process_self(NULL)));
    recipe.size = 0;
    assert_int_equal(axo_system_process_spawn(w.system, &recipe, &good, &ref), AXO_EINVAL);
    axo_zygote *none;
    axo_zygote_settings settings = AXO_ZYGOTE_SETTINGS(.program = "/nowhere/at/all");
    assert_int_equal(axo_zygote_start(w.system, &settings, &none), AXO_ESYSTEM);
    assert_int_equal(errno, ENOENT);
    assert_null(none);
    settings.program = "/bin/true"; /* it ends at once */
    assert_int_equal(axo_zygote_start(w.system, &settings, &none), AXO_ESYSTEM);
    settings.spares = AXO_PROCESS_SPARES_MAX + 1;
    assert_int_equal(axo_zygote_start(w.system, &settings, &none), AXO_EINVAL);
    assert_int_equal(axo_zygote_start(NULL, NULL, &none), AXO_EINVAL);
    w_end(&w);
}

static const axo_class unknown_class = AXO_CLASS(.name = "unknown", .receive = w_receive);

static void unknown(void **unused)
{
    world w;
    axo_ref ref;
    w_start(&w, 0);
    w.answer = AXO_STOP;
    axo_process recipe = w_recipe(&w);
    axo_props props = AXO_PROPS(.cls = &unknown_class);
    assert_int_equal(axo_system_process_spawn(w.system, &recipe, &props, &ref), AXO_OK);
    w_failed(&w, 1, AXO_FAILURE_INIT, AXO_ENOENT, "its program does not know the class");
    w_end(&w);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_in_order),   cmocka_unit_test(many_out),
        cmocka_unit_test(owned_payloads_go_as_bytes), cmocka_unit_test(too_large),
        cmocka_unit_test(resume),          cmocka_unit_test(restart),
        cmocka_unit_test(stop),            cmocka_unit_test(permanent),
        cmocka_unit_test(crash),           cmocka_unit_test(watchdog),
        cmocka_unit_test(poison),          cmocka_unit_test(starts_that_fail),
        cmocka_unit_test(restarts_that_fail), cmocka_unit_test(stops_that_hang),
        cmocka_unit_test(stash_there),     cmocka_unit_test(injected),
        cmocka_unit_test(siblings),        cmocka_unit_test(killed_under_a_message),
        cmocka_unit_test(kept_waiting),    cmocka_unit_test(refused),
        cmocka_unit_test(unknown),
    };
    axo_process_main(argc, argv, w_classes, sizeof w_classes / sizeof w_classes[0]);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
