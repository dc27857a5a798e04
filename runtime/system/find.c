/* find.c - paths and patterns: from a text to the actors that live there now.
 *
 * An exact segment is looked up in the table of names, keyed by the parent's reference: no cell is
 * touched, and nothing is held between two segments. A list of children is its runner's, and no
 * other thread may walk it. So a pattern looks at every slot of the table instead and asks each
 * living cell for its ancestors, which are fixed: for a grace reader a living cell and all cells
 * above it stay what they are.
 */
#include "system/find.h"

#include <stdio.h>
#include <string.h>

#include "system/system.h"

enum { FIND_NAME, FIND_ANONYMOUS, FIND_HERE, FIND_UP, FIND_WILD, FIND_BAD };

static bool find_is(axo__segment segment, const char *text)
{
    return strlen(text) == segment.length && memcmp(segment.text, text, segment.length) == 0;
}

/* The kind of a segment: a name, "$" and a reference, ".", "..", a wildcard, or malformed. */
static int find_kind(axo__segment segment)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_.~+=@:-";
    bool anonymous = segment.length > 0 && segment.text[0] == '$';
    bool wild = false;
    if (segment.length == 0 || segment.length > AXO_NAME_MAX)
        return FIND_BAD;
    for (size_t i = anonymous ? 1 : 0; i < segment.length; i++) {
        if (segment.text[i] == '*' || segment.text[i] == '?')
            wild = true;
        else if (strchr(allowed, segment.text[i]) == NULL)
            return FIND_BAD;
    }
    if (wild)
        return FIND_WILD;
    if (anonymous)
        return FIND_ANONYMOUS;
    return find_is(segment, ".") ? FIND_HERE : find_is(segment, "..") ? FIND_UP : FIND_NAME;
}

/* The parent's reference; none above the root. */
static axo_ref find_parent(const axo__cell *cell)
{
    const axo__cell *parent = axo__cell_parent(cell);
    return parent != NULL ? axo__cell_ref(parent) : axo_ref_none();
}

/* An actor without a name: "$" and its reference in hexadecimal, as axo__core_path prints it. The
 * reference must be of a child of `parent` without a name: a path must not reach a stranger. */
static axo_ref find_anonymous(axo__core *core, axo_ref parent, axo__segment segment)
{
    axo_ref ref = axo_ref_none();
    if (segment.length < 2 || segment.length > 17 || segment.text[1] == '0')
        return ref;
    for (size_t i = 1; i < segment.length; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = strchr(digits, segment.text[i]);
        if (digit == NULL)
            return axo_ref_none();
        ref.bits = ref.bits << 4 | (uint64_t)(digit - digits);
    }
    const axo__cell *cell = axo__table_find(&core->table, ref);
    bool there = cell != NULL && axo__cell_name(cell) == NULL &&
                 axo_ref_equal(find_parent(cell), parent);
    return there ? ref : axo_ref_none();
}

/* One step down, up, or nowhere. The child may end before the next step; then that step finds
 * nothing. */
static axo_ref find_step(axo__core *core, axo_ref at, axo__segment segment, int kind)
{
    const axo__cell *cell;
    switch (kind) {
    case FIND_NAME:
        return axo__names_find(&core->names, at, segment.text, segment.length);
    case FIND_ANONYMOUS:
        return find_anonymous(core, at, segment);
    case FIND_UP:
        cell = axo__table_find(&core->table, at);
        if (cell == NULL)
            return axo_ref_none();
        return cell->parent != 0 ? find_parent(cell) : at; /* the root has no parent: ".." stays */
    default:
        return at;
    }
}

axo_status axo__find_walk(const axo__find_from *from, const char *path, axo__pattern *pattern)
{
    axo__core *core = from->core;
    axo_ref at = core->system->guardians[AXO_GUARDIAN_ROOT];
    *pattern = (axo__pattern){.rest = NULL};
    bool absolute = path[0] == '/';
    if (!absolute && from->cell == NULL)
        return AXO_ENAME;
    if (absolute)
        path++;
    else
        at = axo__cell_ref(from->cell);
    /* The whole path is checked even when the walk has failed or met a wildcard: AXO_ENAME is the
     * answer to a text, whatever actors live. */
    for (bool more = path[0] != 0 || !absolute; more;) {
        axo__segment segment = {.text = path, .length = strcspn(path, "/")};
        int kind = find_kind(segment);
        /* ".." behind a wildcard would make the match depend on more than the chain of parents. */
        if (kind == FIND_BAD || (kind == FIND_UP && pattern->rest != NULL))
            return AXO_ENAME;
        if (kind == FIND_WILD && pattern->rest == NULL)
            pattern->rest = path;
        else if (pattern->rest == NULL && !axo_ref_is_none(at))
            at = find_step(core, at, segment, kind);
        path += segment.length;
        pattern->end = path;
        more = *path++ == '/';
    }
    pattern->base = at;
    return AXO_OK;
}

/* Matches with '*' for any number of characters and '?' for one. Only the last '*' is tried again,
 * which is enough for a match and bounds the work at length times length. */
static bool find_matches(axo__segment pattern, const char *text, size_t length)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = SIZE_MAX;
    size_t star_t = 0;
    while (t < length) {
        if (p < pattern.length && pattern.text[p] == '*') {
            star = p++;
            star_t = t;
        } else if (p < pattern.length && (pattern.text[p] == '?' || pattern.text[p] == text[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++star_t;
        } else {
            return false;
        }
    }
    while (p < pattern.length && pattern.text[p] == '*')
        p++;
    return p == pattern.length;
}

/* Compares a segment with the cell's own name, or with its "$" form. */
static bool find_cell_matches(const axo__cell *cell, axo__segment segment)
{
    const axo__name *name = axo__cell_name(cell);
    char text[24];
    if (name != NULL)
        return find_matches(segment, name->text, name->length);
    int length = snprintf(text, sizeof text, AXO__ANONYMOUS, axo__cell_ref(cell).bits);
    return find_matches(segment, text, (size_t)length);
}

/* Whether the cell's name leads to this cell: while an actor ends, its successor of the same name
 * may be in the table beside it, and a path has one answer. */
static bool find_is_bound(axo__core *core, const axo__cell *cell)
{
    const axo__name *name = axo__cell_name(cell);
    if (name == NULL)
        return true;
    axo_ref found = axo__names_find(&core->names, find_parent(cell), name->text, name->length);
    return axo_ref_equal(found, axo__cell_ref(cell));
}

/* The segment that ends at *end. *end moves to the end of the segment before; NULL: this was the
 * first segment. */
static axo__segment find_last(const axo__pattern *pattern, const char **end)
{
    const char *from = *end;
    AXO_DEBUG_ASSERT(from > pattern->rest);
    while (from > pattern->rest && from[-1] != '/')
        from--;
    axo__segment segment = {.text = from, .length = (size_t)(*end - from)};
    *end = from > pattern->rest ? from - 1 : NULL;
    return segment;
}

/* Compares from the last segment and the actor itself upwards: most cells fail at their own
 * name. */
static bool find_is_match(axo__core *core, const axo__pattern *pattern, const axo__cell *base,
                          const axo__cell *cell, uint64_t *steps)
{
    const axo__cell *at = cell;
    for (const char *end = pattern->end; end != NULL;) {
        axo__segment segment = find_last(pattern, &end);
        (*steps)++;
        if (find_is(segment, "."))
            continue;
        AXO_DEBUG_ASSERT(at != NULL);
        if (at->parent == 0 || !find_cell_matches(at, segment))
            return false;
        at = axo__cell_parent(at);
    }
    return at == base && find_is_bound(core, cell);
}

bool axo__find_scan(axo__core *core, const axo__pattern *pattern, uint32_t *slot, uint64_t steps,
                    axo__find_visit visit, void *user)
{
    const axo__cell *base = axo__table_find(&core->table, pattern->base);
    /* Pairs with the store release that publishes a chunk ([T1] of cell/table.h): every slot below
     * `all` has its cell. */
    uint32_t all = axo__a32_load_acquire(&core->table.slots); /* [T2] */
    uint64_t made = 0;
    if (base == NULL)
        return false;
    for (; *slot < all && made < steps; (*slot)++, made++) {
        const axo__cell *cell = axo__table_in(&core->table, *slot);
        if (axo__cell_lives(cell) && find_is_match(core, pattern, base, cell, &made))
            visit(user, axo__cell_ref(cell));
    }
    return *slot < all;
}

axo_status axo__find_sibling(axo__core *core, axo_ref parent, const char *name, axo__moment now,
                             axo_ref *out)
{
    *out = axo__names_own(&core->names, parent, name, now);
    const axo__cell *cell = axo__table_find(&core->table, *out);
    if (cell == NULL) {
        /* An outside caller may try again once the ended child's name is free; the parent's own
         * callback is told AXO_EEXIST and keeps seeing the name taken. */
        if (now.who == NULL)
            *out = axo_ref_none();
        return AXO_EEXIST;
    }
    /* Between the taking of a directive and the TERMINATING bit a child's word shows neither; its
     * parent's record does. */
    bool stops = (now.who != NULL && axo__cell_cold(cell)->stopping) ||
                 (axo__state_look(&cell->state) & AXO__TERMINATING) != 0 ||
                 (axo__directives_look(&cell->directives) & AXO__STOPS) != 0;
    return stops ? AXO_EEXIST : AXO_OK;
}
