/* answer.h - what a console answers: from a path and its parameters to text. It knows nothing of
 * HTTP but the status codes. */
#ifndef CONSOLE_ANSWER_H
#define CONSOLE_ANSWER_H

#include <axo/console.h>

#include "text.h"

/* What was asked; a parameter that was not given is NULL. */
typedef struct console_question {
    const char *url;
    const char *path;
    const char *max;
    const char *within_ms;
    bool openmetrics;
} console_question;

/* Writes the answer behind what `text` has, nothing.
 *   type      its media type
 *   returns   the status code; for the page itself nothing is written: CONSOLE_PAGE */
unsigned console_answer(const axo_console *settings, const console_question *question,
                        console_text *text, const char **type);
#define CONSOLE_PAGE 1u

#endif
