/* invariants.h - the 77 invariants that the simulator checks: number, when, what holds, who looks.
 *
 * When: E at an event, S between two steps, Q at rest, Z after the end. Every look is counted: one
 * that is never taken in a campaign fails it, as an invariant that is violated does. `where` names
 * the function that looks; a function of another file of the simulator than ghost.c says which.
 */
#ifndef TEST_SIM_INVARIANTS_H
#define TEST_SIM_INVARIANTS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define INVARIANTS 77

#define INVARIANT_LIST(X)                                                                          \
    X(1, "E", "at most one worker is inside a cell", "ghost_enter")                                \
    X(2, "S", "a cell's node is in each injector at most once", "look_nodes (look.c)")             \
    X(3, "S", "a cell with work has an entry, one at rest is in nobody", "look_cell (look.c)")     \
    X(4, "E", "one live instance, from creation to destroy", "ghost_construct")                    \
    X(5, "E", "a user message starts in a live, normal, unsuspended cell", "ghost_receive")        \
    X(6, "E", "only the worker inside writes what is the cell's", "look_event (look.c)")           \
    X(7, "E", "a cell runs on workers of its own dispatcher", "ghost_enter")                       \
    X(8, "E", "callbacks run with no lock held", "queues_callback (queues.c)")                     \
    X(9, "ES", "the suspend count is the ghost's depth", "ghost_event")                            \
    X(10, "E", "the count is never below zero nor above its ancestors'", "ghost_suspend")          \
    X(11, "Q", "at rest nobody is suspended, failed, waiting", "ghost_check_rest")                 \
    X(12, "E", "failed: count above zero, one report outstanding", "ghost_suspend")                \
    X(13, "E", "a perpetrator, a survivor is not suspended twice", "model_suspended (model.c)")    \
    X(14, "E", "Resume ends the failure of the one it is meant for", "model_resumed (model.c)")    \
    X(15, "E", "a report leads to one directive; a stranger's to none", "ghost_report")            \
    X(16, "E", "reports wait for a parent that may decide, in order", "ghost_report")              \
    X(17, "E", "a directive reaches whom the strategy says", "model_told (model.c)")               \
    X(18, "E", "restarts in a window are within the budget", "model_permits (decide.c)")           \
    X(19, "E", "escalation hands on the cause; the root stops once", "ghost_failed")               \
    X(20, "E", "a restart keeps and drops what it should", "world_construct (world.c)")            \
    X(21, "E", "a back-off's delay is in its bounds", "model_delay (decide.c)")                    \
    X(22, "E", "the hooks follow the grammar", "grammar_letter (grammar.c)")                       \
    X(23, "E", "nothing comes between the halves of a restart", "ghost_atomic")                    \
    X(24, "E", "children that stop are gone before the parent goes on", "ghost_orphans")           \
    X(25, "E", "survivors restart after the parent's new instance", "model_restarts (model.c)")    \
    X(26, "E", "terminated is final", "ghost_event")                                               \
    X(27, "E", "a name is unique among the living, and free again", "world_named (world.c)")       \
    X(28, "E", "no spawn by one that stops; a child starts as suspended", "ghost_spawned")         \
    X(29, "EZ", "each instance is destroyed once, after its last hook", "ghost_instance_ends")     \
    X(30, "E", "one notice for each watch", "ghost_watch_event")                                   \
    X(31, "E", "no notice after unwatch", "ghost_noticed")                                         \
    X(32, "E", "watching a dead one is answered once", "ghost_noticed")                            \
    X(33, "E", "the notice comes after the watched one's messages", "mail_noticed (mail.c)")       \
    X(34, "E", "a parent forgets the child before it is told", "ghost_watch_event")                \
    X(35, "Q", "who watches is who is watched", "ghost_check_rest")                                \
    X(36, "E", "an unhandled notice is the death pact, once", "ghost_failed")                      \
    X(37, "QZ", "accepted is handled, dead, dropped, queued or stashed", "mail_check_all")         \
    X(38, "E", "one sender's messages come in order; causes first", "mail_in_order (mail.c)")      \
    X(39, "E", "no message is handled twice", "mail_received (mail.c)")                            \
    X(40, "E", "system messages come before the next user message", "look_received (look.c)")      \
    X(41, "EQ", "system messages are never refused nor lost", "world_stop (world.c)")              \
    X(42, "ES", "a bounded mailbox keeps its bound and its policy", "mail_check_box (mail.c)")     \
    X(43, "EQ", "an ask, a failed request completes exactly once", "mail_answered (mail.c)")       \
    X(44, "E", "pill, kill and stop keep their place", "mail_in_order (mail.c)")                   \
    X(45, "E", "what is stashed comes back in front, in order", "mail_received (mail.c)")          \
    X(46, "Q", "at rest no cell has work", "look_rest (look.c)")                                   \
    X(47, "S", "the pool's count of parked workers is right", "look_parked (look.c)")              \
    X(48, "E", "an entry that is pushed is taken once, in order", "queues_take (queues.c)")        \
    X(49, "S", "a runnable cell runs soon", "look_cell (look.c)")                                  \
    X(50, "E", "a turn handles no more than its quantum", "look_received (look.c)")                \
    X(51, "E", "timers are neither early, late, lost nor undead", "queues_due (queues.c)")         \
    X(52, "E", "time never goes back", "ghost_event")                                              \
    X(53, "E", "a reference resolves only while its actor lives", "tree_resolve (tree_sim.c)")     \
    X(54, "E", "a count of users that is zero stays so", "queues_texts (queues.c)")                \
    X(55, "E", "a cell is free after a grace period", "queues_give_cell (queues.c)")               \
    X(56, "Z", "all memory and all descriptors are given back", "tree_end (tree_sim.c)")           \
    X(57, "E", "failing, stopping take no memory; no memory, no change", "tree_alloc")             \
    X(58, "Z", "after the stop nothing runs and nobody is found", "tree_after (tree_sim.c)")       \
    X(59, "Z", "the same seed gives the same run", "campaign_twice (campaign.c)")                  \
    X(60, "E", "a readiness is of a watch that lives, and wanted", "reads_ready (reads.c)")        \
    X(61, "Q", "at rest everybody was told of what is ready", "reads_check_rest (reads.c)")    \
    X(62, "EQ", "settle is called once an ask, of an instance that runs", "act_settle (acts.c)")   \
    X(63, "E", "a stream's bytes come once, in order, both ways", "wires_check_bytes (wires.c)")   \
    X(64, "E", "a stream's end is told once, with a cause; nothing after", "wires_told (wires.c)") \
    X(65, "E", "a stream keeps its bounds and counts its bytes", "wires_see (wires.c)")            \
    X(66, "EQ", "a stream tells of bytes, room, end and reset", "wires_rest (wires.c)")            \
    X(67, "EZ", "what ends in order is whole: answered and refused", "wires_over (wires.c)")       \
    X(68, "EQZ", "a stream's descriptor is open as long as it", "wires_check_rest (wires.c)")      \
    X(69, "EQ", "a listener keeps its bound, and leaves nobody", "wires_check_rest (wires.c)")     \
    X(70, "E", "restarts in a storm take turns, in order, in their bound", "model_turn (decide.c)")\
    X(71, "E", "a block handed over comes back once, not early", "wires_give_back (wires_act.c)")  \
    X(72, "EQ", "what is outstanding is counted, bounded, refused", "wires_request (wires_act.c)") \
    X(73, "EQ", "no callback of a crashed instance runs", "ghost_enter")                           \
    X(74, "EZ", "a crash is contained where it may be, and told", "crash_landed (crash.c)")        \
    X(75, "E", "a message under which so many failed is told, and not shown", "model_poisoned")    \
    X(76, "E", "a callback that is left takes its drafts along, no others", "drafts_free")         \
    X(77, "SQ", "said to be at rest: nothing is queued; and the reverse", "look_quiet (look.c)")

typedef struct invariant {
    uint32_t number;
    const char *when;
    const char *text;
    const char *where;
} invariant;

extern const invariant invariants[INVARIANTS];

/* What a process has looked at and seen; in memory that its parent shares. */
typedef struct tally {
    uint64_t seed;     /* the one that runs */
    uint64_t failed;   /* how often one has, and under which of these */
    uint32_t violated; /* the number of the last violation; 0: another failure */
    uint64_t seeds;
    uint64_t steps;
    uint64_t steps_min;
    uint64_t events;
    uint64_t twice;    /* seeds that were run again */
    uint64_t crashes;  /* contained */
    uint64_t refused;  /* that were not to be contained */
    uint64_t checked[INVARIANTS + 1];
    uint64_t probes[96];
} tally;

extern tally *tallied;

void invariants_print(void);

/* How many were never looked at. */
uint32_t invariants_idle(bool say);

#endif
