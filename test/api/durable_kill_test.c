/* durable_kill_test.c - a process that sends, handles and persists is killed at any moment, again
 * and again; what it had said before, in a file that outlives it, is compared with what the next
 * one does.
 *
 *   durable_kill_test [KILLS [SEED]]    so many moments
 *
 * Claims, over all processes:
 *   C1  What was accepted is handled, and what is handled was sent.
 *   C2  First handlings are in order of the numbers, without a gap.
 *   C3  No handler sees a number again that was acknowledged before its process began, and none in
 *       one process twice; who sees one again is told so.
 *   C4  A journal has the events of each durable message once; its sum is that of what was handled.
 *   C5  An event that was applied is there for ever, in its place. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "api/durable_world.h"

enum {
    K_READY = 1, /* the store is open: value: the process */
    K_SENT,      /* value, before it is sent */
    K_ACCEPTED,  /* value, number */
    K_HANDLED,   /* value, number, again */
    K_ACKED,     /* number: so many of this process are acknowledged on disk */
    K_APPLIED,   /* value, number of the event; again: in recovery */
    K_SUM        /* value: the journal's sum, number: its last event */
};

typedef struct k_record {
    uint32_t what;
    uint32_t again;
    uint64_t number;
    int64_t value;
} k_record;

/* ---- the process that is killed ---- */

typedef struct k_child {
    axo_store *store;
    int fd;
    bool drains; /* the last one: it sends nothing, and ends when all is handled */
    bool counts; /* there is one actor, so what is acknowledged is its */
    int64_t first;
} k_child;

static k_child child;

static void k_say(uint32_t what, uint64_t number, int64_t value, uint32_t again)
{
    const k_record record = {.what = what, .again = again, .number = number, .value = value};
    if (write(child.fd, &record, sizeof record) != (ssize_t)sizeof record)
        abort();
}

static axo_status k_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_durable_given given;
    int64_t value;
    (void)state;
    if (axo_durable_now(ctx, &given) != AXO_OK || message->size != sizeof value)
        abort();
    memcpy(&value, message->payload, sizeof value);
    k_say(K_HANDLED, given.number, value, given.again);
    return AXO_OK;
}

static const axo_class k_class = AXO_CLASS(.name = "handler", .receive = k_receive);

typedef struct k_sum {
    int64_t sum;
} k_sum;

/* Each message is an event; now and then one handler persists two. */
static axo_status k_persist(axo_ctx *ctx, void *state, const axo_message *message)
{
    k_sum *me = state;
    int64_t value;
    int64_t zero = 0;
    if (message->tag == 2) {
        k_say(K_SUM, axo_journal_number(ctx), me->sum, 0);
        return AXO_OK;
    }
    memcpy(&value, message->payload, sizeof value);
    axo_status status = axo_journal_persist(ctx, 1, &value, sizeof value);
    if (status == AXO_OK && value % 3 == 0)
        status = axo_journal_persist(ctx, 1, &zero, sizeof zero);
    return status;
}

static axo_status k_apply(axo_ctx *ctx, void *state, const axo_journal_event *event)
{
    k_sum *me = state;
    int64_t value;
    memcpy(&value, event->payload, sizeof value);
    me->sum += value;
    k_say(K_APPLIED, event->number, value, event->recovering);
    if (!event->recovering && event->number % 50 == 0)
        return axo_journal_snapshot(ctx, me, sizeof *me);
    return AXO_OK;
}

static axo_status k_restore(axo_ctx *ctx, void *state, const axo_journal_event *event)
{
    (void)ctx;
    memcpy(state, event->payload, sizeof(k_sum));
    return AXO_OK;
}

static const axo_class k_journal_class =
    AXO_CLASS(.name = "journal", .state_size = sizeof(k_sum), .receive = k_persist);
static const axo_journal k_journal = AXO_JOURNAL(.apply = k_apply, .restore = k_restore);

/* What is acknowledged, as the store counts it. */
static AXO_NORETURN void *k_watch(void *unused)
{
    uint64_t said = 0;
    (void)unused;
    for (;;) {
        axo_store_figures figures;
        const struct timespec pause = {.tv_nsec = 500000};
        (void)axo_store_count(child.store, &figures);
        if (figures.acknowledged > said)
            k_say(K_ACKED, said = figures.acknowledged, 0, 0);
        (void)nanosleep(&pause, NULL);
    }
}

static void k_send(const char *name, uint32_t tag, int64_t value)
{
    axo_durable_answer answer;
    if (axo_system_durable_send(child.store, name, tag, &value, sizeof value, -1, &answer) !=
        AXO_OK)
        abort();
    if (tag == 1)
        k_say(K_ACCEPTED, answer.number, value, name[0] == 'j');
}

static void *k_send_some(void *which)
{
    for (int64_t i = child.first; i < child.first + 100000; i++) {
        int64_t value = 2 * i + (which != NULL);
        k_say(K_SENT, 0, value, 0);
        k_send("handler", 1, value);
        if (which == NULL && !child.counts)
            k_send("journal", 1, i);
    }
    return NULL;
}

static axo_ref k_spawn(axo_system *system, const char *name, const axo_class *cls,
                       const axo_journal *journal)
{
    axo_ref ref;
    axo_durable recipe =
        AXO_DURABLE(.store = child.store, .name = name, .journal = journal, .fails_max = 1000);
    axo_props props = AXO_PROPS(.cls = cls, .name = name);
    if (axo_system_durable_spawn(system, &recipe, &props, &ref) != AXO_OK)
        abort();
    return ref;
}

/* Empties both mailboxes and says the sum. */
static void k_drain(axo_system *system)
{
    k_send("journal", 2, 0);
    k_send("handler", 3, -1); /* the last */
    for (uint64_t before = 0;;) {
        axo_store_figures figures;
        const struct timespec pause = {.tv_nsec = 200000000};
        (void)nanosleep(&pause, NULL);
        (void)axo_system_quiesce(system, W_LONG);
        (void)axo_store_count(child.store, &figures);
        if (figures.acknowledged == before)
            break;
        before = figures.acknowledged;
    }
}

static int k_child_main(char **argv)
{
    pthread_t threads[3];
    axo_system *system;
    axo_store_problem problem;
    axo_options options = AXO_OPTIONS(.workers = 2, .stuck_ns = -1);
    child.fd = open(argv[3], O_WRONLY | O_APPEND);
    child.first = strtoll(argv[4], NULL, 10);
    child.drains = child.first < 0;
    world at = {.settings = AXO_STORE_SETTINGS(.loaded_max = 16)};
    if (child.fd < 0 || axo_system_start(&options, &system) != AXO_OK)
        abort();
    (void)snprintf(at.path, sizeof at.path, "%s", argv[2]);
    at.settings.path = at.path;
    at.system = system;
    if (W_OPEN_STORE(&at, &problem) != AXO_OK) {
        (void)fprintf(stderr, "the store does not open: %s\n", problem.text);
        return 3;
    }
    child.store = at.store;
    k_say(K_READY, 0, getpid(), 0);
    child.counts = !child.drains && child.first % 2 == 0;
    if (!child.counts)
        (void)k_spawn(system, "journal", &k_journal_class, &k_journal);
    (void)k_spawn(system, "handler", &k_class, NULL);
    if (child.drains) {
        k_drain(system);
        return axo_system_stop(system, W_LONG, NULL, 0, NULL) == AXO_OK ? 0 : 4;
    }
    if (child.counts)
        (void)pthread_create(&threads[2], NULL, k_watch, NULL);
    for (uintptr_t i = 0; i < 2; i++)
        (void)pthread_create(&threads[i], NULL, k_send_some, (void *)i);
    for (;;)
        (void)pause();
}

/* ---- who kills it ---- */

typedef struct k_world {
    char folder[300];
    char ledger[320];
    int fd;
    unsigned char *sent;      /* by value */
    int64_t *accepted;        /* by number: value + 1; 0: not said */
    int64_t *handled;         /* by number: value + 1 */
    int64_t *events;          /* by number: value + 1 */
    unsigned char *persisted; /* by value: what the journal's mailbox has accepted */
    uint64_t first_number;    /* of this process */
    uint64_t last_number;
    uint64_t greatest; /* ever handled */
    uint64_t repeats;
    uint64_t applied; /* the greatest event */
    int64_t greatest_value;
    int64_t sum;
    bool summed;
} k_world;
#define K_MAX 20000000

static void k_check_handled(k_world *k, const k_record *r)
{
    assert_in_range(r->number, 1, K_MAX - 1);
    if (r->value >= 0)
        assert_int_equal(k->sent[r->value], 1);                          /* C1 */
    assert_true(r->number <= k->greatest + 1);                           /* C2 */
    assert_true(k->last_number == 0 || r->number == k->last_number + 1); /* C3: not in one */
    if (r->number <= k->greatest) {
        k->repeats++;
        assert_int_equal(r->again, 1); /* C3 */
        assert_int_equal(k->handled[r->number], r->value + 2);
    } else {
        k->greatest = r->number;
    }
    if (k->first_number == 0)
        k->first_number = r->number;
    k->last_number = r->number;
    k->handled[r->number] = r->value + 2;
}

static void k_check_applied(k_world *k, const k_record *r)
{
    assert_in_range(r->number, 1, K_MAX - 1);
    assert_true(r->number <= k->applied + 1); /* C5 */
    if (k->events[r->number] != 0)
        assert_int_equal(k->events[r->number], r->value + 1);
    k->events[r->number] = r->value + 1;
    if (r->number > k->applied)
        k->applied = r->number;
}

/* What one process has said; *acked: up to which number is acknowledged for certain. */
static void k_check(k_world *k, uint64_t *acked)
{
    k_record r;
    uint64_t count = 0;
    k->first_number = k->last_number = 0;
    while (read(k->fd, &r, sizeof r) == (ssize_t)sizeof r) {
        if (r.what != K_SUM)
            assert_in_range(r.value + 1, 0, K_MAX - 1);
        switch (r.what) {
        case K_SENT:
            k->sent[r.value] = 1;
            if (r.value > k->greatest_value)
                k->greatest_value = r.value;
            break;
        case K_ACCEPTED:
            if (r.again)
                k->persisted[r.value] = 1;
            else
                k->accepted[r.number] = r.value + 2;
            break;
        case K_HANDLED:
            assert_true(r.number > *acked); /* C3 */
            k_check_handled(k, &r);
            break;
        case K_ACKED:
            count = r.number;
            break;
        case K_APPLIED:
            k_check_applied(k, &r);
            break;
        case K_SUM:
            k->sum = r.value;
            k->summed = true;
            break;
        default:
            break;
        }
    }
    if (count > 0)
        *acked = k->first_number + count - 1;
}

static pid_t k_start(const k_world *k, const char *self, int64_t first)
{
    char number[32];
    (void)snprintf(number, sizeof number, "%lld", (long long)first);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)execl(self, self, "child", k->folder, k->ledger, number, NULL);
        _exit(127);
    }
    return pid;
}

static uint64_t k_chance(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* C4: every value once, and two events of one handler side by side. */
static void k_check_journal(const k_world *k)
{
    int64_t sum = 0;
    unsigned char *seen = calloc(1, K_MAX);
    assert_non_null(seen);
    for (uint64_t i = 1; i <= k->applied; i++) {
        int64_t value = k->events[i] - 1;
        assert_true(value >= 0); /* each was applied */
        sum += value;
        if (value == 0)
            continue;
        assert_int_equal(seen[value], 0);
        seen[value] = 1;
        if (value % 3 == 0)
            assert_int_equal(k->events[i + 1], 1);
    }
    for (uint64_t i = 1; i < K_MAX; i++)
        assert_true(k->persisted[i] == 0 || seen[i] == 1);
    free(seen);
    assert_true(k->summed);
    assert_int_equal(k->sum, sum);
}

static void k_finish(k_world *k, const char *self, uint64_t acked)
{
    int status;
    pid_t pid = k_start(k, self, -1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    k_check(k, &acked);
    for (uint64_t i = 1; i < K_MAX; i++) {
        if (k->accepted[i] != 0)
            assert_int_equal(k->handled[i], k->accepted[i]); /* C1 */
    }
    k_check_journal(k);
    printf("%llu handled, %llu of them again; %llu events\n", (unsigned long long)k->greatest,
           (unsigned long long)k->repeats, (unsigned long long)k->applied);
}

static void *k_table(size_t size)
{
    void *table = calloc(K_MAX, size);
    assert_non_null(table);
    return table;
}

static uint32_t kills = 200;
static uint64_t seed;
static const char *self_path;

static void killed(void **unused)
{
    char command[400];
    const char *tmp = getenv("TMPDIR");
    k_world k = {.sent = k_table(1),
                 .accepted = k_table(8),
                 .handled = k_table(8),
                 .events = k_table(8),
                 .persisted = k_table(1)};
    (void)snprintf(k.folder, sizeof k.folder, "%s/kill.XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(k.folder));
    (void)snprintf(k.ledger, sizeof k.ledger, "%s/ledger", k.folder);
    k.fd = open(k.ledger, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(k.fd >= 0);
    printf("seed %llu\n", (unsigned long long)seed);
    uint64_t acked = 0;
    for (uint32_t i = 0; i < kills; i++) {
        int status;
        pid_t pid = k_start(&k, self_path, k.greatest_value / 2 + 1);
        const uint64_t us = k_chance(&seed) % 60000;
        const struct timespec pause = {.tv_nsec = (long)us * 1000};
        (void)nanosleep(&pause, NULL);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status))
            fail_msg("it ended by itself: %d", WEXITSTATUS(status));
        k_check(&k, &acked);
    }
    k_finish(&k, self_path, acked);
    (void)close(k.fd);
    free(k.sent);
    free(k.accepted);
    free(k.handled);
    free(k.events);
    free(k.persisted);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", k.folder);
    assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(killed)};
    if (argc == 5 && strcmp(argv[1], "child") == 0)
        return k_child_main(argv);
    self_path = argv[0];
    if (argc > 1)
        kills = (uint32_t)strtoul(argv[1], NULL, 10);
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) * 2654435761U + 1;
    return W_RUN(tests);
}
