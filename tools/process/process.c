/* process.c - the functions of axo/process.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "confine.h"
#include "host.h"
#include "pattern/given.h"
#include "zygote.h"

/* ---- in the program of a zygote ---- */

void axo_process_main(int argc, char **argv, const axo_class *const *classes, uint32_t count)
{
    const size_t length = sizeof PROCESS_ZYGOTE_ARGUMENT - 1;
    process_zygote_order order;
    unsigned version;
    if (argc != 2 || strncmp(argv[1], PROCESS_ZYGOTE_ARGUMENT, length) != 0)
        return;
    if (sscanf(argv[1] + length, "%u:%ld:%u", &version, &order.parent, &order.spares) != 3 ||
        version != PROCESS_VERSION) {
        (void)fprintf(stderr, "axo zygote: %s is of another version\n", argv[0]);
        exit(127);
    }
    process_zygote_run(&order, classes, count);
}

axo_ref axo_process_self(axo_ctx *ctx)
{
    axo_ref self;
    return process_child_self(ctx, &self) ? self : axo_self(ctx);
}

/* ---- spawn ---- */

static axo_status process_read_recipe(const axo_process *recipe, axo_process *out)
{
    axo_status status = axo__given_read(recipe, out, sizeof *out);
    if (status != AXO_OK)
        return status;
    bool good = out->zygote != NULL && out->ring_bytes <= AXO_PROCESS_RING_MAX &&
                out->confine <= (AXO_CONFINE_SYSCALLS | AXO_CONFINE_FILES) &&
                (out->watchdog_ns == 0 || out->watchdog_ns >= 1000000) && out->start_ns >= 0 &&
                out->stop_ns >= 0;
    if (!good)
        return AXO_EINVAL;
    if (out->ring_bytes == 0)
        out->ring_bytes = AXO_PROCESS_RING;
    if (out->start_ns == 0)
        out->start_ns = AXO_PROCESS_START_NS;
    if (out->stop_ns == 0)
        out->stop_ns = AXO_PROCESS_STOP_NS;
    return process_confine_can(out->confine) ? AXO_OK : AXO_ENOTSUP;
}

static axo_status process_read_props(const axo_props *props, axo_props *out)
{
    axo_status status = axo__given_read(props, out, sizeof *out);
    if (status != AXO_OK)
        return status;
    const axo_class *cls = out->cls;
    bool named = cls != NULL && cls->name != NULL && strlen(cls->name) < PROCESS_NAME_MAX &&
                 cls->name[0] != 0;
    if (!named || out->strategy != NULL || out->stash_max != 0 || out->args_size > AXO_ARGS_MAX ||
        (out->args_size == 0) != (out->args == NULL))
        return AXO_EINVAL;
    return out->name == NULL || strlen(out->name) <= AXO_NAME_MAX ? AXO_OK : AXO_ENAME;
}

/* The class of the actors here that stand for `of`; the zygote has mutex. */
static axo_class *process_class_of(axo_zygote *zygote, const axo_class *of)
{
    for (process_class *it = zygote->classes; it != NULL; it = it->next) {
        if (it->of == of)
            return &it->proxy;
    }
    process_class *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->of = of;
    process_proxy_class(&made->proxy, of);
    made->next = zygote->classes;
    zygote->classes = made;
    return &made->proxy;
}

static void process_enlist(process_life *life)
{
    axo_zygote *zygote = life->zygote;
    (void)pthread_mutex_lock(&zygote->mutex);
    life->proxy = process_class_of(zygote, life->of);
    life->next = zygote->lives;
    if (life->next != NULL)
        life->next->before = life;
    zygote->lives = life;
    (void)pthread_mutex_unlock(&zygote->mutex);
}

static process_life *process_life_make(const axo_process *recipe, const axo_props *props)
{
    process_life *life = calloc(1, sizeof *life);
    if (life == NULL)
        return NULL;
    life->zygote = recipe->zygote;
    life->recipe = *recipe;
    life->of = props->cls;
    life->window.first = 1;
    life->next_number = 1;
    (void)pthread_mutex_init(&life->mutex, NULL);
    if (props->name != NULL)
        (void)snprintf(life->name, sizeof life->name, "%s", props->name);
    life->args_size = props->args_size;
    if (props->args_size > 0)
        life->args = malloc(props->args_size);
    if (props->args_size > 0 && life->args == NULL) {
        process_life_free(life);
        return NULL;
    }
    if (props->args_size > 0)
        memcpy(life->args, props->args, props->args_size);
    process_enlist(life);
    return life;
}

/* Without memory for the message the life is freed with the zygote. */
static void process_adopt(axo_zygote *zygote, process_life *life, axo_ref actor)
{
    const process_adoption adoption = {.life = life, .actor = actor, .secret = zygote->secret};
    (void)axo_system_send(zygote->system, zygote->janitor, PROCESS_ADOPT, &adoption,
                          sizeof adoption);
}

/* A keeper that fails is no use any more; its actor is told of its end. */
static const axo_strategy process_stops = AXO_STRATEGY(.decider = axo_decide_stop);

static axo_status process_spawn(axo_ctx *ctx, axo_system *system, const axo_process *recipe,
                                const axo_props *props, axo_ref *out)
{
    axo_process read;
    axo_props own;
    if (out == NULL)
        return AXO_EINVAL;
    *out = axo_ref_none();
    if (recipe == NULL || props == NULL || system == NULL)
        return AXO_EINVAL;
    axo_status status = process_read_recipe(recipe, &read);
    if (status == AXO_OK)
        status = process_read_props(props, &own);
    if (status == AXO_OK && read.zygote->system != system)
        status = AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    process_life *life = process_life_make(&read, &own);
    if (life == NULL)
        return AXO_ENOMEM;
    own.cls = life->proxy;
    own.args = &life;
    own.args_size = sizeof(process_life *);
    own.strategy = &process_stops;
    own.stash_max = read.stash_max != 0 ? read.stash_max : UINT32_MAX;
    status = AXO_ENOMEM;
    if (life->proxy != NULL)
        status = ctx != NULL ? axo_spawn(ctx, &own, out) : axo_system_spawn(system, &own, out);
    if (status == AXO_OK)
        process_adopt(read.zygote, life, *out);
    else
        process_zygote_forget(read.zygote, life);
    return status;
}

axo_status axo_process_spawn(axo_ctx *ctx, const axo_process *recipe, const axo_props *props,
                             axo_ref *out)
{
    axo_system *system = axo_system_of(ctx);
    if (system == NULL) {
        if (out != NULL)
            *out = axo_ref_none();
        return AXO_ECONTEXT;
    }
    return process_spawn(ctx, system, recipe, props, out);
}

axo_status axo_system_process_spawn(axo_system *system, const axo_process *recipe,
                                    const axo_props *props, axo_ref *out)
{
    return process_spawn(NULL, system, recipe, props, out);
}
