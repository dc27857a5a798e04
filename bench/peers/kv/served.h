/* served.h - what the plain servers of S1 have in common: the keys, a connection's bytes, the
 * commands. The parser and the tables are kv_server's. */
#ifndef KV_SERVED_H
#define KV_SERVED_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../test/example/kv_resp.h"
#include "../../../test/example/kv_table.h"

#define TABLES 64
#define INPUT  16384
/* Answers that are gathered before they are written. */
#define OUTPUT 65536

typedef struct shard {
    pthread_mutex_t mutex;
    table keys;
} shard;

/* What a connection has read and not understood, and could not write yet. */
typedef struct connection {
    int fd;
    char *input;
    size_t in, in_room;
    char *output;
    size_t out, out_room;
} connection;

static shard shards[TABLES];
static void die(const char *what)
{
    perror(what);
    exit(1);
}

static inline void *grow(void *block, size_t *room, size_t wanted)
{
    size_t more = *room > 0 ? *room : 1024;
    while (more < wanted)
        more *= 2;
    if (more == *room)
        return block;
    *room = more;
    block = realloc(block, more);
    if (block == NULL)
        die("realloc");
    return block;
}

static void say(connection *it, const char *text, size_t size)
{
    it->output = grow(it->output, &it->out_room, it->out + size);
    memcpy(it->output + it->out, text, size);
    it->out += size;
}

/* ---- commands ---- */

static void get(connection *it, shard *home, uint64_t hash, resp_word key)
{
    char head[RESP_HEAD_MAX];
    (void)pthread_mutex_lock(&home->mutex);
    const table_entry *found = table_get(&home->keys, hash, key.data, key.size);
    if (found == NULL) {
        say(it, "$-1\r\n", 5);
    } else {
        say(it, head, resp_head(head, '$', found->value_size));
        say(it, table_value(found), found->value_size);
        say(it, "\r\n", 2);
    }
    (void)pthread_mutex_unlock(&home->mutex);
}

static void set(connection *it, shard *home, uint64_t hash, resp_word key, resp_word value)
{
    (void)pthread_mutex_lock(&home->mutex);
    bool done = table_set(&home->keys, hash, key.data, key.size, value.data, value.size);
    (void)pthread_mutex_unlock(&home->mutex);
    say(it, done ? "+OK\r\n" : "-OOM\r\n", done ? 5 : 6);
}

static void command(connection *it, const resp_request *request)
{
    const resp_word *words = request->words;
    bool keyed = request->count >= 2;
    uint64_t hash = keyed ? table_hash(1, words[1].data, words[1].size) : 0;
    shard *home = &shards[hash >> 32 & (TABLES - 1)];
    if (keyed && resp_is(words[0], "get"))
        get(it, home, hash, words[1]);
    else if (request->count >= 3 && resp_is(words[0], "set"))
        set(it, home, hash, words[1], words[2]);
    else if (request->count > 0 && resp_is(words[0], "ping"))
        say(it, "+PONG\r\n", 7);
    else if (request->count > 0)
        say(it, "*0\r\n", 4);
}

/* All requests that are whole, until the answers are many. false: what came is no request. */
static bool understand(connection *it)
{
    static _Thread_local resp_request request;
    resp_found found = RESP_WHOLE;
    size_t at = 0;
    while (at < it->in && it->out < OUTPUT && found == RESP_WHOLE) {
        found = resp_parse(it->input + at, it->in - at, &request);
        if (found != RESP_WHOLE)
            break;
        command(it, &request);
        at += request.bytes;
    }
    memmove(it->input, it->input + at, it->in - at);
    it->in -= at;
    return found != RESP_WRONG;
}

static void end(connection *it)
{
    (void)close(it->fd);
    free(it->input);
    free(it->output);
    free(it);
}

static connection *begin(int fd)
{
    const int on = 1;
    connection *it = calloc(1, sizeof *it);
    if (it == NULL)
        die("calloc");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    it->fd = fd;
    return it;
}

static void keys_begin(void)
{
    for (int i = 0; i < TABLES; i++)
        (void)pthread_mutex_init(&shards[i].mutex, NULL);
}

static int listen_at(uint16_t *port)
{
    const int on = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(*port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&at, size) != 0 || listen(fd, 4096) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        die("listen");
    *port = ntohs(at.sin_port);
    return fd;
}

#endif
