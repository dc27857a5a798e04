/* walk.c - the stack of a crash. Nothing here takes a lock or memory: _Unwind_Backtrace finds its
 * tables by _dl_find_object, which is for signal handlers. */
#include "sched/walk.h"

#include "base/border.h"
#include "os/os.h"

const char *axo__verdict_text(uint32_t verdict)
{
    static const char *const texts[] = {
#define WALK_TEXT(word, text) text,
        AXO__VERDICT_LIST(WALK_TEXT)
#undef WALK_TEXT
    };
    return verdict < sizeof texts / sizeof texts[0] ? texts[verdict] : "?";
}

#if AXO__WALKS
#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#define WALK_FRAMES_MAX (UINT32_C(1) << 21)
#define WALK_TRUSTED    64

/* The bounds of the library's code, by the linker. NULL: it was built without its section. */
extern const char __start_axo_text[] __attribute__((weak));
extern const char __stop_axo_text[] __attribute__((weak));

/* Where the reads of axo__read_8 and axo__read_16 stand: each entry says how far from itself. */
extern const int32_t __start_axo_reads[] __attribute__((weak));
extern const int32_t __stop_axo_reads[] __attribute__((weak));

/* A sanitizer's run time, if there is one in the program. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));

/* Of axo-lockcount.o, if the program has it: tools/lockcount. */
extern uint32_t axo_lockcount_held(void) __attribute__((weak));

/* Functions of libc that hold nothing and keep nothing half-done; behind NULL those that raise. */
static const char *const walk_names[] = {
    "memcpy", "memmove", "memset", "memcmp", "memchr", "memrchr", "rawmemchr", "memmem", "mempcpy",
    "memccpy", "strlen", "strnlen", "strcpy", "strncpy", "stpcpy", "stpncpy", "strcat", "strncat",
    "strcmp", "strncmp", "strcasecmp", "strncasecmp", "strchr", "strrchr", "strchrnul", "strstr",
    "strcasestr", "strspn", "strcspn", "strpbrk", "strtok_r", "strsep", "bcmp", "wcslen", "wcscmp",
    "wcschr", "wmemcpy", "wmemset", "__memcpy_chk", "__memmove_chk", "__memset_chk",
    "__mempcpy_chk", "__strcpy_chk", "__strncpy_chk", "__stpcpy_chk", "__strcat_chk",
    "__strncat_chk", "__chk_fail", "bsearch", "qsort", "qsort_r",
    NULL, "abort", "raise", "__assert_fail", "__assert_perror_fail", "__assert", "__chk_fail",
    "__memcpy_chk", "__memmove_chk", "__memset_chk", "__mempcpy_chk", "__strcpy_chk",
    "__strncpy_chk", "__stpcpy_chk", "__strcat_chk", "__strncat_chk"};
#define WALK_NAMES (sizeof walk_names / sizeof walk_names[0])

/* Functions that hold a lock or have their lists half-changed, wherever they are called from: qsort
 * and assert call them. */
static const char *const walk_allocators[] = {
    "malloc", "free", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "valloc",
    "pvalloc", "reallocarray"};
#define WALK_ALLOCATORS (sizeof walk_allocators / sizeof walk_allocators[0])

static uintptr_t walk_functions[WALK_NAMES];
static uintptr_t walk_holders[2 * WALK_ALLOCATORS]; /* libc's, and what stands in their place */
static const void *walk_libc;    /* modules, by their link maps */
static const void *walk_program;
static const void *walk_loader;
static axo__aptr walk_trusted[WALK_TRUSTED];
static axo__os_mutex walk_mutex = {.mutex = PTHREAD_MUTEX_INITIALIZER}; /* for writers of these */

static const void *walk_module(uintptr_t pc)
{
    struct dl_find_object found;
    return _dl_find_object((void *)pc, &found) == 0 ? found.dlfo_link_map : NULL;
}

static bool walk_is_runtime(uintptr_t pc)
{
    return pc >= (uintptr_t)__start_axo_text && pc < (uintptr_t)__stop_axo_text;
}

/* What is known of a function of libc, by its start; 0: nothing, so it may hold a lock. */
enum {
    WALK_PURE = 1,  /* it holds nothing and keeps nothing half-done */
    WALK_RAISES = 2 /* it raises: always, or if it is pure when what it is given is wrong */
};

static uint32_t walk_traits(uintptr_t start)
{
    uint32_t traits = 0;
    uint32_t trait = WALK_PURE;
    for (size_t i = 0; i < WALK_NAMES && start != 0; i++) {
        if (walk_names[i] == NULL)
            trait = WALK_RAISES;
        else if (walk_functions[i] == start)
            traits |= trait;
    }
    return traits;
}

static bool walk_is_holder(uintptr_t start)
{
    for (size_t i = 0; i < 2 * WALK_ALLOCATORS; i++) {
        if (walk_holders[i] == start && start != 0)
            return true;
    }
    return false;
}

static bool walk_is_read(uintptr_t pc)
{
    for (const int32_t *it = __start_axo_reads; it < __stop_axo_reads; it++) {
        if ((uintptr_t)it + (uintptr_t)(intptr_t)*it == pc)
            return true;
    }
    return false;
}

static bool walk_is_own(const void *module, const void *own)
{
    if (module == NULL)
        return false;
    if (module == walk_program || module == own)
        return true;
    for (uint32_t i = 0; i < WALK_TRUSTED; i++) {
        if (axo__aptr_load_relaxed(&walk_trusted[i]) == module)
            return true;
    }
    return false;
}

typedef enum walk_part { WALK_NOTHING, WALK_OWN, WALK_LIBC, WALK_COPY } walk_part;

typedef struct walk_state {
    const axo__walked *from;
    axo_crash *crash;
    const void *own;
    uintptr_t entry; /* of the libc function that the program's code has called, so far */
    walk_part last;
    bool found;      /* past the handler's frames */
    bool within;     /* the program's code was seen */
    axo__verdict verdict;
} walk_state;

static _Unwind_Reason_Code walk_end(walk_state *it, axo__verdict verdict)
{
    it->verdict = verdict;
    return _URC_END_OF_STACK;
}

/* The first function of the library from within: the callback's caller, or none that may be left.
 * Between its note and the callback no other function of the program is called but aside. */
static _Unwind_Reason_Code walk_runtime(walk_state *it, struct _Unwind_Context *context)
{
    const char *note = _Unwind_GetLanguageSpecificData(context);
    bool leavable = it->last == WALK_OWN && note == axo__leavable;
    return walk_end(it, leavable ? AXO__VERDICT_CONTAINED : AXO__VERDICT_RUNTIME);
}

/* The library reads what the program has handed over: by one of its reads, or by memcpy, which
 * axo__copy_in has called; or a function that is on the way there, and nowhere else. What it writes
 * is its own, and never the program's fault. */
static bool walk_is_copy(const walk_state *it, struct _Unwind_Context *context, uintptr_t look)
{
    const char *note = _Unwind_GetLanguageSpecificData(context);
    if (note != axo__copying || it->from->sent || it->from->writes || it->from->interrupted)
        return false;
    switch (it->last) {
    case WALK_NOTHING:
        return walk_is_read(look);
    case WALK_LIBC:
        return !it->within && walk_traits(it->entry) != 0;
    case WALK_COPY:
        return true;
    case WALK_OWN:
        break;
    }
    return false;
}

/* What of libc the program's code has called here, if anything. A signal that was sent is its own
 * only if it comes out of what raises. */
static axo__verdict walk_called(const walk_state *it)
{
    bool sent = it->from->sent && !it->within;
    if (it->last != WALK_LIBC)
        return it->last == WALK_NOTHING && sent ? AXO__VERDICT_SENT : AXO__VERDICT_CONTAINED;
    uint32_t traits = walk_traits(it->entry);
    if (traits == 0)
        return AXO__VERDICT_LIBRARY;
    const bool itself = traits == WALK_RAISES && !it->from->sent && !it->within;
    if (itself || (it->from->interrupted && (traits & WALK_RAISES) != 0))
        return AXO__VERDICT_LIBRARY; /* abort and what assert prints with have locks */
    return sent && (traits & WALK_RAISES) == 0 ? AXO__VERDICT_SENT : AXO__VERDICT_CONTAINED;
}

static _Unwind_Reason_Code walk_look(walk_state *it, struct _Unwind_Context *context,
                                     uintptr_t look)
{
    if (walk_is_runtime(look)) {
        if (!walk_is_copy(it, context, look))
            return walk_runtime(it, context);
        it->last = WALK_COPY;
        return _URC_NO_REASON;
    }
    const void *module = walk_module(look);
    const uintptr_t start = _Unwind_GetRegionStart(context);
    if (walk_is_holder(start))
        return walk_end(it, AXO__VERDICT_LIBRARY);
    if (module == walk_libc) {
        if (it->from->interrupted && it->last == WALK_LIBC && !it->within)
            return walk_end(it, AXO__VERDICT_LIBRARY); /* what it has called may hold something */
        it->last = WALK_LIBC;
        it->entry = start;
        return _URC_NO_REASON;
    }
    axo__verdict called = walk_called(it);
    if (called != AXO__VERDICT_CONTAINED)
        return walk_end(it, called);
    if (!walk_is_own(module, it->own))
        return walk_end(it, AXO__VERDICT_FOREIGN);
    it->last = WALK_OWN;
    it->within = true;
    return _URC_NO_REASON;
}

/* A return address is behind the call: the call itself is looked up. `exact`: the frame was
 * interrupted, and its address is the instruction's. */
static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *arg)
{
    walk_state *it = arg;
    axo_crash *crash = it->crash;
    int exact = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &exact);
    if (!it->found && (exact == 0 || pc != it->from->pc))
        return _URC_NO_REASON;
    if (it->found && exact != 0)
        return walk_end(it, AXO__VERDICT_LIBRARY); /* a handler of the program's is inside */
    it->found = true;
    if (pc == 0 || ++crash->depth > WALK_FRAMES_MAX)
        return walk_end(it, AXO__VERDICT_UNWIND);
    if (crash->frame_count < AXO_CRASH_FRAMES)
        crash->frames[crash->frame_count++] = pc;
    return walk_look(it, context, exact != 0 ? pc : pc - 1);
}

axo__verdict axo__walk(const axo__walked *from, axo_crash *crash)
{
    walk_state it = {.from = from, .crash = crash, .own = walk_module((uintptr_t)from->own),
               .verdict = AXO__VERDICT_UNWIND};
    (void)_Unwind_Backtrace(walk_frame, &it);
    return it.verdict;
}

const struct robust_list *axo__walk_held(void)
{
    struct robust_list_head *head = NULL;
    size_t size = 0;
    if (syscall(SYS_get_robust_list, 0, &head, &size) != 0 || head == NULL)
        return NULL;
    return &head->list;
}

/* A list ends where it began. */
bool axo__walk_holds(const struct robust_list *held)
{
    return held != NULL && held->next != NULL && held->next != held;
}

bool axo__walk_locks(void)
{
    return axo_lockcount_held != NULL && axo_lockcount_held() > 0;
}

/* ---- before the first ---- */

static _Unwind_Reason_Code walk_warm(struct _Unwind_Context *context, void *arg)
{
    (void)context;
    (void)arg;
    return _URC_NO_REASON;
}

/* The program's own sanitizer wants its reports; the library's own build knows its tricks. */
static bool walk_sanitized(void)
{
#ifdef AXO_ASAN
    bool address = false;
#else
    bool address = __asan_init != NULL;
#endif
    return address || __tsan_init != NULL || __msan_init != NULL;
}

/* RTLD_NEXT: libc's functions themselves, not one that the program has put in their place, nor its
 * table of jumps to them. Under the mutex. */
static bool walk_find(void)
{
    if (__start_axo_text == NULL || walk_sanitized())
        return false;
    const void *program = walk_module((uintptr_t)getauxval(AT_ENTRY));
    const void *libc = walk_module((uintptr_t)dlsym(RTLD_NEXT, "abort"));
    if (libc == NULL || program == NULL || libc == program)
        return false; /* a static libc cannot be told from the program */
    for (size_t i = 0; i < WALK_NAMES; i++) {
        uintptr_t at = walk_names[i] != NULL ? (uintptr_t)dlsym(RTLD_NEXT, walk_names[i]) : 0;
        walk_functions[i] = at != 0 && walk_module(at) == libc ? at : 0;
    }
    for (size_t i = 0; i < WALK_ALLOCATORS; i++) {
        walk_holders[2 * i] = (uintptr_t)dlsym(RTLD_NEXT, walk_allocators[i]);
        walk_holders[2 * i + 1] = (uintptr_t)dlsym(RTLD_DEFAULT, walk_allocators[i]);
    }
    walk_program = program;
    walk_libc = libc;
    walk_loader = walk_module((uintptr_t)getauxval(AT_BASE));
    (void)_Unwind_Backtrace(walk_warm, NULL); /* what it looks up once */
    return true;
}

bool axo__walk_ready(void)
{
    axo__os_mutex_lock(&walk_mutex);
    bool ready = walk_find();
    axo__os_mutex_unlock(&walk_mutex);
    return ready;
}

/* Under the mutex. */
static axo_status walk_add(const void *module)
{
    for (uint32_t i = 0; i < WALK_TRUSTED; i++) {
        const void *there = axo__aptr_load_relaxed(&walk_trusted[i]);
        if (there == NULL)
            axo__aptr_store_relaxed(&walk_trusted[i], (void *)(uintptr_t)module);
        if (there == NULL || there == module)
            return AXO_OK;
    }
    return AXO_ENOMEM;
}

/* Under the mutex. */
static axo_status walk_trust(const void *address)
{
    if (walk_libc == NULL && !walk_find())
        return AXO_ENOTSUP;
    const void *module = walk_module((uintptr_t)address);
    if (module == NULL || module == walk_libc || module == walk_loader ||
        walk_is_runtime((uintptr_t)address))
        return AXO_EINVAL;
    const void *runtime = walk_module((uintptr_t)__start_axo_text);
    if (module == runtime && runtime != walk_program)
        return AXO_EINVAL;
    return walk_add(module);
}

axo_status axo__walk_trust(const void *address)
{
    axo__os_mutex_lock(&walk_mutex);
    axo_status status = walk_trust(address);
    axo__os_mutex_unlock(&walk_mutex);
    return status;
}
#else
bool axo__walk_ready(void)
{
    return false;
}

axo__verdict axo__walk(const axo__walked *from, axo_crash *crash)
{
    (void)from;
    (void)crash;
    return AXO__VERDICT_UNWIND;
}

axo_status axo__walk_trust(const void *address)
{
    (void)address;
    return AXO_ENOTSUP;
}

const struct robust_list *axo__walk_held(void)
{
    return NULL;
}

bool axo__walk_holds(const struct robust_list *held)
{
    (void)held;
    return false;
}

bool axo__walk_locks(void)
{
    return false;
}
#endif
