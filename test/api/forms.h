/* forms.h - what forms.c and forms.cpp share: each compiles all of this with its own language, and
 * forms.inc, which tools/check_structs.py --forms writes, names every struct, field, pair of macro
 * and function, and constant of include/axo. */
#ifndef AXO_TEST_FORMS_H
#define AXO_TEST_FORMS_H

#include <axo/axo.h>
#include <axo/cluster.h>
#include <axo/console.h>
#include <axo/durable.h>
#include <axo/durable_nats.h>
#include <axo/grain.h>
#include <axo/process.h>
#include <axo/record.h>
#include <axo/report.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
#define FORMS_ALIGN(type) alignof(type)
#define FORMS_SIZE(type, field) sizeof(type::field)
#define FORMS_NONE nullptr
#else
#define FORMS_ALIGN(type) _Alignof(type)
#define FORMS_SIZE(type, field) sizeof(((type *)0)->field)
#define FORMS_NONE NULL
#endif

/* A struct's size and alignment, or a field's offset and size. */
typedef struct forms_row {
    const char *name;
    size_t one;
    size_t two;
} forms_row;

#define FORMS_STRUCT(type) {#type, sizeof(type), FORMS_ALIGN(type)},
#define FORMS_FIELD(type, field) {#type "." #field, offsetof(type, field), FORMS_SIZE(type, field)},
#define FORMS_PAIR(type, macro)
#define FORMS_CONSTANT(name)
static const forms_row forms_rows[] = {
#include "forms.inc"
    {FORMS_NONE, 0, 0}};
#undef FORMS_STRUCT
#undef FORMS_FIELD
#undef FORMS_PAIR
#undef FORMS_CONSTANT

/* A field of a struct that has just been made: its size, else zeros. */
static inline bool forms_is_fresh(const forms_row *row, const char *bytes, size_t whole)
{
    if (row->one == 0)
        return memcmp(bytes, &whole, sizeof whole) == 0;
    for (size_t i = 0; i < row->two; i++) {
        if (bytes[row->one + i] != 0)
            return false;
    }
    return true;
}

/* How many fields differ, or are not fresh; padding is not looked at. */
static inline unsigned forms_differ(const char *type, const char *made, const char *written,
                                    size_t whole)
{
    unsigned fields = 0;
    unsigned wrong = 0;
    const size_t length = strlen(type);
    for (const forms_row *row = forms_rows; row->name; row++) {
        if (strncmp(row->name, type, length) != 0 || row->name[length] != '.')
            continue;
        fields++;
        if (memcmp(made + row->one, written + row->one, row->two) != 0 ||
            !forms_is_fresh(row, made, whole)) {
            (void)fprintf(stderr, "%s: the function and the macro differ\n", row->name);
            wrong++;
        }
    }
    return fields > 1 ? wrong : wrong + 1;
}

/* Makes each struct in both ways; the constants are only expanded. Returns what is wrong. */
static inline unsigned forms_pairs(void)
{
    unsigned wrong = 0;
#define FORMS_STRUCT(type)
#define FORMS_FIELD(type, field)
#define FORMS_PAIR(type, macro)                                                                    \
    {                                                                                              \
        const type written = macro();                                                              \
        type made;                                                                                 \
        char bytes[2][sizeof(type)];                                                               \
        memset(&made, 0xa5, sizeof made);                                                          \
        type##_init(&made);                                                                        \
        memcpy(bytes[0], &made, sizeof made);                                                      \
        memcpy(bytes[1], &written, sizeof written);                                                \
        wrong += forms_differ(#type, bytes[0], bytes[1], sizeof(type));                            \
    }
#define FORMS_CONSTANT(name) (void)(name);
#include "forms.inc"
#undef FORMS_STRUCT
#undef FORMS_FIELD
#undef FORMS_PAIR
#undef FORMS_CONSTANT
    return wrong;
}

/* The same in C. */
#ifdef __cplusplus
extern "C" {
#endif
const forms_row *forms_c_rows(void);
unsigned forms_c(void);
#ifdef __cplusplus
}
#endif

#endif
