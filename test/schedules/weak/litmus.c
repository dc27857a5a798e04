/* litmus.c - runs the table of litmus tests. */
#include "schedules/weak/litmus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedules/weak/check.h"

#define OPS_MAX 8
#define WORDS 6
#define OUTCOME 16
#define OUTCOMES_MAX 128
#define LIMIT 20000000

typedef struct op {
    char kind;
    uint32_t word;
    uint32_t first;
    uint32_t second;
    weak_site site;
    uint32_t out; /* where its result goes */
} op;

static struct {
    op ops[WEAK_FIBERS][OPS_MAX];
    uint32_t counts[WEAK_FIBERS];
    uint32_t results;
    uint32_t words[WORDS];
    char outcome[OUTCOME];
    char seen[OUTCOMES_MAX][OUTCOME];
    uint32_t seen_count;
    const litmus *row;
} it;

/* ---- reading a row ---- */

static uint8_t order_of(const char *word)
{
    static const struct {
        const char *name;
        uint8_t order;
    } orders[] = {{"rlx", 0},
                  {"acq", WEAK_ACQUIRE},
                  {"rel", WEAK_RELEASE},
                  {"acq_rel", WEAK_ACQUIRE | WEAK_RELEASE},
                  {"sc", WEAK_ACQUIRE | WEAK_RELEASE | WEAK_SEQ_CST}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (strcmp(word, orders[i].name) == 0)
            return orders[i].order;
    }
    fprintf(stderr, "no such order: %s\n", word);
    exit(2);
}

static uint32_t word_of(const char *name)
{
    static const char names[] = "xyzdfp";
    const char *at = strchr(names, *name);
    return at != NULL ? (uint32_t)(at - names) : 0;
}

static void read_op(uint32_t thread, char *text)
{
    char *words[6] = {NULL};
    uint32_t count = 0;
    for (char *word = strtok(text, " "); word != NULL && count < 6; word = strtok(NULL, " "))
        words[count++] = word;
    if (count < 2 || it.counts[thread] == OPS_MAX)
        exit(2);
    op *to = &it.ops[thread][it.counts[thread]++];
    memset(to, 0, sizeof *to);
    to->kind = words[0][0];
    uint8_t order = order_of(words[count - 1]);
    if (to->kind == 'W')
        order &= (uint8_t)~WEAK_ACQUIRE;
    if (to->kind == 'R')
        order &= (uint8_t)~WEAK_RELEASE;
    to->site = (weak_site){.file = "litmus", .func = it.row->name, .op = words[0], .order = order,
                           .now = order, .known = true, .line = (int)it.counts[thread]};
    if (to->kind == 'F')
        return;
    to->word = word_of(words[1]);
    to->first = count > 3 ? (uint32_t)atoi(words[2]) : 0;
    to->second = count > 4 ? (uint32_t)atoi(words[3]) : 0;
    if (to->kind != 'W')
        to->out = it.results++;
}

static char row_text[512];

static uint32_t read_row(const litmus *row)
{
    uint32_t thread = 0;
    char *at = row_text;
    memset(&it, 0, sizeof it);
    it.row = row;
    (void)snprintf(row_text, sizeof row_text, "%s", row->text);
    while (*at != '\0') {
        size_t length = strcspn(at, ";|");
        char end = at[length];
        at[length] = '\0';
        read_op(thread, at);
        if (end == '\0')
            break;
        if (end == '|')
            thread++;
        at += length + 1;
    }
    return thread + 1;
}

/* ---- running it ---- */

static void run_op(op *what)
{
    uint32_t *word = &it.words[what->word];
    uint64_t old = what->first;
    switch (what->kind) {
    case 'W':
        weak_store(word, sizeof *word, what->first, &what->site);
        return;
    case 'R':
        old = weak_load(word, sizeof *word, &what->site);
        break;
    case 'A':
        old = weak_change(word, sizeof *word, WEAK_ADD, what->first, &what->site);
        break;
    case 'X':
        old = weak_change(word, sizeof *word, WEAK_XCHG, what->first, &what->site);
        break;
    case 'C':
        (void)weak_cas(word, sizeof *word, &old, what->second, &what->site);
        break;
    default:
        weak_fence(what->site.order);
        return;
    }
    it.outcome[what->out] = (char)('0' + old);
}

static void run_thread(uint32_t thread)
{
    for (uint32_t i = 0; i < it.counts[thread]; i++)
        run_op(&it.ops[thread][i]);
}

static void thread_0(void)
{
    run_thread(0);
}

static void thread_1(void)
{
    run_thread(1);
}

static void thread_2(void)
{
    run_thread(2);
}

static void thread_3(void)
{
    run_thread(3);
}

static void setup(void)
{
    memset(it.words, 0, sizeof it.words);
    memset(it.outcome, 0, sizeof it.outcome);
}

static void check(void)
{
    uint32_t length = it.results;
    for (const char *name = it.row->final; name != NULL && *name != '\0'; name++)
        it.outcome[length++] = (char)('0' + it.words[word_of(name)]);
    for (uint32_t i = 0; i < it.seen_count; i++) {
        if (strcmp(it.seen[i], it.outcome) == 0)
            return;
    }
    if (it.seen_count == OUTCOMES_MAX)
        weak_fail("more than %d outcomes", OUTCOMES_MAX);
    memcpy(it.seen[it.seen_count++], it.outcome, OUTCOME);
}

/* ---- judging it ---- */

static bool matches(const char *pattern, size_t length, const char *outcome)
{
    if (strlen(outcome) != length)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (pattern[i] != '?' && pattern[i] != outcome[i])
            return false;
    }
    return true;
}

/* Goes through the words of a list; NULL: its end. */
static const char *list_next(const char **list, size_t *length)
{
    *list += strspn(*list, " ");
    const char *word = *list;
    *length = strcspn(word, " ");
    *list += *length;
    return *length > 0 ? word : NULL;
}

static bool list_has(const char *list, const char *outcome)
{
    size_t length;
    for (const char *word; list != NULL && (word = list_next(&list, &length)) != NULL;) {
        if (matches(word, length, outcome))
            return true;
    }
    return false;
}

static bool list_seen(const char *list)
{
    bool all = true;
    size_t length;
    for (const char *word; (word = list_next(&list, &length)) != NULL;) {
        bool seen = false;
        for (uint32_t i = 0; i < it.seen_count; i++)
            seen = seen || matches(word, length, it.seen[i]);
        if (!seen)
            printf("  litmus %s: %.*s is allowed and was not seen\n", it.row->name, (int)length,
                   word);
        all = all && seen;
    }
    return all;
}

static bool judge(void)
{
    const litmus *row = it.row;
    bool counted = row->allowed[0] == '=';
    bool right = true;
    for (uint32_t i = 0; i < it.seen_count; i++) {
        const char *outcome = it.seen[i];
        bool known = counted || list_has(row->allowed, outcome);
        if (known && !list_has(row->forbidden, outcome) && !list_has(row->unexplored, outcome))
            continue;
        printf("  litmus %s: %s is not allowed and was seen\n", row->name, outcome);
        right = false;
    }
    if (!counted)
        return list_seen(row->allowed) && right;
    if ((uint32_t)atoi(row->allowed + 1) != it.seen_count)
        printf("  litmus %s: %u outcomes were seen\n", row->name, it.seen_count);
    return right && (uint32_t)atoi(row->allowed + 1) == it.seen_count;
}

uint32_t litmus_run(uint64_t *executions)
{
    static void (*const bodies[])(void) = {thread_0, thread_1, thread_2, thread_3};
    uint32_t right = 0;
    for (uint32_t i = 0; i < litmus_count; i++) {
        weak_scenario scenario = {.name = litmus_table[i].name, .setup = setup, .check = check,
                                  .bound = 1000, .places = true};
        uint32_t threads = read_row(&litmus_table[i]);
        for (uint32_t t = 0; t < threads; t++)
            scenario.fibers[t] = bodies[t];
        weak_result result = weak_explore(&scenario, LIMIT);
        *executions += result.executions;
        if (!result.complete || result.failed)
            printf("  litmus %s: %s\n", scenario.name, result.failed ? result.why : "not complete");
        else if (judge())
            right++;
    }
    return right;
}
