/* view.h - what axo-top shows of a board: lines of text, the same for a screen and a file. */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "board.h"

#define VIEW_LINE 400 /* bytes of a line, with the zero */

typedef enum view_sort {
    VIEW_TREE,
    VIEW_RATE,
    VIEW_HANDLED,
    VIEW_FAILURES,
    VIEW_RESTARTS,
    VIEW_QUEUED /* a console's alone */
} view_sort;

typedef struct view_how {
    view_sort sort;
    int64_t hung_ns; /* a callback that takes longer hangs */
    uint32_t actors; /* rows at most */
    uint32_t events; /* the last so many */
    bool gone;       /* actors that have terminated, too */
} view_how;

typedef struct view {
    char (*lines)[VIEW_LINE];
    uint32_t count;
    uint32_t room;
    uint32_t hung; /* how many callbacks hang */
} view;

/* One more line; without memory it is left out. */
__attribute__((format(printf, 2, 3))) void view_line(view *v, const char *format, ...);

/* Fills a zeroed or an older view. `before`: an earlier copy, for rates; NULL: since the start.
 * false: no memory. */
bool view_make(view *v, const top_board *board, const top_shot *before, const top_shot *shot,
               const view_how *how);
void view_free(view *v);

/* The next sort, and a sort's name. */
extern const char *const view_sorts[];

#endif
