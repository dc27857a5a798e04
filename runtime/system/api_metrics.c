/* api_metrics.c - the door for <axo/metrics.h>. */
#include "sched/figures.h"
#include "system/metrics.h"
#include "system/system.h"

axo_status axo_metrics_classes(axo_system *system, axo_metrics_class_fn fn, void *user)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    if (fn == NULL)
        return AXO_EINVAL;
    return system->core.figures != NULL ? axo__metrics_classes(system, fn, user) : AXO_ENOENT;
}

int64_t axo_metrics_bound(uint32_t bucket)
{
    return bucket < AXO_METRICS_BUCKETS ? axo__figures_bound(bucket) : 0;
}

axo_status axo_metrics_write(axo_system *system, uint32_t format, axo_metrics_write_fn write,
                             void *user)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    if (write == NULL || format > AXO_METRICS_PROMETHEUS)
        return AXO_EINVAL;
    return axo__metrics_write(system, (axo_metrics_format)format, write, user);
}
