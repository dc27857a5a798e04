/* cmocka.h - cmocka with what its header needs, and a test program's main: an argument is a filter
 * on the names of its tests, such as "FS-01*". */
#ifndef SUPPORT_CMOCKA_H
#define SUPPORT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST_MAIN(tests)                                                                           \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        if (argc > 1)                                                                              \
            cmocka_set_test_filter(argv[1]);                                                       \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

#endif
