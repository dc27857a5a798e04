/* hpp_count.cpp - the loop of bench/w1_pingpong.c, by the functions of C and by axo.hpp:
 *
 *   hpp_count c|cpp MESSAGES
 *
 * on one worker. hpp_count_test.sh counts the instructions. */
#include <axo/axo.hpp>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::uint64_t over;

void end(axo_ctx *ctx)
{
    over++;
    (void)axo_system_shutdown(axo_system_of(ctx));
}

/* ---- in C ---------------------------------------------------------------------------------- */

enum : std::uint32_t { GO = 1, BALL = 2 };

struct c_ping {
    axo_ref pong;
    std::uint64_t rounds;
};

axo_status c_ping_construct(axo_ctx *, void *state, const void *args)
{
    std::memcpy(state, args, sizeof(c_ping));
    return AXO_OK;
}

axo_status c_ping_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    c_ping *me = static_cast<c_ping *>(state);
    if (message->tag == BALL && --me->rounds == 0) {
        end(ctx);
        return AXO_OK;
    }
    (void)axo_send(ctx, me->pong, BALL, &me->rounds, sizeof me->rounds);
    return AXO_OK;
}

axo_status c_pong_receive(axo_ctx *ctx, void *, const axo_message *message)
{
    (void)axo_reply(ctx, message, BALL, message->payload, message->size);
    return AXO_OK;
}

void in_c(axo_system *system, std::uint64_t rounds)
{
    static axo_class ping_class;
    static axo_class pong_class;
    axo_class_init(&ping_class);
    axo_class_init(&pong_class);
    ping_class.state_size = sizeof(c_ping);
    ping_class.construct = c_ping_construct;
    ping_class.receive = c_ping_receive;
    pong_class.receive = c_pong_receive;
    axo_props props;
    axo_props_init(&props);
    props.cls = &pong_class;
    c_ping recipe = {axo_ref_none(), rounds};
    axo_ref ping = axo_ref_none();
    if (axo_system_spawn(system, &props, &recipe.pong) != AXO_OK)
        std::abort();
    props.cls = &ping_class;
    props.args = &recipe;
    props.args_size = sizeof recipe;
    if (axo_system_spawn(system, &props, &ping) != AXO_OK ||
        axo_system_send(system, ping, GO, nullptr, 0) != AXO_OK)
        std::abort();
}

/* ---- in C++ -------------------------------------------------------------------------------- */

struct go {
    static constexpr std::uint32_t tag = GO;
};
struct ball {
    static constexpr std::uint32_t tag = BALL;
    std::uint64_t rounds;
};

struct pong {
    using messages = axo::messages<ball>;
    void on(axo::context ctx, const ball &it) { ctx.reply(it); }
};

class ping {
  public:
    using messages = axo::messages<ball, go>;
    ping(axo::ref<pong> to, std::uint64_t rounds) : pong_(to), next_{rounds} {}
    void on(axo::context ctx, go) { ctx.send(pong_, next_); }
    void on(axo::context ctx, const ball &)
    {
        if (--next_.rounds == 0)
            end(ctx.raw());
        else
            ctx.send(pong_, next_);
    }

  private:
    axo::ref<pong> pong_;
    ball next_;
};

void in_cpp(const axo::system &system, std::uint64_t rounds)
{
    const axo::ref<pong> to = system.spawn<pong>(nullptr);
    system.send(system.spawn<ping>(nullptr, to, rounds), go{});
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const std::uint64_t rounds = std::strtoull(argv[2], nullptr, 10) / 2;
    axo_options options;
    axo_options_init(&options);
    options.workers = 1;
    const axo::system system(options);
    if (std::strcmp(argv[1], "c") == 0)
        in_c(system.raw(), rounds);
    else
        in_cpp(system, rounds);
    system.wait();
    std::printf("%" PRIu64 " handled\n", system.stats().handled);
    return over == 1 && system.stats().handled == 2 * rounds + 1 ? 0 : 1;
}
