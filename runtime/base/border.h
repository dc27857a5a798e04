/* border.h - where the library calls a function of the program: that function comes back by
 * returning, or the process ends there.
 *
 * An exception of C++ that leaves such a function, and a thread that ends in one (pthread_exit), go
 * through the frames of the callers, one after the other. AXO_BORDER stands before each such call
 * and gives the calling frame a personality routine. The unwinder asks that routine before anything
 * is unwound: a handler above the library is never reached, and a handler below it is not
 * disturbed. The border is a note in the unwind tables and no instruction.
 */
#ifndef AXO__BASE_BORDER_H
#define AXO__BASE_BORDER_H

#if defined(__GCC_HAVE_DWARF2_CFI_ASM)
#include <unwind.h>

/* Prints which callback the exception or the thread's end has left, and ends the process:
 * system/border.c. Only the unwinder calls it. */
_Unwind_Reason_Code axo__border(int version, _Unwind_Action actions, _Unwind_Exception_Class what,
                                struct _Unwind_Exception *one, struct _Unwind_Context *context)
    __attribute__((used, visibility("hidden")));

/* 0x1b: an address relative to its place, in four bytes. */
#define AXO_BORDER() __asm__(".cfi_personality 0x1b, axo__border" ::)

/* As AXO_BORDER, before the call of a callback, which axo_throw may leave. What the function's
 * tables point to tells a walk up the stack so (sched/walk.h): such a function calls nothing else
 * of the program but aside (base/aside.h). */
extern const char axo__leavable[] __attribute__((visibility("hidden")));
#define AXO_CALLBACK_BORDER()                                                                      \
    __asm__(".cfi_personality 0x1b, axo__border\n\t.cfi_lsda 0x1b, axo__leavable" ::)

/* Before the library reads what the program hands over: such a read may crash, and its function
 * has nothing half-done then that a landing does not tidy up, nor have those that have called it,
 * which all have this note (base/copy_in.h). */
extern const char axo__copying[] __attribute__((visibility("hidden")));
#define AXO_COPY_BORDER() __asm__(".cfi_lsda 0x1b, axo__copying" ::)
#else
#define AXO_COPY_BORDER() ((void)0)
#define AXO_BORDER() ((void)0) /* without tables no thread can unwind */
#define AXO_CALLBACK_BORDER() ((void)0)
#endif

/* Ends the process, too: for a thread that is ended behind a frame without tables (compiled without
 * them, or made at run time). The unwinder asks no such frame, but it does call the clean-up that
 * stands at the root of the callbacks: axo__os_root. */
void axo__border_ended(void *unused) __attribute__((noreturn, visibility("hidden")));

#endif
