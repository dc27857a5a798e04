/* durable_mailbox_test.c - durable mailboxes: order, redelivery, acknowledgement, the dead. */
#include "api/durable_world.h"

static void in_order(void **unused)
{
    world w;
    w_init(&w);
    w_open(&w);
    axo_ref ref = w_spawn(&w, "a");
    for (int64_t i = 1; i <= 300; i++)
        assert_int_equal(w_put(&w, "a", W_ADD, i), i);
    w_await(&w, 300);
    for (uint32_t i = 0; i < 300; i++) {
        assert_int_equal(w.seen[i].number, i + 1);
        assert_int_equal(w.seen[i].value, i + 1);
        assert_int_equal(w.seen[i].again, 0);
        assert_int_equal(w.seen[i].fails, 0);
    }
    w_tell(&w, ref, W_ADD, 5); /* an ordinary one */
    w_await(&w, 301);
    assert_int_equal(w.seen[300].number, 0);
    W_UNTIL_STORE(&w, acknowledged, 300);
    axo_store_figures figures = w_figures(&w);
    assert_int_equal(figures.accepted, 300);
    assert_int_equal(figures.acknowledged, 300);
    assert_int_equal(figures.refused + figures.failed + figures.dead + figures.errors, 0);
    w_close(&w);
    w_forget(&w);
    w_open(&w); /* nothing is left */
    (void)w_spawn(&w, "a");
    assert_int_equal(w_put(&w, "a", W_ADD, 9), 301); /* numbers go on */
    w_await(&w, 1);
    assert_int_equal(w.seen[0].number, 301);
    assert_int_equal(w.seen[0].again, 0);
    w_close(&w);
    w_fini(&w);
}

static void without_an_actor(void **unused)
{
    world w;
    w_init(&w);
    w_open(&w);
    for (int64_t i = 1; i <= 50; i++)
        assert_int_equal(w_put(&w, "a", W_ADD, i), i);
    assert_int_equal(w_put(&w, "b", W_ADD, 70), 1);
    w_close(&w);
    w_open(&w);
    (void)w_spawn(&w, "a");
    w_await(&w, 50);
    for (uint32_t i = 0; i < 50; i++) {
        assert_int_equal(w.seen[i].number, i + 1);
        assert_int_equal(w.seen[i].value, i + 1);
        assert_int_equal(w.seen[i].again, 1);
    }
    (void)w_spawn(&w, "b");
    w_await(&w, 51);
    assert_int_equal(w.seen[50].value, 70);
    w_close(&w);
    w_fini(&w);
}

/* More on disk than in memory, and more that comes. */
static void more_than_is_loaded(void **unused)
{
    world w;
    w_init(&w);
    w.settings.loaded_max = 4;
    w_open(&w);
    for (int64_t i = 1; i <= 60; i++)
        (void)w_put(&w, "a", W_ADD, i);
    w_set_hold(&w, true);
    (void)w_spawn(&w, "a");
    for (int64_t i = 61; i <= 100; i++)
        (void)w_put(&w, "a", W_ADD, i);
    w_set_hold(&w, false);
    w_await(&w, 100);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(w.seen[i].value, i + 1);
    W_UNTIL_STORE(&w, acknowledged, 100);
    w_close(&w);
    w_fini(&w);
}

static void fails_once_as(uint32_t tag, axo_directive answer)
{
    world w;
    w_init(&w);
    w.answer = answer;
    w_open(&w);
    w_set_hold(&w, true);
    (void)w_spawn(&w, "a");
    (void)w_put(&w, "a", W_ADD, 1);
    (void)w_put(&w, "a", tag, 2);
    (void)w_put(&w, "a", W_ADD, 3);
    w_set_hold(&w, false);
    w_await(&w, 4);
    W_UNTIL_STORE(&w, acknowledged, 3);
    const uint64_t numbers[] = {1, 2, 2, 3};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(w.seen[i].number, numbers[i]);
    assert_int_equal(w.seen[1].fails, 0);
    assert_int_equal(w.seen[1].again, 0);
    assert_int_equal(w.seen[2].fails, 1);
    assert_int_equal(w.seen[2].again, 1);
    assert_int_equal(w.seen[2].instance, answer == AXO_RESTART ? 2 : 1);
    assert_int_equal(w.seen[3].sum, answer == AXO_RESTART ? 3 : 4);
    assert_int_equal(w_figures(&w).failed, 1);
    assert_int_equal(w.count, 4);
    w_close(&w);
    w_fini(&w);
}

static void fails_once(void **unused)
{
    fails_once_as(W_FAIL_ONCE, AXO_RESTART);
    fails_once_as(W_FAIL_ONCE, AXO_RESUME);
    fails_once_as(W_THROW_ONCE, AXO_RESTART);
    fails_once_as(W_THROW_ONCE, AXO_RESUME);
}

/* Failures are counted over processes. */
static void failures_are_kept(void **unused)
{
    world w;
    w_init(&w);
    w.answer = AXO_STOP;
    w_open(&w);
    (void)w_put(&w, "a", W_FAIL, 1);
    (void)w_put(&w, "a", W_ADD, 2);
    for (uint32_t i = 0; i < 3; i++) {
        axo_ref ref = w_spawn(&w, "a");
        assert_int_equal(axo_system_send(w.system, w.other, 1000, &ref, sizeof ref), AXO_OK);
        W_UNTIL(&w, w.terminated == 1);
        assert_int_equal(w.seen[0].fails, i);
        assert_int_equal(w.seen[0].number, 1);
        assert_int_equal(w.count, 1);
        w_close(&w);
        w_forget(&w);
        w_open(&w);
    }
    (void)w_spawn(&w, "a");
    w_await(&w, 1);
    assert_int_equal(w.seen[0].number, 2);
    w_close(&w);
    w_fini(&w);
}

typedef struct letters {
    axo_store_letter last;
    char text[AXO_FAILURE_TEXT_MAX];
    int64_t value;
    axo_store_then then;
} letters;

static axo_store_then look(void *user, const axo_store_letter *letter)
{
    letters *l = user;
    l->last = *letter;
    (void)snprintf(l->text, sizeof l->text, "%s", letter->text);
    if (letter->size == sizeof l->value)
        memcpy(&l->value, letter->payload, sizeof l->value);
    return l->then;
}

static uint64_t letters_of(world *w, letters *l, axo_store_then then)
{
    uint64_t count;
    memset(l, 0, sizeof *l);
    l->then = then;
    assert_int_equal(axo_store_dead(w->store, "a", look, l, &count), AXO_OK);
    return count;
}

static void poison_as(axo_directive answer)
{
    world w;
    letters l;
    w_init(&w);
    w.answer = answer;
    w_open(&w);
    (void)w_spawn(&w, "a");
    (void)w_put(&w, "a", W_FAIL, 41);
    (void)w_put(&w, "a", W_ADD, 1);
    w_await(&w, 4);
    W_UNTIL_STORE(&w, dead, 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(w.seen[i].number, 1);
        assert_int_equal(w.seen[i].fails, i);
    }
    assert_int_equal(w.seen[3].number, 2);
    assert_int_equal(letters_of(&w, &l, AXO_STORE_KEEP), 1);
    assert_int_equal(l.last.number, 1);
    assert_int_equal(l.last.reason, AXO_STORE_FAILED);
    assert_int_equal(l.last.fails, 3);
    assert_int_equal(l.last.tag, W_FAIL);
    assert_int_equal(l.value, 41);
    assert_true(l.last.accepted_ns > 0 && l.last.died_ns >= l.last.accepted_ns);
    if (answer == AXO_RESTART) {
        assert_int_equal(l.last.code, 41);
        assert_string_equal(l.text, "told to");
    }
    w_close(&w);
    w_forget(&w);
    w_open(&w); /* it is there, and comes no more */
    (void)w_spawn(&w, "a");
    (void)w_put(&w, "a", W_ADD, 1);
    w_await(&w, 1);
    assert_int_equal(w.seen[0].number, 3);
    assert_int_equal(letters_of(&w, &l, AXO_STORE_AGAIN), 1); /* anew, three times more */
    w_await(&w, 4);
    assert_int_equal(w.seen[1].number, 4);
    assert_int_equal(w.seen[1].fails, 0);
    assert_int_equal(w.seen[1].value, 41);
    W_UNTIL_STORE(&w, dead, 1);
    assert_int_equal(letters_of(&w, &l, AXO_STORE_DELETE), 1);
    assert_int_equal(l.last.number, 4);
    assert_int_equal(letters_of(&w, &l, AXO_STORE_KEEP), 0);
    w_close(&w);
    w_fini(&w);
}

static void poison(void **unused)
{
    poison_as(AXO_RESTART);
    poison_as(AXO_RESUME);
}

/* A thread that looks for as long as it is told to. */
typedef struct guest {
    world *w;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool looks;
    bool goes_on;
} guest;

static void guest_says(guest *it, bool *what)
{
    (void)pthread_mutex_lock(&it->mutex);
    *what = true;
    (void)pthread_cond_broadcast(&it->changed);
    (void)pthread_mutex_unlock(&it->mutex);
}

static void guest_waits(guest *it, const bool *what)
{
    (void)pthread_mutex_lock(&it->mutex);
    while (!*what)
        (void)pthread_cond_wait(&it->changed, &it->mutex);
    (void)pthread_mutex_unlock(&it->mutex);
}

static axo_store_then guest_look(void *user, const axo_store_letter *letter)
{
    guest *it = user;
    guest_says(it, &it->looks);
    guest_waits(it, &it->goes_on);
    return AXO_STORE_KEEP;
}

static void *guest_run(void *arg)
{
    guest *it = arg;
    uint64_t count;
    assert_int_equal(axo_store_dead(it->w->store, "a", guest_look, it, &count), AXO_OK);
    assert_int_equal(count, 1);
    return NULL;
}

/* A store that is closed is there for as long as a thread is in a call of it. */
static void closed_under_a_look(void **unused)
{
    world w;
    guest it = {.w = &w, .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    w_init(&w);
    w_open(&w);
    (void)w_spawn(&w, "a");
    (void)w_put(&w, "a", W_FAIL, 41);
    W_UNTIL_STORE(&w, dead, 1);
    assert_int_equal(pthread_create(&thread, NULL, guest_run, &it), 0);
    guest_waits(&it, &it.looks);
    assert_int_equal(axo_system_stop(w.system, W_SECOND / 10, NULL, 0, NULL), AXO_ETIMEDOUT);
    guest_says(&it, &it.goes_on);
    assert_int_equal(pthread_join(thread, NULL), 0);
    w_close(&w);
    w_fini(&w);
}

static void unhandled(void **unused)
{
    world w;
    letters l;
    w_init(&w);
    w_open(&w);
    (void)w_spawn(&w, "a");
    (void)w_put(&w, "a", W_UNKNOWN, 3);
    (void)w_put(&w, "a", W_ADD, 1);
    w_await(&w, 2);
    W_UNTIL_STORE(&w, dead, 1);
    assert_int_equal(w.unhandled, 1);
    assert_int_equal(w.seen[1].instance, 1); /* no failure */
    assert_int_equal(letters_of(&w, &l, AXO_STORE_KEEP), 1);
    assert_int_equal(l.last.reason, AXO_STORE_UNHANDLED);
    assert_int_equal(l.value, 3);
    w_close(&w);
    w_fini(&w);
}

/* What is stashed is not acknowledged: not when it was stashed and put back at once either. */
static void stash(void **unused)
{
    world w;
    w_init(&w);
    w_open(&w);
    (void)w_spawn(&w, "a");
    (void)w_put(&w, "a", W_STASH, 1);
    (void)w_put(&w, "a", W_STASH, 2);
    (void)w_put(&w, "a", W_ADD, 3);
    w_await(&w, 3);
    W_UNTIL_STORE(&w, acknowledged, 1);
    w_close(&w);
    w_forget(&w);
    w_open(&w); /* the next actor gets them again */
    (void)w_spawn(&w, "a");
    w_await(&w, 2);
    assert_int_equal(w.seen[0].number, 1);
    assert_int_equal(w.seen[1].number, 2);
    (void)w_put(&w, "a", W_FAIL_ONCE, 4); /* and so does the next instance, in order */
    w_await(&w, 6);
    const uint64_t numbers[] = {1, 2, 4, 1, 2, 4};
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(w.seen[i].number, numbers[i]);
    (void)w_put(&w, "a", W_UNSTASH, 5);
    w_await(&w, 9);
    assert_int_equal(w.seen[7].number, 1);
    assert_int_equal(w.seen[8].number, 2);
    W_UNTIL_STORE(&w, acknowledged, 4);
    assert_int_equal(w_figures(&w).failed, 1);
    w_close(&w);
    w_forget(&w);
    w_open(&w);
    (void)w_spawn(&w, "a");
    (void)w_put(&w, "a", W_ADD, 6);
    w_await(&w, 1);
    assert_int_equal(w.seen[0].number, 6);
    w_close(&w);
    w_fini(&w);
}

static void handed_on(void **unused)
{
    world w;
    w_init(&w);
    w_open(&w);
    (void)w_spawn(&w, "a");
    (void)w_put(&w, "a", W_TAKE, 1);
    (void)w_put(&w, "a", W_FORWARD, 2);
    w_await(&w, 3);
    W_UNTIL_STORE(&w, acknowledged, 2);
    assert_int_equal(w.seen[2].instance, 1000);
    assert_int_equal(w.seen[2].value, 2);
    w_close(&w);
    w_fini(&w);
}

static void one_at_a_time(void **unused)
{
    world w;
    axo_ref ref;
    axo_ref second;
    w_init(&w);
    w_open(&w);
    ref = w_spawn(&w, "a");
    assert_int_equal(w_try_spawn(&w, "a", false, &second), AXO_EEXIST);
    assert_true(axo_ref_is_none(second));
    assert_int_equal(axo_system_send(w.system, w.other, 1000, &ref, sizeof ref), AXO_OK);
    (void)w_put(&w, "a", W_ADD, 1);
    w_await(&w, 1);
    w_set_hold(&w, true);
    (void)w_put(&w, "a", W_STOP, 2);
    for (int64_t i = 3; i <= 20; i++)
        (void)w_put(&w, "a", W_ADD, i);
    w_set_hold(&w, false);
    W_UNTIL(&w, w.terminated == 1);
    (void)w_spawn(&w, "a"); /* at once */
    w_await(&w, 20);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(w.seen[i].number, i + 1);
    assert_int_equal(w.seen[2].again, 0);
    assert_int_equal(w.seen[2].instance, 1);
    W_UNTIL_STORE(&w, acknowledged, 20);
    w_close(&w);
    w_fini(&w);
}

static void answers(void **unused)
{
    world w;
    w_init(&w);
    w_open(&w);
    axo_ref ref = w_spawn(&w, "a");
    w_tell(&w, ref, W_SEND, 500);
    W_UNTIL(&w, w.answers == 500);
    assert_int_equal(w.refusals, 0);
    axo_store_figures figures = w_figures(&w);
    assert_int_equal(figures.accepted, 500);
    assert_true(figures.transactions < 100); /* together */
    w_forget(&w);
    (void)w_spawn(&w, "other");
    w_await(&w, 500);
    for (uint32_t i = 0; i < 500; i++)
        assert_int_equal(w.seen[i].value, i);
    w_close(&w);
    w_fini(&w);
}

static void behaviours(void **unused)
{
    world w;
    w_init(&w);
    w_open(&w);
    (void)w_spawn(&w, "a");
    (void)w_put(&w, "a", W_BECOME, 1);
    (void)w_put(&w, "a", W_ADD, 2);
    (void)w_put(&w, "a", W_UNBECOME, 3);
    (void)w_put(&w, "a", W_ADD, 4);
    (void)w_put(&w, "a", W_BECOME, 5);
    w_await(&w, 5);
    W_UNTIL_STORE(&w, acknowledged, 5);
    const bool become[] = {false, true, true, false, false};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(w.seen[i].become, become[i]);
    w_close(&w);
    w_fini(&w);
}

static void refused(void **unused)
{
    world w;
    axo_ref ref;
    axo_durable_answer answer;
    char name[AXO_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    w_init(&w);
    w_open(&w);
    assert_int_equal(axo_system_durable_send(w.store, name, 1, NULL, 0, -1, NULL), AXO_ENAME);
    assert_int_equal(axo_system_durable_send(w.store, "", 1, NULL, 0, -1, NULL), AXO_ENAME);
    assert_int_equal(axo_system_durable_send(NULL, "a", 1, NULL, 0, -1, NULL), AXO_EINVAL);
    assert_int_equal(axo_system_durable_send(w.store, "a", AXO_TAG_SERVICES, NULL, 0, -1, NULL),
                     AXO_EINVAL);
    assert_int_equal(axo_system_durable_send(w.store, "a", 1, NULL, 8, -1, NULL), AXO_EINVAL);
    assert_int_equal(
        axo_system_durable_send(w.store, "a", 1, &answer, AXO_PAYLOAD_MAX + 1, -1, NULL),
        AXO_ETOOBIG);
    assert_int_equal(w_try_spawn(&w, name, false, &ref), AXO_ENAME);
    axo_props props = AXO_PROPS(.cls = &w_class);
    axo_durable recipe = AXO_DURABLE(.store = w.store, .name = "a", .reserved = 1);
    assert_int_equal(axo_system_durable_spawn(w.system, &recipe, &props, &ref), AXO_EINVAL);
    recipe = (axo_durable)AXO_DURABLE(.name = "a");
    assert_int_equal(axo_system_durable_spawn(w.system, &recipe, &props, &ref), AXO_EINVAL);
    assert_int_equal(axo_durable_send(NULL, w.store, "a", 1, NULL, 0, 1), AXO_ECONTEXT);
    assert_int_equal(axo_durable_now(NULL, &(axo_durable_given){0}), AXO_ECONTEXT);
    assert_int_equal(axo_journal_persist(NULL, 1, NULL, 0), AXO_ECONTEXT);
    assert_int_equal(w_put(&w, "a", W_ADD, 1), 1); /* nothing has changed */
    assert_int_equal(axo_system_durable_send(w.store, "empty", W_ADD, NULL, 0, W_LONG, &answer),
                     AXO_OK);
    (void)w_spawn(&w, "empty");
    w_await(&w, 1);
    assert_int_equal(w.seen[0].number, 1);
    W_UNTIL_STORE(&w, acknowledged, 1);
    w_close(&w);
    w_fini(&w);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(without_an_actor),
        cmocka_unit_test(more_than_is_loaded),
        cmocka_unit_test(fails_once),
        cmocka_unit_test(failures_are_kept),
        cmocka_unit_test(poison),
        cmocka_unit_test(closed_under_a_look),
        cmocka_unit_test(unhandled),
        cmocka_unit_test(stash),
        cmocka_unit_test(handed_on),
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(answers),
        cmocka_unit_test(behaviours),
        cmocka_unit_test(refused),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return W_RUN(tests);
}
