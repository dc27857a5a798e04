/* signal.c - listeners to signals: one handler, a table, an event descriptor each. */
#include "os/signal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/atomic.h"
#include "os/os.h"

#define SIGNAL_NUMBERS 65

typedef struct signal_listener {
    axo__a32 number; /* 0: the place is free */
    axo__a32 fd;
    uint32_t id; /* under the mutex, as the rest */
    bool left;   /* by its owner, for a while */
    void *owner;
} signal_listener;

static signal_listener signal_listeners[AXO__SIGNAL_LISTENERS];
static axo__a32 signal_inside; /* handlers that run */
static axo__a32 signal_home;   /* the process that listens; 0: none does */
static pthread_mutex_t signal_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction signal_before[SIGNAL_NUMBERS];
static uint32_t signal_counts[SIGNAL_NUMBERS]; /* listeners of each */
static uint32_t signal_ids;

static bool signal_is_home(void)
{
    return axo__a32_load_relaxed(&signal_home) == (uint32_t)getpid();
}

static void signal_tell(int number)
{
    const uint64_t one = 1;
    (void)axo__a32_add_seq_cst(&signal_inside, 1); /* [G1] */
    for (uint32_t i = 0; i < AXO__SIGNAL_LISTENERS; i++) {
        if (axo__a32_load_seq_cst(&signal_listeners[i].number) == (uint32_t)number) /* [G3] */
            (void)!write((int)axo__a32_load_relaxed(&signal_listeners[i].fd), &one, sizeof one);
    }
    (void)axo__a32_add_seq_cst(&signal_inside, UINT32_MAX); /* [G1] */
}

static void signal_handle(int number)
{
    int kept = errno;
    if (signal_is_home()) {
        signal_tell(number);
    } else {
        (void)sigaction(number, &signal_before[number], NULL);
        (void)raise(number); /* it comes when this handler is left */
    }
    errno = kept;
}

/* Those that the processor makes, the profiler's, and the watchdog's are not listened to: their
 * handlers must act at once, on the thread itself. */
static bool signal_is_good(int number)
{
    switch (number) {
    case SIGKILL:
    case SIGSTOP:
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGPROF:
    case SIGURG:
        return false;
    default:
        return number > 0 && number < SIGNAL_NUMBERS;
    }
}

/* Under the mutex: the listener of an id; NULL: none. */
static signal_listener *signal_of(uint32_t id)
{
    for (uint32_t i = 0; i < AXO__SIGNAL_LISTENERS; i++) {
        if (axo__a32_load_relaxed(&signal_listeners[i].number) != 0 && signal_listeners[i].id == id)
            return &signal_listeners[i];
    }
    return NULL;
}

/* Under the mutex: a place for one more; NULL: there is none. */
static signal_listener *signal_free(void)
{
    for (uint32_t i = 0; i < AXO__SIGNAL_LISTENERS; i++) {
        if (axo__a32_load_relaxed(&signal_listeners[i].number) == 0)
            return &signal_listeners[i];
    }
    return NULL;
}

/* Under the mutex. false: there is no such signal. */
static bool signal_put_in(int number)
{
    struct sigaction ours = {.sa_handler = signal_handle, .sa_flags = SA_RESTART};
    (void)sigfillset(&ours.sa_mask);
    if (signal_counts[number] == 0 && sigaction(number, &ours, &signal_before[number]) != 0)
        return false;
    signal_counts[number]++;
    return true;
}

static void signal_take_out(int number)
{
    struct sigaction now;
    if (--signal_counts[number] > 0 || sigaction(number, NULL, &now) != 0)
        return;
    if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == signal_handle)
        (void)sigaction(number, &signal_before[number], NULL);
}

static axo__os_signal_answer signal_open_locked(int number, void *owner, int *fd, uint32_t *id)
{
    signal_listener *listener = signal_free();
    if (listener == NULL)
        return AXO__SIGNAL_FULL;
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0)
        return AXO__SIGNAL_REFUSED;
    axo__a32_store_relaxed(&signal_home, (uint32_t)getpid());
    axo__a32_store_relaxed(&listener->fd, (uint32_t)event);
    listener->id = ++signal_ids;
    listener->left = false;
    listener->owner = owner;
    axo__a32_store_release(&listener->number, (uint32_t)number); /* [G3] */
    if (signal_put_in(number)) {
        *fd = event;
        *id = listener->id;
        return AXO__SIGNAL_OK;
    }
    axo__a32_store_relaxed(&listener->number, 0);
    (void)close(event);
    return AXO__SIGNAL_INVALID;
}

axo__os_signal_answer axo__os_signal_open(int number, void *owner, int *fd, uint32_t *id)
{
    uint32_t home = axo__a32_load_relaxed(&signal_home);
    if (!signal_is_good(number))
        return AXO__SIGNAL_INVALID;
    if (home != 0 && home != (uint32_t)getpid())
        return AXO__SIGNAL_FORKED;
    int before = axo__os_cancel_hold();
    (void)pthread_mutex_lock(&signal_mutex);
    axo__os_signal_answer answer = signal_open_locked(number, owner, fd, id);
    (void)pthread_mutex_unlock(&signal_mutex);
    axo__os_cancel_let(before);
    return answer;
}

bool axo__os_signal_again(int number, const void *owner, int *fd, uint32_t *id)
{
    bool found = false;
    if (!signal_is_home() || number <= 0)
        return false;
    (void)pthread_mutex_lock(&signal_mutex);
    for (uint32_t i = 0; i < AXO__SIGNAL_LISTENERS && !found; i++) {
        signal_listener *listener = &signal_listeners[i];
        found = axo__a32_load_relaxed(&listener->number) == (uint32_t)number && listener->left &&
                listener->owner == owner;
        if (found) {
            listener->left = false;
            *fd = (int)axo__a32_load_relaxed(&listener->fd);
            *id = listener->id;
        }
    }
    (void)pthread_mutex_unlock(&signal_mutex);
    return found;
}

bool axo__os_signal_leave(uint32_t id, bool still)
{
    if (!signal_is_home())
        return false;
    (void)pthread_mutex_lock(&signal_mutex);
    signal_listener *listener = signal_of(id);
    bool done = listener != NULL && (still || !listener->left);
    if (done)
        listener->left = true;
    (void)pthread_mutex_unlock(&signal_mutex);
    return done;
}

void *axo__os_signal_owner(uint32_t id)
{
    if (!signal_is_home())
        return NULL;
    (void)pthread_mutex_lock(&signal_mutex);
    const signal_listener *listener = signal_of(id);
    void *owner = listener != NULL ? listener->owner : NULL;
    (void)pthread_mutex_unlock(&signal_mutex);
    return owner;
}

/* Handlers that run end by themselves: they take no lock and wait for nobody. */
static void signal_close_locked(signal_listener *listener)
{
    int number = (int)axo__a32_load_relaxed(&listener->number);
    signal_take_out(number);
    (void)axo__a32_add_seq_cst(&listener->number, (uint32_t)-number); /* [G2] to 0 */
    while (axo__a32_load_seq_cst(&signal_inside) != 0)                /* [G2] */
        (void)sched_yield();
    (void)close((int)axo__a32_load_relaxed(&listener->fd));
    for (uint32_t i = 0; i < AXO__SIGNAL_LISTENERS; i++) {
        if (axo__a32_load_relaxed(&signal_listeners[i].number) != 0)
            return;
    }
    axo__a32_store_relaxed(&signal_home, 0); /* a child may listen for itself */
}

void axo__os_signal_close(uint32_t id)
{
    if (!signal_is_home())
        return;
    int before = axo__os_cancel_hold();
    (void)pthread_mutex_lock(&signal_mutex);
    signal_listener *listener = signal_of(id);
    if (listener != NULL)
        signal_close_locked(listener);
    (void)pthread_mutex_unlock(&signal_mutex);
    axo__os_cancel_let(before);
}

uint32_t axo__os_signal_find(int fd)
{
    uint32_t id = 0;
    if (!signal_is_home())
        return 0;
    (void)pthread_mutex_lock(&signal_mutex);
    for (uint32_t i = 0; i < AXO__SIGNAL_LISTENERS; i++) {
        if (axo__a32_load_relaxed(&signal_listeners[i].number) != 0 &&
            (int)axo__a32_load_relaxed(&signal_listeners[i].fd) == fd)
            id = signal_listeners[i].id;
    }
    (void)pthread_mutex_unlock(&signal_mutex);
    return id;
}

uint64_t axo__os_signal_take(int fd)
{
    eventfd_t count = 0;
    int before = axo__os_cancel_hold();
    int kept = errno;
    if (eventfd_read(fd, &count) != 0)
        count = 0;
    errno = kept;
    axo__os_cancel_let(before);
    return count;
}
