/* node.c - a node of soak.py: actors that talk to those of other nodes and write down what they
 * send, get and are told. A line is written by one write before what it says is done, so that a
 * kill -9 loses nothing that has happened; check.py holds the journals against each other.
 *
 *   node NAME URL beats|store JOURNAL SKEW NAME...
 *
 * SKEW: seconds by which the program's clock of the day is wrong. The names are those of all
 * nodes. SIGUSR1: nothing new is begun from here on. SIGUSR2: the figures, in a line of their own,
 * and each talker finds and asks one of each other node. SIGTERM: the node leaves. It ends with 3
 * when it is over by itself.
 *
 * A line is milliseconds, an actor's serial or 0, a letter, and what check.py says there. An actor
 * is NODE.INCARNATION.SERIAL: a talker, which lives as long as the node and has a key, or a mayfly,
 * which a talker makes and which ends soon. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/cluster.h>

#define MS     INT64_C(1000000)
#define TICK   (40 * MS)
#define LINE   512
#define ASK    (2000 * MS)  /* until an ask has failed, and a find */
#define PROBE  (30000 * MS) /* until those have of which each has to be answered */
#define LIFE   2000        /* ms that a mayfly lives at most */
#define EXIT_OVER 3

enum { TALKERS = 3, KNOWN = 40, FIRST_MAYFLY = 100, NAMES = 16 };
enum { MSG_TICK = 1, MSG_DIE, MSG_PROBE, MSG_NUMBER, MSG_PASS, MSG_WHO, MSG_BACK };

/* Who an actor is, whatever reference leads to it. */
typedef struct uid {
    uint64_t incarnation;
    uint32_t serial;
    char node[4];
} uid;

/* A message: MSG_PASS brings a reference to `about`. */
typedef struct note {
    uid from;
    uid to; /* whom its sender means */
    uint64_t number;
    uid about;
    axo_ref ref;
} note;

typedef struct wire {
    note note;
    axo_node node;
    uint64_t bits;
} wire;

typedef struct known {
    axo_ref ref;
    uid who;
    bool watched;
} known;

typedef struct actor {
    uid me;
    uint64_t number; /* the last one that was given */
    uint64_t chance;
    uint32_t count;
    known known[KNOWN];
} actor;

typedef struct birth {
    uid me;
    uid parent;
    axo_ref parent_ref;
} birth;

static struct {
    int journal;
    int64_t skew_s;
    axo_cluster *cluster;
    axo_system *system;
    axo_node here;
    const char *names[NAMES];
    uint32_t names_count;
    axo_ref talkers[TALKERS];
    atomic_uint born;    /* of these */
    atomic_uint mayflies;
    atomic_uint over;    /* 1 + why */
    atomic_bool settled; /* nothing new is begun */
} home;

/* ---- the clock of the day: of this program and of the library that is linked into it ---- */

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    int error = __real_clock_gettime(clock, out);
    if (clock == CLOCK_REALTIME && error == 0)
        out->tv_sec += home.skew_s;
    return error;
}

/* ---- the journal ---- */

#define UID_FORM   "%s.%llu.%u"
#define UID_OF(u)  (u).node, (unsigned long long)(u).incarnation, (u).serial
#define NUMBER(n)  ((unsigned long long)(n))

__attribute__((format(printf, 2, 3))) static void say(uint32_t serial, const char *form, ...)
{
    char line[LINE];
    struct timespec now;
    va_list list;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int size = snprintf(line, sizeof line, "%lld %u ",
                        (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000, serial);
    va_start(list, form);
    size += vsnprintf(line + size, sizeof line - (size_t)size - 1, form, list);
    va_end(list);
    line[size++] = '\n';
    if (write(home.journal, line, (size_t)size) != size)
        abort();
}

/* ---- references on their way ---- */

static size_t pass_out(void *user, const void *from, size_t size, void *out, size_t room)
{
    wire w;
    memset(&w, 0, sizeof w);
    if (size != sizeof w.note)
        return SIZE_MAX;
    memcpy(&w.note, from, sizeof w.note);
    if (axo_remote_leave(home.system, w.note.ref, &w.node, &w.bits) != AXO_OK)
        return SIZE_MAX;
    w.note.ref = axo_ref_none();
    if (room >= sizeof w)
        memcpy(out, &w, sizeof w);
    return sizeof w;
}

static size_t pass_in(void *user, const void *from, size_t size, void *out, size_t room)
{
    wire w;
    if (size != sizeof w)
        return SIZE_MAX;
    memcpy(&w, from, sizeof w);
    w.note.ref = axo_remote_enter(home.system, &w.node, w.bits);
    if (room >= sizeof w.note)
        memcpy(out, &w.note, sizeof w.note);
    return sizeof w.note;
}

/* ---- whom an actor knows ---- */

static uint32_t chance(actor *me, uint32_t end)
{
    me->chance ^= me->chance << 13;
    me->chance ^= me->chance >> 7;
    me->chance ^= me->chance << 17;
    return (uint32_t)(me->chance >> 33) % end;
}

static bool uid_is(const uid *one, const uid *other)
{
    return one->incarnation == other->incarnation && one->serial == other->serial &&
           strcmp(one->node, other->node) == 0;
}

static uid uid_of(const char *node, uint64_t incarnation, uint32_t serial)
{
    uid out = {.incarnation = incarnation, .serial = serial};
    memcpy(out.node, node, strnlen(node, sizeof out.node - 1));
    return out;
}

static void forget(axo_ctx *ctx, actor *me, known *one)
{
    if (!one->watched)
        return;
    say(me->me.serial, "V " UID_FORM, UID_OF(one->who));
    (void)axo_unwatch(ctx, one->ref);
    one->watched = false;
}

static void learn(axo_ctx *ctx, actor *me, const uid *who, axo_ref ref)
{
    uint32_t at = 0;
    if (uid_is(who, &me->me) || axo_ref_equal(ref, axo_ref_none()))
        return;
    while (at < me->count && !uid_is(&me->known[at].who, who))
        at++;
    if (at < me->count)
        return;
    if (me->count < KNOWN) {
        me->count++;
    } else {
        at = chance(me, KNOWN);
        forget(ctx, me, &me->known[at]);
    }
    me->known[at] = (known){.ref = ref, .who = *who};
}

/* ---- what an actor does ---- */

static note note_to(actor *me, const uid *to)
{
    return (note){.from = me->me, .to = *to, .number = ++me->number};
}

static void do_send(axo_ctx *ctx, actor *me, const known *to)
{
    const note n = note_to(me, &to->who);
    say(me->me.serial, "S n " UID_FORM " %llu", UID_OF(n.to), NUMBER(n.number));
    (void)axo_send(ctx, to->ref, MSG_NUMBER, &n, sizeof n);
}

static void do_pass(axo_ctx *ctx, actor *me, const known *to, const known *about)
{
    note n = note_to(me, &to->who);
    n.about = about->who;
    n.ref = about->ref;
    say(me->me.serial, "S p " UID_FORM " %llu", UID_OF(n.to), NUMBER(n.number));
    (void)axo_send(ctx, to->ref, MSG_PASS, &n, sizeof n);
}

static void do_ask(axo_ctx *ctx, actor *me, const known *to, int64_t timeout_ns)
{
    const note n = note_to(me, &to->who);
    say(me->me.serial, "A " UID_FORM " %llu", UID_OF(n.to), NUMBER(n.number));
    if (axo_ask(ctx, to->ref, MSG_WHO, &n, sizeof n, timeout_ns, n.number) != AXO_OK)
        say(me->me.serial, "y %llu", NUMBER(n.number));
}

/* A reference of a node that nobody here knows names no actor: two such may be equal. */
static void do_watch(axo_ctx *ctx, actor *me, known *one)
{
    if (one->watched || axo_ref_node(one->ref) == AXO_NODE_NOBODY)
        return;
    say(me->me.serial, "W " UID_FORM, UID_OF(one->who));
    one->watched = axo_watch(ctx, one->ref) == AXO_OK;
    if (!one->watched)
        say(me->me.serial, "V " UID_FORM, UID_OF(one->who));
}

static void do_find(axo_ctx *ctx, actor *me, const char *node, uint32_t serial, int64_t timeout_ns)
{
    char key[16];
    uint64_t id = ++me->number;
    if (strcmp(node, home.here.name) == 0)
        return;
    (void)snprintf(key, sizeof key, "t%u", serial);
    say(me->me.serial, "f %llu %s %u", NUMBER(id), node, serial);
    /* The serial is in the id, as the answer brings no key. */
    if (axo_cluster_find(home.cluster, axo_self(ctx), node, key, timeout_ns, id << 8 | serial) !=
        AXO_OK)
        say(me->me.serial, "h %llu", NUMBER(id));
}

static void do_stop(axo_ctx *ctx, actor *me, const known *one)
{
    if (one->who.serial < FIRST_MAYFLY)
        return;
    say(me->me.serial, "T " UID_FORM, UID_OF(one->who));
    (void)axo_stop(ctx, one->ref);
}

static void do_spawn(axo_ctx *ctx, actor *me);

static void on_tick(axo_ctx *ctx, actor *me)
{
    if (atomic_load(&home.settled))
        return;
    if (me->me.serial < FIRST_MAYFLY && chance(me, 12) == 0)
        do_spawn(ctx, me);
    if (chance(me, 12) == 0)
        do_find(ctx, me, home.names[chance(me, home.names_count)], 1 + chance(me, TALKERS),
                ASK);
    if (me->count == 0)
        return;
    for (uint32_t i = 0; i < 2; i++)
        do_send(ctx, me, &me->known[chance(me, me->count)]);
    if (chance(me, 3) == 0)
        do_pass(ctx, me, &me->known[chance(me, me->count)], &me->known[chance(me, me->count)]);
    if (chance(me, 6) == 0)
        do_ask(ctx, me, &me->known[chance(me, me->count)], ASK);
    if (chance(me, 3) == 0)
        do_watch(ctx, me, &me->known[chance(me, me->count)]);
    if (chance(me, 40) == 0)
        forget(ctx, me, &me->known[chance(me, me->count)]);
    if (chance(me, 60) == 0)
        do_stop(ctx, me, &me->known[chance(me, me->count)]);
}

/* ---- what comes ---- */

static void on_note(axo_ctx *ctx, actor *me, const axo_message *message)
{
    const note *n = AXO_PAYLOAD(message, note);
    char kind = message->tag == MSG_PASS ? 'p' : message->tag == MSG_WHO ? 'w' : 'n';
    say(me->me.serial, "G %c " UID_FORM " %llu " UID_FORM, kind, UID_OF(n->from),
        NUMBER(n->number), UID_OF(n->to));
    if (kind == 'w') {
        note back = {.from = me->me, .to = n->from, .number = n->number};
        (void)axo_reply(ctx, message, MSG_BACK, &back, sizeof back);
        return;
    }
    learn(ctx, me, &n->from, message->sender);
    if (kind == 'p')
        learn(ctx, me, &n->about, n->ref);
}

static void on_answer(actor *me, const axo_message *message)
{
    const axo_message answer = axo_answer_of(message);
    const note *back = AXO_PAYLOAD(&answer, note);
    say(me->me.serial, "a %llu " UID_FORM, NUMBER(AXO_PAYLOAD(message, axo_answer)->id),
        UID_OF(back->from));
}

static void on_terminated(actor *me, const axo_terminated *end)
{
    uint32_t at = 0;
    while (at < me->count &&
           !(me->known[at].watched && axo_ref_equal(me->known[at].ref, end->actor)))
        at++;
    const uid who = at < me->count ? me->known[at].who : uid_of("?", 0, 0);
    say(me->me.serial, "N " UID_FORM " %u %u", UID_OF(who), end->address_terminated,
        end->existence_known);
    if (at < me->count)
        me->known[at].watched = false;
}

static void on_found(axo_ctx *ctx, actor *me, const axo_cluster_found *found)
{
    axo_node node;
    uint32_t serial = (uint32_t)(found->id & 255);
    memset(&node, 0, sizeof node);
    if (found->status == AXO_OK)
        (void)axo_remote_node(home.system, axo_ref_node(found->ref), &node);
    say(me->me.serial, "F %llu %d %s", NUMBER(found->id >> 8), found->status,
        found->status == AXO_OK ? node.name : "-");
    if (node.incarnation == 0)
        return;
    const uid who = uid_of(node.name, node.incarnation, serial);
    learn(ctx, me, &who, found->ref);
    if (atomic_load(&home.settled))
        do_ask(ctx, me, &(known){.ref = found->ref, .who = who}, PROBE);
}

static void on_probe(axo_ctx *ctx, actor *me)
{
    for (uint32_t i = 0; i < home.names_count; i++)
        do_find(ctx, me, home.names[i], me->me.serial, PROBE);
}

static void on_event(axo_ctx *ctx, actor *me, const axo_event_message *event)
{
    const axo_cluster_event *about = AXO_EVENT_DATA(event, axo_cluster_event);
    char kind = event->kind == AXO_KIND_NODE_UP     ? 'U'
                : event->kind == AXO_KIND_NODE_DOWN ? 'D'
                                                    : '-';
    if (kind != '-')
        say(me->me.serial, "%c %s %llu %u", kind, about->node.name,
            NUMBER(about->node.incarnation), about->why);
    if (event->kind == AXO_KIND_NODE_OVER)
        atomic_store(&home.over, 1 + about->why);
    if (kind == 'U' && me->me.serial < FIRST_MAYFLY && !atomic_load(&home.settled))
        do_find(ctx, me, about->node.name, me->me.serial, ASK);
}

/* ---- actors ---- */

static axo_status actor_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    actor *me = state;
    switch (message->tag) {
    case MSG_TICK:
        on_tick(ctx, me);
        return AXO_OK;
    case MSG_DIE:
        return axo_stop_self(ctx);
    case MSG_PROBE:
        on_probe(ctx, me);
        return AXO_OK;
    case MSG_NUMBER:
    case MSG_PASS:
    case MSG_WHO:
        on_note(ctx, me, message);
        return AXO_OK;
    case AXO_ASK_ANSWER:
        on_answer(me, message);
        return AXO_OK;
    case AXO_ASK_FAILED:
        say(me->me.serial, "x %llu", NUMBER(AXO_PAYLOAD(message, axo_verdict)->id));
        return AXO_OK;
    case AXO_TERMINATED:
        on_terminated(me, AXO_PAYLOAD(message, axo_terminated));
        return AXO_OK;
    case AXO_CLUSTER_FOUND:
        on_found(ctx, me, AXO_PAYLOAD(message, axo_cluster_found));
        return AXO_OK;
    case AXO_EVENT:
        on_event(ctx, me, AXO_PAYLOAD(message, axo_event_message));
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static axo_status actor_construct(axo_ctx *ctx, void *state, const void *args)
{
    actor *me = state;
    const birth *from = args;
    *me = (actor){.me = from->me, .chance = axo_seed(ctx) | 1};
    say(me->me.serial, "M");
    learn(ctx, me, &from->parent, from->parent_ref);
    axo_status status = axo_subscribe(ctx, axo_self(ctx), AXO_KIND_NODE);
    if (status == AXO_OK)
        status = axo_timer_start(ctx, 1, AXO_TIMER_FIXED_DELAY, TICK, TICK, MSG_TICK, NULL, 0);
    if (status == AXO_OK && me->me.serial >= FIRST_MAYFLY)
        status = axo_timer_start(ctx, 2, AXO_TIMER_ONCE, (100 + chance(me, LIFE)) * MS, 0, MSG_DIE,
                                 NULL, 0);
    atomic_fetch_add(&home.born, 1);
    return status;
}

static axo_status actor_post_stop(axo_ctx *ctx, void *state)
{
    say(((actor *)state)->me.serial, "E");
    return AXO_OK;
}

static const axo_class actor_class =
    AXO_CLASS(.name = "actor", .state_size = sizeof(actor), .construct = actor_construct,
              .receive = actor_receive, .post_stop = actor_post_stop);

static void do_spawn(axo_ctx *ctx, actor *me)
{
    axo_ref ref;
    const uint32_t serial = FIRST_MAYFLY + atomic_fetch_add(&home.mayflies, 1);
    const birth from = {.me = uid_of(home.here.name, home.here.incarnation, serial),
                        .parent = me->me, .parent_ref = axo_self(ctx)};
    axo_props props = AXO_PROPS(.cls = &actor_class, .args = &from, .args_size = sizeof from);
    if (axo_spawn(ctx, &props, &ref) == AXO_OK)
        learn(ctx, me, &from.me, ref);
}

/* ---- the node ---- */

static uint32_t entries(const char *path)
{
    uint32_t count = 0;
    DIR *dir = opendir(path);
    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir != NULL)
        (void)closedir(dir);
    return count;
}

static uint32_t resident_kib(void)
{
    unsigned pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*u %u", &pages) != 1)
        pages = 0;
    if (file != NULL)
        (void)fclose(file);
    return pages * 4;
}

/* 'R' now and then, 'Z' when it was asked for. */
static void say_figures(char kind)
{
    axo_cluster_figures f;
    (void)axo_cluster_count(home.cluster, &f);
    say(0, "%c %u %u %u %llu %llu %llu %llu %llu %llu %llu %llu %llu", kind, resident_kib(),
        entries("/proc/self/fd"), entries("/proc/self/task"), NUMBER(f.nodes), NUMBER(f.not_ours),
        NUMBER(f.other_version), NUMBER(f.bad_length), NUMBER(f.other_cluster),
        NUMBER(f.other_token), NUMBER(f.bad_seal), NUMBER(f.bad_form), NUMBER(f.strangers));
}

static int wait_ms(const sigset_t *set, int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return sigtimedwait(set, NULL, &time);
}

/* While there is no server it is tried again; false: it is to end. */
static bool node_open(const axo_cluster_options *with, const sigset_t *set)
{
    const axo_cluster_codec pass = AXO_CLUSTER_CODEC(.tag = MSG_PASS, .encode = pass_out,
                                                     .decode = pass_in);
    axo_cluster_problem problem;
    while (axo_cluster_open(with, &problem, &home.cluster) != AXO_OK) {
        int got = wait_ms(set, 50);
        if (got == SIGTERM)
            return false;
        if (got == SIGUSR1)
            atomic_store(&home.settled, true);
    }
    home.here = axo_cluster_remote(home.cluster)->here;
    return axo_cluster_add_codec(home.cluster, &pass) == AXO_OK;
}

/* The talkers hear of nodes from the first one on. */
static axo_status node_begin(void)
{
    axo_options options = AXO_OPTIONS(.workers = 2, .remote = axo_cluster_remote(home.cluster),
                                      .remote_user = home.cluster);
    axo_status status = axo_system_start(&options, &home.system);
    for (uint32_t i = 1; i <= TALKERS && status == AXO_OK; i++) {
        char key[16];
        axo_ref *ref = &home.talkers[i - 1];
        const birth from = {.me = uid_of(home.here.name, home.here.incarnation, i)};
        axo_props props = AXO_PROPS(.cls = &actor_class, .args = &from, .args_size = sizeof from);
        (void)snprintf(key, sizeof key, "t%u", i);
        status = axo_system_spawn(home.system, &props, ref);
        if (status == AXO_OK)
            status = axo_system_register(home.system, key, *ref);
    }
    const struct timespec pause = {.tv_nsec = 1000000};
    while (status == AXO_OK && atomic_load(&home.born) < TALKERS)
        (void)nanosleep(&pause, NULL);
    return status == AXO_OK ? axo_cluster_start(home.cluster, home.system) : status;
}

static void node_run(const sigset_t *set)
{
    while (atomic_load(&home.over) == 0) {
        int got = wait_ms(set, 250);
        if (got == SIGTERM)
            return;
        if (got == SIGUSR1)
            atomic_store(&home.settled, true);
        say_figures(got == SIGUSR2 ? 'Z' : 'R');
        for (uint32_t i = 0; i < TALKERS && got == SIGUSR2; i++)
            (void)axo_system_send(home.system, home.talkers[i], MSG_PROBE, NULL, 0);
    }
    say(0, "O %u", atomic_load(&home.over) - 1);
}

static bool node_end(void)
{
    axo_stats stats = AXO_STATS();
    say(0, "L");
    (void)axo_cluster_leave(home.cluster);
    axo_status status = axo_system_stop(home.system, -1, NULL, 0, NULL);
    (void)axo_system_stats(home.system, &stats);
    if (status == AXO_OK)
        status = axo_system_destroy(home.system);
    axo_cluster_close(home.cluster);
    say(0, "Q %d %llu %llu %llu %llu", status, NUMBER(stats.sent), NUMBER(stats.handled),
        NUMBER(stats.dead), NUMBER(stats.dropped));
    return status == AXO_OK;
}

int main(int argc, char **argv)
{
    sigset_t set;
    if (argc < 7 || argc - 6 > NAMES)
        return 2;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGUSR1);
    (void)sigaddset(&set, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &set, NULL); /* threads that come inherit it */
    home.skew_s = atoll(argv[5]);
    for (int i = 6; i < argc; i++)
        home.names[home.names_count++] = argv[i];
    home.journal = open(argv[4], O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (home.journal < 0)
        return 2;
    axo_cluster_options with =
        AXO_CLUSTER_OPTIONS(.url = argv[2], .cluster = "soak", .node = argv[1], .token = "secret",
                            .beat_ms = 100, .down_ms = 1500, .give_up_ms = 10000,
                            .lease_ms = 3000);
    with.membership = strcmp(argv[3], "store") == 0 ? AXO_CLUSTER_STORE : AXO_CLUSTER_BEATS;
    if (!node_open(&with, &set))
        return 0;
    say(0, "I %s %llu %lld", home.here.name, NUMBER(home.here.incarnation),
        (long long)home.skew_s);
    if (node_begin() != AXO_OK)
        return 4;
    node_run(&set);
    bool over = atomic_load(&home.over) != 0;
    return !node_end() ? 5 : over ? EXIT_OVER : 0;
}
