/* axo.h - everything. */
#ifndef AXO_AXO_H
#define AXO_AXO_H

#include <axo/actor.h>
#include <axo/ask.h>
#include <axo/backoff.h>
#include <axo/backoff_supervisor.h>
#include <axo/dispatcher.h>
#include <axo/event.h>
#include <axo/export.h>
#include <axo/find.h>
#include <axo/graceful.h>
#include <axo/inspect.h>
#include <axo/machine.h>
#include <axo/mailbox.h>
#include <axo/message.h>
#include <axo/phases.h>
#include <axo/ref.h>
#include <axo/registry.h>
#include <axo/router.h>
#include <axo/stash.h>
#include <axo/stats.h>
#include <axo/status.h>
#include <axo/supervision.h>
#include <axo/system.h>
#include <axo/testkit.h>
#include <axo/time.h>
#include <axo/trace.h>
#include <axo/verdict.h>
#include <axo/version.h>
#include <axo/watch.h>

#endif
