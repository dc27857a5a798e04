/* make_access_log.c - writes a sample of a web server's access log, combined format.
 *
 * The same seed gives the same file. In every block of --bad lines exactly one, at a random place,
 * is malformed in one of the ways that real logs are: cut off, glued together, garbage in a field,
 * quotes lost, binary junk, empty. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE_MAX_BYTES 1024
#define COUNT(array)   (sizeof(array) / sizeof((array)[0]))

/* One line's fields, as text. */
typedef struct fields {
    char host[48];
    const char *user;
    char when[40];
    char request[256];
    char status[16];
    char bytes[24];
    char referer[128];
    const char *agent;
} fields;

/* A word and how often it comes. */
typedef struct weighted {
    const char *word;
    uint32_t weight;
} weighted;

static const weighted statuses[] = {
    {"200", 820}, {"304", 75}, {"206", 12}, {"204", 10}, {"301", 18}, {"302", 14}, {"400", 3},
    {"401", 5},   {"403", 6},  {"404", 28}, {"429", 2},  {"500", 4},  {"502", 2},  {"503", 1}};
static const weighted methods[] = {
    {"GET", 86}, {"POST", 9}, {"HEAD", 3}, {"PUT", 1}, {"DELETE", 1}};
static const weighted users[] = {{"-", 96}, {"anna", 2}, {"deploy", 1}, {"ops", 1}};
static const weighted agents[] = {
    {"Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/118.0", 18},
    {"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
     "Chrome/117.0.0.0 Safari/537.36",
     46},
    {"Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
     "Gecko) Version/16.6 Mobile/15E148 Safari/604.1",
     22},
    {"curl/7.88.1", 5},
    {"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", 6},
    {"-", 2},
    {"probe \\\"quoted\\\" agent", 1}};

/* ---- chance -------------------------------------------------------------------------------- */

/* splitmix64 */
static uint64_t chance_next(uint64_t *seed)
{
    uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint32_t chance_below(uint64_t *seed, uint32_t bound)
{
    return (uint32_t)((chance_next(seed) >> 32) * bound >> 32);
}

static const char *chance_word(uint64_t *seed, const weighted *words, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += words[i].weight;
    uint32_t drawn = chance_below(seed, sum);
    size_t i = 0;
    while (drawn >= words[i].weight)
        drawn -= words[i++].weight;
    return words[i].word;
}

/* ---- good lines ---------------------------------------------------------------------------- */

static void line_path(uint64_t *seed, char *out, size_t size)
{
    uint32_t id = chance_below(seed, 1u << chance_below(seed, 14)); /* small ones come more often */
    switch (chance_below(seed, 8)) {
    case 0:
        (void)snprintf(out, size, "/");
        return;
    case 1:
        (void)snprintf(out, size, "/static/app.%04x.js", id);
        return;
    case 2:
        (void)snprintf(out, size, "/images/%04u.webp", id);
        return;
    case 3:
        (void)snprintf(out, size, "/api/v1/items/%u", id);
        return;
    case 4:
        (void)snprintf(out, size, "/api/v1/search?q=term%u&page=%u", id, id % 7 + 1);
        return;
    default:
        (void)snprintf(out, size, "/articles/%u/", id);
        return;
    }
}

static void line_fill(uint64_t *seed, fields *line, uint64_t number, uint64_t lines)
{
    char path[192];
    /* All lines together take a day. */
    time_t when = (time_t)(1709251200 + number * 86400 / lines);
    struct tm parts;
    (void)gmtime_r(&when, &parts); /* fails only for years that do not fit an int */
    (void)strftime(line->when, sizeof line->when, "%d/%b/%Y:%H:%M:%S +0000", &parts);
    uint32_t host = chance_below(seed, 1u << (8 + chance_below(seed, 16)));
    (void)snprintf(line->host, sizeof line->host, "%u.%u.%u.%u", 11 + host % 180, host / 180 % 256,
                   host / 46080 % 256, 1 + host % 251);
    line->user = chance_word(seed, users, COUNT(users));
    line_path(seed, path, sizeof path);
    (void)snprintf(line->request, sizeof line->request, "%s %s HTTP/%s",
                   chance_word(seed, methods, COUNT(methods)), path,
                   chance_below(seed, 4) == 0 ? "1.1" : "2.0");
    (void)snprintf(line->status, sizeof line->status, "%s",
                   chance_word(seed, statuses, COUNT(statuses)));
    uint32_t bytes = chance_below(seed, 1u << (7 + chance_below(seed, 14)));
    (void)snprintf(line->bytes, sizeof line->bytes, "%u", bytes);
    if (strcmp(line->status, "304") == 0 || strcmp(line->status, "204") == 0)
        (void)snprintf(line->bytes, sizeof line->bytes, "-");
    if (chance_below(seed, 3) == 0)
        (void)snprintf(line->referer, sizeof line->referer, "-");
    else
        (void)snprintf(line->referer, sizeof line->referer, "https://www.example.org/articles/%u/",
                       chance_below(seed, 5000));
    line->agent = chance_word(seed, agents, COUNT(agents));
}

static size_t line_format(const fields *line, char *out)
{
    int length = snprintf(out, LINE_MAX_BYTES, "%s - %s [%s] \"%s\" %s %s \"%s\" \"%s\"",
                          line->host, line->user, line->when, line->request, line->status,
                          line->bytes, line->referer, line->agent);
    return length < 0 ? 0 : (size_t)length;
}

/* ---- malformed lines ----------------------------------------------------------------------- */

static size_t line_junk(uint64_t *seed, char *out)
{
    size_t length = 1 + chance_below(seed, 200);
    for (size_t i = 0; i < length; i++) {
        uint32_t byte = 1 + chance_below(seed, 255);
        out[i] = byte == '\n' ? '?' : (char)(unsigned char)byte;
    }
    return length;
}

static size_t line_without(char *out, size_t length, char unwanted)
{
    size_t kept = 0;
    for (size_t i = 0; i < length; i++) {
        if (out[i] != unwanted)
            out[kept++] = out[i];
    }
    return kept;
}

/* Spoils a line; what comes out is never well-formed. */
static size_t line_spoil(uint64_t *seed, fields *line, char *out)
{
    static const char *const bad_statuses[] = {"2x0", "OK", "999", "20", "2000", "-"};
    static const char *const bad_bytes[] = {"-12", "1e5", "0x1f", "12k", "9999999999999999"};
    size_t length = line_format(line, out);
    switch (chance_below(seed, 9)) {
    case 0:
        return 0;
    case 1:
        return line_junk(seed, out);
    case 2:
        return line_without(out, length, '"');
    case 3:
        return line_without(out, length, '[');
    case 4:
        memcpy(out + length, out, length); /* LINE_MAX_BYTES is twice the longest line */
        return 2 * length;
    case 5:
        (void)snprintf(line->status, sizeof line->status, "%s",
                       bad_statuses[chance_below(seed, COUNT(bad_statuses))]);
        return line_format(line, out);
    case 6:
        (void)snprintf(line->bytes, sizeof line->bytes, "%s",
                       bad_bytes[chance_below(seed, COUNT(bad_bytes))]);
        return line_format(line, out);
    case 7:
        (void)snprintf(line->when, sizeof line->when, "the day before yesterday");
        return line_format(line, out);
    default:
        return chance_below(seed, (uint32_t)length); /* cut off */
    }
}

/* ---- program ------------------------------------------------------------------------------- */

static int log_write(FILE *file, uint64_t lines, uint64_t seed, uint64_t block)
{
    static char text[2 * LINE_MAX_BYTES];
    uint64_t bad = 0;
    uint64_t bad_at = 0;
    for (uint64_t number = 0; number < lines; number++) {
        fields line;
        if (block > 0 && number % block == 0)
            bad_at = number + chance_below(&seed, (uint32_t)block);
        line_fill(&seed, &line, number, lines);
        bool spoil = block > 0 && number == bad_at;
        size_t length = spoil ? line_spoil(&seed, &line, text) : line_format(&line, text);
        bad += spoil;
        text[length] = '\n';
        if (fwrite(text, 1, length + 1, file) != length + 1)
            return -1;
    }
    (void)printf("%" PRIu64 " lines, %" PRIu64 " of them malformed\n", lines, bad);
    return 0;
}

static bool number_read(const char *text, uint64_t *value)
{
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return false;
    *value = strtoull(text, &end, 10);
    return *end == '\0' && *value <= UINT32_MAX;
}

int main(int argc, char **argv)
{
    uint64_t lines = 1000000;
    uint64_t seed = 1;
    uint64_t block = 1000;
    bool good = argc >= 2;
    for (int i = 2; good && i < argc; i += 2) {
        if (strcmp(argv[i], "--lines") == 0)
            good = number_read(argv[i + 1], &lines) && lines > 0;
        else if (strcmp(argv[i], "--seed") == 0)
            good = number_read(argv[i + 1], &seed);
        else if (strcmp(argv[i], "--bad") == 0)
            good = number_read(argv[i + 1], &block);
        else
            good = false;
    }
    if (!good) {
        (void)fprintf(stderr,
                      "usage: %s FILE [--lines N] [--seed N] [--bad N]\n"
                      "  one line in N is malformed (1000); 0: none\n",
                      argv[0]);
        return 2;
    }
    FILE *file = fopen(argv[1], "w");
    int written = file == NULL ? -1 : log_write(file, lines, seed, block);
    if (file == NULL || fclose(file) != 0 || written != 0) {
        (void)fprintf(stderr, "make_access_log: cannot write %s\n", argv[1]);
        return 1;
    }
    return 0;
}
