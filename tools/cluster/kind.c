/* kind.c - the doors of <axo/grain.h>, and the actors of this node that stand for grains. */
#include <stdlib.h>
#include <string.h>

#include "pattern/given.h"
#include "silo.h"

/* ---- kinds ---- */

static uint32_t kind_number(const char *name)
{
    uint32_t number = (uint32_t)cluster_rendezvous_hash(name, strlen(name));
    return number != 0 ? number : 1;
}

static bool kind_is_bounded(const axo_mailbox *mailbox)
{
    return mailbox != NULL && (mailbox->messages_max != 0 || mailbox->bytes_max != 0);
}

/* What the system would refuse with each life is refused here. */
static axo_status kind_read_props(const axo_props *given, axo_props *out, axo_class *cls)
{
    axo_status status = axo__given_read(given, out, sizeof *out);
    if (status == AXO_OK)
        status = axo__given_read(out->cls, cls, sizeof *cls);
    if (status != AXO_OK)
        return status;
    bool good = cls->receive != NULL && out->name == NULL && out->system_actor == 0 &&
                out->args_size <= AXO_ARGS_MAX && (out->args != NULL || out->args_size == 0) &&
                !kind_is_bounded(out->mailbox);
    return good ? AXO_OK : AXO_EINVAL;
}

static axo_status kind_read(const axo_cluster *cluster, const axo_grain_kind *given,
                            axo_grain_kind *kind, axo_props *props, axo_class *cls)
{
    if (cluster == NULL || cluster->who == NULL)
        return AXO_EINVAL;
    axo_status status = axo__given_read(given, kind, sizeof *kind);
    if (status != AXO_OK)
        return status;
    if (kind->name == NULL || kind->reserved != 0)
        return AXO_EINVAL;
    if (!cluster_is_name(kind->name))
        return AXO_ENAME;
    return kind_read_props(kind->props, props, cls);
}

static cluster_kind *kind_new(const axo_grain_kind *read, const axo_props *props,
                              const axo_class *cls)
{
    cluster_kind *kind = calloc(1, sizeof *kind);
    void *args = props->args_size > 0 ? malloc(props->args_size) : NULL;
    if (kind == NULL || (args == NULL && props->args_size > 0)) {
        free(kind);
        free(args);
        return NULL;
    }
    kind->number = kind_number(read->name);
    memcpy(kind->name, read->name, strlen(read->name));
    kind->of = *cls;
    kind->props = *props;
    kind->args = args;
    if (args != NULL) {
        memcpy(args, props->args, props->args_size);
        kind->props.args = args;
    }
    kind->strategy = read->strategy;
    kind->idle_ns = (read->idle_ms != 0 ? read->idle_ms : AXO_GRAIN_IDLE_MS) * CLUSTER_MS;
    cluster_life_class(kind);
    return kind;
}

axo_status axo_cluster_add_grain_kind(axo_cluster *cluster, const axo_grain_kind *kind)
{
    axo_grain_kind read;
    axo_props props;
    axo_class cls;
    axo_status status = kind_read(cluster, kind, &read, &props, &cls);
    if (status != AXO_OK)
        return status;
    if (cluster->system != NULL)
        return AXO_EBUSY;
    cluster_silo *silo = cluster->silo;
    if (silo != NULL && cluster_silo_kind(silo, kind_number(read.name)) != NULL)
        return AXO_EEXIST;
    if (silo != NULL && silo->kinds_count == AXO_GRAIN_KINDS_MAX)
        return AXO_ELIMIT;
    cluster_kind *made = kind_new(&read, &props, &cls);
    if (made != NULL && silo == NULL)
        silo = cluster->silo = cluster_silo_new(cluster);
    if (made == NULL || silo == NULL) {
        if (made != NULL)
            free(made->args);
        free(made);
        return AXO_ENOMEM;
    }
    made->silo = silo;
    silo->kinds[silo->kinds_count++] = made;
    return AXO_OK;
}

/* ---- who stands for a grain ---- */

/* The message's payload as it travels, behind its letter. NULL: *why. */
static void *proxy_body(const cluster_proxy *proxy, const axo_message *message, size_t *size,
                        axo_status *why)
{
    cluster_coded coded;
    *why = cluster_encode(proxy->silo->cluster, message, &coded);
    if (*why != AXO_OK) {
        if (*why == AXO_ENOTSUP)
            cluster_counted(proxy->silo->cluster, CLUSTER_COUNT_NO_CODEC);
        free(coded.large);
        return NULL;
    }
    const cluster_letter letter = {message->sender, message->tag, (uint32_t)coded.size};
    *size = sizeof letter + coded.size;
    char *body = coded.size <= AXO_GRAIN_PAYLOAD_MAX ? malloc(*size) : NULL;
    *why = coded.size <= AXO_GRAIN_PAYLOAD_MAX ? AXO_ENOMEM : AXO_ETOOBIG;
    if (body != NULL) {
        memcpy(body, &letter, sizeof letter);
        if (coded.size > 0)
            memcpy(body + sizeof letter, coded.bytes, coded.size);
    }
    free(coded.large);
    return body;
}

static axo_status proxy_send(cluster_proxy *proxy, const axo_message *message)
{
    cluster_silo *silo = proxy->silo;
    size_t size = 0;
    axo_status status;
    void *body = proxy_body(proxy, message, &size, &status);
    if (body == NULL)
        return status;
    const cluster_parcel parcel = {.name = proxy->name, .size = (uint32_t)size, .body = body};
    cluster_silo_lock(silo);
    status = AXO_ESTOPPING;
    if (!silo->ended)
        status = cluster_grains_send(&silo->grains, cluster_silo_now(), &parcel);
    cluster_silo_unlock(silo);
    free(body);
    return status;
}

static axo_status proxy_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    cluster_proxy *proxy = *(cluster_proxy **)state;
    if (message->tag >= AXO_TAG_SERVICES)
        return AXO_UNHANDLED;
    axo_status status = proxy_send(proxy, message);
    if (status != AXO_OK)
        (void)axo_drop(ctx, message, axo_self(ctx), axo_status_text(status));
    return AXO_OK;
}

static axo_status proxy_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(cluster_proxy **)state = (cluster_proxy *)(uintptr_t)args;
    return AXO_OK;
}

static cluster_proxy **proxy_head(cluster_silo *silo, const cluster_grain_name *name)
{
    uint64_t hash = cluster_rendezvous_key(name->kind, name->key, name->size);
    return &silo->proxies[hash % CLUSTER_LIFE_HEADS];
}

/* The record is no actor's any more. */
static axo_status proxy_post_stop(axo_ctx *ctx, void *state)
{
    cluster_proxy *proxy = *(cluster_proxy **)state;
    cluster_silo *silo = proxy->silo;
    (void)ctx;
    cluster_silo_lock(silo);
    cluster_proxy **at = proxy_head(silo, &proxy->name);
    while (*at != proxy)
        at = &(*at)->next;
    *at = proxy->next;
    cluster_silo_unlock(silo);
    free(proxy);
    return AXO_OK;
}

/* A restart keeps the record. */
static axo_status proxy_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)failure;
    (void)message;
    return AXO_OK;
}

static const axo_class proxy_class =
    AXO_CLASS(.name = "grain's proxy", .state_size = sizeof(cluster_proxy *),
              .construct = proxy_construct, .receive = proxy_receive,
              .pre_restart = proxy_pre_restart, .post_stop = proxy_post_stop);

/* The silo's lock is held. */
static axo_status proxy_make(cluster_silo *silo, const cluster_grain_name *name,
                             cluster_proxy **out)
{
    cluster_proxy *proxy = calloc(1, sizeof *proxy);
    axo_props props = AXO_PROPS(.cls = &proxy_class, .args = proxy, .system_actor = 1);
    if (proxy == NULL)
        return AXO_ENOMEM;
    proxy->silo = silo;
    proxy->name = *name;
    axo_status status = axo_system_spawn(silo->cluster->system, &props, &proxy->ref);
    if (status != AXO_OK) {
        free(proxy);
        return status;
    }
    cluster_proxy **head = proxy_head(silo, name);
    proxy->next = *head;
    *head = proxy;
    *out = proxy;
    return AXO_OK;
}

static bool proxy_is(const cluster_proxy *proxy, const cluster_grain_name *name)
{
    return proxy->name.kind == name->kind && proxy->name.size == name->size &&
           memcmp(proxy->name.key, name->key, name->size) == 0;
}

axo_status axo_grain(axo_cluster *cluster, const char *kind, const char *key, axo_ref *out)
{
    if (out == NULL)
        return AXO_EINVAL;
    *out = axo_ref_none();
    if (cluster == NULL || kind == NULL || key == NULL)
        return AXO_EINVAL;
    cluster_silo *silo = cluster->silo;
    size_t size = strnlen(key, AXO_GRAIN_KEY_MAX + 1);
    if (size == 0 || size > AXO_GRAIN_KEY_MAX)
        return AXO_ENAME;
    const cluster_kind *of = NULL;
    if (silo != NULL && cluster_is_name(kind))
        of = cluster_silo_kind(silo, kind_number(kind));
    if (of == NULL || strcmp(of->name, kind) != 0)
        return AXO_ENOENT;
    cluster_grain_name name = {.kind = of->number, .size = (uint32_t)size};
    memcpy(name.key, key, size);
    cluster_silo_lock(silo);
    axo_status status = silo->open ? AXO_OK : AXO_ESTOPPING;
    cluster_proxy *proxy = silo->open ? *proxy_head(silo, &name) : NULL;
    while (proxy != NULL && !proxy_is(proxy, &name))
        proxy = proxy->next;
    if (status == AXO_OK && proxy == NULL)
        status = proxy_make(silo, &name, &proxy);
    if (status == AXO_OK)
        *out = proxy->ref;
    cluster_silo_unlock(silo);
    return status;
}

axo_status axo_grain_count(axo_cluster *cluster, axo_grain_figures *out)
{
    if (out != NULL)
        memset(out, 0, sizeof *out);
    if (cluster == NULL || out == NULL)
        return AXO_EINVAL;
    cluster_silo *silo = cluster->silo;
    if (silo == NULL)
        return AXO_OK;
    cluster_silo_lock(silo);
    const cluster_grains *all = &silo->grains;
    *out = (axo_grain_figures){
        .lives = silo->ended ? 0 : all->lives, .begun = silo->begun, .waiting = all->waiting,
        .handled = all->taken, .forwarded = all->forwarded,
        .dead = all->dead + silo->undelivered, .refused = all->refused,
        .lapsed = all->lease.lost};
    cluster_silo_unlock(silo);
    return AXO_OK;
}
