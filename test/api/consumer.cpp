/* consumer.cpp - a program of a user, in C++11 and C++20: headers and library serve it too. */
#include <axo/axo.h>

#include <atomic>
#include <cstdio>

static std::atomic<int> handled(0);

static axo_status counter_receive(axo_ctx *, void *, const axo_message *)
{
    handled.fetch_add(1);
    return AXO_OK;
}

int main()
{
#if __cplusplus > 201703L
    static const axo_class cls = AXO_CLASS(.name = "counter", .receive = counter_receive);
    const axo_options options = AXO_OPTIONS(.workers = 2);
    const axo_props props = AXO_PROPS(.cls = &cls);
#else
    axo_class cls;
    axo_class_init(&cls);
    cls.name = "counter";
    cls.receive = counter_receive;
    axo_options options;
    axo_options_init(&options);
    options.workers = 2;
    axo_props props;
    axo_props_init(&props);
    props.cls = &cls;
#endif
    axo_system *system = nullptr;
    if (axo_system_start(&options, &system) != AXO_OK)
        return 2;

    axo_ref ref = axo_ref_none();
    if (axo_system_spawn(system, &props, &ref) != AXO_OK)
        return 3;
    for (int i = 0; i < 3; i++) {
        if (axo_system_send(system, ref, 1, nullptr, 0) != AXO_OK)
            return 4;
    }
    if (axo_system_poison(system, ref) != AXO_OK)
        return 5;
    while (axo_system_send(system, ref, 1, nullptr, 0) != AXO_EGONE) {
        /* Ends when the pill was taken: whatever is sent after that is refused. */
    }
    if (axo_system_stop(system, -1, nullptr, 0, nullptr) != AXO_OK)
        return 6;
    if (axo_system_destroy(system) != AXO_OK)
        return 7;
    if (handled.load() < 3 || axo_ref_equal(ref, axo_ref_none()))
        return 8;
    std::printf("consumer: C++ %ld, %s\n", __cplusplus / 100L, axo_status_name(AXO_OK));
    return 0;
}
