/* listener_test.c - listeners: connections are actors, bounds, want of descriptors, and what is
 * left behind. */
#include "unit/pattern/listener_world.h"
#include "support/slower.h"

/* ---- supervision ---- */

static void a_connection_that_fails_is_stopped(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    place it = {.threads = false};
    place_begin(&it, &settings);
    int bad = place_client(&it);
    int good = place_client(&it);
    assert_string_equal(client_says(&it, bad, "!"), "<end>");
    assert_string_equal(client_says(&it, good, "on"), "on");
    place_look(&it);
    assert_int_equal(it.info.connections, 1);
    assert_int_equal(it.info.accepted, 2);
    assert_int_equal(axo_system_stop_actor(it.system, it.listener), AXO_OK);
    assert_string_equal(client_get(&it, good), "<end>");
    assert_int_equal(seen.ended, 2);
    assert_int_equal(close(bad) + close(good), 0);
    place_end(&it);
}

/* Nobody takes the descriptor: it is closed with the message. So is one whose actor never began. */
static void a_descriptor_that_nobody_takes(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    place it = {.threads = false};
    place_begin(&it, &settings);
    seen.refuses = true;
    int fd = place_client(&it);
    assert_string_equal(client_get(&it, fd), "<end>");
    assert_int_equal(close(fd), 0);
    seen.refuses = false;
    place_look(&it);
    fd = client(it.info.address);
    uint64_t turns = 0;
    assert_int_equal(axo_step_host(it.system, 1, &turns), AXO_OK);
    assert_int_equal(close(fd), 0);
    place_end(&it);
}

/* A message of anybody's is no connection. */
static axo_status forged_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_stream *stream;
    axo_connection forged = {.fd = 0};
    if (message->tag != AXO_CONNECTED)
        return axo_send(ctx, axo_self(ctx), AXO_CONNECTED, &forged, sizeof forged);
    assert_int_equal(axo_stream_accept(ctx, message, NULL, &stream), AXO_EINVAL);
    assert_null(stream);
    assert_int_equal(axo_stream_accept(ctx, NULL, NULL, &stream), AXO_EINVAL);
    assert_int_equal(axo_stream_accept(ctx, message, NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_stream_accept(NULL, message, NULL, &stream), AXO_ECONTEXT);
    return axo_stop_self(ctx);
}

static void forged_and_malformed(void **state)
{
    static const axo_class cls = AXO_CLASS(.receive = forged_receive);
    static const axo_props named = AXO_PROPS(.cls = &echo_class, .name = "one");
    static const axo_props nothing = AXO_PROPS(.cls = NULL);
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    axo_props props = AXO_PROPS(.cls = &cls);
    place it = {.threads = false};
    axo_ref ref;
    place_begin(&it, &settings);
    assert_int_equal(axo_system_spawn(it.system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(it.system, ref, 1, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send(it.system, it.listener, AXO_LISTENER_LOOK, NULL, 0), AXO_OK);
    place_run(&it);
    place_look(&it);
    assert_int_equal(it.info.pauses, 0);
    place_end(&it);
    const axo_listener bad[] = {
        AXO_LISTENER(.connection = &echo_props), AXO_LISTENER(.address = "127.0.0.1:0"),
        AXO_LISTENER(.address = "127.0.0.1:0", .connection = &named),
        AXO_LISTENER(.address = "127.0.0.1:0", .connection = &nothing),
        AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props,
                     .beyond = (axo_listener_beyond)2)};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(axo_listener_props(&bad[i], NULL, &props), AXO_EINVAL);
    assert_int_equal(axo_listener_props(NULL, NULL, &props), AXO_EINVAL);
    assert_int_equal(axo_listener_props(&settings, NULL, NULL), AXO_EINVAL);
}

/* ---- bounds ---- */

static void beyond_the_bound_they_wait(void **state)
{
    axo_listener settings =
        AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props, .connections_max = 2);
    place it = {.threads = false};
    int fds[5];
    place_begin(&it, &settings);
    for (uint32_t i = 0; i < 5; i++)
        fds[i] = place_client(&it);
    for (uint32_t i = 0; i < 5; i++)
        assert_string_equal(client_says(&it, fds[i], "a"), i < 2 ? "a" : "");
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(client_says(&it, fds[i], "."), "<end>");
        assert_string_equal(client_get(&it, fds[i + 2]), "a");
        place_look(&it);
        assert_int_equal(it.info.connections, 2);
        assert_int_equal(it.info.accepted, 3 + i);
    }
    assert_int_equal(it.info.refused, 0);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(close(fds[i]), 0);
    place_end(&it);
}

static void beyond_the_bound_they_are_refused(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props,
                                         .connections_max = 1, .beyond = AXO_BEYOND_REFUSE);
    place it = {.threads = false};
    place_begin(&it, &settings);
    int first = place_client(&it);
    int second = place_client(&it);
    assert_string_equal(client_get(&it, second), "<end>");
    assert_string_equal(client_says(&it, first, "a"), "a");
    assert_string_equal(client_says(&it, first, "."), "<end>");
    int third = place_client(&it);
    assert_string_equal(client_says(&it, third, "b"), "b");
    place_look(&it);
    assert_int_equal(it.info.accepted, 2);
    assert_int_equal(it.info.refused, 1);
    assert_int_equal(close(first) + close(second) + close(third), 0);
    place_end(&it);
}

/* ---- want of descriptors ---- */

static atomic_uint told_paused;
static atomic_uint told_going;

static axo_status ear_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == 1)
        return axo_subscribe(ctx, axo_self(ctx), AXO_KIND_LISTENER);
    assert_int_equal(message->tag, AXO_EVENT);
    const axo_event_message *event = AXO_PAYLOAD(message, axo_event_message);
    axo_listener_info info;
    assert_int_equal(event->size, sizeof info);
    memcpy(&info, axo_event_data(event), sizeof info);
    if (info.paused)
        assert_int_equal(info.error, EMFILE);
    atomic_fetch_add(info.paused ? &told_paused : &told_going, 1);
    return AXO_OK;
}

static atomic_uint lined; /* warnings that the log got of it */

static void lined_take(void *user, const axo_log_record *record)
{
    assert_int_equal(record->level, AXO_LOG_WARNING);
    assert_string_equal(record->line, "/user/listener (listener): accepts nobody for 100 ms, "
                                      "pause 1: errno 24");
    atomic_fetch_add(&lined, 1);
}

static int64_t no_time;

static int64_t no_clock(void *user)
{
    return no_time;
}

/* The process has no descriptor left: the listener pauses, says so, and takes who waited when it
 * has some again. */
static void want_of_descriptors(void **state)
{
    static const axo_class cls = AXO_CLASS(.name = "ear", .receive = ear_receive);
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    axo_options options =
        AXO_OPTIONS(.manual = 1, .clock = no_clock, .log_record = lined_take);
    axo_props ear = AXO_PROPS(.cls = &cls);
    axo_props props;
    place it = {.fds = place_fds()};
    struct rlimit before;
    axo_ref ref;
    if (slower() > 1)
        skip(); /* memcheck has limits of descriptors of its own */
    no_time = SECOND;
    assert_int_equal(axo_listener_props(&settings, "listener", &props), AXO_OK);
    assert_int_equal(axo_system_start(&options, &it.system), AXO_OK);
    assert_int_equal(axo_system_spawn(it.system, &props, &it.listener), AXO_OK);
    assert_int_equal(axo_system_spawn(it.system, &ear, &ref), AXO_OK);
    assert_int_equal(axo_system_send(it.system, ref, 1, NULL, 0), AXO_OK);
    int first = place_client(&it);
    int second = client(it.info.address);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    place_run(&it);
    for (uint32_t i = 0; i < 3; i++) { /* again and again */
        no_time += AXO_LISTENER_PAUSE_NS + AXO_TICK_NS * 2;
        assert_int_equal(axo_clock_changed(it.system), AXO_OK);
        place_run(&it);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    place_look(&it);
    assert_int_equal(it.info.paused, 1);
    assert_int_equal(it.info.error, EMFILE);
    assert_int_equal(it.info.pauses, 4);
    assert_int_equal(told_paused, 4);
    assert_int_equal(lined, 1);
    assert_int_equal(told_going, 3);
    assert_string_equal(client_says(&it, first, "a"), "a"); /* others are not concerned */
    assert_string_equal(client_says(&it, second, "b"), "");
    no_time += AXO_LISTENER_PAUSE_NS + AXO_TICK_NS * 2;
    assert_int_equal(axo_clock_changed(it.system), AXO_OK);
    assert_string_equal(client_get(&it, second), "b");
    place_look(&it);
    assert_int_equal(it.info.paused, 0);
    assert_int_equal(it.info.accepted, 2);
    assert_int_equal(close(first) + close(second), 0);
    place_end(&it);
}

/* ---- want of timers, too ---- */

/* Takes the only timer that there may be. */
static axo_status keeper_construct(axo_ctx *ctx, void *state, const void *args)
{
    return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, 3600 * SECOND, 0, 1, NULL, 0);
}

static axo_status keeper_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_UNHANDLED;
}

static void timerless_begin(place *it, const axo_listener *settings)
{
    static const axo_class keeper =
        AXO_CLASS(.construct = keeper_construct, .receive = keeper_receive);
    static const axo_class cls = AXO_CLASS(.name = "ear", .receive = ear_receive);
    axo_options options = AXO_OPTIONS(.manual = 1, .clock = no_clock, .timers_max = 1,
                                      .log_record = lined_take);
    axo_props keeps = AXO_PROPS(.cls = &keeper);
    axo_props ear = AXO_PROPS(.cls = &cls);
    axo_props props;
    axo_ref ref;
    it->fds = place_fds();
    told_paused = told_going = lined = 0;
    assert_int_equal(axo_listener_props(settings, "listener", &props), AXO_OK);
    assert_int_equal(axo_system_start(&options, &it->system), AXO_OK);
    assert_int_equal(axo_system_spawn(it->system, &keeps, &ref), AXO_OK);
    assert_int_equal(axo_system_spawn(it->system, &props, &it->listener), AXO_OK);
    assert_int_equal(axo_system_spawn(it->system, &ear, &ref), AXO_OK);
    assert_int_equal(axo_system_send(it->system, ref, 1, NULL, 0), AXO_OK);
    place_run(it);
}

/* It runs until it is at rest, without a descriptor for anybody. */
static void timerless_run(place *it)
{
    struct rlimit before;
    uint64_t turns = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(axo_step_host(it->system, 1000, &turns), AXO_OK);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(turns < 1000); /* it is not told again and again */
}

static void timerless_wait(place *it, int64_t time)
{
    no_time += time;
    assert_int_equal(axo_clock_changed(it->system), AXO_OK);
}

/* A pause is none of the timers that a system may have: all is as with one. */
static void want_of_timers_too(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    place it = {.threads = false};
    if (slower() > 1)
        skip(); /* the same */
    no_time = SECOND;
    timerless_begin(&it, &settings);
    int first = place_client(&it);
    int second = client(it.info.address);
    timerless_run(&it);
    place_look(&it);
    assert_int_equal(it.info.paused, 1);
    assert_int_equal(it.info.error, EMFILE);
    assert_int_equal(it.info.pauses, 1);
    assert_int_equal(lined, 1);
    assert_int_equal(told_paused, 1);
    assert_string_equal(client_says(&it, first, "a"), "a");
    assert_string_equal(client_says(&it, second, "b"), "");
    timerless_wait(&it, AXO_LISTENER_PAUSE_NS + AXO_TICK_NS * 2);
    timerless_run(&it);
    place_look(&it);
    assert_int_equal(it.info.pauses, 2);
    assert_int_equal(told_going, 1);
    /* Messages that it gets all the time do not keep it from going on. */
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(client_get(&it, second), "");
        timerless_wait(&it, AXO_LISTENER_PAUSE_NS / 4);
        place_look(&it);
    }
    assert_string_equal(client_get(&it, second), "b");
    place_look(&it);
    assert_int_equal(it.info.paused, 0);
    assert_int_equal(it.info.accepted, 2);
    assert_int_equal(close(first) + close(second), 0);
    place_end(&it);
}

/* ---- an end in order ---- */

static bool place_lives(place *it)
{
    axo_ref found;
    return axo_system_find(it->system, "/user/listener", &found) == AXO_OK;
}

/* What was asked is answered, nobody new gets in, and the listener ends with the last of them. */
static void closed_in_order(void **state)
{
    char path[64];
    axo_listener settings = AXO_LISTENER(.address = place_name(path, "/tmp/"),
                                         .connection = &echo_props);
    place it = {.threads = false};
    struct stat what;
    place_begin(&it, &settings);
    int first = place_client(&it);
    int second = place_client(&it);
    assert_int_equal(send(first, "asked", 5, MSG_NOSIGNAL), 5);
    place_run(&it);
    assert_int_equal(axo_system_send(it.system, it.listener, AXO_LISTENER_CLOSE, NULL, 0), AXO_OK);
    place_run(&it);
    assert_int_equal(seen.disconnects, 2);
    assert_int_equal(client(settings.address), -1);
    place_look(&it);
    assert_string_equal(it.info.address, "");
    assert_int_equal(it.info.connections, 2);
    assert_string_equal(client_get(&it, first), "asked");
    assert_string_equal(client_get(&it, first), "<end>");
    assert_int_equal(close(first), 0);
    place_run(&it);
    assert_true(place_lives(&it));
    assert_int_equal(close(second), 0);
    place_run(&it);
    assert_false(place_lives(&it));
    assert_int_equal(seen.ended, 2);
    assert_int_equal(stat(path + strlen("unix:"), &what), -1);
    place_end(&it);
}

static bool path_is_there(const char *address)
{
    struct stat what;
    return lstat(address + strlen("unix:"), &what) == 0;
}

/* Its descriptor is not to be missed by the other one. */
static void place_ends(place *it, place *other)
{
    other->fds--;
    assert_int_equal(axo_system_stop_actor(it->system, it->listener), AXO_OK);
    place_run(it);
    assert_false(place_lives(it));
}

/* Its path is free as soon as it accepts no more, and what is there when it ends is another's. */
static void closed_beside_the_next_one(void **state)
{
    char path[64];
    axo_listener settings = AXO_LISTENER(.address = place_name(path, "/tmp/"),
                                         .connection = &echo_props);
    place old = {.threads = false};
    place next = {.threads = false};
    place_begin(&old, &settings);
    int first = place_client(&old);
    assert_string_equal(client_says(&old, first, "a"), "a");
    seen.stays = true;
    assert_int_equal(axo_system_send(old.system, old.listener, AXO_LISTENER_CLOSE, NULL, 0),
                     AXO_OK);
    place_run(&old);
    assert_true(place_lives(&old));
    assert_false(path_is_there(path));
    place_begin(&next, &settings);
    assert_int_equal(next.code, 0);
    place_ends(&old, &next);
    assert_true(path_is_there(path));
    int second = place_client(&next);
    assert_string_equal(client_says(&next, second, "b"), "b");
    assert_int_equal(close(second), 0);
    place_run(&next);
    place_end(&next);
    assert_false(path_is_there(path));
    assert_int_equal(close(first), 0);
    place_end(&old);
}

/* Somebody has removed the path of one that lives: what it finds there at its end is another's. */
static void ended_beside_the_next_one(void **state)
{
    char path[64];
    axo_listener settings = AXO_LISTENER(.address = place_name(path, "/tmp/"),
                                         .connection = &echo_props);
    place old = {.threads = false};
    place next = {.threads = false};
    place_begin(&old, &settings);
    assert_int_equal(unlink(path + strlen("unix:")), 0);
    place_begin(&next, &settings);
    assert_int_equal(next.code, 0);
    place_ends(&old, &next);
    assert_true(path_is_there(path));
    place_end(&next);
    assert_false(path_is_there(path));
    place_end(&old);
}

/* Without connections it ends at once; one that waits for room, or pauses, closes all the same. */
static void closed_in_every_state(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props,
                                         .connections_max = 1);
    place it = {.threads = false};
    place_begin(&it, &settings);
    assert_int_equal(axo_system_send(it.system, it.listener, AXO_LISTENER_CLOSE, NULL, 0), AXO_OK);
    place_run(&it);
    assert_false(place_lives(&it));
    place_end(&it);
    place_begin(&it, &settings);
    int first = place_client(&it);
    int second = client(it.info.address);
    place_run(&it);
    seen.stays = true;
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(axo_system_send(it.system, it.listener, AXO_LISTENER_CLOSE, NULL, 0),
                         AXO_OK);
    place_run(&it);
    assert_int_equal(seen.disconnects, 2);
    assert_string_equal(client_get(&it, second), "<end>"); /* it was never accepted */
    assert_string_equal(client_says(&it, first, "x"), "x");
    assert_true(place_lives(&it));
    assert_int_equal(close(first) + close(second), 0);
    place_run(&it);
    assert_false(place_lives(&it));
    assert_int_equal(seen.connected, 1);
    place_end(&it);
}

/* ---- on threads ---- */

/* Many at once, each with its own bytes. */
static void many_on_two_workers(void **state)
{
    axo_listener settings = AXO_LISTENER(.address = "127.0.0.1:0", .connection = &echo_props);
    place it = {.threads = true};
    int fds[CLIENTS_MAX];
    place_begin(&it, &settings);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < CLIENTS_MAX; i++)
            fds[i] = place_client(&it);
        for (uint32_t turn = 0; turn < 5; turn++) {
            char text[32];
            for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
                (void)snprintf(text, sizeof text, "%u of %u", i, turn);
                assert_int_equal(send(fds[i], text, strlen(text), MSG_NOSIGNAL), strlen(text));
            }
            for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
                (void)snprintf(text, sizeof text, "%u of %u", i, turn);
                assert_string_equal(client_get(&it, fds[i]), text);
            }
        }
        for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
            assert_int_equal(shutdown(fds[i], SHUT_WR), 0);
            assert_string_equal(client_get(&it, fds[i]), "<end>");
            assert_int_equal(close(fds[i]), 0);
        }
    }
    place_look(&it);
    assert_int_equal(it.info.accepted, 3 * CLIENTS_MAX);
    place_end(&it);
    assert_int_equal(seen.connected, 3 * CLIENTS_MAX);
    assert_int_equal(seen.ended, 3 * CLIENTS_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_connection_that_fails_is_stopped),
    cmocka_unit_test(a_descriptor_that_nobody_takes),
    cmocka_unit_test(forged_and_malformed),
    cmocka_unit_test(beyond_the_bound_they_wait),
    cmocka_unit_test(beyond_the_bound_they_are_refused),
    cmocka_unit_test(want_of_descriptors),
    cmocka_unit_test(want_of_timers_too),
    cmocka_unit_test(closed_in_order),
    cmocka_unit_test(closed_beside_the_next_one),
    cmocka_unit_test(ended_beside_the_next_one),
    cmocka_unit_test(closed_in_every_state),
    cmocka_unit_test(many_on_two_workers),
};
TEST_MAIN(tests)
