/* link_test.c - one link and its other side, frame by frame: tools/cluster/link.h. */
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "link.h"

#define FRAMES 256
#define MS     INT64_C(1000000)

typedef struct link_side {
    cluster_link link;
    cluster_frame out[FRAMES];
    char body[FRAMES][8];
    uint32_t count;
    uint32_t taken, lost, blocks;
    char text[FRAMES + 1]; /* of the bodies that were taken */
    bool refuses, no_memory;
} link_side;

static void side_put(void *user, const cluster_frame *frame)
{
    link_side *side = user;
    assert_true(side->count < FRAMES && frame->size <= 8);
    side->out[side->count] = *frame;
    if (frame->size > 0)
        memcpy(side->body[side->count], frame->body, frame->size);
    side->out[side->count].body = side->body[side->count];
    side->count++;
}

static bool side_take(void *user, const cluster_frame *frame)
{
    link_side *side = user;
    assert_false(side->link.quarantined);
    if (side->refuses)
        return false;
    side->text[side->taken++] = *(const char *)frame->body;
    return true;
}

static void side_lost(void *user)
{
    ((link_side *)user)->lost++;
}

static void *side_alloc(void *user, size_t size)
{
    link_side *side = user;
    if (side->no_memory)
        return NULL;
    side->blocks++;
    return malloc(size);
}

static void side_free(void *user, void *block, size_t size)
{
    ((link_side *)user)->blocks--;
    free(block);
}

static const cluster_link_ops side_ops = {side_put, side_take, side_lost, side_alloc, side_free};
static const cluster_link_settings side_settings = {
    .resend_ns = 10 * MS, .resend_ns_max = 40 * MS, .give_up_ns = 200 * MS, .kept_max = 4,
    .burst_max = 2};

static void sides_open(link_side *a, link_side *b)
{
    memset(a, 0, sizeof *a);
    memset(b, 0, sizeof *b);
    cluster_link_init(&a->link, &side_settings, &side_ops, a, 1, 2);
    cluster_link_init(&b->link, &side_settings, &side_ops, b, 2, 1);
}

static void sides_close(link_side *a, link_side *b)
{
    cluster_link_fini(&a->link);
    cluster_link_fini(&b->link);
    assert_int_equal(a->blocks + b->blocks, 0);
}

static void side_system(link_side *side, int64_t now, char what)
{
    assert_true(cluster_link_send_system(&side->link, now, &what, 1));
}

/* Gives a frame of `from` to `to`. */
static void side_give(const link_side *from, uint32_t index, link_side *to, int64_t now)
{
    assert_true(index < from->count);
    cluster_link_receive(&to->link, now, &from->out[index]);
}

static void users_once_in_order(void **unused)
{
    link_side a, b;
    sides_open(&a, &b);
    for (char c = 'a'; c < 'e'; c++)
        assert_true(cluster_link_send(&a.link, &c, 1));
    side_give(&a, 0, &b, 0);
    side_give(&a, 0, &b, 0); /* repeated */
    side_give(&a, 2, &b, 0); /* the second is late */
    side_give(&a, 1, &b, 0);
    side_give(&a, 3, &b, 0);
    assert_string_equal(b.text, "acd");
    assert_int_equal(b.count, 0); /* nothing is owed for them */
    sides_close(&a, &b);
}

static void system_exactly_once(void **unused)
{
    link_side a, b;
    sides_open(&a, &b);
    side_system(&a, 0, 'x');
    side_system(&a, 0, 'y');
    side_give(&a, 1, &b, 0); /* too early */
    assert_int_equal(b.taken, 0);
    side_give(&a, 0, &b, 0);
    side_give(&a, 0, &b, 0);
    assert_string_equal(b.text, "x");
    cluster_link_step(&b.link, 0);
    assert_int_equal(b.count, 1);
    assert_int_equal(b.out[0].kind, CLUSTER_ACK);
    side_give(&b, 0, &a, MS);
    assert_int_equal(a.link.kept, 1);
    cluster_link_step(&a.link, 10 * MS); /* its time begins with the acknowledgement */
    assert_int_equal(a.count, 2);
    assert_int_equal(cluster_link_due(&a.link), 11 * MS);
    cluster_link_step(&a.link, 11 * MS);
    assert_int_equal(a.count, 3);
    assert_int_equal(cluster_link_due(&a.link), 31 * MS);
    side_give(&a, 2, &b, 12 * MS);
    assert_string_equal(b.text, "xy");
    cluster_link_step(&b.link, 12 * MS);
    side_give(&b, 1, &a, 13 * MS);
    assert_int_equal(a.link.kept, 0);
    assert_true(cluster_link_due(&a.link) == INT64_MAX);
    sides_close(&a, &b);
}

/* What was sent before a system message does not come behind it. */
static void users_not_behind_system(void **unused)
{
    link_side a, b;
    sides_open(&a, &b);
    assert_true(cluster_link_send(&a.link, "1", 1));
    side_system(&a, 0, 'n');
    assert_true(cluster_link_send(&a.link, "2", 1));
    side_give(&a, 1, &b, 0);
    side_give(&a, 0, &b, 0);
    side_give(&a, 2, &b, 0);
    assert_string_equal(b.text, "n2");
    sides_close(&a, &b);
}

static void not_taken_comes_again(void **unused)
{
    link_side a, b;
    sides_open(&a, &b);
    side_system(&a, 0, 'x');
    b.refuses = true;
    side_give(&a, 0, &b, 0);
    cluster_link_step(&b.link, 0);
    assert_int_equal(b.out[0].ack, 0);
    b.refuses = false;
    cluster_link_step(&a.link, 10 * MS);
    side_give(&a, 1, &b, 10 * MS);
    assert_string_equal(b.text, "x");
    sides_close(&a, &b);
}

static void strangers_change_nothing(void **unused)
{
    link_side a, b;
    sides_open(&a, &b);
    side_system(&a, 0, 'x');
    cluster_frame frame = a.out[0];
    frame.from = 3; /* another life of the sender */
    cluster_link_receive(&b.link, 0, &frame);
    frame = a.out[0];
    frame.to = 3; /* for another life of the receiver */
    cluster_link_receive(&b.link, 0, &frame);
    frame = (cluster_frame){.kind = CLUSTER_QUARANTINE, .from = 7, .to = 2};
    cluster_link_receive(&b.link, 0, &frame);
    assert_int_equal(b.taken + b.lost, 0);
    assert_int_equal(b.link.strangers, 3);
    frame = (cluster_frame){.kind = CLUSTER_ACK, .from = 2, .to = 1, .ack = 99}; /* never sent */
    cluster_link_receive(&a.link, 0, &frame);
    assert_int_equal(a.link.kept, 1);
    sides_close(&a, &b);
}

static void quarantine_is_for_good(void **unused)
{
    link_side a, b;
    sides_open(&a, &b);
    side_system(&a, 0, 'x');
    assert_true(cluster_link_send(&a.link, "1", 1));
    cluster_link_quarantine(&b.link);
    cluster_link_quarantine(&b.link);
    assert_int_equal(b.lost, 1);
    assert_int_equal(b.count, 1);
    side_give(&a, 0, &b, 0); /* nothing is taken, and its sender is told again */
    side_give(&a, 1, &b, 0);
    assert_int_equal(b.taken, 0);
    assert_int_equal(b.count, 3);
    side_give(&b, 2, &a, 0);
    side_give(&b, 1, &a, 0);
    assert_int_equal(a.lost, 1);
    assert_int_equal(a.blocks, 0);
    assert_false(cluster_link_send(&a.link, "2", 1));
    assert_false(cluster_link_send_system(&a.link, 0, "y", 1));
    assert_int_equal(a.count, 2);
    cluster_link_step(&a.link, 1000 * MS);
    assert_int_equal(a.count, 2); /* two that have are silent */
    sides_close(&a, &b);
}

/* Each reason why a link is given up by itself. */
static void gives_up(void **unused)
{
    link_side a, b;
    sides_open(&a, &b);
    side_system(&a, 0, 'x');
    for (int64_t now = 0; now < 200 * MS; now += MS)
        cluster_link_step(&a.link, now);
    assert_int_equal(a.lost, 0);
    assert_int_equal(a.count, 1 + 6); /* at 10, 30, 70, 110, 150, 190 */
    cluster_link_step(&a.link, 200 * MS);
    assert_int_equal(a.lost, 1);
    assert_int_equal(a.out[a.count - 1].kind, CLUSTER_QUARANTINE);
    sides_close(&a, &b);
    sides_open(&a, &b);
    for (uint32_t i = 0; i < 4; i++)
        side_system(&a, 0, 'x');
    assert_false(cluster_link_send_system(&a.link, 0, "y", 1)); /* no room */
    assert_int_equal(a.lost, 1);
    sides_close(&a, &b);
    sides_open(&a, &b);
    a.no_memory = true;
    assert_false(cluster_link_send_system(&a.link, 0, "y", 1));
    assert_int_equal(a.lost, 1);
    sides_close(&a, &b);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_once_in_order),
        cmocka_unit_test(system_exactly_once),
        cmocka_unit_test(users_not_behind_system),
        cmocka_unit_test(not_taken_comes_again),
        cmocka_unit_test(strangers_change_nothing),
        cmocka_unit_test(quarantine_is_for_good),
        cmocka_unit_test(gives_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
