/* system.c - whose process a system is in: the answers for calls that come from the wrong place.
 *
 * Both functions are cold. The doors test one word (axo__os_at_home) and come here only when that
 * test has failed. */
#include "system/system.h"

axo_status axo__system_away(const axo_system *system)
{
    /* The page of the word is wiped by fork. A word that says neither HERE nor FORKED belongs to a
     * system that axo_system_destroy has freed. */
    if (*system->home.word != AXO__HOME_FORKED)
        axo__misuse("a call on a system that axo_system_destroy has freed");
    return AXO_EFORKED;
}

axo_status axo__no_caller(void)
{
    /* A callback that has forked still has its worker in the child: then the fork is the reason,
     * and else a context that is none. */
    const axo__worker *worker = axo__self != NULL ? axo__self : axo__away;
    const axo_system *system = worker != NULL ? worker->local.core->system : NULL;
    return system != NULL && !axo__os_at_home(&system->home) ? AXO_EFORKED : AXO_ECONTEXT;
}
