/* record.c - recording: each input is in the file before its handlers run.
 *
 * An input is one of: a message, an act on an actor, a call of the program's, a step, the begin. It
 * is written to memory first, and done then. Of a message and an act nothing has run yet when they
 * are done, so their records may wait for the next step; if they are not accepted they are taken
 * back. Steps, calls and the begin run code of the program, so all up to them is given to the
 * operating system first: what cannot be written is not done.
 *
 * The mutex is held from the record to the end of what it does: the order in the file is the order
 * in which it was done. It knows its owner, so a callback is refused. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "world.h"

struct axo_recorder {
    record_world world;
    pthread_mutex_t mutex;
    pid_t pid;
    record_out out;
    bool closed;
    const char *broken; /* why it cannot be gone on with; NULL: it can */
    uint64_t steps;
    /* of the input that is being done */
    record_mark mark; /* before its record */
    uint64_t events;  /* of all before it */
    uint64_t kept;    /* events of it in the file */
    bool keeping;     /* each event, until one finds no room */
    bool opened;      /* a record of events is being made, up to `put` */
    record_put put;
    axo_stats counted; /* by the system: what is more has come past the recorder */
};

/* ---- events ---- */

static void recorder_end_events(axo_recorder *recorder)
{
    if (recorder->opened)
        record_out_end(&recorder->out, RECORD_EVENTS, &recorder->put);
    recorder->opened = false;
}

/* Where the next event ends, if it goes into memory as it is. */
static size_t recorder_next_end(const axo_recorder *recorder)
{
    const record_out *out = &recorder->out;
    const size_t made = recorder->opened ? (size_t)(recorder->put.at - out->bytes)
                                         : out->length + RECORD_HEAD;
    return made + RECORD_EVENT;
}

/* In the midst of a turn: memory that is full is written there. */
static void recorder_event(record_world *world, const axo_event *event,
                           const uint8_t bytes[RECORD_EVENT])
{
    axo_recorder *recorder = world->event_user;
    (void)event;
    if (!recorder->keeping)
        return;
    if (recorder_next_end(recorder) + RECORD_TAIL > recorder->out.room) {
        recorder_end_events(recorder);
        recorder->keeping = record_out_room(&recorder->out, RECORD_EVENT) == AXO_OK;
        if (!recorder->keeping)
            return;
    }
    if (!recorder->opened)
        recorder->put = record_out_begin(&recorder->out);
    recorder->opened = true;
    record_put_bytes(&recorder->put, bytes, RECORD_EVENT);
    recorder->kept++;
}

/* ---- inputs ---- */

/* Begins the record of an input; its body has `size` bytes. */
static axo_status recorder_write(axo_recorder *recorder, size_t size)
{
    axo_status status = record_out_room(&recorder->out, size);
    recorder->mark = record_out_mark(&recorder->out);
    if (status == AXO_OK)
        recorder->put = record_out_begin(&recorder->out);
    return status;
}

static void recorder_written(axo_recorder *recorder, record_kind kind)
{
    record_out_end(&recorder->out, kind, &recorder->put);
}

/* Gives all to the operating system. If that fails the last input's record is taken back. */
static axo_status recorder_commit(axo_recorder *recorder, record_kind kind)
{
    recorder_written(recorder, kind);
    axo_status status = record_out_flush(&recorder->out);
    if (status != AXO_OK)
        (void)record_out_back(&recorder->out, &recorder->mark);
    return status;
}

/* Nothing is recorded any more. */
static bool recorder_is_over(const axo_recorder *recorder)
{
    return recorder->closed || recorder->broken != NULL;
}

static axo_status recorder_enter(axo_recorder *recorder)
{
    if (recorder == NULL)
        return AXO_EINVAL;
    if (recorder->pid != getpid())
        return AXO_EFORKED;
    if (pthread_mutex_lock(&recorder->mutex) != 0)
        return AXO_ECONTEXT; /* this thread has it: it is in a callback */
    record_world_take(&recorder->world);
    return AXO_OK;
}

static axo_status recorder_leave(axo_recorder *recorder, axo_status status)
{
    record_world_give(&recorder->world);
    (void)pthread_mutex_unlock(&recorder->mutex);
    return status;
}

/* As recorder_enter; AXO_ENOTSUP: it is broken. */
static axo_status recorder_enter_sound(axo_recorder *recorder)
{
    axo_status status = recorder_enter(recorder);
    if (status == AXO_OK && recorder->broken != NULL && !recorder->closed)
        return recorder_leave(recorder, AXO_ENOTSUP);
    return status;
}

static void recorder_begins(axo_recorder *recorder)
{
    recorder->events = recorder->world.hash.events;
    recorder->kept = 0;
    recorder->keeping = recorder->world.recording.each_event != 0 && !recorder_is_over(recorder);
}

/* Writes what the input has come to; there is room (RECORD_TAIL). */
static void recorder_done(axo_recorder *recorder, axo_status status, const record_turns *turns)
{
    if (recorder_is_over(recorder))
        return;
    const record_done done = {.status = status, .turns = turns->turns, .calls = turns->calls,
                              .hash = recorder->world.hash, .kept = recorder->kept,
                              .digest = record_world_digest(&recorder->world)};
    recorder_end_events(recorder);
    recorder->keeping = false;
    record_put put = record_out_begin(&recorder->out);
    record_put_done(&put, &done);
    record_out_end(&recorder->out, RECORD_DONE, &put);
}

/* The same of an input that runs no code of the program's: usually it comes to nothing more. */
static void recorder_accepted(axo_recorder *recorder, axo_status status)
{
    const bool quiet = recorder->world.hash.events == recorder->events;
    const bool refused = status != AXO_OK && status != AXO_EGONE;
    const record_turns none = {.turns = 0};
    if (recorder_is_over(recorder) || (quiet && status == AXO_OK))
        return;
    if (!(quiet && refused && record_out_back(&recorder->out, &recorder->mark)))
        recorder_done(recorder, status, &none);
}

/* ---- what came past the recorder ---- */

static void recorder_count(axo_recorder *recorder)
{
    const axo_stats fresh = AXO_STATS();
    recorder->counted = fresh;
    (void)axo_system_stats(recorder->world.system, &recorder->counted);
}

/* What a message, or an act that is one, adds to the counters. */
static void recorder_count_sent(axo_recorder *recorder, axo_status status)
{
    if (status == AXO_OK || status == AXO_EGONE)
        recorder->counted.sent++;
}

static axo_status recorder_break(axo_recorder *recorder, const char *why)
{
    recorder->broken = why;
    return AXO_ENOTSUP;
}

static axo_status recorder_look_past(axo_recorder *recorder)
{
    const axo_stats before = recorder->counted;
    recorder_count(recorder);
    const axo_stats *now = &recorder->counted;
    if (now->turns != before.turns)
        return recorder_break(recorder, "turns were run past the recorder");
    if (now->sent != before.sent)
        return recorder_break(recorder, "a message was sent past the recorder");
    if (now->spawned != before.spawned)
        return recorder_break(recorder, "an actor was spawned past the recorder");
    if (atomic_load(&recorder->world.strays) != 0)
        return recorder_break(recorder, "something happened past the recorder");
    return AXO_OK;
}

/* Behind a step. */
static void recorder_look_back(axo_recorder *recorder)
{
    const uint64_t before = recorder->counted.poll_events;
    if (recorder_is_over(recorder))
        return;
    recorder_count(recorder);
    if (recorder->counted.poll_events != before)
        (void)recorder_break(recorder, "a descriptor was ready: that is no input that is recorded");
}

/* ---- messages, acts, calls ---- */

static axo_status recorder_write_send(axo_recorder *recorder, record_ref to, record_ref from,
                                      uint32_t tag, const void *payload, size_t size)
{
    const record_names *names = &recorder->world.names;
    const uint32_t words = record_names_count(names, payload, size);
    const size_t body = 2 * RECORD_REF + 4 + 4 + 8 * (size_t)words + size;
    axo_status status = recorder_write(recorder, body);
    if (status != AXO_OK)
        return status;
    record_put_ref(&recorder->put, to);
    record_put_ref(&recorder->put, from);
    record_put_u32(&recorder->put, tag);
    record_names_put(names, &recorder->put, words, payload, size);
    recorder_written(recorder, RECORD_SEND);
    return AXO_OK;
}

axo_status axo_record_send_from(axo_recorder *recorder, axo_ref from, axo_ref to, uint32_t tag,
                                const void *payload, size_t size)
{
    axo_status status = recorder_enter_sound(recorder);
    if (status != AXO_OK)
        return status;
    if (payload == NULL && size > 0)
        return recorder_leave(recorder, AXO_EINVAL);
    if (size > AXO_PAYLOAD_MAX)
        return recorder_leave(recorder, AXO_ETOOBIG);
    recorder_begins(recorder);
    if (!recorder->closed) {
        record_ref to_name, from_name;
        status = record_names_write(&recorder->world.names, to, &to_name);
        if (status == AXO_OK)
            status = record_names_write(&recorder->world.names, from, &from_name);
        if (status == AXO_OK)
            status = recorder_write_send(recorder, to_name, from_name, tag, payload, size);
        if (status != AXO_OK)
            return recorder_leave(recorder, status);
    }
    status = axo_system_send_from(recorder->world.system, from, to, tag, payload, size);
    recorder_count_sent(recorder, status);
    recorder_accepted(recorder, status);
    return recorder_leave(recorder, status);
}

axo_status axo_record_send(axo_recorder *recorder, axo_ref to, uint32_t tag, const void *payload,
                           size_t size)
{
    return axo_record_send_from(recorder, axo_ref_none(), to, tag, payload, size);
}

static axo_status recorder_write_act(axo_recorder *recorder, record_act act, axo_ref ref)
{
    record_ref name;
    axo_status status = record_names_write(&recorder->world.names, ref, &name);
    if (status == AXO_OK)
        status = recorder_write(recorder, 4 + RECORD_REF);
    if (status != AXO_OK)
        return status;
    record_put_u32(&recorder->put, act);
    record_put_ref(&recorder->put, name);
    recorder_written(recorder, RECORD_ACT);
    return AXO_OK;
}

static axo_status recorder_act(axo_recorder *recorder, record_act act, axo_ref ref)
{
    axo_status status = recorder_enter_sound(recorder);
    if (status != AXO_OK)
        return status;
    recorder_begins(recorder);
    if (!recorder->closed)
        status = recorder_write_act(recorder, act, ref);
    if (status != AXO_OK)
        return recorder_leave(recorder, status);
    status = record_world_act(&recorder->world, act, ref);
    if (act != RECORD_STOP)
        recorder_count_sent(recorder, status);
    recorder_accepted(recorder, status);
    return recorder_leave(recorder, status);
}

axo_status axo_record_stop_actor(axo_recorder *recorder, axo_ref ref)
{
    return recorder_act(recorder, RECORD_STOP, ref);
}

axo_status axo_record_poison(axo_recorder *recorder, axo_ref ref)
{
    return recorder_act(recorder, RECORD_POISON, ref);
}

axo_status axo_record_kill(axo_recorder *recorder, axo_ref ref)
{
    return recorder_act(recorder, RECORD_KILL, ref);
}

static axo_status recorder_write_call(axo_recorder *recorder, uint32_t number, const void *bytes,
                                      size_t size)
{
    const record_names *names = &recorder->world.names;
    const uint32_t words = record_names_count(names, bytes, size);
    axo_status status = recorder_write(recorder, 4 + 4 + 8 * (size_t)words + size);
    if (status != AXO_OK)
        return status;
    record_put_u32(&recorder->put, number);
    record_names_put(names, &recorder->put, words, bytes, size);
    return recorder_commit(recorder, RECORD_CALL);
}

axo_status axo_record_call(axo_recorder *recorder, uint32_t number, const void *bytes, size_t size)
{
    axo_status status = recorder_enter_sound(recorder);
    const record_turns none = {.turns = 0};
    if (status != AXO_OK)
        return status;
    const axo_recording *given = &recorder->world.recording;
    if (given->call == NULL || (bytes == NULL && size > 0))
        return recorder_leave(recorder, AXO_EINVAL);
    if (size > AXO_PAYLOAD_MAX)
        return recorder_leave(recorder, AXO_ETOOBIG);
    if (!recorder->closed)
        status = recorder_look_past(recorder);
    if (status == AXO_OK && !recorder->closed)
        status = recorder_write_call(recorder, number, bytes, size);
    if (status != AXO_OK)
        return recorder_leave(recorder, status);
    recorder_begins(recorder);
    status = given->call(given->user, recorder->world.system, number, bytes, size);
    recorder_done(recorder, status, &none);
    recorder_count(recorder);
    return recorder_leave(recorder, status);
}

/* ---- steps ---- */

static axo_status recorder_write_step(axo_recorder *recorder, int64_t time, uint64_t turns_max,
                                      bool slices)
{
    axo_status status = recorder_write(recorder, 8 + 8 + 1);
    if (status != AXO_OK)
        return status;
    record_put_u64(&recorder->put, (uint64_t)time);
    record_put_u64(&recorder->put, turns_max);
    record_put_u8(&recorder->put, slices);
    return recorder_commit(recorder, RECORD_STEP);
}

/* A budget ends turns in their midst, by a clock, so a step with one is turns that are called for
 * one by one: how many is written when they are over. */
static axo_status recorder_step(axo_recorder *recorder, uint64_t turns_max, int64_t budget_ns,
                                uint64_t *turns)
{
    const bool slices = budget_ns >= 0;
    record_turns done = {.turns = 0};
    if (turns != NULL)
        *turns = 0;
    axo_status status = recorder_enter_sound(recorder);
    if (status != AXO_OK)
        return status;
    const int64_t time = record_world_time(&recorder->world);
    if (!recorder->closed)
        status = recorder_look_past(recorder);
    if (status == AXO_OK && !recorder->closed)
        status = recorder_write_step(recorder, time, turns_max, slices);
    if (status != AXO_OK)
        return recorder_leave(recorder, status);
    recorder_begins(recorder);
    atomic_store_explicit(&recorder->world.now, time, memory_order_relaxed);
    recorder->steps += recorder->closed ? 0 : 1;
    status = slices ? record_world_slices(&recorder->world, UINT64_MAX, budget_ns, &done)
                    : record_world_run(&recorder->world, turns_max, &done);
    recorder_done(recorder, status, &done);
    recorder_look_back(recorder);
    if (turns != NULL)
        *turns = done.turns;
    return recorder_leave(recorder, status);
}

axo_status axo_record_step(axo_recorder *recorder, uint64_t turns_max, uint64_t *turns)
{
    return recorder_step(recorder, turns_max, -1, turns);
}

axo_status axo_record_run(axo_recorder *recorder, int64_t budget_ns, uint64_t *turns)
{
    return recorder_step(recorder, UINT64_MAX, budget_ns, turns);
}

/* ---- start and end ---- */

axo_system *axo_record_system(axo_recorder *recorder)
{
    return recorder != NULL ? recorder->world.system : NULL;
}

static void recorder_report(const axo_recorder *recorder, axo_record_report *out)
{
    const record_out *file = &recorder->out;
    *out = (axo_record_report)AXO_RECORD_REPORT(
        .records = file->records, .steps = recorder->steps, .bytes = file->at + file->length,
        .hash = recorder->world.hash, .error = file->error, .closed = recorder->closed);
    if (recorder->closed)
        out->state = AXO_RECORD_END;
    if (recorder->broken != NULL) {
        out->state = AXO_RECORD_BROKEN;
        (void)snprintf(out->text, sizeof out->text, "%s", recorder->broken);
    } else if (file->error != 0) {
        (void)snprintf(out->text, sizeof out->text, "%s: %s", recorder->world.path,
                       strerror(file->error));
    }
}

axo_status axo_record_report_of(axo_recorder *recorder, axo_record_report *report)
{
    axo_record_report mine;
    if (report == NULL)
        return AXO_EINVAL;
    axo_status status = record_report_check(report);
    if (status == AXO_OK)
        status = recorder_enter(recorder);
    if (status != AXO_OK)
        return status;
    recorder_report(recorder, &mine);
    record_report_give(&mine, report);
    return recorder_leave(recorder, AXO_OK);
}

/* The head, the snapshot, the world. */
static axo_status recorder_begin(axo_recorder *recorder)
{
    const axo_recording *given = &recorder->world.recording;
    const record_turns none = {.turns = 0};
    record_head head;
    record_head_of(&recorder->world, &head);
    axo_status status = recorder_write(recorder, RECORD_HEAD_BODY);
    if (status != AXO_OK)
        return status;
    record_put_head(&recorder->put, &head);
    recorder_written(recorder, RECORD_HEAD_KIND);
    status = recorder_write(recorder, given->snapshot_size);
    if (status != AXO_OK)
        return status;
    record_put_bytes(&recorder->put, given->snapshot, given->snapshot_size);
    status = recorder_commit(recorder, RECORD_BEGIN);
    if (status != AXO_OK)
        return status;
    recorder_begins(recorder);
    status = record_world_start(&recorder->world);
    if (status == AXO_OK && given->begin != NULL)
        status = given->begin(given->user, recorder->world.system, given->snapshot,
                              given->snapshot_size);
    if (status != AXO_OK)
        return status;
    recorder_done(recorder, status, &none);
    recorder_count(recorder);
    return record_out_flush(&recorder->out);
}

static void recorder_free(axo_recorder *recorder)
{
    record_world_stop(&recorder->world);
    record_out_close(&recorder->out);
    record_world_fini(&recorder->world);
    (void)pthread_mutex_destroy(&recorder->mutex);
    free(recorder);
}

/* Its fields, but for the system. */
static axo_status recorder_init(axo_recorder *recorder, const axo_recording *recording)
{
    record_world *world = &recorder->world;
    pthread_mutexattr_t kind;
    recorder->out.fd = -1;
    recorder->pid = getpid();
    axo_status status = record_world_init(world, recording);
    (void)pthread_mutexattr_init(&kind);
    (void)pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    (void)pthread_mutex_init(&recorder->mutex, &kind);
    (void)pthread_mutexattr_destroy(&kind);
    if (status != AXO_OK)
        return status;
    world->event = world->recording.each_event != 0 ? recorder_event : NULL;
    world->event_user = recorder;
    while (world->options.seed == 0) {
        if (getrandom(&world->options.seed, sizeof world->options.seed, 0) < 0 && errno != EINTR) {
            recorder->out.error = errno;
            return AXO_ESYSTEM;
        }
    }
    atomic_store(&world->now, record_world_time(world));
    return record_out_open(&recorder->out, world->path);
}

axo_status axo_record_start(const axo_recording *recording, axo_recorder **out,
                            axo_record_report *report)
{
    axo_record_report mine;
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    axo_status status = record_report_check(report);
    if (status != AXO_OK)
        return status;
    axo_recorder *recorder = calloc(1, sizeof *recorder);
    if (recorder == NULL)
        return AXO_ENOMEM;
    status = recorder_init(recorder, recording);
    record_world_take(&recorder->world);
    if (status == AXO_OK)
        status = recorder_begin(recorder);
    record_world_give(&recorder->world);
    recorder_report(recorder, &mine);
    record_report_give(&mine, report);
    if (status == AXO_OK) {
        *out = recorder;
        return AXO_OK;
    }
    if (recorder->out.made)
        (void)unlink(recorder->world.path);
    recorder_free(recorder);
    return status;
}

axo_status axo_record_flush(axo_recorder *recorder)
{
    axo_status status = recorder_enter_sound(recorder);
    if (status != AXO_OK)
        return status;
    return recorder_leave(recorder,
                          recorder->closed ? AXO_OK : record_out_flush(&recorder->out));
}

/* What was accepted is written even if the recording is broken: up to there it is right. */
static axo_status recorder_close(axo_recorder *recorder)
{
    if (recorder->closed)
        return AXO_OK;
    if (recorder->broken == NULL) {
        record_put put = record_out_begin(&recorder->out);
        record_put_u64(&put, recorder->world.hash.events);
        record_put_u64(&put, recorder->world.hash.value);
        record_out_end(&recorder->out, RECORD_END, &put);
    }
    axo_status status = record_out_flush(&recorder->out);
    record_out_close(&recorder->out);
    recorder->closed = true;
    return status;
}

axo_status axo_record_close(axo_recorder *recorder)
{
    axo_status status = recorder_enter(recorder);
    if (status != AXO_OK)
        return status;
    return recorder_leave(recorder, recorder_close(recorder));
}

axo_status axo_record_end(axo_recorder *recorder)
{
    axo_status status = recorder_enter(recorder);
    if (status != AXO_OK)
        return status;
    status = recorder_close(recorder);
    record_world *world = &recorder->world;
    world->goes_user = world->clock != NULL ? world->clock_user : NULL;
    atomic_store(&world->goes, world->clock != NULL ? world->clock : record_world_effort);
    record_world_stop(world);
    (void)recorder_leave(recorder, AXO_OK);
    recorder_free(recorder);
    return status;
}
