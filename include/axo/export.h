/* export.h - how a name leaves the library. */
#ifndef AXO_EXPORT_H
#define AXO_EXPORT_H

#if defined(__GNUC__)
#ifdef __cplusplus /* to which no function of the library throws (axo.h): a call catches nothing */
#define AXO_API __attribute__((visibility("default"), nothrow))
#else
#define AXO_API __attribute__((visibility("default")))
#endif
#define AXO_NODISCARD __attribute__((warn_unused_result))
#define AXO_NORETURN __attribute__((noreturn))
#define AXO_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#define AXO_API
#define AXO_NODISCARD
#define AXO_NORETURN
#define AXO_PRINTF(format_at, first_at)
#endif

#ifdef __cplusplus
#define AXO_BEGIN_DECLS extern "C" {
#define AXO_END_DECLS }
#else
#define AXO_BEGIN_DECLS
#define AXO_END_DECLS
#endif

#endif
