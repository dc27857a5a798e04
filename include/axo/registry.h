/* registry.h - actors by keys that the application chooses: found by any thread, without a lock. A
 * whole program is test/example/names.c. */
#ifndef AXO_REGISTRY_H
#define AXO_REGISTRY_H

#include <axo/actor.h>

/* A key is a text of 1..AXO_KEY_MAX bytes, none of which means anything to the library. It leads to
 * one incarnation of an actor: when that has ended the key leads nowhere, and can be registered
 * anew. */
#define AXO_KEY_MAX 255

AXO_BEGIN_DECLS

/* Gives a living actor a key.
 *   thread    only the callback that was given `ctx`
 *   blocks    only for as long as another thread registers or unregisters
 *   owns      copies the key
 *   returns   AXO_OK; AXO_EEXIST: it leads to a living actor, be it this one; AXO_EGONE: `ref` has
 *             ended; AXO_ENAME: empty or too long; AXO_ELIMIT (axo_options.registry_max, keys of
 *             ended actors do not count), AXO_ENOMEM, AXO_ECONTEXT, AXO_EINVAL (none, NULL)
 *   after     on failure nothing has changed */
AXO_API AXO_NODISCARD axo_status axo_register(axo_ctx *ctx, const char *key, axo_ref ref);

/* Takes a key away, whoever has it.
 *   returns   AXO_OK; AXO_ENOENT: it led to no living actor; AXO_ENAME, AXO_ECONTEXT, AXO_EINVAL */
AXO_API axo_status axo_unregister(axo_ctx *ctx, const char *key);

/* The same from any thread. */
AXO_API AXO_NODISCARD axo_status axo_system_register(axo_system *system, const char *key,
                                                     axo_ref ref);
AXO_API axo_status axo_system_unregister(axo_system *system, const char *key);

/* The living actor that a key leads to.
 *   thread    any, actors too; a thread needs no registration
 *   blocks    never: there is no lock, and a writer that is held up in the middle holds up nobody
 *   returns   AXO_OK, AXO_ENOENT, AXO_ENAME, AXO_EINVAL (NULL)
 *   after     on failure *out is axo_ref_none() */
AXO_API axo_status axo_system_lookup(axo_system *system, const char *key, axo_ref *out);

AXO_END_DECLS

#endif
