/* testkit.h - tests of actors: a system that runs only when the test says so, on a clock that the
 * test moves, and probes that the test receives with. A whole program is
 * test/example/test_an_actor.c.
 *
 *     axo_testkit *kit;
 *     axo_testkit_start(NULL, &kit);
 *     axo_probe *probe = axo_probe_new(kit, "probe");
 *     axo_system_spawn(axo_testkit_system(kit), &account, &ref);
 *     axo_probe_send(probe, ref, BALANCE, NULL, 0);
 *     const axo_message *answer = axo_probe_expect(probe, BALANCE_IS, 100 * MS);
 *     if (answer == NULL)
 *         fail(axo_testkit_why(kit));       "expected tag 7 within 100 ms: nothing came"
 *     axo_testkit_stop(kit);
 *
 * Nothing sleeps: a wait of an hour is over as soon as nothing is left to do before it. The same
 * calls give the same run, events, times and all, but for the bits of references: axo_ref_index
 * repeats. All functions are for one thread; they abort the
 * process when called in a callback. The system is a manual one (axo_options.manual): pinned and
 * blocking actors run here too.
 */
#ifndef AXO_TESTKIT_H
#define AXO_TESTKIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <axo/actor.h>
#include <axo/system.h>

typedef struct axo_testkit axo_testkit;
typedef struct axo_probe axo_probe;

/* As a time limit: as long as anything is left to do, timers included. Something that repeats for
 * ever is never done: not for systems with periodic timers. */
#define AXO_TESTKIT_FOREVER INT64_MAX

AXO_BEGIN_DECLS

/* ---- the system ------------------------------------------------------------------------------ */

/* Starts a system. manual, clock and clock_user of `options` (may be NULL) are the kit's, and so is
 * a seed of 0 (it is 1).
 *   owns      the caller, until axo_testkit_stop
 *   returns   as axo_system_start */
AXO_API AXO_NODISCARD axo_status axo_testkit_start(const axo_options *options, axo_testkit **out);

/* Stops the system, runs it to its end, and frees it, the probes, and all they hold.
 *   returns   AXO_OK; AXO_EINVAL for NULL; AXO_EFAILED: messages were lost or memory is left, as
 *             it must never be: then nothing is freed and axo_testkit_why says more */
AXO_API axo_status axo_testkit_stop(axo_testkit *kit);

/* The system; it is the kit's. */
AXO_API axo_system *axo_testkit_system(axo_testkit *kit);

/* The time of its clock, which begins at 1 s. */
AXO_API int64_t axo_testkit_now(axo_testkit *kit);

/* Runs what can run now, without moving the clock: at most `turns_max` turns; axo_testkit_run: all.
 *   returns   how many turns were run */
AXO_API uint64_t axo_testkit_step(axo_testkit *kit, uint64_t turns_max);
AXO_API uint64_t axo_testkit_run(axo_testkit *kit);

/* Moves the clock forward, from timer to timer, and runs what becomes due on the way.
 *   ns        0 or more; AXO_TESTKIT_FOREVER: until nothing is left to do
 *   returns   how many turns were run */
AXO_API uint64_t axo_testkit_advance(axo_testkit *kit, int64_t ns);

/* From now on `skip` allocations of the system succeed and the `count` after them fail; 0, 0: all
 * succeed again. Messages to probes that find no memory are lost. */
AXO_API void axo_testkit_fail_memory(axo_testkit *kit, uint64_t skip, uint64_t count);

/* Why the last expectation was not met, in one line; "" if it was. Until the next call. */
AXO_API const char *axo_testkit_why(axo_testkit *kit);

/* ---- probes ---------------------------------------------------------------------------------- */

/* An actor, child of /user, that keeps whatever it is sent, AXO_TERMINATED and the like included.
 *   name      as axo_props.name
 *   returns   NULL: axo_testkit_why says why; it lives as long as the kit */
AXO_API axo_probe *axo_probe_new(axo_testkit *kit, const char *name);

/* The probe's reference, for others to send to. */
AXO_API axo_ref axo_probe_ref(const axo_probe *probe);

/* Sends from the probe; axo_probe_reply to the sender of what was received last. Both only send;
 * the next wait, or axo_testkit_run, runs. Returns as axo_system_send. */
AXO_API axo_status axo_probe_send(axo_probe *probe, axo_ref to, uint32_t tag, const void *payload,
                                  size_t size);
AXO_API axo_status axo_probe_reply(axo_probe *probe, uint32_t tag, const void *payload,
                                   size_t size);

/* Has the probe watch an actor, and runs.
 *   returns   as axo_watch */
AXO_API axo_status axo_probe_watch(axo_probe *probe, axo_ref ref);

/* Waits at most `within_ns` of the kit's clock for the next message, and takes it.
 *   returns   the message: until the next call with this probe; NULL: none came */
AXO_API const axo_message *axo_probe_receive(axo_probe *probe, int64_t within_ns);

/* As axo_probe_receive; NULL too if the next one has another tag, which is taken all the same. */
AXO_API const axo_message *axo_probe_expect(axo_probe *probe, uint32_t tag, int64_t within_ns);

/* The next one must be AXO_TERMINATED of `ref`. */
AXO_API bool axo_probe_expect_terminated(axo_probe *probe, axo_ref ref, int64_t within_ns);

/* Nothing may come for `for_ns`: what does is not taken. */
AXO_API bool axo_probe_expect_none(axo_probe *probe, int64_t for_ns);

/* How many messages it has that nobody has taken. Runs nothing. */
AXO_API uint32_t axo_probe_waiting(const axo_probe *probe);

AXO_END_DECLS

#endif
