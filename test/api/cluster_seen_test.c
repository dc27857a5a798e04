/* cluster_seen_test.c - what is seen of links over a real nats-server: axo_cluster_links, while all
 * is well, while the server is away, and of nodes that are lost; and as text. */
#include "api/cluster_world.h"

#include <axo/console.h>

static cw_server server;

typedef struct pair {
    cw_node a, b;
    cw_note one, two; /* of a, of b */
    axo_ref far;      /* two, as a knows it */
} pair;

static void pair_start(pair *p)
{
    cw_node_start(&p->a, &server, "a");
    cw_node_start(&p->b, &server, "b");
    cw_actor(&p->a, &p->one, "one");
    cw_actor(&p->b, &p->two, "two");
    p->far = cw_find(&p->a, "b", "two");
    CW_UNTIL(cw_figures(&p->b).nodes == 1);
}

/* The only one. */
static axo_cluster_link link_of(const cw_node *node)
{
    axo_cluster_link link = AXO_CLUSTER_LINK();
    uint32_t count;
    assert_int_equal(axo_cluster_links(node->cluster, &link, 1, &count), AXO_OK);
    assert_int_equal(count, 1);
    return link;
}

static void is_as(const axo_node *one, const axo_node *other)
{
    assert_string_equal(one->name, other->name);
    assert_true(one->incarnation == other->incarnation);
}

/* All that one has sent the other has: also acknowledgements, which come now and then. */
static bool has_come(const cw_node *from, const cw_node *to)
{
    axo_cluster_link out = link_of(from);
    axo_cluster_link in = link_of(to);
    return in.received == out.sent && in.bytes_in == out.bytes_out && out.held == 0;
}

static void counts_what_goes(void **unused)
{
    pair p;
    int64_t before = cw_now();
    pair_start(&p);
    for (uint32_t i = 1; i <= 1000; i++)
        assert_int_equal(axo_system_send(p.a.system, p.far, CW_NUMBER, &i, sizeof i), AXO_OK);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, p.far, 0), AXO_OK);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_ASK, p.far, 1), AXO_OK); /* watches too */
    CW_UNTIL(p.one.answers == 1 && p.two.numbers == 1000);
    CW_UNTIL(has_come(&p.a, &p.b) && has_come(&p.b, &p.a) && link_of(&p.a).kept == 0);
    axo_cluster_link link = link_of(&p.a);
    axo_cluster_link back = link_of(&p.b);
    is_as(&link.node, &axo_cluster_remote(p.b.cluster)->here);
    is_as(&back.node, &axo_cluster_remote(p.a.cluster)->here);
    assert_int_equal(link.number, axo_ref_node(p.far));
    assert_true(link.up == 1 && link.why == 0 && link.missed == 0 && back.missed == 0);
    assert_true(link.for_ns > 0 && link.for_ns < cw_now() - before);
    assert_in_range(link.sent, 1002, 1010);
    assert_true(link.bytes_out > 1000 * 60 && link.bytes_out < 1000 * 80 + 10000);
    assert_true(link.lag_ns == 0 && link.phi == 0);
    assert_int_equal(back.watches, 1);
    assert_int_equal(link.watches, 0);
    CW_UNTIL(link_of(&p.a).heard_ns < 500 * CW_MS); /* by its beats */
    cw_node_end(&p.a);
    cw_node_end(&p.b);
}

/* What has to come waits, and goes on when the server is there again. */
static void lags_while_the_server_is_away(void **unused)
{
    pair p;
    pair_start(&p);
    CW_UNTIL(has_come(&p.a, &p.b));
    uint64_t resent = link_of(&p.a).resent;
    cw_kill(server.pid);
    int64_t since = cw_now();
    assert_int_equal(cw_tell(&p.a, &p.one, CW_WATCH, p.far, 0), AXO_OK);
    CW_UNTIL(link_of(&p.a).lag_ns > 300 * CW_MS && link_of(&p.a).resent > resent);
    axo_cluster_link link = link_of(&p.a);
    assert_true(link.kept == 1 && link.held > 0 && link.up == 1);
    assert_true(link.lag_ns <= cw_now() - since);
    CW_UNTIL(link_of(&p.a).heard_ns > 500 * CW_MS);
    cw_server_run(&server);
    CW_UNTIL(link_of(&p.a).kept == 0 && link_of(&p.a).held == 0);
    link = link_of(&p.a);
    assert_true(link.lag_ns == 0 && link.up == 1);
    assert_int_equal(link_of(&p.b).watches, 1);
    cw_node_end(&p.a);
    cw_node_end(&p.b);
}

/* A lost node is listed beside its next life, and says why. */
static void lists_the_lost(void **unused)
{
    pair p;
    axo_cluster_link links[2] = {AXO_CLUSTER_LINK()};
    uint32_t count;
    pair_start(&p);
    const axo_node first = axo_cluster_remote(p.b.cluster)->here;
    cw_node_end(&p.b);
    CW_UNTIL(link_of(&p.a).up == 0 && link_of(&p.a).why == AXO_CLUSTER_LEFT);
    cw_sleep(20 * CW_MS);
    int64_t for_ns = link_of(&p.a).for_ns;
    assert_true(for_ns >= 20 * CW_MS && link_of(&p.a).heard_ns >= 20 * CW_MS);
    cw_node_start(&p.b, &server, "b");
    CW_UNTIL(axo_cluster_links(p.a.cluster, links, 2, &count) == AXO_OK && count == 2);
    is_as(&links[0].node, &first);
    is_as(&links[1].node, &axo_cluster_remote(p.b.cluster)->here);
    assert_true(links[0].up == 0 && links[1].up == 1 && links[0].number != links[1].number);
    assert_true(links[0].for_ns > for_ns && links[1].why == 0);
    CW_UNTIL(cw_figures(&p.b).nodes == 1);
    cw_node_end(&p.a);
    CW_UNTIL(link_of(&p.b).up == 0 && link_of(&p.b).why == AXO_CLUSTER_LEFT);
    cw_node_end(&p.b);
}

/* ---- as text ---- */

typedef struct page {
    char *text;
    size_t size;
    size_t room; /* beyond which it is refused; 0: for ever */
} page;

static axo_status page_take(void *user, const char *text, size_t size)
{
    page *it = user;
    if (it->room != 0 && it->size + size > it->room)
        return AXO_EFULL;
    it->text = realloc(it->text, it->size + size + 1);
    assert_non_null(it->text);
    memcpy(it->text + it->size, text, size);
    it->size += size;
    it->text[it->size] = 0;
    return AXO_OK;
}

static page metrics_of(const cw_node *node, uint32_t format)
{
    page it = {.text = NULL};
    assert_int_equal(axo_cluster_metrics_write(node->cluster, format, page_take, &it), AXO_OK);
    return it;
}

static void has(const page *it, const char *line)
{
    if (strstr(it->text, line) == NULL)
        fail_msg("it lacks %s:\n%s", line, it->text);
}

/* What a program finds that reads its input: nothing; it may not be there. */
static void is_good(const char *program, const char *command, const page *it)
{
    char line[256];
    (void)snprintf(line, sizeof line, "command -v %s >/dev/null", program);
    if (system(line) != 0) {
        print_message("left out: %s\n", program);
        return;
    }
    FILE *to = popen(command, "w");
    assert_non_null(to);
    assert_int_equal(fwrite(it->text, 1, it->size, to), it->size);
    assert_int_equal(pclose(to), 0);
}

static void writes_metrics(void **unused)
{
    pair p;
    char line[256];
    pair_start(&p);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_SEND, p.far, 1), AXO_OK);
    CW_UNTIL(p.two.numbers == 1 && has_come(&p.a, &p.b));
    page old = metrics_of(&p.b, AXO_METRICS_PROMETHEUS);
    has(&old, "\naxo_cluster_nodes{here=\"b\"} 1\n");
    has(&old, "\n# TYPE axo_node_received_total counter\n");
    has(&old, "\naxo_node_up{here=\"b\",node=\"a\",number=\"1\",why=\"\"} 1\n");
    (void)snprintf(line, sizeof line,
                   "\naxo_node_received_total{here=\"b\",node=\"a\",number=\"1\"} %d\n",
                   (int)link_of(&p.b).received);
    has(&old, line);
    has(&old, "\naxo_node_lag_seconds{here=\"b\",node=\"a\",number=\"1\"} 0.000000000\n");
    is_good("promtool", "promtool check metrics", &old);
    free(old.text);
    cw_node_end(&p.a);
    CW_UNTIL(link_of(&p.b).up == 0 && link_of(&p.b).why == AXO_CLUSTER_LEFT);
    page open = metrics_of(&p.b, AXO_METRICS_OPENMETRICS);
    has(&open, "\n# TYPE axo_node_received counter\n");
    has(&open, "\naxo_node_up{here=\"b\",node=\"a\",number=\"1\",why=\"left\"} 0\n");
    assert_null(strstr(open.text, "EOF"));
    free(open.text);
    page little = {.room = 2000};
    assert_int_equal(axo_cluster_metrics_write(p.b.cluster, AXO_METRICS_PROMETHEUS, page_take,
                                               &little), AXO_EFULL);
    free(little.text);
    cw_node_end(&p.b);
}

static void writes_json(void **unused)
{
    static const char look[] =
        "python3 -c 'import json, sys; it = json.load(sys.stdin); row, = it[\"rows\"]; "
        "assert it[\"here\"] == \"a\" and it[\"nodes\"] == 1, it; "
        "assert len(it[\"incarnation\"]) == 16 == len(row[\"incarnation\"]), it; "
        "assert row[\"node\"] == \"b\" and row[\"up\"] is True and row[\"why\"] == \"\", row; "
        "assert row[\"sent\"] == row[\"received\"] + 1 and row[\"for_ms\"] > 0, row; "
        "assert row[\"kept\"] == 0 and row[\"lag_ms\"] == 0 and row[\"phi\"] == 0, row'";
    pair p;
    page it = {.text = NULL};
    pair_start(&p);
    assert_int_equal(cw_tell(&p.a, &p.one, CW_SEND, p.far, 1), AXO_OK);
    CW_UNTIL(p.two.numbers == 1 && has_come(&p.a, &p.b));
    const axo_console_section *section = axo_cluster_section(p.a.cluster);
    assert_string_equal(section->name, "nodes");
    assert_int_equal(section->json(section->user, page_take, &it), AXO_OK);
    is_good("python3", look, &it);
    free(it.text);
    it = (page){.room = 10};
    assert_int_equal(section->json(section->user, page_take, &it), AXO_EFULL);
    cw_node_end(&p.a);
    cw_node_end(&p.b);
}

/* ---- what is refused, and headers of other times ---- */

static void misuse(void **unused)
{
    pair p;
    page it = {.text = NULL};
    uint32_t count = 7;
    struct {
        axo_cluster_link links[2];
        unsigned char more[64];
    } room;
    pair_start(&p);
    axo_cluster *a = p.a.cluster;
    memset(&room, 0xaa, sizeof room);
    assert_int_equal(axo_cluster_links(NULL, room.links, 2, &count), AXO_EINVAL);
    assert_int_equal(count, 0);
    assert_int_equal(axo_cluster_links(a, NULL, 1, NULL), AXO_EINVAL);
    room.links[0].size = 7;
    assert_int_equal(axo_cluster_links(a, room.links, 2, &count), AXO_EINVAL);
    assert_int_equal(room.links[0].number, 0xaaaaaaaa);
    assert_int_equal(axo_cluster_links(a, NULL, 0, &count), AXO_OK);
    assert_int_equal(count, 1);
    room.links[0].size = offsetof(axo_cluster_link, sent); /* of an older header */
    assert_int_equal(axo_cluster_links(a, room.links, 2, NULL), AXO_OK);
    assert_int_equal(room.links[0].number, 1);
    assert_true(room.links[0].sent == UINT64_C(0xaaaaaaaaaaaaaaaa));
    room.links[0].size = sizeof room.links[0] + 16; /* of a newer one */
    assert_int_equal(axo_cluster_links(a, room.links, 1, NULL), AXO_OK);
    assert_true(room.links[0].up == 1 && room.links[1].size == 0);
    assert_int_equal(axo_cluster_metrics_write(NULL, 0, page_take, &it), AXO_EINVAL);
    assert_int_equal(axo_cluster_metrics_write(a, 2, page_take, &it), AXO_EINVAL);
    assert_int_equal(axo_cluster_metrics_write(a, 0, NULL, &it), AXO_EINVAL);
    assert_null(axo_cluster_section(NULL));
    cw_node_end(&p.a);
    cw_node_end(&p.b);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_goes),
        cmocka_unit_test(lags_while_the_server_is_away),
        cmocka_unit_test(lists_the_lost),
        cmocka_unit_test(writes_metrics),
        cmocka_unit_test(writes_json),
        cmocka_unit_test(misuse),
    };
    if (!cw_has_server())
        return 0;
    cw_server_start(&server);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cw_kill(server.pid);
    return failed;
}
