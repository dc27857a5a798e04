/* kv_resp.h - RESP, the protocol of Redis: one request of many words, found in bytes that may not
 * be all there yet, and the head of an answer. */
#ifndef KV_RESP_H
#define KV_RESP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Words of a request. */
#define RESP_WORDS_MAX 1024
/* Bytes of a line: of a number, or of a request that somebody types. */
#define RESP_LINE_MAX 4096
/* Bytes of the head of an answer, "$123\r\n", with its closing zero. */
#define RESP_HEAD_MAX 32

typedef struct resp_word {
    const char *data;
    size_t size;
} resp_word;

typedef enum resp_found {
    RESP_WHOLE = 0,
    RESP_PART = 1, /* not all of it is there */
    RESP_WRONG = 2 /* nor will it ever be */
} resp_found;

typedef struct resp_request {
    size_t bytes;   /* WHOLE: that it takes; PART: that must be there at least; WRONG: nothing */
    uint32_t count; /* WHOLE: words; 0: an empty line */
    resp_word words[RESP_WORDS_MAX];
} resp_request;

typedef struct resp_input {
    const char *data;
    size_t size;
    size_t at;
} resp_input;

/* The next line, without its end. */
static inline resp_found resp_line(resp_input *in, resp_word *line)
{
    const char *begin = in->data + in->at;
    size_t left = in->size - in->at;
    const char *end = memchr(begin, '\n', left < RESP_LINE_MAX ? left : RESP_LINE_MAX);
    if (end == NULL)
        return left < RESP_LINE_MAX ? RESP_PART : RESP_WRONG;
    size_t size = (size_t)(end - begin);
    in->at += size + 1;
    *line = (resp_word){.data = begin, .size = size > 0 && end[-1] == '\r' ? size - 1 : size};
    return RESP_WHOLE;
}

/* A whole number of 64 bits and nothing else. */
static inline bool resp_number(resp_word text, int64_t *out)
{
    bool minus = text.size > 0 && text.data[0] == '-';
    uint64_t most = minus ? UINT64_C(1) << 63 : (uint64_t)INT64_MAX;
    uint64_t number = 0;
    if (text.size == (size_t)minus)
        return false;
    for (size_t i = minus; i < text.size; i++) {
        unsigned digit = (unsigned char)text.data[i] - (unsigned)'0';
        if (digit > 9 || number > (most - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *out = minus ? (int64_t)(0 - number) : (int64_t)number;
    return true;
}

/* "$3", or "*3": a number up to `most` behind a letter. */
static inline resp_found resp_size(resp_input *in, char letter, int64_t most, int64_t *size)
{
    resp_word line;
    resp_found found = resp_line(in, &line);
    if (found != RESP_WHOLE)
        return found;
    if (line.size == 0 || line.data[0] != letter)
        return RESP_WRONG;
    resp_word digits = {.data = line.data + 1, .size = line.size - 1};
    return resp_number(digits, size) && *size >= 0 && *size <= most ? RESP_WHOLE : RESP_WRONG;
}

/* A line of words with blanks between, as one types it. */
static inline resp_found resp_inline(resp_input *in, resp_request *out)
{
    resp_word line;
    resp_found found = resp_line(in, &line);
    out->count = 0;
    for (size_t i = 0; found == RESP_WHOLE && i < line.size; i++) {
        if (line.data[i] == ' ')
            continue;
        if (out->count == RESP_WORDS_MAX)
            return RESP_WRONG;
        resp_word *word = &out->words[out->count++];
        *word = (resp_word){.data = line.data + i, .size = 0};
        while (i < line.size && line.data[i] != ' ') {
            word->size++;
            i++;
        }
    }
    return found;
}

static inline resp_found resp_array(resp_input *in, resp_request *out)
{
    int64_t count;
    int64_t size;
    resp_found found = resp_size(in, '*', RESP_WORDS_MAX, &count);
    out->count = found == RESP_WHOLE ? (uint32_t)count : 0;
    for (uint32_t i = 0; found == RESP_WHOLE && i < out->count; i++) {
        found = resp_size(in, '$', INT32_MAX, &size);
        if (found != RESP_WHOLE)
            return found;
        out->words[i] = (resp_word){.data = in->data + in->at, .size = (size_t)size};
        in->at += (size_t)size + 2;
        if (in->at > in->size)
            return RESP_PART;
        if (memcmp(in->data + in->at - 2, "\r\n", 2) != 0)
            return RESP_WRONG;
    }
    return found;
}

/* The request at the beginning of these bytes, of which there is one at least. */
static inline resp_found resp_parse(const char *data, size_t size, resp_request *out)
{
    resp_input in = {.data = data, .size = size};
    resp_found found = data[0] == '*' ? resp_array(&in, out) : resp_inline(&in, out);
    out->bytes = found == RESP_PART && in.at <= size ? size + 1 : in.at;
    return found;
}

static inline bool resp_is(resp_word word, const char *name)
{
    return word.size == strlen(name) && strncasecmp(word.data, name, word.size) == 0;
}

/* ":7\r\n", "$7\r\n", "*7\r\n": how many bytes were written. */
static inline size_t resp_head(char out[RESP_HEAD_MAX], char letter, int64_t number)
{
    return (size_t)snprintf(out, RESP_HEAD_MAX, "%c%" PRId64 "\r\n", letter, number);
}

#endif
