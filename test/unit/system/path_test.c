/* path_test.c - paths of any depth: whole with AXO_OK, or the end behind a mark that is no path. */
#include "unit/unit.h"

#include <axo/axo.h>

#include <semaphore.h>
#include <stdio.h>

enum { DEPTH = 700, TEXT = 64 * DEPTH };

typedef struct line {
    axo_system *system;
    axo_ref refs[DEPTH]; /* refs[i] has i + 1 of them above it, /user included */
    char text[TEXT];     /* path of the last */
    size_t ends[DEPTH];  /* of each in it */
    bool unnamed;        /* every third has no name of its own */
    uint32_t called;
} line;

static axo_ref made; /* by the last message */

enum { SPAWN = 1, ASK_PATH = 2, NOTHING = 3, SELECT = 4 };

static void settle(axo_system *system)
{
    uint64_t turns = 1;
    while (turns > 0)
        assert_int_equal(axo_step_host(system, 1000, &turns), AXO_OK);
}

static axo_status line_receive(axo_ctx *ctx, void *state, const axo_message *message);
static const axo_class line_class = AXO_CLASS(.name = "link", .receive = line_receive);

/* The payload is the child's name, or nothing. */
static axo_status line_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &line_class, .name = message->payload);
    if (message->tag == SPAWN)
        return axo_spawn(ctx, &props, &made);
    if (message->tag == NOTHING)
        return AXO_UNHANDLED;
    static char path[TEXT];
    line *it;
    memcpy(&it, message->payload, sizeof it);
    if (message->tag == SELECT) {
        assert_int_equal(axo_select(ctx, it->text, NOTHING, NULL, 0, NULL), AXO_EGONE);
        return AXO_OK;
    }
    for (uint32_t i = 0; i < 3; i++) { /* oneself, an ancestor, and cut */
        axo_ref who = i == 1 ? it->refs[DEPTH / 2] : axo_self(ctx);
        size_t length = i == 1 ? it->ends[DEPTH / 2] : strlen(it->text);
        memset(path, 7, sizeof path);
        axo_status status = axo_path(ctx, who, path, i == 2 ? length : sizeof path);
        assert_int_equal(status, i == 2 ? AXO_ETOOBIG : AXO_OK);
        if (i < 2)
            assert_true(strlen(path) == length && memcmp(path, it->text, length) == 0);
        else
            assert_true(strncmp(path, AXO_PATH_CUT "/", 6) == 0);
    }
    axo_ref ref;
    assert_int_equal(axo_find(ctx, it->text, &ref), AXO_OK);
    assert_true(axo_ref_equal(ref, axo_self(ctx)));
    it->called++;
    return AXO_OK;
}

static void line_open(line *it, bool unnamed)
{
    axo_options options = AXO_OPTIONS(.manual = 1);
    char name[32];
    memset(it, 0, sizeof *it);
    it->unnamed = unnamed;
    assert_int_equal(axo_system_start(&options, &it->system), AXO_OK);
    size_t used = (size_t)snprintf(it->text, sizeof it->text, "/user");
    for (uint32_t i = 0; i < DEPTH; i++) {
        axo_props props = AXO_PROPS(.cls = &line_class, .name = name);
        bool named = !unnamed || i % 3 != 0;
        (void)snprintf(name, sizeof name, "link%u", i * 7919 % 10007);
        if (i == 0) {
            props.name = named ? name : NULL;
            assert_int_equal(axo_system_spawn(it->system, &props, &made), AXO_OK);
        } else {
            assert_int_equal(axo_system_send(it->system, it->refs[i - 1], SPAWN,
                                             named ? name : NULL, named ? strlen(name) + 1 : 0),
                             AXO_OK);
        }
        settle(it->system);
        it->refs[i] = made;
        if (!named)
            (void)snprintf(name, sizeof name, "$%llx", (unsigned long long)made.bits);
        used += (size_t)snprintf(it->text + used, sizeof it->text - used, "/%s", name);
        it->ends[i] = used;
    }
}

static void line_close(line *it)
{
    assert_int_equal(axo_system_stop(it->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(it->system), AXO_OK);
}

/* Behind the mark whole segments, as many as there is room for; or the end of the last. */
static void check_cut(const line *it, uint32_t who, const char *out, size_t size)
{
    size_t all = it->ends[who];
    size_t mark = strlen(AXO_PATH_CUT);
    size_t length = strlen(out);
    size_t last = it->ends[who] - (who > 0 ? it->ends[who - 1] : 5); /* with its slash */
    assert_true(length < size && all >= size);
    if (size - 1 < mark) {
        assert_true(strncmp(out, AXO_PATH_CUT, size - 1) == 0 && length == size - 1);
        return;
    }
    assert_true(strncmp(out, AXO_PATH_CUT, mark) == 0);
    assert_true(strncmp(out + mark, it->text + all - (length - mark), length - mark) == 0);
    if (size - 1 - mark >= last) { /* whole ones, and no room for another */
        assert_true(out[mark] == '/');
        size_t before = all - (length - mark);
        while (before > 0 && it->text[--before] != '/')
            continue;
        assert_true(all - before > size - 1 - mark);
    } else {
        assert_true(length == size - 1);
    }
    axo_ref ref;
    assert_int_equal(axo_system_find(it->system, out, &ref), AXO_ENAME);
}

static void check_line(line *it)
{
    static char path[TEXT];
    axo_ref ref;
    for (uint32_t i = 0; i < DEPTH; i += i < 300 ? 1 : 53) {
        assert_int_equal(axo_system_path(it->system, it->refs[i], path, sizeof path), AXO_OK);
        assert_true(strlen(path) == it->ends[i]);
        assert_memory_equal(path, it->text, it->ends[i]);
        assert_int_equal(axo_system_find(it->system, path, &ref), AXO_OK);
        assert_true(axo_ref_equal(ref, it->refs[i]));
        for (size_t size = 1; size <= it->ends[i]; size += size < 400 ? 1 : 997) {
            memset(path, 'x', sizeof path);
            assert_int_equal(axo_system_path(it->system, it->refs[i], path, size), AXO_ETOOBIG);
            check_cut(it, i, path, size);
            assert_true(path[size] == 'x');
        }
        assert_int_equal(axo_system_path(it->system, it->refs[i], path, it->ends[i] + 1), AXO_OK);
    }
    line *said_to = it;
    assert_int_equal(axo_system_send(it->system, it->refs[DEPTH - 1], ASK_PATH, &said_to,
                                     sizeof said_to), AXO_OK);
    settle(it->system);
    assert_int_equal(it->called, 1);
}

static void any_depth_is_whole_or_cut(void **state)
{
    static line it;
    for (int unnamed = 0; unnamed < 2; unnamed++) {
        line_open(&it, unnamed != 0);
        check_line(&it);
        line_close(&it);
    }
}

static void the_roots_path_is_one_byte(void **state)
{
    static line it;
    char path[8];
    line_open(&it, false);
    axo_ref root = axo_system_guardian(it.system, AXO_GUARDIAN_ROOT);
    assert_int_equal(axo_system_path(it.system, root, path, 1), AXO_ETOOBIG);
    assert_string_equal(path, "");
    assert_int_equal(axo_system_path(it.system, root, path, 2), AXO_OK);
    assert_string_equal(path, "/");
    line_close(&it);
}

/* Every place where the library keeps a path says when that is not all of it. */
static void every_kept_path_says_that_it_is_cut(void **state)
{
    static line it;
    axo_dead_record letters[2];
    axo_actor_info info = AXO_ACTOR_INFO(.doing = AXO_DOING_GONE);
    line_open(&it, false);
    axo_ref last = it.refs[DEPTH - 1];
    assert_int_equal(axo_system_inspect(it.system, last, axo_ref_none(), &info), AXO_OK);
    check_cut(&it, DEPTH - 1, info.path, sizeof info.path);
    assert_int_equal(axo_system_send(it.system, last, NOTHING, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_stop_actor(it.system, last), AXO_OK);
    settle(it.system);
    assert_int_equal(axo_system_dead_letters(it.system, letters, 2, NULL), 1);
    check_cut(&it, DEPTH - 1, letters[0].path, sizeof letters[0].path);
    it.text[it.ends[DEPTH - 2]] = 0; /* nobody is there: the letter has the text that was given */
    (void)strcat(it.text, "/nobody");
    it.ends[DEPTH - 1] = strlen(it.text);
    line *said_to = &it;
    assert_int_equal(axo_system_send(it.system, it.refs[0], SELECT, &said_to, sizeof said_to),
                     AXO_OK);
    settle(it.system);
    assert_int_equal(axo_system_dead_letters(it.system, letters, 2, NULL), 2);
    check_cut(&it, DEPTH - 1, letters[0].path, sizeof letters[0].path);
    line_close(&it);
}

/* ---- who is late ---- */

static sem_t arrived, gate;

static axo_status late_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const axo_class cls = AXO_CLASS(.receive = late_receive);
    axo_props props = AXO_PROPS(.cls = &cls, .name = "name");
    uint32_t left = *AXO_PAYLOAD(message, uint32_t);
    axo_ref child;
    if (left-- > 0) {
        axo_status status = axo_spawn(ctx, &props, &child);
        return status == AXO_OK ? axo_send(ctx, child, 1, &left, sizeof left) : status;
    }
    (void)sem_post(&arrived);
    while (sem_wait(&gate) != 0)
        continue;
    return AXO_OK;
}

/* A report of who is late and a line about who is stuck: two of different depth are told apart. */
static char stuck[512];

static void late_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    if (level != AXO_LOG_WARNING || strncmp(text, "stuck", 5) != 0 || stuck[0] != 0)
        return;
    (void)snprintf(stuck, sizeof stuck, "%s", text);
    (void)sem_post(&arrived);
}

static void reports_say_that_a_path_is_cut(void **state)
{
    static const axo_class cls = AXO_CLASS(.receive = late_receive);
    static axo_late late[DEPTH + 4];
    axo_options options = AXO_OPTIONS(.workers = 1, .stuck_ns = 1000000, .log = late_log);
    axo_props props = AXO_PROPS(.cls = &cls, .name = "name");
    axo_system *system;
    axo_ref ref;
    uint32_t left = DEPTH;
    uint32_t count = 0;
    assert_int_equal(sem_init(&arrived, 0, 0) | sem_init(&gate, 0, 0), 0);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(system, ref, 1, &left, sizeof left), AXO_OK);
    for (int i = 0; i < 2; i++) { /* it has begun, and is said to be stuck */
        while (sem_wait(&arrived) != 0)
            continue;
    }
    assert_non_null(strstr(stuck, " " AXO_PATH_CUT "/name/name"));
    assert_int_equal(axo_system_stop(system, 1000000, late, DEPTH + 4, &count), AXO_ETIMEDOUT);
    assert_int_equal(count, DEPTH + 4); /* and three guardians */
    uint32_t cut = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool marked = strncmp(late[i].path, AXO_PATH_CUT "/name", 10) == 0;
        assert_true(marked || late[i].path[0] == '/');
        assert_true(!marked || strlen(late[i].path) == 5 + 50 * 5);
        cut += marked ? 1 : 0;
    }
    assert_int_equal(cut, DEPTH + 1 - (sizeof late[0].path - 1 - 5) / 5);
    (void)sem_post(&gate);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    (void)sem_destroy(&arrived);
    (void)sem_destroy(&gate);
}

/* Patterns have any number of segments too; "." among them counts for nothing. */
static void patterns_of_any_depth(void **state)
{
    static line it;
    static char pattern[TEXT];
    axo_ref out[2];
    uint32_t count;
    line_open(&it, false);
    for (uint32_t depth = 1; depth <= DEPTH; depth += depth < 200 ? 1 : 277) {
        size_t used = (size_t)snprintf(pattern, sizeof pattern, "/user");
        for (uint32_t i = 0; i < depth; i++)
            used += (size_t)snprintf(pattern + used, sizeof pattern - used, "%s",
                                     i % 5 == 2 ? "/./l?nk*" : "/*");
        assert_int_equal(axo_system_find_all(it.system, pattern, out, 2, &count), AXO_OK);
        assert_int_equal(count, 1);
        assert_true(axo_ref_equal(out[0], it.refs[depth - 1]));
        (void)snprintf(pattern + used, sizeof pattern - used, "/./.");
        assert_int_equal(axo_system_find_all(it.system, pattern, out, 2, &count), AXO_OK);
        assert_int_equal(count, 1);
        (void)snprintf(pattern + used, sizeof pattern - used, "/x*");
        assert_int_equal(axo_system_find_all(it.system, pattern, out, 2, &count), AXO_OK);
        assert_int_equal(count, 0);
        (void)snprintf(pattern + used, sizeof pattern - used, "/..");
        assert_int_equal(axo_system_find_all(it.system, pattern, out, 2, &count), AXO_ENAME);
        (void)snprintf(pattern + used, sizeof pattern - used, "//a");
        assert_int_equal(axo_system_find_all(it.system, pattern, out, 2, &count), AXO_ENAME);
    }
    line_close(&it);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_depth_is_whole_or_cut),
    cmocka_unit_test(the_roots_path_is_one_byte),
    cmocka_unit_test(every_kept_path_says_that_it_is_cut),
    cmocka_unit_test(reports_say_that_a_path_is_cut),
    cmocka_unit_test(patterns_of_any_depth),
};
TEST_MAIN(tests)
