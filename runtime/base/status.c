/* status.c - texts: statuses, the names of enums, the version.
 *
 * All texts come from the lists of the public headers, so a new status or event cannot lack one. */
#include <axo/log.h>
#include <axo/status.h>
#include <axo/supervision.h>
#include <axo/trace.h>
#include <axo/version.h>

const char *axo_status_name(axo_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, text)                                                             \
    case name:                                                                                     \
        return #name;
        AXO_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "AXO_?";
}

const char *axo_status_text(axo_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, text)                                                             \
    case name:                                                                                     \
        return text;
        AXO_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

const char *axo_event_name(uint32_t kind)
{
    static const char *const names[] = {
#define EVENT_NAME(word, name, arg) name,
        AXO_EVENT_LIST(EVENT_NAME)
#undef EVENT_NAME
    };
    return kind < AXO_EVENT_KINDS ? names[kind] : "?";
}

/* ---- enums of supervision and of the log ---- */

#define STATUS_NAME(names, number)                                                                 \
    ((number) < sizeof(names) / sizeof(names)[0] && (names)[number] != NULL ? (names)[number] : "?")

const char *axo_failure_kind_name(uint32_t kind)
{
    static const char *const names[] = {
        [AXO_FAILURE_NONE] = "none",
        [AXO_FAILURE_ORDINARY] = "ordinary",
        [AXO_FAILURE_INIT] = "init",
        [AXO_FAILURE_POST_RESTART] = "post_restart",
        [AXO_FAILURE_KILLED] = "killed",
        [AXO_FAILURE_DEATH_PACT] = "death_pact",
        [AXO_FAILURE_FATAL] = "fatal",
        [AXO_FAILURE_ENDED] = "ended",
        [AXO_FAILURE_CRASH] = "crash",
        [AXO_FAILURE_STUCK] = "stuck",
        [AXO_FAILURE_MEMORY] = "memory",
    };
    return STATUS_NAME(names, kind);
}

const char *axo_site_name(uint32_t site)
{
    static const char *const names[] = {
        [AXO_SITE_NONE] = "none",
        [AXO_SITE_CONSTRUCT] = "construct",
        [AXO_SITE_PRE_START] = "pre_start",
        [AXO_SITE_RECEIVE] = "receive",
        [AXO_SITE_DECIDER] = "decider",
        [AXO_SITE_POST_RESTART] = "post_restart",
        [AXO_SITE_SETTLE] = "settle",
        [AXO_SITE_MIGRATE] = "migrate",
    };
    return STATUS_NAME(names, site);
}

const char *axo_directive_name(uint32_t directive)
{
    static const char *const names[] = {NULL,   "resume",   "restart",
                                        "stop", "escalate", "later"};
    return STATUS_NAME(names, directive);
}

const char *axo_log_level_name(uint32_t level)
{
    static const char *const names[] = {NULL, "error", "warning", "info"};
    return STATUS_NAME(names, level);
}

const char *axo_log_event_name(uint32_t event)
{
    static const char *const names[] = {
#define EVENT_NAME(word, value, name) [word] = (name),
        AXO_LOG_EVENT_LIST(EVENT_NAME)
#undef EVENT_NAME
    };
    return STATUS_NAME(names, event);
}

/* ---- the version ---- */

#define STATUS_TEXT(x) #x
#define STATUS_VERSION(major, minor, patch)                                                        \
    STATUS_TEXT(major) "." STATUS_TEXT(minor) "." STATUS_TEXT(patch)

const char *axo_version(void)
{
    return STATUS_VERSION(AXO_VERSION_MAJOR, AXO_VERSION_MINOR, AXO_VERSION_PATCH);
}
