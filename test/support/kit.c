/* kit.c - the conformance kit: recorder, gates, puppets, balances. */
#define _GNU_SOURCE
#include "kit.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KIT_ACTORS_MAX 4096
#define KIT_LATE_MAX 16
#define KIT_TEST_LIMIT_S 90
#define KIT_HEAD 64

struct kit_gate {
    kit_gate *next;
    kit *k;
    pthread_mutex_t lock;
    pthread_cond_t change;
    uint32_t arrived;
    bool open;
};

/* One incarnation of a puppet. */
typedef struct kit_actor_entry {
    axo_ref ref;
    kit_script *script; /* NULL: a guardian */
    const char *label;
    uint32_t instances;
    uint32_t freed;
} kit_actor_entry;

typedef struct kit_block {
    struct kit_block *next;
} kit_block;

struct kit {
    void **state;
    axo_system *system;
    uint32_t workers;

    pthread_mutex_t lock; /* guards all below up to the blank line */
    pthread_cond_t change;
    kit_record *records;
    size_t records_count;
    size_t records_max;
    kit_actor_entry *actors;
    uint32_t actors_count;
    kit_gate *gates;
    kit_block *blocks;
    char problem[512];
    uint32_t problems;
    uint32_t barriers;

    _Atomic int64_t memory_bytes;
    _Atomic int64_t memory_blocks;
    _Atomic bool no_memory;
};

/* A parsed pattern. */
typedef struct kit_pattern {
    char label[64];
    char word[64];
    char arg[64];
    uint32_t instance; /* 0: any */
    uint32_t nth;      /* 0: not given */
    bool has_arg;
} kit_pattern;

/* ---- deadlines ------------------------------------------------------------------------------ */

static struct timespec kit_deadline(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += KIT_DEADLINE_S;
    return at;
}

static void kit_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

static void kit_fail(kit *k, const char *format, ...) AXO_PRINTF(2, 3);
static void kit_fail(kit *k, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    kit_dump(k);
    fail_msg("%s", text);
}

void kit_problem(kit *k, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    pthread_mutex_lock(&k->lock);
    if (k->problems++ == 0)
        (void)vsnprintf(k->problem, sizeof k->problem, format, list);
    pthread_mutex_unlock(&k->lock);
    va_end(list);
}

/* ---- memory --------------------------------------------------------------------------------- */

void *kit_alloc(kit *k, size_t size)
{
    kit_block *block = calloc(1, KIT_HEAD + size);
    assert_non_null(block);
    pthread_mutex_lock(&k->lock);
    block->next = k->blocks;
    k->blocks = block;
    pthread_mutex_unlock(&k->lock);
    return (char *)block + KIT_HEAD;
}

void kit_no_memory(kit *k, bool on)
{
    atomic_store(&k->no_memory, on);
}

/* A block begins with its size and alignment, so that free can check what it is told. */
static size_t kit_lead(size_t align)
{
    return align < KIT_HEAD ? KIT_HEAD : align;
}

static void *kit_hook_alloc(void *user, size_t size, size_t align)
{
    kit *k = user;
    size_t lead = kit_lead(align);
    char *base;
    size_t *head;
    if (atomic_load(&k->no_memory))
        return NULL;
    base = aligned_alloc(lead, (lead + size + lead - 1) / lead * lead);
    if (base == NULL)
        return NULL;
    head = (size_t *)(void *)(base + lead) - 2;
    head[0] = size;
    head[1] = align;
    atomic_fetch_add(&k->memory_bytes, (int64_t)size);
    atomic_fetch_add(&k->memory_blocks, 1);
    return base + lead;
}

static void kit_hook_free(void *user, void *block, size_t size, size_t align)
{
    kit *k = user;
    const size_t *head = (const size_t *)block - 2;
    if (head[0] != size || head[1] != align)
        kit_problem(k, "free of %zu/%zu, but %zu/%zu were allocated", size, align, head[0],
                    head[1]);
    atomic_fetch_sub(&k->memory_bytes, (int64_t)head[0]);
    atomic_fetch_sub(&k->memory_blocks, 1);
    free((char *)block - kit_lead(head[1]));
}

/* ---- records -------------------------------------------------------------------------------- */

static void kit_append(kit *k, kit_record record)
{
    pthread_mutex_lock(&k->lock);
    if (k->records_count == k->records_max) {
        size_t max = k->records_max == 0 ? 4096 : 2 * k->records_max;
        kit_record *records = realloc(k->records, max * sizeof *records);
        if (records == NULL)
            abort();
        k->records = records;
        k->records_max = max;
    }
    record.seq = k->records_count;
    k->records[k->records_count++] = record;
    pthread_cond_broadcast(&k->change);
    pthread_mutex_unlock(&k->lock);
}

static int64_t kit_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void kit_hook_trace(void *user, const axo_event *event)
{
    kit_append(user, (kit_record){.time_ns = event->time_ns,
                                  .word = axo_event_name(event->kind),
                                  .actor = event->actor,
                                  .arg = event->arg,
                                  .instance = event->instance,
                                  .suspends = event->suspends,
                                  .worker = event->worker});
}

static kit_actor_entry *kit_entry_locked(kit *k, axo_ref ref)
{
    for (uint32_t i = 0; i < k->actors_count; i++) {
        if (axo_ref_equal(k->actors[i].ref, ref))
            return &k->actors[i];
    }
    return NULL;
}

static kit_actor_entry *kit_register_locked(kit *k, axo_ref ref, kit_script *script,
                                            const char *label)
{
    kit_actor_entry *entry = kit_entry_locked(k, ref);
    if (entry != NULL)
        return entry;
    if (k->actors_count == KIT_ACTORS_MAX)
        abort();
    entry = &k->actors[k->actors_count++];
    *entry = (kit_actor_entry){.ref = ref, .script = script, .label = label};
    if (script != NULL)
        script->ref = ref;
    return entry;
}

void kit_mark_ref(kit *k, axo_ref actor, const char *word, uint64_t arg)
{
    uint32_t instance = 0;
    pthread_mutex_lock(&k->lock);
    kit_actor_entry *entry = kit_entry_locked(k, actor);
    if (entry != NULL)
        instance = entry->instances;
    pthread_mutex_unlock(&k->lock);
    kit_append(k, (kit_record){.time_ns = kit_now(),
                               .word = word,
                               .actor = actor,
                               .arg = arg,
                               .instance = instance,
                               .worker = UINT32_MAX,
                               .mark = true});
}

void kit_mark(kit_puppet *self, const char *word, int64_t arg)
{
    kit_append(self->k, (kit_record){.time_ns = kit_now(),
                                     .word = word,
                                     .actor = self->ref,
                                     .arg = (uint64_t)arg,
                                     .instance = self->instance,
                                     .worker = UINT32_MAX,
                                     .mark = true});
}

static void kit_hook_dead(void *user, const axo_dead_letter *letter)
{
    kit_mark_ref(user, letter->recipient, "dl", letter->message->tag);
}

static void kit_hook_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    (void)text;
    kit_mark_ref(user, actor, "log", (uint64_t)level);
}

/* ---- patterns ------------------------------------------------------------------------------- */

static void kit_copy(char *to, const char *from, size_t length)
{
    if (length > 63)
        length = 63;
    memcpy(to, from, length);
    to[length] = 0;
}

static kit_pattern kit_parse(const char *text)
{
    kit_pattern p = {.instance = 0};
    size_t n = strcspn(text, "#.");
    kit_copy(p.label, text, n);
    text += n;
    if (*text == '#') {
        char *end;
        p.instance = (uint32_t)strtoul(text + 1, &end, 10);
        text = end;
    }
    if (*text != '.')
        fail_msg("bad pattern at \"%s\"", text);
    text++;
    n = strcspn(text, "(@");
    kit_copy(p.word, text, n);
    text += n;
    if (*text == '(') {
        n = strcspn(text + 1, ")");
        kit_copy(p.arg, text + 1, n);
        p.has_arg = true;
        text += n + 2;
    }
    if (*text == '@')
        p.nth = (uint32_t)strtoul(text + 1, NULL, 10);
    return p;
}

static bool kit_label_locked(kit *k, axo_ref ref, const char *label)
{
    const kit_actor_entry *entry;
    if (strcmp(label, "*") == 0)
        return true;
    entry = kit_entry_locked(k, ref);
    return entry != NULL && strcmp(entry->label, label) == 0;
}

static bool kit_match_locked(kit *k, const kit_pattern *p, const kit_record *r)
{
    char *end;
    int64_t number;
    if (strcmp(p->word, r->word) != 0)
        return false;
    if (p->instance != 0 && p->instance != r->instance)
        return false;
    if (!kit_label_locked(k, r->actor, p->label))
        return false;
    if (!p->has_arg)
        return true;
    number = (int64_t)strtoll(p->arg, &end, 0);
    if (*end == 0)
        return (uint64_t)number == r->arg;
    return kit_label_locked(k, (axo_ref){r->arg}, p->arg) && strcmp(p->arg, "*") != 0;
}

uint32_t kit_count(kit *k, const char *pattern)
{
    kit_pattern p = kit_parse(pattern);
    uint32_t count = 0;
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < k->records_count; i++)
        count += kit_match_locked(k, &p, &k->records[i]);
    pthread_mutex_unlock(&k->lock);
    return count;
}

void kit_expect_count(kit *k, const char *pattern, uint32_t n)
{
    uint32_t count = kit_count(k, pattern);
    if (count != n)
        kit_fail(k, "%s: %u times, expected %u", pattern, count, n);
}

void kit_never(kit *k, const char *pattern)
{
    kit_expect_count(k, pattern, 0);
}

void kit_await_count(kit *k, const char *pattern, uint32_t n)
{
    kit_pattern p = kit_parse(pattern);
    struct timespec deadline = kit_deadline();
    uint32_t count = 0;
    int rc = 0;
    pthread_mutex_lock(&k->lock);
    for (;;) {
        /* From the start each time: an actor's label may be known only after its first records. */
        count = 0;
        for (size_t i = 0; i < k->records_count && count < n; i++)
            count += kit_match_locked(k, &p, &k->records[i]);
        if (count >= n || rc == ETIMEDOUT)
            break;
        rc = pthread_cond_timedwait(&k->change, &k->lock, &deadline);
    }
    pthread_mutex_unlock(&k->lock);
    if (count < n)
        kit_fail(k, "awaited %s %u times, came %u times", pattern, n, count);
}

void kit_await(kit *k, const char *pattern)
{
    kit_pattern p = kit_parse(pattern);
    kit_await_count(k, pattern, p.nth == 0 ? 1 : p.nth);
}

kit_record kit_find(kit *k, const char *pattern)
{
    kit_pattern p = kit_parse(pattern);
    kit_record found = {.seq = 0};
    uint32_t want = p.nth == 0 ? 1 : p.nth;
    uint32_t count = 0;
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < k->records_count; i++) {
        if (kit_match_locked(k, &p, &k->records[i]) && ++count == want)
            found = k->records[i];
    }
    pthread_mutex_unlock(&k->lock);
    if (count < want)
        kit_fail(k, "%s: not recorded (%u match)", pattern, count);
    if (p.nth == 0 && count > 1)
        kit_fail(k, "%s: recorded %u times, one was meant", pattern, count);
    return found;
}

void kit_order_list(kit *k, const char *const *patterns)
{
    kit_record before = kit_find(k, patterns[0]);
    for (size_t i = 1; patterns[i] != NULL; i++) {
        kit_record after = kit_find(k, patterns[i]);
        if (after.seq <= before.seq)
            kit_fail(k, "%s (record %" PRIu64 ") is not before %s (record %" PRIu64 ")",
                     patterns[i - 1], before.seq, patterns[i], after.seq);
        before = after;
    }
}

void kit_none_between(kit *k, const char *pattern, const char *from, const char *to)
{
    kit_pattern p = kit_parse(pattern);
    uint64_t first = kit_find(k, from).seq;
    uint64_t last = kit_find(k, to).seq;
    uint64_t bad = 0;
    pthread_mutex_lock(&k->lock);
    for (uint64_t i = first + 1; i < last && bad == 0; i++) {
        if (kit_match_locked(k, &p, &k->records[i]))
            bad = i;
    }
    pthread_mutex_unlock(&k->lock);
    if (first >= last)
        kit_fail(k, "%s is not before %s", from, to);
    if (bad != 0)
        kit_fail(k, "%s (record %" PRIu64 ") lies between %s and %s", pattern, bad, from, to);
}

void kit_dump(kit *k)
{
    pthread_mutex_lock(&k->lock);
    print_error("---- record: number, actor#instance.word(argument) suspends\n");
    for (size_t i = 0; i < k->records_count; i++) {
        const kit_record *r = &k->records[i];
        const kit_actor_entry *who = kit_entry_locked(k, r->actor);
        const kit_actor_entry *whom = kit_entry_locked(k, (axo_ref){r->arg});
        char name[32];
        (void)snprintf(name, sizeof name, "?%" PRIx64, r->actor.bits);
        if (whom != NULL)
            print_error("%5zu %c %s#%u.%s(%s) %u\n", i, r->mark ? '*' : ' ',
                        who != NULL ? who->label : name, r->instance, r->word, whom->label,
                        r->suspends);
        else
            print_error("%5zu %c %s#%u.%s(%" PRIu64 ") %u\n", i, r->mark ? '*' : ' ',
                        who != NULL ? who->label : name, r->instance, r->word, r->arg,
                        r->suspends);
    }
    if (k->problems != 0)
        print_error("---- first of %u problems: %s\n", k->problems, k->problem);
    pthread_mutex_unlock(&k->lock);
}

/* ---- gates ---------------------------------------------------------------------------------- */

kit_gate *kit_gate_new(kit *k)
{
    kit_gate *gate = kit_alloc(k, sizeof *gate);
    gate->k = k;
    (void)pthread_mutex_init(&gate->lock, NULL);
    kit_cond_init(&gate->change);
    pthread_mutex_lock(&k->lock);
    gate->next = k->gates;
    k->gates = gate;
    pthread_mutex_unlock(&k->lock);
    return gate;
}

static void kit_gate_set(kit_gate *gate, bool open)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = open;
    pthread_cond_broadcast(&gate->change);
    pthread_mutex_unlock(&gate->lock);
}

void kit_gate_open(kit_gate *gate)
{
    kit_gate_set(gate, true);
}

void kit_gate_close(kit_gate *gate)
{
    kit_gate_set(gate, false);
}

void kit_gate_pass(kit_gate *gate)
{
    struct timespec deadline = kit_deadline();
    int rc = 0;
    bool open;
    pthread_mutex_lock(&gate->lock);
    gate->arrived++;
    pthread_cond_broadcast(&gate->change);
    while (!gate->open && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&gate->change, &gate->lock, &deadline);
    open = gate->open;
    pthread_mutex_unlock(&gate->lock);
    if (!open)
        kit_problem(gate->k, "an actor waited at a gate that nobody opened");
}

void kit_gate_arrived(kit_gate *gate, uint32_t n)
{
    struct timespec deadline = kit_deadline();
    int rc = 0;
    uint32_t arrived;
    pthread_mutex_lock(&gate->lock);
    while (gate->arrived < n && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&gate->change, &gate->lock, &deadline);
    arrived = gate->arrived;
    pthread_mutex_unlock(&gate->lock);
    if (arrived < n)
        kit_fail(gate->k, "%u came to the gate, awaited %u", arrived, n);
}

/* ---- puppets -------------------------------------------------------------------------------- */

static axo_status kit_raise(axo_ctx *ctx, kit_how how, int32_t code)
{
    switch (how) {
    case KIT_BY_THROW:
        axo_throw(ctx, code, "thrown %d", (int)code);
    case KIT_BY_FATAL:
        return axo_fail_fatal(ctx, code, "fatal %d", (int)code);
    case KIT_BY_STATUS:
        return (axo_status)code;
    case KIT_BY_RETURN:
        break;
    }
    return axo_fail(ctx, code, "failed %d", (int)code);
}

/* What each hook does after its mark. */
static axo_status kit_play(axo_ctx *ctx, kit_puppet *self, kit_hook *hook)
{
    uint32_t call = ++hook->calls;
    uint32_t last = hook->fail_last == 0 ? hook->fail_first : hook->fail_last;
    if (hook->gate != NULL && (hook->gate_call == 0 || hook->gate_call == call))
        kit_gate_pass(hook->gate);
    for (uint32_t i = 0; i < KIT_SPAWN_MAX && hook->spawn[i] != NULL; i++) {
        axo_status status = kit_spawn_in(ctx, hook->spawn[i]);
        if (status != AXO_OK) {
            kit_mark(self, "spawnFailed", status);
            return status;
        }
    }
    if (hook->run != NULL) {
        axo_status status = hook->run(ctx, self, hook->arg);
        if (status != AXO_OK)
            return status;
    }
    if (hook->fail_first != 0 && call >= hook->fail_first && call <= last)
        return kit_raise(ctx, hook->how, hook->code);
    return AXO_OK;
}

/* Identifies the instance whose end is recorded. */
typedef struct kit_life {
    kit *k;
    axo_ref ref;
    uint32_t instance;
} kit_life;

static void kit_instance_end(void *arg)
{
    kit_life life = *(kit_life *)arg;
    pthread_mutex_lock(&life.k->lock);
    kit_entry_locked(life.k, life.ref)->freed++;
    pthread_mutex_unlock(&life.k->lock);
    kit_append(life.k, (kit_record){.time_ns = kit_now(),
                                    .word = "freed",
                                    .actor = life.ref,
                                    .arg = life.instance,
                                    .instance = life.instance,
                                    .worker = UINT32_MAX,
                                    .mark = true});
}

static axo_status kit_construct(axo_ctx *ctx, void *state, const void *args)
{
    kit_puppet *self = state;
    kit_script *script = (kit_script *)(uintptr_t)args;
    kit *k = script->k;
    kit_life *life;
    KIT_REQUIRE(k, self->k == NULL && self->value == 0);
    self->k = k;
    self->script = script;
    self->ref = axo_self(ctx);
    pthread_mutex_lock(&k->lock);
    kit_actor_entry *entry = kit_register_locked(k, self->ref, script, script->label);
    self->instance = entry->instances + 1;
    pthread_mutex_unlock(&k->lock);
    life = axo_alloc(ctx, sizeof *life);
    if (life == NULL)
        return AXO_ENOMEM;
    *life = (kit_life){.k = k, .ref = self->ref, .instance = self->instance};
    if (axo_defer(ctx, kit_instance_end, life) != AXO_OK)
        return AXO_ENOMEM;
    pthread_mutex_lock(&k->lock);
    kit_entry_locked(k, self->ref)->instances++;
    pthread_mutex_unlock(&k->lock);
    kit_mark(self, "ctor", 0);
    return kit_play(ctx, self, &script->construct);
}

static axo_status kit_pre_start(axo_ctx *ctx, void *state)
{
    kit_puppet *self = state;
    kit_mark(self, "preStart", 0);
    return kit_play(ctx, self, &self->script->pre_start);
}

static axo_status kit_post_stop(axo_ctx *ctx, void *state)
{
    kit_puppet *self = state;
    kit_mark(self, "postStop", 0);
    return kit_play(ctx, self, &self->script->post_stop);
}

static int64_t kit_value_of(const axo_message *message)
{
    return message->size == sizeof(kit_payload) ? AXO_PAYLOAD(message, kit_payload)->value : -1;
}

static axo_status kit_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                  const axo_message *message)
{
    kit_puppet *self = state;
    axo_status status;
    kit_mark(self, "preRestart", failure->code);
    if (message != NULL)
        kit_mark(self, "preRestartWith", kit_value_of(message));
    else
        kit_mark(self, "preRestartNone", 0);
    status = kit_play(ctx, self, &self->script->pre_restart);
    if (status != AXO_OK || self->script->keep_children)
        return status;
    return axo_default_pre_restart(ctx, state, failure, message);
}

static axo_status kit_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    kit_puppet *self = state;
    axo_status status;
    kit_mark(self, "postRestart", failure->code);
    status = kit_play(ctx, self, &self->script->post_restart);
    if (status != AXO_OK || self->script->no_default_start)
        return status;
    return axo_default_post_restart(ctx, state, failure);
}

static axo_directive kit_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    kit_puppet *self = state;
    kit_script *script = user;
    axo_directive directive = script->directive;
    kit_mark(self, "decider", (int64_t)axo_sender(ctx).bits);
    kit_mark(self, "cause", failure->code);
    if (kit_play(ctx, self, &script->decider) != AXO_OK)
        axo_throw(ctx, script->decider.code, "decider failed %d", (int)script->decider.code);
    if (script->decide != NULL)
        directive = script->decide(ctx, self, failure);
    else if (directive == 0 && failure->kind == AXO_FAILURE_ORDINARY &&
             failure->code >= KIT_DO_RESUME && failure->code <= KIT_DO_ESCALATE)
        directive = (axo_directive)(failure->code - KIT_DO_RESUME + AXO_RESUME);
    else if (directive == 0)
        directive = axo_decide_default(ctx, state, failure, NULL);
    kit_mark(self, "decided", directive);
    return directive;
}

static axo_status kit_command(axo_ctx *ctx, kit_puppet *self, const axo_message *message,
                              const kit_payload *order)
{
    switch (message->tag) {
    case KIT_PING:
        kit_mark(self, "ping", order->value);
        if (!axo_ref_is_none(message->sender))
            (void)kit_tell_in(ctx, message->sender, KIT_PONG, order->value);
        return AXO_OK;
    case KIT_PONG:
        kit_mark(self, "pong", order->value);
        return AXO_OK;
    case KIT_NOTE:
        kit_mark(self, "note", order->value);
        return AXO_OK;
    case KIT_SET:
        self->value = order->value;
        kit_mark(self, "set", order->value);
        return AXO_OK;
    case KIT_GET:
        kit_mark(self, "get", self->value);
        if (!axo_ref_is_none(message->sender))
            (void)kit_tell_in(ctx, message->sender, KIT_PONG, self->value);
        return AXO_OK;
    case KIT_FAIL:
    case KIT_THROW:
    case KIT_FAIL_FATAL:
    case KIT_STATUS:
        kit_mark(self, "fails", order->value);
        return kit_raise(ctx, (kit_how)(message->tag - KIT_FAIL), (int32_t)order->value);
    case KIT_SPAWN: {
        axo_status status = kit_spawn_in(ctx, order->ptr);
        kit_mark(self, status == AXO_OK ? "spawned" : "spawnFailed", order->value);
        return AXO_OK;
    }
    case KIT_STOP:
        (void)axo_stop(ctx, order->ref);
        return AXO_OK;
    case KIT_STOP_SELF:
        (void)axo_stop_self(ctx);
        return AXO_OK;
    case KIT_WATCH:
        return axo_watch(ctx, order->ref);
    case KIT_UNWATCH:
        return axo_unwatch(ctx, order->ref);
    case KIT_WAIT:
        kit_mark(self, "wait", order->value);
        kit_gate_pass(order->ptr);
        return AXO_OK;
    case KIT_RUN:
        return order->fn(ctx, self, order->ptr);
    case KIT_BARRIER:
        kit_mark(self, "barrier", order->value);
        return AXO_OK;
    default:
        break;
    }
    kit_mark(self, "stash", message->tag);
    return AXO_UNHANDLED;
}

axo_status kit_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag == AXO_TERMINATED) {
        kit_mark(self, "term", (int64_t)AXO_PAYLOAD(message, axo_terminated)->actor.bits);
        return self->script->term_unhandled ? AXO_UNHANDLED : AXO_OK;
    }
    if (message->tag != KIT_BARRIER) {
        axo_status status = kit_play(ctx, self, &self->script->receive);
        if (status != AXO_OK)
            return status;
    }
    if (message->tag < KIT_OTHER && message->size != sizeof(kit_payload)) {
        kit_problem(self->k, "tag %u has %u bytes of payload", message->tag, message->size);
        return AXO_OK;
    }
    return kit_command(ctx, self, message, message->payload);
}

static const axo_class kit_class =
    AXO_CLASS(.name = "puppet", .state_size = sizeof(kit_puppet), .construct = kit_construct,
              .pre_start = kit_pre_start, .receive = kit_receive, .post_stop = kit_post_stop,
              .pre_restart = kit_pre_restart, .post_restart = kit_post_restart);

static const axo_class kit_class_plain =
    AXO_CLASS(.name = "plain puppet", .state_size = sizeof(kit_puppet), .construct = kit_construct,
              .pre_start = kit_pre_start, .receive = kit_receive, .post_stop = kit_post_stop);

kit_script *kit_actor(kit *k, const char *label)
{
    kit_script *script = kit_alloc(k, sizeof *script);
    script->k = k;
    script->label = label;
    script->name = label;
    script->strategy = (axo_strategy)AXO_STRATEGY(.scope = AXO_ONE_FOR_ONE);
    return script;
}

axo_ref kit_ref(kit_script *script)
{
    axo_ref ref;
    pthread_mutex_lock(&script->k->lock);
    ref = script->ref;
    pthread_mutex_unlock(&script->k->lock);
    return ref;
}

static axo_props kit_props(kit_script *script)
{
    script->strategy.decider = kit_decide;
    script->strategy.user = script;
    return (axo_props)AXO_PROPS(.cls = script->plain ? &kit_class_plain : &kit_class,
                                .args = script,
                                .name = script->name[0] == 0 ? NULL : script->name,
                                .strategy = &script->strategy);
}

static void kit_register(kit_script *script, axo_ref ref)
{
    pthread_mutex_lock(&script->k->lock);
    (void)kit_register_locked(script->k, ref, script, script->label);
    pthread_mutex_unlock(&script->k->lock);
}

axo_ref kit_spawn(kit *k, kit_script *script)
{
    axo_props props = kit_props(script);
    axo_ref ref;
    axo_status status = axo_system_spawn(k->system, &props, &ref);
    if (status != AXO_OK)
        kit_fail(k, "spawn of %s: %s", script->label, axo_status_name(status));
    kit_register(script, ref);
    return ref;
}

axo_status kit_spawn_system(kit *k, kit_script *script)
{
    axo_props props = kit_props(script);
    axo_ref ref;
    axo_status status;
    props.system_actor = 1;
    status = axo_system_spawn(k->system, &props, &ref);
    if (status == AXO_OK)
        kit_register(script, ref);
    return status;
}

axo_status kit_spawn_in(axo_ctx *ctx, kit_script *script)
{
    axo_props props = kit_props(script);
    axo_ref ref;
    axo_status status = axo_spawn(ctx, &props, &ref);
    if (status == AXO_OK)
        kit_register(script, ref);
    return status;
}

/* ---- telling -------------------------------------------------------------------------------- */

static axo_status kit_send(kit *k, kit_script *to, uint32_t tag, const kit_payload *order)
{
    return axo_system_send(k->system, kit_ref(to), tag, order, sizeof *order);
}

axo_status kit_tell(kit *k, kit_script *to, uint32_t tag, int64_t value)
{
    return kit_send(k, to, tag, &(kit_payload){.value = value});
}

axo_status kit_tell_ref(kit *k, kit_script *to, uint32_t tag, axo_ref ref)
{
    return kit_send(k, to, tag, &(kit_payload){.ref = ref});
}

axo_status kit_tell_as(kit *k, kit_script *from, kit_script *to, uint32_t tag, int64_t value)
{
    kit_payload order = {.value = value};
    return axo_system_send_from(k->system, kit_ref(from), kit_ref(to), tag, &order, sizeof order);
}

axo_status kit_run(kit *k, kit_script *to, kit_fn fn, void *arg)
{
    return kit_send(k, to, KIT_RUN, &(kit_payload){.fn = fn, .ptr = arg});
}

axo_status kit_wait_at(kit *k, kit_script *to, kit_gate *gate, int64_t value)
{
    return kit_send(k, to, KIT_WAIT, &(kit_payload){.value = value, .ptr = gate});
}

axo_status kit_spawn_child(kit *k, kit_script *parent, kit_script *child, int64_t value)
{
    return kit_send(k, parent, KIT_SPAWN, &(kit_payload){.value = value, .ptr = child});
}

axo_status kit_tell_in(axo_ctx *ctx, axo_ref to, uint32_t tag, int64_t value)
{
    kit_payload order = {.value = value};
    return axo_send(ctx, to, tag, &order, sizeof order);
}

axo_status kit_run_in(axo_ctx *ctx, axo_ref to, kit_fn fn, void *arg)
{
    kit_payload order = {.fn = fn, .ptr = arg};
    return axo_send(ctx, to, KIT_RUN, &order, sizeof order);
}

/* ---- start, settle, finish ------------------------------------------------------------------ */

kit *kit_start(void **state, const axo_options *options)
{
    static const char *const guardians[] = {"root", "user", "system"};
    axo_options own = AXO_OPTIONS(.workers = 0);
    kit *k = calloc(1, sizeof *k);
    axo_status status;
    assert_non_null(k);
    (void)alarm(KIT_TEST_LIMIT_S);
    if (options != NULL)
        own = *options;
    if (own.workers == 0)
        own.workers = (uint32_t)(uintptr_t)*state;
    if (own.seed == 0)
        own.seed = 1;
    own.allocator = (axo_allocator){kit_hook_alloc, kit_hook_free, k};
    own.on_dead_letter = kit_hook_dead;
    own.dead_letter_user = k;
    own.log = kit_hook_log;
    own.log_user = k;
    own.trace = kit_hook_trace;
    own.trace_user = k;
    k->state = state;
    k->workers = own.workers;
    k->actors = calloc(KIT_ACTORS_MAX, sizeof *k->actors);
    assert_non_null(k->actors);
    (void)pthread_mutex_init(&k->lock, NULL);
    kit_cond_init(&k->change);
    *state = k;
    status = axo_system_start(&own, &k->system);
    if (status != AXO_OK)
        kit_fail(k, "axo_system_start: %s", axo_status_name(status));
    pthread_mutex_lock(&k->lock);
    for (int i = 0; i < 3; i++)
        (void)kit_register_locked(k, axo_system_guardian(k->system, (axo_guardian)i), NULL,
                                  guardians[i]);
    pthread_mutex_unlock(&k->lock);
    return k;
}

axo_system *kit_system(kit *k)
{
    return k->system;
}

uint32_t kit_workers(kit *k)
{
    return k->workers;
}

axo_stats kit_stats(kit *k)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(k->system, &stats), AXO_OK);
    return stats;
}

/* Whether the actor has terminated, or has handled or lost the barrier. */
static bool kit_settled_locked(kit *k, axo_ref ref, uint32_t barrier)
{
    for (size_t i = k->records_count; i-- > 0;) {
        const kit_record *r = &k->records[i];
        if (!axo_ref_equal(r->actor, ref))
            continue;
        if (strcmp(r->word, "terminated") == 0)
            return true;
        if (r->mark && strcmp(r->word, "barrier") == 0 && r->arg >= barrier)
            return true;
    }
    return false;
}

void kit_settle(kit *k)
{
    struct timespec deadline = kit_deadline();
    uint32_t barrier;
    uint32_t count;
    uint32_t late = UINT32_MAX;
    int rc = 0;
    pthread_mutex_lock(&k->lock);
    barrier = ++k->barriers;
    count = k->actors_count;
    pthread_mutex_unlock(&k->lock);
    for (uint32_t i = 0; i < count; i++) {
        kit_payload order = {.value = barrier};
        if (k->actors[i].script != NULL)
            (void)axo_system_send(k->system, k->actors[i].ref, KIT_BARRIER, &order, sizeof order);
    }
    pthread_mutex_lock(&k->lock);
    for (uint32_t i = 0; i < count && rc != ETIMEDOUT; i++) {
        if (k->actors[i].script == NULL)
            continue;
        while (!kit_settled_locked(k, k->actors[i].ref, barrier) && rc != ETIMEDOUT)
            rc = pthread_cond_timedwait(&k->change, &k->lock, &deadline);
        late = i;
    }
    pthread_mutex_unlock(&k->lock);
    if (rc == ETIMEDOUT)
        kit_fail(k, "%s does not answer: is it still suspended?", k->actors[late].label);
}

/* The last event of each live puppet must have a suspend count of zero. */
static void kit_check_suspends(kit *k)
{
    for (uint32_t i = 0; i < k->actors_count; i++) {
        uint32_t suspends = 0;
        bool gone = false;
        pthread_mutex_lock(&k->lock);
        for (size_t j = 0; j < k->records_count; j++) {
            const kit_record *r = &k->records[j];
            if (r->mark || !axo_ref_equal(r->actor, k->actors[i].ref))
                continue;
            suspends = r->suspends;
            gone = gone || strcmp(r->word, "terminated") == 0 || strcmp(r->word, "stopping") == 0;
        }
        pthread_mutex_unlock(&k->lock);
        if (!gone && suspends != 0)
            kit_fail(k, "%s is left with suspend count %u", k->actors[i].label, suspends);
    }
}

static void kit_check_instances(kit *k)
{
    for (uint32_t i = 0; i < k->actors_count; i++) {
        const kit_actor_entry *entry = &k->actors[i];
        uint32_t constructs = 0;
        uint32_t destroys = 0;
        uint32_t terminated = 0;
        for (size_t j = 0; j < k->records_count; j++) {
            const kit_record *r = &k->records[j];
            if (r->mark || !axo_ref_equal(r->actor, entry->ref))
                continue;
            constructs += strcmp(r->word, "construct") == 0;
            destroys += strcmp(r->word, "destroy") == 0;
            terminated += strcmp(r->word, "terminated") == 0;
        }
        if (terminated != 1)
            kit_fail(k, "%s terminated %u times", entry->label, terminated);
        if (entry->script == NULL)
            continue;
        if (entry->instances != entry->freed)
            kit_fail(k, "%s had %u instances, %u were freed", entry->label, entry->instances,
                     entry->freed);
        if (constructs != destroys)
            kit_fail(k, "%s: %u construct, %u destroy", entry->label, constructs, destroys);
    }
}

static void kit_open_all(kit *k)
{
    for (kit_gate *gate = k->gates; gate != NULL; gate = gate->next)
        kit_gate_open(gate);
}

static bool kit_halt(kit *k)
{
    axo_late late[KIT_LATE_MAX];
    uint32_t count = 0;
    axo_status status = axo_system_stop(k->system, (int64_t)KIT_DEADLINE_S * 1000000000, late,
                                        KIT_LATE_MAX, &count);
    if (status == AXO_OK)
        return true;
    print_error("axo_system_stop: %s, %u late\n", axo_status_name(status), count);
    for (uint32_t i = 0; i < count && i < KIT_LATE_MAX; i++)
        print_error("    late: %s is %s\n", late[i].path, late[i].doing);
    return false;
}

static void kit_free(kit *k)
{
    kit_block *block = k->blocks;
    (void)alarm(0);
    *k->state = NULL;
    while (block != NULL) {
        kit_block *next = block->next;
        free(block);
        block = next;
    }
    (void)pthread_mutex_destroy(&k->lock);
    (void)pthread_cond_destroy(&k->change);
    free(k->records);
    free(k->actors);
    free(k);
}

void kit_finish_now(kit *k)
{
    axo_stats stats;
    if (!kit_halt(k))
        kit_fail(k, "the system does not stop");
    stats = kit_stats(k);
    if (stats.sent != stats.handled + stats.dead + stats.dropped)
        kit_fail(k, "sent %" PRIu64 ", but handled %" PRIu64 " + dead %" PRIu64 " + dropped %" PRIu64,
                 stats.sent, stats.handled, stats.dead, stats.dropped);
    if (stats.actors != 0 || stats.spawned != stats.terminated)
        kit_fail(k, "%" PRIu64 " actors left, %" PRIu64 " spawned, %" PRIu64 " terminated",
                 stats.actors, stats.spawned, stats.terminated);
    kit_check_instances(k);
    assert_int_equal(axo_system_destroy(k->system), AXO_OK);
    k->system = NULL;
    if (atomic_load(&k->memory_bytes) != 0 || atomic_load(&k->memory_blocks) != 0)
        kit_fail(k, "%" PRId64 " bytes in %" PRId64 " blocks left", atomic_load(&k->memory_bytes),
                 atomic_load(&k->memory_blocks));
    if (k->problems != 0)
        kit_fail(k, "%s", k->problem);
    kit_free(k);
}

void kit_finish(kit *k)
{
    kit_settle(k);
    kit_check_suspends(k);
    kit_finish_now(k);
}

int kit_teardown(void **state)
{
    kit *k = *state;
    if ((uintptr_t)k <= AXO_WORKERS_MAX)
        return 0;
    kit_open_all(k);
    /* What will not stop may still use the kit: then it is left behind. */
    if (k->system != NULL && (!kit_halt(k) || axo_system_destroy(k->system) != AXO_OK)) {
        *state = NULL;
        return -1;
    }
    kit_free(k);
    return 0;
}
