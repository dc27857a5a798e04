/* metrics.h - the figures of a system as text: <axo/metrics.h>. */
#ifndef AXO__SYSTEM_METRICS_H
#define AXO__SYSTEM_METRICS_H

#include <axo/metrics.h>

#include "system/system.h"

/* Writes all of them; what `write` returned. The caller holds no lock and no door. */
axo_status axo__metrics_write(axo_system *system, axo_metrics_format format,
                              axo_metrics_write_fn write, void *user);

/* As axo_metrics_classes. There are figures. */
axo_status axo__metrics_classes(axo_system *system, axo_metrics_class_fn fn, void *user);

#endif
