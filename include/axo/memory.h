/* memory.h - an instance's heap: blocks that are given back one by one or all at the instance's
 * end, bounds for it, and walls that find who writes where he may not. A whole program is
 * test/example/memory.c.
 *
 * axo_alloc (actor.h) and the functions here are of one heap: the running instance's. It goes with
 * the instance, however that ends; what was given back before is used again for later blocks, and
 * when the last block is given back, so is the memory. It may be handed to another actor by no
 * means: axo_free there is a failure, and the block goes when its instance does.
 *
 * A misuse that is found is a failure of the callback that it is found in: the callback fails when
 * it returns, whatever it returns, with AXO_FAILURE_MEMORY and a text that says what was found, the
 * block and its size, the class, and the actor's path; the default decider restarts. What is found
 * when nothing can fail any more, because the instance has failed already or ends, is a line of
 * the log (AXO_LOG_FAILURE_AGAIN). Of a block that is no living one of the instance nothing is
 * read but the 8 bytes before it, and nothing is changed; where no memory is at that address, that
 * is a crash. */
#ifndef AXO_MEMORY_H
#define AXO_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <axo/actor.h>
#include <axo/export.h>

/* The environment's variables of a program that starts a system. AXO_WALLS asks for more walls: a
 * list of names of axo_wall, in small letters with commas between, or empty; another name is
 * AXO_EINVAL of axo_system_start. AXO_WALLS_CLASS, if it is set and not empty, stands for
 * axo_options.walls_class. So a program is looked at as it is:
 *
 *     AXO_WALLS=guard,freeze AXO_WALLS_CLASS=connection ./server */
#define AXO_WALLS "AXO_WALLS"
#define AXO_WALLS_CLASS "AXO_WALLS_CLASS"

/* Walls: debug modes of any build (axo_options.walls).
 *
 *   CANARY      8 bytes behind each block, state and payload, which are looked at when the block is
 *               given back, when the payload has been handled or a draft is sent, when the actor
 *               has failed, and at the instance's end: a write past the end of up to 8 bytes is
 *               found, and whose it was. Debug builds of the library have it for blocks unasked;
 *               for states and payloads they are asked as others are, so that births and messages
 *               go the way there that they go in a release
 *   FREED       blocks that are given back are filled and not used again at once: 250 of them, at
 *               most 256 KiB; a write to one is found as it leaves, when the actor has failed, or
 *               at the instance's end. Blocks of more than 4 KiB are given back at once
 *   GUARD       each block, state and payload ends where a page begins that is not there, and what
 *               was given back is not there for a while: a write or a read past the end, or after
 *               the end, is SIGSEGV at that instruction. The end of a size that is no multiple of
 *               16 is looked at as a canary is, as far as 16 goes
 *   FREEZE      a payload that was copied may be read only, from the send to the end of its
 *               handling: who writes to it, its receiver or a sender who has kept the pointer of a
 *               draft, gets SIGSEGV at that instruction
 *
 * With GUARD and FREEZE a block takes two pages or more and some microseconds, and the operating
 * system bounds how many pages may differ (65530 as it comes; then there is no memory). Bounds
 * (axo_props.memory_max) count the blocks, not the pages. Payloads are walled that actors of the
 * class send by axo_send and its kin and by drafts, and, where every class is meant, those that
 * are sent from outside; not those of timers, of watches, of messages sent to a path, of groups, of
 * axo_send_many if all share one copy, of events, of the library's own messages, nor what is handed
 * over and not copied.
 *
 * With axo_options.contain a SIGSEGV at a wall is a crash of the actor that has touched it, as any
 * other (crash.h): a failure, if its class asks for that. */
typedef enum axo_wall {
    AXO_WALL_CANARY = 1,
    AXO_WALL_FREED = 2,
    AXO_WALL_GUARD = 4,
    AXO_WALL_FREEZE = 8
} axo_wall;

/* What the running instance holds: chunks that its blocks are cut from (512 bytes to 64 KiB each),
 * blocks of more than 4 KiB, which are apart, and its state with the copy of args. In bytes.
 * Timers, the stash, watches and messages are not in it. */
typedef struct axo_memory {
    size_t held;
    size_t held_most; /* the most that it has held since it was constructed */
    size_t held_max;  /* axo_props.memory_max; 0: no bound */
    size_t tree_held; /* with tree_max: the actor and all below it */
    size_t tree_max;  /* axo_props.memory_tree_max; 0: no bound */
    uint64_t blocks;  /* of the program, that live */
    uint64_t reserved[2]; /* 0 */
} axo_memory;

AXO_BEGIN_DECLS

/* Gives a block of the running instance back: of axo_alloc, axo_realloc or axo_must_alloc. NULL:
 * nothing happens, as with a bad context. What is no living block of the instance is a failure of
 * the callback (AXO_FAILURE_MEMORY, code AXO_EINVAL), and nothing is freed; so is a block that
 * somebody has written past, with a wall. A block of more than 4 KiB that was given back before may
 * be no memory any more, and a second axo_free of it a crash; with GUARD that is a failure, too.
 *   thread    only the callback that was given `ctx`
 *   blocks    no */
AXO_API void axo_free(axo_ctx *ctx, void *block);

/* Gives a block of the running instance another size, in bytes; what both sizes have in common
 * keeps its content. A block of NULL is axo_alloc; a size of 0 is axo_free, and NULL.
 *   thread    only the callback that was given `ctx`
 *   owns      on success only the new address is a block
 *   returns   NULL: no memory, a bound, or a bad context: the block is as it was; or, with a
 *             failure as of axo_free, no block of the instance. While a block is moved both sizes
 *             count */
AXO_API void *axo_realloc(axo_ctx *ctx, void *block, size_t size);

/* As axo_alloc, and never NULL: without memory it fails at once, as axo_throw does, with
 * AXO_FAILURE_MEMORY and code AXO_ENOMEM; for size 0 with code AXO_EINVAL. With a context that is
 * not of a callback that can fail it aborts the process. */
AXO_API void *axo_must_alloc(axo_ctx *ctx, size_t size);

/* What the running instance holds; zeros for a bad context.
 *   thread    only the callback that was given `ctx` */
AXO_API axo_memory axo_memory_of(axo_ctx *ctx);

AXO_END_DECLS

#endif
