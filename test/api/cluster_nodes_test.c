/* cluster_nodes_test.c - nodes in one process, over a real nats-server: what actors do with those
 * of other nodes: <axo/cluster.h>. */
#include "api/cluster_world.h"

static cw_server server;

typedef struct pair {
    cw_node a, b;
    cw_note one, two, three; /* one of a, the others of b */
    axo_ref far, farther;    /* two and three, as a knows them */
} pair;

static void pair_start(pair *p)
{
    cw_node_start(&p->a, &server, "a");
    cw_node_start(&p->b, &server, "b");
    cw_actor(&p->a, &p->one, "one");
    cw_actor(&p->b, &p->two, "two");
    cw_actor(&p->b, &p->three, "three");
    p->far = cw_find(&p->a, "b", "two");
    p->farther = cw_find(&p->a, "b", "three");
}

static void pair_end(pair *p)
{
    cw_node_end(&p->a);
    cw_node_end(&p->b);
}

static void sends_in_order(void **unused)
{
    pair p;
    pair_start(&p);
    for (uint32_t i = 1; i <= 500; i++)
        assert_int_equal(cw_tell(&p.a, &p.one, CW_SEND, p.far, i), AXO_OK);
    for (uint32_t i = 1; i <= 100000; i++) { /* as fast as it takes them */
        axo_status status;
        while ((status = axo_system_send(p.a.system, p.farther, CW_NUMBER, &i, sizeof i)) ==
               AXO_EFULL)
            cw_sleep(CW_MS);
        assert_int_equal(status, AXO_OK);
    }
    CW_UNTIL(p.two.numbers == 500 && p.three.last == 100000);
    assert_int_equal(p.two.disorder + p.three.disorder, 0);
    assert_int_equal(p.three.numbers, 100000);
    axo_cluster_figures figures = cw_figures(&p.a);
    assert_true(figures.sent >= 100500 && figures.nodes == 1);
    assert_true(figures.packets_out < 60000); /* many go together */
    assert_int_equal(figures.unsent + figures.strangers + figures.other_token, 0);
    pair_end(&p);
}

static void answers_and_asks(void **unused)
{
    pair p;
    pair_start(&p);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_ASK, p.far, 4711), AXO_OK);
    CW_UNTIL(p.one.answers == 1);
    assert_int_equal(p.one.answer, 4711);
    assert_int_equal(axo_system_send_from(p.a.system, p.one.ref, p.far, CW_ECHO, "x", 1), AXO_OK);
    CW_UNTIL(p.one.back == 1);
    axo_asked asked; /* by a thread */
    assert_int_equal(axo_system_ask(p.a.system, p.farther, CW_ECHO, "abcd", 4, CW_LONG, &asked),
                     AXO_OK);
    assert_true(asked.message.tag == CW_BACK && asked.message.size == 4);
    axo_asked_free(p.a.system, &asked);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_STOP, p.far, 0), AXO_OK);
    CW_UNTIL(p.two.stopped == 1);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_ASK, p.far, 1), AXO_OK); /* its watch tells */
    CW_UNTIL(p.one.failed == 1);
    pair_end(&p);
}

static void watches_and_ends(void **unused)
{
    pair p;
    pair_start(&p);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, p.far, 0), AXO_OK);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, p.farther, 0), AXO_OK);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_STOP, p.far, 0), AXO_OK);
    CW_UNTIL(p.one.ends == 1);
    assert_int_equal(p.two.stopped, 1);
    assert_true(p.one.known == 1 && p.one.lost == 0);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_SEND, p.farther, 1), AXO_OK);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_POISON, p.farther, 0), AXO_OK);
    CW_UNTIL(p.one.ends == 2);
    assert_int_equal(p.three.stopped, 1);
    assert_int_equal(p.three.numbers, 1); /* the pill comes behind what was sent before */
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, p.far, 0), AXO_OK); /* it has ended */
    CW_UNTIL(p.one.ends == 3);
    assert_int_equal(p.one.lost, 0);
    pair_end(&p);
}

/* By a thread, which is answered when it has ended; also one that had. */
static void graceful_stops(void **unused)
{
    pair p;
    axo_verdict verdict;
    pair_start(&p);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(axo_system_graceful_stop(p.a.system, p.far, NULL, CW_LONG, &verdict),
                         AXO_OK);
        assert_int_equal(p.two.stopped, 1);
        assert_true(axo_ref_equal(verdict.target, p.far) && verdict.status == AXO_OK);
    }
    pair_end(&p);
}

/* A kill is a failure, under which the default is another instance. */
static void kills_and_unwatches(void **unused)
{
    pair p;
    pair_start(&p);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, p.far, 0), AXO_OK);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_UNWATCH, p.far, 0), AXO_OK);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, p.farther, 0), AXO_OK);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_KILL, p.far, 0), AXO_OK);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_KILL, p.farther, 0), AXO_OK);
    CW_UNTIL(p.one.ends == 1);
    CW_UNTIL(p.two.stopped == 1);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_ASK, p.farther, 1), AXO_OK);
    CW_UNTIL(p.one.failed + p.one.answers == 1);
    assert_int_equal(p.one.failed, 1);
    assert_int_equal(p.one.ends, 1);
    pair_end(&p);
}

static void references_travel(void **unused)
{
    pair p;
    cw_node c;
    cw_note four;
    axo_ref from_c;
    pair_start(&p);
    cw_node_start(&c, &server, "c");
    cw_actor(&c, &four, "four");
    from_c = cw_find(&c, "b", "two");
    CW_UNTIL(cw_figures(&p.b).nodes == 2 && cw_figures(&p.a).nodes == 2);
    /* a message of a's actor that c sends on: b answers it to a */
    axo_ref one_at_c = cw_find(&c, "a", "one");
    assert_int_equal(axo_system_send_from(c.system, one_at_c, from_c, CW_ECHO, "y", 1), AXO_OK);
    CW_UNTIL(p.one.back == 1);
    pair_end(&p);
    cw_node_end(&c);
}

static void finds(void **unused)
{
    pair p;
    axo_ref ref = {.bits = 1};
    pair_start(&p);
    axo_cluster *a = p.a.cluster;
    assert_int_equal(axo_cluster_find_wait(a, "b", "nobody", CW_LONG, &ref), AXO_ENOENT);
    assert_true(axo_ref_is_none(ref));
    assert_int_equal(axo_cluster_find_wait(a, "x", "two", 50 * CW_MS, &ref), AXO_ETIMEDOUT);
    assert_int_equal(axo_cluster_find_wait(a, "a", "one", CW_LONG, &ref), AXO_EINVAL);
    assert_int_equal(axo_cluster_find_wait(a, "", "one", CW_LONG, &ref), AXO_ENAME);
    assert_int_equal(axo_cluster_find_wait(a, "b", "", CW_LONG, &ref), AXO_ENAME);
    assert_int_equal(axo_cluster_find_wait(a, "b", "two", -1, &ref), AXO_EINVAL);
    assert_int_equal(axo_cluster_find_wait(a, "b", "two", 0, NULL), AXO_EINVAL);
    assert_int_equal(axo_cluster_find(a, p.far, "b", "two", 0, 1), AXO_EINVAL);
    assert_int_equal(axo_cluster_find(a, p.one.ref, "b", "two", CW_LONG, 41), AXO_OK);
    CW_UNTIL(p.one.found == 1);
    assert_true(p.one.found_id == 41 && p.one.found_status == AXO_OK);
    assert_int_equal(p.one.found_node, axo_ref_node(p.far));
    assert_int_equal(axo_cluster_find(a, p.one.ref, "b", "nobody", CW_LONG, 42), AXO_OK);
    CW_UNTIL(p.one.found == 2);
    assert_true(p.one.found_id == 42 && p.one.found_status == AXO_ENOENT);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(axo_cluster_find(a, p.one.ref, "x", "two", CW_LONG, i), AXO_OK);
    assert_int_equal(axo_cluster_leave(a), AXO_OK); /* each gets its answer */
    CW_UNTIL(p.one.found == 5);
    assert_int_equal(p.one.found_status, AXO_ESTOPPING);
    assert_int_equal(axo_cluster_find(a, p.one.ref, "b", "two", 0, 1), AXO_ESTOPPING);
    pair_end(&p);
}

/* A node that leaves: watchers are told, and it may come again. */
static void leaves_and_comes_again(void **unused)
{
    pair p;
    pair_start(&p);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_EVENTS, axo_ref_none(), 0), AXO_OK);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, p.far, 0), AXO_OK);
    int64_t before = cw_now();
    cw_node_end(&p.b);
    CW_UNTIL(p.one.lost == 1 && p.one.downs == 1);
    assert_true(cw_now() - before < CW_DOWN_MS * CW_MS); /* it has said so */
    assert_int_equal(axo_system_send(p.a.system, p.far, CW_NUMBER, "1234", 4), AXO_EGONE);
    cw_node_start(&p.b, &server, "b");
    cw_actor(&p.b, &p.two, "two");
    axo_ref again = cw_find(&p.a, "b", "two");
    CW_UNTIL(p.one.ups == 1);
    assert_int_equal(axo_system_send(p.a.system, p.far, CW_NUMBER, "1234", 4), AXO_EGONE);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_SEND, again, 9), AXO_OK);
    CW_UNTIL(p.two.numbers == 1);
    assert_int_equal(p.two.last, 9);
    assert_int_equal(p.one.ends, 1);
    pair_end(&p);
}

/* ---- payloads ---- */

static void too_big(void **unused)
{
    pair p;
    pair_start(&p);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_TOO_BIG, p.far, 0), AXO_ETOOBIG);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_SEND, p.far, 1), AXO_OK);
    CW_UNTIL(p.two.numbers == 1);
    assert_int_equal(p.two.blob_size, 0);
    assert_int_equal(cw_figures(&p.a).too_big, 1);
    pair_end(&p);
}

static size_t code_text(void *user, const void *from, size_t size, void *out, size_t room)
{
    (void)size;
    atomic_fetch_add((atomic_uint *)user, 1);
    size_t need = strlen(from) + 1000;
    if (need <= room) {
        memset(out, 'e', need);
        memcpy(out, from, strlen(from));
    }
    return need;
}

static size_t code_back(void *user, const void *from, size_t size, void *out, size_t room)
{
    atomic_fetch_add((atomic_uint *)user, 1);
    if (size != 6 + 1000)
        return SIZE_MAX;
    if (room >= 6)
        memcpy(out, from, 6);
    return 6;
}

static void owned_payloads(void **unused)
{
    pair p;
    atomic_uint encoded = 0, decoded = 0;
    pair_start(&p);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_OWNED, p.far, 0), AXO_EGONE);
    assert_int_equal(cw_figures(&p.a).no_codec, 1);
    assert_true(p.a.letters >= 1);
    pair_end(&p);
    const axo_cluster_options with[] = {cw_options(&server, "a"), cw_options(&server, "b")};
    const axo_cluster_codec out = AXO_CLUSTER_CODEC(.tag = CW_BLOB, .encode = code_text,
                                                    .user = &encoded);
    const axo_cluster_codec in = AXO_CLUSTER_CODEC(.tag = CW_BLOB, .decode = code_back,
                                                   .user = &decoded);
    cw_node_open(&p.a, &with[0]);
    cw_node_open(&p.b, &with[1]);
    assert_int_equal(axo_cluster_add_codec(p.a.cluster, &out), AXO_OK);
    assert_int_equal(axo_cluster_add_codec(p.a.cluster, &out), AXO_EEXIST);
    assert_int_equal(axo_cluster_add_codec(p.b.cluster, &in), AXO_OK);
    cw_node_begin(&p.a);
    cw_node_begin(&p.b);
    assert_int_equal(axo_cluster_add_codec(p.a.cluster, &in), AXO_EBUSY);
    cw_actor(&p.a, &p.one, "one");
    cw_actor(&p.b, &p.two, "two");
    p.far = cw_find(&p.a, "b", "two");
    assert_int_equal(cw_tell(&p.a, &p.one, CW_OWNED, p.far, 0), AXO_OK);
    CW_UNTIL(p.two.blob_size == 6);
    assert_memory_equal(p.two.blob, "a list", 6);
    assert_true(encoded == 2 && decoded == 1); /* it needed more room */
    pair_end(&p);
}

/* ---- limits ---- */

static void limited_start(cw_node *node, cw_note *note, const char *key,
                          const axo_cluster_options *with)
{
    cw_node_open(node, with);
    cw_node_begin(node);
    cw_actor(node, note, key);
}

/* held_max bounds what waits, not what was ever sent. */
static void what_is_sent_waits_no_more(void **unused)
{
    cw_node a, b;
    cw_note one, two;
    axo_status status;
    axo_cluster_options with = cw_options(&server, "a");
    with.held_max = 65536;
    limited_start(&a, &one, "one", &with);
    cw_node_start(&b, &server, "b");
    cw_actor(&b, &two, "two");
    axo_ref far = cw_find(&a, "b", "two");
    for (uint32_t i = 1; i <= 5000; i++) { /* of 60 bytes */
        CW_UNTIL((status = axo_system_send(a.system, far, CW_NUMBER, &i, sizeof i)) != AXO_EFULL);
        assert_int_equal(status, AXO_OK);
    }
    CW_UNTIL(two.numbers == 5000);
    assert_int_equal(two.disorder, 0);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* watches_max bounds the actors that are watched, not those that ever were. */
static void what_has_ended_is_watched_no_more(void **unused)
{
    static const char *const keys[] = {"first", "second", "third"};
    cw_node a, b;
    cw_note one, notes[3];
    axo_cluster_options with = cw_options(&server, "b");
    with.watches_max = 1;
    cw_node_start(&a, &server, "a");
    cw_actor(&a, &one, "one");
    limited_start(&b, &notes[0], keys[0], &with);
    for (uint32_t i = 0; i < 3; i++) {
        if (i > 0)
            cw_actor(&b, &notes[i], keys[i]);
        assert_int_equal(cw_tell(&a, &one, CW_WATCH, cw_find(&a, "b", keys[i]), 0), AXO_OK);
        assert_int_equal(axo_system_stop_actor(b.system, notes[i].ref), AXO_OK);
        CW_UNTIL(one.ends == i + 1);
    }
    assert_int_equal(one.lost, 0);
    assert_int_equal(one.known, 3);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* Two who hold each other lost, and live: each beat is answered, and no answer is. */
static void lost_and_quiet(void **unused)
{
    cw_node a, b;
    cw_note one, notes[2];
    axo_cluster_options with = cw_options(&server, "b");
    with.watches_max = 1;
    cw_node_start(&a, &server, "a");
    cw_actor(&a, &one, "one");
    limited_start(&b, &notes[0], "first", &with);
    cw_actor(&b, &notes[1], "second");
    assert_int_equal(cw_tell(&a, &one, CW_WATCH, cw_find(&a, "b", "first"), 0), AXO_OK);
    assert_int_equal(cw_tell(&a, &one, CW_WATCH, cw_find(&a, "b", "second"), 0), AXO_OK);
    CW_UNTIL(cw_figures(&a).nodes == 0 && cw_figures(&b).nodes == 0);
    int64_t since = cw_now();
    uint64_t before = cw_figures(&a).packets_in;
    cw_sleep(20 * 50 * CW_MS);
    uint64_t came = cw_figures(&a).packets_in - before;
    uint64_t beats = (uint64_t)(cw_now() - since) / (50 * CW_MS);
    assert_true(came >= 2);
    if (came > 6 * (beats + 10)) /* its own, the other one's, and an answer to each of its own */
        fail_msg("%llu packets in %llu beats", (unsigned long long)came, (unsigned long long)beats);
    assert_int_equal(one.lost, 2);
    cw_node_end(&a);
    cw_node_end(&b);
}

/* ---- strangers ---- */

/* Of another token, or another cluster: they hear each other, and take nothing. */
static void strangers(void **unused)
{
    pair p;
    cw_node other;
    axo_ref ref;
    pair_start(&p);
    axo_cluster_options with = cw_options(&server, "b");
    with.token = "guess";
    cw_node_open(&other, &with);
    cw_node_begin(&other);
    CW_UNTIL(cw_figures(&p.a).other_token > 3 && cw_figures(&other).other_token > 3);
    assert_int_equal(cw_figures(&other).nodes, 0);
    assert_int_equal(cw_figures(&p.a).nodes, 1);
    assert_int_equal(axo_cluster_find_wait(other.cluster, "a", "one", 100 * CW_MS, &ref),
                     AXO_ETIMEDOUT);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_ASK, p.far, 1), AXO_OK);
    CW_UNTIL(p.one.answers == 1); /* its name was of no use to it */
    cw_node_end(&other);
    pair_end(&p);
}

/* The older of two of a name is lost, and does not come back. */
static void two_of_a_name(void **unused)
{
    pair p;
    cw_node newer;
    cw_note four;
    pair_start(&p);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, p.far, 0), AXO_OK);
    assert_int_equal(cw_tell(&p.b, &p.two, CW_WATCH, cw_find(&p.b, "a", "one"), 0), AXO_OK);
    cw_node_start(&newer, &server, "b");
    cw_actor(&newer, &four, "four");
    CW_UNTIL(p.one.lost == 1 && p.two.lost == 1);
    axo_ref far = cw_find(&p.a, "b", "four");
    assert_int_equal(cw_tell(&p.a, &p.one, CW_ASK, far, 3), AXO_OK);
    CW_UNTIL(p.one.answers == 1);
    assert_int_equal(cw_figures(&p.b).nodes, 0);
    assert_int_equal(cw_figures(&p.a).nodes, 1);
    cw_node_end(&newer);
    pair_end(&p);
}

static void misuse(void **unused)
{
    axo_cluster_options with = cw_options(&server, "a");
    axo_cluster_problem problem;
    axo_cluster *cluster = NULL;
    axo_cluster_figures figures;
    axo_system *system;
    with.node = "a.b";
    assert_int_equal(axo_cluster_open(&with, &problem, &cluster), AXO_ENAME);
    with.node = "";
    assert_int_equal(axo_cluster_open(&with, &problem, &cluster), AXO_ENAME);
    with.node = NULL;
    assert_int_equal(axo_cluster_open(&with, &problem, &cluster), AXO_EINVAL);
    with = cw_options(&server, "a");
    with.down_ms = 100; /* two beats */
    assert_int_equal(axo_cluster_open(&with, &problem, &cluster), AXO_EINVAL);
    with = cw_options(&server, "a");
    with.url = "nats://127.0.0.1:1";
    assert_int_equal(axo_cluster_open(&with, &problem, &cluster), AXO_ESYSTEM);
    assert_true(problem.error != 0 && strstr(problem.text, "127.0.0.1:1") != NULL);
    assert_null(cluster);
    with.size = 0;
    assert_int_equal(axo_cluster_open(&with, NULL, &cluster), AXO_EINVAL);
    with = cw_options(&server, "a");
    assert_int_equal(axo_cluster_open(&with, NULL, &cluster), AXO_OK);
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_cluster_start(cluster, system), AXO_EINVAL); /* it has no carrier */
    assert_int_equal(axo_cluster_start(cluster, NULL), AXO_EINVAL);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    axo_ref ref;
    assert_int_equal(axo_cluster_find_wait(cluster, "b", "two", 0, &ref), AXO_ESTOPPING);
    assert_int_equal(axo_cluster_count(cluster, NULL), AXO_EINVAL);
    assert_int_equal(axo_cluster_count(NULL, &figures), AXO_EINVAL);
    assert_int_equal(axo_cluster_nodes(NULL, NULL, 0), 0);
    assert_null(axo_cluster_remote(NULL));
    assert_int_equal(axo_cluster_leave(NULL), AXO_EINVAL);
    axo_cluster_close(cluster);
    axo_cluster_close(NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_in_order),      cmocka_unit_test(answers_and_asks),
        cmocka_unit_test(watches_and_ends),    cmocka_unit_test(kills_and_unwatches),
        cmocka_unit_test(references_travel),   cmocka_unit_test(finds),
        cmocka_unit_test(leaves_and_comes_again), cmocka_unit_test(too_big),
        cmocka_unit_test(owned_payloads),      cmocka_unit_test(strangers),
        cmocka_unit_test(two_of_a_name),       cmocka_unit_test(misuse),
        cmocka_unit_test(what_is_sent_waits_no_more),
        cmocka_unit_test(what_has_ended_is_watched_no_more),
        cmocka_unit_test(lost_and_quiet),      cmocka_unit_test(graceful_stops),
    };
    if (!cw_has_server())
        return 0;
    cw_server_start(&server);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cw_kill(server.pid);
    return failed;
}
