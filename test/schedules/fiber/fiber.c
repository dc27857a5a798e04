/* fiber.c - plays scenes in many schedules: whole walks, walks by chance, replays of one.
 *
 *   fiber --schedules N [--seed S] [--scenario NAME] [--strategy TEXT] [--whole|--chance]
 *   fiber --seed S --strategy TEXT --scenario NAME --replay
 *   fiber --bundle FILE        what a failure has left in build/fiber
 *   fiber --list
 */
#include <stdlib.h>

#include "campaign.h"
#include "stage.h"

static int list(void)
{
    for (uint32_t i = 0; scenes[i] != NULL; i++)
        printf("%-12s %s%s\n", scenes[i]->name, scenes[i]->what,
               scenes[i]->fails ? " (must fail)" : "");
    return 0;
}

int main(int count, char **words)
{
    campaign_options options = {.schedules = 100000, .seed = 1};
    bool replay = false;
    const char *bundle = NULL;
    for (int i = 1; i < count; i++) {
        const char *value = i + 1 < count ? words[i + 1] : "";
        if (strcmp(words[i], "--list") == 0)
            return list();
        if (strcmp(words[i], "--replay") == 0) {
            replay = true;
            continue;
        }
        if (strcmp(words[i], "--whole") == 0 || strcmp(words[i], "--chance") == 0) {
            options.whole = words[i][2] == 'w';
            options.chance = !options.whole;
            continue;
        }
        if (strcmp(words[i], "--schedules") == 0)
            options.schedules = strtoull(value, NULL, 0);
        else if (strcmp(words[i], "--seed") == 0)
            options.seed = strtoull(value, NULL, 0);
        else if (strcmp(words[i], "--scenario") == 0)
            options.scene = value;
        else if (strcmp(words[i], "--strategy") == 0)
            options.strategy = value;
        else if (strcmp(words[i], "--bundle") == 0)
            bundle = value;
        else if (strcmp(words[i], "--out") == 0)
            options.folder = value;
        else {
            fprintf(stderr, "fiber: unknown: %s\n", words[i]);
            return 2;
        }
        i++;
    }
    if (bundle != NULL)
        return campaign_bundle(bundle);
    if (replay)
        return campaign_replay(&options);
    return campaign_run(&options);
}
