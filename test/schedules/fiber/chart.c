/* chart.c - a run as text. Places are named with addr2line, if it is there. */
#include "chart.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/sim.h"

#define CHART_WIDTH 16
#define CHART_PLACES 512
#define CHART_PLACE 80

extern const char __executable_start;

typedef struct chart_place {
    const void *address;
    char text[CHART_PLACE];
} chart_place;

static chart_place places[CHART_PLACES];
static unsigned place_count;

static chart_place *chart_place_of(const void *address)
{
    for (unsigned i = 0; i < place_count; i++) {
        if (places[i].address == address)
            return &places[i];
    }
    if (place_count == CHART_PLACES)
        return NULL;
    places[place_count].address = address;
    return &places[place_count++];
}

/* What was called, by whom: the first function of the inlined ones that is not an atomic's. */
static void chart_name(FILE *in, chart_place *place)
{
    char function[256];
    char line[512];
    bool named = false;
    while (fgets(function, sizeof function, in) != NULL && fgets(line, sizeof line, in) != NULL) {
        function[strcspn(function, "\n")] = 0;
        line[strcspn(line, " \n")] = 0;
        if (strcmp(function, "axo__sim_yields") == 0)
            return; /* what separates two */
        const char *file = strrchr(line, '/');
        bool inside = strstr(line, "base/atomic.h") != NULL;
        if (named || (inside && strncmp(function, "axo__a", 6) == 0))
            continue;
        (void)snprintf(place->text, sizeof place->text, "%.40s (%.30s)", function,
                       file != NULL ? file + 1 : line);
        named = true;
    }
}

static void chart_find_names(void)
{
    char self[512];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return;
    self[length] = 0;
    for (unsigned i = 0; i < place_count; i++) {
        char command[768];
        uintptr_t offset = (uintptr_t)places[i].address - (uintptr_t)&__executable_start - 1;
        (void)snprintf(command, sizeof command, "addr2line -f -i -e %s 0x%" PRIxPTR " 2>/dev/null",
                       self, offset);
        FILE *in = popen(command, "r");
        if (in == NULL)
            return;
        chart_name(in, &places[i]);
        (void)pclose(in);
    }
}

static const char *chart_text(const axo__sim_noted *noted)
{
    const chart_place *place = noted->place != NULL ? chart_place_of(noted->place) : NULL;
    return place != NULL ? place->text : "";
}

void chart_print(FILE *out, unsigned lines)
{
    uint64_t count = 0;
    bool used[AXO__SIM_FIBERS_MAX] = {false};
    int column[AXO__SIM_FIBERS_MAX] = {0};
    int columns = 0;
    while (axo__sim_noted_at(count) != NULL)
        count++;
    uint64_t first = lines != 0 && count > lines ? count - lines : 0;
    for (uint64_t i = first; i < count; i++) {
        const axo__sim_noted *noted = axo__sim_noted_at(i);
        used[noted->fiber] = true;
        if (noted->place != NULL && noted->next != UINT32_MAX)
            (void)chart_place_of(noted->place);
    }
    chart_find_names();
    fprintf(out, "%8s  ", "point");
    for (uint32_t i = 0; i < AXO__SIM_FIBERS_MAX; i++) {
        if (!used[i])
            continue;
        column[i] = columns++;
        fprintf(out, "%-*.*s", CHART_WIDTH, CHART_WIDTH - 1, axo__sim_fiber_name(i));
    }
    fputc('\n', out);
    for (uint64_t i = first; i < count; i++) {
        const axo__sim_noted *noted = axo__sim_noted_at(i);
        fprintf(out, "%8" PRIu64 "  ", noted->point);
        for (int c = 0; c < column[noted->fiber]; c++)
            fprintf(out, "|%*s", CHART_WIDTH - 1, "");
        if (noted->next == UINT32_MAX)
            fprintf(out, "* %s\n", noted->text);
        else
            fprintf(out, "+-> %s, at %s\n", axo__sim_fiber_name(noted->next), chart_text(noted));
    }
}
