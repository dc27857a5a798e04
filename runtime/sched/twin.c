/* twin.c - the handler's mark and entries, and those of another copy. */
#include "sched/twin.h"

#include <string.h>

#include "sched/walk.h"

#if AXO__WALKS
#include <dlfcn.h>

#define TWIN_MARK "axo contain 1"
#define TWIN_AT   2  /* of the mark, behind a jump over it */
#define TWIN_STEP 16
#define TWIN_LEFT 3  /* steps to the call that is no handler */

/* The last entry gives back SIGURG and then the other signals: endless.h, trap.h. The other copy
 * may be another version, so what stands here, and where, changes with the mark. */
__asm__(".pushsection .text\n.balign 16\n.hidden axo__twin_entry\n.globl axo__twin_entry\n"
        ".type axo__twin_entry,@function\naxo__twin_entry:\n.cfi_startproc\n"
        "\t.byte 0xeb, 0x4e\n\t.asciz \"" TWIN_MARK "\"\n"
        "\tmovl $1, %ecx\n\tjmp axo__trap_handle\n\t.balign 16\n"
        "\tmovl $2, %ecx\n\tjmp axo__trap_handle\n\t.balign 16\n"
        "\tsubq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall axo__endless_rest\n"
        "\taddq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\tjmp axo__trap_rest\n\t.balign 16\n"
        "\txorl %ecx, %ecx\n\tjmp axo__trap_handle\n"
        ".cfi_endproc\n.size axo__twin_entry,.-axo__twin_entry\n.popsection\n");

static uintptr_t twin_at(const struct sigaction *action, uint32_t steps)
{
    uintptr_t at;
    memcpy(&at, &action->sa_sigaction, sizeof at);
    return at + (uintptr_t)steps * TWIN_STEP;
}

/* A handler of a module begins with code, and what is so far from a multiple of 16 is on its page:
 * it can be read. */
bool axo__twin_is(const struct sigaction *action)
{
    static const char mark[] = TWIN_MARK;
    struct dl_find_object found;
    const uintptr_t at = twin_at(action, 0);
    if ((action->sa_flags & SA_SIGINFO) == 0 || at % TWIN_STEP != 0 ||
        _dl_find_object((void *)at, &found) != 0)
        return false;
    return memcmp((const char *)at + TWIN_AT, mark, sizeof mark) == 0;
}

void axo__twin_pass(const struct sigaction *before, axo__twin_how how, int number, siginfo_t *info,
                    void *context)
{
    const uintptr_t at = twin_at(before, (uint32_t)how);
    void (*entry)(int, siginfo_t *, void *);
    memcpy(&entry, &at, sizeof entry);
    entry(number, info, context);
}

void axo__twin_left(const struct sigaction *before)
{
    const uintptr_t at = twin_at(before, TWIN_LEFT);
    void (*left)(void);
    memcpy(&left, &at, sizeof left);
    left();
}

/* The module is there, so no file is loaded; of the program itself there is nothing to keep. By its
 * name, since the linker warns of a call in a static program, which never comes here. */
void axo__twin_stay(void)
{
    Dl_info where;
    const uintptr_t at = (uintptr_t)&axo__twin_entry;
    void *(*load)(const char *, int) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "dlopen");
    memcpy(&load, &found, sizeof load);
    if (load != NULL && dladdr((const void *)at, &where) != 0)
        (void)load(where.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}
#endif
