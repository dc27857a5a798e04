/* site.h - every place in runtime/ that takes memory, and the say in whether it gets any.
 *
 * The runtime is compiled with test/fault/seam/ before runtime/ (-iquote): a call of the allocator
 * or of a pool leaves a record in a section of the program, so the list of sites is the source's
 * own. No site can be forgotten; one that is compiled and never reached is seen.
 *
 * While armed, requests are counted from 1 in the order in which they come; on one thread the same
 * scenario counts alike each time. */
#ifndef TEST_FAULT_SITE_H
#define TEST_FAULT_SITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "mem/alloc.h"

typedef enum refuse_mode {
    REFUSE_ONCE = 0, /* the n-th request is refused */
    REFUSE_STICKY,   /* the n-th and all after it */
    REFUSE_RANDOM,   /* one in n */
    REFUSE_MODES
} refuse_mode;

typedef struct refuse_site {
    const char *file;
    const char *function;
    uint64_t line;
    uint64_t asked;
    uint64_t failed[REFUSE_MODES];
    int64_t live; /* blocks */
} refuse_site;

#define REFUSE_SITE __attribute__((section("refuse_sites"), used, aligned(8)))
#define REFUSE_HERE                                                                                \
    __extension__({                                                                                \
        static refuse_site refuse_here REFUSE_SITE = {__FILE__, __func__, __LINE__, 0, {0}, 0};    \
        &refuse_here;                                                                              \
    })

/* ---- for the seam ---- */

void *refuse_heap_alloc(refuse_site *site, axo__heap *heap, size_t size, size_t align,
                       axo__alloc_site number);
void refuse_heap_free(axo__heap *heap, void *block, size_t size, size_t align,
                      axo__alloc_site number);

/* The site of this thread's next request. */
void refuse_from(refuse_site *site);

/* Whether a request of the C library is refused. What it gives is not watched. */
bool refuse_asks(refuse_site *site);

/* ---- for scenarios ---- */

void refuse_arm(refuse_mode mode, uint64_t n);
void refuse_disarm(void);

/* While paused, requests are granted and not counted. Nests; only for one thread's programs. */
void refuse_pause(void);
void refuse_resume(void);

/* Refusals so far. */
uint64_t refuse_denials(void);
/* Requests since the last arm. */
uint64_t refuse_asked(void);

/* In a zone nothing may ask for memory: who does is told of in the return of the end, "" if nobody
 * did. */
void refuse_zone_begin(void);
const char *refuse_zone_end(void);

/* Each block of a pool from the allocator alone, so that a guard page can stand beside it. */
void refuse_separate(bool on);

/* The first site with blocks that nobody has given back; NULL: none. */
const refuse_site *refuse_leak(void);

/* Prints the table; the number of sites that have not failed in each mode. */
uint32_t refuse_report(FILE *out, uint32_t *sites, uint64_t *injections);

#endif
