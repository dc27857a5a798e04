/* remote.c - what a console says, as lines. */
#include "remote.h"

#include <string.h>

bool remote_is(const char *where)
{
    return strncmp(where, "http://", 7) == 0 || strncmp(where, "unix:", 5) == 0;
}

#ifdef TOP_REMOTE
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <curl/curl.h>
#include <jansson.h>

#define REMOTE_ANSWER_MAX (16u << 20) /* bytes; a console gives half of it at most */
#define REMOTE_WAIT_MS    10000L
#define REMOTE_ACTORS     "4096" /* as many as a console shows if nothing else is said */
#define REMOTE_WITHIN_MS  3600000

struct top_remote {
    CURL *curl;
    const char *where;
    char base[512]; /* of every address that is asked */
    json_t *before; /* /stats of the last look */
    char *data;     /* of an answer */
    size_t size;
    bool too_much;
    char wrong[CURL_ERROR_SIZE + 64];
};

static size_t remote_take(char *piece, size_t one, size_t count, void *user)
{
    top_remote *remote = user;
    size_t size = one * count;
    if (size > REMOTE_ANSWER_MAX - remote->size) {
        remote->too_much = true;
        return 0;
    }
    char *data = realloc(remote->data, remote->size + size + 1);
    if (data == NULL)
        return 0;
    memcpy(data + remote->size, piece, size);
    remote->data = data;
    remote->size += size;
    return size;
}

top_remote *remote_open(const char *where)
{
    top_remote *remote = calloc(1, sizeof *remote);
    if (remote == NULL)
        return NULL;
    remote->where = where;
    remote->curl = curl_easy_init();
    bool local = strncmp(where, "unix:", 5) == 0;
    size_t length = strlen(where);
    while (!local && length > 7 && where[length - 1] == '/')
        length--;
    int size = local ? snprintf(remote->base, sizeof remote->base, "http://localhost")
                     : snprintf(remote->base, sizeof remote->base, "%.*s", (int)length, where);
    if (remote->curl == NULL || size < 0 || (size_t)size + 64 > sizeof remote->base) {
        remote_close(remote);
        return NULL;
    }
    CURL *curl = remote->curl;
    bool set = curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, remote_take) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_WRITEDATA, remote) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, remote->wrong) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, REMOTE_WAIT_MS) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http") == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK;
    if (set && local)
        set = curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, where + 5) == CURLE_OK;
    if (!set) {
        remote_close(remote);
        return NULL;
    }
    return remote;
}

void remote_close(top_remote *remote)
{
    if (remote == NULL)
        return;
    curl_easy_cleanup(remote->curl);
    json_decref(remote->before);
    free(remote->data);
    free(remote);
}

/* The object at an address; NULL: `wrong` says why, or *code is one that the caller allows. */
static json_t *remote_ask(top_remote *remote, const char *what, long allowed, long *code)
{
    char address[sizeof remote->base + 64];
    remote->size = 0;
    remote->too_much = false;
    remote->wrong[0] = 0;
    (void)snprintf(address, sizeof address, "%s%s", remote->base, what);
    CURLcode done = curl_easy_setopt(remote->curl, CURLOPT_URL, address);
    if (done == CURLE_OK)
        done = curl_easy_perform(remote->curl);
    if (done != CURLE_OK) {
        if (remote->too_much)
            (void)snprintf(remote->wrong, sizeof remote->wrong, "%s: an answer too large", what);
        else if (done == CURLE_COULDNT_CONNECT)
            (void)snprintf(remote->wrong, sizeof remote->wrong, "nobody listens there");
        else if (remote->wrong[0] == 0)
            (void)snprintf(remote->wrong, sizeof remote->wrong, "%s", curl_easy_strerror(done));
        return NULL;
    }
    (void)curl_easy_getinfo(remote->curl, CURLINFO_RESPONSE_CODE, code);
    if (*code != 200 && *code != allowed) {
        (void)snprintf(remote->wrong, sizeof remote->wrong, "%s: answered by %ld", what, *code);
        return NULL;
    }
    json_error_t error;
    json_t *object = json_loadb(remote->data != NULL ? remote->data : "", remote->size, 0, &error);
    if (!json_is_object(object) && *code == 200) {
        json_decref(object);
        object = NULL;
        (void)snprintf(remote->wrong, sizeof remote->wrong, "%s: it is no console of axo", what);
    }
    return object;
}

/* ---- of an object ---- */

typedef struct remote_word {
    char text[256];
} remote_word;

/* What is no character of ASCII that can be printed is a question mark. */
static remote_word word_of(const json_t *object, const char *name)
{
    remote_word out;
    const char *text = json_string_value(json_object_get(object, name));
    (void)snprintf(out.text, sizeof out.text, "%s", text != NULL ? text : "");
    for (char *at = out.text; *at != 0; at++) {
        if (!isascii((unsigned char)*at) || !isprint((unsigned char)*at))
            *at = '?';
    }
    return out;
}

static json_int_t count_of(const json_t *object, const char *name)
{
    json_int_t count = json_integer_value(json_object_get(object, name));
    return count > 0 ? count : 0;
}

static double ms_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* ---- lines ---- */

static void remote_head(const top_remote *remote, view *v, const json_t *stats, size_t shown,
                        bool more)
{
    static const char *const names[] = {"sent",    "handled",    "failures", "restarts",
                                        "spawned", "terminated", "dead"};
    char text[VIEW_LINE] = "";
    double span =
        remote->before != NULL ? ms_of(stats, "now_ms") - ms_of(remote->before, "now_ms") : 0;
    view_line(v, "axo-top: system %s at %s, %" JSON_INTEGER_FORMAT " workers, %zu actors%s",
              word_of(stats, "system").text, remote->where, count_of(stats, "workers"), shown,
              more ? ", and more" : "");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t at = strlen(text);
        json_int_t now = count_of(stats, names[i]);
        json_int_t was = remote->before != NULL ? count_of(remote->before, names[i]) : 0;
        if (span > 0 && now >= was)
            (void)snprintf(text + at, sizeof text - at, "%s %.0f/s (%" JSON_INTEGER_FORMAT ")  ",
                           names[i], (double)(now - was) * 1e3 / span, now);
        else
            (void)snprintf(text + at, sizeof text - at, "%s %" JSON_INTEGER_FORMAT "  ", names[i],
                           now);
    }
    view_line(v, "%s", text);
}

static void remote_health(view *v, const json_t *health, bool good, int64_t within_ms)
{
    v->hung = !good;
    if (good) {
        view_line(v, "health: everybody moved within %" PRId64 " ms", within_ms);
    } else {
        remote_word name = word_of(health, "tag_name");
        bool callback = strcmp(word_of(health, "why").text, "callback") == 0;
        view_line(v, "health: %s %s for %.1f s%s%s, %" JSON_INTEGER_FORMAT " late",
                  word_of(health, "path").text, callback ? "HUNG in a callback" : "waits",
                  ms_of(health, "for_ms") / 1e3, name.text[0] != 0 ? ", at " : "", name.text,
                  count_of(health, "late"));
    }
    view_line(v, "%s", "");
}

/* ---- nodes ---- */

static void remote_node(view *v, const json_t *node)
{
    char state[32] = "up";
    bool up = json_is_true(json_object_get(node, "up"));
    if (!up)
        (void)snprintf(state, sizeof state, "LOST %.16s", word_of(node, "why").text);
    view_line(v,
              "%-24s %-16s %10.1f s %8.1f s %12" JSON_INTEGER_FORMAT " %12" JSON_INTEGER_FORMAT
              " %10" JSON_INTEGER_FORMAT " %8" JSON_INTEGER_FORMAT " %8.1f s",
              word_of(node, "node").text, state, ms_of(node, "for_ms") / 1e3,
              ms_of(node, "heard_ms") / 1e3, count_of(node, "sent"), count_of(node, "received"),
              count_of(node, "held"), count_of(node, "kept"), ms_of(node, "lag_ms") / 1e3);
}

/* What the section of a cluster says (<axo/cluster.h>); NULL: the console has none. */
static void remote_nodes(view *v, const json_t *nodes, const view_how *how)
{
    const json_t *rows = json_object_get(nodes, "rows");
    size_t count = json_array_size(rows);
    size_t up = 0;
    if (nodes == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        up += json_is_true(json_object_get(json_array_get(rows, i), "up"));
    view_line(v, "node %s: %zu others up, %zu lost", word_of(nodes, "here").text, up, count - up);
    view_line(v, "%-24s %-16s %12s %10s %12s %12s %10s %8s %10s", "NODE", "STATE", "FOR", "HEARD",
              "SENT", "RECEIVED", "HELD", "KEPT", "LAG");
    for (size_t i = 0; i < count && i < how->actors; i++)
        remote_node(v, json_array_get(rows, i));
    if (count > how->actors)
        view_line(v, "... and %zu more", count - how->actors);
    view_line(v, "%s", "");
}

/* ---- actors ---- */

static int by_path(const void *a, const void *b)
{
    return strcmp(word_of(*(json_t *const *)a, "path").text,
                  word_of(*(json_t *const *)b, "path").text);
}

static json_int_t waiting_of(const json_t *actor)
{
    return count_of(actor, "queued") + count_of(actor, "stashed");
}

static int by_restarts(const void *a, const void *b)
{
    json_int_t x = count_of(*(json_t *const *)a, "restarts");
    json_int_t y = count_of(*(json_t *const *)b, "restarts");
    return x != y ? (x < y) - (x > y) : by_path(a, b);
}

static int by_queued(const void *a, const void *b)
{
    json_int_t x = waiting_of(*(json_t *const *)a);
    json_int_t y = waiting_of(*(json_t *const *)b);
    return x != y ? (x < y) - (x > y) : by_path(a, b);
}

static void remote_actor(view *v, const json_t *actor, const view_how *how, bool good)
{
    char message[300] = "-";
    char span[32] = "-";
    remote_word doing = word_of(actor, "doing");
    remote_word waits = word_of(actor, "waits_for");
    if (json_object_get(actor, "tag") != NULL)
        (void)snprintf(message, sizeof message, "%" JSON_INTEGER_FORMAT " %s",
                       count_of(actor, "tag"), word_of(actor, "tag_name").text);
    if (json_object_get(actor, "for_ms") != NULL) {
        double ms = ms_of(actor, "for_ms");
        (void)snprintf(span, sizeof span, "%.1f ms", ms);
        if (!good && ms * 1e6 >= (double)how->hung_ns)
            (void)snprintf(doing.text, sizeof doing.text, "HUNG");
    }
    bool part = strcmp(word_of(actor, "counted").text, "all") != 0;
    view_line(v,
              "%-36s %-12s %-10s %9" JSON_INTEGER_FORMAT "%s %8" JSON_INTEGER_FORMAT
              " %8" JSON_INTEGER_FORMAT " %10s  %s%s%s",
              word_of(actor, "path").text, word_of(actor, "class").text, doing.text,
              count_of(actor, "queued"), part ? "+" : " ", count_of(actor, "stashed"),
              count_of(actor, "restarts"), span, message, waits.text[0] != 0 ? " waits for " : "",
              waits.text);
}

static bool remote_actors(view *v, const json_t *tree, const view_how *how, bool good)
{
    const json_t *all = json_object_get(tree, "actors");
    size_t count = json_array_size(all);
    json_t **rows = calloc(count + 1, sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        rows[i] = json_array_get(all, i);
    if (how->sort == VIEW_RESTARTS)
        qsort(rows, count, sizeof *rows, by_restarts);
    else if (how->sort == VIEW_QUEUED)
        qsort(rows, count, sizeof *rows, by_queued);
    view_line(v, "%-36s %-12s %-10s %10s %8s %8s %10s  %s", "ACTOR", "CLASS", "DOING", "QUEUED",
              "STASHED", "RESTARTS", "FOR", "MESSAGE");
    for (size_t i = 0; i < count && i < how->actors; i++)
        remote_actor(v, rows[i], how, good);
    if (count > how->actors)
        view_line(v, "... and %zu more", count - how->actors);
    free(rows);
    return true;
}

const char *remote_view(top_remote *remote, view *v, const view_how *how)
{
    char what[64];
    long code = 0;
    int64_t within = how->hung_ns / 1000000;
    within = within < 1 ? 1 : within > REMOTE_WITHIN_MS ? REMOTE_WITHIN_MS : within;
    v->count = 0;
    v->hung = 0;
    json_t *stats = remote_ask(remote, "/stats", 0, &code);
    if (stats == NULL)
        return remote->wrong;
    json_t *tree = remote_ask(remote, "/tree?max=" REMOTE_ACTORS, 400, &code);
    if (tree == NULL && code == 400) /* its actors_max is less */
        tree = remote_ask(remote, "/tree", 0, &code);
    (void)snprintf(what, sizeof what, "/health?within_ms=%" PRId64, within);
    json_t *health = tree != NULL ? remote_ask(remote, what, 503, &code) : NULL;
    bool good = code == 200;
    json_t *nodes = health != NULL ? remote_ask(remote, "/nodes", 404, &code) : NULL;
    bool done = health != NULL && (nodes != NULL || code == 404);
    if (done) {
        remote_head(remote, v, stats, json_array_size(json_object_get(tree, "actors")),
                    json_is_true(json_object_get(tree, "more")));
        remote_health(v, health, good, within);
        remote_nodes(v, nodes, how);
        done = remote_actors(v, tree, how, good) && v->lines != NULL;
        if (!done)
            (void)snprintf(remote->wrong, sizeof remote->wrong, "no memory");
    }
    json_decref(tree);
    json_decref(health);
    json_decref(nodes);
    if (!done) {
        json_decref(stats);
        return remote->wrong[0] != 0 ? remote->wrong : "it has no memory for an answer";
    }
    json_decref(remote->before);
    remote->before = stats;
    return NULL;
}
#else
top_remote *remote_open(const char *where)
{
    (void)where;
    return NULL;
}

void remote_close(top_remote *remote)
{
    (void)remote;
}

const char *remote_view(top_remote *remote, view *v, const view_how *how)
{
    (void)remote;
    (void)v;
    (void)how;
    return "built without libcurl and jansson";
}
#endif
