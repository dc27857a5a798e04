/* forms.c - the forms as C, in C11 and C17: what forms.cpp is linked with and compared with. */
#include "forms_scene.h"

const forms_row *forms_c_rows(void)
{
    return forms_rows;
}

/* A struct in a call: C only. */
static axo_status literals(axo_system *system)
{
    axo_ref ref;
    axo_phases *phases = NULL;
    if (axo_system_spawn(system, &(axo_props)AXO_PROPS(.cls = NULL), &ref) != AXO_EINVAL)
        return AXO_EFAILED;
    if (axo_backoff_check(&(axo_backoff)AXO_BACKOFF(.min_ns = 1, .max_ns = 2)) != AXO_OK ||
        axo_backoff_check(&(axo_backoff)AXO_BACKOFF()) != AXO_EINVAL)
        return AXO_EFAILED;
    return axo_phases_add(phases, &(axo_phase)AXO_PHASE(.name = "none", .after = {"a", "b"}));
}

unsigned forms_c(void)
{
    unsigned wrong = forms_pairs();
    if (literals(NULL) != AXO_EINVAL) {
        (void)fprintf(stderr, "literals of C\n");
        wrong++;
    }
    return wrong + (forms_scene() != 0);
}
