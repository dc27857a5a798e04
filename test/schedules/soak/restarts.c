/* restarts.c - one actor restarted so often that a part of its instance's number has come round:
 * what was bound to an instance of long ago reaches none of today, and no restart is lost. */
#include <semaphore.h>

#include "soak.h"

/* From the keeper, and from outside, to the actor. */
enum { FAIL = 1, OLD, NEW };
/* To the keeper. */
enum { KEEP = 11, SEND };

typedef struct restarts {
    uint64_t wanted;
    axo_ref actor;
    axo_ref keeper;
    axo_draft *old; /* bound to the first instance; the keeper's */
    uint64_t old_seen;
    uint64_t new_seen;
    uint32_t instance; /* the last one's number */
    sem_t over;
} restarts;

static restarts *restarts_of(const void *state)
{
    return *(restarts *const *)state;
}

static axo_status restarts_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(restarts *));
    return AXO_OK;
}

static axo_status restarts_again(axo_ctx *ctx, void *state)
{
    restarts *it = restarts_of(state);
    it->instance = axo_instance(ctx);
    if (it->instance == 1)
        return AXO_OK; /* the keeper begins, when it has its draft */
    if (it->instance <= it->wanted)
        return axo_send(ctx, axo_self(ctx), FAIL, NULL, 0);
    return axo_send(ctx, it->keeper, SEND, NULL, 0);
}

static axo_status restarts_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    restarts *it = restarts_of(state);
    switch (message->tag) {
    case FAIL:
        return AXO_EFAILED;
    case OLD:
        it->old_seen++;
        return AXO_OK;
    case NEW:
        it->new_seen++;
        return sem_post(&it->over) == 0 ? AXO_OK : AXO_EFAILED;
    default:
        return AXO_UNHANDLED;
    }
}

static axo_status keeper_draft(axo_ctx *ctx, uint32_t tag, uint32_t instance, axo_draft **draft)
{
    void *payload;
    axo_status status = axo_message_new(ctx, tag, 8, draft, &payload);
    if (status != AXO_OK)
        return status;
    memset(payload, 0, 8);
    return axo_draft_bind(ctx, *draft, instance);
}

static axo_status keeper_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    restarts *it = restarts_of(state);
    axo_draft *draft;
    if (message->tag == KEEP) {
        soak_check(keeper_draft(ctx, OLD, 1, &it->old), "a draft for the first instance");
        return axo_send(ctx, it->actor, FAIL, NULL, 0);
    }
    soak_check(axo_send_message(ctx, it->actor, it->old), "the old draft");
    soak_check(keeper_draft(ctx, NEW, it->instance, &draft), "a draft for the last instance");
    soak_check(axo_send_message(ctx, it->actor, draft), "the new draft");
    return AXO_OK;
}

void soak_restarts(axo_system *system, uint64_t wanted)
{
    static const axo_class actor_class =
        AXO_CLASS(.name = "restarted", .state_size = sizeof(restarts *),
                  .construct = restarts_construct, .pre_start = restarts_again,
                  .receive = restarts_receive, .on_crash = AXO_CRASH_FAILS);
    static const axo_class keeper_class =
        AXO_CLASS(.name = "keeper", .state_size = sizeof(restarts *),
                  .construct = restarts_construct, .receive = keeper_receive);
    restarts mine = {.wanted = wanted};
    restarts *self = &mine;
    axo_props keeper = AXO_PROPS(.cls = &keeper_class, .args = &self, .args_size = sizeof self);
    axo_props actor = AXO_PROPS(.cls = &actor_class, .args = &self, .args_size = sizeof self);
    axo_stats stats = AXO_STATS(0);
    if (wanted == 0 || wanted >= UINT32_MAX - 1 || sem_init(&mine.over, 0, 0) != 0)
        soak_fail("restarts COUNT: at most 2^32 - 3");
    soak_check(axo_system_spawn(system, &keeper, &mine.keeper), "spawn");
    soak_check(axo_system_spawn(system, &actor, &mine.actor), "spawn");
    soak_check(axo_system_send(system, mine.keeper, KEEP, NULL, 0), "send");
    while (sem_wait(&mine.over) != 0)
        continue;
    soak_check(axo_system_stats(system, &stats), "stats");
    if (mine.instance != wanted + 1 || stats.restarts != wanted)
        soak_fail("instance %" PRIu32 " after %" PRIu64 " restarts, %" PRIu64 " of them counted",
                  mine.instance, wanted, stats.restarts);
    if (mine.old_seen != 0 || mine.new_seen != 1 || stats.dead != 1)
        soak_fail("%" PRIu64 " of the first instance's, %" PRIu64 " of the last one's seen, "
                  "%" PRIu64 " dead",
                  mine.old_seen, mine.new_seen, stats.dead);
    (void)sem_destroy(&mine.over);
}
