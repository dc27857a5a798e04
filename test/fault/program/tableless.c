/* tableless.c - a handler that ends its thread behind a frame without unwind tables, as code that
 * was made at run time has none: compiled so by border_test.sh, which looks at what it says.
 *
 *   tableless DISPATCHER [block]      DISPATCHER: an axo_dispatcher, as a number */
#include <axo/axo.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int blocks;

static void ends(void *arg)
{
    (void)arg;
    pthread_exit(NULL);
}

static axo_status receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)message;
    if (blocks)
        return axo_block(ctx, ends, NULL);
    ends(NULL);
    return AXO_OK;
}

int main(int argc, char **argv)
{
    static const axo_class cls = AXO_CLASS(.name = "ender", .receive = receive);
    axo_options options = AXO_OPTIONS(.workers = 2);
    axo_props props = AXO_PROPS(.cls = &cls, .name = "it",
                                .dispatcher = argc > 1 ? (uint32_t)atoi(argv[1]) : 0);
    axo_system *system;
    axo_ref ref;
    blocks = argc > 2;
    (void)alarm(20);
    if (axo_system_start(&options, &system) != AXO_OK ||
        axo_system_spawn(system, &props, &ref) != AXO_OK ||
        axo_system_send(system, ref, 7, NULL, 0) != AXO_OK)
        return 3;
    for (int i = 0; i < 20; i++) {
        (void)axo_run_host(system, 1000000, NULL);
        (void)usleep(10000);
    }
    return axo_system_stop(system, 1000000000, NULL, 0, NULL) == AXO_OK ? 0 : 4;
}
