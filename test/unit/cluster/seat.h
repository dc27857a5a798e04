/* seat.h - one member for its tests, and what it asks and tells, as text. */
#ifndef TEST_UNIT_CLUSTER_SEAT_H
#define TEST_UNIT_CLUSTER_SEAT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "member.h"

#define MS    INT64_C(1000000)
#define BEAT  (1000 * MS)
#define LEASE (9000 * MS)
#define SELF  7 /* its incarnation */

/* A member, and what it has asked. */
typedef struct seat {
    cluster_member member;
    int64_t now;
    uint64_t revision;     /* the store's last */
    cluster_entry put;
    cluster_entry removed;
    uint32_t puts, removals, beats, no_rooms;
    char text[512];        /* what it has told, a word each */
} seat;

static inline void seat_tell(seat *s, const char *what, const axo_node *node, const char *why)
{
    size_t used = strlen(s->text);
    char number[24] = "";
    if (node != NULL)
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)node->incarnation);
    int size = snprintf(s->text + used, sizeof s->text - used, "%s%s%s%s%s", used > 0 ? " " : "",
                        what, node != NULL ? node->name : "", number, why);
    assert_true(size > 0 && (size_t)size < sizeof s->text - used);
}

/* And forgets it. */
static inline void told(seat *s, const char *text)
{
    assert_string_equal(s->text, text);
    s->text[0] = 0;
}

static const char *const seat_whys[] = {"", ":left", ":suspected", ":expired", ":replaced",
                                        ":evicted", ":lost", ":minority", ":outnumbered"};

static inline void seat_put(void *user, const cluster_entry *entry)
{
    seat *s = user;
    s->puts++;
    s->put = *entry;
}

static inline void seat_remove(void *user, const cluster_entry *entry)
{
    seat *s = user;
    s->removals++;
    s->removed = *entry;
}

static inline void seat_beat(void *user, uint64_t number)
{
    seat *s = user;
    assert_int_equal(number, ++s->beats);
}

static inline void seat_up(void *user, const axo_node *node)
{
    seat_tell(user, "+", node, "");
}

static inline void seat_down(void *user, const axo_node *node, cluster_why why)
{
    seat *s = user;
    seat_tell(s, "-", node, seat_whys[why]);
    cluster_member_lost(&s->member, s->now, node); /* which its link may say */
}

static inline void seat_minority(void *user)
{
    seat_tell(user, "minority", NULL, "");
}

static inline void seat_majority(void *user)
{
    seat_tell(user, "majority", NULL, "");
}

static inline void seat_refused(void *user, const axo_node *holder)
{
    seat_tell(user, "refused:", holder, "");
}

static inline void seat_no_room(void *user, const axo_node *node)
{
    ((seat *)user)->no_rooms++;
}

static inline void seat_over(void *user, cluster_why why)
{
    seat_tell(user, "over", NULL, seat_whys[why]);
}

static const cluster_member_ops seat_ops = {
    .put = seat_put, .remove = seat_remove, .beat = seat_beat, .up = seat_up, .down = seat_down,
    .minority = seat_minority, .majority = seat_majority, .refused = seat_refused,
    .no_room = seat_no_room, .over = seat_over};

static inline cluster_member_settings seat_settings(void)
{
    return (cluster_member_settings){
        .beat_ns = BEAT, .lease_ns = LEASE,
        .phi = {.estimate_ns = BEAT, .pause_ns = 3 * BEAT, .deviation_ns_min = 100 * MS,
                .threshold = 8}};
}

static inline axo_node node_of(char name, uint64_t incarnation)
{
    return (axo_node){.name = {name}, .incarnation = incarnation};
}

/* The member is "m" of SELF; its clock is behind zero. */
static inline seat *seat_open(const cluster_member_settings *settings)
{
    seat *s = test_malloc(sizeof *s);
    axo_node self = node_of('m', SELF);
    memset(s, 0, sizeof *s);
    s->now = -3600000 * MS;
    cluster_member_init(&s->member, settings, &seat_ops, s, &self, s->now);
    return s;
}

static inline void seat_close(seat *s)
{
    assert_string_equal(s->text, "");
    test_free(s);
}

/* ---- what comes */

static inline void seat_step(seat *s)
{
    cluster_member_step(&s->member, s->now);
}

static inline void seat_store(seat *s, cluster_store_state state)
{
    cluster_member_store(&s->member, s->now, state);
}

static inline void seat_answer(seat *s, cluster_answer answer)
{
    cluster_member_answer(&s->member, s->now, answer, NULL);
}

static inline void seat_entry_at(seat *s, char name, uint64_t incarnation, cluster_phase phase,
                          uint64_t revision)
{
    cluster_entry entry = {.node = node_of(name, incarnation), .phase = phase,
                           .revision = revision};
    cluster_member_entry(&s->member, s->now, &entry);
}

static inline void seat_entry(seat *s, char name, uint64_t incarnation, cluster_phase phase)
{
    seat_entry_at(s, name, incarnation, phase, ++s->revision);
}

static inline void seat_gone(seat *s, char name, cluster_gone how)
{
    axo_node node = node_of(name, 0);
    cluster_member_gone(&s->member, s->now, node.name, ++s->revision, how);
}

static inline void seat_heard(seat *s, char name, uint64_t incarnation, uint64_t number)
{
    axo_node node = node_of(name, incarnation);
    cluster_member_heard(&s->member, s->now, &node, number);
}

/* The put that is under way is taken; the watch is silent of it. */
static inline void seat_taken(seat *s)
{
    cluster_entry entry = s->put;
    entry.revision = ++s->revision;
    cluster_member_answer(&s->member, s->now, CLUSTER_TAKEN, &entry);
}

/* Until it puts; then that is taken, and comes by the watch. */
static inline void seat_renews(seat *s)
{
    uint32_t puts = s->puts;
    for (uint32_t i = 0; i < 30 && s->puts == puts; i++) {
        seat_step(s);
        if (s->puts == puts)
            s->now = cluster_member_due(&s->member);
    }
    assert_int_equal(s->puts, puts + 1);
    seat_taken(s);
    seat_entry_at(s, 'm', SELF, s->put.phase, s->revision);
}

static inline void seat_lists(seat *s)
{
    seat_store(s, CLUSTER_STORE_LISTS);
    seat_store(s, CLUSTER_STORE_IS_THERE);
}

/* One that is UP in a store. */
static inline seat *seat_join(const cluster_member_settings *settings)
{
    seat *s = seat_open(settings);
    seat_lists(s);
    seat_renews(s);
    seat_renews(s);
    assert_int_equal(s->member.phase, CLUSTER_UP);
    return s;
}

static inline void seat_meets(seat *s, char name, uint64_t incarnation)
{
    seat_entry(s, name, incarnation, CLUSTER_UP);
    seat_heard(s, name, incarnation, 1);
}

/* Time goes on, in steps of a beat; `names` are heard, of incarnation 1. */
static inline void seat_goes_on(seat *s, int64_t for_ns, const char *names)
{
    for (int64_t end = s->now + for_ns; s->now < end;) {
        s->now += BEAT;
        for (const char *name = names; *name != 0; name++)
            seat_heard(s, *name, 1, 1000000 + (uint64_t)(s->now / MS + 3600000));
        seat_step(s);
    }
}

#endif
