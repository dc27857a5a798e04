/* options.c - structs from older and newer callers: checked in full before anything is made.
 *
 * A struct that is used later through the program's pointer (class, strategy, back-off) must be at
 * least as long as this library's: a shorter one is AXO_EVERSION, because a copy of it would have
 * to be kept for every actor. Structs that are copied at once may be shorter. */
#include "system/options.h"

#include <string.h>

#include <axo/demand.h>
#include <axo/metrics.h>

#include "sched/contain.h"
#include "sched/kinds.h"
#include "system/system.h"
#include "system/walls.h"

axo_status axo__struct_room(const void *to, size_t size, size_t *room)
{
    size_t given;
    memcpy(&given, to, sizeof given);
    if (given < sizeof given)
        return AXO_EINVAL; /* the program has zeroed the struct by hand, without its macro */
    /* A longer struct passes if its unknown tail is zero: zero is the default of every member to
     * come. */
    for (size_t i = size; i < given; i++) {
        if (((const unsigned char *)to)[i] != 0)
            return AXO_EVERSION;
    }
    *room = given < size ? given : size;
    return AXO_OK;
}

axo_status axo__struct_read(const void *from, void *to, size_t size)
{
    size_t known;
    axo_status status = axo__struct_room(from, size, &known);
    if (status != AXO_OK)
        return status;
    memset(to, 0, size);
    memcpy(to, from, known);
    /* The copy says its own size: code behind the door never asks again which version it has. */
    memcpy(to, &size, sizeof size);
    return AXO_OK;
}

static bool options_within(int64_t value, int64_t least, int64_t most)
{
    return value >= least && value <= most;
}

/* Members of the other kind must be zero: a value there is a mistake that would do nothing. */
static bool options_exponential(const axo_backoff *backoff)
{
    bool factor = backoff->factor == 0 || (backoff->factor >= 1 && backoff->factor <= 1e9);
    bool jitter = backoff->jitter >= 0 && backoff->jitter <= 1;
    return factor && jitter && backoff->window_ns == 0 && backoff->noise_ns == 0 &&
           options_within(backoff->max_ns, backoff->min_ns, AXO_BACKOFF_MAX);
}

static bool options_linear(const axo_backoff *backoff)
{
    bool most = backoff->max_ns == 0 ||
                options_within(backoff->max_ns, backoff->min_ns, AXO_BACKOFF_MAX);
    return most && backoff->factor == 0 && backoff->jitter == 0 && backoff->reset_after_ns == 0 &&
           backoff->window_ns != 0 && options_within(backoff->noise_ns, 0, AXO_BACKOFF_MAX);
}

axo_status axo_backoff_check(const axo_backoff *backoff)
{
    axo_backoff copy;
    if (backoff == NULL)
        return AXO_EINVAL;
    axo_status status = axo__struct_read(backoff, &copy, sizeof copy);
    if (status != AXO_OK)
        return status;
    if (copy.reserved != 0 || !options_within(copy.min_ns, 1, AXO_BACKOFF_MAX))
        return AXO_EINVAL;
    bool good = copy.kind == AXO_BACKOFF_EXPONENTIAL ? options_exponential(&copy)
                : copy.kind == AXO_BACKOFF_LINEAR    ? options_linear(&copy)
                                                     : false;
    if (!good)
        return AXO_EINVAL;
    return backoff->size >= sizeof copy ? AXO_OK : AXO_EVERSION;
}

static axo_status options_check_strategy(const axo_strategy *strategy)
{
    axo_strategy copy;
    if (strategy == NULL)
        return AXO_OK;
    axo_status status = axo__struct_read(strategy, &copy, sizeof copy);
    if (status != AXO_OK)
        return status;
    if (copy.scope > AXO_REST_FOR_ONE || copy.window > AXO_WINDOW_SLIDING ||
        copy.answer_failed > 1)
        return AXO_EINVAL;
    if (copy.window == AXO_WINDOW_SLIDING &&
        (copy.limited == 0 || copy.retries_max < 0 || copy.retries_max >= AXO_SLIDING_MAX))
        return AXO_EINVAL;
    status = copy.backoff != NULL ? axo_backoff_check(copy.backoff) : AXO_OK;
    if (status != AXO_OK)
        return status;
    /* The program's own struct is used later: it must be whole. */
    return strategy->size >= sizeof copy ? AXO_OK : AXO_EVERSION;
}

axo_status axo__class_check(const axo_class *cls)
{
    axo_class copy;
    axo_status status = AXO_OK;
    bool whole = cls->size == sizeof copy; /* most classes are whole: no copy */
    if (!whole)
        status = axo__struct_read(cls, &copy, sizeof copy);
    if (status != AXO_OK)
        return status;
    const axo_class *read = whole ? cls : &copy;
    /* An actor without receive could not run; state blocks come from the pool or the heap with the
     * same bound as payloads. */
    if (read->receive == NULL || read->state_size > AXO_PAYLOAD_MAX ||
        read->on_crash > AXO_CRASH_FAILS ||
        (read->watchdog_ms != 0 && read->on_crash != AXO_CRASH_FAILS))
        return AXO_EINVAL;
    return cls->size >= sizeof copy ? AXO_OK : AXO_EVERSION;
}

/* A drop or park needs a bound; a patience needs park; a priority queue has no oldest message to
 * drop. Each of these would be ignored in silence otherwise. */
static axo_status options_check_mailbox(const axo_mailbox *mailbox)
{
    axo_mailbox copy;
    if (mailbox == NULL)
        return AXO_OK;
    axo_status status = axo__struct_read(mailbox, &copy, sizeof copy);
    if (status != AXO_OK)
        return status;
    bool bounded = copy.messages_max != 0 || copy.bytes_max != 0;
    if (copy.kind > AXO_MAILBOX_CONTROL || copy.overflow > AXO_OVERFLOW_PARK ||
        (copy.kind == AXO_MAILBOX_FIFO) != (copy.priority == NULL) ||
        (copy.overflow != AXO_OVERFLOW_REFUSE && !bounded) || copy.park_ns < 0 ||
        (copy.overflow != AXO_OVERFLOW_PARK && copy.park_ns != 0) ||
        (copy.kind == AXO_MAILBOX_PRIORITY && copy.overflow == AXO_OVERFLOW_DROP_OLD))
        return AXO_EINVAL;
    return AXO_OK;
}

axo_status axo__props_read(const axo_props *from, axo_props *to)
{
    size_t at = 0;
    if (from == NULL)
        return AXO_EINVAL;
    axo_status status = AXO_OK;
    /* A struct of this library's own size is copied in one piece: the common case of every
     * spawn. */
    if (axo__likely(from->size == sizeof *to))
        *to = *from;
    else
        status = axo__struct_read(from, to, sizeof *to);
    if (status != AXO_OK)
        return status;
    if (to->cls == NULL || to->dispatcher >= AXO__DISPATCHERS || to->system_actor > 1 ||
        to->lifetime > AXO_TEMPORARY || to->memory_fails > 1 || to->memory_reserved != 0 ||
        to->args_size > AXO_ARGS_MAX || (to->args_size > 0 && to->args == NULL) ||
        to->outstanding_bytes > AXO_DEMAND_MAX ||
        to->outstanding_answer > (to->outstanding_bytes != 0 ? AXO_DEMAND_MAX : 0))
        return AXO_EINVAL;
    status = axo__class_check(to->cls);
    if (status == AXO_OK)
        status = options_check_strategy(to->strategy);
    if (status == AXO_OK)
        status = options_check_mailbox(to->mailbox);
    if (status == AXO_OK && to->name != NULL)
        status = axo__name_check(to->name, &at);
    return status;
}

/* SH-10: letters, digits, and '-' or '_' behind the first character. */
static axo_status options_check_name(const char *name)
{
    size_t length = 0;
    for (; name[length] != 0; length++) {
        char c = name[length];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        bool joint = length > 0 && (c == '-' || c == '_');
        if (length == AXO_NAME_MAX || !(word || joint))
            return AXO_ENAME;
    }
    return length > 0 ? AXO_OK : AXO_ENAME;
}

/* Checks and completes the members for dead letters and failures. */
static axo_status options_read_lines(axo_options *to)
{
    if (to->no_dead_letter_log > 1 || to->dead_letter_log_at_stop > 1 ||
        to->failure_window_ns < 0 || to->reserved_log != 0 ||
        to->no_dead_letters_kept > 1 || to->dead_letter_window_ns < 0 ||
        to->dead_letters_kept > 65536)
        return AXO_EINVAL;
    if (to->dead_letter_log == 0)
        to->dead_letter_log = 5;
    if (to->dead_letter_window_ns == 0)
        to->dead_letter_window_ns = INT64_C(300000000000);
    if (to->dead_letters_kept == 0)
        to->dead_letters_kept = 64;
    if (to->failure_log == 0)
        to->failure_log = 5;
    if (to->failure_window_ns == 0)
        to->failure_window_ns = INT64_C(300000000000);
    return AXO_OK;
}

/* Checks and completes what shows the system. A board's path is copied, so it has a bound; a number
 * of records without a board would do nothing. */
static axo_status options_read_shown(axo_options *to)
{
    size_t length = to->board != NULL ? strnlen(to->board, AXO__BOARD_PATH_MAX) : 0;
    bool none = to->board == NULL && to->board_actors == 0;
    bool good = length > 0 && length < AXO__BOARD_PATH_MAX &&
                to->board_actors <= AXO__BOARD_ACTORS_MAX;
    if ((!none && !good) || to->board_reserved != 0 || to->figures > AXO_FIGURES_TIMES ||
        to->figures_reserved != 0)
        return AXO_EINVAL;
    if (to->board != NULL && to->board_actors == 0)
        to->board_actors = AXO__BOARD_ACTORS;
    return AXO_OK;
}

/* A user without a function to be given to would do nothing; so would a function that is asked for
 * visits where nobody visits. */
static bool options_read_threads(const axo_options *from)
{
    bool lent = from->threads == AXO_THREADS_LENT;
    bool asks = from->on_work != NULL || from->work_user != NULL;
    if (from->threads > AXO_THREADS_LENT || (lent && from->manual != AXO_MANUAL_NONE) ||
        (asks && !lent) || (from->work_user != NULL && from->on_work == NULL))
        return false;

    bool none = from->thread_start == NULL && from->thread_stop == NULL;
    if (none && from->thread_user != NULL)
        return false;
    return from->thread_stack == 0 || (from->thread_stack >= AXO_THREAD_STACK_MIN &&
                                       from->thread_stack <= UINT64_C(1) << 40);
}

/* Checks and completes the members for the governor; a window without a bound would do nothing. */
static axo_status options_read_storm(axo_options *to)
{
    bool none = to->storm_max == 0 && to->storm_window_ns == 0;
    if (to->storm_max > 0 && to->storm_window_ns == 0)
        to->storm_window_ns = INT64_C(1000000000);
    bool good = to->storm_max > 0 &&
                options_within(to->storm_window_ns, to->storm_max, AXO__STORM_WINDOW_MAX);
    return (none || good) && to->storm_reserved == 0 ? AXO_OK : AXO_EINVAL;
}

/* Checks and completes what is done about crashes: a bound without `contain` would do nothing. */
static axo_status options_read_crashes(axo_options *to)
{
    bool bounds = to->crashes_max != 0 || to->crash_window_ns != 0;
    if (to->contain > 1 || (bounds && to->contain == 0) || to->crashes_max > AXO__CRASHES_MAX ||
        to->crash_window_ns < 0)
        return AXO_EINVAL;
    if (to->contain != 0 && to->crashes_max == 0)
        to->crashes_max = 100;
    if (to->contain != 0 && to->crash_window_ns == 0)
        to->crash_window_ns = INT64_C(60000000000);
    return AXO_OK;
}

/* Half an allocator would mix the program's memory with malloc's, and of two one would do
 * nothing. */
static bool options_read_allocators(const axo_options *from)
{
    const axo_kind_allocator *by_kind = &from->kind_allocator;
    bool half = (from->allocator.alloc == NULL) != (from->allocator.free == NULL) ||
                (by_kind->alloc == NULL) != (by_kind->free == NULL);
    bool both = from->allocator.alloc != NULL && by_kind->alloc != NULL;
    return !half && !both && (by_kind->user == NULL || by_kind->alloc != NULL);
}

bool axo__node_is_good(const axo_node *node)
{
    return node->name[0] != 0 && memchr(node->name, 0, sizeof node->name) != NULL;
}

/* boot.c copies the table. */
static axo_status options_check_remote(const axo_options *to)
{
    axo_remote remote;
    if (to->remote == NULL)
        return to->remote_user == NULL ? AXO_OK : AXO_EINVAL;
    axo_status status = axo__struct_read(to->remote, &remote, sizeof remote);
    if (status != AXO_OK)
        return status;
    int functions = (remote.send != NULL) + (remote.watch != NULL) +
                    (remote.unwatch != NULL) + (remote.terminated != NULL);
    bool nodes = functions == 4 && remote.here.incarnation != 0;
    bool alone = functions == 0 && remote.here.incarnation == 0 && remote.stray != NULL;
    if (!nodes)
        return alone ? AXO_OK : AXO_EINVAL;
    return axo__node_is_good(&remote.here) ? AXO_OK : AXO_ENAME;
}

axo_status axo__options_read(const axo_options *from, axo_options *to)
{
    memset(to, 0, sizeof *to);
    if (from != NULL) {
        axo_status status = axo__struct_read(from, to, sizeof *to);
        if (status != AXO_OK)
            return status;
    }
    if (!options_read_allocators(to) || to->workers > AXO_WORKERS_MAX || to->quantum > 65536 ||
        to->quantum_us > 1000000 || to->actors_max > AXO__ACTORS_MAX ||
        to->failure_texts > UINT32_C(1) << 20 || to->registry_max > UINT32_C(1) << 20 ||
        to->blocking_max > 1024 || to->manual > AXO_MANUAL_DEFAULT ||
        to->no_quantum_us > 1 || (to->no_quantum_us && to->quantum_us != 0) ||
        !options_read_threads(to) || to->trace_kinds >> AXO_EVENT_KINDS != 0)
        return AXO_EINVAL;
    axo_status status = options_check_strategy(to->user_strategy);
    if (status == AXO_OK)
        status = options_read_lines(to);
    if (status == AXO_OK)
        status = axo__options_walls(to);
    if (status == AXO_OK)
        status = options_check_remote(to);
    if (status == AXO_OK)
        status = options_read_shown(to);
    if (status == AXO_OK)
        status = options_read_storm(to);
    if (status == AXO_OK)
        status = options_read_crashes(to);
    if (to->name == NULL)
        to->name = "axo";
    if (status == AXO_OK)
        status = options_check_name(to->name);
    if (status != AXO_OK)
        return status;
    if (to->workers == 0)
        to->workers = axo__os_cpus();
    if (to->workers > AXO_WORKERS_MAX)
        to->workers = AXO_WORKERS_MAX;
    /* A manual system has the one worker that the host's thread plays. */
    if (to->manual)
        to->workers = 1;
    if (to->blocking_max == 0)
        to->blocking_max = 64;
    if (to->blocking_idle_ms == 0)
        to->blocking_idle_ms = 10000;
    if (to->stuck_ns == 0)
        to->stuck_ns = INT64_C(1000000000);
    if (to->quantum_us == 0)
        to->quantum_us = 100;
    if (to->actors_max == 0)
        to->actors_max = UINT32_C(1) << 22;
    if (to->failure_texts == 0)
        to->failure_texts = 1024;
    if (to->registry_max == 0)
        to->registry_max = 4096;
    if (to->timers_max == 0)
        to->timers_max = UINT32_C(1) << 20;
    if (to->trace_kinds == 0)
        to->trace_kinds = AXO_EVENT_BIT(AXO_EVENT_KINDS) - 1;
    /* Never 0, so that axo_options.seed can give the run back. */
    if (to->seed == 0)
        to->seed = axo__os_entropy() | 1;
    return AXO_OK;
}
