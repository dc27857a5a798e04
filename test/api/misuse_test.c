/* misuse_test.c - what is wrong at the door is refused with a status that has a text, and changes
 * nothing. */
#include <stdio.h>
#include <string.h>

#include "support/kit.h"

enum { M_TAG = KIT_OTHER };

/* The status is the expected one, and can be named and explained. */
static void m_is(axo_status status, axo_status expected)
{
    assert_string_equal(axo_status_name(status), axo_status_name(expected));
    assert_string_not_equal(axo_status_name(status), "AXO_?");
    assert_true(strlen(axo_status_text(status)) > 0);
    assert_string_not_equal(axo_status_text(status), "unknown status");
}

/* The same inside an actor, where only a problem can be noted. */
#define M_IS(self, expression, expected)                                                           \
    do {                                                                                           \
        axo_status m_status = (expression);                                                        \
        if (m_status != (expected))                                                                \
            kit_problem((self)->k, "%s:%d: %s gave %s", __FILE__, __LINE__, #expression,           \
                        axo_status_name(m_status));                                                \
    } while (0)

static void m_unchanged(kit *k, const axo_stats *before)
{
    axo_stats after = kit_stats(k);
    assert_int_equal(after.sent, before->sent);
    assert_int_equal(after.dead, before->dead);
    assert_int_equal(after.spawned, before->spawned);
    assert_int_equal(after.terminated, before->terminated);
    assert_int_equal(after.failures, before->failures);
    assert_int_equal(after.actors, before->actors);
}

/* Runs `fn` in the actor and waits until it is done. */
static axo_status m_guarded(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_payload *call = arg;
    M_IS(self, call->fn(ctx, self, call->ptr), AXO_OK);
    kit_mark(self, "called", 0);
    return AXO_OK;
}

static void m_call(kit *k, kit_script *script, kit_fn fn, void *arg)
{
    kit_payload *call = kit_alloc(k, sizeof *call);
    uint32_t calls = kit_count(k, "*.called");
    *call = (kit_payload){.fn = fn, .ptr = arg};
    kit_run(k, script, m_guarded, call);
    kit_await_count(k, "*.called", calls + 1);
}

static axo_status m_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static const axo_class m_class = AXO_CLASS(.receive = m_receive);

/* ---- statuses -------------------------------------------------------------------------------- */

static void statuses_have_texts(void **state)
{
    static const axo_status all[] = {
#define M_STATUS(name, value, text) name,
        AXO_STATUS_LIST(M_STATUS)
#undef M_STATUS
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_string_not_equal(axo_status_name(all[i]), "AXO_?");
        assert_string_not_equal(axo_status_text(all[i]), "unknown status");
    }
    assert_string_equal(axo_status_name((axo_status)1), "AXO_?");
    assert_string_equal(axo_status_name((axo_status)-1000), "AXO_?");
    assert_string_equal(axo_status_text((axo_status)1), "unknown status");
    assert_string_equal(axo_event_name(AXO_EVENT_KINDS), "?");
    assert_string_equal(axo_event_name(UINT32_MAX), "?");
}

/* ---- options --------------------------------------------------------------------------------- */

static void m_start_refused(const axo_options *options, axo_status expected)
{
    axo_system *system = (axo_system *)(uintptr_t)1;
    m_is(axo_system_start(options, &system), expected);
    assert_null(system);
}

static void m_start_works(const axo_options *options)
{
    axo_system *system = NULL;
    m_is(axo_system_start(options, &system), AXO_OK);
    assert_non_null(system);
    m_is(axo_system_stop(system, INT64_C(20000000000), NULL, 0, NULL), AXO_OK);
    m_is(axo_system_destroy(system), AXO_OK);
}

static void *m_alloc(void *user, size_t size, size_t align)
{
    return NULL;
}

static void m_free(void *user, void *block, size_t size, size_t align)
{
}

static void options_of_other_sizes(void **state)
{
    struct {
        axo_options options;
        unsigned char tail[16];
    } longer;
    axo_options options = AXO_OPTIONS(.workers = 1);
    m_start_works(NULL);
    m_start_works(&options);
    options.size = 0;
    m_start_refused(&options, AXO_EINVAL);
    /* An older header's: what it lacks is zero, whatever lies there. */
    memset(&options, 0xff, sizeof options);
    options.size = offsetof(axo_options, quantum);
    options.workers = 1;
    m_start_works(&options);
    memset(&longer, 0, sizeof longer);
    longer.options = (axo_options)AXO_OPTIONS(.workers = 1);
    longer.options.size = sizeof longer;
    m_start_works(&longer.options);
    longer.tail[15] = 1;
    m_start_refused(&longer.options, AXO_EVERSION);
}

static void options_out_of_bounds(void **state)
{
    static const axo_strategy bad_strategy = {.scope = AXO_ONE_FOR_ONE};
    static const axo_options bad[] = {
        AXO_OPTIONS(.workers = AXO_WORKERS_MAX + 1),
        AXO_OPTIONS(.workers = 1, .quantum = 65537),
        AXO_OPTIONS(.workers = 1, .quantum_us = 1000001),
        AXO_OPTIONS(.workers = 1, .actors_max = UINT32_C(1) << 24),
        AXO_OPTIONS(.workers = 1, .failure_texts = (UINT32_C(1) << 20) + 1),
        AXO_OPTIONS(.workers = 1, .allocator = {.alloc = m_alloc}),
        AXO_OPTIONS(.workers = 1, .allocator = {.free = m_free}),
        AXO_OPTIONS(.workers = 1, .user_strategy = &bad_strategy),
    };
    axo_options none = AXO_OPTIONS(.workers = 1, .allocator = {.alloc = m_alloc, .free = m_free});
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        m_start_refused(&bad[i], AXO_EINVAL);
    m_start_refused(&none, AXO_ENOMEM);
    m_is(axo_system_start(&none, NULL), AXO_EINVAL);
}

/* ---- props ----------------------------------------------------------------------------------- */

static void m_spawn_refused(kit *k, const axo_props *props, axo_status expected)
{
    axo_stats before = kit_stats(k);
    axo_ref ref = {.bits = 1};
    m_is(axo_system_spawn(kit_system(k), props, &ref), expected);
    assert_true(axo_ref_is_none(ref));
    m_unchanged(k, &before);
}

static axo_ref m_spawn_works(kit *k, const axo_props *props)
{
    axo_ref ref = {.bits = 0};
    uint64_t spawned = kit_stats(k).spawned;
    m_is(axo_system_spawn(kit_system(k), props, &ref), AXO_OK);
    assert_false(axo_ref_is_none(ref));
    assert_int_equal(kit_stats(k).spawned, spawned + 1);
    return ref;
}

static void props_of_other_sizes(kit *k)
{
    struct {
        axo_props props;
        unsigned char tail[8];
    } longer;
    axo_props props = AXO_PROPS(.cls = &m_class);
    props.size = 0;
    m_spawn_refused(k, &props, AXO_EINVAL);
    m_spawn_refused(k, NULL, AXO_EINVAL);
    memset(&props, 0xff, sizeof props);
    props.size = offsetof(axo_props, args);
    props.cls = &m_class;
    (void)m_spawn_works(k, &props);
    memset(&longer, 0, sizeof longer);
    longer.props = (axo_props)AXO_PROPS(.cls = &m_class);
    longer.props.size = sizeof longer;
    (void)m_spawn_works(k, &longer.props);
    longer.tail[0] = 1;
    m_spawn_refused(k, &longer.props, AXO_EVERSION);
    m_is(axo_system_spawn(kit_system(k), &longer.props, NULL), AXO_EINVAL);
    m_is(axo_system_spawn(NULL, &longer.props, &(axo_ref){0}), AXO_EINVAL);
    kit_finish(k);
}

static void classes_of_other_sizes(kit *k)
{
    static struct {
        axo_class cls;
        unsigned char tail[8];
    } longer = {.cls = AXO_CLASS(.receive = m_receive)};
    static axo_class shorter = AXO_CLASS(.receive = m_receive);
    static axo_class zero = AXO_CLASS(.receive = m_receive);
    static const axo_class deaf = AXO_CLASS(.name = "deaf");
    zero.size = 0;
    m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = NULL), AXO_EINVAL);
    m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = &zero), AXO_EINVAL);
    m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = &deaf), AXO_EINVAL);
    longer.cls.size = sizeof longer;
    (void)m_spawn_works(k, &(axo_props)AXO_PROPS(.cls = &longer.cls));
    longer.tail[7] = 1;
    m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = &longer.cls), AXO_EVERSION);
    longer.tail[7] = 0;
    /* A class is used where it lies, so there is nothing to fill the rest of a shorter one. */
    shorter.size = offsetof(axo_class, post_stop);
    m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = &shorter), AXO_EVERSION);
}

static void strategies_of_other_sizes(kit *k)
{
    static struct {
        axo_strategy strategy;
        unsigned char tail[8];
    } longer = {.strategy = AXO_STRATEGY(.scope = AXO_ONE_FOR_ONE)};
    static const axo_strategy zero = {.scope = AXO_ONE_FOR_ONE};
    static const axo_strategy bad[] = {
        AXO_STRATEGY(.scope = (axo_scope)7),
        AXO_STRATEGY(.window = (axo_window)7),
        AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .limited = 1, .retries_max = AXO_SLIDING_MAX),
        AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .limited = 1, .retries_max = -1),
    };
    static axo_backoff older = AXO_BACKOFF(.min_ns = 1, .max_ns = 2);
    axo_strategy shorter = AXO_STRATEGY(.limited = 0);
    const axo_strategy backed_off = AXO_STRATEGY(.backoff = &older);
    m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = &m_class, .strategy = &zero), AXO_EINVAL);
    shorter.size = offsetof(axo_strategy, backoff); /* it would be read behind its end, later */
    m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = &m_class, .strategy = &shorter), AXO_EVERSION);
    older.size = offsetof(axo_backoff, noise_ns);
    m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = &m_class, .strategy = &backed_off),
                    AXO_EVERSION);
    older.size = sizeof older;
    (void)m_spawn_works(k, &(axo_props)AXO_PROPS(.cls = &m_class, .strategy = &backed_off));
    longer.strategy.size = sizeof longer;
    (void)m_spawn_works(k, &(axo_props)AXO_PROPS(.cls = &m_class, .strategy = &longer.strategy));
    longer.tail[3] = 1;
    m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = &m_class, .strategy = &longer.strategy),
                    AXO_EVERSION);
    longer.tail[3] = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = &m_class, .strategy = &bad[i]), AXO_EINVAL);
    kit_finish(k);
}

static void props_out_of_bounds(kit *k)
{
    static unsigned char args[AXO_ARGS_MAX + 1];
    axo_props props = AXO_PROPS(.cls = &m_class, .args = args, .args_size = AXO_ARGS_MAX + 1);
    m_spawn_refused(k, &props, AXO_EINVAL);
    props.args_size = AXO_ARGS_MAX;
    (void)m_spawn_works(k, &props);
    props = (axo_props)AXO_PROPS(.cls = &m_class, .args_size = 1);
    m_spawn_refused(k, &props, AXO_EINVAL);
    props = (axo_props)AXO_PROPS(.cls = &m_class, .dispatcher = 4);
    m_spawn_refused(k, &props, AXO_EINVAL);
    kit_finish(k);
}

static void names_malformed_or_taken(kit *k)
{
    static const char *const bad[] = {"",         "a/b", "a b", "$a", "a\n",
                                      "\xc3\xa4", "a*",  "a,b", ".",  ".."};
    static const char *const good[] = {"a", "Z9_.~+=@:-", "...", "-", "user"};
    char longest[AXO_NAME_MAX + 2];
    char path[AXO_NAME_MAX + 16];
    char expected[AXO_NAME_MAX + 16];
    axo_ref ref;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = &m_class, .name = bad[i]), AXO_ENAME);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        axo_props props = AXO_PROPS(.cls = &m_class, .name = good[i]);
        (void)m_spawn_works(k, &props);
        m_spawn_refused(k, &props, AXO_EEXIST);
    }
    memset(longest, 'x', sizeof longest);
    longest[AXO_NAME_MAX + 1] = 0;
    m_spawn_refused(k, &(axo_props)AXO_PROPS(.cls = &m_class, .name = longest), AXO_ENAME);
    longest[AXO_NAME_MAX] = 0;
    ref = m_spawn_works(k, &(axo_props)AXO_PROPS(.cls = &m_class, .name = longest));
    m_is(axo_system_path(kit_system(k), ref, path, sizeof path), AXO_OK);
    (void)snprintf(expected, sizeof expected, "/user/%s", longest);
    assert_string_equal(path, expected);
    ref = m_spawn_works(k, &(axo_props)AXO_PROPS(.cls = &m_class));
    m_is(axo_system_path(kit_system(k), ref, path, sizeof path), AXO_OK);
    assert_memory_equal(path, "/user/$", 7);
    kit_finish(k);
}

/* ---- references and messages, from outside --------------------------------------------------- */

static void refs_none_and_stale(kit *k)
{
    kit_script *gone = kit_actor(k, "gone");
    axo_system *system = kit_system(k);
    axo_ref none = axo_ref_none();
    axo_ref stale = kit_spawn(k, gone);
    axo_stats before;
    char path[32] = "before";
    axo_system_stop_actor(system, stale);
    kit_await(k, "user.child_gone(gone)");
    kit_tell(k, gone, M_TAG, 0);
    kit_await(k, "gone.dl(OTHER)");
    before = kit_stats(k);
    m_is(axo_system_send(system, none, M_TAG, NULL, 0), AXO_EINVAL);
    m_is(axo_system_send_from(system, stale, none, M_TAG, NULL, 0), AXO_EINVAL);
    m_is(axo_system_send_owned(system, none, M_TAG, path, 1, NULL, NULL), AXO_EINVAL);
    m_is(axo_system_stop_actor(system, none), AXO_EINVAL);
    m_is(axo_system_poison(system, none), AXO_EINVAL);
    m_is(axo_system_kill(system, none), AXO_EINVAL);
    assert_int_not_equal(axo_system_path(system, none, path, sizeof path), AXO_OK);
    m_is(axo_system_stop_actor(system, stale), AXO_EGONE);
    m_is(axo_system_path(system, stale, path, sizeof path), AXO_EGONE);
    m_unchanged(k, &before);
    /* These are accepted, and dead letters at once. */
    m_is(axo_system_send(system, stale, M_TAG, NULL, 0), AXO_EGONE);
    m_is(axo_system_poison(system, stale), AXO_EGONE);
    m_is(axo_system_kill(system, stale), AXO_EGONE);
    assert_int_equal(kit_stats(k).sent, before.sent + 3);
    assert_int_equal(kit_stats(k).dead, before.dead + 3);
    /* Bits that nobody was ever given. */
    m_is(axo_system_stop_actor(system, (axo_ref){UINT64_MAX}), AXO_EGONE);
    m_is(axo_system_send(system, (axo_ref){UINT64_MAX}, M_TAG, NULL, 0), AXO_EGONE);
    assert_true(axo_ref_is_none(axo_system_guardian(system, (axo_guardian)3)));
    assert_true(axo_ref_is_none(axo_system_guardian(NULL, AXO_GUARDIAN_USER)));
    kit_finish(k);
}

static uint32_t m_freed;

static void m_count_free(void *payload, void *user)
{
    m_freed++;
}

static void messages_malformed(kit *k)
{
    kit_script *a = kit_actor(k, "a");
    axo_system *system = kit_system(k);
    axo_ref ref = kit_spawn(k, a);
    axo_stats before;
    char byte = 0;
    kit_settle(k);
    before = kit_stats(k);
    m_freed = 0;
    m_is(axo_system_send(system, ref, AXO_TAG_RESERVED, NULL, 0), AXO_EINVAL);
    m_is(axo_system_send(system, ref, AXO_TERMINATED, &byte, 1), AXO_EINVAL);
    m_is(axo_system_send(system, ref, UINT32_MAX, NULL, 0), AXO_EINVAL);
    m_is(axo_system_send(system, ref, M_TAG, NULL, 1), AXO_EINVAL);
    m_is(axo_system_send(system, ref, M_TAG, &byte, AXO_PAYLOAD_MAX + 1), AXO_ETOOBIG);
    m_is(axo_system_send(system, ref, M_TAG, &byte, SIZE_MAX), AXO_ETOOBIG);
    m_is(axo_system_send_owned(system, ref, AXO_TAG_RESERVED, &byte, 1, m_count_free, NULL),
         AXO_EINVAL);
    m_is(axo_system_send(NULL, ref, M_TAG, NULL, 0), AXO_EINVAL);
    assert_int_equal(m_freed, 0);
    m_unchanged(k, &before);
    m_is(axo_system_send(system, ref, AXO_TAG_RESERVED - 1, NULL, 0), AXO_OK);
    kit_await(k, "a.unhandled(0xfffeffff)");
    kit_finish(k);
}

/* ---- inside an actor ------------------------------------------------------------------------- */

static axo_status m_inside(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    static axo_class cls = AXO_CLASS(.receive = m_receive);
    axo_ref none = axo_ref_none();
    axo_ref out = {.bits = 1};
    axo_message orphan = {.tag = M_TAG};
    axo_props props = AXO_PROPS(.cls = &cls, .name = "taken");
    axo_draft *draft = NULL;
    void *payload = NULL;
    char byte = 0;
    char path[32];
    M_IS(self, axo_send(ctx, none, M_TAG, NULL, 0), AXO_EINVAL);
    M_IS(self, axo_send(ctx, self->ref, AXO_TAG_RESERVED, NULL, 0), AXO_EINVAL);
    M_IS(self, axo_send(ctx, self->ref, M_TAG, NULL, 1), AXO_EINVAL);
    M_IS(self, axo_send(ctx, self->ref, M_TAG, &byte, AXO_PAYLOAD_MAX + 1), AXO_ETOOBIG);
    M_IS(self, axo_send_from(ctx, self->ref, none, M_TAG, NULL, 0), AXO_EINVAL);
    M_IS(self, axo_send_owned(ctx, none, M_TAG, &byte, 1, NULL, NULL), AXO_EINVAL);
    M_IS(self, axo_send_after(ctx, -1, self->ref, M_TAG, NULL, 0), AXO_EINVAL);
    M_IS(self, axo_send_after(ctx, 1, none, M_TAG, NULL, 0), AXO_EINVAL);
    M_IS(self, axo_reply(ctx, &orphan, M_TAG, NULL, 0), AXO_EINVAL);
    M_IS(self, axo_message_new(ctx, AXO_TAG_RESERVED, 1, &draft, &payload), AXO_EINVAL);
    M_IS(self, axo_message_new(ctx, M_TAG, AXO_PAYLOAD_MAX + 1, &draft, &payload), AXO_ETOOBIG);
    M_IS(self, axo_send_message(ctx, self->ref, NULL), AXO_EINVAL);
    M_IS(self, axo_message_new(ctx, M_TAG, 8, &draft, &payload), AXO_OK);
    M_IS(self, axo_send_message(ctx, none, draft), AXO_EINVAL);
    axo_message_discard(ctx, draft);
    M_IS(self, axo_stop(ctx, none), AXO_EINVAL);
    M_IS(self, axo_poison(ctx, none), AXO_EINVAL);
    M_IS(self, axo_kill(ctx, none), AXO_EINVAL);
    M_IS(self, axo_watch(ctx, none), AXO_EINVAL);
    M_IS(self, axo_unwatch(ctx, none), AXO_EINVAL);
    M_IS(self, axo_unwatch(ctx, axo_parent(ctx)), AXO_OK);
    M_IS(self, axo_become(ctx, NULL), AXO_EINVAL);
    M_IS(self, axo_defer(ctx, NULL, NULL), AXO_EINVAL);
    M_IS(self, axo_termination_hook(ctx), AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_path(ctx, none, path, sizeof path) != AXO_OK);
    M_IS(self, axo_path(ctx, self->ref, NULL, 8), AXO_EINVAL);
    M_IS(self, axo_spawn(ctx, NULL, &out), AXO_EINVAL);
    M_IS(self, axo_spawn(ctx, &props, NULL), AXO_EINVAL);
    KIT_REQUIRE(self->k, axo_alloc(ctx, 0) == NULL);
    KIT_REQUIRE(self->k, axo_ref_is_none(axo_child(ctx, "nobody")));
    KIT_REQUIRE(self->k, axo_child_count(ctx) == 0);
    M_IS(self, axo_spawn(ctx, &props, &out), AXO_OK);
    out.bits = 1;
    M_IS(self, axo_spawn(ctx, &props, &out), AXO_EEXIST);
    KIT_REQUIRE(self->k, axo_ref_is_none(out));
    props.name = "not a name";
    out.bits = 1;
    M_IS(self, axo_spawn(ctx, &props, &out), AXO_ENAME);
    KIT_REQUIRE(self->k, axo_ref_is_none(out));
    KIT_REQUIRE(self->k, axo_child_count(ctx) == 1);
    /* A worker must not wait for itself. */
    M_IS(self, axo_system_stop(axo_system_of(ctx), -1, NULL, 0, NULL), AXO_ECONTEXT);
    M_IS(self, axo_system_wait(axo_system_of(ctx), -1, NULL), AXO_ECONTEXT);
    M_IS(self, axo_system_destroy(axo_system_of(ctx)), AXO_ECONTEXT);
    return AXO_OK;
}

static void inside_an_actor(kit *k)
{
    kit_family f = kit_tree(k, "a");
    axo_stats before;
    kit_settle(k);
    before = kit_stats(k);
    m_call(k, f.a, m_inside, NULL);
    assert_int_equal(kit_stats(k).sent, before.sent + 1); /* the call */
    assert_int_equal(kit_stats(k).dead, before.dead);
    assert_int_equal(kit_stats(k).spawned, before.spawned + 1);
    assert_int_equal(kit_stats(k).failures, 0);
    kit_expect(k, "a.stash=0", "a.fail=0");
}

/* ---- contexts -------------------------------------------------------------------------------- */

static axo_status m_keep(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    *(axo_ctx **)arg = ctx;
    return AXO_OK;
}

/* Everything that takes a context, with one that is not the running callback's: how many of them
 * did not refuse it. */
static int m_context_failures(axo_ctx *bad, axo_ref to)
{
    axo_props props = AXO_PROPS(.cls = &m_class);
    axo_message message = {.tag = M_TAG, .sender = to};
    axo_draft *draft = NULL;
    void *payload = NULL;
    axo_ref out = {.bits = 1};
    axo_ref children[1];
    char path[16];
    int wrong = 0;
    wrong += !axo_ref_is_none(axo_self(bad));
    wrong += !axo_ref_is_none(axo_parent(bad));
    wrong += !axo_ref_is_none(axo_sender(bad));
    wrong += axo_system_of(bad) != NULL;
    wrong += axo_child_count(bad) != 0;
    wrong += axo_children(bad, children, 1) != 0;
    wrong += !axo_ref_is_none(axo_child(bad, "a"));
    wrong += axo_path(bad, to, path, sizeof path) != AXO_ECONTEXT;
    wrong += axo_spawn(bad, &props, &out) != AXO_ECONTEXT;
    wrong += !axo_ref_is_none(out);
    wrong += axo_stop(bad, to) != AXO_ECONTEXT;
    wrong += axo_stop_self(bad) != AXO_ECONTEXT;
    wrong += axo_poison(bad, to) != AXO_ECONTEXT;
    wrong += axo_kill(bad, to) != AXO_ECONTEXT;
    wrong += axo_send(bad, to, M_TAG, NULL, 0) != AXO_ECONTEXT;
    wrong += axo_send_from(bad, to, to, M_TAG, NULL, 0) != AXO_ECONTEXT;
    wrong += axo_reply(bad, &message, M_TAG, NULL, 0) != AXO_ECONTEXT;
    wrong += axo_reply(bad, NULL, M_TAG, NULL, 0) != AXO_ECONTEXT;
    wrong += axo_send_owned(bad, to, M_TAG, path, 1, m_count_free, NULL) != AXO_ECONTEXT;
    wrong += axo_message_new(bad, M_TAG, 1, &draft, &payload) != AXO_ECONTEXT;
    wrong += axo_send_after(bad, 0, to, M_TAG, NULL, 0) != AXO_ECONTEXT;
    wrong += axo_fail(bad, 1, "x") != AXO_ECONTEXT;
    wrong += axo_fail_fatal(bad, 1, "x") != AXO_ECONTEXT;
    wrong += axo_fail_as(bad, AXO_FAILURE_CRASH, 1, "x") != AXO_ECONTEXT;
    wrong += axo_alloc(bad, 8) != NULL;
    wrong += axo_defer(bad, free, NULL) != AXO_ECONTEXT;
    wrong += axo_become(bad, m_receive) != AXO_ECONTEXT;
    wrong += axo_unbecome(bad) != AXO_ECONTEXT;
    wrong += axo_watch(bad, to) != AXO_ECONTEXT;
    wrong += axo_unwatch(bad, to) != AXO_ECONTEXT;
    wrong += axo_termination_hook(bad) != AXO_ECONTEXT;
    wrong += axo_termination_hook_done(bad) != AXO_ECONTEXT;
    wrong += axo_default_pre_restart(bad, NULL, NULL, NULL) != AXO_ECONTEXT;
    wrong += axo_default_post_restart(bad, NULL, NULL) != AXO_ECONTEXT;
    return wrong;
}

typedef struct m_kept {
    axo_ctx *ctx;
    axo_ref owner;
} m_kept;

static axo_status m_use_of_another(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const m_kept *kept = arg;
    KIT_REQUIRE(self->k, m_context_failures(NULL, kept->owner) == 0);
    if (kept->ctx != ctx)
        KIT_REQUIRE(self->k, m_context_failures(kept->ctx, kept->owner) == 0);
    return AXO_OK;
}

static void contexts_kept_and_null(kit *k)
{
    kit_family f = kit_tree(k, "a, b");
    m_kept *kept = kit_alloc(k, sizeof *kept);
    axo_stats before;
    m_call(k, f.a, m_keep, &kept->ctx);
    kept->owner = kit_ref(f.a);
    kit_settle(k);
    before = kit_stats(k);
    m_freed = 0;
    assert_int_equal(m_context_failures(NULL, kept->owner), 0);
    assert_int_equal(m_context_failures(kept->ctx, kept->owner), 0);
    m_unchanged(k, &before);
    m_call(k, f.b, m_use_of_another, kept);
    assert_int_equal(kit_stats(k).sent, before.sent + 1); /* the call */
    assert_int_equal(kit_stats(k).spawned, before.spawned);
    assert_int_equal(m_freed, 0);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_await(k, "a.note(1)");
    kit_expect(k, "a.stash=0", "b.stash=0");
    kit_finish(k);
}

/* ---- systems --------------------------------------------------------------------------------- */

static void systems_misused(void **state)
{
    kit *k = kit_start(state, NULL);
    axo_system *system = kit_system(k);
    axo_stats stats = AXO_STATS(.sent = 77);
    axo_props props = AXO_PROPS(.cls = &m_class);
    axo_ref ref;
    axo_ref ref_late;
    stats.size = 0;
    m_is(axo_system_stats(system, &stats), AXO_EINVAL);
    assert_int_equal(stats.sent, 77);
    m_is(axo_system_stats(system, NULL), AXO_EINVAL);
    /* A shorter struct is filled as far as it goes. */
    stats = (axo_stats)AXO_STATS(.handled = 77, .actors = 78);
    stats.size = offsetof(axo_stats, handled);
    m_is(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(stats.handled, 77);
    assert_int_equal(stats.actors, 78);
    m_is(axo_system_destroy(system), AXO_ESTOPPING);
    m_is(axo_system_wait(system, 0, NULL), AXO_ETIMEDOUT);
    m_is(axo_system_stop(NULL, 0, NULL, 0, NULL), AXO_EINVAL);
    m_is(axo_system_shutdown(NULL), AXO_EINVAL);
    m_is(axo_system_wait(NULL, 0, NULL), AXO_EINVAL);
    m_is(axo_system_destroy(NULL), AXO_EINVAL);
    ref = m_spawn_works(k, &props);
    m_is(axo_system_shutdown(system), AXO_OK);
    m_is(axo_system_shutdown(system), AXO_OK);
    ref_late.bits = 1;
    m_is(axo_system_spawn(system, &props, &ref_late), AXO_ESTOPPING);
    assert_true(axo_ref_is_none(ref_late));
    m_is(axo_system_stop(system, INT64_C(20000000000), NULL, 0, NULL), AXO_OK);
    m_is(axo_system_stop(system, 0, NULL, 0, NULL), AXO_OK);
    m_is(axo_system_wait(system, 0, NULL), AXO_OK);
    m_spawn_refused(k, &props, AXO_ESTOPPING);
    m_is(axo_system_send(system, ref, M_TAG, NULL, 0), AXO_EGONE);
    m_is(axo_system_stop_actor(system, ref), AXO_EGONE);
    kit_finish_now(k);
}

/* A spawn after a shutdown is refused whatever /user is at: many ends, each caught elsewhere. */
static void spawns_after_shutdown(void **state)
{
    axo_props props = AXO_PROPS(.cls = &m_class);
    axo_options options = AXO_OPTIONS(.workers = 2);
    for (uint32_t i = 0; i < 400; i++) {
        axo_system *system = NULL;
        axo_ref ref;
        assert_int_equal(axo_system_start(&options, &system), AXO_OK);
        for (uint32_t j = i % 8; j > 0; j--)
            m_is(axo_system_spawn(system, &props, &ref), AXO_OK);
        m_is(axo_system_shutdown(system), AXO_OK);
        for (uint32_t j = 0; j < 32; j++)
            m_is(axo_system_spawn(system, &props, &ref), AXO_ESTOPPING);
        m_is(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
        m_is(axo_system_destroy(system), AXO_OK);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(statuses_have_texts),
    cmocka_unit_test(options_of_other_sizes),
    cmocka_unit_test(options_out_of_bounds),
    KIT_TEST_ONE("props of other sizes", props_of_other_sizes, 2, "workers"),
    KIT_TEST_ONE("classes of other sizes", classes_of_other_sizes, 2, "workers"),
    KIT_TEST_ONE("strategies of other sizes", strategies_of_other_sizes, 2, "workers"),
    KIT_TEST_ONE("props out of bounds", props_out_of_bounds, 2, "workers"),
    KIT_TEST_ONE("names malformed or taken", names_malformed_or_taken, 2, "workers"),
    KIT_TEST_ONE("refs none and stale", refs_none_and_stale, 2, "workers"),
    KIT_TEST_ONE("messages malformed", messages_malformed, 2, "workers"),
    KIT_TEST("inside an actor", inside_an_actor),
    KIT_TEST("contexts kept and null", contexts_kept_and_null),
    KIT_TEST("systems misused", systems_misused),
    cmocka_unit_test(spawns_after_shutdown),
};

TEST_MAIN(tests)
