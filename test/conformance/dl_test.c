/* dl_test.c - dead letters: what is told of them, to whom, and how loudly (DL). */
#include <inttypes.h>
#include <stdio.h>

#include "conformance/ear.h"
#include "conformance/parts.h"

enum { DL_TAG = KIT_OTHER + 7 };

/* An actor that has been, and is gone. */
static axo_ref dl_gone(kit *k)
{
    kit_script *gone = kit_actor(k, "gone");
    uint32_t before = kit_count(k, "user.child_gone");
    axo_ref ref = kit_spawn(k, gone);
    assert_int_equal(axo_system_stop_actor(kit_system(k), ref), AXO_OK);
    kit_await_count(k, "user.child_gone", before + 1);
    return ref;
}

static void dl_send(kit *k, axo_ref to, const void *payload, size_t size)
{
    assert_int_equal(axo_system_send(kit_system(k), to, DL_TAG, payload, size), AXO_EGONE);
}

typedef struct dl_call {
    axo_ref to;
    uint32_t count;
    bool pills;
} dl_call;

static axo_status dl_send_in(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    dl_call *call = arg;
    for (uint32_t i = 0; i < call->count; i++) {
        axo_status status = call->pills ? axo_poison(ctx, call->to)
                                        : axo_send(ctx, call->to, DL_TAG, &i, sizeof i);
        KIT_REQUIRE(self->k, status == AXO_EGONE);
    }
    kit_mark(self, "sent", call->count);
    return AXO_OK;
}

/* From an actor and from outside: message, sender, recipient. */
static void DL_01(kit *k)
{
    kit_script *a = part_start(k, "a");
    ear *e = ear_on(k, "e", AXO_KIND_DEAD_LETTER);
    dl_call call = {.to = dl_gone(k), .count = 1};
    char text[40] = "a text that is longer than what is kept";
    dl_send(k, call.to, text, sizeof text);
    ear_await(e, AXO_KIND_DEAD_LETTER, 1);
    kit_run(k, a, dl_send_in, &call);
    ear_await(e, AXO_KIND_DEAD_LETTER, 2);
    ear_event event = ear_get(e, AXO_KIND_DEAD_LETTER_ORDINARY, 0);
    axo_dead_record letter = event.data.dead;
    assert_int_equal(event.head.size, sizeof letter);
    assert_true(axo_ref_equal(event.head.source, call.to));
    assert_true(axo_ref_equal(letter.recipient, call.to));
    assert_true(axo_ref_is_none(letter.sender));
    assert_int_equal(letter.tag, DL_TAG);
    assert_int_equal(letter.size, sizeof text);
    assert_int_equal(letter.reason, AXO_DEAD_GONE);
    assert_int_equal(letter.suppressed, 0);
    assert_int_equal(letter.head_size, AXO_EVENT_HEAD_MAX);
    assert_memory_equal(letter.head, text, AXO_EVENT_HEAD_MAX);
    char traced[40];
    (void)snprintf(traced, sizeof traced, "*.dead_letter(%u)", DL_TAG);
    kit_expect_count(k, traced, 2);
    assert_true(letter.time_ns <= event.head.time_ns);
    letter = ear_get(e, AXO_KIND_DEAD_LETTER_ORDINARY, 1).data.dead;
    assert_true(axo_ref_equal(letter.sender, kit_ref(a)));
    assert_int_equal(letter.head_size, sizeof(uint32_t));
    assert_int_equal(kit_stats(k).dead, 2);
    kit_finish(k);
}

/* What waits in a mailbox, in its order, with the path of who never got it. */
static void DL_02(kit *k)
{
    kit_family f = kit_tree(k, "p[a]");
    kit_gate *gate = kit_gate_new(k);
    ear *e = ear_on(k, "e", AXO_KIND_DEAD_LETTER);
    kit_wait_at(k, f.a, gate, 0);
    kit_gate_arrived(gate, 1);
    for (int i = 0; i < 5; i++)
        kit_tell(k, f.a, KIT_NOTE, i);
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(f.a)), AXO_OK);
    kit_gate_open(gate);
    ear_await(e, AXO_KIND_DEAD_LETTER, 5);
    ear_expect(e, AXO_KIND_DEAD_LETTER_ORDINARY, 5);
    for (uint32_t i = 0; i < 5; i++) {
        axo_dead_record letter = ear_get(e, AXO_KIND_DEAD_LETTER, i).data.dead;
        kit_payload payload;
        assert_int_equal(letter.reason, AXO_DEAD_STOPPED);
        assert_string_equal(letter.path, "/user/p/a");
        assert_true(axo_ref_equal(letter.recipient, kit_ref(f.a)));
        memset(&payload, 0, sizeof payload);
        memcpy(&payload, letter.head, letter.head_size);
        assert_int_equal(payload.value, i);
    }
}

static void dl_expect_lines(ear *e, uint32_t n)
{
    ear_expect(e, AXO_KIND_LOG_INFO, n);
}

static axo_event_log dl_line(ear *e, uint32_t n)
{
    return ear_get(e, AXO_KIND_LOG_INFO, n).data.log;
}

static void DL_03(void **state)
{
    axo_options options = AXO_OPTIONS(.dead_letter_log = 100);
    kit *k = kit_start(state, &options);
    ear *all = ear_on(k, "all", AXO_KIND_DEAD_LETTER);
    ear *ordinary = ear_on(k, "ordinary", AXO_KIND_DEAD_LETTER_ORDINARY);
    ear *suppressed = ear_on(k, "suppressed", AXO_KIND_DEAD_LETTER_SUPPRESSED);
    ear *lines = ear_on(k, "lines", AXO_KIND_LOG_INFO);
    axo_ref gone = dl_gone(k);
    dl_send(k, gone, NULL, 0);
    assert_int_equal(axo_system_poison(kit_system(k), gone), AXO_EGONE);
    dl_send(k, gone, NULL, 0);
    ear_expect(all, AXO_KIND_ALL, 3);
    ear_expect(ordinary, AXO_KIND_ALL, 2);
    ear_expect(suppressed, AXO_KIND_ALL, 1);
    assert_int_equal(ear_get(suppressed, AXO_KIND_ALL, 0).data.dead.suppressed, 1);
    assert_int_equal(ear_get(all, AXO_KIND_ALL, 1).head.kind, AXO_KIND_DEAD_LETTER_SUPPRESSED);
    dl_expect_lines(lines, 2); /* nobody logs what is harmless */
    assert_int_equal(kit_stats(k).dead, 3);
    kit_finish(k);
}

static void DL_04(void **state)
{
    axo_options options = AXO_OPTIONS(.dead_letter_log = 3);
    kit *k = kit_start(state, &options);
    kit_script *a = part_start(k, "a");
    ear *lines = ear_on(k, "lines", AXO_KIND_LOG_INFO);
    dl_call call = {.to = dl_gone(k), .count = 20000};
    kit_run(k, a, dl_send_in, &call);
    kit_await(k, "a.sent");
    dl_expect_lines(lines, 3);
    assert_null(strstr(dl_line(lines, 1).text, "no more"));
    assert_non_null(strstr(dl_line(lines, 2).text, "no more of these are logged"));
    assert_int_equal(dl_line(lines, 0).level, AXO_LOG_INFO);
    assert_non_null(strstr(dl_line(lines, 0).text, "no living actor has this reference"));
    assert_int_equal(kit_stats(k).dead, 20000);
    kit_finish(k);
}

/* Windows that are over at once: each letter opens one, and nothing is ever skipped in it. */
static void DL_04_windows(void **state)
{
    axo_options options = AXO_OPTIONS(.dead_letter_log = 1, .dead_letter_window_ns = 1);
    kit *k = kit_start(state, &options);
    ear *lines = ear_on(k, "lines", AXO_KIND_LOG_INFO);
    axo_ref gone = dl_gone(k);
    for (int i = 0; i < 4; i++)
        dl_send(k, gone, NULL, 0);
    dl_expect_lines(lines, 4);
    kit_finish(k);
}

static void DL_04_off(void **state)
{
    axo_options options = AXO_OPTIONS(.dead_letter_log = 3, .no_dead_letter_log = 1);
    kit *k = kit_start(state, &options);
    ear *lines = ear_on(k, "lines", AXO_KIND_LOG_INFO);
    axo_ref gone = dl_gone(k);
    dl_send(k, gone, NULL, 0);
    dl_expect_lines(lines, 0);
    kit_finish(k);
}

static void DL_05(void **state)
{
    axo_options options = AXO_OPTIONS(.dead_letter_log = 9);
    kit *k = kit_start(state, &options);
    kit_script *a = part_start(k, "a");
    ear *lines = ear_on(k, "lines", AXO_KIND_LOG_INFO);
    dl_call call = {.to = dl_gone(k), .count = 1};
    char from[64];
    char to[64];
    dl_send(k, call.to, "abc", 3);
    ear_await(lines, AXO_KIND_LOG_INFO, 1);
    kit_run(k, a, dl_send_in, &call);
    ear_await(lines, AXO_KIND_LOG_INFO, 2);
    assert_null(strstr(dl_line(lines, 0).text, "from"));
    assert_non_null(strstr(dl_line(lines, 0).text, "tag 1007, 3 bytes"));
    (void)snprintf(from, sizeof from, " from #%" PRIx64, kit_ref(a).bits);
    (void)snprintf(to, sizeof to, " to #%" PRIx64, call.to.bits);
    assert_non_null(strstr(dl_line(lines, 1).text, from));
    assert_non_null(strstr(dl_line(lines, 1).text, to));
    kit_finish(k);
}

/* Subscribers that die, with events in their mailboxes too, make no dead letters. */
static void DL_06(kit *k)
{
    kit_script *a = part_start(k, "a");
    kit_gate *gate = kit_gate_new(k);
    axo_ref gone = dl_gone(k);
    ear *e = ear_on(k, "e", AXO_KIND_DEAD_LETTER);
    assert_int_equal(axo_system_subscribe(kit_system(k), kit_ref(a), AXO_KIND_DEAD_LETTER),
                     AXO_OK);
    kit_wait_at(k, a, gate, 0);
    kit_gate_arrived(gate, 1);
    for (int i = 0; i < 10; i++)
        dl_send(k, gone, NULL, 0); /* ten events wait in a's mailbox */
    kit_tell(k, a, KIT_NOTE, 1);
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(a)), AXO_OK);
    kit_gate_open(gate);
    kit_await(k, "user.child_gone(a)");
    dl_send(k, gone, NULL, 0); /* a is met here, and removed */
    dl_send(k, kit_ref(a), NULL, 0);
    ear_await(e, AXO_KIND_DEAD_LETTER, 13);
    ear_expect(e, AXO_KIND_DEAD_LETTER, 13);
    assert_int_equal(kit_stats(k).dead, 13); /* 10, a's note, and the last two */
}

/* The last subscriber hears of its own mailbox's end only by being gone. */
static void DL_06_self(kit *k)
{
    kit_script *a = part_start(k, "a");
    kit_gate *gate = kit_gate_new(k);
    assert_int_equal(axo_system_subscribe(kit_system(k), kit_ref(a), AXO_KIND_ALL), AXO_OK);
    kit_wait_at(k, a, gate, 0);
    kit_gate_arrived(gate, 1);
    for (int i = 0; i < 10; i++)
        kit_tell(k, a, KIT_NOTE, i);
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(a)), AXO_OK);
    kit_gate_open(gate);
    kit_await(k, "user.child_gone(a)");
    assert_int_equal(kit_stats(k).dead, 10);
}

static void DL_08(kit *k)
{
    kit_family f = kit_tree(k, "a, b");
    ear *e = ear_on(k, "e", AXO_KIND_UNHANDLED);
    ear *dead = ear_on(k, "dead", AXO_KIND_DEAD_LETTER);
    kit_tell_as(k, f.b, f.a, DL_TAG, 5);
    ear_await(e, AXO_KIND_UNHANDLED, 1);
    axo_event_unhandled told = ear_get(e, AXO_KIND_UNHANDLED, 0).data.unhandled;
    assert_true(axo_ref_equal(told.recipient, kit_ref(f.a)));
    assert_true(axo_ref_equal(told.sender, kit_ref(f.b)));
    assert_int_equal(told.tag, DL_TAG);
    assert_int_equal(told.size, sizeof(kit_payload));
    assert_int_equal(told.head_size, AXO_EVENT_HEAD_MAX);
    assert_string_equal(told.path, "/user/a");
    ear_expect(dead, AXO_KIND_ALL, 0);
    assert_int_equal(kit_stats(k).failures, 0);
    assert_int_equal(kit_stats(k).unhandled, 1);
}

/* ---- DL-14: the observer of what is unhandled ------------------------------------------------ */

enum { DL_SEEN_MAX = 8, DL_OWN = KIT_OTHER + 9 };

typedef struct dl_unhandled {
    kit *k;
    _Atomic uint32_t count;
    struct {
        axo_ref recipient;
        axo_ref sender;
        uint32_t tag;
        uint32_t size;
        int64_t value;
    } seen[DL_SEEN_MAX]; /* one receiver at a time */
} dl_unhandled;

static void dl_see_unhandled(void *user, const axo_unhandled *unhandled)
{
    dl_unhandled *all = user;
    uint32_t at = all->count;
    const axo_message *message = unhandled->message;
    if (at < DL_SEEN_MAX) {
        all->seen[at].recipient = unhandled->recipient;
        all->seen[at].sender = message->sender;
        all->seen[at].tag = message->tag;
        all->seen[at].size = message->size;
        if (message->size == sizeof(kit_payload))
            all->seen[at].value = AXO_PAYLOAD(message, kit_payload)->value;
    }
    all->count = at + 1;
}

static axo_status dl_stash_once(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    _Atomic bool *stashed = arg;
    if (self->message->tag != DL_TAG || *stashed)
        return AXO_OK;
    *stashed = true;
    KIT_REQUIRE(self->k, axo_stash(ctx) == AXO_OK);
    return AXO_OK;
}

static axo_status dl_unstash(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_unstash_all(ctx) == AXO_OK);
    return AXO_OK;
}

/* A receive timeout, and a notice with words of one's own. */
static axo_status dl_ask_signals(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_payload words = {.value = 1};
    KIT_REQUIRE(self->k, axo_watch_with(ctx, kit_ref(arg), DL_OWN, &words, sizeof words) ==
                             AXO_OK);
    KIT_REQUIRE(self->k, axo_receive_timeout(ctx, 1000000) == AXO_OK);
    return AXO_OK;
}

static axo_status dl_no_timeout(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_receive_timeout(ctx, 0) == AXO_OK);
    return AXO_OK;
}

/* Told once for each, counted before, with events subscribed as without; not for what is no user's
 * message, nor for one that is put aside. */
static void dl_14(void **state, bool events)
{
    dl_unhandled all = {.count = 0};
    _Atomic bool stashed = true;
    axo_options options = AXO_OPTIONS(.on_unhandled = dl_see_unhandled, .unhandled_user = &all);
    kit *k = kit_start(state, &options);
    kit_script *a = part_start(k, "a");
    kit_script *b = part_start(k, "b");
    kit_script *friend = part_start(k, "friend");
    ear *e = events ? ear_on(k, "e", AXO_KIND_UNHANDLED) : NULL;
    if (e != NULL)
        e->answer = AXO_UNHANDLED; /* an event that is unhandled is nobody's loss */
    a->receive.run = dl_stash_once;
    a->receive.arg = &stashed;
    kit_tell(k, a, KIT_NOTE, 1);
    kit_tell_as(k, b, a, DL_TAG, 5);
    kit_tell(k, a, KIT_NOTE, 2);
    kit_await(k, "a.note(2)");
    assert_int_equal(all.count, 1);
    assert_true(axo_ref_equal(all.seen[0].recipient, kit_ref(a)));
    assert_true(axo_ref_equal(all.seen[0].sender, kit_ref(b)));
    assert_int_equal(all.seen[0].tag, DL_TAG);
    assert_int_equal(all.seen[0].size, sizeof(kit_payload));
    assert_int_equal(all.seen[0].value, 5);
    stashed = false;
    kit_tell(k, a, DL_TAG, 6);
    kit_tell(k, a, KIT_NOTE, 3);
    kit_await(k, "a.note(3)");
    assert_int_equal(all.count, 1); /* it is put aside */
    kit_run(k, a, dl_unstash, NULL);
    kit_await_count(k, "a.stash", 3);
    kit_tell(k, a, KIT_NOTE, 4);
    kit_await(k, "a.note(4)");
    assert_int_equal(all.count, 2);
    assert_int_equal(all.seen[1].value, 6);
    assert_true(axo_ref_is_none(all.seen[1].sender));
    kit_run(k, a, dl_ask_signals, friend);
    kit_tell(k, friend, KIT_STOP_SELF, 0);
    kit_await(k, "a.stash(1009)"); /* DL_OWN */
    kit_await_count(k, "a.stash", 5); /* and a timeout */
    kit_run(k, a, dl_no_timeout, NULL);
    kit_settle(k);
    assert_int_equal(all.count, 2);
    assert_int_equal(kit_stats(k).unhandled, 2);
    if (e != NULL)
        ear_expect(e, AXO_KIND_UNHANDLED, 2);
    kit_finish(k);
}

static void DL_14(void **state)
{
    dl_14(state, false);
}

static void DL_14_events(void **state)
{
    dl_14(state, true);
}

/* Requests of the runtime to one that is gone are answered, and are no dead letters. */
static void DL_09(kit *k)
{
    kit_script *a = part_start(k, "a");
    ear *e = ear_on(k, "e", AXO_KIND_DEAD_LETTER);
    axo_ref gone = dl_gone(k);
    kit_tell_ref(k, a, KIT_UNWATCH, gone);
    kit_tell_ref(k, a, KIT_WATCH, gone);
    kit_await(k, "a.term");
    kit_tell_ref(k, a, KIT_UNWATCH, gone);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_await(k, "a.note(1)");
    assert_int_equal(axo_system_stop_actor(kit_system(k), gone), AXO_EGONE);
    ear_expect(e, AXO_KIND_ALL, 0);
    assert_int_equal(kit_stats(k).dead, 0);
    kit_expect_count(k, "a.term", 1);
}

/* An actor whose post_stop makes dead letters while the system stops. */
static void dl_stop_with_letters(void **state, uint32_t at_stop, uint32_t lines)
{
    axo_options options = AXO_OPTIONS(.dead_letter_log = 9, .dead_letter_log_at_stop = at_stop);
    kit *k = kit_start(state, &options);
    kit_script *a = kit_actor(k, "a");
    dl_call call = {.to = dl_gone(k), .count = 2};
    ear *e = ear_new_at(k, "e", 1); /* outlives /user */
    axo_dead_record kept[4];
    uint64_t total = 0;
    a->post_stop.run = dl_send_in;
    a->post_stop.arg = &call;
    kit_spawn(k, a);
    kit_await(k, "a.preStart");
    assert_int_equal(axo_system_subscribe(kit_system(k), e->ref, AXO_KIND_DEAD_LETTER), AXO_OK);
    assert_int_equal(axo_system_stop(kit_system(k), -1, NULL, 0, NULL), AXO_OK);
    kit_expect_count(k, "*.log(3)", lines);
    assert_int_equal(kit_stats(k).events, 2); /* told of and kept all the same */
    assert_int_equal(axo_system_dead_letters(kit_system(k), kept, 4, &total), 2);
    assert_int_equal(total, 2);
    kit_finish_now(k);
}

static void DL_12(void **state)
{
    dl_stop_with_letters(state, 0, 0);
}

static void DL_12_at_stop(void **state)
{
    dl_stop_with_letters(state, 1, 2);
}

/* Five numbered ones. The first one finds the envelope of them all: keeping them takes nothing. */
static axo_status dl_number(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const axo_ref *gone = arg;
    for (uint32_t i = 0; i < 5; i++) {
        KIT_REQUIRE(self->k, axo_send(ctx, *gone, DL_TAG, &i, sizeof i) == AXO_EGONE);
        kit_no_memory(self->k, true);
    }
    kit_no_memory(self->k, false);
    kit_mark(self, "sent", 5);
    return AXO_OK;
}

/* The last ones are kept for anybody to look at. */
static void DL_01_kept(void **state)
{
    axo_options options = AXO_OPTIONS(.dead_letters_kept = 3);
    kit *k = kit_start(state, &options);
    axo_ref gone = dl_gone(k);
    axo_dead_record kept[5];
    uint64_t total = 9;
    assert_int_equal(axo_system_dead_letters(kit_system(k), kept, 5, &total), 0);
    assert_int_equal(total, 0);
    kit_run(k, part_start(k, "a"), dl_number, &gone);
    kit_await(k, "a.sent");
    assert_int_equal(axo_system_dead_letters(kit_system(k), kept, 5, &total), 3);
    assert_int_equal(total, 5);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t number;
        memcpy(&number, kept[i].head, sizeof number);
        assert_int_equal(number, 4 - i); /* newest first */
    }
    assert_int_equal(axo_system_dead_letters(kit_system(k), kept, 1, NULL), 1);
    assert_int_equal(axo_system_dead_letters(kit_system(k), NULL, 0, &total), 0);
    assert_int_equal(total, 5);
    assert_int_equal(axo_system_dead_letters(kit_system(k), NULL, 1, &total), 0);
    assert_int_equal(total, 0);
    assert_int_equal(axo_system_dead_letters(NULL, kept, 1, &total), 0);
    kit_finish(k);
}

static void DL_01_none_kept(void **state)
{
    axo_options options = AXO_OPTIONS(.no_dead_letters_kept = 1);
    kit *k = kit_start(state, &options);
    axo_ref gone = dl_gone(k);
    axo_dead_record kept[2];
    uint64_t total = 0;
    dl_send(k, gone, NULL, 0);
    assert_int_equal(axo_system_dead_letters(kit_system(k), kept, 2, &total), 0);
    assert_int_equal(total, 1);
    kit_finish(k);
}

static axo_status dl_drop_in(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_message copy = *self->message;
    axo_ctx *other = arg;
    KIT_REQUIRE(self->k, axo_drop(ctx, self->message, self->ref, "no routee is left") == AXO_OK);
    KIT_REQUIRE(self->k, axo_drop(ctx, self->message, axo_ref_none(), NULL) == AXO_OK);
    KIT_REQUIRE(self->k, axo_drop(other, self->message, self->ref, NULL) == AXO_ECONTEXT);
    KIT_REQUIRE(self->k, axo_drop(ctx, &copy, self->ref, NULL) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_drop(ctx, NULL, self->ref, NULL) == AXO_EINVAL);
    kit_mark(self, "dropped", 0);
    return AXO_OK;
}

/* What is dropped says why; the message was handled all the same. */
static void DL_13(void **state)
{
    axo_options options = AXO_OPTIONS(.dead_letter_log = 9);
    kit *k = kit_start(state, &options);
    kit_script *a = part_start(k, "a");
    ear *e = ear_on(k, "e", AXO_KIND_DEAD_LETTER);
    assert_int_equal(axo_system_subscribe(kit_system(k), e->ref, AXO_KIND_LOG_INFO), AXO_OK);
    kit_run(k, a, dl_drop_in, k);
    kit_await(k, "a.dropped");
    ear_expect(e, AXO_KIND_DEAD_LETTER_ORDINARY, 2);
    axo_dead_record letter = ear_get(e, AXO_KIND_DEAD_LETTER, 0).data.dead;
    assert_int_equal(letter.reason, AXO_DEAD_DROPPED);
    assert_string_equal(letter.text, "no routee is left");
    assert_string_equal(letter.path, "/user/a");
    assert_string_equal(ear_get(e, AXO_KIND_DEAD_LETTER, 1).data.dead.path, "");
    assert_non_null(strstr(dl_line(e, 0).text, "to /user/a: no routee is left"));
    assert_non_null(strstr(dl_line(e, 1).text, "it was dropped"));
    assert_int_equal(kit_stats(k).dead, 0);
    kit_finish(k);
}

/* A full mailbox names its actor, from inside and from outside. */
static void DL_07_path(kit *k)
{
    axo_mailbox box = AXO_MAILBOX(.messages_max = 1, .overflow = AXO_OVERFLOW_DROP_NEW);
    axo_props props = AXO_PROPS(.cls = &ear_class, .name = "full", .mailbox = &box);
    ear *e = ear_on(k, "e", AXO_KIND_DEAD_LETTER);
    ear *full = ear_new(k, "other");
    axo_ref ref;
    props.args = &full;
    props.args_size = sizeof full;
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_OK);
    (void)pthread_mutex_lock(&full->lock); /* its handler waits there */
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(axo_system_send(kit_system(k), ref, DL_TAG, NULL, 0), AXO_OK);
    (void)pthread_mutex_unlock(&full->lock);
    ear_await(e, AXO_KIND_DEAD_LETTER, 2); /* one is handled, one waits */
    axo_dead_record letter = ear_get(e, AXO_KIND_DEAD_LETTER, 0).data.dead;
    assert_int_equal(letter.reason, AXO_DEAD_OVERFLOW);
    assert_string_equal(letter.path, "/user/full");
    assert_true(axo_ref_equal(letter.recipient, ref));
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("DL-01", DL_01),
    KIT_TEST("DL-01 kept", DL_01_kept),
    KIT_TEST("DL-01 none kept", DL_01_none_kept),
    KIT_TEST("DL-02", DL_02),
    KIT_TEST("DL-03", DL_03),
    KIT_TEST("DL-04", DL_04),
    KIT_TEST("DL-04 windows", DL_04_windows),
    KIT_TEST("DL-04 off", DL_04_off),
    KIT_TEST("DL-05", DL_05),
    KIT_TEST("DL-06", DL_06),
    KIT_TEST("DL-06 self", DL_06_self),
    KIT_TEST("DL-07 path", DL_07_path),
    KIT_TEST("DL-08", DL_08),
    KIT_TEST("DL-14", DL_14),
    KIT_TEST("DL-14 events", DL_14_events),
    KIT_TEST("DL-09", DL_09),
    KIT_TEST("DL-13", DL_13),
    KIT_TEST("DL-12", DL_12),
    KIT_TEST("DL-12 at stop", DL_12_at_stop),
};
TEST_MAIN(tests)
