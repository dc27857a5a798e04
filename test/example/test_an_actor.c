/* test_an_actor.c - how a program tests its own actors: one thread, a clock that the test moves,
 * and a probe that receives. Any test framework will do; here it is assert. test_an_actor.expected
 * is what it prints. */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>

#include <axo/axo.h>

enum { DEPOSIT = 1, BALANCE, BALANCE_IS, REMIND, REMINDER };
#define S INT64_C(1000000000)

/* ---- what is tested ---- */

static axo_status account_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    int *cents = state;
    switch (message->tag) {
    case DEPOSIT:
        if (*AXO_PAYLOAD(message, int) < 0)
            return axo_fail(ctx, 1, "a deposit below zero");
        *cents += *AXO_PAYLOAD(message, int);
        return AXO_OK;
    case BALANCE:
        return axo_reply(ctx, message, BALANCE_IS, cents, sizeof *cents);
    case REMIND:
        return axo_send_after(ctx, 24 * 3600 * S, message->sender, REMINDER, NULL, 0);
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class account =
    AXO_CLASS(.name = "account", .state_size = sizeof(int), .receive = account_receive);

/* ---- the tests ---- */

typedef struct fixture {
    axo_testkit *kit;
    axo_probe *probe;
    axo_ref account;
} fixture;

static void set_up(fixture *f)
{
    assert(axo_testkit_start(NULL, &f->kit) == AXO_OK);
    f->probe = axo_probe_new(f->kit, "probe");
    assert(f->probe != NULL);
    assert(axo_system_spawn(axo_testkit_system(f->kit), &(axo_props)AXO_PROPS(.cls = &account),
                            &f->account) == AXO_OK);
}

static void tear_down(fixture *f)
{
    assert(axo_testkit_stop(f->kit) == AXO_OK); /* no message lost, no memory left */
}

static void deposit(fixture *f, int cents)
{
    assert(axo_probe_send(f->probe, f->account, DEPOSIT, &cents, sizeof cents) == AXO_OK);
}

static int balance(fixture *f)
{
    assert(axo_probe_send(f->probe, f->account, BALANCE, NULL, 0) == AXO_OK);
    const axo_message *answer = axo_probe_expect(f->probe, BALANCE_IS, 0);
    assert(answer != NULL);
    return *AXO_PAYLOAD(answer, int);
}

static void test_it_adds(fixture *f)
{
    deposit(f, 300);
    deposit(f, 125);
    assert(balance(f) == 425);
}

static void test_a_failure_restarts_it(fixture *f)
{
    deposit(f, 300);
    deposit(f, -1);
    assert(balance(f) == 0); /* a new instance */
    /* The same without a bad message: when its turn in the mailbox comes the actor fails. */
    deposit(f, 300);
    assert(axo_system_fail(axo_testkit_system(f->kit), f->account, AXO_FAILURE_ORDINARY, 5) ==
           AXO_OK);
    assert(balance(f) == 0);
}

static void test_a_day_takes_no_time(fixture *f)
{
    assert(axo_probe_send(f->probe, f->account, REMIND, NULL, 0) == AXO_OK);
    assert(axo_probe_expect_none(f->probe, 24 * 3600 * S - 1));
    assert(axo_probe_expect(f->probe, REMINDER, 1 * S) != NULL);
}

static void test_its_end(fixture *f)
{
    assert(axo_probe_watch(f->probe, f->account) == AXO_OK);
    assert(axo_system_stop_actor(axo_testkit_system(f->kit), f->account) == AXO_OK);
    assert(axo_probe_expect_terminated(f->probe, f->account, 0));
    assert(axo_probe_expect(f->probe, BALANCE_IS, 2 * S) == NULL);
    printf("why: %s\n", axo_testkit_why(f->kit)); /* for a test's report */
}

int main(void)
{
    static void (*const tests[])(fixture *) = {test_it_adds, test_a_failure_restarts_it,
                                               test_a_day_takes_no_time, test_its_end};
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        fixture f;
        set_up(&f);
        tests[i](&f);
        tear_down(&f);
    }
    printf("4 tests passed\n");
    return 0;
}
