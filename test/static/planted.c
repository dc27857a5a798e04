/* planted.c - a defect for each analyser: `make analyse` is worth something if it finds them. */
#include <stdlib.h>

int planted_gcc(int n);
int planted_cppcheck(const int *at);

/* gcc, clang-tidy: used after it was freed */
int planted_gcc(int n)
{
    int *block = malloc(sizeof *block);
    if (block == NULL)
        return 0;
    *block = n;
    free(block);
    return *block;
}

/* cppcheck: looked at before it is checked */
int planted_cppcheck(const int *at)
{
    int first = at[0];
    if (at == NULL)
        return 0;
    return first;
}
