/* ck_md.h - for listings only: as Debian's libck-dev of arm64 has it. What is installed is the
 * machine's own. */
#ifndef CK_MD_H
#define CK_MD_H

#define CK_MD_CACHELINE (64)
#define CK_MD_PAGESIZE (4096)
#define CK_MD_RTM_DISABLE
#define CK_MD_LSE_DISABLE
#define CK_MD_POINTER_PACK_DISABLE
#define CK_MD_VMA_BITS_UNKNOWN
#define CK_MD_RMO
#define CK_PR_ENABLE_DOUBLE
#define CK_VERSION "0.7.1"

#endif
