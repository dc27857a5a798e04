/* chart.h - a run as text: a column for each fiber, a line for each switch and note. */
#ifndef FIBER_CHART_H
#define FIBER_CHART_H

#include <stdio.h>

/* The last `lines` of the run that is going on, or 0: all that are kept. */
void chart_print(FILE *out, unsigned lines);

#endif
