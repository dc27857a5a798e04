/* grain_test.c - the grains of one node, call by call; the test is the store, the network and the
 * lives: tools/cluster/grain.h. */
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "grain.h"

#define MS   INT64_C(1000000)
#define MINE 31 /* incarnations */
#define HIS  32
#define LOG  512

typedef struct bench {
    cluster_grains all;
    char log[LOG];        /* what was asked for, a letter each */
    uint64_t ask;         /* the last call of a grain */
    uint64_t ask_lease;
    uint64_t revision;    /* of it */
    uint64_t key_lease;   /* of it; 0: the claim */
    cluster_grain *grain; /* the last that has begun */
    cluster_parcel sent;  /* the last that was sent on */
    uint64_t sent_to;
    axo_status why;       /* of the last that is dead */
    uint32_t refuses;     /* so many allocations from now on; UINT32_MAX: none */
    bool unborn;
    void *keeps;          /* with a life, of 50 ms then */
    int64_t blocks;
} bench;

static uint64_t me, him;

static void bench_log(bench *b, char what)
{
    size_t length = strlen(b->log);
    assert_true(length + 1 < LOG);
    b->log[length] = what;
}

static void bench_asked(bench *b, char what, uint64_t ask, cluster_store_key key, uint64_t revision)
{
    if (ask >= CLUSTER_LEASE_ASKS) {
        b->ask_lease = ask;
        return;
    }
    b->ask = ask;
    b->revision = revision;
    b->key_lease = key.incarnation;
    bench_log(b, key.incarnation != 0 && what == 'g' ? 'l' : key.incarnation != 0 ? 'f' : what);
}

static void bench_get(void *user, uint64_t ask, cluster_store_key key)
{
    bench_asked(user, 'g', ask, key, 0);
}

static void bench_put(void *user, uint64_t ask, cluster_store_key key, uint64_t revision,
                      const cluster_lease_holder *holder)
{
    assert_int_equal(holder->incarnation, MINE);
    bench_asked(user, 'p', ask, key, revision);
}

static void bench_remove(void *user, uint64_t ask, cluster_store_key key, uint64_t revision)
{
    bench_asked(user, 'r', ask, key, revision);
}

static void bench_forward(void *user, uint64_t node, const cluster_parcel *parcel, bool back)
{
    bench *b = user;
    b->sent = *parcel;
    b->sent_to = node;
    bench_log(b, back ? '<' : '>');
}

static bool bench_begin(void *user, cluster_grain *grain)
{
    bench *b = user;
    b->grain = grain;
    if (b->keeps != NULL)
        cluster_grain_keep(grain, b->keeps, 50 * MS);
    bench_log(b, b->unborn ? 'U' : 'B');
    return !b->unborn;
}

static void bench_ready(void *user, cluster_grain *grain)
{
    bench_log(user, '!');
}

static void bench_end(void *user, cluster_grain *grain)
{
    bench_log(user, 'E');
}

static void bench_dead(void *user, const cluster_parcel *parcel, axo_status why)
{
    bench *b = user;
    b->why = why;
    bench_log(b, 'x');
}

static void *bench_alloc(void *user, size_t size)
{
    bench *b = user;
    if (b->refuses == 0)
        return NULL;
    b->refuses -= b->refuses != UINT32_MAX;
    b->blocks++;
    return malloc(size);
}

static void bench_free(void *user, void *block, size_t size)
{
    ((bench *)user)->blocks--;
    free(block);
}

static const cluster_grain_ops bench_ops = {
    {bench_get, bench_put, bench_remove}, bench_forward, bench_begin, bench_ready, bench_end,
    bench_dead, bench_alloc, bench_free};
static const cluster_grain_settings bench_settings = {
    .lease = {.lease_ns = 1000 * MS, .renew_ns = 300 * MS, .guard_ns = 100 * MS,
              .answer_ns = 200 * MS, .pause_ns = 50 * MS, .drift_ppm = 1000},
    .idle_ns = 400 * MS, .give_up_ns = 700 * MS, .grains_max = 3, .messages_max = 5,
    .waiting_max = 3, .body_max = 8, .hops_max = 2, .tries_max = 1};

/* ---- what tests say ---- */

static void bench_says(bench *b, int64_t now, cluster_store_answer answer, uint64_t revision,
                       uint64_t incarnation, uint64_t term)
{
    cluster_store_record record = {revision, {incarnation == MINE ? me : him, incarnation, term}};
    cluster_grains_answer(&b->all, now, b->ask, answer, &record);
    cluster_grains_check(&b->all);
}

/* The lease is written now. */
static void bench_renew(bench *b, int64_t now, uint64_t term)
{
    cluster_store_record record = {5, {me, MINE, term}};
    cluster_grains_step(&b->all, now);
    cluster_grains_answer(&b->all, now, b->ask_lease, CLUSTER_STORE_DONE, &record);
    assert_true(b->all.lease.held);
}

static void bench_open(bench *b)
{
    memset(b, 0, sizeof *b);
    b->refuses = UINT32_MAX;
    me = cluster_rendezvous_hash("me", 2);
    him = cluster_rendezvous_hash("him", 3);
    assert_int_equal(cluster_grains_init(&b->all, &bench_settings, &bench_ops, b, me, MINE),
                     AXO_OK);
    assert_int_equal(cluster_grains_up(&b->all, 0, me, MINE), AXO_OK);
    bench_renew(b, 0, 1);
}

static void bench_close(bench *b)
{
    cluster_grains_check(&b->all);
    cluster_grains_fini(&b->all);
    assert_int_equal(b->blocks, 0);
}

/* The first key from `from` on that belongs to the node when both are up. */
static char bench_key(uint64_t node, char from)
{
    cluster_rendezvous both = {0};
    (void)cluster_rendezvous_add(&both, me, MINE);
    (void)cluster_rendezvous_add(&both, him, HIS);
    while (cluster_rendezvous_owner(&both, cluster_rendezvous_key(1, &from, 1)) != node)
        from++;
    return from;
}

static cluster_parcel bench_parcel(char key)
{
    cluster_parcel parcel = {.name = {.kind = 1, .size = 1}, .size = 1, .body = "m"};
    parcel.name.key[0] = (unsigned char)key;
    return parcel;
}

static axo_status bench_send(bench *b, int64_t now, char key)
{
    cluster_parcel parcel = bench_parcel(key);
    axo_status status = cluster_grains_send(&b->all, now, &parcel);
    cluster_grains_check(&b->all);
    return status;
}

static void bench_logged(bench *b, const char *expected)
{
    assert_string_equal(b->log, expected);
    memset(b->log, 0, sizeof b->log);
}

/* A life of the key, which has a message, at `now`; its number is 20. */
static void bench_lives(bench *b, int64_t now, char key)
{
    assert_int_equal(bench_send(b, now, key), AXO_OK);
    bench_says(b, now, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_says(b, now, CLUSTER_STORE_DONE, 20, MINE, 1);
    bench_logged(b, "gpB!");
}

static bool bench_take(bench *b, int64_t now)
{
    cluster_parcel parcel;
    bool given = cluster_grain_take(&b->all, now, b->grain, &parcel);
    assert_true(!given || (parcel.size == 1 && *(const char *)parcel.body == 'm'));
    return given;
}

/* ---- tests ---- */

static void one_life(void **unused)
{
    bench b;
    bench_open(&b);
    assert_int_equal(bench_send(&b, 0, 'k'), AXO_OK);
    assert_int_equal(bench_send(&b, 0, 'k'), AXO_OK); /* which waits with the first */
    bench_logged(&b, "g");
    bench_says(&b, 1, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_logged(&b, "p");
    assert_int_equal(b.revision, 0);
    bench_says(&b, 2, CLUSTER_STORE_DONE, 20, MINE, 1);
    bench_logged(&b, "B!");
    assert_int_equal(cluster_grain_fence(b.grain), 20);
    assert_int_equal(cluster_grain_is(b.grain), CLUSTER_GRAIN_LIVE);
    assert_int_equal(cluster_grain_named(b.grain)->key[0], 'k');
    assert_true(bench_take(&b, 3));
    assert_false(bench_take(&b, 3)); /* one at a time */
    cluster_grain_done(&b.all, 4, b.grain);
    assert_true(bench_take(&b, 5));
    cluster_grain_done(&b.all, 6, b.grain);
    assert_false(bench_take(&b, 7));
    assert_int_equal(bench_send(&b, 8, 'k'), AXO_OK);
    bench_logged(&b, "!");
    assert_int_equal(b.all.taken, 2);
    bench_close(&b);
    assert_int_equal(b.why, AXO_ESTOPPING);
}

/* Idle from its last message on; what comes while it ends has another life. */
static void idle_ends(void **unused)
{
    bench b;
    bench_open(&b);
    bench_lives(&b, 0, 'k');
    bench_renew(&b, 300 * MS, 1);
    assert_true(bench_take(&b, 350 * MS));
    cluster_grains_step(&b.all, 400 * MS); /* it handles */
    cluster_grain_done(&b.all, 450 * MS, b.grain);
    bench_renew(&b, 700 * MS, 1);
    cluster_grains_step(&b.all, 850 * MS - 1);
    bench_logged(&b, "");
    cluster_grains_step(&b.all, 850 * MS);
    bench_logged(&b, "E");
    assert_int_equal(bench_send(&b, 860 * MS, 'k'), AXO_OK);
    assert_false(bench_take(&b, 860 * MS));
    bench_logged(&b, "");
    cluster_grain_ended(&b.all, 870 * MS, b.grain);
    bench_logged(&b, "r");
    assert_int_equal(b.revision, 20);
    bench_says(&b, 880 * MS, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_logged(&b, "g");
    bench_says(&b, 890 * MS, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_says(&b, 895 * MS, CLUSTER_STORE_DONE, 30, MINE, 1);
    bench_logged(&b, "pB!");
    assert_int_equal(cluster_grain_fence(b.grain), 30);
    cluster_grain_ended(&b.all, 896 * MS, b.grain); /* by itself; its message waits */
    bench_logged(&b, "r");
    bench_says(&b, 897 * MS, CLUSTER_STORE_CONFLICT, 0, 0, 0); /* an earlier call has done it */
    bench_logged(&b, "g");
    bench_close(&b);
}

/* Nothing is taken a guard before the lease is over, whether or not that is known. */
static void not_without_a_lease(void **unused)
{
    bench b;
    bench_open(&b);
    bench_lives(&b, 10 * MS, 'k');
    assert_int_equal(bench_send(&b, 10 * MS, 'k'), AXO_OK);
    assert_true(bench_take(&b, 900 * MS - 1));
    cluster_grain_done(&b.all, 900 * MS, b.grain);
    assert_false(bench_take(&b, 900 * MS));
    cluster_grains_step(&b.all, 900 * MS);
    bench_logged(&b, "E");
    cluster_grain_ended(&b.all, 950 * MS, b.grain);
    bench_logged(&b, ""); /* no release: the claim is nobody's */
    assert_int_equal(b.all.waiting, 1);
    bench_renew(&b, 1000 * MS, 2);
    bench_logged(&b, "");
    cluster_grains_step(&b.all, 1050 * MS);
    bench_logged(&b, "g");
    bench_says(&b, 1051 * MS, CLUSTER_STORE_DONE, 20, MINE, 1); /* its own of the lost term */
    bench_logged(&b, "p");
    assert_int_equal(b.revision, 20);
    bench_close(&b);
}

/* A claim that is carried out by a term that is lost begins no life. */
static void claim_of_a_lost_term(void **unused)
{
    bench b;
    bench_open(&b);
    assert_int_equal(bench_send(&b, 850 * MS, 'k'), AXO_OK);
    bench_says(&b, 851 * MS, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_logged(&b, "gp");
    bench_says(&b, 900 * MS, CLUSTER_STORE_DONE, 20, MINE, 1);
    bench_logged(&b, "");
    assert_int_equal(b.all.waiting, 1);
    bench_close(&b);
}

/* An answer of a former call changes nothing, nor does one that comes twice. */
static void late_answers(void **unused)
{
    bench b;
    bench_open(&b);
    assert_int_equal(bench_send(&b, 0, 'k'), AXO_OK);
    bench_says(&b, 1, CLUSTER_STORE_DONE, 0, 0, 0);
    uint64_t first = b.ask;
    cluster_grains_step(&b.all, 200 * MS + 1);
    bench_logged(&b, "gpg"); /* read again: it may be there */
    cluster_store_record record = {20, {me, MINE, 1}};
    cluster_grains_answer(&b.all, 201 * MS, first, CLUSTER_STORE_DONE, &record);
    bench_logged(&b, "");
    bench_says(&b, 202 * MS, CLUSTER_STORE_DONE, 20, MINE, 1);
    bench_logged(&b, "p"); /* anew: a call from before must not be able to remove it */
    assert_int_equal(b.revision, 20);
    bench_says(&b, 203 * MS, CLUSTER_STORE_DONE, 21, MINE, 1);
    bench_logged(&b, "B!");
    assert_int_equal(cluster_grain_fence(b.grain), 21);
    bench_says(&b, 204 * MS, CLUSTER_STORE_DONE, 21, MINE, 1);
    bench_logged(&b, "");
    bench_close(&b);
}

/* The claim of a node that is gone: its lease is watched, removed, then the claim is taken over. */
static void taken_over(void **unused)
{
    bench b;
    bench_open(&b);
    assert_int_equal(bench_send(&b, 0, 'k'), AXO_OK);
    bench_says(&b, 0, CLUSTER_STORE_DONE, 11, HIS, 4);
    bench_logged(&b, "gl");
    assert_int_equal(b.key_lease, HIS);
    bench_says(&b, 0, CLUSTER_STORE_DONE, 3, HIS, 4);
    bench_logged(&b, ""); /* he is not up: it is looked at again */
    bench_renew(&b, 300 * MS, 1);
    bench_renew(&b, 600 * MS, 1);
    assert_int_equal(bench_send(&b, 650 * MS, 'k'), AXO_OK);
    cluster_grains_step(&b.all, 700 * MS); /* the first message has waited for long enough */
    assert_int_equal(b.why, AXO_ETIMEDOUT);
    memset(b.log, 0, sizeof b.log);
    bench_renew(&b, 900 * MS, 1);
    bench_renew(&b, 1210 * MS, 1);
    bench_says(&b, 1210 * MS, CLUSTER_STORE_DONE, 11, HIS, 4);
    bench_says(&b, 1210 * MS, CLUSTER_STORE_DONE, 3, HIS, 4);
    assert_string_equal(b.log + strlen(b.log) - 2, "lf");
    assert_int_equal(b.revision, 3);
    memset(b.log, 0, sizeof b.log);
    bench_says(&b, 1210 * MS, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_logged(&b, "p");
    assert_int_equal(b.revision, 11);
    bench_close(&b);
}

/* He is up and holds the claim: messages go on to him, with the claim that was seen. */
static void sent_to_the_holder(void **unused)
{
    bench b;
    bench_open(&b);
    assert_int_equal(cluster_grains_up(&b.all, 0, him, HIS), AXO_OK);
    assert_int_equal(bench_send(&b, 0, bench_key(me, 'a')), AXO_OK);
    bench_says(&b, 0, CLUSTER_STORE_DONE, 11, HIS, 4);
    bench_says(&b, 0, CLUSTER_STORE_DONE, 3, HIS, 4);
    bench_logged(&b, "gl>");
    assert_true(b.sent_to == him && b.sent.hops == 1 && b.sent.holder.term == 4);
    assert_int_equal(b.all.count, 0);
    bench_close(&b);
}

/* Of a name that is another's by now this node has a claim, and no life: it gives it up. */
static void claim_without_a_life(void **unused)
{
    bench b;
    bench_open(&b);
    assert_int_equal(cluster_grains_up(&b.all, 0, him, HIS), AXO_OK);
    cluster_parcel parcel = bench_parcel(bench_key(him, 'a'));
    parcel.origin = him;
    parcel.hops = 1;
    parcel.holder = (cluster_lease_holder){me, MINE, 1};
    cluster_grains_arrive(&b.all, 0, &parcel, false);
    bench_logged(&b, "g");
    bench_says(&b, 0, CLUSTER_STORE_DONE, 11, MINE, 1);
    bench_logged(&b, "r");
    assert_int_equal(b.revision, 11);
    bench_says(&b, 0, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_logged(&b, ">");
    assert_true(b.sent_to == him && b.sent.hops == 2 && b.sent.holder.incarnation == 0);
    parcel.holder.term = 2; /* no lease that it has */
    cluster_grains_arrive(&b.all, 0, &parcel, false);
    bench_logged(&b, ">");
    bench_close(&b);
}

/* What is sent on too often goes back; there it is tried again, so often and no more. */
static void hops_are_bounded(void **unused)
{
    bench b;
    bench_open(&b);
    assert_int_equal(cluster_grains_up(&b.all, 0, him, HIS), AXO_OK);
    cluster_parcel parcel = bench_parcel(bench_key(him, 'a'));
    assert_int_equal(cluster_grains_send(&b.all, 0, &parcel), AXO_OK);
    bench_logged(&b, ">");
    assert_int_equal(b.sent.hops, 1);
    parcel.origin = him;
    parcel.hops = 2;
    cluster_grains_arrive(&b.all, 0, &parcel, false);
    bench_logged(&b, "<");
    assert_true(b.sent_to == him);
    parcel.origin = 1234; /* there is no way back */
    cluster_grains_arrive(&b.all, 0, &parcel, false);
    bench_logged(&b, "x");
    assert_int_equal(b.why, AXO_EGONE);
    parcel.origin = me;
    cluster_grains_arrive(&b.all, 0, &parcel, true);
    bench_logged(&b, "");
    assert_int_equal(b.all.waiting, 1);
    cluster_grains_step(&b.all, 50 * MS);
    bench_logged(&b, ">");
    assert_true(b.sent.hops == 1 && b.sent.tries == 1);
    parcel.tries = 1;
    cluster_grains_arrive(&b.all, 60 * MS, &parcel, true);
    bench_logged(&b, "x");
    assert_int_equal(b.why, AXO_EGONE);
    bench_close(&b);
}

/* What is another's by now is moved with what waits for it. */
static void moved(void **unused)
{
    bench b;
    bench_open(&b);
    char key = bench_key(him, 'a');
    bench_lives(&b, 0, key);
    assert_int_equal(cluster_grains_up(&b.all, 1, him, HIS), AXO_OK);
    bench_logged(&b, "E");
    assert_int_equal(cluster_grains_up(&b.all, 1, him, HIS), AXO_OK); /* said again */
    bench_logged(&b, "");
    cluster_grain_ended(&b.all, 2, b.grain);
    bench_logged(&b, "r");
    bench_says(&b, 3, CLUSTER_STORE_FAILED, 0, 0, 0);
    bench_logged(&b, "");
    cluster_grains_step(&b.all, 50 * MS + 3);
    bench_logged(&b, "r"); /* until it is known to be done */
    bench_says(&b, 51 * MS, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_logged(&b, ">");
    assert_int_equal(b.all.count, 0);
    cluster_grains_down(&b.all, 60 * MS, him);
    cluster_grains_down(&b.all, 60 * MS, me);
    assert_int_equal(bench_send(&b, 60 * MS, key), AXO_OK); /* nobody is up: it waits */
    bench_logged(&b, "");
    assert_int_equal(cluster_grains_up(&b.all, 61 * MS, him, HIS), AXO_OK);
    bench_logged(&b, ">");
    bench_close(&b);
}

/* What was taken and not handled is the first again: of this life, or of the next one. */
static void given_back(void **unused)
{
    bench b;
    cluster_parcel parcel;
    bench_open(&b);
    bench_lives(&b, 0, 'k');
    assert_true(bench_take(&b, 1));
    assert_int_equal(bench_send(&b, 1, 'k'), AXO_OK);
    cluster_parcel second = bench_parcel('k');
    second.body = "n";
    while (cluster_grains_send(&b.all, 1, &second) == AXO_OK)
        continue; /* there is no room, and yet for the one that comes back */
    uint64_t waiting = b.all.waiting;
    cluster_grain_untake(&b.all, b.grain);
    cluster_grains_check(&b.all);
    assert_int_equal(b.all.waiting, waiting + 1);
    assert_int_equal(b.all.taken, 0);
    assert_true(bench_take(&b, 2));
    cluster_grain_untake(&b.all, b.grain);
    cluster_grain_ended(&b.all, 3, b.grain);
    bench_says(&b, 4, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_says(&b, 5, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_says(&b, 6, CLUSTER_STORE_DONE, 30, MINE, 1);
    for (int i = 0; i < 2; i++) {
        assert_true(bench_take(&b, 7));
        cluster_grain_done(&b.all, 7, b.grain);
    }
    assert_true(cluster_grain_take(&b.all, 8, b.grain, &parcel));
    assert_int_equal(*(const char *)parcel.body, 'n');
    assert_int_equal(b.all.dead, 0);
    bench_close(&b);
}

/* What is kept with a life is its own, and so is its idle time. */
static void kept(void **unused)
{
    bench b;
    int mine;
    bench_open(&b);
    b.keeps = &mine;
    bench_lives(&b, 0, 'k');
    assert_ptr_equal(cluster_grain_kept(b.grain), &mine);
    assert_true(bench_take(&b, 1));
    cluster_grain_done(&b.all, 1, b.grain);
    cluster_grains_step(&b.all, 50 * MS);
    bench_logged(&b, "");
    cluster_grains_step(&b.all, 50 * MS + 1);
    bench_logged(&b, "E");
    cluster_grain *was = b.grain;
    assert_int_equal(bench_send(&b, 51 * MS, 'k'), AXO_OK);
    cluster_grain_ended(&b.all, 52 * MS, was);
    assert_null(cluster_grain_kept(was));
    bench_close(&b);
}

/* A life that cannot begin: the claim is released, and a little later it is tried again. */
static void unborn(void **unused)
{
    bench b;
    bench_open(&b);
    b.unborn = true;
    assert_int_equal(bench_send(&b, 0, 'k'), AXO_OK);
    bench_says(&b, 0, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_says(&b, 0, CLUSTER_STORE_DONE, 20, MINE, 1);
    bench_logged(&b, "gpUr");
    bench_says(&b, 1, CLUSTER_STORE_DONE, 0, 0, 0);
    bench_logged(&b, "");
    cluster_grains_step(&b.all, 50 * MS + 1);
    bench_logged(&b, "g");
    assert_int_equal(b.all.lives, 0);
    bench_close(&b);
}

/* Each limit, and each allocation that is refused: nothing has changed. */
static void refused(void **unused)
{
    bench b;
    bench_open(&b);
    cluster_parcel parcel = bench_parcel('k');
    parcel.name.size = 0;
    assert_int_equal(cluster_grains_send(&b.all, 0, &parcel), AXO_EINVAL);
    parcel.name.size = CLUSTER_GRAIN_KEY_MAX + 1;
    assert_int_equal(cluster_grains_send(&b.all, 0, &parcel), AXO_EINVAL);
    parcel = bench_parcel('k');
    parcel.size = 9;
    assert_int_equal(cluster_grains_send(&b.all, 0, &parcel), AXO_ETOOBIG);
    for (uint32_t i = 0; i < 2; i++) {
        b.refuses = i;
        assert_int_equal(bench_send(&b, 0, 'k'), AXO_ENOMEM);
        assert_true(b.all.count == 0 && b.all.waiting == 0 && b.all.accepted == 0);
    }
    b.refuses = UINT32_MAX;
    bench_logged(&b, "");
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(bench_send(&b, 0, 'k'), AXO_OK);
    assert_int_equal(bench_send(&b, 0, 'k'), AXO_EFULL);
    assert_int_equal(bench_send(&b, 0, 'l'), AXO_OK);
    assert_int_equal(bench_send(&b, 0, 'm'), AXO_OK);
    assert_int_equal(bench_send(&b, 0, 'l'), AXO_ELIMIT); /* messages */
    assert_true(b.all.accepted == 5 && b.all.refused == 7);
    parcel = bench_parcel('l');
    parcel.origin = him;
    cluster_grains_arrive(&b.all, 0, &parcel, false);
    assert_int_equal(b.why, AXO_ELIMIT);
    cluster_grains_step(&b.all, 700 * MS);
    assert_int_equal(b.all.dead, 6);
    assert_int_equal(b.all.count, 0);
    for (char key = 'a'; key < 'd'; key++)
        assert_int_equal(bench_send(&b, 700 * MS, key), AXO_OK);
    assert_int_equal(bench_send(&b, 700 * MS, 'd'), AXO_ELIMIT); /* records */
    bench_close(&b);
}

/* What another node says that cannot be is told as dead. */
static void no_such_parcel(void **unused)
{
    bench b;
    bench_open(&b);
    cluster_parcel parcel = bench_parcel('k');
    cluster_grains_arrive(&b.all, 0, &parcel, false); /* sent nowhere */
    parcel.origin = him;
    cluster_grains_arrive(&b.all, 0, &parcel, true); /* not from here */
    parcel.name.size = CLUSTER_GRAIN_KEY_MAX + 1;
    cluster_grains_arrive(&b.all, 0, &parcel, false);
    bench_logged(&b, "xxx");
    assert_int_equal(b.why, AXO_EINVAL);
    assert_int_equal(b.all.count, 0);
    bench_close(&b);
}

static void no_memory_to_begin(void **unused)
{
    static bench b;
    for (uint32_t i = 0; i < 2; i++) {
        b = (bench){.refuses = i};
        assert_int_equal(cluster_grains_init(&b.all, &bench_settings, &bench_ops, &b, 1, MINE),
                         AXO_ENOMEM);
        assert_int_equal(b.blocks, 0);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_life),
        cmocka_unit_test(idle_ends),
        cmocka_unit_test(not_without_a_lease),
        cmocka_unit_test(claim_of_a_lost_term),
        cmocka_unit_test(late_answers),
        cmocka_unit_test(taken_over),
        cmocka_unit_test(sent_to_the_holder),
        cmocka_unit_test(claim_without_a_life),
        cmocka_unit_test(hops_are_bounded),
        cmocka_unit_test(moved),
        cmocka_unit_test(given_back),
        cmocka_unit_test(kept),
        cmocka_unit_test(unborn),
        cmocka_unit_test(refused),
        cmocka_unit_test(no_such_parcel),
        cmocka_unit_test(no_memory_to_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
