/* testkit.c - a manual system on a clock of its own, and probes.
 *
 * Nothing runs by itself: the system has no threads, its clock is a field of the kit, and its seed
 * is fixed. The test's calls run turns and move the clock from timer to timer, so a test repeats to
 * the last message. A probe is an actor that keeps a copy of every message, for the test to look
 * at.
 */
#include <axo/axo.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern/context.h"
#include "pattern/given.h"

#define TESTKIT_START_NS INT64_C(1000000000)
#define TESTKIT_WATCH (AXO_TAG_SERVICES + 0x60) /* from the kit to a probe: watch this actor */
#define TESTKIT_WHY_MAX 256

/* A message that the probe has kept. */
typedef struct testkit_letter {
    struct testkit_letter *next;
    axo_message message; /* its payload follows */
} testkit_letter;

struct axo_probe {
    axo_probe *next;
    axo_testkit *kit;
    axo_ref ref;
    testkit_letter *first;
    testkit_letter **last;
    testkit_letter *taken; /* handed out by the latest call; freed by the next */
    axo_ref watch;         /* the actor that axo_probe_watch names; none between calls */
    axo_status watched;    /* the status of that axo_watch */
    uint32_t waiting;
    char name[32];
};

struct axo_testkit {
    axo_system *system;
    int64_t now;
    axo_allocator allocator; /* the program's, behind the kit's */
    axo_kind_allocator kind_allocator; /* likewise */
    uint64_t fail_skip;      /* allocations that succeed before */
    uint64_t fail_count;     /* the number of allocations that fail then */
    uint64_t blocks;         /* blocks that the system holds */
    axo_probe *probes;
    char why[TESTKIT_WHY_MAX];
};

static int64_t testkit_clock(void *user)
{
    return ((const axo_testkit *)user)->now;
}

/* ---- memory ---- */

/* The allocator that the system gets: it fails when the test says so, and counts what is held. */
static void *testkit_alloc(void *user, size_t size, size_t align, uint32_t kind)
{
    axo_testkit *kit = user;
    void *block = NULL;
    if (kit->fail_skip > 0) {
        kit->fail_skip--;
    } else if (kit->fail_count > 0) {
        kit->fail_count--;
        return NULL;
    }
    if (kit->kind_allocator.alloc != NULL)
        block = kit->kind_allocator.alloc(kit->kind_allocator.user, size, align, kind);
    else if (kit->allocator.alloc != NULL)
        block = kit->allocator.alloc(kit->allocator.user, size, align);
    else if (posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) != 0)
        block = NULL;
    kit->blocks += block != NULL;
    return block;
}

static void testkit_free(void *user, void *block, size_t size, size_t align, uint32_t kind)
{
    axo_testkit *kit = user;
    kit->blocks--;
    if (kit->kind_allocator.free != NULL)
        kit->kind_allocator.free(kit->kind_allocator.user, block, size, align, kind);
    else if (kit->allocator.free != NULL)
        kit->allocator.free(kit->allocator.user, block, size, align);
    else
        free(block);
}

/* ---- probes: the actor's side ---- */

/* Keeps a copy. The memory is malloc's, not the system's: a probe must not fail when the test lets
 * the system's memory fail. */
static axo_status probe_keep(axo_probe *probe, const axo_message *message)
{
    testkit_letter *letter = malloc(sizeof *letter + message->size);
    if (letter == NULL)
        return AXO_ENOMEM;
    letter->next = NULL;
    letter->message = *message;
    letter->message.payload = NULL;
    if (message->size > 0 && message->payload != NULL) {
        memcpy(letter + 1, message->payload, message->size);
        letter->message.payload = letter + 1;
    }
    *probe->last = letter;
    probe->last = &letter->next;
    probe->waiting++;
    return AXO_OK;
}

static axo_status probe_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_probe *probe = *(axo_probe *const *)state;
    /* Believed only while axo_probe_watch waits for it, and without a sender: any other such
     * message is kept like the rest. */
    if (message->tag == TESTKIT_WATCH && !axo_ref_is_none(probe->watch) &&
        axo_ref_is_none(message->sender) && message->size == sizeof probe->watch &&
        memcmp(message->payload, &probe->watch, sizeof probe->watch) == 0) {
        probe->watched = axo_watch(ctx, probe->watch);
        probe->watch = axo_ref_none();
        return AXO_OK;
    }
    return probe_keep(probe, message);
}

static axo_status probe_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(axo_probe *));
    return AXO_OK;
}

static const axo_class probe_class =
    AXO_CLASS(.name = "probe", .state_size = sizeof(axo_probe *), .construct = probe_construct,
              .receive = probe_receive);

/* ---- the system ---- */

/* The options of older and newer callers, as axo_system_start reads them. */
static axo_status testkit_options(const axo_options *given, axo_options *mine)
{
    *mine = (axo_options)AXO_OPTIONS(.workers = 0);
    return given != NULL ? axo__given_read(given, mine, sizeof *mine) : AXO_OK;
}

/* The system sees the kit's allocator alone, so the kit looks at the program's as it would. */
static bool testkit_allocators(const axo_testkit *kit)
{
    const axo_allocator *plain = &kit->allocator;
    const axo_kind_allocator *by_kind = &kit->kind_allocator;
    return (plain->alloc == NULL) == (plain->free == NULL) &&
           (by_kind->alloc == NULL) == (by_kind->free == NULL) &&
           (plain->alloc == NULL || by_kind->alloc == NULL) &&
           (by_kind->user == NULL || by_kind->alloc != NULL);
}

axo_status axo_testkit_start(const axo_options *options, axo_testkit **out)
{
    axo_options mine;
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    axo_status status = testkit_options(options, &mine);
    if (status != AXO_OK)
        return status;
    axo_testkit *kit = calloc(1, sizeof *kit);
    if (kit == NULL)
        return AXO_ENOMEM;
    kit->now = TESTKIT_START_NS;
    kit->allocator = mine.allocator;
    kit->kind_allocator = mine.kind_allocator;
    mine.manual = 1;
    /* without a time limit a turn depends on the calls alone: the same calls, the same run */
    mine.no_quantum_us = 1;
    mine.quantum_us = 0;
    mine.clock = testkit_clock;
    mine.clock_user = kit;
    mine.allocator = (axo_allocator){.alloc = NULL};
    mine.kind_allocator =
        (axo_kind_allocator){.alloc = testkit_alloc, .free = testkit_free, .user = kit};
    if (mine.seed == 0)
        mine.seed = 1;
    status = AXO_EINVAL;
    if (testkit_allocators(kit))
        status = axo_system_start(&mine, &kit->system);
    if (status != AXO_OK) {
        free(kit);
        return status;
    }
    (void)axo_testkit_run(kit); /* the guardians' first turns */
    *out = kit;
    return AXO_OK;
}

/* Frees the first letter of a list; NULL: there is none. */
static void testkit_free_letter(testkit_letter **letter)
{
    testkit_letter *gone = *letter;
    if (gone != NULL)
        *letter = gone->next;
    free(gone);
}

static void testkit_free_probes(axo_testkit *kit)
{
    while (kit->probes != NULL) {
        axo_probe *probe = kit->probes;
        kit->probes = probe->next;
        while (probe->first != NULL)
            testkit_free_letter(&probe->first);
        free(probe->taken);
        free(probe);
    }
}

axo_status axo_testkit_stop(axo_testkit *kit)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    if (kit == NULL)
        return AXO_EINVAL;
    if (!axo__context_at_home(kit->system))
        return AXO_EFORKED;
    /* The end of a test is checked with memory that works. */
    axo_testkit_fail_memory(kit, 0, 0);
    kit->why[0] = 0;
    (void)axo_system_shutdown(kit->system);
    (void)axo_testkit_advance(kit, 0);
    axo_status status = axo_system_stop(kit->system, 0, NULL, 0, NULL);
    (void)axo_system_stats(kit->system, &stats);
    /* D7: after the end nothing is queued, so the balance must be exact. A kit that fails here
     * stays, for the test to look at. */
    if (status != AXO_OK || stats.sent != stats.handled + stats.dead + stats.dropped) {
        (void)snprintf(kit->why, sizeof kit->why,
                       "stop: %" PRIu64 " sent, %" PRIu64 " handled, %" PRIu64 " dead, %" PRIu64
                       " dropped, %" PRIu64 " actors left",
                       stats.sent, stats.handled, stats.dead, stats.dropped, stats.actors);
        return AXO_EFAILED;
    }
    (void)axo_system_destroy(kit->system);
    kit->system = NULL;
    if (kit->blocks != 0) {
        (void)snprintf(kit->why, sizeof kit->why, "stop: %" PRIu64 " blocks of memory left",
                       kit->blocks);
        return AXO_EFAILED;
    }
    testkit_free_probes(kit);
    free(kit);
    return AXO_OK;
}

/* Whether there is a kit of this process; its system may have ended. */
static bool testkit_is_known(const axo_testkit *kit)
{
    return kit != NULL && (kit->system == NULL || axo__context_at_home(kit->system));
}

axo_system *axo_testkit_system(axo_testkit *kit)
{
    return testkit_is_known(kit) ? kit->system : NULL;
}

int64_t axo_testkit_now(axo_testkit *kit)
{
    return testkit_is_known(kit) ? kit->now : 0;
}

uint64_t axo_testkit_step(axo_testkit *kit, uint64_t turns_max)
{
    uint64_t turns = 0;
    if (kit == NULL)
        return 0;
    axo_status status = axo_step_host(kit->system, turns_max, &turns);
    /* A run inside a callback, or by two threads, would not repeat: a mistake of the test, which no
     * result could tell. */
    if (status != AXO_OK && status != AXO_EFORKED) {
        (void)fprintf(stderr, "axo: misuse: a testkit is run in a callback, or by two threads\n");
        abort();
    }
    return turns;
}

uint64_t axo_testkit_run(axo_testkit *kit)
{
    return axo_testkit_step(kit, UINT64_MAX);
}

/* Runs all ready actors, then moves the clock to the next timer; false: no timer is due by
 * `until`. */
static bool testkit_go_on(axo_testkit *kit, int64_t until, uint64_t *turns)
{
    *turns += axo_testkit_run(kit);
    int64_t due = axo_host_deadline(kit->system);
    if (due == INT64_MAX || due > until)
        return false;
    if (due > kit->now)
        kit->now = due;
    return true;
}

/* Whether there is a kit with a system of this process. */
static bool testkit_is_here(const axo_testkit *kit)
{
    return kit != NULL && axo__context_at_home(kit->system);
}

/* The time `ns` from now; a negative span is none. */
static int64_t testkit_until(const axo_testkit *kit, int64_t ns)
{
    if (ns <= 0)
        return kit->now;
    return axo__context_later(kit->now, ns);
}

uint64_t axo_testkit_advance(axo_testkit *kit, int64_t ns)
{
    uint64_t turns = 0;
    if (!testkit_is_here(kit))
        return 0;
    int64_t until = testkit_until(kit, ns);
    /* Timers fire one after the other at their own times: a handler that reads the clock reads its
     * timer's time, not the end of the advance. */
    while (testkit_go_on(kit, until, &turns))
        continue;
    if (until != INT64_MAX)
        kit->now = until;
    return turns;
}

void axo_testkit_fail_memory(axo_testkit *kit, uint64_t skip, uint64_t count)
{
    if (!testkit_is_here(kit))
        return;
    kit->fail_skip = skip;
    kit->fail_count = count;
}

const char *axo_testkit_why(axo_testkit *kit)
{
    if (kit == NULL)
        return "no kit";
    return testkit_is_known(kit) ? kit->why : NULL;
}

/* ---- probes: the test's side ---- */

axo_probe *axo_probe_new(axo_testkit *kit, const char *name)
{
    if (!testkit_is_here(kit))
        return NULL;
    axo_probe *probe = calloc(1, sizeof *probe);
    axo_status status = AXO_ENOMEM;
    if (probe != NULL) {
        /* The probe's state is a pointer to this record, which outlives the actor. */
        axo_props props = AXO_PROPS(.cls = &probe_class, .args = &probe, .args_size = sizeof probe,
                                    .name = name);
        status = axo_system_spawn(kit->system, &props, &probe->ref);
    }
    if (status != AXO_OK) {
        (void)snprintf(kit->why, sizeof kit->why, "probe %s: %s", name != NULL ? name : "",
                       axo_status_text(status));
        free(probe);
        return NULL;
    }
    (void)snprintf(probe->name, sizeof probe->name, "%s", name != NULL ? name : "probe");
    probe->kit = kit;
    probe->last = &probe->first;
    probe->next = kit->probes;
    kit->probes = probe;
    (void)axo_testkit_run(kit);
    return probe;
}

axo_ref axo_probe_ref(const axo_probe *probe)
{
    return probe != NULL && testkit_is_known(probe->kit) ? probe->ref : axo_ref_none();
}

axo_status axo_probe_send(axo_probe *probe, axo_ref to, uint32_t tag, const void *payload,
                          size_t size)
{
    if (probe == NULL)
        return AXO_EINVAL;
    return axo_system_send_from(probe->kit->system, probe->ref, to, tag, payload, size);
}

axo_status axo_probe_reply(axo_probe *probe, uint32_t tag, const void *payload, size_t size)
{
    if (probe == NULL || probe->taken == NULL)
        return AXO_EINVAL;
    return axo_probe_send(probe, probe->taken->message.sender, tag, payload, size);
}

axo_status axo_probe_watch(axo_probe *probe, axo_ref ref)
{
    if (probe == NULL || axo_ref_is_none(ref))
        return AXO_EINVAL;
    if (!axo__context_at_home(probe->kit->system))
        return AXO_EFORKED;
    /* The answer if the probe has ended, and takes no request any more. */
    probe->watched = AXO_EGONE;
    probe->watch = ref;
    axo_status status = axo_system_send(probe->kit->system, probe->ref, TESTKIT_WATCH, &ref,
                                        sizeof ref);
    if (status == AXO_OK) {
        (void)axo_testkit_run(probe->kit);
        status = probe->watched;
    }
    probe->watch = axo_ref_none();
    return status;
}

/* Whether there is a probe of such a kit. */
static bool probe_is_here(const axo_probe *probe)
{
    return probe != NULL && testkit_is_here(probe->kit);
}

/* Runs the system until the probe has a message, or until `until`. */
static bool probe_await(axo_probe *probe, int64_t until)
{
    uint64_t turns = 0;
    while (probe->first == NULL) {
        if (!testkit_go_on(probe->kit, until, &turns))
            break;
    }
    return probe->first != NULL;
}

/* Writes what was expected and what came into the kit's text, for the test's report. */
static void probe_why(axo_probe *probe, const char *wanted, int64_t within_ns,
                      const axo_message *got)
{
    axo_testkit *kit = probe->kit;
    char path[128] = "outside";
    int n = snprintf(kit->why, sizeof kit->why, "%s: expected %s within %" PRId64 " us: ",
                     probe->name, wanted, within_ns / 1000);
    size_t used = n > 0 && (size_t)n < sizeof kit->why ? (size_t)n : 0;
    if (got == NULL) {
        (void)snprintf(kit->why + used, sizeof kit->why - used, "nothing came");
        return;
    }
    if (!axo_ref_is_none(got->sender) &&
        axo_system_path(kit->system, got->sender, path, sizeof path) == AXO_EGONE)
        (void)snprintf(path, sizeof path, "one that is gone");
    (void)snprintf(kit->why + used, sizeof kit->why - used, "tag %" PRIu32 " came, from %s",
                   got->tag, path);
}

/* The next message; the one handed out before is freed. If nothing came, the clock stands at the
 * end of the time that the test has given. */
static const axo_message *probe_take(axo_probe *probe, int64_t within_ns)
{
    axo_testkit *kit = probe->kit;
    int64_t until = testkit_until(kit, within_ns);
    free(probe->taken);
    probe->taken = NULL;
    kit->why[0] = 0;
    if (!probe_await(probe, until)) {
        if (until != INT64_MAX)
            kit->now = until;
        return NULL;
    }
    probe->taken = probe->first;
    probe->first = probe->taken->next;
    if (probe->first == NULL)
        probe->last = &probe->first;
    probe->waiting--;
    return &probe->taken->message;
}

const axo_message *axo_probe_receive(axo_probe *probe, int64_t within_ns)
{
    if (!probe_is_here(probe))
        return NULL;
    const axo_message *message = probe_take(probe, within_ns);
    if (message == NULL)
        probe_why(probe, "a message", within_ns, NULL);
    return message;
}

const axo_message *axo_probe_expect(axo_probe *probe, uint32_t tag, int64_t within_ns)
{
    char wanted[32];
    if (!probe_is_here(probe))
        return NULL;
    const axo_message *message = probe_take(probe, within_ns);
    if (message != NULL && message->tag == tag)
        return message;
    (void)snprintf(wanted, sizeof wanted, "tag %" PRIu32, tag);
    probe_why(probe, wanted, within_ns, message);
    return NULL;
}

bool axo_probe_expect_terminated(axo_probe *probe, axo_ref ref, int64_t within_ns)
{
    if (!probe_is_here(probe))
        return false;
    const axo_message *message = probe_take(probe, within_ns);
    if (message != NULL && message->tag == AXO_TERMINATED &&
        axo_ref_equal(AXO_PAYLOAD(message, axo_terminated)->actor, ref))
        return true;
    probe_why(probe, "a termination", within_ns, message);
    return false;
}

bool axo_probe_expect_none(axo_probe *probe, int64_t for_ns)
{
    if (!probe_is_here(probe))
        return false;
    axo_testkit *kit = probe->kit;
    int64_t until = testkit_until(kit, for_ns);
    kit->why[0] = 0;
    /* The message stays in the probe, so the next call finds it. */
    if (probe_await(probe, until)) {
        probe_why(probe, "nothing", for_ns, &probe->first->message);
        return false;
    }
    if (until != INT64_MAX)
        kit->now = until;
    return true;
}

uint32_t axo_probe_waiting(const axo_probe *probe)
{
    return probe != NULL && testkit_is_known(probe->kit) ? probe->waiting : 0;
}
