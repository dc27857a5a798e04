/* log.h - lines of the log: each is a record, made on the stack where the thing happens.
 *
 * A maker asks axo__log_is_read first, so a system without a log pays two loads. Records of
 * failures go by axo__log_failure, which leaves some out (system/failurelog.h). The program's hooks
 * are called with no lock held; `local` says where the caller stands, as in cell/event.h. Nothing
 * here takes memory (D10) but the event of a line that somebody has subscribed to. */
#ifndef AXO__CELL_LOG_H
#define AXO__CELL_LOG_H

#include <axo/log.h>

#include "cell/event.h"

static inline uint32_t axo__log_kind(uint32_t level)
{
    return AXO_KIND_LOG | level << 16;
}

/* Whether a line of this level has a reader. */
static inline bool axo__log_is_read(const axo__core *core, axo_log_level level)
{
    return core->log != NULL || core->log_record != NULL ||
           axo__event_wants(core, axo__log_kind(level));
}

/* The texts of a trace context. */
typedef struct axo__log_trace {
    char trace_id[33];
    char span_id[17];
} axo__log_trace;

/* A record with the memory that its strings may lie in. */
typedef struct axo__log_line {
    axo_log_record record;
    char path[AXO_EVENT_PATH_MAX];
    char origin_path[AXO_EVENT_PATH_MAX];
    axo__log_trace trace;
} axo__log_line;

/* Begins a line about an actor: its reference, path and class. The caller is a worker, and the
 * actor has not ended, or its class is still there. */
void axo__log_begin(axo__log_line *line, axo__core *core, axo_log_level level,
                    axo_log_event event, const axo__cell *cell);

/* The message that a line is about, and what the class of its receiver calls its tag. Runs a
 * function of the program: no lock is held. */
void axo__log_message(axo_log_record *record, axo__core *core, const axo_class *cls, uint32_t tag);

/* Adds a failure to a line that has begun: the actor's own, or of another below it, the origin. */
void axo__log_cause(axo__log_line *line, axo__core *core, const axo__cause *cause);

/* Writes a line. The record lacks what every line has: names, times, the text. */
void axo__log(axo__local *local, axo_log_record *record);

/* Writes a line of a failure of an actor of this class, or counts it as left out. */
void axo__log_failure(axo__local *local, axo_log_record *record, const axo_class *cls);

/* A callback of the cell has failed, and nobody decides about it: writes a line for
 * worker->pending, which the caller then drops. */
void axo__log_pending(axo__local *local, axo_log_level level, axo_log_event event,
                      const axo__cell *cell, const axo__cause *pending);

/* What a class calls a tag; NULL: nothing. Runs a function of the program. */
const char *axo__log_tag_name(const axo_class *cls, uint32_t tag);

static inline const char *axo__log_class_name(const axo_class *cls)
{
    return cls->name != NULL ? cls->name : "actor";
}

#endif
