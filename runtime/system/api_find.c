/* api_find.c - the door to names and looks: which actor is where, and what it is doing.
 *
 * From outside, each look is made inside a door, because it walks cells as a reader of grace
 * periods does. A scan of the whole table is cut in portions, so that no other thread waits long
 * for the door; what is copied out of a cell is all that leaves the door. */
#include <axo/axo.h>

#include <stdio.h>
#include <string.h>

#include "cell/event.h"
#include "sched/send.h"
#include "super/spawn.h"
#include "system/find.h"
#include "system/guardian.h"
#include "system/inspect.h"
#include "system/options.h"
#include "system/system.h"

/* The caller's struct may be of an older or newer header: `room` is what may be filled in. */
static axo_status find_info_check(axo_ref ref, const axo_actor_info *info, size_t *room)
{
    if (axo_ref_is_none(ref) || info == NULL)
        return AXO_EINVAL;
    return axo__struct_room(info, sizeof *info, room);
}

/* Copies the part of the answer that the caller's header knew. The tag's name comes first, from
 * user code, so this runs outside any door. */
static axo_status find_info_give(axo_actor_info *full, const axo_class *cls, size_t room,
                                 axo_actor_info *info)
{
    if (cls != NULL)
        axo__inspect_name_tag(full, cls);
    full->size = info->size;
    memcpy(info, full, room);
    return cls != NULL ? AXO_OK : AXO_EGONE;
}

axo_status axo_inspect(axo_ctx *ctx, axo_ref ref, axo_ref waiting_sender, axo_actor_info *info)
{
    axo__cell *cell = axo__caller(ctx);
    axo_actor_info full;
    const axo_class *cls = NULL;
    size_t room;
    if (cell == NULL)
        return axo__no_caller();
    axo_status status = find_info_check(ref, info, &room);
    if (status != AXO_OK)
        return status;
    axo__inspect(axo__self->local.core, cell, ref, waiting_sender, &full, &cls);
    return find_info_give(&full, cls, room, info);
}

axo_status axo_system_inspect(axo_system *system, axo_ref ref, axo_ref waiting_sender,
                              axo_actor_info *info)
{
    axo_actor_info full;
    const axo_class *cls = NULL;
    size_t room;
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    axo_status status = find_info_check(ref, info, &room);
    if (status != AXO_OK)
        return status;
    axo__door *door = axo__door_enter(&system->sched);
    axo__inspect(&system->core, NULL, ref, waiting_sender, &full, &cls);
    axo__door_leave(door);
    return find_info_give(&full, cls, room, info);
}

axo_status axo_system_tag_name(axo_system *system, axo_ref ref, uint32_t tag, char *out,
                               size_t size)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || out == NULL || size == 0 || axo_ref_is_none(ref))
        return known != AXO_OK ? known : AXO_EINVAL;
    out[0] = 0;
    axo__door *door = axo__door_enter(&system->sched);
    const axo__cell *cell = axo__table_find(&system->core.table, ref);
    /* The program keeps a class valid (axo_class in actor.h), so the pointer may leave the door. */
    const axo_class *cls = cell != NULL ? axo__cell_class(cell) : NULL;
    axo__door_leave(door);
    if (cls == NULL)
        return AXO_EGONE;
    const char *name = axo__log_tag_name(cls, tag);
    if (name != NULL)
        (void)snprintf(out, size, "%s", name);
    return AXO_OK;
}

const char *axo_doing_name(uint32_t doing)
{
    static const char *const names[] = {"gone",       "running",   "stopping", "restarting",
                                        "suspended",  "queued",    "idle",     "parked"};
    return doing < sizeof names / sizeof names[0] ? names[doing] : "?";
}

/* ---- paths ---- */

/* Steps of a scan inside one stay in a door, so that no thread waits long behind it. */
#define FIND_DOOR_STEPS 4096

typedef struct find_list {
    axo_ref *out;
    uint32_t max;
    uint32_t count;
} find_list;

/* Counts beyond the caller's room, so that the caller learns what room it needs. */
static void find_add(void *user, axo_ref ref)
{
    find_list *list = user;
    if (list->count < list->max)
        list->out[list->count] = ref;
    list->count++;
}

static axo_status find_one(const axo__find_from *from, const char *path, axo_ref *out)
{
    axo__pattern pattern;
    axo_status status = axo__find_walk(from, path, &pattern);
    if (status != AXO_OK)
        return status;
    /* A wildcard names many: axo_find answers for one. */
    if (pattern.rest != NULL)
        return AXO_ENAME;
    *out = pattern.base;
    return axo_ref_is_none(*out) ? AXO_ENOENT : AXO_OK;
}

axo_status axo_find(axo_ctx *ctx, const char *path, axo_ref *out)
{
    axo__cell *cell = axo__caller(ctx);
    if (out != NULL)
        *out = axo_ref_none();
    if (cell == NULL)
        return axo__no_caller();
    if (path == NULL || out == NULL)
        return AXO_EINVAL;
    axo__find_from from = {.core = axo__self->local.core, .cell = cell};
    return find_one(&from, path, out);
}

axo_status axo_system_find(axo_system *system, const char *path, axo_ref *out)
{
    if (out != NULL)
        *out = axo_ref_none();
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || path == NULL || out == NULL)
        return known != AXO_OK ? known : AXO_EINVAL;
    axo__find_from from = {.core = &system->core};
    axo__door *door = axo__door_enter(&system->sched);
    axo_status status = find_one(&from, path, out);
    axo__door_leave(door);
    return status;
}

axo_status axo_find_all(axo_ctx *ctx, const char *pattern, axo_ref *out, uint32_t max,
                        uint32_t *count)
{
    axo__cell *cell = axo__caller(ctx);
    if (count != NULL)
        *count = 0;
    if (cell == NULL)
        return axo__no_caller();
    if (pattern == NULL || count == NULL || (out == NULL && max > 0))
        return AXO_EINVAL;
    axo__find_from from = {.core = axo__self->local.core, .cell = cell};
    axo__pattern rest;
    find_list list = {.out = out, .max = max};
    axo_status status = axo__find_walk(&from, pattern, &rest);
    if (status != AXO_OK)
        return status;
    uint32_t slot = 0;
    /* A worker scans in one go: it holds up only its own turn. */
    if (rest.rest != NULL)
        (void)axo__find_scan(from.core, &rest, &slot, UINT64_MAX, find_add, &list);
    else if (!axo_ref_is_none(rest.base))
        find_add(&list, rest.base);
    *count = list.count;
    return AXO_OK;
}

axo_status axo_system_find_all(axo_system *system, const char *pattern, axo_ref *out,
                               uint32_t max, uint32_t *count)
{
    if (count != NULL)
        *count = 0;
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || pattern == NULL || count == NULL || (out == NULL && max > 0))
        return known != AXO_OK ? known : AXO_EINVAL;
    axo__find_from from = {.core = &system->core};
    axo__pattern rest;
    find_list list = {.out = out, .max = max};
    axo__door *door = axo__door_enter(&system->sched);
    axo_status status = axo__find_walk(&from, pattern, &rest);
    if (status == AXO_OK && rest.rest == NULL && !axo_ref_is_none(rest.base))
        find_add(&list, rest.base);
    uint32_t slot = 0;
    for (bool more = status == AXO_OK && rest.rest != NULL; more;) {
        more = axo__find_scan(&system->core, &rest, &slot, FIND_DOOR_STEPS, find_add, &list);
        axo__door_leave(door);
        door = axo__door_enter(&system->sched);
    }
    axo__door_leave(door);
    *count = list.count;
    return status;
}

axo_status axo_name_check(const char *name, size_t *at)
{
    size_t wrong = 0;
    axo_status status = name != NULL ? axo__name_check(name, &wrong) : AXO_EINVAL;
    if (at != NULL)
        *at = wrong;
    return status;
}

/* ---- sending to a pattern ---- */

/* A message of a selection. All messages are made before any is sent: either every match gets one,
 * or none does, for want of memory. */
typedef struct find_post {
    struct find_post *next;
    axo_ref to;
    axo__message *message;
} find_post;

typedef struct find_mail {
    axo__worker *worker;
    axo_ref from;
    uint32_t tag;
    const void *payload;
    size_t size;
    find_post *first;
    find_post **last;
    bool failed;
} find_mail;

/* Called by the scan for each match. After the first failure nothing more is made. */
static void find_write(void *user, axo_ref to)
{
    find_mail *mail = user;
    axo__cache *cache = &mail->worker->local.cache;
    const axo_trace_context *span = mail->worker->span.now;
    if (mail->failed)
        return;
    find_post *post = axo__pool_alloc(cache, sizeof *post);
    axo__message *message = NULL;
    if (post != NULL)
        message = axo__message_make_traced(cache, mail->tag, mail->from, mail->size, span);
    if (message == NULL) {
        axo__pool_free(cache, post, sizeof *post);
        mail->failed = true;
        return;
    }
    if (mail->size > 0)
        memcpy(message + 1, mail->payload, mail->size);
    *post = (find_post){.to = to, .message = message};
    *mail->last = post;
    mail->last = &post->next;
}

/* Sends what was written, or frees all of it; returns how many were accepted. */
static uint32_t find_post_all(find_mail *mail)
{
    axo__worker *worker = mail->worker;
    uint32_t count = 0;
    while (mail->first != NULL) {
        find_post *post = mail->first;
        mail->first = post->next;
        if (mail->failed)
            axo__message_free(&worker->local.cache, post->message);
        else if (axo__send_from(worker, post->to, post->message) ==
                 AXO_OK)
            count++;
        axo__pool_free(&worker->local.cache, post, sizeof *post);
    }
    return count;
}

/* No actor is at an exact path: the message becomes a dead letter that names the path, and counts
 * as sent. */
static void find_dead(find_mail *mail, const char *path)
{
    axo__worker *worker = mail->worker;
    find_post *post = mail->first;
    mail->first = NULL;
    axo__a64_bump_owner(&worker->local.count.sent);
    axo__dead_letter_at(&worker->local, post->message, axo_ref_none(), AXO_DEAD_GONE, path);
    axo__pool_free(&worker->local.cache, post, sizeof *post);
}

static axo_status find_select(axo__find_from *from, find_mail *mail, const char *path,
                              uint32_t *count)
{
    axo__pattern rest;
    axo_status status = axo__find_walk(from, path, &rest);
    if (status != AXO_OK)
        return status;
    bool nobody = rest.rest == NULL && axo_ref_is_none(rest.base);
    uint32_t slot = 0;
    if (rest.rest != NULL)
        (void)axo__find_scan(from->core, &rest, &slot, UINT64_MAX, find_write, mail);
    else
        find_write(mail, rest.base);
    if (nobody && !mail->failed) {
        find_dead(mail, path);
        return AXO_EGONE;
    }
    *count = find_post_all(mail);
    return mail->failed ? AXO_ENOMEM : AXO_OK;
}

axo_status axo_select(axo_ctx *ctx, const char *pattern, uint32_t tag, const void *payload,
                      size_t size, uint32_t *count)
{
    axo__cell *cell = axo__caller(ctx);
    uint32_t sent = 0;
    if (count != NULL)
        *count = 0;
    if (cell == NULL)
        return axo__no_caller();
    if (pattern == NULL || tag >= AXO_TAG_RESERVED || (payload == NULL && size > 0))
        return AXO_EINVAL;
    if (size > AXO_PAYLOAD_MAX)
        return AXO_ETOOBIG;
    axo__find_from from = {.core = axo__self->local.core, .cell = cell};
    find_mail mail = {.worker = axo__self, .from = axo__cell_ref(cell), .tag = tag,
                      .payload = payload, .size = size};
    mail.last = &mail.first;
    axo_status status = find_select(&from, &mail, pattern, &sent);
    if (count != NULL)
        *count = sent;
    return status;
}

/* ---- spawning what may be there already ---- */

/* The owner of the name may end between the refused spawn and the look for the owner; then the
 * caller tries again, this often. */
enum { FIND_SPAWN_TRIES = 64 };

/* A thread that took a name inside another door has pushed its child before it leaves that door.
 * After all doors have been passed, the name's owner can be found, or has ended. */
static void find_pass_doors(axo_system *system)
{
    for (uint32_t i = 0; i < system->sched.door_count; i++) {
        axo__os_gate_enter(&system->sched.doors[i].gate);
        axo__os_gate_leave(&system->sched.doors[i].gate);
    }
}

axo_status axo_spawn_or_get(axo_ctx *ctx, const axo_props *props, axo_ref *out, bool *created)
{
    axo__cell *cell = axo__caller(ctx);
    axo_props copy;
    if (out != NULL)
        *out = axo_ref_none();
    if (created != NULL)
        *created = false;
    if (cell == NULL)
        return axo__no_caller();
    if (out == NULL)
        return AXO_EINVAL;
    axo_status status = axo__props_read(props, &copy);
    if (status == AXO_OK && copy.name == NULL)
        status = AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    /* The spawn comes first and decides: a look before it could be outdated when the spawn runs. */
    status = axo__spawn(axo__self, cell, &copy, out);
    if (status == AXO_OK && created != NULL)
        *created = true;
    if (status != AXO_EEXIST)
        return status;
    return axo__find_sibling(axo__self->local.core, axo__cell_ref(cell), copy.name,
                             axo__worker_moment(axo__self), out);
}

axo_status axo_system_spawn_or_get(axo_system *system, const axo_props *props, axo_ref *out,
                                   bool *created)
{
    axo_props copy;
    if (out != NULL)
        *out = axo_ref_none();
    if (created != NULL)
        *created = false;
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || out == NULL)
        return known != AXO_OK ? known : AXO_EINVAL;
    axo_status status = axo__props_read(props, &copy);
    if (status == AXO_OK && copy.name == NULL)
        status = AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    axo_ref parent = system->guardians[copy.system_actor ? AXO_GUARDIAN_SYSTEM : AXO_GUARDIAN_USER];
    /* Outside there is no callback for which a name stays as it was seen, so an ended owner means
     * another try. */
    for (uint32_t i = 0; i < FIND_SPAWN_TRIES; i++) {
        status = axo__guardian_spawn(system, &copy, out);
        if (status == AXO_OK && created != NULL)
            *created = true;
        if (status != AXO_EEXIST)
            return status;
        axo__door *door = axo__door_enter(&system->sched);
        status = axo__find_sibling(&system->core, parent, copy.name, (axo__moment){.who = NULL},
                                   out);
        axo__door_leave(door);
        if (!axo_ref_is_none(*out))
            return status;
        find_pass_doors(system);
    }
    return status;
}

/* ---- keys ---- */

/* No door: the registry has its own mutex, and its readers need none. */
static axo_status find_register(axo_system *system, const char *text, axo_ref ref)
{
    axo__key key;
    if (text == NULL || axo_ref_is_none(ref))
        return AXO_EINVAL;
    axo_status status = axo__registry_key(&system->registry, text, &key);
    return status == AXO_OK ? axo__registry_put(&system->registry, &key, ref) : status;
}

static axo_status find_unregister(axo_system *system, const char *text)
{
    axo__key key;
    if (text == NULL)
        return AXO_EINVAL;
    axo_status status = axo__registry_key(&system->registry, text, &key);
    return status == AXO_OK ? axo__registry_drop(&system->registry, &key) : status;
}

axo_status axo_register(axo_ctx *ctx, const char *key, axo_ref ref)
{
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    return find_register(axo__self->local.core->system, key, ref);
}

axo_status axo_unregister(axo_ctx *ctx, const char *key)
{
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    return find_unregister(axo__self->local.core->system, key);
}

axo_status axo_system_register(axo_system *system, const char *key, axo_ref ref)
{
    axo_status known = axo__system_check(system);
    return known == AXO_OK ? find_register(system, key, ref) : known;
}

axo_status axo_system_unregister(axo_system *system, const char *key)
{
    axo_status known = axo__system_check(system);
    return known == AXO_OK ? find_unregister(system, key) : known;
}

axo_status axo_system_lookup(axo_system *system, const char *key, axo_ref *out)
{
    axo__key wanted;
    if (out != NULL)
        *out = axo_ref_none();
    axo_status known = axo__system_check(system);
    if (known != AXO_OK || key == NULL || out == NULL)
        return known != AXO_OK ? known : AXO_EINVAL;
    axo_status status = axo__registry_key(&system->registry, key, &wanted);
    if (status != AXO_OK)
        return status;
    *out = axo__registry_find(&system->registry, &wanted);
    return axo_ref_is_none(*out) ? AXO_ENOENT : AXO_OK;
}
