/* ck_version.h - the cross compiler's, for listings only: the order of Concurrency Kit 0.7.1 on
 * aarch64 is what base/config.h refuses; the functions that are listed are axo's own. */
#ifndef CK_VERSION_MAJOR
#define CK_VERSION_MAJOR 0
#endif
