/* replay.c - the inputs of a file are done again, and what they come to is compared.
 *
 * The file was read through before, so its records are well-formed; what they say may still be
 * impossible here, and that is a divergence like any other. Events are compared one by one where
 * the file has them, in the midst of the turn; the rest by their hash behind the input. The first
 * difference stops the replay behind the input that it was found in. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scan.h"

struct axo_replay {
    record_world world;
    pthread_mutex_t mutex;
    pid_t pid;
    record_in in;
    record_head head;
    axo_record_report report;
    void *payload; /* of the input, with this run's references */
    size_t room;
    int64_t ended;   /* effort when the file had been played */
    int64_t last;    /* the file's last time */
    /* of the input that is being done */
    uint64_t number; /* its record */
    uint64_t events; /* of all before it */
    record_get kept; /* what is left of a record of events */
    bool known;      /* the file has each event of it up to here */
    bool broken;     /* an event was another: the next three */
    uint64_t event;
    axo_event here;
    uint8_t there[RECORD_EVENT];
};

/* ---- what is wrong ---- */

static void replay_diverged(axo_replay *replay, uint64_t event, const char *format, ...)
    AXO_PRINTF(3, 4);
static void replay_diverged(axo_replay *replay, uint64_t event, const char *format, ...)
{
    axo_record_report *report = &replay->report;
    va_list words;
    if (report->state == AXO_RECORD_DIVERGED)
        return;
    report->state = AXO_RECORD_DIVERGED;
    report->record = replay->number;
    report->event = event;
    va_start(words, format);
    (void)vsnprintf(report->text, sizeof report->text, format, words);
    va_end(words);
}

/* "receive 7 of actor 3 (/user/a)" */
static void replay_event_text(axo_replay *replay, const uint8_t bytes[RECORD_EVENT], char *out,
                              size_t size)
{
    char path[128];
    axo_ref ref;
    record_get get = {.at = bytes, .left = RECORD_EVENT};
    const uint32_t kind = record_get_u8(&get);
    (void)record_get_u8(&get);
    (void)record_get_u16(&get);
    const uint32_t index = record_get_u32(&get);
    const record_ref name = {.what = 1, .value = index % (NAMES_CHUNKS * NAMES_CHUNK)};
    const bool has = record_names_read(&replay->world.names, name, &ref) == AXO_OK;
    const axo_status found =
        has ? axo_system_path(replay->world.system, ref, path, sizeof path) : AXO_EGONE;
    const bool shown = found == AXO_OK || found == AXO_ETOOBIG;
    (void)snprintf(out, size, "%s %" PRIu32 " of actor %" PRIu32 " (%s)", axo_event_name(kind),
                   record_get_u32(&get), index, shown ? path : "gone");
}

/* ---- events ---- */

/* The file's next event of this input; NULL: it has no more, or it is not known. */
static const uint8_t *replay_next_event(axo_replay *replay)
{
    if (!replay->known)
        return NULL;
    if (replay->kept.left == 0) {
        record found;
        const record_look look = record_in_look(&replay->in, &found);
        replay->known = look == RECORD_WHOLE;
        if (look != RECORD_WHOLE || found.kind != RECORD_EVENTS)
            return NULL;
        record_in_pass(&replay->in, &found);
        replay->kept = found.body;
    }
    return record_get_bytes(&replay->kept, RECORD_EVENT);
}

/* Behind the file's last event of an input: whether it had no more, or kept no more. */
static bool replay_has_all(axo_replay *replay)
{
    record found;
    record_done done;
    if (record_in_look(&replay->in, &found) != RECORD_WHOLE)
        return false;
    record_get get = found.body;
    if (found.kind != RECORD_DONE)
        return true;
    return record_get_done(&get, &done) && done.hash.events - replay->events == done.kept;
}

static void replay_event(record_world *world, const axo_event *event,
                         const uint8_t bytes[RECORD_EVENT])
{
    axo_replay *replay = world->event_user;
    if (replay->broken || !replay->known)
        return;
    const uint8_t *there = replay_next_event(replay);
    if (there == NULL && (!replay->known || !replay_has_all(replay))) {
        replay->known = false;
        return;
    }
    if (there != NULL && memcmp(there, bytes, RECORD_EVENT) == 0)
        return;
    replay->broken = true;
    replay->event = world->hash.events - replay->events;
    replay->here = *event;
    memset(replay->there, 0, sizeof replay->there);
    if (there != NULL)
        memcpy(replay->there, there, RECORD_EVENT);
    else
        replay->there[1] = 1; /* no event has it */
}

static void replay_tell_event(axo_replay *replay)
{
    char here[256], there[256];
    uint8_t bytes[RECORD_EVENT];
    (void)record_event_words(&replay->here, bytes);
    replay_event_text(replay, bytes, here, sizeof here);
    if (replay->there[1] == 1)
        (void)snprintf(there, sizeof there, "nothing more");
    else
        replay_event_text(replay, replay->there, there, sizeof there);
    const bool same = strcmp(here, there) == 0;
    replay_diverged(replay, replay->event, "event %" PRIu64 ": %s; in the recording %s%s",
                    replay->event, here, there,
                    same ? ", with another time, instance or class" : "");
}

/* Events that the file has and that have not come. */
static void replay_rest(axo_replay *replay)
{
    char text[256];
    const uint64_t came = replay->world.hash.events - replay->events;
    const uint8_t *there = replay->broken ? NULL : replay_next_event(replay);
    if (there == NULL)
        return;
    replay_event_text(replay, there, text, sizeof text);
    replay_diverged(replay, came + 1, "event %" PRIu64 ": nothing more; in the recording %s",
                    came + 1, text);
}

/* ---- an input ---- */

static void replay_begins(axo_replay *replay)
{
    replay->events = replay->world.hash.events;
    replay->kept = (record_get){.left = 0};
    replay->known = replay->head.each_event != 0;
    replay->broken = false;
}

static void replay_compare(axo_replay *replay, const record_done *here, const record_done *there)
{
    if (here->status != there->status)
        replay_diverged(replay, 0, "it said %s; in the recording %s",
                        axo_status_name(here->status), axo_status_name(there->status));
    else if (here->turns != there->turns)
        replay_diverged(replay, 0, "%" PRIu64 " turns; in the recording %" PRIu64, here->turns,
                        there->turns);
    else if (here->hash.events != there->hash.events)
        replay_diverged(replay, 0, "%" PRIu64 " events until here; in the recording %" PRIu64,
                        here->hash.events, there->hash.events);
    else if (here->hash.value != there->hash.value)
        replay_diverged(replay, 0, "as many events as in the recording, but others");
    else if (here->digest != there->digest)
        replay_diverged(replay, 0,
                        "the same events; the digest is %" PRIx64 ", in the recording %" PRIx64,
                        here->digest, there->digest);
}

/* Behind an input: what the file says that it came to. */
static void replay_done(axo_replay *replay, const record_input *input, axo_status status,
                        const record_turns *turns)
{
    record found;
    record_done there;
    record_done here = {.status = status, .turns = turns->turns, .hash = replay->world.hash};
    if (replay->broken)
        replay_tell_event(replay);
    replay_rest(replay);
    do {
        if (record_in_look(&replay->in, &found) != RECORD_WHOLE)
            return; /* its process did not live to say it */
        if (found.kind == RECORD_EVENTS)
            record_in_pass(&replay->in, &found);
    } while (found.kind == RECORD_EVENTS);
    record_get get = found.body;
    if (found.kind == RECORD_DONE && record_get_done(&get, &there)) {
        record_in_pass(&replay->in, &found);
        here.digest = record_world_digest(&replay->world);
        replay_compare(replay, &here, &there);
    } else if (input->kind == RECORD_SEND || input->kind == RECORD_ACT) {
        there = (record_done){.hash = here.hash};
        there.hash.events = replay->events;
        replay_compare(replay, &here, &there);
    }
}

/* The bytes of an input with this run's references. AXO_OK; AXO_ENOMEM; AXO_ENOENT. */
static axo_status replay_bytes(axo_replay *replay, const record_input *input)
{
    if (input->bytes.size > replay->room) {
        void *payload = malloc(input->bytes.size);
        if (payload == NULL)
            return AXO_ENOMEM;
        free(replay->payload);
        replay->payload = payload;
        replay->room = input->bytes.size;
    }
    return record_names_replace(&replay->world.names, &input->bytes, replay->payload);
}

/* How many calls a step was made of that is turns one by one; of one that did not end, until there
 * is nothing to do. */
static uint64_t replay_calls(const axo_replay *replay)
{
    record_in ahead = replay->in;
    record found;
    record_done done;
    uint64_t calls = UINT64_MAX;
    ahead.bytes = NULL; /* what has been read for the replay stays as it is */
    ahead.room = ahead.length = 0;
    while (record_in_look(&ahead, &found) == RECORD_WHOLE && found.kind == RECORD_EVENTS)
        record_in_pass(&ahead, &found);
    if (record_in_look(&ahead, &found) == RECORD_WHOLE && found.kind == RECORD_DONE &&
        record_get_done(&found.body, &done))
        calls = done.calls;
    free(ahead.bytes);
    return calls;
}

static axo_status replay_step(axo_replay *replay, const record_input *input, record_turns *done)
{
    record_world *world = &replay->world;
    atomic_store_explicit(&world->now, input->time, memory_order_relaxed);
    replay->report.steps++;
    if (!input->slices)
        return record_world_run(world, input->turns_max, done);
    return record_world_slices(world, replay_calls(replay), INT64_MAX, done);
}

static axo_status replay_do(axo_replay *replay, const record_input *input, const axo_ref *to,
                            const axo_ref *from, record_turns *done)
{
    const axo_recording *given = &replay->world.recording;
    axo_system *system = replay->world.system;
    const void *bytes = input->bytes.size > 0 ? replay->payload : NULL;
    if (input->kind == RECORD_SEND)
        return axo_system_send_from(system, *from, *to, input->number, bytes, input->bytes.size);
    if (input->kind == RECORD_ACT)
        return record_world_act(&replay->world, (record_act)input->number, *to);
    if (input->kind == RECORD_CALL)
        return given->call(given->user, system, input->number, bytes, input->bytes.size);
    return replay_step(replay, input, done);
}

/* AXO_OK: it was done, or cannot be done here, which is a divergence. */
static axo_status replay_input(axo_replay *replay, const record *found)
{
    const record_names *names = &replay->world.names;
    record_input input;
    record_turns done = {.turns = 0};
    axo_ref to, from;
    replay->number = found->number;
    if (!record_get_input(found, &input))
        return AXO_EINVAL;
    axo_status status = record_names_read(names, input.to, &to);
    if (status == AXO_OK)
        status = record_names_read(names, input.from, &from);
    if (status == AXO_OK)
        status = replay_bytes(replay, &input);
    if (status == AXO_ENOENT)
        replay_diverged(replay, 0, "it means an actor that nobody has made here");
    else if (status == AXO_OK && input.kind == RECORD_CALL &&
             replay->world.recording.call == NULL)
        replay_diverged(replay, 0, "it is a call, and there is no function for it");
    else if (status != AXO_OK)
        return status;
    record_in_pass(&replay->in, found);
    if (replay->report.state == AXO_RECORD_DIVERGED)
        return AXO_OK;
    replay_begins(replay);
    status = replay_do(replay, &input, &to, &from, &done);
    replay_done(replay, &input, status, &done);
    return AXO_OK;
}

/* ---- the file ---- */

/* Behind the end the time goes on from the file's last. */
static int64_t replay_clock(void *user)
{
    const axo_replay *replay = user;
    return replay->last + (record_world_effort(NULL) - replay->ended);
}

static void replay_ends(axo_replay *replay)
{
    record_world *world = &replay->world;
    if (replay->report.state == AXO_RECORD_GOES_ON)
        replay->report.state = AXO_RECORD_END;
    world->deaf = true;
    replay->last = atomic_load(&world->now);
    replay->ended = record_world_effort(NULL);
    world->goes_user = replay;
    atomic_store_explicit(&world->goes, replay_clock, memory_order_release);
}

static axo_status replay_record(axo_replay *replay)
{
    record found;
    const record_look look = record_in_look(&replay->in, &found);
    if (look == RECORD_NO_MEMORY)
        return AXO_ENOMEM;
    if (look == RECORD_NO_READ) {
        replay->report.error = replay->in.error;
        return AXO_ESYSTEM;
    }
    if (look == RECORD_SPOILT)
        return AXO_EINVAL; /* since it was read through */
    if (look == RECORD_WHOLE && record_is_input(found.kind))
        return replay_input(replay, &found);
    if (look == RECORD_WHOLE) /* END; what an input came to was passed with it */
        record_in_pass(&replay->in, &found);
    replay_ends(replay);
    return AXO_OK;
}

/* ---- the program's side ---- */

static axo_status replay_enter(axo_replay *replay)
{
    if (replay == NULL)
        return AXO_EINVAL;
    if (replay->pid != getpid())
        return AXO_EFORKED;
    if (pthread_mutex_lock(&replay->mutex) != 0)
        return AXO_ECONTEXT;
    record_world_take(&replay->world);
    return AXO_OK;
}

static axo_status replay_leave(axo_replay *replay, axo_status status)
{
    record_world_give(&replay->world);
    (void)pthread_mutex_unlock(&replay->mutex);
    return status;
}

static axo_status replay_one(axo_replay *replay)
{
    axo_record_report *report = &replay->report;
    axo_status status = AXO_OK;
    if (report->state == AXO_RECORD_GOES_ON)
        status = replay_record(replay);
    if (report->state == AXO_RECORD_DIVERGED && !replay->world.deaf)
        replay_ends(replay);
    if (atomic_load(&replay->world.strays) != 0 && report->state == AXO_RECORD_GOES_ON)
        replay_diverged(replay, 0, "something happened past the replay");
    report->records = replay->in.records;
    report->bytes = replay->in.at;
    report->hash = replay->world.hash;
    return status;
}

static axo_status replay_some(axo_replay *replay, axo_record_report *report, bool all)
{
    axo_status status = record_report_check(report);
    if (status == AXO_OK)
        status = replay_enter(replay);
    if (status != AXO_OK)
        return status;
    do
        status = replay_one(replay);
    while (all && status == AXO_OK && replay->report.state == AXO_RECORD_GOES_ON);
    record_report_give(&replay->report, report);
    return replay_leave(replay, status);
}

axo_status axo_replay_next(axo_replay *replay, axo_record_report *report)
{
    return replay_some(replay, report, false);
}

axo_status axo_replay_run(axo_replay *replay, axo_record_report *report)
{
    return replay_some(replay, report, true);
}

axo_system *axo_replay_system(axo_replay *replay)
{
    return replay != NULL ? replay->world.system : NULL;
}

/* ---- start and end ---- */

/* What a run depends on must be as in the file; the seed and the time are taken from it. */
static axo_status replay_options(axo_replay *replay)
{
    record_world *world = &replay->world;
    record_head mine;
    record_head_of(world, &mine);
    for (uint32_t i = 0; i < RECORD_OPTIONS; i++) {
        if (mine.options[i] == replay->head.options[i])
            continue;
        (void)snprintf(replay->report.text, sizeof replay->report.text,
                       "axo_options.%s is %" PRId64 ", in the recording %" PRId64,
                       record_option_name(i), (int64_t)mine.options[i],
                       (int64_t)replay->head.options[i]);
        return AXO_EINVAL;
    }
    world->options.seed = replay->head.seed;
    atomic_store(&world->now, replay->head.time);
    return AXO_OK;
}

/* The second record: the world is made. */
static axo_status replay_begin(axo_replay *replay, const record *found)
{
    const axo_recording *given = &replay->world.recording;
    const record_turns none = {.turns = 0};
    record_input input;
    axo_status status = AXO_OK;
    if (!record_get_input(found, &input))
        return AXO_EINVAL;
    status = replay_bytes(replay, &input);
    if (status != AXO_OK)
        return status;
    replay->number = found->number;
    record_in_pass(&replay->in, found);
    replay_begins(replay);
    status = record_world_start(&replay->world);
    if (status != AXO_OK)
        return status;
    if (given->begin != NULL)
        status = given->begin(given->user, replay->world.system,
                              input.bytes.size > 0 ? replay->payload : NULL, input.bytes.size);
    replay_done(replay, &input, status, &none);
    return AXO_OK;
}

static axo_status replay_init(axo_replay *replay, const axo_recording *recording)
{
    record_world *world = &replay->world;
    pthread_mutexattr_t kind;
    record found;
    replay->in.fd = -1;
    replay->pid = getpid();
    (void)pthread_mutexattr_init(&kind);
    (void)pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    (void)pthread_mutex_init(&replay->mutex, &kind);
    (void)pthread_mutexattr_destroy(&kind);
    replay->report = (axo_record_report)AXO_RECORD_REPORT();
    axo_status status = record_world_init(world, recording);
    if (status != AXO_OK)
        return status;
    record_world_take(world);
    status = record_scan(world->path, world->recording.any_version != 0, &replay->in,
                         &replay->head, &replay->report);
    if (status == AXO_OK)
        status = replay_options(replay);
    if (status != AXO_OK)
        return status;
    replay->report.steps = 0;
    replay->report.hash = (axo_record_hash){.value = 0};
    world->event = replay->head.each_event != 0 ? replay_event : NULL;
    world->event_user = replay;
    if (record_in_look(&replay->in, &found) != RECORD_WHOLE)
        return AXO_EINVAL;
    record_in_pass(&replay->in, &found);
    if (record_in_look(&replay->in, &found) != RECORD_WHOLE)
        return AXO_EINVAL;
    return replay_begin(replay, &found);
}

static void replay_free(axo_replay *replay)
{
    record_world_stop(&replay->world);
    record_in_close(&replay->in);
    record_world_fini(&replay->world);
    free(replay->payload);
    (void)pthread_mutex_destroy(&replay->mutex);
    free(replay);
}

axo_status axo_replay_start(const axo_recording *recording, axo_replay **out,
                            axo_record_report *report)
{
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    axo_status status = record_report_check(report);
    if (status != AXO_OK)
        return status;
    axo_replay *replay = calloc(1, sizeof *replay);
    if (replay == NULL)
        return AXO_ENOMEM;
    status = replay_init(replay, recording);
    if (status == AXO_OK && replay->report.state == AXO_RECORD_DIVERGED)
        replay_ends(replay);
    record_world_give(&replay->world);
    replay->report.records = replay->in.records;
    replay->report.bytes = replay->in.at;
    replay->report.hash = replay->world.hash;
    record_report_give(&replay->report, report);
    if (status == AXO_OK)
        *out = replay;
    else
        replay_free(replay);
    return status;
}

axo_status axo_replay_end(axo_replay *replay)
{
    axo_status status = replay_enter(replay);
    if (status != AXO_OK)
        return status;
    if (!replay->world.deaf)
        replay_ends(replay);
    record_world_stop(&replay->world);
    (void)replay_leave(replay, AXO_OK);
    replay_free(replay);
    return AXO_OK;
}
