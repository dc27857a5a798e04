/* family.h - what the tests of restarts share: families of puppets, and a log of causes. */
#ifndef AXO_TEST_FAMILY_H
#define AXO_TEST_FAMILY_H

#include <stdio.h>
#include <string.h>

#include "support/kit.h"

#define FAMILY_CAUSES_MAX 16

/* Awaits `label.rest`. */
static inline void family_await(kit *k, const kit_script *who, const char *rest)
{
    char pattern[128];
    (void)snprintf(pattern, sizeof pattern, "%s.%s", who->label, rest);
    kit_await(k, pattern);
}

/* Counts `label.rest`. */
static inline uint32_t family_count(kit *k, const kit_script *who, const char *rest)
{
    char pattern[128];
    (void)snprintf(pattern, sizeof pattern, "%s.%s", who->label, rest);
    return kit_count(k, pattern);
}

static inline void family_expect(kit *k, const kit_script *who, const char *rest, uint32_t n)
{
    char pattern[128];
    (void)snprintf(pattern, sizeof pattern, "%s.%s", who->label, rest);
    kit_expect_count(k, pattern, n);
}

/* Spawns a puppet below `parent` (NULL: /user) without waiting; a restart does not repeat it. */
static inline void family_spawn(kit *k, kit_script *parent, kit_script *child)
{
    if (parent == NULL)
        (void)kit_spawn(k, child);
    else
        assert_int_equal(kit_spawn_child(k, parent, child, 0), AXO_OK);
}

/* As family_spawn, and waits until it has begun its pre_start. */
static inline void family_born(kit *k, kit_script *parent, kit_script *child)
{
    family_spawn(k, parent, child);
    family_await(k, child, "preStart");
}

/* A puppet that decides Restart for all. */
static inline kit_script *family_restarter(kit *k, const char *label)
{
    kit_script *script = kit_actor(k, label);
    script->directive = AXO_RESTART;
    return script;
}

/* `asker` pings `who` and gets the answer. */
static inline void family_answers(kit *k, kit_script *asker, kit_script *who, int64_t value)
{
    char rest[64];
    (void)snprintf(rest, sizeof rest, "pong(%d)", (int)value);
    assert_int_equal(kit_tell_as(k, asker, who, KIT_PING, value), AXO_OK);
    family_await(k, asker, rest);
}

/* Stops the child that `arg` names: a kit_fn. */
static inline axo_status family_stop_child(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_ref child = axo_child(ctx, arg);
    KIT_REQUIRE(self->k, !axo_ref_is_none(child));
    return axo_stop(ctx, child);
}

/* ---- causes: what a decider was told -------------------------------------------------------- */

/* One failure, copied: the texts live only while the decider runs. */
typedef struct family_cause {
    axo_failure failure;
    char text[AXO_FAILURE_TEXT_MAX];
    char original_text[AXO_FAILURE_TEXT_MAX];
} family_cause;

/* All that one supervisor was told, and its answers by the kind of failure. */
typedef struct family_causes {
    uint32_t count;
    family_cause list[FAMILY_CAUSES_MAX];
    axo_directive answer[AXO_FAILURE_FATAL + 1]; /* 0: the default decider's */
} family_causes;

static inline void family_copy_text(char *to, const char *from)
{
    (void)snprintf(to, AXO_FAILURE_TEXT_MAX, "%s", from == NULL ? "(null)" : from);
}

static inline axo_directive family_decide(axo_ctx *ctx, kit_puppet *self,
                                          const axo_failure *failure)
{
    family_causes *causes = self->script->user;
    if (causes->count < FAMILY_CAUSES_MAX) {
        family_cause *cause = &causes->list[causes->count++];
        cause->failure = *failure;
        cause->failure.text = NULL;
        cause->failure.original_text = NULL;
        family_copy_text(cause->text, failure->text);
        family_copy_text(cause->original_text, failure->original_text);
    }
    if (failure->kind <= AXO_FAILURE_FATAL && causes->answer[failure->kind] != 0)
        return causes->answer[failure->kind];
    return axo_decide_default(ctx, self, failure, NULL);
}

/* Makes `script` log the causes it decides on; read them after its mark "decided". */
static inline family_causes *family_log(kit *k, kit_script *script)
{
    family_causes *causes = kit_alloc(k, sizeof *causes);
    script->user = causes;
    script->decide = family_decide;
    return causes;
}

#endif
