/* fuzz_path.c - names, paths and patterns against a tree of plain records and a naive matcher.
 *
 * Length 2048. The input makes a tree (names valid or not, hundreds deep), stops some of it, and
 * looks for texts: bytes as they are, but for those of path_text, which stand for a living actor's
 * path or name, or repeat something. Every look is made from outside and from an actor. What is
 * found is what the records say, and the path of what is found leads to it again; nobody leaves
 * the root.
 */
#include "fuzz/fuzz.h"

#include <axo/axo.h>

#include <inttypes.h>

enum { NODES = 260, GUARDIANS = 3, OPERATIONS_MAX = 60, TEXT_MAX = 12000 };

typedef struct node {
    axo_ref ref;
    uint32_t parent;
    bool lives;
    char name[AXO_NAME_MAX + 1];
} node;

/* What an actor does in its next turn. */
typedef struct command {
    void (*run)(axo_ctx *ctx);
    const char *text;
    axo_ref out[NODES];
    axo_ref found;
    axo_status status;
    uint32_t max;
    uint32_t count;
    bool done;
} command;

static struct {
    axo_system *system;
    node nodes[NODES];
    uint32_t count;
    command now;
    uint32_t selected; /* messages of axo_select that came */
    int64_t clock;
    char text[TEXT_MAX];
} p;

static int64_t path_clock(void *user)
{
    return p.clock;
}

static axo_status path_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == 2) {
        p.selected++;
        return AXO_OK;
    }
    p.now.run(ctx);
    p.now.done = true;
    return AXO_OK;
}

static const axo_class path_class = AXO_CLASS(.receive = path_receive);

static void path_settle(void)
{
    uint64_t turns = 1;
    while (turns > 0)
        fuzz_require(axo_step_host(p.system, 1000, &turns) == AXO_OK);
}

/* Has an actor do it. */
static void path_run(uint32_t who, void (*run)(axo_ctx *ctx))
{
    p.now.run = run;
    p.now.done = false;
    fuzz_require(axo_system_send(p.system, p.nodes[who].ref, 1, NULL, 0) == AXO_OK);
    path_settle();
    fuzz_require(p.now.done);
}

/* ---- the records ---- */

static bool path_is_allowed(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != 0 && strchr("_.~+=@:-", c) != NULL);
}

/* 0: fits; else 1 + the first byte that does not. */
static size_t path_name_wrong(const char *name)
{
    if (name[0] == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return 1;
    for (size_t i = 0; name[i] != 0; i++) {
        if (!path_is_allowed(name[i]) || i == AXO_NAME_MAX)
            return i + 1;
    }
    return 0;
}

static uint32_t path_child(uint32_t parent, const char *name)
{
    for (uint32_t i = 1; i < p.count; i++) {
        if (p.nodes[i].lives && p.nodes[i].parent == parent && strcmp(p.nodes[i].name, name) == 0)
            return i;
    }
    return NODES;
}

/* Appends; the buffer is large enough for any tree there can be. */
static void path_of(uint32_t who, char *out)
{
    out[0] = 0;
    if (who == 0) {
        (void)strcpy(out, "/");
        return;
    }
    if (p.nodes[who].parent != 0)
        path_of(p.nodes[who].parent, out);
    (void)strcat(strcat(out, "/"), p.nodes[who].name);
}

/* One row at a time: row[j] says whether the pattern so far matches the first j bytes. */
static bool path_matches(const char *pattern, size_t length, const char *text)
{
    bool row[AXO_NAME_MAX + 2] = {true};
    size_t size = strlen(text);
    for (size_t i = 0; i < length; i++) {
        bool before = row[0];
        row[0] = row[0] && pattern[i] == '*';
        for (size_t j = 1; j <= size; j++) {
            bool above = row[j];
            if (pattern[i] == '*')
                row[j] = above || row[j - 1];
            else
                row[j] = before && (pattern[i] == '?' || pattern[i] == text[j - 1]);
            before = above;
        }
    }
    return row[size];
}

typedef struct answer {
    bool malformed;
    bool pattern;
    bool in[NODES];
    uint32_t count;
} answer;

static bool path_segment_wrong(const char *text, size_t length)
{
    if (length == 0 || length > AXO_NAME_MAX)
        return true;
    for (size_t i = 0; i < length; i++) {
        bool first = i == 0 && text[i] == '$';
        if (!path_is_allowed(text[i]) && text[i] != '*' && text[i] != '?' && !first)
            return true;
    }
    return false;
}

static void path_walk_segment(answer *it, const char *text, size_t length)
{
    bool next[NODES] = {false};
    bool wild = memchr(text, '*', length) != NULL || memchr(text, '?', length) != NULL;
    bool up = length == 2 && memcmp(text, "..", 2) == 0;
    it->pattern = it->pattern || wild;
    if (length == 1 && text[0] == '.')
        return;
    for (uint32_t i = 0; i < p.count; i++) {
        uint32_t parent = p.nodes[i].parent;
        if (!p.nodes[i].lives)
            continue;
        if (up && it->in[i])
            next[parent] = true;
        if (up || i == 0 || !it->in[parent])
            continue;
        next[i] = wild ? path_matches(text, length, p.nodes[i].name)
                       : strlen(p.nodes[i].name) == length &&
                             memcmp(p.nodes[i].name, text, length) == 0;
    }
    memcpy(it->in, next, sizeof next);
}

/* What a text means, seen from an actor; from NODES: from outside. */
static answer path_answer(uint32_t from, const char *text)
{
    answer it = {.malformed = text[0] != '/' && from == NODES};
    if (it.malformed)
        return it;
    it.in[text[0] == '/' ? 0 : from] = true;
    if (text[0] == '/')
        text++;
    else if (text[0] == 0)
        it.malformed = true;
    for (bool more = text[0] != 0; more && !it.malformed;) {
        size_t length = strcspn(text, "/");
        bool up = length == 2 && memcmp(text, "..", 2) == 0;
        it.malformed = path_segment_wrong(text, length) || (up && it.pattern);
        if (it.malformed)
            break;
        path_walk_segment(&it, text, length);
        more = text[length] == '/';
        text += length + 1;
    }
    for (uint32_t i = 0; i < p.count; i++)
        it.count += it.in[i] ? 1 : 0;
    return it;
}

/* ---- looking ---- */

static void path_do_find(axo_ctx *ctx)
{
    p.now.status = axo_find(ctx, p.now.text, &p.now.found);
}

static void path_do_find_all(axo_ctx *ctx)
{
    p.now.status = axo_find_all(ctx, p.now.text, p.now.out, p.now.max, &p.now.count);
}

static void path_do_select(axo_ctx *ctx)
{
    p.now.status = axo_select(ctx, p.now.text, 2, "x", 1, &p.now.count);
}

static void path_again(uint32_t who)
{
    char path[NODES * (AXO_NAME_MAX + 2)];
    char text[sizeof path];
    axo_ref ref;
    path_of(who, text);
    fuzz_require(axo_system_path(p.system, p.nodes[who].ref, path, sizeof path) == AXO_OK);
    fuzz_require(strcmp(path, text) == 0);
    fuzz_require(axo_system_find(p.system, path, &ref) == AXO_OK);
    fuzz_require(axo_ref_equal(ref, p.nodes[who].ref));
}

static void path_check_find(const answer *it)
{
    if (it->malformed || it->pattern) {
        fuzz_require(p.now.status == AXO_ENAME && axo_ref_is_none(p.now.found));
        return;
    }
    fuzz_require(p.now.status == (it->count > 0 ? AXO_OK : AXO_ENOENT));
    fuzz_require(it->count <= 1);
    for (uint32_t i = 0; i < p.count; i++) {
        if (it->in[i]) {
            fuzz_require(axo_ref_equal(p.now.found, p.nodes[i].ref));
            path_again(i);
        }
    }
}

static void path_check_all(const answer *it)
{
    if (it->malformed) {
        fuzz_require(p.now.status == AXO_ENAME && p.now.count == 0);
        return;
    }
    fuzz_require(p.now.status == AXO_OK && p.now.count == it->count);
    uint32_t written = p.now.count < p.now.max ? p.now.count : p.now.max;
    for (uint32_t i = 0; i < written; i++) {
        uint32_t who = 0;
        while (who < p.count && !axo_ref_equal(p.nodes[who].ref, p.now.out[i]))
            who++;
        fuzz_require(who < p.count && it->in[who]);
        for (uint32_t j = 0; j < i; j++)
            fuzz_require(!axo_ref_equal(p.now.out[i], p.now.out[j]));
    }
    for (uint32_t i = written; i < NODES; i++)
        fuzz_require(axo_ref_is_none(p.now.out[i]));
}

static void path_begin(const char *text, uint32_t max)
{
    memset(&p.now, 0, sizeof p.now);
    p.now.text = text;
    p.now.found.bits = p.now.count = 77;
    p.now.max = max;
}

static void path_look(uint32_t from, const char *text, uint32_t max)
{
    answer outside = path_answer(NODES, text);
    path_begin(text, max);
    p.now.status = axo_system_find(p.system, text, &p.now.found);
    path_check_find(&outside);
    path_begin(text, max);
    p.now.status = axo_system_find_all(p.system, text, p.now.out, max, &p.now.count);
    path_check_all(&outside);
    if (from < GUARDIANS)
        return;
    answer inside = path_answer(from, text);
    path_begin(text, max);
    path_run(from, path_do_find);
    path_check_find(&inside);
    path_begin(text, max);
    path_run(from, path_do_find_all);
    path_check_all(&inside);
    p.selected = 0;
    path_begin(text, max);
    path_run(from, path_do_select);
    if (inside.malformed)
        fuzz_require(p.now.status == AXO_ENAME && p.now.count == 0);
    else if (inside.count == 0 && !inside.pattern)
        fuzz_require(p.now.status == AXO_EGONE && p.now.count == 0);
    else
        fuzz_require(p.now.status == AXO_OK && p.now.count == inside.count);
    for (uint32_t i = 0; !inside.malformed && i < GUARDIANS; i++)
        p.selected += inside.in[i] ? 1 : 0; /* guardians keep theirs */
    fuzz_require(inside.malformed || p.selected == inside.count);
}

/* A path that is cut keeps its end, behind the mark, and its closing zero, and leads to nobody. */
static void path_cut(uint32_t who, size_t size)
{
    char path[NODES * (AXO_NAME_MAX + 2)];
    char *out = malloc(size + 1);
    fuzz_require(out != NULL);
    path_of(who, path);
    axo_status status = axo_system_path(p.system, p.nodes[who].ref, out, size);
    fuzz_require(status == (size > strlen(path) ? AXO_OK : size > 0 ? AXO_ETOOBIG : AXO_EINVAL));
    if (size > strlen(path)) {
        fuzz_require(strcmp(out, path) == 0);
    } else if (size > 0) {
        size_t mark = size - 1 < strlen(AXO_PATH_CUT) ? size - 1 : strlen(AXO_PATH_CUT);
        axo_ref ref;
        fuzz_require(strlen(out) < size && strncmp(out, AXO_PATH_CUT, mark) == 0);
        fuzz_require(strcmp(out + mark, path + strlen(path) - strlen(out + mark)) == 0);
        fuzz_require(size - 1 < mark || out[mark] == '/' || strlen(out) == size - 1);
        fuzz_require(axo_system_find(p.system, out, &ref) == AXO_ENAME);
    }
    free(out);
}

/* ---- making the tree ---- */

static void path_do_spawn(axo_ctx *ctx)
{
    axo_props props = AXO_PROPS(.cls = &path_class, .name = p.now.text);
    p.now.status = axo_spawn(ctx, &props, &p.now.found);
}

static void path_do_spawn_or_get(axo_ctx *ctx)
{
    axo_props props = AXO_PROPS(.cls = &path_class, .name = p.now.text);
    bool created;
    p.now.status = axo_spawn_or_get(ctx, &props, &p.now.found, &created);
    p.now.count = created ? 1 : 0;
}

static void path_spawned(uint32_t parent, const char *name)
{
    node *it = &p.nodes[p.count++];
    *it = (node){.ref = p.now.found, .parent = parent, .lives = true};
    if (name != NULL)
        (void)strcpy(it->name, name);
    else
        (void)snprintf(it->name, sizeof it->name, "$%" PRIx64, it->ref.bits);
}

static void path_spawn(uint32_t parent, const char *name, bool get)
{
    size_t wrong = name != NULL ? path_name_wrong(name) : 0;
    uint32_t sibling = name != NULL ? path_child(parent, name) : NODES;
    axo_props props = AXO_PROPS(.cls = &path_class, .name = name);
    if (p.count == NODES)
        return;
    path_begin(name, 0);
    if (parent == 1)
        p.now.status = axo_system_spawn(p.system, &props, &p.now.found);
    else
        path_run(parent, get ? path_do_spawn_or_get : path_do_spawn);
    get = get && parent != 1;
    if (get && name == NULL) {
        fuzz_require(p.now.status == AXO_EINVAL);
    } else if (wrong > 0) {
        fuzz_require(p.now.status == AXO_ENAME);
    } else if (sibling != NODES && get) {
        fuzz_require(p.now.status == AXO_OK && p.now.count == 0);
        fuzz_require(axo_ref_equal(p.now.found, p.nodes[sibling].ref));
        return;
    } else if (sibling != NODES) {
        fuzz_require(p.now.status == AXO_EEXIST);
    } else {
        fuzz_require(p.now.status == AXO_OK);
        path_spawned(parent, name);
        path_settle();
        return;
    }
    fuzz_require(axo_ref_is_none(p.now.found));
}

/* A line of children, each below the one before: deeper than any array of fixed size. */
static void path_dig(uint32_t who, uint32_t depth)
{
    for (uint32_t i = 0; i < depth && p.count < NODES; i++) {
        path_spawn(who, (i & 7) == 7 ? NULL : "d", false);
        if (p.count == who + 1 || p.nodes[p.count - 1].parent != who)
            return; /* the name was taken */
        who = p.count - 1;
    }
}

static void path_stop(uint32_t who)
{
    fuzz_require(axo_system_stop_actor(p.system, p.nodes[who].ref) == AXO_OK);
    path_settle();
    p.nodes[who].lives = false;
    for (uint32_t i = who + 1; i < p.count; i++) /* parents come before their children */
        p.nodes[i].lives = p.nodes[i].lives && p.nodes[p.nodes[i].parent].lives;
}

static void path_check_name(const char *name)
{
    size_t at = 77;
    size_t wrong = path_name_wrong(name);
    axo_status status = axo_name_check(name, &at);
    fuzz_require(status == (wrong > 0 ? AXO_ENAME : AXO_OK));
    fuzz_require(wrong == 0 || at == wrong - 1);
}

/* ---- the input ---- */

static size_t path_add(size_t at, const char *text)
{
    size_t length = strlen(text);
    if (at + length >= TEXT_MAX)
        return at;
    memcpy(p.text + at, text, length);
    return at + length;
}

/* Up to a zero byte. */
static const char *path_text(fuzz_in *in)
{
    static const char *const again[] = {"/.", "/..", "/*", "a", "?", "*", "/x", "..", "../"};
    char path[NODES * (AXO_NAME_MAX + 2)];
    size_t at = 0;
    for (uint8_t c = fuzz_u8(in); c != 0 && at < TEXT_MAX - 300; c = fuzz_u8(in)) {
        uint32_t which = c % 10 < p.count ? c % 10 : 0;
        if (c < 10) {
            path_of(which, path);
            at = path_add(at, path);
        } else if (c < 20) {
            at = path_add(at, p.nodes[which].name);
        } else if (c < 29) {
            for (uint32_t times = fuzz_u8(in); times > 0; times--)
                at = path_add(at, again[c - 20]);
        } else {
            p.text[at++] = (char)c;
        }
    }
    p.text[at] = 0;
    return p.text;
}

static void path_step(fuzz_in *in)
{
    uint8_t op = fuzz_u8(in);
    uint32_t who = fuzz_u8(in) % p.count;
    bool mine = who >= GUARDIANS && p.nodes[who].lives;
    const char *text;
    switch (op % 8) {
    case 0:
    case 1:
        text = path_text(in);
        path_spawn(mine ? who : 1, (op & 0xf0) != 0 ? text : NULL, (op & 8) != 0);
        break;
    case 2:
        if (mine && (op & 8) != 0)
            path_stop(who);
        else if (mine && (op & 0xf0) == 0xf0)
            path_dig(who, fuzz_u8(in));
        break;
    case 3:
        path_check_name(path_text(in));
        break;
    case 4:
        if (p.nodes[who].lives)
            path_cut(who, fuzz_u16(in) % 600);
        break;
    default:
        text = path_text(in);
        path_look(mine ? who : 0, text, op / 8 % (NODES + 1));
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    axo_options options = AXO_OPTIONS(FUZZ_SMALL, .clock = path_clock);
    fuzz_in in = {.at = data, .left = size};
    memset(&p, 0, offsetof(__typeof__(p), text));
    fuzz_chance = 1;
    fuzz_require(axo_system_start(&options, &p.system) == AXO_OK);
    path_settle();
    for (p.count = 0; p.count < GUARDIANS; p.count++) {
        static const char *const names[] = {"", "user", "system"};
        node *it = &p.nodes[p.count];
        it->ref = axo_system_guardian(p.system, (axo_guardian)p.count);
        it->lives = true;
        (void)strcpy(it->name, names[p.count]);
    }
    for (uint32_t i = 0; i < OPERATIONS_MAX && in.left > 0; i++)
        path_step(&in);
    for (uint32_t i = 0; i < p.count; i++) {
        if (p.nodes[i].lives)
            path_again(i);
    }
    fuzz_require(axo_system_stop(p.system, -1, NULL, 0, NULL) == AXO_OK);
    fuzz_require(axo_system_destroy(p.system) == AXO_OK);
    return 0;
}
