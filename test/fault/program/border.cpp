/* border.cpp - a function of the program that does not come back: it throws, or ends its thread.
 *
 *   border WHERE HOW [DISPATCHER]
 *
 * WHERE names the function, HOW is throw, exit (pthread_exit) or catch (it throws and catches by
 * itself, which is nobody's business), DISPATCHER is default, pinned, blocking or host. Above each
 * call of the library an engine catches whatever comes: then it says "crossed", which nobody may
 * see. What the process says and how it ends is looked at by border_test.sh. */
#include <axo/axo.h>

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace {

const char *where;
const char *how;
std::atomic<bool> armed;
// The place is the main thread's: a worker that comes to one of the same name goes on.
bool outside_only;
pthread_t outsider;
axo_ref nobody;

struct witness {
    ~witness() { std::puts("unwound"); }
};

void away()
{
    if (std::strcmp(how, "exit") == 0)
        pthread_exit(nullptr);
    throw std::runtime_error("what was thrown");
}

// Not reached by the border's routine: found in the search, below it.
void here(const char *name)
{
    if (outside_only && pthread_equal(pthread_self(), outsider) == 0)
        return;
    if (std::strcmp(where, name) != 0 || !armed.exchange(false))
        return;
    if (std::strcmp(how, "catch") != 0)
        away();
    try {
        witness w;
        away();
    } catch (const std::exception &error) {
        std::printf("caught %s\n", error.what());
    }
}

axo_status construct(axo_ctx *, void *, const void *) { here("construct"); return AXO_OK; }
axo_status pre_start(axo_ctx *, void *) { here("pre_start"); return AXO_OK; }
axo_status post_stop(axo_ctx *, void *) { here("post_stop"); here("default"); return AXO_OK; }
axo_status at_end(axo_ctx *, void *) { here("settle"); return AXO_OK; }
void undo(void *) { here("defer"); }
void blocks(void *) { here("block"); }
void destroy(void *, void *) { here("destroy"); }
axo_status task(void *) { here("task"); return AXO_OK; }
const char *tag_name(uint32_t) { here("tag_name"); return "seven"; }
uint32_t priority(const axo_message *, void *) { here("priority"); return 1; }
int64_t ticks(void *) { here("clock"); static int64_t now; return ++now; }
void letter(void *, const axo_dead_letter *) { here("dead_letter"); }
void trace(void *, const axo_event *) { here("trace"); }
void unhandled(void *, const axo_unhandled *) { here("unhandled"); }
void line(void *, axo_log_level, axo_ref, const char *) { here("log"); }
void record(void *, const axo_log_record *) { here("log_record"); }
void ending(axo_system *, void *) { here("termination"); }
void *take(void *, size_t size, size_t align)
{
    void *block = nullptr;
    here("alloc");
    return posix_memalign(&block, align < sizeof block ? sizeof block : align, size) == 0
               ? block : nullptr;
}
void give(void *, void *block, size_t, size_t) { here("free"); std::free(block); }

axo_status pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                       const axo_message *message)
{
    here("pre_restart");
    // who catches around the library's default hook is above the library
    try {
        return axo_default_pre_restart(ctx, state, failure, message);
    } catch (const std::exception &) {
        std::puts("crossed");
        return AXO_OK;
    }
}

axo_status post_restart(axo_ctx *, void *, const axo_failure *)
{
    here("post_restart");
    return AXO_OK;
}

axo_status child_receive(axo_ctx *ctx, void *, const axo_message *)
{
    return axo_fail(ctx, 1, "as asked");
}

axo_directive decide(axo_ctx *, void *, const axo_failure *, void *)
{
    here("decider");
    return AXO_RESTART;
}

bool is(const char *name) { return std::strcmp(where, name) == 0; }

axo_status tell_child(axo_ctx *ctx)
{
    static axo_class cls;
    axo_props props;
    axo_ref child;
    cls.size = sizeof cls;
    cls.receive = child_receive;
    std::memset(&props, 0, sizeof props);
    props.size = sizeof props;
    props.cls = &cls;
    axo_status status = axo_spawn(ctx, &props, &child);
    return status == AXO_OK ? axo_send(ctx, child, 1, nullptr, 0) : status;
}

axo_status receive(axo_ctx *ctx, void *, const axo_message *message)
{
    static int big[100000];
    if (message->tag != 7)
        return AXO_OK;
    here("receive");
    if (is("block"))
        return axo_block(ctx, blocks, nullptr);
    if (is("defer") && axo_defer(ctx, undo, nullptr) != AXO_OK)
        return AXO_ENOMEM;
    if (is("defer") || is("post_stop"))
        return axo_stop_self(ctx);
    if (is("dead_letter") || is("log") || is("log_record"))
        return axo_send(ctx, nobody, 1, nullptr, 0) == AXO_EGONE ? AXO_OK : AXO_EINVAL;
    if (is("settle"))
        return axo_want_settle(ctx);
    if (is("unhandled"))
        return AXO_UNHANDLED;
    if (is("alloc"))
        return axo_send(ctx, axo_self(ctx), 1, big, sizeof big);
    if (is("decider"))
        return tell_child(ctx);
    if (is("pre_restart") || is("post_restart") || is("default"))
        return axo_fail(ctx, 1, "now");
    return AXO_OK;
}

axo_class made()
{
    axo_class cls;
    std::memset(&cls, 0, sizeof cls);
    cls.size = sizeof cls;
    cls.name = "thrower";
    cls.construct = construct;
    cls.pre_start = pre_start;
    cls.receive = receive;
    cls.post_stop = post_stop;
    cls.pre_restart = pre_restart;
    cls.post_restart = post_restart;
    cls.tag_name = tag_name;
    cls.settle = at_end;
    return cls;
}

void settle(axo_system *system)
{
    for (int i = 0; i < 200; i++) {
        timespec pause = {0, 1000000};
        (void)axo_run_host(system, 1000000, nullptr);
        (void)nanosleep(&pause, nullptr);
        if (!armed && i > 20)
            return;
    }
}

void outside(axo_system *system, axo_ref ref)
{
    static char byte;
    axo_asked asked;
    char text[32];
    if (is("outside_destroy")) {
        where = "destroy";
        (void)axo_system_send_owned(system, nobody, 7, &byte, 1, destroy, nullptr);
    } else if (is("outside_letter")) {
        where = "dead_letter";
        (void)axo_system_send(system, nobody, 7, nullptr, 0);
    } else if (is("outside_alloc")) {
        where = "alloc";
        (void)axo_system_alloc(system, 100);
    } else if (is("outside_log") || is("outside_log_record")) {
        where += std::strlen("outside_");
        (void)axo_system_send(system, nobody, 7, nullptr, 0);
    } else if (is("outside_trace")) {
        where = "trace";
        (void)axo_system_send(system, nobody, 7, nullptr, 0);
    } else if (is("tag_name")) {
        (void)axo_system_tag_name(system, ref, 7, text, sizeof text);
    } else if (is("clock")) {
        (void)axo_system_now(system);
    } else if (is("asked")) {
        std::memset(&asked, 0, sizeof asked);
        asked.owned.payload = &byte;
        asked.owned.destroy = destroy;
        where = "destroy";
        axo_asked_free(system, &asked);
    }
}

void phases(axo_system *system)
{
    axo_phases *plan;
    axo_phase phase;
    axo_task one;
    std::memset(&phase, 0, sizeof phase);
    phase.size = sizeof phase;
    phase.name = "first";
    std::memset(&one, 0, sizeof one);
    one.size = sizeof one;
    one.name = "it";
    one.phase = "first";
    one.kind = AXO_TASK_CALL;
    one.call = task;
    if (axo_phases_new(system, &plan) != AXO_OK || axo_phases_add(plan, &phase) != AXO_OK ||
        axo_phases_task(plan, &one, nullptr) != AXO_OK)
        std::exit(3);
    (void)axo_phases_run(plan, nullptr);
    (void)axo_phases_free(plan);
}

void run(uint32_t dispatcher)
{
    axo_class cls = made();
    axo_options options;
    axo_props props;
    axo_strategy strategy;
    axo_mailbox mailbox;
    axo_system *system;
    axo_ref ref;
    static char byte;
    std::memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.workers = 2;
    options.manual = is("clock") ? 1 : 0;
    options.clock = is("clock") ? ticks : nullptr;
    options.allocator.alloc = take;
    options.allocator.free = give;
    options.on_dead_letter = letter;
    options.on_unhandled = unhandled;
    options.trace = is("trace") || is("outside_trace") ? trace : nullptr;
    options.log = line;
    options.log_record = record;
    std::memset(&strategy, 0, sizeof strategy);
    strategy.size = sizeof strategy;
    strategy.decider = decide;
    std::memset(&mailbox, 0, sizeof mailbox);
    mailbox.size = sizeof mailbox;
    mailbox.kind = AXO_MAILBOX_PRIORITY;
    mailbox.priority = priority;
    std::memset(&props, 0, sizeof props);
    props.size = sizeof props;
    props.cls = &cls;
    props.dispatcher = dispatcher;
    props.strategy = &strategy;
    props.mailbox = is("priority") ? &mailbox : nullptr;
    if (axo_system_start(&options, &system) != AXO_OK ||
        axo_system_on_termination(system, ending, nullptr) != AXO_OK ||
        axo_system_spawn(system, &props, &nobody) != AXO_OK ||
        axo_system_stop_actor(system, nobody) != AXO_OK)
        std::exit(3);
    while (axo_system_stop_actor(system, nobody) != AXO_EGONE)
        (void)axo_run_host(system, 1000000, nullptr);
    armed = !is("termination");
    props.name = "it";
    bool plain = std::strncmp(where, "outside", 7) == 0 || is("asked");
    axo_payload_free undone = plain ? nullptr : destroy;
    if (axo_system_spawn(system, &props, &ref) != AXO_OK ||
        axo_system_send_owned(system, ref, 7, &byte, 1, undone, nullptr) != AXO_OK)
        std::exit(3);
    if (is("task"))
        phases(system);
    outside(system, ref);
    settle(system);
    armed = armed || is("termination") || is("free");
    (void)axo_system_stop(system, -1, nullptr, 0, nullptr);
    (void)axo_system_destroy(system);
}

} // namespace

int main(int argc, char **argv)
{
    static const char *const names[] = {"default", "pinned", "blocking", "host"};
    uint32_t dispatcher = AXO_DISPATCH_DEFAULT;
    where = argv[1];
    how = argv[2];
    outside_only = std::strncmp(where, "outside", 7) == 0;
    outsider = pthread_self();
    for (uint32_t i = 0; i < 4 && argc > 3; i++)
        dispatcher = std::strcmp(argv[3], names[i]) == 0 ? i : dispatcher;
    alarm(30);
    setvbuf(stdout, nullptr, _IONBF, 0);
    try {
        run(dispatcher);
    } catch (const std::exception &error) {
        std::puts("crossed");
        return 4;
    }
    std::puts(armed ? "never called" : "came to its end");
    return armed ? 5 : 0;
}
