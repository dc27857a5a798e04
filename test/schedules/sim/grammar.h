/* grammar.h - the grammar of hooks, right-linear, so a table of states and letters. A letter is a
 * hook's end: c constructed, C not; s started (anew too), S not; m a message ok; F an own failure,
 * u resumed; p pre_restart; x post_stop outside of it; d destroyed; T terminated.
 *
 *   body  =  ( m | F u )*  F?
 *   tries =  ( C | c S d )*                  creation failed: no p and no x for it
 *   cell  =  tries ( T | c s body tail )
 *   tail  =  x d T                           stopped
 *         |  F u? d cell                     crashed: no p and no x for it
 *         |  p d c s body tail               restarted
 *         |  p x? d T                        stopped between the two halves (RS-19)
 *         |  p d ( C | c S d ) cell          re-creation failed
 *
 * A failed start's instance is destroyed when the next is made, or at the end. After C, S and a
 * message that failed the actor's next event is its failure; ghost_must sees to that. The u of one
 * that has crashed is the begin of its restart, if that is the answer to the failure.
 */
#ifndef TEST_SIM_GRAMMAR_H
#define TEST_SIM_GRAMMAR_H

#include "ghost.h"

typedef enum hook_state {
    STATE_NONE,      /* no instance yet, or none that started */
    STATE_MADE,      /* c */
    STATE_UNSTARTED, /* c S */
    STATE_RUNS,
    STATE_FAILED,    /* F */
    STATE_BROKEN,    /* F, for a crash */
    STATE_HALF,      /* p */
    STATE_HALF_STOPS,/* p x */
    STATE_STOPPED,   /* x */
    STATE_BARE,      /* p d: the next instance is due */
    STATE_ENDING,    /* x d */
    STATE_OVER,      /* T */
    STATES,
    NO = STATES
} hook_state;

/* Before what the event does to the ghost. */
void grammar_event(ghost *it, const axo_event *e);

#endif
