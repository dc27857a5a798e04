/* init.h - how a struct that the program fills is made, in C and in C++.
 *
 * Each has a macro and a function, and both make the same: zeros, which are the defaults, behind
 * its size.
 *
 *     axo_options options = AXO_OPTIONS(.workers = 2);        C, and C++ from C++20 on
 *     axo_options options = AXO_OPTIONS();                    any C++ too
 *     axo_options options;                                    any C++, and in templates
 *     axo_options_init(&options);
 *     options.workers = 2;
 *
 * In C the macros are initialisers, and a compound literal is (axo_options)AXO_OPTIONS(...). In C++
 * they are values; from C++20 on fields are named in the order of the header. The functions take
 * memory of any content, not NULL.
 *
 * All of axo compiles without a warning, in C11 and C17 and in C++11 to C++20, with gcc and clang:
 * the headers, and a program's use of their macros and inline functions, under -Wall -Wextra
 * -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-qual -Wcast-align, in C++ also
 * -Wold-style-cast -Wzero-as-null-pointer-constant -Wuseless-cast. Two things are beyond a header:
 * fields named before C++20 (-Wpedantic of gcc), and, until gcc mends it, the macros in a template
 * (-Wmissing-field-initializers): there it is the function. */
#ifndef AXO_INIT_H
#define AXO_INIT_H

/* A cast that C++ does not call old. */
#ifdef __cplusplus
#define AXO_CAST(type, value) (static_cast<type>(value))
#else
#define AXO_CAST(type, value) ((type)(value))
#endif

/* A struct with the fields that are named, the rest zero: what the macros of the structs stand on.
 * C++ compilers warn of those that are not; gcc leaves that out where the closing brace is of a
 * system header, as this is from here on, clang where it is told to. */
#ifndef __cplusplus
#define AXO_VALUE(type, ...) {__VA_ARGS__}
#else
#pragma GCC system_header
#ifdef __clang__
#define AXO_VALUE(type, ...)                                                                       \
    _Pragma("clang diagnostic push")                                                               \
    _Pragma("clang diagnostic ignored \"-Wmissing-field-initializers\"")                           \
    type{__VA_ARGS__}                                                                              \
    _Pragma("clang diagnostic pop")
#else
#define AXO_VALUE(type, ...) type{__VA_ARGS__}
#endif
#endif

/* The same of one that begins with its size. */
#define AXO_INIT(type, ...) AXO_VALUE(type, .size = sizeof(type), __VA_ARGS__)

#endif
