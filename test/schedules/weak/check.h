/* check.h - a stateless checker for weak memory: a few fibers on one thread, every execution of
 * them that the memory model and a bound on pre-emptions allow.
 *
 * Each atomic location keeps its stores in modification order. A load may return any of them that
 * coherence and happens-before leave; a store may be put anywhere in the order where they leave
 * room; a read-modify-write reads a store that no other has read, and stands right behind it. What
 * happens before what is kept in clocks, one entry a fiber: release and acquire, release sequences
 * (the head and read-modify-writes, as in C++20), fences of these two kinds. Of the seq_cst
 * operations a graph is kept, the order "psc" of RC11, and whatever would close a circle in it is
 * not offered. So these are the executions of RC11 in which program order and reads-from together
 * have no circle.
 *
 * All choices - who runs next, which store a load reads, where a store goes, and what a scenario
 * asks itself - are one list of small numbers, counted through like an odometer. The list repeats
 * an execution.
 *
 * Not explored: load buffering and what comes out of thin air (a load never returns a store that
 * has not been made yet); seq_cst fences; mixed sizes; CAS that fails for no reason. A store goes
 * behind all others unless the scenario asks for more (`places`): this shows only where two fibers
 * store to one word without reading it. Plain memory is checked where a scenario says so, by
 * weak_wrote and weak_reads; the rest of it always shows what was written last.
 */
#ifndef AXO_TEST_WEAK_CHECK_H
#define AXO_TEST_WEAK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"

#define WEAK_FIBERS 4

enum {
    WEAK_ACQUIRE = 1,
    WEAK_RELEASE = 2,
    WEAK_SEQ_CST = 4
};

/* A call of an atomic operation in the source. */
typedef struct weak_site {
    const char *file;
    const char *func;
    const char *op;
    int line;
    uint8_t order;          /* as it is written */
    uint8_t now;            /* as it is checked: a mutant's is weaker */
    bool known;
    bool product;
    uint64_t hits;
    struct weak_site *next; /* of those that have been reached */
} weak_site;

#define WEAK_SITE(name, how)                                                                       \
    (__extension__({                                                                               \
        static weak_site site_ = {.file = __FILE__, .func = __func__, .op = name,                  \
                                  .line = __LINE__, .order = (how), .now = (how)};                 \
        &site_;                                                                                    \
    }))

/* ---- operations; `size` is 4 or 8 ---- */

typedef enum weak_rmw {
    WEAK_ADD = 0,
    WEAK_OR = 1,
    WEAK_AND = 2,
    WEAK_XCHG = 3
} weak_rmw;

uint64_t weak_load(const void *at, uint32_t size, weak_site *site);
void weak_store(void *at, uint32_t size, uint64_t value, weak_site *site);
uint64_t weak_change(void *at, uint32_t size, weak_rmw how, uint64_t operand, weak_site *site);
bool weak_cas(void *at, uint32_t size, uint64_t *expected, uint64_t desired, weak_site *site);
void weak_fence(uint8_t order);

/* ---- plain memory ---- */

/* This fiber writes or reads what lies there: reported if another's access is not ordered to it. */
void weak_wrote(const void *at);
void weak_reads(const void *at);

/* Atomics there were initialised plainly by this fiber just now: who reaches them must know. */
void weak_born(const void *at, size_t size);

/* What a location is called in a trace. */
void weak_name(const void *at, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- scenarios ---- */

/* Whose rules hold: those of C11 alone; or what x86-64, or aarch64, promises beyond them. */
typedef enum weak_rules {
    WEAK_C11 = 0,
    WEAK_X86 = 1, /* read-modify-writes are full barriers, loads acquire, stores release */
    /* A seq_cst read-modify-write (its `stlxr`, or the write of an `ldaddal`) and the seq_cst load
     * or read-modify-write that follows it in the fiber (`ldar`, `ldaxr`; no `ldapr`) are a
     * barrier: what is before the one comes before what is after the other. The rest is C11. This
     * is exact where no other load stands between the two. */
    WEAK_ARM = 2
} weak_rules;

/* What a scenario rests on that needs more than C11: the rules of the processor whose code is
 * checked (base/config.h: AXO__CK_RIGHT). */
#define WEAK_HERE (AXO__CK_RIGHT ? WEAK_X86 : WEAK_ARM)

typedef struct weak_scenario {
    const char *name;
    const char *what;
    void (*setup)(void);                /* alone, before the fibers */
    void (*fibers[WEAK_FIBERS])(void);
    void (*check)(void);                /* alone, after them; NULL: nothing to check */
    uint32_t bound;                     /* pre-emptions */
    bool places;                        /* stores may go before others */
    weak_rules rules;
    bool fails;                         /* a canary: it must be found wrong */
} weak_scenario;

/* Which of so many. */
uint32_t weak_choose(uint32_t count);

/* Waits; `ready` looks at what was written last. Does not order anything. */
void weak_wait(bool (*ready)(void *user), void *user);

/* The same, with a deadline: it passes when nobody else can run. false: it has passed. */
bool weak_wait_timed(bool (*ready)(void *user), void *user);

/* It goes round without having got further: waits until somebody else has done something, and from
 * now on reads what was stored last. So who spins sees what he spins for, in the end. */
void weak_spin(void);

/* It has got further: it may read old stores again. */
void weak_unspin(void);

/* The number of this fiber, from 1; 0 in setup and check. */
uint32_t weak_self(void);

/* Whether this address is on a fiber's stack. */
bool weak_on_stack(const void *at);

/* Knowledge passes from one to another without memory: what a lock or a grace period does. */
typedef struct weak_knot {
    uint16_t clock[8];
} weak_knot;
void weak_give(weak_knot *knot);
void weak_get(const weak_knot *knot);

/* The execution is wrong. */
void weak_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#define weak_expect(c) ((c) ? (void)0 : weak_fail("line %d: not so: %s", __LINE__, #c))

/* ---- the driver ---- */

typedef struct weak_result {
    uint64_t executions;
    uint64_t operations;
    double seconds;
    bool failed;
    bool complete;
    char why[256];
    char choices[1024]; /* of the failing one; replays it */
} weak_result;

/* Explores until the end, the first failure, or `limit` executions. */
weak_result weak_explore(const weak_scenario *scenario, uint64_t limit);

/* Whether the choices of a failure lead to the same failure again. */
bool weak_repeats(const weak_scenario *scenario, const weak_result *result);

/* Runs one execution and prints it. false: it failed. */
bool weak_replay(const weak_scenario *scenario, const char *choices);

/* Those that have been reached, of the product; NULL: none. */
weak_site *weak_sites(void);

#endif
