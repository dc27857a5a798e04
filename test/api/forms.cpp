/* forms.cpp - the forms as C++, in C++11 to C++20, linked with the same as C: both run, and every
 * struct has the same layout. */
#include "forms_scene.h"

#include <cstdio>
#include <cstring>
#include <type_traits>

#if FORMS_NAMED
/* Values wherever a value may be. */
static const axo_stats several[] = {AXO_STATS(), AXO_STATS(.sent = 2)};
static uint64_t sent_of(const axo_stats &stats)
{
    return stats.sent;
}
static bool values()
{
    const auto made = [] { return AXO_STATS(.sent = 3); };
    axo_stats stats = AXO_STATS(.sent = 5, .handled = 4);
    stats = sent_of(AXO_STATS(.sent = 1)) == 1 ? AXO_STATS(.sent = 7) : AXO_STATS();
    return sent_of(several[1]) == 2 && sent_of(made()) == 3 && sent_of(stats) == 7 &&
           stats.size == sizeof stats;
}
#else
static bool values()
{
    const axo_stats several[] = {AXO_STATS(), AXO_STATS()};
    const auto made = [] { return AXO_STATS(); };
    return several[1].size == sizeof several[1] && made().sent == 0;
}
#endif

/* In a template: the function. */
template <typename T> static axo_class class_of(axo_receive_fn receive)
{
    axo_class cls;
    axo_class_init(&cls);
    cls.state_size = sizeof(T);
    cls.receive = receive;
    return cls;
}

/* A callback without a name, and a payload that is a pointer. */
static bool callbacks()
{
    const axo_class cls =
        class_of<long>([](axo_ctx *, void *, const axo_message *) { return AXO_UNHANDLED; });
    const char *text = "text";
    axo_message message = {1, sizeof text, axo_ref_none(), &text};
    static_assert(std::is_same<decltype(AXO_PAYLOAD(&message, char *)), char *const *>::value,
                  "a payload is const, whatever it is");
    static_assert(std::is_same<decltype(AXO_EVENT_DATA(nullptr, char *)), char *const *>::value,
                  "and so is an event's data");
    return cls.state_size == sizeof(long) && cls.receive(nullptr, nullptr, &message) < AXO_OK &&
           *AXO_PAYLOAD(&message, const char *) == text;
}

static_assert(std::is_trivial<axo_options>::value && std::is_standard_layout<axo_class>::value,
              "they are C's");

int main()
{
    unsigned wrong = forms_pairs() + (forms_scene() != 0) + !values() + !callbacks();
    const forms_row *theirs = forms_c_rows();
    size_t rows = 0;
    for (const forms_row *mine = forms_rows; mine->name; mine++, theirs++, rows++) {
        if (!theirs->name || std::strcmp(mine->name, theirs->name) != 0 ||
            mine->one != theirs->one || mine->two != theirs->two) {
            std::fprintf(stderr, "%s is not where C has it\n", mine->name);
            return 1;
        }
    }
    wrong += theirs->name != nullptr;
    wrong += forms_c();
    std::printf("%u structs and fields, %u wrong\n", static_cast<unsigned>(rows), wrong);
    return wrong == 0 && rows > 0 ? 0 : 1;
}
