/* kit_family.c - families of puppets that are written down as a tree. */
#include "kit_inside.h"

#include <stdio.h>
#include <string.h>

/* Once to make the scripts, once to spawn them. */
typedef struct kit_walk {
    kit_family *family;
    const char *at;
    bool grow;
} kit_walk;

static void kit_walk_list(kit_walk *walk, kit_script *parent, bool boxed, bool asleep);

static void kit_option(kit_walk *walk, kit_script *script, const char *word, size_t length)
{
    static const char *const directives[] = {"resume", "restart", "stop", "escalate"};
    const char *const others[] = {"keep", "plain"};
    bool *const flags[] = {&script->keep_children, &script->plain};
    for (size_t i = 0; i < 4; i++) {
        if (strlen(directives[i]) == length && strncmp(directives[i], word, length) == 0) {
            script->directive = (axo_directive)(AXO_RESUME + i);
            return;
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if (strlen(others[i]) == length && strncmp(others[i], word, length) == 0) {
            *flags[i] = true;
            return;
        }
    }
    if (length == 3 && strncmp(word, "all", 3) == 0)
        script->strategy.scope = AXO_ALL_FOR_ONE;
    else if (length == 4 && strncmp(word, "rest", 4) == 0)
        script->strategy.scope = AXO_REST_FOR_ONE;
    else
        kit_fail(walk->family->of, "no option in a family: %s", word);
}

/* A boxed one's parent bears it itself, in its pre_start, behind the mark that is awaited. */
static void kit_born(kit_walk *walk, kit_script *parent, kit_script *child, bool boxed)
{
    kit *k = walk->family->of;
    char pattern[16];
    if (!boxed && parent == NULL)
        (void)kit_spawn(k, child);
    else if (!boxed)
        assert_int_equal(kit_spawn_child(k, parent, child, 0), AXO_OK);
    (void)snprintf(pattern, sizeof pattern, "%s.preStart", child->label);
    kit_await(k, pattern);
}

static void kit_made(kit_walk *walk, kit_script *parent, kit_script **script, char letter,
                     bool boxed)
{
    kit *k = walk->family->of;
    char *label = kit_alloc(k, 2);
    label[0] = letter;
    assert_null(*script);
    *script = kit_actor(k, label);
    for (size_t i = 0; boxed; i++) {
        assert_true(i < KIT_SPAWN_MAX);
        if (parent->pre_start.spawn[i] == NULL) {
            parent->pre_start.spawn[i] = *script;
            break;
        }
    }
}

/* `asleep`: it or who is above it has a minus, and nothing is spawned. */
static void kit_walk_node(kit_walk *walk, kit_script *parent, bool boxed, bool asleep)
{
    asleep = asleep || *walk->at == '-';
    walk->at += *walk->at == '-';
    char letter = *walk->at++;
    if (letter < 'a' || letter > 'z')
        kit_fail(walk->family->of, "no family: %s", walk->family->text);
    kit_script **script = &walk->family->all[letter - 'a'];
    if (!walk->grow)
        kit_made(walk, parent, script, letter, boxed);
    while (*walk->at == ':') {
        const char *word = walk->at + 1;
        size_t length = strcspn(word, ":,()[]");
        if (!walk->grow)
            kit_option(walk, *script, word, length);
        walk->at = word + length;
    }
    if (walk->grow && !asleep)
        kit_born(walk, parent, *script, boxed);
    if (*walk->at == '[')
        kit_walk_list(walk, *script, true, asleep);
    if (*walk->at == '(')
        kit_walk_list(walk, *script, false, asleep);
}

/* Stands on the bracket before it, and goes behind the one after it; all of the text has none. */
static void kit_walk_list(kit_walk *walk, kit_script *parent, bool boxed, bool asleep)
{
    do {
        walk->at += parent != NULL || *walk->at == ',';
        walk->at += *walk->at == ' ';
        kit_walk_node(walk, parent, boxed, asleep);
    } while (*walk->at == ',');
    if (*walk->at != (parent == NULL ? '\0' : boxed ? ']' : ')'))
        kit_fail(walk->family->of, "no family: %s", walk->family->text);
    walk->at += parent != NULL;
}

kit_family kit_plan(kit *k, const char *text)
{
    kit_family family = {.of = k, .text = text};
    kit_walk walk = {.family = &family, .at = text};
    kit_walk_list(&walk, NULL, false, false);
    return family;
}

void kit_grow(const kit_family *family)
{
    kit_family copy = *family;
    kit_walk walk = {.family = &copy, .at = copy.text, .grow = true};
    kit_walk_list(&walk, NULL, false, false);
}

kit_family kit_tree(kit *k, const char *text)
{
    kit_family family = kit_plan(k, text);
    kit_grow(&family);
    return family;
}
