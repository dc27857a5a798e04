/* system.c - whose process a system is in. */
#include "system/system.h"

axo_status axo__system_away(const axo_system *system)
{
    if (*system->home.word != AXO__HOME_FORKED)
        axo__misuse("a call on a system that axo_system_destroy has freed");
    return AXO_EFORKED;
}

axo_status axo__no_caller(void)
{
    const axo__worker *worker = axo__self != NULL ? axo__self : axo__away;
    const axo_system *system = worker != NULL ? worker->local.core->system : NULL;
    return system != NULL && !axo__os_at_home(&system->home) ? AXO_EFORKED : AXO_ECONTEXT;
}
