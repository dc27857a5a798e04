/* remote.h - a system as its console (<axo/console.h>) tells of it, over HTTP. */
#ifndef TOP_REMOTE_H
#define TOP_REMOTE_H

#include "view.h"

typedef struct top_remote top_remote;

/* Whether the argument names a console: "http://host:port", "unix:/path". */
bool remote_is(const char *where);

/* NULL: no memory, or built without libcurl and jansson. Nobody is asked yet;
 * `where` is valid until it is closed. */
top_remote *remote_open(const char *where);
void remote_close(top_remote *remote);

/* Asks, and fills a zeroed or an older view; rates are since the look before. NULL: done; else what
 * went wrong, valid until the next call. */
const char *remote_view(top_remote *remote, view *v, const view_how *how);

#endif
