/* kit.h - the conformance kit: a recorder, gates and scripted actors for tests on cmocka.
 *
 * A test makes puppets (scripted actors), tells them what to do, awaits records and then asserts
 * the order of what was recorded. Nothing sleeps; each wait has a deadline after which the test
 * fails and prints the whole record.
 *
 *     static void FS_01(kit *k)
 *     {
 *         kit_script *p = kit_actor(k, "p");          // scripts live as long as the kit
 *         kit_script *a = kit_actor(k, "a");
 *         p->pre_start.spawn[0] = a;                  // p spawns a in its pre_start
 *         p->directive = AXO_RESTART;                 // what p's decider answers
 *         a->pre_restart.gate = kit_gate_new(k);      // a waits there
 *         kit_spawn(k, p);
 *         kit_await(k, "a.preStart");                 // now kit_ref(a) is known
 *         kit_tell(k, a, KIT_FAIL, 7);                // a fails with code 7
 *         kit_tell(k, a, KIT_NOTE, 1);                // a only records "note(1)"
 *         kit_gate_arrived(a->pre_restart.gate, 1);   // a has come to the gate
 *         kit_never(k, "a.note");
 *         kit_gate_open(a->pre_restart.gate);
 *         kit_await(k, "a#2.note(1)");
 *         kit_order(k, "a.fails(7)", "p.decider(a)", "a#1.postStop", "a#2.ctor", "a#2.note(1)");
 *     }                                               // kit_finish: stops, checks all balances
 *     static const struct CMUnitTest tests[] = {KIT_TEST("FS-01", FS_01)};   // 1, 2, 4 workers
 *     TEST_MAIN(tests)
 *
 * Records are named by patterns:  label[#instance].word[(argument)][@occurrence]
 *   label       the script's label; "*" any actor; "user", "system", "root" the guardians
 *   #instance   1 the first instance, 2 the one after the first restart; absent: any
 *   word        a mark of the puppet (list below), a mark of the test (kit_mark), or the name of a
 *               trace event (axo/trace.h: "suspend", "terminated", ...)
 *   (argument)  a number, or a label: the reference bits of an actor with that label; or a word in
 *               capitals for the number of a failure's kind or site, a directive, a status, a
 *               tag: kind(DEATH_PACT), decided(STOP), dl(NOTE), suspend(OWN)
 *   @n          the n-th that matches, from 1. Where one record is meant and there is no @n,
 *               exactly one may match: more or fewer fail the test
 *
 * Marks of a puppet, with their argument:
 *   ctor preStart postStop   0                  decider     failed child (its reference)
 *   preRestart postRestart   code of the cause  decided     the directive, when the decider returns
 *   preRestartWith           value of the message handed to pre_restart, or
 *   preRestartNone           0: none was given  cause       code of the failure, beside decider
 *   ping note set spawned run wait  value       get         the puppet's value
 *   fails                    code, before it fails in receive
 *   pong value               value of the answer to a ping or a get
 *   term                     who terminated     known       its existence_known, beside term
 *   lost                     who, if it is its node that was lost, beside term
 *   stash                    an unknown tag     barrier     the kit's own
 *   dl                       tag of a dead letter to this actor (recorded for the recipient)
 *   dlFrom                   its sender, if there is one, after dl
 *   dlSuppressed             its tag, after dl, if it is suppressed
 *   log                      level of a log line about this actor
 *   freed                    an instance ended (its deferred call ran); argument: its number
 */
#ifndef AXO_TEST_KIT_H
#define AXO_TEST_KIT_H

#include <stdbool.h>
#include <stdlib.h>

#include <axo/axo.h>

#include "support/cmocka.h"

typedef struct kit kit;
typedef struct kit_gate kit_gate;
typedef struct kit_script kit_script;

/* How long the test may wait before it has failed; an actor at a gate waits longer, so that the
 * test fails first and says what it waited for. */
#define KIT_DEADLINE_S 20
#define KIT_GATE_DEADLINE_S 30
#define KIT_SPAWN_MAX 16

/* State of a puppet: zeroed with each instance, except what the constructor sets. */
typedef struct kit_puppet {
    kit *k;
    kit_script *script;
    axo_ref ref;
    uint32_t instance; /* from 1 */
    int64_t value;     /* KIT_SET, KIT_GET */
    const axo_message *message; /* in receive and pre_restart: its message */
    const axo_failure *failure; /* in pre_restart, post_restart and the decider: the cause */
} kit_puppet;

/* A piece of test that runs inside an actor. Its result is the callback's. */
typedef axo_status (*kit_fn)(axo_ctx *ctx, kit_puppet *self, void *arg);

typedef axo_directive (*kit_decide_fn)(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure);

typedef enum kit_how {
    KIT_BY_RETURN = 0, /* return axo_fail(...) */
    KIT_BY_THROW,      /* axo_throw */
    KIT_BY_FATAL,      /* return axo_fail_fatal(...) */
    KIT_BY_STATUS      /* return (axo_status)code */
} kit_how;

/* What a callback of a puppet does, in this order: mark, gate, spawn, run, fail. All optional. */
typedef struct kit_hook {
    kit_gate *gate;                    /* passed on each call, or only on call `gate_call` */
    uint32_t gate_call;                /* 0: each */
    kit_script *spawn[KIT_SPAWN_MAX];  /* children to spawn */
    kit_fn run;                        /* its failure is the hook's; not called: NULL */
    void *arg;                         /* handed to run */
    uint32_t fail_first;               /* calls fail_first..fail_last fail; 0: none */
    uint32_t fail_last;                /* 0: only fail_first; UINT32_MAX: all from then on */
    int32_t code;                      /* code of that failure */
    kit_how how;
    _Atomic uint32_t calls;            /* counted by the kit, over all instances and actors */
} kit_hook;

/* A script survives restarts. Fill it before the spawn; the kit owns it. */
struct kit_script {
    kit *k;
    const char *label;        /* in patterns */
    const char *name;         /* actor's name; default: the label; "": given by the library */
    kit_hook construct;
    kit_hook pre_start;
    kit_hook pre_restart;
    kit_hook post_restart;
    kit_hook post_stop;
    kit_hook decider;
    kit_hook receive;         /* before each message is looked at */
    bool keep_children;       /* pre_restart does not call the default hook: no child is stopped,
                                 no post_stop */
    bool no_default_start;    /* post_restart does not call the default hook: no pre_start */
    bool plain;               /* class with NULL pre_restart and post_restart */
    bool term_unhandled;      /* AXO_TERMINATED: return AXO_UNHANDLED after the mark */
    axo_lifetime lifetime;
    axo_strategy strategy;    /* scope, window and limits; decider and user are the kit's */
    const axo_strategy *given; /* used as it is, in place of `strategy` and the kit's decider */
    uint32_t stash_max;       /* of its props */
    const axo_mailbox *mailbox; /* of its props */
    kit_decide_fn decide;     /* the decider; NULL: `directive`; that 0: code KIT_DO_x, else the
                                 default decider */
    axo_directive directive;
    axo_dispatcher dispatcher;
    void *user;               /* the test's */
    axo_ref ref;              /* the latest spawned; read it through kit_ref */
};

/* Codes of failures that the kit's decider maps to a directive. */
enum { KIT_DO_RESUME = 101, KIT_DO_RESTART = 102, KIT_DO_STOP = 103, KIT_DO_ESCALATE = 104 };

/* Commands. */
enum {
    KIT_PING = 1,   /* mark ping(value); answer KIT_PONG value if there is a sender */
    KIT_PONG,       /* mark pong(value) */
    KIT_NOTE,       /* mark note(value) */
    KIT_SET,        /* value = value; mark set(value) */
    KIT_GET,        /* mark get(value of the puppet); answer KIT_PONG with it */
    KIT_FAIL,       /* axo_fail with code value */
    KIT_THROW,      /* axo_throw with code value */
    KIT_FAIL_FATAL, /* axo_fail_fatal with code value */
    KIT_STATUS,     /* return (axo_status)value */
    KIT_SPAWN,      /* spawn the script; mark spawned(value) */
    KIT_STOP,       /* stop ref */
    KIT_STOP_SELF,
    KIT_WATCH,      /* watch ref */
    KIT_UNWATCH,    /* unwatch ref */
    KIT_WAIT,       /* mark wait(value), then pass the gate */
    KIT_RUN,        /* call fn(ctx, self, ptr); the result is receive's */
    KIT_BARRIER,    /* the kit's */
    KIT_OTHER = 1000 /* and up: mark stash(tag), AXO_UNHANDLED */
};

/* Payload of each command. */
typedef struct kit_payload {
    int64_t value;
    axo_ref ref;
    kit_fn fn;
    void *ptr;
} kit_payload;

/* ---- start and finish ------------------------------------------------------------------------
 * Starts a system. Hooks, allocator and (unless set) workers and seed of `options` are the kit's;
 * the worker count comes from KIT_TEST. Dead letters are logged only if `dead_letter_log` is set.
 * NULL: defaults. Fails the test if it cannot.
 * AXO_TEST_QUANTUM in the environment is the quantum: with 1 actors change workers all the time. */
kit *kit_start(void **state, const axo_options *options);

/* Settles (all puppets answer, no suspend count left), stops the system, and checks: nobody late,
 * sent = handled + dead + dropped, each instance freed once, no actor left, no memory left, no
 * problem reported by an actor. Frees the kit. */
void kit_finish(kit *k);

/* As kit_finish without the settling at the start: for tests that end with stopped systems. */
void kit_finish_now(kit *k);

/* For cmocka: cleans up after a test that failed before kit_finish, and prints its record. */
int kit_teardown(void **state);

axo_system *kit_system(kit *k);
uint32_t kit_workers(kit *k);
axo_stats kit_stats(kit *k);

/* Memory for the test that lives as long as the kit; zeroed. */
void *kit_alloc(kit *k, size_t size);

/* While on, every allocation of the library fails. From the test's thread, the call waits until all
 * that were spawned have started. */
void kit_no_memory(kit *k, bool on);

/* ---- puppets -------------------------------------------------------------------------------- */
kit_script *kit_actor(kit *k, const char *label);
axo_ref kit_ref(kit_script *script);
axo_props kit_props(kit_script *script);                  /* for who spawns it himself */
axo_ref kit_spawn(kit *k, kit_script *script);            /* child of /user, from the test */
axo_status kit_spawn_in(axo_ctx *ctx, kit_script *script); /* child of the running puppet */
axo_status kit_spawn_system(kit *k, kit_script *script);  /* child of /system */

/* A family of puppets, by their labels, a letter each: f.p is "p". It is written down as a tree:
 *     kit_family f = kit_tree(k, "g:all(p:restart(c,d),q[r]), w, -x");
 * g and w are children of /user, p and q of g, c and d of p, r of q. A child in ( ) is spawned
 * once, on a message to its parent; one in [ ] by its parent's pre_start, so for each instance. x
 * is only made, for the test to spawn. Words behind a label: its directive (restart resume stop
 * escalate), its strategy's scope (all rest), keep for keep_children, plain. */
typedef struct kit_family {
    kit *of;
    const char *text;
    union {
        kit_script *all[26];
        struct {
            kit_script *a, *b, *c, *d, *e, *f, *g, *h, *i, *j, *k, *l, *m;
            kit_script *n, *o, *p, *q, *r, *s, *t, *u, *v, *w, *x, *y, *z;
        };
    };
} kit_family;

kit_family kit_plan(kit *k, const char *text); /* makes the scripts, for the test to go on with */
void kit_grow(const kit_family *family);       /* spawns them; waits for each one's pre_start */
kit_family kit_tree(kit *k, const char *text); /* both */

/* Makes a puppet, has it spawned under /user or under `parent`, and waits for its pre_start. */
kit_script *kit_top(kit *k, const char *label);
kit_script *kit_child(kit *k, kit_script *parent, const char *label);

/* The receive of a puppet, for behaviours of a test to fall back on. */
axo_status kit_receive(axo_ctx *ctx, void *state, const axo_message *message);

/* ---- telling: from the test's thread, sender none ------------------------------------------- */
axo_status kit_tell(kit *k, kit_script *to, uint32_t tag, int64_t value);
axo_status kit_tell_ref(kit *k, kit_script *to, uint32_t tag, axo_ref ref); /* KIT_STOP ... */
axo_status kit_tell_as(kit *k, kit_script *from, kit_script *to, uint32_t tag, int64_t value);
axo_status kit_run(kit *k, kit_script *to, kit_fn fn, void *arg);
axo_status kit_wait_at(kit *k, kit_script *to, kit_gate *gate, int64_t value);
axo_status kit_spawn_child(kit *k, kit_script *parent, kit_script *child, int64_t value);

/* ---- telling: inside an actor --------------------------------------------------------------- */
axo_status kit_tell_in(axo_ctx *ctx, axo_ref to, uint32_t tag, int64_t value);
axo_status kit_run_in(axo_ctx *ctx, axo_ref to, kit_fn fn, void *arg);

/* ---- gates: closed at first ----------------------------------------------------------------- */
kit_gate *kit_gate_new(kit *k);
void kit_gate_open(kit_gate *gate);               /* any thread; for good */
void kit_gate_close(kit_gate *gate);              /* any thread */
void kit_gate_pass(kit_gate *gate);               /* in an actor: counts, waits until it is open */
void kit_gate_arrived(kit_gate *gate, uint32_t n); /* the test waits until n have come in all */

/* ---- records -------------------------------------------------------------------------------- */
void kit_mark(kit_puppet *self, const char *word, int64_t arg);      /* in an actor */
void kit_mark_ref(kit *k, axo_ref actor, const char *word, uint64_t arg); /* anywhere */
void kit_problem(kit *k, const char *format, ...) AXO_PRINTF(2, 3);  /* anywhere: the test fails */
#define KIT_REQUIRE(k, condition)                                                                  \
    do {                                                                                           \
        if (!(condition))                                                                          \
            kit_problem((k), "%s:%d: %s", __FILE__, __LINE__, #condition);                         \
    } while (0)

void kit_await(kit *k, const char *pattern);                    /* at least one, or @n */
void kit_await_count(kit *k, const char *pattern, uint32_t n);  /* at least n */
uint32_t kit_count(kit *k, const char *pattern);
void kit_expect_count(kit *k, const char *pattern, uint32_t n); /* awaits n; exactly n */
void kit_never(kit *k, const char *pattern);

/* Each as often as it says, as kit_expect_count: "a.ctor=2", "a.note(1)=0". Each, as kit_await. */
#define kit_expect(k, ...) kit_expect_list((k), (const char *const[]){__VA_ARGS__, NULL})
#define kit_await_all(k, ...) kit_await_list((k), (const char *const[]){__VA_ARGS__, NULL})
void kit_expect_list(kit *k, const char *const *patterns);
void kit_await_list(kit *k, const char *const *patterns);

/* The actor has failed, and the turn in which its report goes out is over. */
void kit_await_reported(kit *k, kit_script *a);

/* Each before the next. Awaits them. */
#define kit_order(k, ...) kit_order_list((k), (const char *const[]){__VA_ARGS__, NULL})
void kit_order_list(kit *k, const char *const *patterns);

/* No match of `pattern` after `from` and before `to`, which are awaited. */
void kit_none_between(kit *k, const char *pattern, const char *from, const char *to);

/* Where the record stands: argument, time, suspend count, worker. */
typedef struct kit_record {
    uint64_t seq;
    int64_t time_ns;
    const char *word;
    axo_ref actor;
    uint64_t arg;
    uint32_t instance;
    uint32_t suspends;
    uint32_t worker;
    bool mark;
} kit_record;
kit_record kit_find(kit *k, const char *pattern);

/* Every live puppet handles two more messages, one after the other; fails if one does not. */
void kit_settle(kit *k);

void kit_dump(kit *k);

/* ---- registering ----------------------------------------------------------------------------
 * A test takes a started kit, as kit_start(state, NULL) makes it, which kit_finish ends when the
 * test has returned; or `void **state`, and starts and ends what it wants. A test whose actors may
 * look at its locals ends the kit itself, by kit_finish as its last statement. */
typedef struct kit_case {
    void (*plain)(kit *k);
    void (*own)(void **state);
    uint32_t workers;
} kit_case;
void kit_case_run(void **state);

#define KIT_TEST_ONE(id, function, n, text)                                                        \
    {                                                                                              \
        id " [" #n " " text "]", kit_case_run, NULL, kit_teardown, &(kit_case)                     \
        {                                                                                          \
            _Generic(&(function), void (*)(kit *)                                                  \
                     : (function), default                                                         \
                     : NULL),                                                                      \
                _Generic(&(function), void (*)(void **)                                            \
                         : (function), default                                                     \
                         : NULL),                                                                  \
                n                                                                                  \
        }                                                                                          \
    }
#define KIT_TEST(id, function)                                                                     \
    KIT_TEST_ONE(id, function, 1, "worker"), KIT_TEST_ONE(id, function, 2, "workers"),             \
        KIT_TEST_ONE(id, function, 4, "workers")

#endif
