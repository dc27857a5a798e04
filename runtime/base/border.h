/* border.h - where the library calls a function of the program: it comes back by returning, or the
 * process ends there.
 *
 * An exception of C++ that leaves such a function, and a thread that ends in one (pthread_exit), go
 * through the frames of the callers, one after the other. AXO_BORDER stands before each such call
 * and gives the frame that makes it a personality routine. The unwinder asks that routine before
 * anything is unwound: who catches above the library is never reached, and who catches below it is
 * not disturbed. It is a note in the unwind tables and no instruction.
 */
#ifndef AXO__BASE_BORDER_H
#define AXO__BASE_BORDER_H

#if defined(__GCC_HAVE_DWARF2_CFI_ASM)
#include <unwind.h>

/* Says where, and ends the process: system/border.c. Only the unwinder calls it. */
_Unwind_Reason_Code axo__border(int version, _Unwind_Action actions, _Unwind_Exception_Class what,
                                struct _Unwind_Exception *one, struct _Unwind_Context *context)
    __attribute__((used, visibility("hidden")));

/* 0x1b: an address relative to its place, in four bytes. */
#define AXO_BORDER() __asm__(".cfi_personality 0x1b, axo__border" ::)
#else
#define AXO_BORDER() ((void)0) /* no tables: nobody can unwind */
#endif

/* Ends the process, too: for a thread that is ended behind a frame without tables (compiled without
 * them, or made at run time). No frame is asked then, but what stands at the root of the callbacks
 * is called: axo__os_root. */
void axo__border_ended(void *unused) __attribute__((noreturn, visibility("hidden")));

#endif
