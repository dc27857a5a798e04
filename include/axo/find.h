/* find.h - actors by their paths: looking them up, and sending to all that a pattern names. A whole
 * program is test/example/names.c. */
#ifndef AXO_FIND_H
#define AXO_FIND_H

#include <axo/actor.h>

/* A path is "/" (the root) or "/user/a/b"; from a context also relative to the caller: "a", "./a",
 * "../b", "..". A child without a name of its own is found by the one that axo_path prints.
 *
 * A pattern is a path whose segments may hold '*' (any number of characters) and '?' (one); a
 * segment of '*' matches every child. ".." may stand before the first such segment only. Both have
 * any number of segments.
 *
 * A path leads to whoever lives there now: a reference that was found stays with its incarnation,
 * the path does not. An actor is found from the moment that its spawn has returned, by its own
 * constructor too, and until it has ended; when it has, the path leads nowhere, or to the next.
 * What Akka does with an Identify message is done here by looking: axo_find answers with the
 * reference or AXO_ENOENT, axo_inspect with what it is doing, axo_watch with a notice if nobody is
 * there.
 *
 * A path costs one look-up in a hash table a segment. A pattern looks at every actor of the system
 * once, and at its parents for as many segments as match: it is for people, tools and small
 * systems. */

AXO_BEGIN_DECLS

/* The actor at a path.
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK; AXO_ENOENT: nobody; AXO_ENAME: malformed, or a pattern; AXO_ECONTEXT,
 *             AXO_EINVAL (NULL)
 *   after     on failure *out is axo_ref_none() */
AXO_API axo_status axo_find(axo_ctx *ctx, const char *path, axo_ref *out);

/* The same from any thread; the path must be absolute, else AXO_ENAME. */
AXO_API axo_status axo_system_find(axo_system *system, const char *path, axo_ref *out);

/* Every actor that a pattern matches, at most `max` of them, in no particular order. One that is
 * spawned or ends meanwhile is found or not.
 *   returns   AXO_OK, also if nobody matches; AXO_ENAME, AXO_ECONTEXT, AXO_EINVAL (NULL; `out` may
 *             be NULL with max 0)
 *   after     *count is how many match, which may be more than `max`; 0 on failure */
AXO_API axo_status axo_find_all(axo_ctx *ctx, const char *pattern, axo_ref *out, uint32_t max,
                                uint32_t *count);
AXO_API axo_status axo_system_find_all(axo_system *system, const char *pattern, axo_ref *out,
                                       uint32_t max, uint32_t *count);

/* Sends to every actor that a pattern matches, as axo_send does to one. Nobody at a path that is no
 * pattern: the message is a dead letter that names the path, with none as recipient. A pattern that
 * matches nobody is silent.
 *   returns   AXO_OK; AXO_EGONE: accepted, and dead-lettered at once, since nobody is at the path;
 *             AXO_ENAME, AXO_ECONTEXT, AXO_EINVAL (as axo_send, or NULL), AXO_ETOOBIG, AXO_ENOMEM:
 *             nothing was sent
 *   after     *count (may be NULL) is how many accepted it */
AXO_API axo_status axo_select(axo_ctx *ctx, const char *pattern, uint32_t tag, const void *payload,
                              size_t size, uint32_t *count);

/* Spawns, or gives the child that has the name already. props->name must be set.
 *   returns   as axo_spawn; AXO_OK with *created false: *out lives, whatever its class and
 *             arguments; AXO_EEXIST: it has the name and is stopping: *out is its reference, to be
 *             watched; from outside also none, if it has just ended
 *   after     on any other failure *out is axo_ref_none(); *created (may be NULL) says whether
 *             props were used */
AXO_API AXO_NODISCARD axo_status axo_spawn_or_get(axo_ctx *ctx, const axo_props *props,
                                                  axo_ref *out, bool *created);

/* The same from any thread, for a child of /user or /system. */
AXO_API AXO_NODISCARD axo_status axo_system_spawn_or_get(axo_system *system,
                                                         const axo_props *props, axo_ref *out,
                                                         bool *created);

/* Whether a name may be given to an actor: 1..AXO_NAME_MAX bytes of [A-Za-z0-9_.~+=@:-], and
 * neither "." nor "..", which mean something in a path.
 *   returns   AXO_OK; AXO_ENAME, and *at (may be NULL) is the first byte that is wrong;
 *             AXO_EINVAL (NULL) */
AXO_API axo_status axo_name_check(const char *name, size_t *at);

AXO_END_DECLS

#endif
