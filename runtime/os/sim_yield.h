/* sim_yield.h - read before every file of a simulator's build: where threads share, others may go
 * on; POSIX's mutexes, conditions, poll and clock are the simulator's. */
#ifndef AXO__OS_SIM_YIELD_H
#define AXO__OS_SIM_YIELD_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* Level 2, where it is explored. */
extern bool axo__sim_yields __attribute__((visibility("hidden")));
void axo__sim_yield(void);

#ifndef AXO__YIELD_POINT
#define AXO__YIELD_POINT() (__builtin_expect(axo__sim_yields, 0) ? axo__sim_yield() : (void)0)
#endif

void axo__sim_gate_left(void *gate);
#ifndef AXO__GATE_LEFT
#define AXO__GATE_LEFT(gate) axo__sim_gate_left(gate)
#endif

int axo__sim_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int axo__sim_mutex_destroy(pthread_mutex_t *mutex);
int axo__sim_mutex_lock(pthread_mutex_t *mutex);
int axo__sim_mutex_unlock(pthread_mutex_t *mutex);
int axo__sim_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int axo__sim_cond_destroy(pthread_cond_t *cond);
int axo__sim_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int axo__sim_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                            const struct timespec *until);
int axo__sim_cond_signal(pthread_cond_t *cond);
int axo__sim_cond_broadcast(pthread_cond_t *cond);
int axo__sim_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int axo__sim_clock_gettime(clockid_t clock, struct timespec *out);

#define pthread_mutex_init axo__sim_mutex_init
#define pthread_mutex_destroy axo__sim_mutex_destroy
#define pthread_mutex_lock axo__sim_mutex_lock
#define pthread_mutex_unlock axo__sim_mutex_unlock
#define pthread_cond_init axo__sim_cond_init
#define pthread_cond_destroy axo__sim_cond_destroy
#define pthread_cond_wait axo__sim_cond_wait
#define pthread_cond_timedwait axo__sim_cond_timedwait
#define pthread_cond_signal axo__sim_cond_signal
#define pthread_cond_broadcast axo__sim_cond_broadcast
#define poll axo__sim_poll
#define clock_gettime axo__sim_clock_gettime

#endif
