/* report_play.c - a report is played: its instance anew, its messages one by one.
 *
 * The instance is the only child of a parent that decides: until the last message it is resumed, as
 * it was. What it is sent here is a number, in a message of the replay's own, and its handler is
 * given the message of the file in its place: so messages with tags of the library come to it too,
 * and everything else that the replay's system sends to it is known, and left out. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* The tag of the messages that are the replay's own, whose payload is the number. */
#define PLAY_TAG UINT32_C(0x7265706f)
/* Turns that a message may lead to: children may send to one another for ever. */
#define PLAY_TURNS UINT64_C(100000)

/* A reference of the report, and who stands for it here. */
typedef struct play_pair {
    axo_ref there;
    axo_ref here;
} play_pair;

typedef struct player {
    const report_class *of;
    axo_class made;
    report report;
    record_get next; /* the messages that are left */
    axo_system *system;
    axo_report_outcome *out;
    int64_t now;
    axo_ref actor;
    play_pair *pairs;
    uint32_t pair_count;
    uint64_t number; /* of the message that is played, from 1 */
    bool open;       /* it has not come yet */
    bool within;     /* it is being handled */
    report_stack stack;
    axo_message message;
    void *payload;
} player;

static _Thread_local player *playing; /* a manual system's callbacks are on the caller's thread */

static void play_say(player *p, const char *format, ...) AXO_PRINTF(2, 3);
static void play_say(player *p, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    (void)vsnprintf(p->out->text, sizeof p->out->text, format, words);
    va_end(words);
}

const uint64_t *report_play_seed(void)
{
    return playing != NULL ? &playing->report.seed : NULL;
}

report_stack *report_play_stack(axo_ctx *ctx)
{
    const bool in_it = playing != NULL && playing->within &&
                       axo_ref_equal(axo_self(ctx), playing->actor);
    return in_it ? &playing->stack : NULL;
}

/* ---- actors ---- */

static axo_status play_construct(axo_ctx *ctx, void *state, const void *args)
{
    const player *p = playing;
    return p->of->cls->construct != NULL ? p->of->cls->construct(ctx, state, args) : AXO_OK;
}

/* A compiler keeps a call of what it cannot look into. */
__attribute__((noinline)) void axo_replay_here(uint64_t number, uint32_t tag)
{
    __asm__ volatile("" : : "r"(number), "r"(tag) : "memory");
}

static axo_status play_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    player *p = playing;
    uint64_t number = 0;
    if (message->tag == PLAY_TAG && message->size == sizeof number)
        memcpy(&number, message->payload, sizeof number);
    if (!p->open || number != p->number)
        return AXO_OK;
    p->open = false;
    if (number == p->report.count)
        axo_replay_here(number, p->message.tag);
    p->within = true; /* until the next message, if it is left by axo_throw */
    axo_status status = report_top(&p->stack, p->of->cls)(ctx, state, &p->message);
    p->within = false;
    if (status == AXO_UNHANDLED && p->message.tag == AXO_TERMINATED)
        return axo_fail_as(ctx, AXO_FAILURE_DEATH_PACT, AXO_UNHANDLED, "AXO_TERMINATED");
    return status;
}

static axo_status play_nothing(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_OK;
}

static const axo_class play_sender = AXO_CLASS(.name = "sender", .receive = play_nothing);

/* Its parent: the instance is born with the bytes of its args. */
static axo_status play_parent_start(axo_ctx *ctx, void *state)
{
    player *p = playing;
    const axo_props props = AXO_PROPS(.cls = &p->made, .args = p->report.args,
                                      .args_size = p->report.args_size);
    (void)state;
    if (p->report.args_size != 0)
        return axo_spawn(ctx, &props, &p->actor);
    const axo_props bare = AXO_PROPS(.cls = &p->made);
    return axo_spawn(ctx, &bare, &p->actor);
}

static const axo_class play_parent = AXO_CLASS(.name = "replay", .receive = play_nothing,
                                               .pre_start = play_parent_start);

static axo_directive play_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    player *p = user;
    (void)ctx, (void)state;
    p->out->kind = failure->kind;
    p->out->code = failure->code;
    p->out->failed_at = p->number;
    (void)snprintf(p->out->failure, sizeof p->out->failure, "%s", failure->text);
    return p->number < p->report.count && failure->site == AXO_SITE_RECEIVE ? AXO_RESUME
                                                                            : AXO_STOP;
}

/* ---- references ---- */

static axo_ref play_here(const player *p, axo_ref there)
{
    for (uint32_t i = 0; i < p->pair_count; i++) {
        if (axo_ref_equal(p->pairs[i].there, there))
            return p->pairs[i].here;
    }
    return axo_ref_none();
}

static axo_status play_pair_add(player *p, axo_ref there, axo_ref here)
{
    if (axo_ref_is_none(there) || !axo_ref_is_none(play_here(p, there)))
        return AXO_OK;
    play_pair *pairs = realloc(p->pairs, (p->pair_count + (size_t)1) * sizeof *pairs);
    if (pairs == NULL)
        return AXO_ENOMEM;
    p->pairs = pairs;
    p->pairs[p->pair_count++] = (play_pair){.there = there, .here = here};
    return AXO_OK;
}

/* Somebody stands for each sender; nobody for the instance and its parent, which are there. */
static axo_status play_cast(player *p, axo_ref parent)
{
    record_get get = p->report.messages;
    report_entry entry;
    const void *payload;
    axo_status status = play_pair_add(p, p->report.self, p->actor);
    if (status == AXO_OK)
        status = play_pair_add(p, p->report.parent, parent);
    while (status == AXO_OK && get.left > 0 && report_next(&get, &entry, &payload)) {
        const axo_props props = AXO_PROPS(.cls = &play_sender);
        axo_ref here;
        if (axo_ref_is_none(entry.sender) || !axo_ref_is_none(play_here(p, entry.sender)))
            continue;
        status = axo_system_spawn(p->system, &props, &here);
        if (status == AXO_OK)
            status = play_pair_add(p, entry.sender, here);
    }
    return status;
}

static void play_translate(const player *p, uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at + sizeof(axo_ref) <= size; at += sizeof(axo_ref)) {
        axo_ref word;
        memcpy(&word, bytes + at, sizeof word);
        const axo_ref here = play_here(p, word);
        if (!axo_ref_is_none(word) && !axo_ref_is_none(here))
            memcpy(bytes + at, &here, sizeof here);
    }
}

/* ---- one message ---- */

static int64_t play_now(void *user)
{
    return ((const player *)user)->now;
}

/* Until there is nothing to do, or too much. */
static axo_status play_run(const player *p)
{
    uint64_t turns;
    return axo_step_host(p->system, PLAY_TURNS, &turns);
}

static axo_status play_one(player *p)
{
    report_entry entry;
    const void *payload;
    (void)report_next(&p->next, &entry, &payload);
    free(p->payload);
    p->payload = malloc(entry.size + (size_t)1);
    if (p->payload == NULL)
        return AXO_ENOMEM;
    memcpy(p->payload, payload, entry.size);
    play_translate(p, p->payload, entry.size);
    const axo_ref from = play_here(p, entry.sender);
    p->number++;
    p->now = entry.time;
    p->message = (axo_message){.tag = entry.tag, .size = entry.size, .sender = from,
                               .payload = entry.size != 0 ? p->payload : NULL};
    p->open = true;
    axo_status status = axo_system_send_from(p->system, from, p->actor, PLAY_TAG, &p->number,
                                             sizeof p->number);
    if (status == AXO_OK)
        status = play_run(p);
    return status == AXO_EGONE ? AXO_OK : status;
}

static bool play_has_handed(const player *p)
{
    record_get get = p->report.messages;
    report_entry entry;
    const void *payload;
    while (get.left > 0 && report_next(&get, &entry, &payload)) {
        if ((entry.flags & REPORT_HANDED) != 0)
            return true;
    }
    return false;
}

static void play_compare(player *p)
{
    axo_report_outcome *out = p->out;
    out->same = out->failed_at == out->messages && out->messages > 0 &&
                out->kind == out->said_kind && out->code == out->said_code;
    if (out->same)
        return;
    if (out->messages == 0)
        play_say(p, "the message that it failed under had no room in its ring");
    else if (p->open)
        play_say(p, "message %" PRIu64 " did not come to it", p->number);
    else if (out->failed_at != out->messages)
        play_say(p, "it did not fail under the last message");
    else
        play_say(p, "it failed in another way");
}

/* Its start, then message by message. A failure before the last one that ends it ends the replay:
 * the next does not come to it. */
static axo_status play_messages(player *p)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = play_decide);
    axo_strategy own = strategy;
    own.user = p;
    const axo_props props = AXO_PROPS(.cls = &play_parent, .name = "replay", .strategy = &own);
    axo_ref parent;
    p->now = p->report.begun;
    axo_status status = axo_system_spawn(p->system, &props, &parent);
    if (status == AXO_OK)
        status = play_run(p);
    if (status == AXO_OK)
        status = play_cast(p, parent);
    p->next = p->report.messages;
    while (status == AXO_OK && p->number < p->report.count && !p->open)
        status = play_one(p);
    if (status == AXO_OK)
        play_compare(p);
    if (status == AXO_OK && !p->out->same && play_has_handed(p))
        play_say(p, "a payload was handed over without its size, and is not in the report");
    return status;
}

/* A crash is a failure here too, where that is possible; else it is one of the process. */
static axo_status play_start(player *p)
{
    const bool crash = p->report.kind == AXO_FAILURE_CRASH || p->report.kind == AXO_FAILURE_STUCK;
    axo_options options = AXO_OPTIONS(.name = "replay", .manual = AXO_MANUAL_ALL,
                                      .clock = play_now, .clock_user = p, .seed = 1,
                                      .no_dead_letter_log = 1, .contain = crash);
    axo_status status = axo_system_start(&options, &p->system);
    if (status != AXO_ENOTSUP || !crash)
        return status;
    options.contain = 0;
    return axo_system_start(&options, &p->system);
}

static axo_status play_report(player *p)
{
    p->made = *p->of->cls;
    p->made.construct = play_construct;
    p->made.receive = play_receive;
    p->made.watchdog_ms = 0; /* of a manual system nobody looks */
    playing = p;
    axo_status status = play_start(p);
    if (status == AXO_OK) {
        status = play_messages(p);
        (void)axo_system_stop(p->system, -1, NULL, 0, NULL);
        (void)axo_system_destroy(p->system);
    } else {
        play_say(p, "its system does not start: %s", axo_status_name(status));
    }
    playing = NULL;
    free(p->pairs);
    free(p->payload);
    return status;
}

static void play_outcome(axo_report_outcome *out, const report *it)
{
    const int size = it->name_size < sizeof out->name ? (int)it->name_size
                                                      : (int)sizeof out->name - 1;
    out->instance = it->instance;
    out->said_kind = it->kind;
    out->said_code = it->code;
    out->messages = it->count;
    out->lost = it->lost;
    (void)snprintf(out->name, sizeof out->name, "%.*s", size, it->name);
}

axo_status axo_report_play(const char *path, axo_report_outcome *out)
{
    const axo_report_outcome fresh = AXO_REPORT_OUTCOME();
    player p = {.out = out};
    int error = 0;
    if (path == NULL || out == NULL || out->size == 0)
        return AXO_EINVAL;
    if (out->size != sizeof *out)
        return AXO_EVERSION;
    *out = fresh;
    axo_status status = report_read(path, &p.report, &error);
    if (status != AXO_OK) {
        play_say(&p, "%s: %s", path,
                 status == AXO_ESYSTEM    ? strerror(error)
                 : status == AXO_EVERSION ? "of another format or machine"
                                          : "no report, or not as it was written");
        return status;
    }
    play_outcome(out, &p.report);
    p.of = report_class_of(p.report.name, p.report.name_size);
    if (p.of == NULL) {
        play_say(&p, "the program keeps the messages of no class \"%s\"", out->name);
        status = AXO_EINVAL;
    } else if (p.report.args_size != 0 && p.report.args_size != p.of->args_size) {
        play_say(&p, "the report has %" PRIu32 " bytes of args, and actors of the class %zu",
                 p.report.args_size, p.of->args_size);
        status = AXO_EINVAL;
    } else {
        status = play_report(&p);
    }
    report_free(&p.report);
    return status;
}

/* ---- a program that is started to play one ---- */

static void play_print(const char *path, const axo_report_outcome *out)
{
    printf("%s: class %s, instance %" PRIu32 ", %" PRIu64 " messages, %" PRIu64 " lost\n", path,
           out->name, out->instance, out->messages, out->lost);
    printf("report: %s, code %" PRId32 ", under message %" PRIu64 "\n",
           axo_failure_kind_name(out->said_kind), out->said_code, out->messages);
    if (out->kind == AXO_FAILURE_NONE)
        printf("replay: no failure\n");
    else
        printf("replay: %s, code %" PRId32 ", under message %" PRIu64 ": \"%s\"\n",
               axo_failure_kind_name(out->kind), out->code, out->failed_at, out->failure);
    printf("%s%s%s\n", out->same ? "the same" : "not the same: ", out->text,
           !out->same && out->lost > 0 ? "; the replay began too late" : "");
}

void axo_report_main(void)
{
    const char *path = secure_getenv("AXO_REPORT");
    axo_report_outcome out = AXO_REPORT_OUTCOME();
    if (path == NULL)
        return;
    axo_status status = axo_report_play(path, &out);
    if (status == AXO_OK)
        play_print(path, &out);
    else
        fprintf(stderr, "%s: %s\n", axo_status_name(status), out.text);
    if (fflush(NULL) != 0)
        exit(2);
    exit(status != AXO_OK ? 2 : !out.same);
}
