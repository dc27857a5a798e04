/* probe.h - the places where a tracer may look in: static probes (USDT) of the provider `axo`, for
 * bpftrace, perf, systemtap and gdb. README.md lists them with their arguments.
 *
 * A probe is a nop and a note in the ELF file that says where it is and in which registers its
 * arguments are. The header is of Debian's systemtap-sdt-dev; without it, or with AXO_NO_PROBES,
 * probes are nothing. No program needs anything of it when it runs.
 *
 * An argument is a value that the code has at hand. What would have to be computed for the probe
 * alone is not passed where each message goes by: the tracer can compute it.
 */
#ifndef AXO__BASE_PROBE_H
#define AXO__BASE_PROBE_H

#if !defined(AXO_NO_PROBES) && defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define AXO__PROBES 1
#endif
#endif

/* The header's own macros leave a variadic argument out, and clang says so at each use of them. */
#if defined(AXO__PROBES) && defined(__clang__)
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#ifdef AXO__PROBES
#define AXO__PROBE2(name, a, b) STAP_PROBE2(axo, name, a, b)
#define AXO__PROBE3(name, a, b, c) STAP_PROBE3(axo, name, a, b, c)
#define AXO__PROBE4(name, a, b, c, d) STAP_PROBE4(axo, name, a, b, c, d)
#else
/* The arguments are compiled and make no code. */
#define AXO__PROBE2(name, a, b) ((void)sizeof(a), (void)sizeof(b))
#define AXO__PROBE3(name, a, b, c) ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c))
#define AXO__PROBE4(name, a, b, c, d)                                                              \
    ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c), (void)sizeof(d))
#endif

#endif
