/* nm_test.c - names, paths, patterns: conformance NM, UID-05, OR-14, DL-09, PH-24, and ST-17
 * however fast the child is. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "conformance/parts.h"

static axo_ref nm_at(kit *k, const char *path)
{
    axo_ref ref;
    axo_status status = axo_system_find(kit_system(k), path, &ref);
    assert_int_equal(status, axo_ref_is_none(ref) ? AXO_ENOENT : AXO_OK);
    return ref;
}

#define nm_is(ref, script) assert_true(axo_ref_equal((ref), kit_ref(script)))
#define nm_none(ref) assert_true(axo_ref_is_none(ref))

/* ---- names ---------------------------------------------------------------------------------- */

static axo_status nm_spawn_twice(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, arg) == AXO_OK);
    axo_status status = kit_spawn_in(ctx, arg);
    kit_mark(self, "second", status);
    return status; /* not handled: it fails */
}

static void NM_01(kit *k)
{
    kit_family f = kit_tree(k, "g(p), -a");
    kit_script *again = kit_actor(k, "again");
    f.g->directive = AXO_RESUME;
    again->name = "a";
    f.a->post_stop.gate = kit_gate_new(k);
    kit_run(k, f.p, nm_spawn_twice, f.a);
    kit_await(k, "g.decider(p)");
    kit_order(k, "p.second(-5)", "p.fail", "g.decider(p)");
    kit_await(k, "a.preStart");
    kit_tell_ref(k, f.p, KIT_STOP, kit_ref(f.a));
    kit_gate_arrived(f.a->post_stop.gate, 1);
    if (kit_workers(k) > 1) { /* dying */
        kit_run(k, f.p, part_spawn, again);
        kit_await(k, "p.spawnStatus(EEXIST)");
        nm_is(nm_at(k, "/user/g/p/a"), f.a);
    }
    kit_gate_open(f.a->post_stop.gate);
    kit_await(k, "a.terminated");
    kit_run(k, f.p, part_spawn, again);
    kit_await_all(k, "p.spawnStatus(OK)", "again.preStart");
    kit_expect_count(k, "a.ctor", 1);
}

enum { NM_NAMES = 100, NM_THREADS = 4 };

typedef struct nm_crowd {
    kit *k;
    pthread_barrier_t barrier;
    bool get;
    _Atomic uint32_t won[NM_NAMES];
    _Atomic uint32_t lost[NM_NAMES];
    _Atomic uint64_t refs[NM_NAMES];
} nm_crowd;

static axo_status nm_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_OK;
}

static const axo_class nm_class = AXO_CLASS(.name = "nm", .receive = nm_receive);

static void *nm_crowd_thread(void *arg)
{
    nm_crowd *crowd = arg;
    (void)pthread_barrier_wait(&crowd->barrier);
    for (uint32_t i = 0; i < NM_NAMES; i++) {
        char name[32];
        axo_ref ref;
        bool created = false;
        (void)snprintf(name, sizeof name, "%s%u", crowd->get ? "got" : "n", (unsigned)i);
        axo_props props = AXO_PROPS(.cls = &nm_class, .name = name);
        axo_status status;
        if (crowd->get) {
            status = axo_system_spawn_or_get(kit_system(crowd->k), &props, &ref, &created);
            KIT_REQUIRE(crowd->k, status == AXO_OK);
            uint64_t none = 0;
            if (!atomic_compare_exchange_strong(&crowd->refs[i], &none, ref.bits))
                KIT_REQUIRE(crowd->k, none == ref.bits); /* all have the same */
        } else {
            status = axo_system_spawn(kit_system(crowd->k), &props, &ref);
            KIT_REQUIRE(crowd->k, status == AXO_OK || status == AXO_EEXIST);
            created = status == AXO_OK;
        }
        atomic_fetch_add(created ? &crowd->won[i] : &crowd->lost[i], 1);
    }
    return NULL;
}

static void nm_crowd_run(kit *k, bool get)
{
    nm_crowd *crowd = kit_alloc(k, sizeof *crowd);
    pthread_t ids[NM_THREADS];
    crowd->k = k;
    crowd->get = get;
    assert_int_equal(pthread_barrier_init(&crowd->barrier, NULL, NM_THREADS), 0);
    for (uint32_t i = 0; i < NM_THREADS; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, nm_crowd_thread, crowd), 0);
    for (uint32_t i = 0; i < NM_THREADS; i++)
        assert_int_equal(pthread_join(ids[i], NULL), 0);
    (void)pthread_barrier_destroy(&crowd->barrier);
    for (uint32_t i = 0; i < NM_NAMES; i++) {
        assert_int_equal(atomic_load(&crowd->won[i]), 1);
        assert_int_equal(atomic_load(&crowd->lost[i]), NM_THREADS - 1);
    }
}

static void NM_02(kit *k)
{
    nm_crowd_run(k, false);
}

static void NM_03(kit *k)
{
    axo_props props = AXO_PROPS(.cls = &nm_class);
    char paths[8][64];
    for (int i = 0; i < 8; i++) {
        axo_ref ref;
        assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_OK);
        assert_int_equal(axo_system_path(kit_system(k), ref, paths[i], sizeof paths[i]), AXO_OK);
        assert_memory_equal(paths[i], "/user/$", 7);
        assert_true(axo_ref_equal(nm_at(k, paths[i]), ref));
        char other_path[80]; /* there is one path to it, and it is below its own parent */
        (void)snprintf(other_path, sizeof other_path, "/user/$0%s", paths[i] + 7);
        nm_none(nm_at(k, other_path));
        (void)snprintf(other_path, sizeof other_path, "/system/%s", paths[i] + 6);
        nm_none(nm_at(k, other_path));
        for (int other = 0; other < i; other++)
            assert_string_not_equal(paths[i], paths[other]);
    }
    kit_finish(k);
}

static void NM_04(kit *k)
{
    static const axo_class no_receive = AXO_CLASS(.name = "bad");
    axo_props props = AXO_PROPS(.cls = &no_receive, .name = "a");
    axo_ref ref;
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_EINVAL);
    axo_props large = AXO_PROPS(.cls = &nm_class, .name = "a", .args = "", .args_size = 60000);
    static const char args[60000];
    large.args = args;
    kit_no_memory(k, true);
    assert_int_equal(axo_system_spawn(kit_system(k), &large, &ref), AXO_ENOMEM);
    nm_none(ref);
    kit_no_memory(k, false);
    nm_none(nm_at(k, "/user/a"));
    assert_int_equal(axo_system_spawn(kit_system(k), &large, &ref), AXO_OK);
    kit_finish(k);
}

static axo_status nm_spawn_bad(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &nm_class, .name = arg);
    KIT_REQUIRE(self->k, axo_spawn(ctx, &props, &ref) == AXO_ENAME);
    KIT_REQUIRE(self->k, axo_ref_is_none(ref) && axo_child_count(ctx) == 0);
    KIT_REQUIRE(self->k, axo_ref_is_none(axo_child(ctx, arg)));
    kit_mark(self, "refused", 0);
    return AXO_OK;
}

static void NM_05(kit *k)
{
    static struct {
        char text[16];
        size_t at;
    } bad[] = {{"", 0},    {"$a", 0},  {".", 0},   {"..", 0},   {"a b", 1},
               {"ab/", 2}, {"%20", 0}, {"a%2", 1}, {"abc*", 3}, {"\xc3\xbc", 0}};
    kit_script *p = kit_top(k, "p");
    size_t at = 77;
    assert_int_equal(axo_name_check(NULL, &at), AXO_EINVAL);
    assert_int_equal(axo_name_check("$", NULL), AXO_ENAME);
    assert_int_equal(axo_name_check("a.b~c", &at), AXO_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(axo_name_check(bad[i].text, &at), AXO_ENAME);
        assert_int_equal(at, bad[i].at);
        kit_run(k, p, nm_spawn_bad, bad[i].text);
    }
    kit_await_count(k, "p.refused", sizeof bad / sizeof bad[0]);
    kit_finish(k);
}

static axo_status nm_children(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_script **family = arg;
    KIT_REQUIRE(self->k, axo_ref_equal(axo_child(ctx, "a"), kit_ref(family[0])));
    KIT_REQUIRE(self->k, axo_ref_is_none(axo_child(ctx, "b")));
    KIT_REQUIRE(self->k, axo_ref_is_none(axo_child(ctx, "a/b")));
    KIT_REQUIRE(self->k, axo_ref_is_none(axo_child(ctx, "p")));
    KIT_REQUIRE(self->k, axo_ref_is_none(axo_child(ctx, "")));
    KIT_REQUIRE(self->k, axo_ref_is_none(axo_child(ctx, NULL)));
    kit_mark(self, "looked", 0);
    return AXO_OK;
}

static axo_status nm_no_child(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_ref_is_none(axo_child(ctx, "a")));
    kit_mark(self, "gone", 0);
    return AXO_OK;
}

static void NM_06(kit *k)
{
    kit_script *family[2];
    kit_script *p = kit_top(k, "p");
    family[0] = kit_child(k, p, "a");
    family[1] = kit_child(k, family[0], "b");
    kit_run(k, p, nm_children, family);
    kit_await(k, "p.looked");
    kit_tell_ref(k, p, KIT_STOP, kit_ref(family[0]));
    kit_await(k, "a.terminated");
    kit_run(k, p, nm_no_child, NULL);
    kit_await(k, "p.gone");
    kit_finish(k);
}

/* ---- paths and patterns --------------------------------------------------------------------- */

typedef struct nm_family {
    kit_script *p, *a, *ab, *b;
} nm_family;

static void nm_expect(axo_ctx *ctx, kit_puppet *self, const char *path, kit_script *there)
{
    axo_ref ref;
    axo_status status = axo_find(ctx, path, &ref);
    if (there == NULL)
        KIT_REQUIRE(self->k, status == AXO_ENOENT && axo_ref_is_none(ref));
    else if (status != AXO_OK || !axo_ref_equal(ref, kit_ref(there)))
        kit_problem(self->k, "%s leads elsewhere", path);
}

static void nm_expect_count(axo_ctx *ctx, kit_puppet *self, const char *pattern, uint32_t expected)
{
    axo_ref found[16];
    uint32_t count = 99;
    KIT_REQUIRE(self->k, axo_find_all(ctx, pattern, found, 16, &count) == AXO_OK);
    if (count != expected)
        kit_problem(self->k, "%s matches %" PRIu32 ", not %" PRIu32, pattern, count, expected);
}

/* Of a: /user/p/{a/b, ab}, /user/b. */
static axo_status nm_look_around(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const nm_family *f = arg;
    static const char *const bad[] = {"", "/user/", "//", "a//b",
                                      "$", "/user/p/ ", "a%", "/user//p"};
    axo_ref ref;
    uint32_t count;
    nm_expect(ctx, self, ".", f->a);
    nm_expect(ctx, self, "b", f->b);
    nm_expect(ctx, self, "./b", f->b);
    nm_expect(ctx, self, "b/..", f->a);
    nm_expect(ctx, self, "..", f->p);
    nm_expect(ctx, self, "../ab", f->ab);
    nm_expect(ctx, self, "../a/b", f->b);
    nm_expect(ctx, self, "/user/p/a/../ab", f->ab);
    nm_expect(ctx, self, "/../../user/p", f->p);
    nm_expect(ctx, self, "a", NULL);
    nm_expect(ctx, self, "/p", NULL);
    nm_expect(ctx, self, "nobody/..", NULL);
    nm_expect(ctx, self, "$12ab", NULL);
    KIT_REQUIRE(self->k, axo_find(ctx, "/", &ref) == AXO_OK);
    KIT_REQUIRE(self->k, axo_ref_equal(ref, axo_system_guardian(axo_system_of(ctx),
                                                                AXO_GUARDIAN_ROOT)));
    for (size_t i = 1; i < sizeof bad / sizeof bad[0]; i++)
        KIT_REQUIRE(self->k, axo_find(ctx, bad[i], &ref) ==
                                 (strcmp(bad[i], "$") == 0 ? AXO_ENOENT : AXO_ENAME));
    KIT_REQUIRE(self->k, axo_find(ctx, bad[0], &ref) == AXO_ENAME);
    KIT_REQUIRE(self->k, axo_find(ctx, "*", &ref) == AXO_ENAME && axo_ref_is_none(ref));
    nm_expect_count(ctx, self, "../*", 2);
    nm_expect_count(ctx, self, "../a*", 2);
    nm_expect_count(ctx, self, "../?", 1);
    nm_expect_count(ctx, self, "../*b", 1);
    nm_expect_count(ctx, self, "../*/*", 1);
    nm_expect_count(ctx, self, "*", 1);
    nm_expect_count(ctx, self, "../b*", 0);
    nm_expect_count(ctx, self, "/user/*/a*b", 1);
    nm_expect_count(ctx, self, "/user/*/a*?b", 0);
    nm_expect_count(ctx, self, "/*", 2);
    nm_expect_count(ctx, self, "/user/p/./a/.", 1);
    nm_expect_count(ctx, self, "/user/nobody", 0);
    nm_expect_count(ctx, self, "/user/nobody/*", 0);
    KIT_REQUIRE(self->k, axo_find_all(ctx, "*/..", NULL, 0, &count) == AXO_ENAME && count == 0);
    KIT_REQUIRE(self->k, axo_find_all(ctx, "../*", &ref, 1, &count) == AXO_OK && count == 2);
    KIT_REQUIRE(self->k, axo_find_all(ctx, "../*", NULL, 1, &count) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_find_all(ctx, NULL, &ref, 1, &count) == AXO_EINVAL);
    kit_mark(self, "looked", 0);
    return AXO_OK;
}

static nm_family nm_family_new(kit *k)
{
    nm_family f;
    f.p = kit_top(k, "p");
    f.a = kit_child(k, f.p, "a");
    f.ab = kit_child(k, f.p, "ab");
    f.b = kit_child(k, f.a, "b");
    return f;
}

static void NM_07_paths(kit *k)
{
    nm_family f = nm_family_new(k);
    axo_ref refs[4];
    uint32_t count = 0;
    kit_run(k, f.a, nm_look_around, &f);
    kit_await(k, "a.looked");
    nm_is(nm_at(k, "/user/p/a/b"), f.b);
    nm_none(nm_at(k, "/user/p/b"));
    char hex[32]; /* who has a name is found by that only */
    (void)snprintf(hex, sizeof hex, "/user/$%" PRIx64, kit_ref(f.p).bits);
    nm_none(nm_at(k, hex));
    axo_system *system = kit_system(k);
    assert_int_equal(axo_system_find(system, "user", &refs[0]), AXO_ENAME); /* relative to what? */
    assert_int_equal(axo_system_find(system, "/user/*", &refs[0]), AXO_ENAME);
    assert_int_equal(axo_system_find(NULL, "/user", &refs[0]), AXO_EINVAL);
    assert_int_equal(axo_system_find(system, NULL, &refs[0]), AXO_EINVAL);
    assert_int_equal(axo_system_find(system, "/user", NULL), AXO_EINVAL);
    assert_int_equal(axo_find(NULL, "a", &refs[0]), AXO_ECONTEXT);
    assert_int_equal(axo_system_find_all(system, "/user/p/*", refs, 4, &count), AXO_OK);
    assert_int_equal(count, 2);
    assert_true(axo_ref_equal(refs[0], kit_ref(f.a)) || axo_ref_equal(refs[1], kit_ref(f.a)));
    assert_true(axo_ref_equal(refs[0], kit_ref(f.ab)) || axo_ref_equal(refs[1], kit_ref(f.ab)));
    assert_int_equal(axo_system_find_all(system, "/user/p", refs, 4, &count), AXO_OK);
    assert_int_equal(count, 1);
    assert_int_equal(axo_system_find_all(system, "p", refs, 4, &count), AXO_ENAME);
    assert_int_equal(count, 0);
    kit_finish(k);
}

static axo_status nm_select(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    uint32_t count = 99;
    kit_payload payload = {.value = 5};
    KIT_REQUIRE(self->k, axo_select(ctx, "../*", KIT_NOTE, &payload, sizeof payload, &count) ==
                             AXO_OK);
    KIT_REQUIRE(self->k, count == 2);
    payload.value = 6;
    KIT_REQUIRE(self->k, axo_select(ctx, "../ab", KIT_PING, &payload, sizeof payload, NULL) ==
                             AXO_OK);
    KIT_REQUIRE(self->k, axo_select(ctx, "../b*", KIT_NOTE, &payload, sizeof payload, &count) ==
                             AXO_OK);
    KIT_REQUIRE(self->k, count == 0);
    KIT_REQUIRE(self->k, axo_select(ctx, "/user/nobody/*", KIT_NOTE, NULL, 0, &count) == AXO_OK);
    KIT_REQUIRE(self->k, axo_select(ctx, "/user/x//", KIT_NOTE, NULL, 0, &count) == AXO_ENAME);
    KIT_REQUIRE(self->k, axo_select(ctx, "..", AXO_TAG_RESERVED, NULL, 0, &count) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_select(ctx, "..", KIT_NOTE, NULL, 8, &count) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_select(ctx, NULL, KIT_NOTE, NULL, 0, &count) == AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_select(ctx, "..", KIT_NOTE, &payload, AXO_PAYLOAD_MAX + 1, &count) ==
                             AXO_ETOOBIG);
    KIT_REQUIRE(self->k, axo_select(ctx, "../nobody/there", 77, &payload, sizeof payload,
                                    &count) == AXO_EGONE);
    KIT_REQUIRE(self->k, count == 0);
    kit_mark(self, "selected", 0);
    return AXO_OK;
}

/* Only the path that is no pattern makes a dead letter, and it says which path it was. */
static void NM_07_selection(kit *k)
{
    nm_family f = nm_family_new(k);
    axo_dead_record letters[4];
    kit_run(k, f.a, nm_select, NULL);
    kit_await_all(k, "a.selected", "a.note(5)", "ab.note(5)", "a.pong(6)");
    assert_int_equal(kit_stats(k).dead, 1);
    assert_int_equal(axo_system_dead_letters(kit_system(k), letters, 4, NULL), 1);
    assert_string_equal(letters[0].path, "../nobody/there");
    assert_true(axo_ref_is_none(letters[0].recipient));
    assert_true(axo_ref_equal(letters[0].sender, kit_ref(f.a)));
    assert_int_equal(letters[0].tag, 77);
    kit_finish(k);
}

static axo_status nm_select_scarce(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    static const char large[60000];
    uint32_t count = 99;
    kit_no_memory(self->k, true);
    KIT_REQUIRE(self->k, axo_select(ctx, "../*", KIT_NOTE, large, sizeof large, &count) ==
                             AXO_ENOMEM);
    KIT_REQUIRE(self->k, count == 0);
    KIT_REQUIRE(self->k, axo_select(ctx, "nobody", KIT_NOTE, large, sizeof large, &count) ==
                             AXO_ENOMEM);
    kit_no_memory(self->k, false);
    kit_mark(self, "refused", 0);
    return AXO_OK;
}

static void NM_07_no_memory(kit *k)
{
    nm_family f = nm_family_new(k);
    kit_run(k, f.a, nm_select_scarce, NULL);
    kit_await(k, "a.refused");
    kit_settle(k);
    kit_never(k, "*.note");
    assert_int_equal(kit_stats(k).dead, 0);
}

static void UID_05(kit *k)
{
    kit_script *p = kit_top(k, "p");
    kit_script *old = kit_actor(k, "old");
    kit_script *new = kit_actor(k, "new");
    old->name = "c";
    new->name = "c";
    kit_spawn_child(k, p, old, 0);
    kit_await(k, "old.preStart");
    axo_ref was = nm_at(k, "/user/p/c");
    nm_is(was, old);
    kit_tell_ref(k, p, KIT_STOP, was);
    kit_await(k, "old.terminated");
    nm_none(nm_at(k, "/user/p/c"));
    kit_spawn_child(k, p, new, 0);
    kit_await(k, "new.preStart");
    nm_is(nm_at(k, "/user/p/c"), new);
    assert_false(axo_ref_equal(was, kit_ref(new)));
}

static axo_status nm_find_self(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_ref ref;
    KIT_REQUIRE(self->k, axo_find(ctx, "/user/p/a", &ref) == AXO_OK);
    KIT_REQUIRE(self->k, axo_ref_equal(ref, axo_self(ctx)));
    KIT_REQUIRE(self->k, axo_system_find(axo_system_of(ctx), "/user/p/a", &ref) == AXO_OK);
    KIT_REQUIRE(self->k, axo_ref_equal(ref, axo_self(ctx)));
    kit_mark(self, "foundSelf", 0);
    return AXO_OK;
}

static axo_status nm_spawn_and_find(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, arg) == AXO_OK);
    nm_expect(ctx, self, "a", arg);
    nm_expect_count(ctx, self, "?", 1);
    kit_mark(self, "found", 0);
    return AXO_OK;
}

static void OR_14(kit *k)
{
    kit_family f = kit_tree(k, "p, -a");
    f.a->construct.run = nm_find_self;
    kit_run(k, f.p, nm_spawn_and_find, f.a);
    kit_await(k, "a.preStart");
    kit_await(k, "p.found"); /* it may have been passed by its child */
    kit_expect(k, "p.found=1", "a.foundSelf=1");
    for (int i = 0; i < 50; i++) { /* from outside, before it has run */
        char name[16], path[32];
        axo_ref ref;
        (void)snprintf(name, sizeof name, "o%d", i);
        (void)snprintf(path, sizeof path, "/user/%s", name);
        axo_props props = AXO_PROPS(.cls = &nm_class, .name = name);
        assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_OK);
        assert_true(axo_ref_equal(nm_at(k, path), ref));
    }
}

/* What asks nobody is answered: a look says nobody, a watch gives a notice, an unwatch nothing. */
static axo_status nm_ask_nobody(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    axo_ref ref;
    KIT_REQUIRE(self->k, axo_find(ctx, "/user/nobody", &ref) == AXO_ENOENT);
    axo_ref gone = kit_ref(arg);
    KIT_REQUIRE(self->k, axo_inspect(ctx, gone, axo_ref_none(), &info) == AXO_EGONE);
    KIT_REQUIRE(self->k, info.doing == AXO_DOING_GONE);
    KIT_REQUIRE(self->k, axo_unwatch(ctx, gone) == AXO_OK);
    KIT_REQUIRE(self->k, axo_watch(ctx, gone) == AXO_OK);
    return AXO_OK;
}

static void DL_09(kit *k)
{
    kit_family f = kit_tree(k, "w, c");
    axo_system_stop_actor(kit_system(k), kit_ref(f.c));
    kit_await(k, "c.terminated");
    kit_run(k, f.w, nm_ask_nobody, f.c);
    kit_await(k, "w.term(c)");
    assert_int_equal(kit_stats(k).dead, 0);
}

/* ---- PH-24 ---------------------------------------------------------------------------------- */

static axo_status nm_get(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_props props = AXO_PROPS(.cls = &nm_class, .name = "x");
    axo_ref first, second, third;
    bool created = false;
    kit *k = self->k;
    KIT_REQUIRE(k, axo_spawn_or_get(ctx, &props, &first, &created) == AXO_OK && created);
    KIT_REQUIRE(k, axo_spawn_or_get(ctx, &props, &second, &created) == AXO_OK && !created);
    KIT_REQUIRE(k, axo_ref_equal(first, second));
    KIT_REQUIRE(k, axo_spawn(ctx, &props, &third) == AXO_EEXIST && axo_ref_is_none(third));
    KIT_REQUIRE(k, axo_stop(ctx, first) == AXO_OK);
    KIT_REQUIRE(k, axo_spawn_or_get(ctx, &props, &third, &created) == AXO_EEXIST && !created);
    KIT_REQUIRE(k, axo_ref_is_none(third) || axo_ref_equal(third, first));
    props.name = NULL;
    KIT_REQUIRE(k, axo_spawn_or_get(ctx, &props, &third, NULL) == AXO_EINVAL);
    props.name = "$x";
    KIT_REQUIRE(k, axo_spawn_or_get(ctx, &props, &third, NULL) == AXO_ENAME);
    KIT_REQUIRE(k, axo_spawn_or_get(ctx, NULL, &third, NULL) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_spawn_or_get(ctx, &props, NULL, NULL) == AXO_EINVAL);
    KIT_REQUIRE(k, axo_spawn_or_get(NULL, &props, &third, NULL) == AXO_ECONTEXT);
    kit_mark(self, "got", 0);
    return AXO_OK;
}

static void PH_24(kit *k)
{
    kit_family f = kit_tree(k, "p, a");
    axo_props props = AXO_PROPS(.cls = &nm_class, .name = "a");
    axo_ref ref;
    bool created = true;
    kit_run(k, f.p, nm_get, NULL);
    kit_await(k, "p.got");
    assert_int_equal(axo_system_spawn_or_get(kit_system(k), &props, &ref, &created), AXO_OK);
    assert_false(created);
    nm_is(ref, f.a);
    f.a->post_stop.gate = kit_gate_new(k);
    axo_system_stop_actor(kit_system(k), ref);
    kit_gate_arrived(f.a->post_stop.gate, 1); /* it is dying: its reference, and the status */
    assert_int_equal(axo_system_spawn_or_get(kit_system(k), &props, &ref, &created), AXO_EEXIST);
    nm_is(ref, f.a);
    kit_gate_open(f.a->post_stop.gate);
    kit_await(k, "a.terminated");
    assert_int_equal(axo_system_spawn_or_get(kit_system(k), &props, &ref, &created), AXO_OK);
    assert_true(created);
    nm_crowd_run(k, true);
    kit_finish(k);
}

/* ---- ST-17 ---------------------------------------------------------------------------------- */

typedef struct nm_quick {
    kit_gate *gate;
    kit_script *child, *next;
} nm_quick;

static axo_status nm_stop_and_wait(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const nm_quick *quick = arg;
    KIT_REQUIRE(self->k, axo_stop(ctx, kit_ref(quick->child)) == AXO_OK);
    kit_gate_pass(quick->gate);
    kit_mark(self, "spawnStatus", kit_spawn_in(ctx, quick->next));
    return kit_run_in(ctx, self->ref, part_spawn, quick->next);
}

/* The child has ended and all the world knows: in the callback that stopped it the name is taken
 * still, in the next it is free. */
static void ST_17_quick(kit *k)
{
    kit_family f = kit_tree(k, "p(c), w");
    kit_script *next = kit_actor(k, "next");
    nm_quick *quick = kit_alloc(k, sizeof *quick);
    *quick = (nm_quick){.gate = kit_gate_new(k), .child = f.c, .next = next};
    next->name = "c";
    part_watched_by(k, f.c, f.w);
    kit_run(k, f.p, nm_stop_and_wait, quick);
    kit_await(k, "w.term(c)");
    nm_none(nm_at(k, "/user/p/c"));
    kit_gate_open(quick->gate);
    kit_order(k, "w.term(c)", "p.spawnStatus(EEXIST)", "p.spawnStatus(OK)");
    kit_await(k, "next.preStart");
}

static axo_status nm_both(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const nm_quick *quick = arg;
    axo_ref children[4];
    kit_gate_pass(quick->gate);
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, quick->next) == AXO_OK);
    KIT_REQUIRE(self->k, axo_child_count(ctx) == 2);
    KIT_REQUIRE(self->k, axo_children(ctx, children, 4) == 2);
    KIT_REQUIRE(self->k, axo_ref_equal(children[0], kit_ref(quick->next)));
    KIT_REQUIRE(self->k, axo_ref_equal(children[1], kit_ref(quick->child)));
    KIT_REQUIRE(self->k, axo_ref_equal(axo_child(ctx, "c"), kit_ref(quick->next)));
    nm_expect(ctx, self, "c", quick->next);
    nm_expect_count(ctx, self, "*", 1);
    return AXO_OK;
}

/* Until its parent has taken note an ended child has its place, beside the next of its name. */
static void NM_06_both(kit *k)
{
    kit_family f = kit_tree(k, "p(c)");
    kit_script *next = kit_actor(k, "next");
    nm_quick *quick = kit_alloc(k, sizeof *quick);
    *quick = (nm_quick){.gate = kit_gate_new(k), .child = f.c, .next = next};
    next->name = "c";
    kit_run(k, f.p, nm_both, quick);
    kit_gate_arrived(quick->gate, 1);
    axo_system_stop_actor(kit_system(k), kit_ref(f.c));
    kit_await(k, "c.terminated");
    kit_gate_open(quick->gate);
    kit_await_all(k, "p.child_gone(c)", "next.preStart");
    nm_is(nm_at(k, "/user/p/c"), next);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("NM-01", NM_01),
    KIT_TEST("NM-02", NM_02),
    KIT_TEST("NM-03", NM_03),
    KIT_TEST("NM-04", NM_04),
    KIT_TEST("NM-05", NM_05),
    KIT_TEST("NM-06", NM_06),
    KIT_TEST_ONE("NM-06 both", NM_06_both, 2, "workers"),
    KIT_TEST_ONE("NM-06 both", NM_06_both, 4, "workers"),
    KIT_TEST("NM-07 paths", NM_07_paths),
    KIT_TEST("NM-07 selection", NM_07_selection),
    KIT_TEST("NM-07 no memory", NM_07_no_memory),
    KIT_TEST("UID-05", UID_05),
    KIT_TEST("OR-14", OR_14),
    KIT_TEST("DL-09", DL_09),
    KIT_TEST("PH-24", PH_24),
    KIT_TEST_ONE("ST-17 quick", ST_17_quick, 2, "workers"),
    KIT_TEST_ONE("ST-17 quick", ST_17_quick, 4, "workers"),
};
TEST_MAIN(tests)
