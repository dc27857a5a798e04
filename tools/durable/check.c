/* check.c - whether a file is what LMDB has written: it believes what stands in its pages, and a
 * torn or overwritten one would make it read beyond them. So before it opens the file each page
 * that can be reached is looked at: that it is in the file, says its own number, has its nodes
 * within it, their keys in order, and that no page has two uses, one of which may be "free".
 *
 * The format is that of LMDB 0.9, of data version 1: two meta pages, of which the one with the
 * greater transaction counts; two trees in it, of the free pages and of the named databases; the
 * records of these lead to more trees. Where LMDB has a field that this page does not need, it is
 * not looked at. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lmdb_base.h"
#include "store.h"

#define CHECK_MAGIC UINT32_C(0xbeefc0de)
#define CHECK_NONE  UINT64_MAX
enum {
    CHECK_BRANCH = 1,
    CHECK_LEAF = 2,
    CHECK_OVERFLOW = 4,
    CHECK_META = 8,
    CHECK_KINDS = 0x6f,
    CHECK_BIG = 1,
    CHECK_SUB = 2,
    CHECK_DUPLICATES = 4,
    CHECK_DEPTH = 32
};

typedef struct check_page {
    uint64_t number;
    uint16_t pad;
    uint16_t flags;
    uint16_t lower; /* with `upper`: of an overflow, how many pages */
    uint16_t upper;
} check_page;

typedef struct check_node {
    uint16_t low;
    uint16_t high;
    uint16_t flags;
    uint16_t key_size;
} check_node;

typedef struct check_tree {
    uint32_t pad; /* of the first: the size of a page */
    uint16_t flags;
    uint16_t depth;
    uint64_t branches;
    uint64_t leaves;
    uint64_t overflows;
    uint64_t entries;
    uint64_t root;
} check_tree;

typedef struct check_meta {
    uint32_t magic;
    uint32_t version;
    uint64_t address;
    uint64_t map_bytes;
    check_tree trees[2];
    uint64_t last;
    uint64_t transaction;
} check_meta;
_Static_assert(sizeof(check_page) == 16 && sizeof(check_node) == 8, "as LMDB has them");
_Static_assert(sizeof(check_tree) == 48 && sizeof(check_meta) == 136, "as LMDB has them");

typedef struct check {
    const unsigned char *file;
    uint64_t pages; /* whole ones in the file */
    size_t page;    /* bytes of one */
    uint64_t last;
    unsigned char *used; /* a bit for each page up to `last` that is in the file */
    bool free_pages;     /* it is their tree */
    check_tree seen;     /* what was counted of the tree in hand */
    char *text;
    size_t size;
} check;

static bool check_bad(check *c, uint64_t page, const char *what)
{
    (void)snprintf(c->text, c->size, "the file is torn: page %llu: %s", (unsigned long long)page,
                   what);
    return false;
}

static bool check_use(check *c, uint64_t page, uint64_t count)
{
    if (page < 2 || page > c->last || count > c->last - page + 1)
        return check_bad(c, page, "no such page");
    for (uint64_t i = page; i < page + count && i < c->pages; i++) {
        if ((c->used[i / 8] >> i % 8 & 1) != 0)
            return check_bad(c, i, "used twice");
        c->used[i / 8] |= (unsigned char)(1U << i % 8);
    }
    return true;
}

static bool check_load(check *c, uint64_t number, check_page *out)
{
    if (number >= c->pages)
        return check_bad(c, number, "beyond the end of the file");
    memcpy(out, c->file + number * c->page, sizeof *out);
    if (out->number != number)
        return check_bad(c, number, "it says that it is another");
    return true;
}

/* Pages for one value that fits no page. */
static bool check_overflow(check *c, uint64_t number, uint64_t bytes)
{
    check_page head;
    uint32_t count;
    if (!check_load(c, number, &head))
        return false;
    memcpy(&count, c->file + number * c->page + 12, sizeof count);
    if ((head.flags & CHECK_KINDS) != CHECK_OVERFLOW)
        return check_bad(c, number, "no page of a large value");
    if (count == 0 || bytes + sizeof head > count * (uint64_t)c->page)
        return check_bad(c, number, "too few pages for its value");
    if (number + count > c->pages)
        return check_bad(c, number, "a large value is beyond the end of the file");
    c->seen.overflows += count;
    return check_use(c, number, count);
}

static bool check_tree_walk(check *c, const check_tree *tree);

/* A list of pages that are free: how many, and their numbers, falling. */
static bool check_free_list(check *c, uint64_t page, const unsigned char *value, uint64_t bytes)
{
    uint64_t count;
    uint64_t before = UINT64_MAX;
    if (bytes < sizeof count)
        return check_bad(c, page, "a list of free pages is cut");
    memcpy(&count, value, sizeof count);
    if (count > bytes / sizeof count - 1)
        return check_bad(c, page, "a list of free pages is cut");
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t number;
        memcpy(&number, value + i * sizeof number, sizeof number);
        if (number >= before)
            return check_bad(c, page, "a list of free pages is in disorder");
        before = number;
        if (!check_use(c, number, 1))
            return false;
    }
    return true;
}

/* A value in a leaf: where it is, and what it leads to. */
static bool check_value(check *c, uint64_t page, const check_node *node, const unsigned char *value,
                        size_t room)
{
    uint64_t bytes = node->low | (uint64_t)node->high << 16;
    if ((node->flags & CHECK_BIG) != 0) {
        uint64_t number;
        if (room < sizeof number)
            return check_bad(c, page, "a node is cut");
        memcpy(&number, value, sizeof number);
        if (!check_overflow(c, number, bytes))
            return false;
        value = c->file + number * c->page + sizeof(check_page);
    } else if (bytes > room) {
        return check_bad(c, page, "a node is cut");
    }
    if (c->free_pages)
        return check_free_list(c, page, value, bytes);
    if ((node->flags & CHECK_SUB) == 0)
        return true;
    check_tree tree;
    if (bytes != sizeof tree || (node->flags & CHECK_BIG) != 0)
        return check_bad(c, page, "a database has no record");
    memcpy(&tree, value, sizeof tree);
    const check_tree outer = c->seen;
    bool good = check_tree_walk(c, &tree);
    c->seen = outer;
    return good;
}

static bool check_is_above(const check *c, const unsigned char *key, size_t size,
                           const unsigned char *before, size_t before_size)
{
    if (c->free_pages) {
        uint64_t one;
        uint64_t other;
        memcpy(&one, before, sizeof one);
        memcpy(&other, key, sizeof other);
        return other > one;
    }
    size_t both = size < before_size ? size : before_size;
    int order = memcmp(key, before, both);
    return order != 0 ? order > 0 : size > before_size;
}

static bool check_walk(check *c, uint64_t number, uint16_t depth);

/* The nodes of a page: each within it, the keys rising. The first of a branch has none. */
static bool check_nodes(check *c, uint64_t number, const check_page *head, uint16_t depth)
{
    const unsigned char *page = c->file + number * c->page;
    const unsigned char *before = NULL;
    size_t before_size = 0;
    bool leaf = (head->flags & CHECK_KINDS) == CHECK_LEAF;
    size_t count = (head->lower - sizeof *head) / 2;
    if (count == 0 || (!leaf && count < 2))
        return check_bad(c, number, "a page without nodes");
    for (size_t i = 0; i < count; i++) {
        check_node node;
        uint16_t at;
        memcpy(&at, page + sizeof *head + 2 * i, sizeof at);
        if (at < head->upper || at % 2 != 0 || at + sizeof node > c->page)
            return check_bad(c, number, "a node is outside of it");
        memcpy(&node, page + at, sizeof node);
        const unsigned char *key = page + at + sizeof node;
        if (at + sizeof node + node.key_size > c->page)
            return check_bad(c, number, "a key is outside of it");
        bool first = !leaf && i == 0;
        if ((c->free_pages && !first && node.key_size != 8) || (leaf && node.key_size == 0))
            return check_bad(c, number, "a key of another size");
        if (before != NULL && !check_is_above(c, key, node.key_size, before, before_size))
            return check_bad(c, number, "keys in disorder");
        before = first ? NULL : key;
        before_size = node.key_size;
        if (leaf) {
            c->seen.entries++;
            if (!check_value(c, number, &node, key + node.key_size,
                             c->page - at - sizeof node - node.key_size))
                return false;
        } else if (!check_walk(c, node.low | (uint64_t)node.high << 16 | (uint64_t)node.flags << 32,
                               (uint16_t)(depth - 1))) {
            return false;
        }
    }
    return true;
}

static bool check_walk(check *c, uint64_t number, uint16_t depth)
{
    check_page head;
    if (!check_use(c, number, 1) || !check_load(c, number, &head))
        return false;
    unsigned kind = head.flags & CHECK_KINDS;
    if (kind != (depth == 1 ? CHECK_LEAF : CHECK_BRANCH))
        return check_bad(c, number, "a page of another kind");
    if (head.lower < sizeof head || head.lower % 2 != 0 || head.upper < head.lower ||
        head.upper > c->page)
        return check_bad(c, number, "bounds that cannot be");
    if (depth == 1)
        c->seen.leaves++;
    else
        c->seen.branches++;
    return check_nodes(c, number, &head, depth);
}

/* One of another program's, with several values for a key, is no store's: that is found later. */
static bool check_tree_walk(check *c, const check_tree *tree)
{
    c->seen = (check_tree){0};
    if ((tree->flags & CHECK_DUPLICATES) != 0)
        return true;
    if (tree->root == CHECK_NONE)
        return tree->entries == 0 || check_bad(c, 0, "a tree without a root");
    if (tree->depth == 0 || tree->depth > CHECK_DEPTH)
        return check_bad(c, tree->root, "a tree of a depth that cannot be");
    if (!check_walk(c, tree->root, tree->depth))
        return false;
    bool good = c->seen.branches == tree->branches && c->seen.leaves == tree->leaves &&
                c->seen.overflows == tree->overflows && c->seen.entries == tree->entries;
    return good || check_bad(c, tree->root, "a tree with other counts than it says");
}

static bool check_read_meta(check *c, uint64_t bytes, check_meta *out)
{
    check_page head;
    check_meta meta[2];
    for (int i = 0; i < 2; i++) {
        size_t at = (size_t)i * c->page;
        if (bytes < at + sizeof head + sizeof meta[i])
            return check_bad(c, (uint64_t)i, "beyond the end of the file");
        memcpy(&head, c->file + at, sizeof head);
        memcpy(&meta[i], c->file + at + sizeof head, sizeof meta[i]);
        if ((head.flags & CHECK_META) == 0 || meta[i].magic != CHECK_MAGIC)
            return check_bad(c, (uint64_t)i, "no page of a database's head");
        if ((meta[i].version & 0xffff) != 1)
            return true; /* LMDB says so itself */
        size_t page = meta[i].trees[0].pad;
        if (page < 512 || page > 65536 || (page & (page - 1)) != 0 || (i == 1 && page != c->page))
            return check_bad(c, (uint64_t)i, "pages of a size that cannot be");
        c->page = page;
    }
    *out = meta[meta[1].transaction > meta[0].transaction];
    return true;
}

static int check_file(check *c, uint64_t bytes)
{
    check_meta meta = {0};
    if (!check_read_meta(c, bytes, &meta))
        return MDB_CORRUPTED;
    if (meta.magic == 0)
        return 0;
    c->pages = bytes / c->page;
    c->last = meta.last;
    c->used = calloc(1, c->pages / 8 + 1);
    if (c->used == NULL)
        return ENOMEM;
    bool good = meta.last >= 1 && meta.last < UINT64_C(1) << 48;
    if (!good)
        (void)check_bad(c, 0, "no such last page");
    c->free_pages = true;
    good = good && check_tree_walk(c, &meta.trees[0]);
    c->free_pages = false;
    good = good && check_tree_walk(c, &meta.trees[1]);
    free(c->used);
    return good ? 0 : MDB_CORRUPTED;
}

int durable_check(const char *path, char *text, size_t size)
{
    struct stat stat;
    check c = {.text = text, .size = size};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    int error = fd < 0 || fstat(fd, &stat) != 0 ? errno : 0;
    if (error == 0 && stat.st_size > 0) {
        void *file = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        error = file == MAP_FAILED ? errno : 0;
        c.file = file;
        if (error == 0) {
            error = check_file(&c, (uint64_t)stat.st_size);
            (void)munmap(file, (size_t)stat.st_size);
        }
    }
    if (error != 0 && text[0] == 0)
        (void)snprintf(text, size, "%s: %s", path, mdb_strerror(error));
    if (fd >= 0)
        (void)close(fd);
    return error;
}
