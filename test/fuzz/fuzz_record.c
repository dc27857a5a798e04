/* fuzz_record.c - files of recordings as they come, and recordings of any inputs.
 *
 * Length 4096. The first byte says which: a file of these very bytes; one of records that are
 * well-formed, with their checksums, and say what the bytes say; or a recording, whose inputs are
 * the bytes. The first two are refused or played to an end or a divergence, whatever they say; the
 * third is cut off somewhere and played: there it ends, and nothing diverges.
 */
#include "fuzz/fuzz.h"

#include <axo/axo.h>
#include <axo/record.h>

#include <fcntl.h>
#include <unistd.h>

#include "scan.h"

enum { ACTORS = 6, STEPS_MAX = 60 };

static struct {
    char path[64];
    axo_system *system;
    axo_ref refs[ACTORS];
    uint32_t count;
    int64_t now;
} f;

static int64_t record_now(void *user)
{
    return f.now;
}

/* It stops, fails, watches, sets timers and sends as its messages say; one hop of each. */
static axo_status actor_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_ref ref;
    uint64_t words[2] = {0, 0};
    if (message->payload != NULL && message->tag < AXO_TAG_RESERVED)
        memcpy(words, message->payload,
               message->size < sizeof words ? message->size : sizeof words);
    ref.bits = words[0];
    switch (message->tag) {
    case 1:
        return axo_fail(ctx, (int32_t)words[1], "told to");
    case 2:
        return axo_stop_self(ctx);
    case 3:
        (void)axo_send(ctx, ref, 4, words, sizeof words);
        return AXO_OK;
    case 4:
        (void)axo_timer_start(ctx, words[1] % 4, AXO_TIMER_ONCE, (int64_t)(words[1] % 9999), 0, 5,
                              NULL, 0);
        return AXO_OK;
    case 6:
        return axo_watch(ctx, ref) == AXO_OK ? AXO_OK : AXO_EFAILED;
    default:
        return message->tag == AXO_TERMINATED ? AXO_OK : AXO_UNHANDLED;
    }
}

static const axo_class actor_class = AXO_CLASS(.name = "actor", .receive = actor_receive);

static axo_status record_begins(void *user, axo_system *system, const void *snapshot, size_t size)
{
    const axo_props props = AXO_PROPS(.cls = &actor_class);
    f.system = system;
    f.count = 0;
    while (f.count < 3) {
        axo_status status = axo_system_spawn(system, &props, &f.refs[f.count++]);
        if (status != AXO_OK)
            return status;
    }
    return size > 9 ? AXO_ELIMIT : AXO_OK;
}

static axo_status record_calls(void *user, axo_system *system, uint32_t number, const void *bytes,
                               size_t size)
{
    const axo_props props = AXO_PROPS(.cls = &actor_class);
    if (number % 2 == 0 && size >= sizeof(axo_ref))
        return axo_system_schedule_once(system, 1000, *(const axo_ref *)bytes, number % 8, NULL, 0,
                                        NULL);
    return axo_system_spawn(system, &props, &f.refs[f.count++ % ACTORS]);
}

static const axo_options fuzz_options = AXO_OPTIONS(FUZZ_SMALL, .clock = record_now);

static axo_recording record_of(void)
{
    return (axo_recording)AXO_RECORDING(.path = f.path, .options = &fuzz_options,
                                        .begin = record_begins, .call = record_calls);
}

/* ---- files ---- */

static void record_write(const uint8_t *bytes, size_t size)
{
    int fd = open(f.path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    fuzz_require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0);
}

/* Plays it, if it can be played; whatever it says, there is an end, and words for what is wrong. */
static axo_record_report record_play(void)
{
    const axo_recording recording = record_of();
    axo_record_report file = AXO_RECORD_REPORT(), report = AXO_RECORD_REPORT();
    axo_replay *replay;
    axo_status checked = axo_record_check(f.path, &file);
    axo_status status = axo_replay_start(&recording, &replay, &report);
    fuzz_require((status == AXO_OK) == (replay != NULL));
    fuzz_require(checked == AXO_OK || (status == checked && report.text[0] != 0));
    if (status != AXO_OK)
        return report;
    fuzz_require(axo_replay_run(replay, &report) == AXO_OK);
    fuzz_require(report.state == AXO_RECORD_END || report.state == AXO_RECORD_DIVERGED);
    fuzz_require((report.state == AXO_RECORD_DIVERGED) == (report.text[0] != 0));
    fuzz_require(report.records <= file.records && report.steps <= file.steps);
    fuzz_require(axo_replay_end(replay) == AXO_OK);
    return report;
}

/* Records whose checksums fit: a head that is right, and then what the input says. */
static void record_forge(fuzz_in *in)
{
    record_world w;
    record_head head;
    record_out out;
    const axo_recording recording = record_of();
    fuzz_require(record_world_init(&w, &recording) == AXO_OK);
    record_head_of(&w, &head);
    head.each_event = fuzz_u8(in) & 1;
    (void)unlink(f.path);
    fuzz_require(record_out_open(&out, f.path) == AXO_OK);
    for (uint32_t i = 0; i < STEPS_MAX && in->left > 0; i++) {
        record_kind kind = i == 0 ? RECORD_HEAD_KIND
                                  : i == 1 ? RECORD_BEGIN : (record_kind)(fuzz_u8(in) % 10);
        uint32_t size = i == 0 ? 0 : fuzz_u8(in);
        fuzz_require(record_out_room(&out, 300) == AXO_OK);
        record_put put = record_out_begin(&out);
        if (i == 0)
            record_put_head(&put, &head);
        for (; size > 0; size--)
            record_put_u8(&put, fuzz_u8(in));
        record_out_end(&out, kind, &put);
    }
    fuzz_require(record_out_flush(&out) == AXO_OK);
    record_out_close(&out);
    record_world_fini(&w);
}

/* ---- a recording ---- */

static axo_ref record_ref_of(fuzz_in *in)
{
    uint8_t which = fuzz_u8(in);
    axo_ref ref = f.refs[which % ACTORS];
    if (which >= 240)
        ref.bits ^= UINT64_C(1) << (24 + which % 16);
    return ref;
}

static void record_input_of(axo_recorder *recorder, fuzz_in *in)
{
    uint64_t words[3] = {0, 0, 0};
    size_t size;
    const uint8_t op = fuzz_u8(in);
    const axo_ref to = record_ref_of(in);
    words[0] = record_ref_of(in).bits;
    words[1] = fuzz_u16(in);
    f.now += (int64_t)words[1];
    switch (op % 8) {
    case 0:
        (void)axo_record_stop_actor(recorder, to);
        break;
    case 1:
        (void)axo_record_kill(recorder, to);
        break;
    case 2:
        (void)axo_record_call(recorder, fuzz_u8(in), words, op & 24);
        break;
    case 3:
        fuzz_require(axo_record_step(recorder, fuzz_u8(in), NULL) == AXO_OK);
        break;
    case 4:
        fuzz_require(axo_record_run(recorder, (op & 64) != 0 ? -1 : op, NULL) == AXO_OK);
        break;
    case 5:
        fuzz_require(axo_record_flush(recorder) == AXO_OK);
        break;
    default: /* a part of a reference is none */
        size = fuzz_u8(in) % (sizeof words + 1);
        (void)axo_record_send_from(recorder, record_ref_of(in), to, op / 8 % 8, words,
                                   size < sizeof words[0] ? 0 : size);
        break;
    }
}

static void record_record(fuzz_in *in)
{
    axo_recording recording = record_of();
    axo_recorder *recorder;
    axo_record_report report = AXO_RECORD_REPORT(), again;
    const uint16_t cut = fuzz_u16(in);
    recording.each_event = fuzz_u8(in) & 1;
    (void)unlink(f.path);
    fuzz_require(axo_record_start(&recording, &recorder, NULL) == AXO_OK);
    for (uint32_t i = 0; i < STEPS_MAX && in->left > 0; i++)
        record_input_of(recorder, in);
    fuzz_require(axo_record_report_of(recorder, &report) == AXO_OK);
    fuzz_require(report.state == AXO_RECORD_GOES_ON);
    fuzz_require(axo_record_end(recorder) == AXO_OK);
    again = record_play();
    if (again.state != AXO_RECORD_END)
        fuzz_fail("record %u: %s", (unsigned)again.record, again.text);
    fuzz_require(again.hash.value == report.hash.value);
    fuzz_require(truncate(f.path, (off_t)(cut % (report.bytes + 1))) == 0);
    again = record_play();
    if (again.state == AXO_RECORD_DIVERGED)
        fuzz_fail("cut, record %u: %s", (unsigned)again.record, again.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_in in = {.at = data, .left = size};
    memset(&f, 0, sizeof f);
    (void)snprintf(f.path, sizeof f.path, "/tmp/axo-fuzz-%d", (int)getpid());
    fuzz_chance = 1;
    const uint8_t what = fuzz_u8(&in) % 3;
    if (what == 0)
        record_write(in.at, in.left);
    else if (what == 1)
        record_forge(&in);
    if (what == 2)
        record_record(&in);
    else
        (void)record_play();
    (void)unlink(f.path);
    return 0;
}
