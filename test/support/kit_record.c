/* kit_record.c - the kit's recorder, its patterns, and the gates. */
#include "kit_inside.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

struct kit_gate {
    kit_gate *next;
    kit *k;
    pthread_mutex_t lock;
    pthread_cond_t change;
    uint32_t arrived;
    bool open;
};

/* A parsed pattern. */
typedef struct kit_pattern {
    char label[64];
    char word[64];
    char arg[64];
    uint32_t instance; /* 0: any */
    uint32_t nth;      /* 0: not given */
    int64_t value;
    enum { KIT_SAYS_NOTHING = 0, KIT_SAYS_NUMBER, KIT_SAYS_LABEL } says;
} kit_pattern;

/* ---- deadlines ------------------------------------------------------------------------------ */

struct timespec kit_deadline(time_t seconds)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += seconds;
    return at;
}

void kit_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

void kit_fail(kit *k, const char *format, ...)
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
/* ---- records -------------------------------------------------------------------------------- */

void kit_append(kit *k, kit_record record)
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

int64_t kit_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void kit_hook_trace(void *user, const axo_event *event)
{
    kit_append(user, (kit_record){.time_ns = event->time_ns,
                                  .word = axo_event_name(event->kind),
                                  .actor = event->actor,
                                  .arg = event->arg,
                                  .instance = event->instance,
                                  .suspends = event->suspends,
                                  .worker = event->worker});
}

kit_actor_entry *kit_entry_locked(kit *k, axo_ref ref)
{
    for (uint32_t i = 0; i < k->actors_count; i++) {
        if (axo_ref_equal(k->actors[i].ref, ref))
            return &k->actors[i];
    }
    return NULL;
}

kit_actor_entry *kit_register_locked(kit *k, axo_ref ref, kit_script *script, const char *label)
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
    pthread_cond_broadcast(&k->change);
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

void kit_hook_dead(void *user, const axo_dead_letter *letter)
{
    kit_mark_ref(user, letter->recipient, "dl", letter->message->tag);
    if (!axo_ref_is_none(letter->message->sender))
        kit_mark_ref(user, letter->recipient, "dlFrom", letter->message->sender.bits);
    if (letter->suppressed != 0)
        kit_mark_ref(user, letter->recipient, "dlSuppressed", letter->message->tag);
}

void kit_hook_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
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

/* What words in patterns stand for, by the marks and events whose argument it is. */
static const struct kit_word {
    const char *of;
    const char *name;
    int64_t value;
} kit_words[] = {
    {"kind", "ORDINARY", AXO_FAILURE_ORDINARY},
    {"kind", "INIT", AXO_FAILURE_INIT},
    {"kind", "POST_RESTART", AXO_FAILURE_POST_RESTART},
    {"kind", "KILLED", AXO_FAILURE_KILLED},
    {"kind", "DEATH_PACT", AXO_FAILURE_DEATH_PACT},
    {"kind", "FATAL", AXO_FAILURE_FATAL},
    {"kind", "ENDED", AXO_FAILURE_ENDED},
    {"kind", "CRASH", AXO_FAILURE_CRASH},
    {"kind", "STUCK", AXO_FAILURE_STUCK},
    {"kind", "MEMORY", AXO_FAILURE_MEMORY},
    {"site", "CONSTRUCT", AXO_SITE_CONSTRUCT},
    {"site", "PRE_START", AXO_SITE_PRE_START},
    {"site", "RECEIVE", AXO_SITE_RECEIVE},
    {"site", "DECIDER", AXO_SITE_DECIDER},
    {"site", "POST_RESTART", AXO_SITE_POST_RESTART},
    {"site", "SETTLE", AXO_SITE_SETTLE},
    {"site", "MIGRATE", AXO_SITE_MIGRATE},
    {"decided directive", "RESUME", AXO_RESUME},
    {"decided directive", "RESTART", AXO_RESTART},
    {"decided directive", "STOP", AXO_STOP},
    {"decided directive", "ESCALATE", AXO_ESCALATE},
    {"spawnStatus", "OK", AXO_OK},
    {"spawnStatus", "EEXIST", AXO_EEXIST},
    {"spawnStatus", "ESTOPPING", AXO_ESTOPPING},
    {"dl dlSuppressed unhandled stash", "PING", KIT_PING},
    {"dl dlSuppressed unhandled stash", "PONG", KIT_PONG},
    {"dl dlSuppressed unhandled stash", "NOTE", KIT_NOTE},
    {"dl dlSuppressed unhandled stash", "SET", KIT_SET},
    {"dl dlSuppressed unhandled stash", "GET", KIT_GET},
    {"dl dlSuppressed unhandled stash", "FAIL", KIT_FAIL},
    {"dl dlSuppressed unhandled stash", "SPAWN", KIT_SPAWN},
    {"dl dlSuppressed unhandled stash", "RUN", KIT_RUN},
    {"dl dlSuppressed unhandled stash", "OTHER", KIT_OTHER},
    {"dl", "TERMINATED", AXO_TERMINATED},
    {"dl dlSuppressed", "POISON_PILL", AXO_POISON_PILL},
    {"dl", "KILL", AXO_KILL},
    {"suspend resume", "OWN", 0},
    {"suspend resume", "PARENT", 1},
    {"suspend", "ENDING", 2},
};

static int64_t kit_word_value(const char *of, const char *name)
{
    for (size_t i = 0; i < sizeof kit_words / sizeof kit_words[0]; i++) {
        if (strstr(kit_words[i].of, of) != NULL && strcmp(kit_words[i].name, name) == 0)
            return kit_words[i].value;
    }
    fail_msg("nothing that \"%s\" says is called %s", of, name);
    return 0;
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
        text += n + 2;
        char *end;
        p.value = isupper((unsigned char)p.arg[0]) ? kit_word_value(p.word, p.arg)
                                                   : (int64_t)strtoll(p.arg, &end, 0);
        p.says = isupper((unsigned char)p.arg[0]) || *end == 0 ? KIT_SAYS_NUMBER : KIT_SAYS_LABEL;
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
    if (strcmp(p->word, r->word) != 0)
        return false;
    if (p->instance != 0 && p->instance != r->instance)
        return false;
    if (!kit_label_locked(k, r->actor, p->label))
        return false;
    if (p->says != KIT_SAYS_LABEL)
        return p->says == KIT_SAYS_NOTHING || (uint64_t)p->value == r->arg;
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

void kit_await_count(kit *k, const char *pattern, uint32_t n)
{
    kit_pattern p = kit_parse(pattern);
    struct timespec deadline = kit_deadline(KIT_DEADLINE_S);
    uint32_t count = 0;
    uint32_t actors = 0;
    size_t next = 0;
    int rc = 0;
    pthread_mutex_lock(&k->lock);
    for (;;) {
        /* From the start when an actor is new: its label was not known at its first records. */
        if (actors != k->actors_count) {
            actors = k->actors_count;
            next = 0;
            count = 0;
        }
        for (; next < k->records_count && count < n; next++)
            count += kit_match_locked(k, &p, &k->records[next]);
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

void kit_await_reported(kit *k, kit_script *a)
{
    struct timespec deadline = kit_deadline(KIT_DEADLINE_S);
    axo_actor_info info = AXO_ACTOR_INFO();
    char pattern[64];
    (void)snprintf(pattern, sizeof pattern, "%s.suspend(0)", a->label);
    kit_await(k, pattern);
    for (;;) {
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        if (axo_system_inspect(k->system, kit_ref(a), axo_ref_none(), &info) != AXO_OK)
            kit_fail(k, "%s cannot be looked at", a->label);
        if (info.doing == AXO_DOING_SUSPENDED)
            return;
        if (now.tv_sec > deadline.tv_sec)
            kit_fail(k, "%s failed, and its turn does not end: doing %u", a->label, info.doing);
        (void)sched_yield();
    }
}

void kit_expect_count(kit *k, const char *pattern, uint32_t n)
{
    kit_await_count(k, pattern, n);
    uint32_t count = kit_count(k, pattern);
    if (count != n)
        kit_fail(k, "%s: %u times, expected %u", pattern, count, n);
}

void kit_never(kit *k, const char *pattern)
{
    kit_expect_count(k, pattern, 0);
}

void kit_expect_list(kit *k, const char *const *patterns)
{
    for (size_t i = 0; patterns[i] != NULL; i++) {
        const char *equal = strrchr(patterns[i], '=');
        char pattern[200];
        char *end = NULL;
        if (equal == NULL || (size_t)(equal - patterns[i]) >= sizeof pattern)
            kit_fail(k, "how often? %s", patterns[i]);
        uint32_t n = (uint32_t)strtoul(equal + 1, &end, 10);
        if (end == equal + 1 || *end != 0)
            kit_fail(k, "how often? %s", patterns[i]);
        (void)snprintf(pattern, sizeof pattern, "%.*s", (int)(equal - patterns[i]), patterns[i]);
        kit_expect_count(k, pattern, n);
    }
}

void kit_await_list(kit *k, const char *const *patterns)
{
    for (size_t i = 0; patterns[i] != NULL; i++)
        kit_await(k, patterns[i]);
}

kit_record kit_find(kit *k, const char *pattern)
{
    kit_pattern p = kit_parse(pattern);
    kit_record found = {.seq = 0};
    uint32_t want = p.nth == 0 ? 1 : p.nth;
    uint32_t count = 0;
    kit_await_count(k, pattern, want);
    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < k->records_count; i++) {
        if (kit_match_locked(k, &p, &k->records[i]) && ++count == want)
            found = k->records[i];
    }
    pthread_mutex_unlock(&k->lock);
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
                        who != NULL ? who->label : name, r->instance, r->word, r->arg, r->suspends);
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
    struct timespec deadline = kit_deadline(KIT_GATE_DEADLINE_S);
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
    struct timespec deadline = kit_deadline(KIT_DEADLINE_S);
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

void kit_gate_open_all(kit *k)
{
    for (kit_gate *gate = k->gates; gate != NULL; gate = gate->next)
        kit_gate_open(gate);
}
