/* seen.c - what is seen of a cluster from outside: its links, and all figures as text. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carrier.h"

#define SEEN_PHI_MAX 1000
/* Bytes of a piece of text, and of what is added to it at once. */
#define SEEN_TEXT 1536
#define SEEN_LINE 384

/* ---- links ---- */

/* Without phi. false: nobody has the number. */
static bool seen_link(cluster_peer *peer, axo_cluster_link *out)
{
    (void)pthread_mutex_lock(&peer->mutex);
    int64_t now = cluster_now();
    int64_t heard = atomic_load(&peer->heard_at);
    bool up = peer->state == CLUSTER_PEER_UP;
    bool there = peer->state != CLUSTER_PEER_FREE;
    const cluster_link *link = &peer->link;
    *out = (axo_cluster_link)AXO_CLUSTER_LINK(
        .node = peer->node, .number = peer->number, .up = up, .why = peer->why,
        .for_ns = now - peer->since, .heard_ns = heard < now ? now - heard : 0,
        .sent = link->users_sent + link->sent, .received = peer->users_in + link->taken,
        .missed = link->users_taken - peer->users_in, .bytes_out = peer->bytes_out,
        .bytes_in = peer->bytes_in, .held = peer->held, .kept = link->kept,
        .lag_ns = link->kept > 0 ? now - link->oldest_since : 0, .resent = link->resent,
        .watches = up ? peer->watches : 0);
    (void)pthread_mutex_unlock(&peer->mutex);
    return there;
}

/* The caller's struct may be of an older or newer header. */
static void seen_give(const axo_cluster_link *link, size_t size, void *to)
{
    memset(to, 0, size);
    memcpy(to, link, size < sizeof *link ? size : sizeof *link);
    memcpy(to, &size, sizeof size);
}

axo_status axo_cluster_links(axo_cluster *cluster, axo_cluster_link *out, uint32_t max,
                             uint32_t *count)
{
    uint32_t found = 0;
    if (count != NULL)
        *count = 0;
    if (cluster == NULL || (out == NULL && max > 0))
        return AXO_EINVAL;
    size_t size = max > 0 ? out->size : sizeof *out;
    if (size < sizeof size)
        return AXO_EINVAL;
    for (uint32_t i = 1; i <= atomic_load(&cluster->used); i++) {
        axo_cluster_link link;
        if (!seen_link(&cluster->peers[i], &link))
            continue;
        if (found < max) {
            double phi = cluster->who != NULL ? cluster_who_phi(cluster, &link.node) : 0;
            link.phi = phi < SEEN_PHI_MAX ? phi : SEEN_PHI_MAX;
            seen_give(&link, size, (unsigned char *)out + found * size);
        }
        found++;
    }
    if (count != NULL)
        *count = found;
    return AXO_OK;
}

/* All of them, in memory that the caller frees; NULL: there is none. */
static axo_cluster_link *seen_all(axo_cluster *cluster, uint32_t *count)
{
    uint32_t max = atomic_load(&cluster->used);
    axo_cluster_link *links = calloc(max + 1, sizeof *links);
    if (links == NULL)
        return NULL;
    links->size = sizeof *links;
    (void)axo_cluster_links(cluster, links, max + 1, count);
    if (*count > max + 1) /* that have come meanwhile */
        *count = max + 1;
    return links;
}

/* ---- text ---- */

typedef struct seen_text {
    axo_metrics_write_fn write;
    void *to;
    axo_status status; /* not OK: nothing is written any more */
    size_t size;
    char bytes[SEEN_TEXT];
} seen_text;

static void seen_flush(seen_text *text)
{
    if (text->size > 0 && text->status == AXO_OK)
        text->status = text->write(text->to, text->bytes, text->size);
    text->size = 0;
}

static void seen_add(seen_text *text, const char *format, ...) AXO_PRINTF(2, 3);
static void seen_add(seen_text *text, const char *format, ...)
{
    va_list args;
    if (sizeof text->bytes - text->size < SEEN_LINE)
        seen_flush(text);
    va_start(args, format);
    int size = vsnprintf(text->bytes + text->size, SEEN_LINE, format, args);
    va_end(args);
    if (size >= SEEN_LINE)
        text->status = AXO_ETOOBIG;
    else if (size > 0)
        text->size += (size_t)size;
}

typedef enum seen_kind {
    SEEN_COUNT, /* uint64_t, which only grows */
    SEEN_IS,    /* uint64_t */
    SEEN_TIME,  /* int64_t, ns */
    SEEN_PHI    /* double */
} seen_kind;

/* A figure of a struct, and how it is called. */
typedef struct seen_figure {
    const char *json;
    const char *name;
    const char *help;
    size_t at;
    seen_kind kind;
} seen_figure;

#define SEEN(struct_of, field, name, kind, help)                                                   \
    {#field, name, help, offsetof(struct_of, field), kind}
#define SEEN_OF_LINK(field, name, kind, help) SEEN(axo_cluster_link, field, name, kind, help)
#define SEEN_OF_ALL(field, kind, help)                                                             \
    SEEN(axo_cluster_figures, field, "cluster_" #field, kind, help)

static const seen_figure seen_links[] = {
    {"for_ms", "node_state_seconds", "How long the node has been up, or lost",
     offsetof(axo_cluster_link, for_ns), SEEN_TIME},
    {"heard_ms", "node_heard_seconds", "Since anything of the node came",
     offsetof(axo_cluster_link, heard_ns), SEEN_TIME},
    SEEN_OF_LINK(sent, "node_sent", SEEN_COUNT, "Messages, watches and the like sent"),
    SEEN_OF_LINK(received, "node_received", SEEN_COUNT, "The same, received in their turn"),
    SEEN_OF_LINK(missed, "node_missed", SEEN_COUNT, "Messages that did not come in their turn"),
    SEEN_OF_LINK(bytes_out, "node_sent_bytes", SEEN_COUNT, "Bytes of all frames sent"),
    SEEN_OF_LINK(bytes_in, "node_received_bytes", SEEN_COUNT, "Bytes of all frames received"),
    SEEN_OF_LINK(held, "node_held_bytes", SEEN_IS, "Bytes that wait for NATS"),
    SEEN_OF_LINK(kept, "node_kept", SEEN_IS, "Watches, ends and stops not yet acknowledged"),
    {"lag_ms", "node_lag_seconds", "How long the oldest of these has waited",
     offsetof(axo_cluster_link, lag_ns), SEEN_TIME},
    SEEN_OF_LINK(resent, "node_resent", SEEN_COUNT, "Of these, sent again"),
    SEEN_OF_LINK(watches, "node_watches", SEEN_IS, "Actors here that the node watches"),
    SEEN_OF_LINK(phi, "node_phi", SEEN_PHI, "How much the silence of the node says"),
};
#define SEEN_LINKS (sizeof seen_links / sizeof seen_links[0])

static const seen_figure seen_cluster[] = {
    SEEN_OF_ALL(nodes, SEEN_IS, "Nodes that are up, without this one"),
    SEEN_OF_ALL(sent, SEEN_COUNT, "Messages, watches and the like sent"),
    SEEN_OF_ALL(received, SEEN_COUNT, "The same, handed to the system"),
    SEEN_OF_ALL(packets_out, SEEN_COUNT, "Messages of NATS sent"),
    SEEN_OF_ALL(packets_in, SEEN_COUNT, "Messages of NATS received"),
    SEEN_OF_ALL(full, SEEN_COUNT, "Sends refused as too much waits for NATS"),
    SEEN_OF_ALL(too_big, SEEN_COUNT, "Sends refused as too big"),
    SEEN_OF_ALL(no_codec, SEEN_COUNT, "Sends refused for want of a codec"),
    SEEN_OF_ALL(unsent, SEEN_COUNT, "Packets lost in this process"),
    SEEN_OF_ALL(dropped, SEEN_COUNT, "Messages that came and were not delivered"),
    SEEN_OF_ALL(strangers, SEEN_COUNT, "Packets of lost nodes, or for another incarnation"),
    SEEN_OF_ALL(not_ours, SEEN_COUNT, "What came and is no packet"),
    SEEN_OF_ALL(other_version, SEEN_COUNT, "Packets of another version"),
    SEEN_OF_ALL(bad_length, SEEN_COUNT, "Packets of a wrong length"),
    SEEN_OF_ALL(other_cluster, SEEN_COUNT, "Packets of another cluster"),
    SEEN_OF_ALL(other_token, SEEN_COUNT, "Packets of another token"),
    SEEN_OF_ALL(bad_seal, SEEN_COUNT, "Packets damaged, or made without the token"),
    SEEN_OF_ALL(bad_form, SEEN_COUNT, "Packets of a wrong form"),
};
#define SEEN_CLUSTER (sizeof seen_cluster / sizeof seen_cluster[0])

/* A number with a point, whatever the locale is. Time in seconds, or in ms. */
static void seen_value(seen_text *text, const seen_figure *figure, const void *from, bool ms)
{
    const unsigned char *at = (const unsigned char *)from + figure->at;
    uint64_t number;
    double phi;
    memcpy(&number, at, sizeof number);
    if (figure->kind == SEEN_PHI) {
        memcpy(&phi, at, sizeof phi);
        number = (uint64_t)(phi * 1000 + 0.5);
        seen_add(text, "%" PRIu64 ".%03" PRIu64, number / 1000, number % 1000);
    } else if (figure->kind != SEEN_TIME) {
        seen_add(text, "%" PRIu64, number);
    } else if (ms) {
        seen_add(text, "%" PRIu64 ".%03" PRIu64, number / 1000000, number / 1000 % 1000);
    } else {
        seen_add(text, "%" PRIu64 ".%09" PRIu64, number / 1000000000, number % 1000000000);
    }
}

static const char *seen_why(const axo_cluster_link *link)
{
    static const char *const names[] = {"unsaid",  "left", "silent",   "expired",    "replaced",
                                        "evicted", "lost", "minority", "outnumbered"};
    if (link->up)
        return "";
    return link->why < sizeof names / sizeof names[0] ? names[link->why] : "unsaid";
}

/* ---- metrics ---- */

/* A counter's samples end with _total, and in the older format its family does. */
static void metrics_head(seen_text *text, bool open, const char *name, const char *kind,
                         const char *help)
{
    const char *total = !open && strcmp(kind, "counter") == 0 ? "_total" : "";
    seen_add(text, "# TYPE axo_%s%s %s\n", name, total, kind);
    seen_add(text, "# HELP axo_%s%s %s.\n", name, total, help);
}

static void metrics_head_of(seen_text *text, bool open, const seen_figure *figure)
{
    metrics_head(text, open, figure->name, figure->kind == SEEN_COUNT ? "counter" : "gauge",
                 figure->help);
}

/* Names of nodes need no escapes. */
static void metrics_sample(seen_text *text, const axo_cluster *cluster, const seen_figure *figure,
                           const axo_cluster_link *link, const void *from)
{
    seen_add(text, "axo_%s%s{here=\"%s\"", figure->name,
             figure->kind == SEEN_COUNT ? "_total" : "", cluster->remote.here.name);
    if (link != NULL)
        seen_add(text, ",node=\"%s\",number=\"%u\"", link->node.name, (unsigned)link->number);
    seen_add(text, "} ");
    seen_value(text, figure, from, false);
    seen_add(text, "\n");
}

static void metrics_up(seen_text *text, bool open, const axo_cluster *cluster,
                       const axo_cluster_link *links, uint32_t count)
{
    metrics_head(text, open, "node_up", "gauge", "Whether the node is up, or why it is lost");
    for (uint32_t i = 0; i < count; i++)
        seen_add(text, "axo_node_up{here=\"%s\",node=\"%s\",number=\"%u\",why=\"%s\"} %u\n",
                 cluster->remote.here.name, links[i].node.name, (unsigned)links[i].number,
                 seen_why(&links[i]), (unsigned)links[i].up);
}

axo_status axo_cluster_metrics_write(axo_cluster *cluster, uint32_t format,
                                     axo_metrics_write_fn write, void *user)
{
    uint32_t count = 0;
    axo_cluster_figures figures;
    if (cluster == NULL || write == NULL || format > AXO_METRICS_PROMETHEUS)
        return AXO_EINVAL;
    axo_cluster_link *links = seen_all(cluster, &count);
    if (links == NULL)
        return AXO_ENOMEM;
    seen_text text = {.write = write, .to = user};
    bool open = format == AXO_METRICS_OPENMETRICS;
    (void)axo_cluster_count(cluster, &figures);
    for (size_t i = 0; i < SEEN_CLUSTER; i++) {
        metrics_head_of(&text, open, &seen_cluster[i]);
        metrics_sample(&text, cluster, &seen_cluster[i], NULL, &figures);
    }
    metrics_up(&text, open, cluster, links, count);
    for (size_t i = 0; i < SEEN_LINKS; i++) {
        metrics_head_of(&text, open, &seen_links[i]);
        for (uint32_t j = 0; j < count; j++)
            metrics_sample(&text, cluster, &seen_links[i], &links[j], &links[j]);
    }
    seen_flush(&text);
    free(links);
    return text.status;
}

/* ---- JSON ---- */

static void json_figures(seen_text *text, const seen_figure *figures, size_t count,
                         const void *from)
{
    for (size_t i = 0; i < count; i++) {
        seen_add(text, ",\"%s\":", figures[i].json);
        seen_value(text, &figures[i], from, true);
    }
}

/* An incarnation has more digits than a reader's numbers may. */
static axo_status seen_json(void *user, axo_metrics_write_fn write, void *to)
{
    axo_cluster *cluster = user;
    const axo_node *here = &cluster->remote.here;
    uint32_t count = 0;
    axo_cluster_figures figures;
    axo_cluster_link *links = seen_all(cluster, &count);
    if (links == NULL)
        return AXO_ENOMEM;
    seen_text text = {.write = write, .to = to};
    (void)axo_cluster_count(cluster, &figures);
    seen_add(&text, "{\"here\":\"%s\",\"incarnation\":\"%016" PRIx64 "\"", here->name,
             here->incarnation);
    json_figures(&text, seen_cluster, SEEN_CLUSTER, &figures);
    seen_add(&text, ",\"rows\":[");
    for (uint32_t i = 0; i < count; i++) {
        const axo_cluster_link *link = &links[i];
        seen_add(&text,
                 "%s\n{\"node\":\"%s\",\"number\":%u,\"up\":%s,\"why\":\"%s\","
                 "\"incarnation\":\"%016" PRIx64 "\"",
                 i > 0 ? "," : "", link->node.name, (unsigned)link->number,
                 link->up ? "true" : "false", seen_why(link), link->node.incarnation);
        json_figures(&text, seen_links, SEEN_LINKS, link);
        seen_add(&text, "}");
    }
    seen_add(&text, "]}\n");
    seen_flush(&text);
    free(links);
    return text.status;
}

static axo_status seen_metrics(void *user, uint32_t format, axo_metrics_write_fn write, void *to)
{
    return axo_cluster_metrics_write(user, format, write, to);
}

/* ---- the section ---- */

void cluster_section_init(axo_cluster *cluster)
{
    cluster->section = (axo_console_section)AXO_CONSOLE_SECTION(
        .name = "nodes", .json = seen_json, .metrics = seen_metrics, .user = cluster);
}

const axo_console_section *axo_cluster_section(axo_cluster *cluster)
{
    return cluster != NULL ? &cluster->section : NULL;
}
