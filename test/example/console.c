/* console.c - a shop with a console: http://127.0.0.1:9465/ shows its tree, live, and which actor
 * is restarted again and again. Under systemd, with Type=notify and WatchdogSec=, it is watched.
 *
 *   ./console [address], "127.0.0.1:9465" or "unix:/tmp/console" for instance; SIGTERM ends it. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include <axo/axo.h>
#include <axo/console.h>

enum { SELL = 1, OPEN = 2 };

static const char *shop_tag_name(uint32_t tag)
{
    return tag == SELL ? "sell" : tag == OPEN ? "open" : NULL;
}

/* Sells one thing every 20 ms; what "till" sells is never there. */
static axo_status till_start(axo_ctx *ctx, void *state)
{
    (void)state;
    return axo_timer_start(ctx, 1, AXO_TIMER_FIXED_DELAY, 20000000, 20000000, SELL, NULL, 0);
}

static axo_status till_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)message;
    return axo_child_count(ctx) == 0 ? axo_fail(ctx, 1, "sold out") : AXO_OK;
}

static const axo_class till = AXO_CLASS(.name = "till", .pre_start = till_start,
                                        .receive = till_receive, .tag_name = shop_tag_name);

static axo_status shop_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    return message->tag == SELL ? AXO_OK : AXO_UNHANDLED;
}

static axo_status shop_start(axo_ctx *ctx, void *state)
{
    static const axo_class shelf = AXO_CLASS(.name = "shelf \"A\"", .receive = shop_receive);
    static const axo_props stays = AXO_PROPS(.cls = &shelf, .name = "shelf");
    static const axo_props fails = AXO_PROPS(.cls = &till, .name = "till");
    axo_ref ref;
    (void)state;
    axo_status status = axo_spawn(ctx, &stays, &ref);
    return status == AXO_OK ? axo_spawn(ctx, &fails, &ref) : status;
}

int main(int argc, char **argv)
{
    static const axo_class cls = AXO_CLASS(.name = "shop", .pre_start = shop_start,
                                           .receive = shop_receive, .tag_name = shop_tag_name);
    static const axo_props shop = AXO_PROPS(.cls = &cls, .name = "shop");
    axo_console settings = AXO_CONSOLE(.address = argc > 1 ? argv[1] : NULL);
    axo_options options = AXO_OPTIONS(.name = "shop", .figures = AXO_FIGURES_TIMES);
    axo_system *system;
    axo_ref ref;
    sigset_t ends;
    int which;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL); /* of all threads to come */
    if (axo_system_start(&options, &system) != AXO_OK ||
        axo_system_spawn(system, &shop, &ref) != AXO_OK ||
        axo_console_start(system, &settings, &ref) != AXO_OK)
        return 1;
    axo_status status = axo_notify_systemd(system, NULL);
    if (status != AXO_OK && status != AXO_ENOENT) /* not started by systemd */
        return 1;
    (void)sigwait(&ends, &which);
    (void)axo_system_stop(system, -1, NULL, 0, NULL);
    return axo_system_destroy(system) != AXO_OK;
}
