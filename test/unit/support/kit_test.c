/* kit_test.c - the kit's own languages: families that are written down as trees, words in patterns;
 * and that what is written wrongly fails. */
#include "support/kit.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_family_is_made_and_grows(kit *k)
{
    kit_family f = kit_plan(k, "g:all(p:restart:keep(c,d),q:plain[r]), w:escalate, -x:stop[y]");
    kit_script *const made[] = {f.g, f.p, f.c, f.d, f.q, f.r, f.w, f.x, f.y};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        assert_non_null(made[i]);
    assert_null(f.a);
    assert_ptr_equal(f.all['g' - 'a'], f.g);
    assert_string_equal(f.d->label, "d");
    assert_int_equal(f.g->strategy.scope, AXO_ALL_FOR_ONE);
    assert_int_equal(f.p->directive, AXO_RESTART);
    assert_true(f.p->keep_children && !f.p->plain);
    assert_true(f.q->plain && !f.q->keep_children);
    assert_ptr_equal(f.q->pre_start.spawn[0], f.r);
    assert_null(f.q->pre_start.spawn[1]);
    assert_int_equal(f.w->directive, AXO_ESCALATE);
    assert_int_equal(f.x->directive, AXO_STOP);
    assert_ptr_equal(f.x->pre_start.spawn[0], f.y);
    kit_never(k, "*.preStart");
    kit_grow(&f);
    kit_expect_count(k, "*.preStart", 7);
    kit_order(k, "g.preStart", "p.preStart", "c.preStart", "d.preStart", "q.preStart", "r.preStart",
              "w.preStart");
    static const char *const paths[] = {"/user/g",   "/user/g/p", "/user/g/p/c", "/user/g/p/d",
                                        "/user/g/q", "/user/g/q/r", "/user/w"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char path[64];
        assert_int_equal(axo_system_path(kit_system(k), kit_ref(made[i]), path, sizeof path), 0);
        assert_string_equal(path, paths[i]);
    }
    kit_tree(k, "e:rest:resume");
}

static void words_are_numbers(kit *k)
{
    kit_family f = kit_tree(k, "p:restart(a)");
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_await(k, "a#2.preStart");
    kit_expect(k, "p.decided(RESTART)=1", "p.decided(2)=1", "p.decided(STOP)=0", "a.suspend(OWN)=1",
               "a.suspend(PARENT)=0", "p.decider(a)=1");
}

static void what_is_expected_is_counted(kit *k)
{
    kit_script *a = kit_top(k, "a");
    kit_tell(k, a, KIT_NOTE, 1);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_await_all(k, "a.note(1)@2", "a.preStart");
    kit_expect(k, "a.ctor=1", "a.note(1)=2", "a.note(2)=0");
}

static void never_came(kit *k)
{
    (void)kit_top(k, "a");
    kit_expect(k, "a.ctor=1", "a.preStart=0", "a.ctor=1");
}

static void last_came_once(kit *k)
{
    kit_script *a = kit_top(k, "a");
    kit_tell(k, a, KIT_NOTE, 1);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_settle(k);
    kit_expect(k, "a.ctor=1", "a.note=1");
}

static void no_number(kit *k)
{
    kit_expect(k, "a.note=0", "a.note");
}

static void bad_number(kit *k)
{
    kit_expect(k, "a.note=0x");
}

static void bad_word(kit *k)
{
    kit_never(k, "a.decided(RESTARTS)");
}

static void word_of_another(kit *k)
{
    kit_never(k, "a.decided(KILLED)");
}

static void bad_letter(kit *k)
{
    kit_plan(k, "p(A)");
}

static void bad_option(kit *k)
{
    kit_plan(k, "p:restarts");
}

static void bad_bracket(kit *k)
{
    kit_plan(k, "p(a]");
}

static void two_of_a_name(kit *k)
{
    kit_plan(k, "p(a), a");
}

/* Runs a test in a child of fork: how many have failed there. */
static int failures_of(const struct CMUnitTest *test)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
            _exit(99);
        _exit(_cmocka_run_group_tests("bad", test, 1, NULL, NULL));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void what_is_written_wrongly_fails(void **state)
{
    const struct CMUnitTest bad[] = {
        KIT_TEST_ONE("never", never_came, 1, "worker"),
        KIT_TEST_ONE("once", last_came_once, 1, "worker"),
        KIT_TEST_ONE("number", no_number, 1, "worker"),
        KIT_TEST_ONE("hex", bad_number, 1, "worker"),
        KIT_TEST_ONE("word", bad_word, 1, "worker"),
        KIT_TEST_ONE("another's", word_of_another, 1, "worker"),
        KIT_TEST_ONE("letter", bad_letter, 1, "worker"),
        KIT_TEST_ONE("option", bad_option, 1, "worker"),
        KIT_TEST_ONE("bracket", bad_bracket, 1, "worker"),
        KIT_TEST_ONE("twice", two_of_a_name, 1, "worker"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(failures_of(&bad[i]), 1);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("family", a_family_is_made_and_grows),
    KIT_TEST("words", words_are_numbers),
    KIT_TEST("counts", what_is_expected_is_counted),
    cmocka_unit_test(what_is_written_wrongly_fails),
};
TEST_MAIN(tests)
