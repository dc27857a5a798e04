/* status.c - texts: statuses, event names, the version.
 *
 * All texts come from the lists of the public headers, so a new status or event cannot lack one. */
#include <axo/status.h>
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

#define STATUS_TEXT(x) #x
#define STATUS_VERSION(major, minor, patch)                                                        \
    STATUS_TEXT(major) "." STATUS_TEXT(minor) "." STATUS_TEXT(patch)

const char *axo_version(void)
{
    return STATUS_VERSION(AXO_VERSION_MAJOR, AXO_VERSION_MINOR, AXO_VERSION_PATCH);
}
