/* failurelog.c - which failures are worth a line. */
#include "system/failurelog.h"

#include <stdio.h>
#include <string.h>

bool axo__failures_init(axo__failures *failures, const axo_options *options)
{
    memset(failures, 0, sizeof *failures);
    failures->max = options->failure_log;
    failures->window_ns = options->failure_window_ns;
    return axo__os_mutex_init(&failures->mutex);
}

void axo__failures_fini(axo__failures *failures)
{
    axo__os_mutex_fini(&failures->mutex);
}

/* Another class may be where one was that has been unloaded. */
static bool failures_is_of(const axo__failure_sort *sort, const axo_class *cls)
{
    return sort->cls != NULL && sort->cls == cls &&
           strncmp(sort->name, axo__log_class_name(cls), sizeof sort->name - 1) == 0;
}

static bool failures_is(const axo__failure_sort *sort, const axo_log_record *record,
                        const axo_class *cls)
{
    return failures_is_of(sort, cls) && sort->code == record->code &&
           sort->event == record->event && sort->directive == record->directive;
}

/* The sort of a record, or the one whose place a new sort takes: an unused one, else the one whose
 * window began first. */
static axo__failure_sort *failures_find_locked(axo__failures *failures,
                                               const axo_log_record *record, const axo_class *cls)
{
    axo__failure_sort *oldest = &failures->sorts[0];
    for (uint32_t i = 0; i < AXO__FAILURE_SORTS; i++) {
        axo__failure_sort *sort = &failures->sorts[i];
        if (sort->cls == NULL || failures_is(sort, record, cls))
            return sort; /* sorts are used from the first one on */
        if (sort->throttle.opened < oldest->throttle.opened)
            oldest = sort;
    }
    return oldest;
}

/* The line of a sort's count, if it has one; `skipped` were left out. */
static void failures_say_count(axo__local *local, const axo__failure_sort *sort, uint64_t skipped)
{
    if (skipped == 0)
        return;
    axo_log_record record = {.level = sort->level,
                             .event = AXO_LOG_FAILURES,
                             .class_name = sort->name,
                             .code = sort->code,
                             .directive = sort->directive,
                             .count = skipped};
    axo__log(local, &record);
}

/* The sort is copied under the mutex, since its line is written without it. */
void axo__failures_take(axo__failures *failures, axo__local *local, axo_log_record *record,
                        const axo_class *cls)
{
    uint64_t skipped = 0;
    if (failures->max == UINT32_MAX) {
        axo__log(local, record);
        return;
    }
    int64_t now = axo__core_now(local->core); /* before the mutex: it may be the program's clock */
    axo__os_mutex_lock(&failures->mutex);
    axo__failure_sort *sort = failures_find_locked(failures, record, cls);
    axo__failure_sort before = *sort;
    if (!failures_is(sort, record, cls)) {
        skipped = sort->throttle.skipped;
        *sort = (axo__failure_sort){.cls = cls,
                                    .code = record->code,
                                    .event = record->event,
                                    .directive = record->directive,
                                    .level = record->level,
                                    .throttle = {.max = failures->max,
                                                 .window_ns = failures->window_ns}};
        (void)snprintf(sort->name, sizeof sort->name, "%s", axo__log_class_name(cls));
    }
    uint64_t closed = 0;
    axo__throttle_answer answer = axo__throttle_take(&sort->throttle, now, &closed);
    axo__os_mutex_unlock(&failures->mutex);
    failures_say_count(local, &before, skipped + closed);
    record->last = answer == AXO__THROTTLE_CLOSING;
    if (answer != AXO__THROTTLE_CLOSED)
        axo__log(local, record);
}

/* Copies a sort that has a count, and takes the count away; false: none has one. */
static bool failures_left_locked(axo__failures *failures, axo__failure_sort *out)
{
    for (uint32_t i = 0; i < AXO__FAILURE_SORTS; i++) {
        axo__failure_sort *sort = &failures->sorts[i];
        if (sort->throttle.skipped == 0)
            continue;
        *out = *sort;
        sort->throttle.skipped = 0;
        return true;
    }
    return false;
}

void axo__failures_say_left(axo__failures *failures, axo__local *local)
{
    axo__failure_sort sort;
    for (;;) {
        axo__os_mutex_lock(&failures->mutex);
        bool left = failures_left_locked(failures, &sort);
        axo__os_mutex_unlock(&failures->mutex);
        if (!left)
            return;
        failures_say_count(local, &sort, sort.throttle.skipped);
    }
}
