/* kind_test.c - axo_options.kind_allocator: each kind of memory is told of, a block goes back as it
 * came, half a hook and two are refused; and what of a system is not of the hook. */
#include <malloc.h>
#include <unistd.h>

#include "kind_world.h"

enum { WATCH = 1, LATER };

static uint32_t by_tag(const axo_message *message, void *user)
{
    (void)user;
    return message->tag;
}

static axo_status member_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag != WATCH)
        return AXO_OK;
    axo_status status = axo_io_watch(ctx, *AXO_PAYLOAD(message, int), AXO_IO_IN, 0);
    if (status == AXO_OK)
        status = axo_subscribe(ctx, axo_self(ctx), AXO_KIND_LIFECYCLE);
    for (int64_t i = 0; status == AXO_OK && i < 100; i++)
        status = axo_send_after(ctx, i * 1000, axo_self(ctx), LATER, NULL, 0);
    return status;
}

/* What actors do, in a system that has all that takes memory. */
static void use(axo_system *system, int fd)
{
    static const axo_class cls = AXO_CLASS(.name = "member", .state_size = 5000,
                                           .receive = member_receive);
    axo_mailbox mailbox = AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = by_tag);
    axo_props props = AXO_PROPS(.cls = &cls, .name = "member", .mailbox = &mailbox);
    char large[10000] = "";
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_register(system, "key", ref), AXO_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(axo_system_send(system, ref, LATER, large, sizeof large), AXO_OK);
    assert_int_equal(axo_system_send(system, ref, WATCH, &fd, sizeof fd), AXO_OK);
    void *block = axo_system_alloc(system, 1000);
    assert_non_null(block);
    for (int i = 0; i < 100; i++)
        (void)axo_run_host(system, -1, NULL);
    assert_int_equal(axo_system_fail(system, ref, AXO_FAILURE_ORDINARY, 1), AXO_OK);
    (void)axo_run_host(system, -1, NULL);
    assert_int_equal(axo_system_trim(system, 0, NULL), AXO_OK);
    axo_system_free(system, block, 1000);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
}

static axo_options all_of_it(kind_account *account)
{
    return (axo_options)AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .figures = AXO_FIGURES_TIMES,
                                    .walls = AXO_WALL_CANARY, .kind_allocator = kind_hook(account));
}

static void each_kind_is_told_of(void **state)
{
    static kind_account account;
    axo_options options = all_of_it(&account);
    axo_system *system;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    use(system, ends[0]);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    for (uint32_t kind = 0; kind < AXO_MEMORY_KINDS; kind++) {
        if (account.calls[kind] == 0)
            fail_msg("nothing is of kind %u", kind);
    }
    kind_empty(&account);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* The blocks are mmap's here, so what malloc gives meanwhile is nobody's of the hook: in a system
 * without threads there is none of that. */
static void nothing_else_is_taken(void **state)
{
    static kind_account account;
    axo_system *system;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    account.maps = true;
    axo_options options = all_of_it(&account);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(mallinfo2().uordblks + mallinfo2().hblkhd, before);
    use(system, ends[0]);
    assert_int_equal(mallinfo2().uordblks + mallinfo2().hblkhd, before);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    kind_empty(&account);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void *plain_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    void *block = NULL;
    return posix_memalign(&block, align < 16 ? 16 : align, size) == 0 ? block : NULL;
}

static void plain_free(void *user, void *block, size_t size, size_t align)
{
    (void)user, (void)size, (void)align;
    free(block);
}

static void refused(const axo_options *options)
{
    axo_system *system = (axo_system *)(uintptr_t)1;
    axo_testkit *kit = (axo_testkit *)(uintptr_t)1;
    assert_int_equal(axo_system_start(options, &system), AXO_EINVAL);
    assert_null(system);
    assert_int_equal(axo_testkit_start(options, &kit), AXO_EINVAL);
    assert_null(kit);
}

static void half_a_hook_and_two_are_refused(void **state)
{
    static kind_account account;
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    options.kind_allocator = kind_hook(&account);
    options.kind_allocator.alloc = NULL;
    refused(&options);
    options.kind_allocator = kind_hook(&account);
    options.kind_allocator.free = NULL;
    refused(&options);
    options.kind_allocator = (axo_kind_allocator){.user = &account};
    refused(&options);
    options.kind_allocator = kind_hook(&account);
    options.allocator = (axo_allocator){.alloc = plain_alloc, .free = plain_free};
    refused(&options);
    for (uint32_t kind = 0; kind < AXO_MEMORY_KINDS; kind++)
        assert_int_equal(account.calls[kind], 0);
}

/* A caller of before the member has its own allocator. */
static void shorter_options_have_the_plain_one(void **state)
{
    static kind_account account;
    axo_system *system;
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    options.allocator = (axo_allocator){.alloc = plain_alloc, .free = plain_free};
    options.kind_allocator = kind_hook(&account);
    options.size = offsetof(axo_options, kind_allocator);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(account.calls[AXO_MEMORY_SYSTEM], 0);
}

static void a_kit_passes_the_kind_on(void **state)
{
    static kind_account account;
    axo_options options = AXO_OPTIONS(.kind_allocator = kind_hook(&account));
    axo_testkit *kit;
    assert_int_equal(axo_testkit_start(&options, &kit), AXO_OK);
    assert_true(account.held[AXO_MEMORY_CELLS] > 0 && account.held[AXO_MEMORY_NAMES] > 0);
    axo_testkit_stop(kit);
    kind_empty(&account);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_kind_is_told_of),
    cmocka_unit_test(nothing_else_is_taken),
    cmocka_unit_test(half_a_hook_and_two_are_refused),
    cmocka_unit_test(shorter_options_have_the_plain_one),
    cmocka_unit_test(a_kit_passes_the_kind_on),
};
TEST_MAIN(tests)
