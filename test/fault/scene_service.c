/* scene_service.c - scenes of the services: timers, ask, names, events, routers, ends in order. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fault/scenes.h"

/* ---- timers --------------------------------------------------------------------------------- */

static void service_keyed(axo_ctx *ctx, world *w)
{
    static const char payload[50];
    for (uint64_t key = 1; key <= 12; key++) {
        axo_timer_kind kind = (axo_timer_kind)(key % 3);
        axo_status status = TRY(w, axo_timer_start(ctx, key, kind, (int64_t)key * WORLD_MS,
                                                   3 * WORLD_MS, WORLD_NOTE, payload, 50));
        MUST(w, axo_timer_active(ctx, key) == (status == AXO_OK));
    }
    for (uint64_t key = 1; key <= 3; key++) { /* once more: the old one is as it was if refused */
        bool was = axo_timer_active(ctx, key);
        axo_status status = TRY(w, axo_timer_start(ctx, key, AXO_TIMER_ONCE, WORLD_MS, 0,
                                                   WORLD_NOTE, NULL, 0));
        MUST(w, axo_timer_active(ctx, key) == (was || status == AXO_OK));
    }
    (void)TRY(w, axo_receive_timeout(ctx, 50 * WORLD_MS));
}

static void service_stop_timers(axo_ctx *ctx, world *w)
{
    for (uint64_t key = 1; key <= 12; key++)
        (void)axo_timer_stop(ctx, key);
    MUST(w, axo_receive_timeout(ctx, 0) == AXO_OK);
}

static void service_timers(world *w)
{
    world_do(w, service_keyed);
    world_advance(w, 30 * WORLD_MS);
    if (world_rich(w))
        MUST(w, w->got[WORLD_NOTE] > 12);
    world_do(w, service_stop_timers);
    uint32_t got = w->got[WORLD_NOTE];
    world_advance(w, WORLD_S);
    MUST(w, w->got[WORLD_NOTE] == got);
}

static void service_raw(axo_ctx *ctx, world *w)
{
    static const char payload[5000];
    axo_timer timer;
    for (uint32_t i = 0; i < 4; i++) {
        size_t size = i * 1500;
        (void)TRY(w, axo_schedule_once(ctx, WORLD_MS, w->driver, WORLD_NOTE, payload, size, NULL));
        (void)TRY(w, axo_send_after(ctx, WORLD_MS, w->driver, WORLD_NOTE, payload, size));
        axo_status status = TRY(w, axo_schedule_fixed_delay(ctx, 1, WORLD_MS, w->pinger,
                                                            WORLD_NOTE, payload, size, &timer));
        MUST(w, axo_timer_cancel(ctx, timer) == (status == AXO_OK));
        status = TRY(w, axo_schedule_fixed_rate(ctx, 1, WORLD_MS, w->driver, WORLD_NOTE, payload,
                                                size, &timer));
        MUST(w, axo_timer_at_close(ctx, timer) == (status == AXO_OK));
    }
}

static void service_raw_timers(world *w)
{
    axo_timer timers[3];
    world_do(w, service_raw);
    (void)TRY(w, axo_system_schedule_once(w->system, WORLD_MS, w->driver, WORLD_NOTE, "x", 2,
                                          &timers[0]));
    (void)TRY(w, axo_system_schedule_fixed_delay(w->system, 1, WORLD_MS, w->driver, WORLD_NOTE, "x",
                                                 2, &timers[1]));
    (void)TRY(w, axo_system_schedule_fixed_rate(w->system, 1, WORLD_MS, w->driver, WORLD_NOTE, "x",
                                                2, &timers[2]));
    world_mark(w);
    uint64_t refused = w->denials;
    uint64_t dropped = w->before.dropped;
    world_advance(w, 10 * WORLD_MS);
    world_mark(w); /* a tick for which there is no memory is dropped, and counted as that */
    MUST(w, w->before.dropped - dropped == w->denials - refused);
    for (uint32_t i = 0; i < 3; i++)
        (void)axo_system_timer_cancel(w->system, timers[i]);
}

/* More than one piece of the timers' own memory. */
static void service_many_timers(world *w)
{
    for (uint32_t i = 0; i < 700; i++) {
        axo_status status = TRY(w, axo_system_schedule_once(w->system, (int64_t)i * WORLD_MS,
                                                            w->driver, WORLD_NOTE, NULL, 0, NULL));
        MUST(w, status == AXO_OK || status == AXO_ENOMEM);
    }
    world_advance(w, WORLD_S);
}

static void service_timeout(axo_ctx *ctx, world *w)
{
    (void)TRY(w, axo_receive_timeout(ctx, 10 * WORLD_MS));
}

/* Its message finds no memory: it comes when there is some. */
static void service_receive_timeout(world *w)
{
    world_do(w, service_timeout);
    world_advance(w, 55 * WORLD_MS);
    if (world_rich(w))
        MUST(w, w->got[0] == 5);
}

/* ---- ask, promise, graceful stop ------------------------------------------------------------- */

static void service_freed(void *payload, void *user)
{
    ((world *)user)->freed++;
}

static void service_ask_all(axo_ctx *ctx, world *w)
{
    axo_ref promise = {1};
    axo_status status = TRY(w, axo_ask(ctx, w->pinger, WORLD_PING, "x", 2, WORLD_S, 1));
    w->asked += status == AXO_OK;
    status = TRY(w, axo_ask(ctx, w->pinger, WORLD_NOTE, "x", 2, WORLD_S, 2)); /* never answered */
    w->asked += status == AXO_OK;
    status = axo_ask(ctx, w->ref, WORLD_QUIT, NULL, 0, WORLD_S, 3);
    MUST(w, status == AXO_OK || status == AXO_ENOMEM || status == AXO_EGONE);
    w->asked += status == AXO_OK;
    status = TRY(w, axo_promise(ctx, WORLD_S, 4, &promise));
    MUST(w, axo_ref_is_none(promise) == (status != AXO_OK));
    w->asked += status == AXO_OK;
    if (status == AXO_OK)
        (void)TRY(w, axo_send(ctx, promise, WORLD_PONG, "kept", 5));
}

/* The answer is handed over. Before the second one a message more, so that of three the requests
 * for one of them have even numbers and for another odd ones. */
static void service_ask_owned(axo_ctx *ctx, world *w)
{
    axo_ref promise = {1};
    if (w->given == 1)
        (void)TRY(w, axo_send(ctx, w->pinger, WORLD_NOTE, "x", 2));
    axo_status status = TRY(w, axo_promise(ctx, WORLD_S, 5, &promise));
    w->asked += status == AXO_OK;
    if (status == AXO_OK &&
        TRY(w, axo_send_owned(ctx, promise, WORLD_PONG, w, 1, service_freed, w)) == AXO_OK)
        w->given++;
}

/* What was accepted is told, also when there is never memory again. */
static void service_ask(world *w)
{
    axo_props props = world_props(&w);
    refuse_pause();
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    world_run(w);
    refuse_resume();
    for (uint32_t i = 0; i < 3; i++) {
        world_do(w, service_ask_owned);
        world_run(w);
    }
    world_do(w, service_ask_all);
    world_advance(w, 3 * WORLD_S);
    if (world_rich(w))
        MUST(w, w->answers == 5 && w->failed == 2);
    MUST(w, w->answers + w->failed == w->asked);
}

static void service_end_all(axo_ctx *ctx, world *w)
{
    axo_farewell message = AXO_FAREWELL(.kind = AXO_FAREWELL_MESSAGE, .tag = WORLD_QUIT,
                                        .payload = "bye", .payload_size = 4);
    axo_farewell stop = AXO_FAREWELL(.kind = AXO_FAREWELL_STOP);
    w->asked += TRY(w, axo_graceful_stop(ctx, w->ref, &message, WORLD_S, 1)) == AXO_OK;
    w->asked += TRY(w, axo_graceful_stop(ctx, w->other, NULL, WORLD_S, 2)) == AXO_OK;
    w->asked += TRY(w, axo_graceful_stop(ctx, w->sender, &stop, WORLD_S, 3)) == AXO_OK;
}

static void service_graceful(world *w)
{
    axo_props props = world_props(&w);
    refuse_pause();
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    MUST(w, axo_system_spawn(w->system, &props, &w->other) == AXO_OK);
    MUST(w, axo_system_spawn(w->system, &props, &w->sender) == AXO_OK);
    world_run(w);
    refuse_resume();
    world_do(w, service_end_all);
    world_advance(w, 3 * WORLD_S);
    MUST(w, w->got[0] == w->asked);
}

static uint32_t service_round;

/* Children of the driver are told, and quit. Messages more, so that over all rounds each request of
 * a drain has even numbers and odd ones. */
static void service_drain_all(axo_ctx *ctx, world *w)
{
    axo_props props = world_props(&w);
    axo_ref child;
    for (uint32_t i = 0; i < service_round; i++)
        (void)TRY(w, axo_send(ctx, w->pinger, WORLD_NOTE, "x", 2));
    for (uint32_t i = 0; i < 2; i++)
        (void)TRY(w, axo_spawn(ctx, &props, &child));
    w->asked += TRY(w, axo_drain(ctx, axo_self(ctx), service_round % 2 == 0 ? NULL : &world_class,
                                 WORLD_QUIT, WORLD_S, service_round)) == AXO_OK;
}

static void service_drain(world *w)
{
    for (service_round = 0; service_round < 4; service_round++) {
        world_do(w, service_drain_all);
        world_advance(w, 3 * WORLD_S);
    }
    MUST(w, w->got[0] == w->asked);
    MUST(w, w->failed == 0); /* each of the told ones ends, and is heard of */
    if (world_rich(w))
        MUST(w, w->asked == 4);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void service_keys(axo_ctx *ctx, world *w)
{
    axo_ref found;
    for (uint32_t i = 0; i < 40; i++) {
        char key[20];
        (void)snprintf(key, sizeof key, "key %u", (unsigned)i);
        axo_status status = TRY(w, axo_register(ctx, key, i % 2 == 0 ? w->pinger : w->driver));
        MUST(w, axo_system_lookup(w->system, key, &found) ==
                    (status == AXO_OK ? AXO_OK : AXO_ENOENT));
        if (i % 3 == 0 && status == AXO_OK)
            MUST(w, axo_unregister(ctx, key) == AXO_OK);
    }
}

static void service_registry(world *w)
{
    world_do(w, service_keys);
    for (uint32_t i = 0; i < 40; i++) {
        char key[20];
        (void)snprintf(key, sizeof key, "outside %u", (unsigned)i);
        (void)TRY(w, axo_system_register(w->system, key, w->pinger));
    }
}

static void service_look(axo_ctx *ctx, world *w)
{
    axo_ref refs[10];
    char path[64];
    uint32_t count = 0;
    axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
    MUST(w, axo_find(ctx, "/user/pinger", &refs[0]) == AXO_OK);
    MUST(w, axo_find_all(ctx, "/user/*", refs, 10, &count) == AXO_OK && count == 2);
    MUST(w, axo_path(ctx, axo_self(ctx), path, sizeof path) == AXO_OK);
    MUST(w, axo_inspect(ctx, w->pinger, axo_ref_none(), &info) == AXO_OK);
    axo_status status = TRY(w, axo_select(ctx, "/user/*", WORLD_NOTE, "abc", 4, &count));
    MUST(w, count == (status == AXO_OK ? 2 : 0));
    (void)TRY(w, axo_select(ctx, "/user/nobody", WORLD_NOTE, "abc", 4, &count));
}

static void service_find(world *w)
{
    world_do(w, service_look);
    world_run(w);
}

/* ---- events and dead letters ----------------------------------------------------------------- */

static void service_subscribe_all(axo_ctx *ctx, world *w)
{
    static const uint32_t kinds[] = {AXO_KIND_DEAD_LETTER, AXO_KIND_SUPERVISION,
                                     AXO_KIND_LIFECYCLE, AXO_KIND_USER, AXO_KIND_LOG};
    for (uint32_t i = 0; i < 5; i++)
        (void)TRY(w, axo_subscribe(ctx, w->driver, kinds[i]));
    (void)TRY(w, axo_subscribe(ctx, w->pinger, AXO_KIND_ALL));
    for (uint32_t i = 0; i < 3; i++) /* a copy that finds no memory is an event that is lost */
        MUST(w, axo_publish(ctx, AXO_KIND_USER + i, "data", 5) == AXO_OK);
    (void)axo_unsubscribe(ctx, w->driver, AXO_KIND_USER);
}

static void service_events(world *w)
{
    axo_props props = world_props(&w);
    axo_stats stats = AXO_STATS(.sent = 0);
    refuse_pause();
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    world_run(w);
    refuse_resume();
    world_do(w, service_subscribe_all);
    (void)TRY(w, axo_system_subscribe(w->system, w->ref, AXO_KIND_ALL));
    MUST(w, axo_system_publish(w->system, AXO_KIND_USER, "data", 5) == AXO_OK);
    world_post(w, w->ref, WORLD_FAIL); /* a failure, a restart, lines of the log are events */
    world_run(w);
    world_post(w, w->ref, WORLD_QUIT);
    world_run(w);
    world_post(w, w->ref, WORLD_NOTE); /* a dead letter */
    world_run(w);
    MUST(w, axo_system_dead_letters(w->system, NULL, 0, NULL) == 0);
    MUST(w, axo_system_stats(w->system, &stats) == AXO_OK);
    if (world_rich(w))
        MUST(w, stats.events_lost == 0 && stats.events > 0);
}

static void service_crowd(world *w)
{
    axo_props props = world_props(&w);
    axo_ref all[100];
    axo_stats stats = AXO_STATS(.sent = 0);
    uint32_t heard = 0;
    refuse_pause();
    for (uint32_t i = 0; i < 100; i++)
        MUST(w, axo_system_spawn(w->system, &props, &all[i]) == AXO_OK);
    world_run(w);
    refuse_resume();
    for (uint32_t i = 0; i < 100; i++)
        heard += TRY(w, axo_system_subscribe(w->system, all[i], AXO_KIND_USER)) == AXO_OK;
    MUST(w, axo_system_publish(w->system, AXO_KIND_USER, "data", 5) == AXO_OK);
    MUST(w, axo_system_stats(w->system, &stats) == AXO_OK);
    MUST(w, stats.events + stats.events_lost == heard);
}

static axo_status service_drop_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_drop(ctx, message, axo_self(ctx), "nobody wants it");
}

static const axo_class service_drop_class = AXO_CLASS(.receive = service_drop_receive);

/* Dead letters of every reason take no memory but the subscribers' copies. */
static void service_dead_letters(world *w)
{
    static const axo_mailbox full = AXO_MAILBOX(.messages_max = 1,
                                                .overflow = AXO_OVERFLOW_DROP_NEW);
    axo_props props = world_props(&w);
    axo_ref dropper;
    axo_dead_record records[4];
    uint64_t total = 0;
    props.mailbox = &full;
    refuse_pause();
    MUST(w, axo_system_subscribe(w->system, w->driver, AXO_KIND_DEAD_LETTER) == AXO_OK);
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    props.cls = &service_drop_class;
    MUST(w, axo_system_spawn(w->system, &props, &dropper) == AXO_OK);
    world_run(w);
    refuse_resume();
    for (uint32_t i = 0; i < 3; i++)
        (void)MAY(w, axo_system_send(w->system, w->ref, WORLD_NOTE, "x", 2));
    (void)TRY(w, axo_system_send(w->system, dropper, WORLD_NOTE, "x", 2));
    MUST(w, axo_system_stop_actor(w->system, w->ref) == AXO_OK);
    world_run(w);
    axo_status status = axo_system_send(w->system, w->ref, WORLD_NOTE, "x", 2);
    MUST(w, status == AXO_EGONE || status == AXO_ENOMEM);
    (void)axo_system_dead_letters(w->system, records, 4, &total);
    if (world_rich(w))
        MUST(w, total >= 4);
}

/* ---- the end -------------------------------------------------------------------------------- */

static axo_status service_hooked_start(axo_ctx *ctx, void *state)
{
    world *w = *(world **)state;
    axo_status status = TRY(w, axo_termination_hook(ctx));
    return status == AXO_ENOMEM ? AXO_OK : status;
}

static axo_status service_hooked_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world *w = *(world **)state;
    if (message->tag != AXO_TERMINATION_HOOK)
        return AXO_OK;
    axo_status status = TRY(w, axo_termination_hook_done(ctx));
    return status == AXO_ENOMEM ? axo_stop_self(ctx) : status;
}

static axo_status service_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(world *));
    return AXO_OK;
}

static const axo_class service_hooked_class =
    AXO_CLASS(.state_size = sizeof(world *), .construct = service_construct,
              .pre_start = service_hooked_start, .receive = service_hooked_receive);

static void service_over(axo_system *system, void *user)
{
    ((world *)user)->freed++;
}

/* Whatever is refused on the way, a system ends, and who was to be called at its end is. */
static void service_end(world *w)
{
    axo_options options = world_options(w, NULL);
    axo_props props = world_props(&w);
    axo_timer timer;
    refuse_pause();
    MUST(w, axo_system_start(&options, &w->system) == AXO_OK);
    world_run(w);
    refuse_resume();
    for (uint32_t i = 0; i < 3; i++) {
        if (TRY(w, axo_system_on_termination(w->system, service_over, w)) == AXO_OK)
            w->given++;
    }
    props.cls = &service_hooked_class;
    props.system_actor = 1;
    (void)TRY(w, axo_system_spawn(w->system, &props, &w->ref));
    (void)TRY(w, axo_system_spawn(w->system, &props, &w->other));
    world_run(w);
    if (TRY(w, axo_system_schedule_once(w->system, WORLD_S, w->ref, WORLD_NOTE, "x", 2, &timer)) ==
        AXO_OK)
        MUST(w, axo_system_timer_at_close(w->system, timer));
    MUST(w, axo_system_stop(w->system, -1, NULL, 0, NULL) == AXO_OK);
    MUST(w, axo_system_destroy(w->system) == AXO_OK);
    w->system = NULL;
}

/* ---- a stream: its record, its timer, its buffers -------------------------------------------- */

typedef struct service_stream {
    axo_stream *stream;
    int fds[2]; /* 0: the stream's, if it was opened; -1 */
    uint64_t taken;
    uint32_t closed;
    uint32_t answers;
    uint32_t handed_over; /* blocks, ... */
    uint32_t given_back;  /* ... and of these */
} service_stream;

static void service_stream_give_back(void *payload, void *user)
{
    service_stream *it = user;
    (void)payload;
    it->given_back++;
}

static axo_status service_stream_construct(axo_ctx *ctx, void *state, const void *args)
{
    static const axo_stream_settings settings =
        AXO_STREAM_SETTINGS(.idle_ns = WORLD_S, .input_max = 8192);
    memcpy(state, args, sizeof(world *));
    world *w = *(world **)state;
    service_stream *it = w->user;
    if (it->stream != NULL || TRY(w, axo_stream_open(ctx, it->fds[0], &settings, &it->stream)) ==
                                  AXO_OK)
        return AXO_OK;
    struct pollfd how = {.fd = it->fds[0], .events = POLLRDHUP}; /* the caller's, as it was */
    MUST(w, it->stream == NULL && poll(&how, 1, 0) == 0);
    return axo_fail(ctx, 1, "no memory");
}

/* An answer for which there is no memory is owed as before. */
static void service_stream_answer(world *w, axo_ctx *ctx, axo_stream *stream)
{
    static char answer[6000];
    service_stream *it = w->user;
    const axo_owned owned = {.payload = answer, .size = sizeof answer,
                             .destroy = service_stream_give_back, .user = it};
    axo_stream_info before = AXO_STREAM_INFO();
    axo_stream_info after = AXO_STREAM_INFO();
    if (axo_stream_owe(ctx, stream, 1) != AXO_OK)
        return; /* it is closed */
    MUST(w, axo_stream_look(ctx, stream, &before) == AXO_OK);
    bool hands_over = ++it->answers % 2 != 0;
    axo_status status = TRY(w, hands_over ? axo_stream_answer_owned(ctx, stream, &owned)
                                          : axo_stream_answer(ctx, stream, answer, sizeof answer));
    it->handed_over += hands_over && status == AXO_OK;
    MUST(w, axo_stream_look(ctx, stream, &after) == AXO_OK);
    MUST(w, after.owed == before.owed - (status == AXO_OK));
    if (status != AXO_OK)
        MUST(w, after.output == before.output);
    MUST(w, axo_stream_settle(ctx, stream) == AXO_OK);
}

static axo_status service_stream_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const char answer[6000];
    static char block[1000]; /* longer than what is copied */
    world *w = *(world **)state;
    service_stream *it = w->user;
    const axo_owned owned = {.payload = block, .size = sizeof block,
                             .destroy = service_stream_give_back, .user = it};
    axo_stream_bytes piece;
    axo_stream_info info = AXO_STREAM_INFO();
    uint32_t told = axo_stream_receive(ctx, it->stream, message);
    it->closed += (told & AXO_STREAM_CLOSED) != 0;
    MUST(w, axo_stream_look(ctx, it->stream, &info) == AXO_OK);
    if ((told & AXO_STREAM_CLOSED) != 0)
        MUST(w, info.status == AXO_ENOMEM || info.status == AXO_ETIMEDOUT);
    while (axo_stream_next(ctx, it->stream, 0, &piece) == AXO_OK) {
        it->taken += piece.size;
        axo_status status = TRY(w, axo_stream_write(ctx, it->stream, answer, sizeof answer));
        MUST(w, axo_stream_look(ctx, it->stream, &info) == AXO_OK);
        MUST(w, info.status != AXO_OK || /* all of it, or none */
                    info.output == (status == AXO_OK ? sizeof answer : 0));
        if (status == AXO_OK)
            MUST(w, axo_stream_settle(ctx, it->stream) == AXO_OK);
        service_stream_answer(w, ctx, it->stream);
        it->handed_over += TRY(w, axo_stream_write_owned(ctx, it->stream, &owned)) == AXO_OK;
    }
    return AXO_OK;
}

static axo_status service_stream_settle(axo_ctx *ctx, void *state)
{
    world *w = *(world **)state;
    return axo_stream_settle(ctx, ((service_stream *)w->user)->stream);
}

static const axo_class service_stream_class =
    AXO_CLASS(.state_size = sizeof(world *), .construct = service_stream_construct,
              .receive = service_stream_receive, .settle = service_stream_settle);

static void service_stream_run(world *w)
{
    static const char bytes[5000];
    service_stream it = {.closed = 0};
    axo_props props = AXO_PROPS(.cls = &service_stream_class, .args = &w, .args_size = sizeof w);
    MUST(w, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, it.fds) == 0);
    w->user = &it;
    if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) == AXO_OK)
        world_run(w);
    for (uint32_t i = 0; i < 3 && it.stream != NULL && it.closed == 0; i++) {
        MUST(w, write(it.fds[1], bytes, sizeof bytes) == sizeof bytes);
        world_run(w);
        for (uint32_t j = 0; j < 3; j++)
            world_advance(w, WORLD_MS);
    }
    refuse_pause();
    for (uint32_t j = 0; j < 3; j++)
        world_advance(w, WORLD_S);
    refuse_resume();
    MUST(w, it.handed_over == it.given_back);
    if (it.stream != NULL)
        MUST(w, it.closed == 1); /* for want of memory, or as it was idle */
    else
        MUST(w, close(it.fds[0]) == 0);
    if (world_rich(w))
        MUST(w, it.taken == 3 * sizeof bytes);
    MUST(w, close(it.fds[1]) == 0);
}

/* ---- a listener: what a connection is made of ------------------------------------------------ */

/* The scene's numbers: how many have connected, and whether they stay. */
static axo_status service_connection_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_stream *stream;
    world *w = *(world **)state;
    if (message->tag == AXO_DISCONNECT || message->tag == AXO_IO_READY)
        return axo_stop_self(ctx);
    if (message->tag != AXO_CONNECTED)
        return AXO_UNHANDLED;
    ++*(uint32_t *)w->user;
    axo_status status = TRY(w, axo_stream_accept(ctx, message, NULL, &stream));
    if (status != AXO_OK)
        return axo_fail(ctx, 1, "no memory");
    return ((uint32_t *)w->user)[1] ? AXO_OK : axo_stop_self(ctx);
}

static const axo_class service_connection_class =
    AXO_CLASS(.state_size = sizeof(world *), .construct = service_construct,
              .receive = service_connection_receive);

/* An address that no other run has at the time, as the listener and as connect take it. */
static socklen_t service_address(struct sockaddr_un *where, char address[64])
{
    int length = snprintf(address, 64, "unix:@axo-fault-%d", (int)getpid());
    memset(where, 0, sizeof *where);
    where->sun_family = AF_UNIX;
    memcpy(where->sun_path + 1, address + 6, (size_t)length - 6);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length - 5);
}

/* Each client sees an end, however much was refused; no descriptor is left. */
static void service_listener(world *w)
{
    char address[64];
    struct sockaddr_un where;
    socklen_t size = service_address(&where, address);
    const axo_props connection = AXO_PROPS(.cls = &service_connection_class, .args = &w,
                                           .args_size = sizeof w, .name = NULL);
    const axo_listener settings = AXO_LISTENER(.address = address,
                                               .connection = &connection, .connections_max = 2);
    axo_props props;
    uint32_t connected[2] = {0, 0};
    w->user = connected;
    MUST(w, axo_listener_props(&settings, NULL, &props) == AXO_OK);
    if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) != AXO_OK)
        return;
    world_run(w);
    for (uint32_t i = 0; i < 5; i++) {
        char byte;
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        MUST(w, fd >= 0);
        bool there = connect(fd, (struct sockaddr *)&where, size) == 0;
        MUST(w, there || !world_rich(w)); /* it may not have started */
        for (uint32_t j = 0; j < 3; j++)
            world_advance(w, AXO_LISTENER_PAUSE_NS * 2);
        refuse_pause();
        for (uint32_t j = 0; j < 3; j++)
            world_advance(w, AXO_LISTENER_PAUSE_NS * 2);
        MUST(w, !there || read(fd, &byte, 1) == 0);
        refuse_resume();
        MUST(w, close(fd) == 0);
    }
    if (world_rich(w))
        MUST(w, connected[0] == 5);
}

/* A listener that is told to close does, and all its connections, however much is refused. */
static void service_listener_close(world *w)
{
    char address[64];
    struct sockaddr_un where;
    socklen_t size = service_address(&where, address);
    const axo_props connection = AXO_PROPS(.cls = &service_connection_class, .args = &w,
                                           .args_size = sizeof w, .name = NULL);
    const axo_listener settings = AXO_LISTENER(.address = address,
                                               .connection = &connection);
    axo_props props;
    int fds[3];
    bool there[3];
    uint32_t connected[2] = {0, 1};
    w->user = connected;
    MUST(w, axo_listener_props(&settings, NULL, &props) == AXO_OK);
    if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) != AXO_OK)
        return;
    world_run(w);
    for (uint32_t i = 0; i < 3; i++) {
        fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        MUST(w, fds[i] >= 0);
        there[i] = connect(fds[i], (struct sockaddr *)&where, size) == 0;
        for (uint32_t j = 0; j < 3; j++)
            world_advance(w, AXO_LISTENER_PAUSE_NS * 2);
    }
    MUST(w, connected[0] == 3 || !world_rich(w));
    bool told = TRY(w, axo_system_send(w->system, w->ref, AXO_LISTENER_CLOSE, NULL, 0)) == AXO_OK;
    for (uint32_t j = 0; j < 3; j++)
        world_advance(w, AXO_LISTENER_PAUSE_NS * 2);
    refuse_pause();
    for (uint32_t j = 0; j < 3; j++)
        world_advance(w, AXO_LISTENER_PAUSE_NS * 2);
    for (uint32_t i = 0; i < 3; i++) {
        char byte;
        ssize_t got = read(fds[i], &byte, 1); /* the end, or a reset of one that was not accepted */
        MUST(w, !there[i] || !told || got == 0 || (got < 0 && errno != EAGAIN));
        MUST(w, close(fds[i]) == 0);
    }
    MUST(w, !told || axo_system_send(w->system, w->ref, AXO_LISTENER_CLOSE, NULL, 0) == AXO_EGONE);
    refuse_resume();
}

const scene scenes_service[] = {
    {.name = "keyed timers and receive timeout", .run = service_timers},
    {.name = "raw timers", .run = service_raw_timers},
    {.name = "receive timeout", .run = service_receive_timeout},
    {.name = "many timers", .run = service_many_timers},
    {.name = "ask and promise", .run = service_ask},
    {.name = "graceful stop", .run = service_graceful},
    {.name = "drain", .run = service_drain},
    {.name = "a stream", .run = service_stream_run},
    {.name = "a listener", .run = service_listener},
    {.name = "a listener that closes", .run = service_listener_close},
    {.name = "registry", .run = service_registry},
    {.name = "find and select", .run = service_find},
    {.name = "event stream", .run = service_events},
    {.name = "many subscribers", .run = service_crowd},
    {.name = "dead letters", .run = service_dead_letters},
    {.name = "termination hooks", .run = service_end, .bare = 1},
    {.name = NULL},
};
