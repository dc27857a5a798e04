/* chrome_trace.c - a slice of a running system as a profile: which actor ran on which worker, when,
 * what failed, and who decided. The file is Chrome's trace format, which https://ui.perfetto.dev,
 * chrome://tracing and speedscope open.
 *
 *   ./chrome_trace [file]          "-", standard output, without one
 *
 * For Tracy the same two places take `cls->user` as a zone's source location:
 *   receive, decider_begin   zone = ___tracy_emit_zone_begin(event->cls->user, 1)
 *   received, decider_end    ___tracy_emit_zone_end(zone) */
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#define WORKERS  2
#define KEPT_MAX 100000 /* events of a worker */
#define WAVES    200

/* What is recorded while it is; the rest of the time a message costs what it always does. */
#define RARE AXO_EVENT_BIT(AXO_EV_FAIL)
#define PROFILE                                                                                    \
    (RARE | AXO_EVENT_BIT(AXO_EV_RECEIVE) | AXO_EVENT_BIT(AXO_EV_RECEIVED) |                       \
     AXO_EVENT_BIT(AXO_EV_DECIDER_BEGIN) | AXO_EVENT_BIT(AXO_EV_DECIDER_END))

enum { WAVE = 1, STEP, DONE };

static void must(axo_status status)
{
    if (status == AXO_OK)
        return;
    fprintf(stderr, "%s\n", axo_status_text(status));
    exit(1);
}

/* ---- the recorder: an array a worker, so that none waits for another ---- */

static struct recorder {
    axo_event events[KEPT_MAX];
    size_t count;
} recorders[WORKERS];

static void on_event(void *user, const axo_event *event)
{
    (void)user;
    if (event->worker >= WORKERS) /* of another dispatcher, or from outside */
        return;
    struct recorder *mine = &recorders[event->worker];
    if (mine->count < KEPT_MAX)
        mine->events[mine->count++] = *event;
}

/* ---- the writer ---- */

static const char *color_of(const axo_class *cls)
{
    return cls->user != NULL ? cls->user : "grey";
}

static void write_one(FILE *out, const axo_event *event, const char *phase, const char *name)
{
    fprintf(out,
            "{\"ph\":\"%s\",\"name\":\"%s\",\"cat\":\"actor\",\"pid\":1,\"tid\":%" PRIu32
            ",\"ts\":%.3f,\"cname\":\"%s\",\"s\":\"t\",\"args\":{\"actor\":%" PRIu32
            ",\"arg\":%" PRIu64 "}},\n",
            phase, name, event->worker, (double)event->time_ns / 1e3, color_of(event->cls),
            axo_ref_index(event->actor), event->arg);
}

/* A worker's events, as spans that lie in one another. Recording begins and ends in the midst of
 * spans: an end without a begin is left out, a begin without an end is closed by the last event. */
static void write_worker(FILE *out, const struct recorder *recorder)
{
    const char *open[16];
    size_t depth = 0;
    for (size_t i = 0; i < recorder->count; i++) {
        const axo_event *event = &recorder->events[i];
        switch (event->kind) {
        case AXO_EV_RECEIVE:
        case AXO_EV_DECIDER_BEGIN:
            open[depth] = event->kind == AXO_EV_RECEIVE ? event->cls->name : "decider";
            write_one(out, event, "B", open[depth++]);
            break;
        case AXO_EV_RECEIVED:
        case AXO_EV_DECIDER_END:
            if (depth > 0)
                write_one(out, event, "E", open[--depth]);
            break;
        default:
            write_one(out, event, "i", axo_event_name(event->kind));
            break;
        }
    }
    for (; depth > 0; depth--)
        write_one(out, &recorder->events[recorder->count - 1], "E", open[depth - 1]);
}

static void write_all(FILE *out)
{
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
    for (uint32_t i = 0; i < WORKERS; i++)
        write_worker(out, &recorders[i]);
    for (uint32_t i = 0; i < WORKERS; i++)
        fprintf(out,
                "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%" PRIu32
                ",\"args\":{\"name\":\"axo/w%" PRIu32 "\"}}%s\n",
                i, i, i + 1 < WORKERS ? "," : "");
    fputs("]}\n", out);
}

/* ---- the actors ---- */

static sem_t finished;

static axo_status enemy_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint32_t *steps = state;
    uint64_t path = message->tag;
    for (uint32_t i = 0; i < 20000; i++)
        path = path * 6364136223846793005u + 1;
    (void)axo_send(ctx, axo_sender(ctx), path != 0 ? DONE : WAVE, NULL, 0);
    return ++*steps % 50 == 0 ? axo_fail(ctx, 1, "lost its way") : AXO_OK;
}

static const axo_class enemy_class = AXO_CLASS(
    .name = "enemy", .state_size = sizeof(uint32_t), .receive = enemy_receive, .user = "good");

static axo_directive keep_going(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    (void)ctx;
    (void)state;
    (void)failure;
    (void)user;
    return AXO_RESTART;
}

typedef struct game {
    axo_ref enemies[16];
    uint32_t left; /* of a wave */
    uint32_t waves;
} game;

static axo_status game_wave(axo_ctx *ctx, game *self)
{
    self->left = 16;
    for (uint32_t i = 0; i < 16; i++) {
        axo_status status = axo_send_from(ctx, axo_self(ctx), self->enemies[i], STEP, NULL, 0);
        if (status != AXO_OK)
            return status;
    }
    return AXO_OK;
}

static axo_status game_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    game *self = state;
    axo_props props = AXO_PROPS(.cls = &enemy_class);
    if (message->tag == DONE && --self->left > 0)
        return AXO_OK;
    for (uint32_t i = 0; message->tag == WAVE && i < 16; i++) {
        axo_status status = axo_spawn(ctx, &props, &self->enemies[i]);
        if (status != AXO_OK)
            return status;
    }
    if (message->tag == DONE && ++self->waves == WAVES) {
        (void)sem_post(&finished);
        return AXO_OK;
    }
    return game_wave(ctx, self);
}

int main(int argc, char **argv)
{
    static const axo_class game_class = AXO_CLASS(.name = "game", .state_size = sizeof(game),
                                                  .receive = game_receive, .user = "terrible");
    static const axo_strategy strategy = AXO_STRATEGY(.decider = keep_going);
    axo_options options = AXO_OPTIONS(.workers = WORKERS, .trace = on_event, .trace_kinds = RARE,
                                      .failure_log = 1);
    axo_props props = AXO_PROPS(.cls = &game_class, .strategy = &strategy);
    FILE *out = argc > 1 && strcmp(argv[1], "-") != 0 ? fopen(argv[1], "w") : stdout;
    axo_system *system;
    axo_ref ref;
    if (out == NULL || sem_init(&finished, 0, 0) != 0) {
        perror(argv[argc - 1]);
        return 1;
    }
    must(axo_system_start(&options, &system));
    must(axo_system_spawn(system, &props, &ref));
    must(axo_system_trace_kinds(system, PROFILE));
    must(axo_system_send(system, ref, WAVE, NULL, 0));
    while (sem_wait(&finished) != 0)
        continue;
    must(axo_system_trace_kinds(system, RARE));
    must(axo_system_stop(system, -1, NULL, 0, NULL));
    must(axo_system_destroy(system));
    write_all(out);
    return fclose(out) == 0 ? 0 : 1;
}
