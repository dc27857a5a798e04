/* percentile_text.c - records the numbers of standard input and writes their percentile text. */
#include <inttypes.h>

#include "../bench/histogram.h"

int main(void)
{
    static histogram all;
    uint64_t value;
    int read;
    while ((read = scanf("%" SCNu64, &value)) == 1)
        histogram_record(&all, value);
    histogram_print(&all, stdout);
    return read == EOF ? 0 : 1;
}
