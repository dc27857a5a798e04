/* system_calls.h - the calls of fuzz_api that take a system: any thread's, so outside and in
 * callbacks alike; and those that are wrong whoever makes them. */
#ifndef TEST_FUZZ_SYSTEM_CALLS_H
#define TEST_FUZZ_SYSTEM_CALLS_H

#include "fuzz/calls.h"

void system_send(void);
void system_send_owned(void);
void system_spawn(void);
void system_end(void);
void system_fail(void);
void system_look(void);
void system_find(void);
void system_register(void);
void system_event(void);
void system_inspect(void);
void system_timer(void);
void system_schedule(void);

/* The run waits on its own thread, here the only one: so no phase may last. */
void system_phases(void);

void system_ending(void);

/* From here on some memory is refused. */
void system_memory(void);

void system_wrong(void);
void system_broadcast(void);
void system_letters(void);

#endif
