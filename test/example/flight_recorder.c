/* flight_recorder.c - a game whose inputs are written to a file as it runs, so that it can be
 * played again: the same events, and after a crash the same crash. flight_recorder.expected is what
 * it prints.
 *
 *   flight_recorder                  records a game, and plays it; then one that crashes
 *   flight_recorder FILE             plays a file of an earlier game, record by record
 *
 * The last form is for a debugger: gdb --args flight_recorder FILE stops where the game crashed. */
#define _GNU_SOURCE 1 /* mkdtemp, strsignal */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/record.h>

enum { HIT = 1, HEAL, LANDED };
enum { NEW_MONSTER = 1 }; /* a call */
#define MS INT64_C(1000000)

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void must_be_ok(axo_status status)
{
    must(status == AXO_OK, axo_status_text(status));
}

/* ---- the actors ---- */

typedef struct monster {
    int life;
    unsigned chance;
} monster;

static axo_status monster_construct(axo_ctx *ctx, void *state, const void *args)
{
    monster *me = state;
    me->life = *(const int *)args;
    me->chance = (unsigned)axo_seed(ctx); /* chance of its own, the same in each replay */
    return axo_timer_start(ctx, 1, AXO_TIMER_FIXED_DELAY, 40 * MS, 40 * MS, HEAL, NULL, 0);
}

/* Some blows make it lose its mind, and it is restarted; one to somebody who has no life left is
 * the bug that is looked for. */
static axo_status monster_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    monster *me = state;
    if (message->tag == HEAL) {
        me->life++;
        return AXO_OK;
    }
    me->chance = me->chance * 1664525 + 1013904223;
    if (me->chance >> 28 == 0)
        return axo_fail(ctx, 1, "it has lost its mind");
    me->life -= *AXO_PAYLOAD(message, int);
    if (me->life < 0) {
        fflush(stdout);
        abort();
    }
    return AXO_OK;
}

static const axo_class monster_class =
    AXO_CLASS(.name = "monster", .state_size = sizeof(monster), .construct = monster_construct,
              .receive = monster_receive);

/* ---- the game: what a recording and its replays share ---- */

enum { MONSTERS_MAX = 8 };

typedef struct game {
    axo_ref monsters[MONSTERS_MAX];
    int count;
} game;

/* An input of the program's own: it is called in the recording and in each replay. */
static axo_status game_call(void *user, axo_system *system, uint32_t number, const void *bytes,
                            size_t size)
{
    game *g = user;
    const axo_props props =
        AXO_PROPS(.cls = &monster_class, .args = bytes, .args_size = size);
    if (number != NEW_MONSTER || g->count == MONSTERS_MAX)
        return AXO_EINVAL;
    return axo_system_spawn(system, &props, &g->monsters[g->count++]);
}

/* The world at the begin: made of a saved game, here the life of the first monster. */
static axo_status game_begin(void *user, axo_system *system, const void *snapshot, size_t size)
{
    return game_call(user, system, NEW_MONSTER, snapshot, size);
}

static axo_recording game_recording(game *g, const char *path)
{
    static const axo_options options = AXO_OPTIONS(.seed = 7); /* 0: another one each time */
    static const int life = 30;
    return (axo_recording)AXO_RECORDING(.path = path, .options = &options, .begin = game_begin,
                                        .call = game_call, .user = g, .snapshot = &life,
                                        .snapshot_size = sizeof life, .each_event = 1);
}

/* ---- recording ---- */

/* A few frames; `power` is the blow of the last one. */
static void game_play(const char *path, int power)
{
    game g = {.count = 0};
    const axo_recording recording = game_recording(&g, path);
    axo_record_report report = AXO_RECORD_REPORT();
    axo_recorder *recorder;
    must_be_ok(axo_record_start(&recording, &recorder, &report));
    for (int frame = 0; frame < 30; frame++) {
        const int blow = frame < 29 ? 1 + frame % 3 : power, life = 20 + frame;
        if (frame % 10 == 5)
            must_be_ok(axo_record_call(recorder, NEW_MONSTER, &life, sizeof life));
        if (frame % 2 == 1)
            must_be_ok(axo_record_send(recorder, g.monsters[frame % g.count], HIT, &blow,
                                       sizeof blow));
        must_be_ok(axo_record_run(recorder, 2 * MS, NULL)); /* by the clock, whatever it says */
    }
    must_be_ok(axo_record_report_of(recorder, &report));
    printf("recorded %d steps\n", (int)report.steps);
    must_be_ok(axo_record_end(recorder));
}

/* ---- playing ---- */

static int game_replay(const char *path, bool loud)
{
    game g = {.count = 0};
    const axo_recording recording = game_recording(&g, path);
    axo_record_report file = AXO_RECORD_REPORT(), report = AXO_RECORD_REPORT();
    axo_replay *replay;
    axo_status status = axo_record_check(path, &file);
    if (status == AXO_OK)
        status = axo_replay_start(&recording, &replay, &report);
    if (status != AXO_OK) {
        fprintf(stderr, "%s: %s %s\n", axo_status_text(status), file.text, report.text);
        return 1;
    }
    while (report.state == AXO_RECORD_GOES_ON) {
        if (loud) {
            printf("record %" PRIu64 " of %" PRIu64 "\n", report.records, file.records);
            fflush(stdout);
        }
        must_be_ok(axo_replay_next(replay, &report));
    }
    if (report.state == AXO_RECORD_DIVERGED)
        printf("not the same: record %" PRIu64 ": %s\n", report.record, report.text);
    else
        printf("played %d steps, %s\n", (int)report.steps,
               report.hash.value == file.hash.value ? "the same events" : "up to its crash");
    must_be_ok(axo_replay_end(replay));
    return report.state == AXO_RECORD_DIVERGED;
}

/* In a process of its own, which may crash. */
static void apart(const char *what, const char *path, bool records)
{
    const struct rlimit none = {0, 0};
    int status;
    fflush(stdout);
    pid_t pid = fork();
    must(pid >= 0, "no process");
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &none);
        if (records)
            game_play(path, 1000);
        else
            game_replay(path, false);
        fflush(stdout);
        _exit(0);
    }
    must(waitpid(pid, &status, 0) == pid, "no process to wait for");
    printf("%s: %s\n", what, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ends");
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/flight-XXXXXX", good[64], bad[64];
    axo_record_report file = AXO_RECORD_REPORT();
    if (argc > 1)
        return game_replay(argv[1], true);
    must(mkdtemp(folder) != NULL, "no folder");
    snprintf(good, sizeof good, "%s/good.axorec", folder);
    snprintf(bad, sizeof bad, "%s/bad.axorec", folder);
    game_play(good, 1);
    const int result = game_replay(good, false);
    apart("a game", bad, true);
    must_be_ok(axo_record_check(bad, &file));
    printf("its file has %d steps, and was %s\n", (int)file.steps,
           file.closed ? "closed" : "not closed");
    apart("played again", bad, false);
    must(unlink(good) == 0 && unlink(bad) == 0 && rmdir(folder) == 0, "files are left");
    return result;
}
