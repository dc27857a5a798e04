/* listener_address_test.c - addresses of every kind at which a listener listens. */
#include "unit/pattern/listener_world.h"

static void addresses_of_every_kind(void **state)
{
    char path[64], name[64];
    const char *const addresses[] = {"127.0.0.1:0", "[::1]:0", place_name(name, "@"),
                                     place_name(path, "/tmp/")};
    for (uint32_t i = 0; i < 4; i++) {
        axo_listener settings = AXO_LISTENER(.address = addresses[i], .connection = &echo_props);
        place it = {.threads = false};
        struct stat what;
        place_begin(&it, &settings);
        int fd = place_client(&it);
        assert_string_equal(client_says(&it, fd, "hello"), "hello");
        assert_int_equal(strncmp(it.info.address, addresses[i], 4), 0);
        if (i < 2)
            assert_int_equal(strncmp(seen.peer, addresses[i], 5), 0);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        assert_string_equal(client_get(&it, fd), "<end>");
        place_look(&it);
        assert_int_equal(it.info.connections, 0);
        assert_int_equal(it.info.accepted, 1);
        assert_int_equal(close(fd), 0);
        place_end(&it);
        assert_int_equal(stat(path + strlen("unix:"), &what), -1);
    }
}

static int inherited_socket(void)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int inherited = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(inherited, (struct sockaddr *)&where, sizeof where), 0);
    assert_int_equal(listen(inherited, 5), 0);
    return inherited;
}

/* The socket is the program's, before and after. */
static void inherited_serves(const char *address)
{
    axo_listener settings = AXO_LISTENER(.address = address, .connection = &echo_props);
    for (uint32_t i = 0; i < 2; i++) {
        place it = {.threads = false};
        place_begin(&it, &settings);
        int fd = place_client(&it);
        assert_string_equal(client_says(&it, fd, "x"), "x");
        assert_int_equal(close(fd), 0);
        place_end(&it);
    }
}

static void inherited_fails(const char *address, int32_t code)
{
    axo_listener settings = AXO_LISTENER(.address = address, .connection = &echo_props);
    place it = {.threads = false};
    place_begin(&it, &settings);
    assert_int_equal(it.code, code);
    place_end(&it);
}

static void an_inherited_descriptor(void **state)
{
    char address[32];
    int inherited = inherited_socket();
    (void)snprintf(address, sizeof address, "fd:%d", inherited);
    inherited_serves(address);
    assert_int_equal(close(inherited), 0);
}

static void passed_set(const char *name, int number)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%d", number);
    assert_int_equal(setenv(name, text, 1), 0);
}

/* The environment as systemd leaves it: descriptors from 3 on, with a name each. */
static void a_passed_descriptor(void **state)
{
    char names[512] = "";
    int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int inherited = inherited_socket();
    for (int fd = 3; fd < inherited; fd++)
        strcat(names, fd == other ? "we:" : "file:");
    strcat(names, "web:late");
    assert_int_equal(setenv("LISTEN_FDNAMES", names, 1), 0);
    passed_set("LISTEN_FDS", inherited - 3 + 1);
    passed_set("LISTEN_PID", (int)getpid());
    inherited_serves("systemd:web");
    inherited_fails("systemd:late", ENOENT); /* beyond LISTEN_FDS */
    inherited_fails("systemd:w", ENOENT);
    inherited_fails("systemd:file:", ENOENT);
    inherited_fails("systemd:we", EINVAL); /* it does not listen */
    assert_int_equal(close(other), 0);
    passed_set("LISTEN_PID", (int)getppid()); /* a child has the environment, too */
    inherited_fails("systemd:web", ENOENT);
    inherited_fails("systemd:", ENOENT);
    passed_set("LISTEN_PID", (int)getpid());
    passed_set("LISTEN_FDS", 0);
    inherited_fails("systemd:", ENOENT);
    assert_int_equal(unsetenv("LISTEN_FDNAMES"), 0);
    passed_set("LISTEN_FDS", 1);
    inherited_fails("systemd:web", ENOENT);
    assert_int_equal(unsetenv("LISTEN_PID"), 0);
    assert_int_equal(unsetenv("LISTEN_FDS"), 0);
    inherited_fails("systemd:web", ENOENT);
    assert_int_equal(close(inherited), 0);
}

static void what_is_no_address(void **state)
{
    static const char *const none[] = {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                                       "127.0.0.1:80x", "host:80", "::1:80", "[::1:80", "[::x]:80",
                                       "unix:", "fd:", "fd:x", "fd:-1", "1.2.3:4"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        axo_listener settings = AXO_LISTENER(.address = none[i], .connection = &echo_props);
        place it = {.threads = false};
        place_begin(&it, &settings);
        assert_int_equal(it.code, AXO_EINVAL);
        assert_non_null(strstr(it.text, "is no address"));
        place_end(&it);
    }
    static const char *const bad[] = {"fd:999", "fd:0", "203.0.113.7:1", "unix:/nowhere/x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        axo_listener settings = AXO_LISTENER(.address = bad[i], .connection = &echo_props);
        place it = {.threads = false};
        place_begin(&it, &settings);
        assert_true(it.code > 0); /* an errno */
        assert_non_null(strstr(it.text, bad[i]));
        place_end(&it);
    }
}

static void an_address_that_is_taken(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    place first = {.threads = false};
    place second = {.threads = false};
    place_begin(&first, &settings);
    place_look(&first);
    settings.address = first.info.address;
    place_begin(&second, &settings);
    assert_int_equal(second.code, EADDRINUSE);
    place_end(&second);
    place_end(&first);
    /* A path that nobody listens at any more is in nobody's way; one that somebody does is. */
    settings.address = "unix:/tmp/axo-listener-left.sock";
    place_begin(&first, &settings);
    first.code = 0;
    place_begin(&second, &settings);
    assert_int_equal(second.code, EADDRINUSE);
    place_end(&second);
    place_end(&first);
    struct sockaddr_un left = {.sun_family = AF_UNIX};
    (void)snprintf(left.sun_path, sizeof left.sun_path, "/tmp/axo-listener-left.sock");
    int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(dead, (struct sockaddr *)&left, sizeof left), 0);
    assert_int_equal(close(dead), 0);
    first.code = 0;
    place_begin(&first, &settings);
    assert_int_equal(first.code, 0);
    place_end(&first);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(addresses_of_every_kind),
    cmocka_unit_test(an_inherited_descriptor),
    cmocka_unit_test(a_passed_descriptor),
    cmocka_unit_test(what_is_no_address),
    cmocka_unit_test(an_address_that_is_taken),
};
TEST_MAIN(tests)
