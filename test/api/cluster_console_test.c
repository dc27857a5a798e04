/* cluster_console_test.c - a console that is given a cluster's section, over a real nats-server:
 * nodes on its pages, in what Prometheus reads, and by axo-top. */
#include "api/cluster_world.h"

#include <axo/console.h>
#include <axo/listener.h>

static cw_server server;
static char top[256]; /* axo-top */

typedef struct seen {
    cw_node a, b;
    const axo_console_section *sections[1];
    char at[AXO_ADDRESS_MAX]; /* where the console of a listens */
    char said[200000];        /* what it has answered last, with its head */
} seen;

static void console_begin(seen *s)
{
    axo_asked asked;
    axo_ref console;
    s->sections[0] = axo_cluster_section(s->a.cluster);
    const axo_console settings = AXO_CONSOLE(.address = "127.0.0.1:0", .sections = s->sections,
                                             .sections_count = 1);
    assert_int_equal(axo_console_start(s->a.system, &settings, &console), AXO_OK);
    assert_int_equal(axo_system_ask(s->a.system, console, AXO_LISTENER_LOOK, NULL, 0, CW_LONG,
                                    &asked), AXO_OK);
    assert_int_equal(asked.message.tag, AXO_LISTENER_IS);
    (void)snprintf(s->at, sizeof s->at, "%s",
                   AXO_PAYLOAD(&asked.message, axo_listener_info)->address);
    axo_asked_free(s->a.system, &asked);
}

/* The body of a page, by a client of HTTP's first days. */
static const char *page_of(seen *s, const char *page)
{
    struct sockaddr_in at;
    char asked[128];
    size_t size = 0;
    ssize_t came;
    int fd = cw_socket(&at);
    at.sin_port = htons((uint16_t)atoi(strrchr(s->at, ':') + 1));
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    int length = snprintf(asked, sizeof asked, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", page);
    assert_int_equal(send(fd, asked, (size_t)length, 0), length);
    while ((came = recv(fd, s->said + size, sizeof s->said - 1 - size, 0)) > 0)
        size += (size_t)came;
    (void)close(fd);
    s->said[size] = 0;
    assert_non_null(strstr(s->said, " 200 "));
    const char *body = strstr(s->said, "\r\n\r\n");
    assert_non_null(body);
    return body + 4;
}

static bool says(seen *s, const char *page, const char *what)
{
    return strstr(page_of(s, page), what) != NULL;
}

/* Whether axo-top, which lies beside the tests, says it of the console; true where it is not. */
static bool top_says(const seen *s, const char *what)
{
    char line[512];
    bool found = false;
    (void)snprintf(line, sizeof line, "%s --once http://%s", top, s->at);
    if (access(top, X_OK) != 0) {
        print_message("left out: %s\n", top);
        return true;
    }
    FILE *from = popen(line, "r");
    assert_non_null(from);
    while (fgets(line, sizeof line, from) != NULL)
        found = strstr(line, what) != NULL || found;
    (void)pclose(from);
    return found;
}

static void shows_nodes(void **unused)
{
    static seen s;
    cw_node_start(&s.a, &server, "a");
    console_begin(&s);
    assert_string_equal(page_of(&s, "/sections"), "[\"nodes\"]\n");
    assert_true(says(&s, "/nodes", "\"here\":\"a\"") && says(&s, "/nodes", "\"rows\":[]}"));
    cw_node_start(&s.b, &server, "b");
    CW_UNTIL(says(&s, "/nodes", "\n{\"node\":\"b\",\"number\":1,\"up\":true,\"why\":\"\","));
    assert_true(says(&s, "/metrics", "\naxo_node_up{here=\"a\",node=\"b\",number=\"1\",why="));
    assert_true(says(&s, "/metrics", "\naxo_actors{system="));
    if (system("command -v promtool >/dev/null") == 0) {
        const char *text = page_of(&s, "/metrics");
        FILE *promtool = popen("promtool check metrics", "w");
        assert_int_equal(fwrite(text, 1, strlen(text), promtool), strlen(text));
        assert_int_equal(pclose(promtool), 0);
    }
    assert_true(top_says(&s, "node a: 1 others up, 0 lost"));
    cw_node_end(&s.b);
    CW_UNTIL(says(&s, "/nodes", "\"up\":false,\"why\":\"left\""));
    assert_true(says(&s, "/metrics", ",why=\"left\"} 0\n"));
    assert_true(top_says(&s, "LOST left"));
    assert_int_equal(axo_cluster_leave(s.a.cluster), AXO_OK); /* what was is seen still */
    assert_true(says(&s, "/nodes", "\"node\":\"b\""));
    cw_node_end(&s.a);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(shows_nodes)};
    const char *at = strstr(argv[0], "test/api/");
    if (at != NULL)
        (void)snprintf(top, sizeof top, "%.*stools/axo-top", (int)(at - argv[0]), argv[0]);
    if (!cw_has_server())
        return 0;
    cw_server_start(&server);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cw_kill(server.pid);
    return failed;
}
