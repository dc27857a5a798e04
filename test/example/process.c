/* process.c - a parser that nobody trusts, in a process of its own. Its second line makes it crash;
 * the supervisor restarts it, and the third line is parsed by the next process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>
#include <axo/process.h>

enum { PARSE = 1, PARSED };

/* ---- in the process ---- */

static axo_status parser_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag != PARSE)
        return AXO_UNHANDLED;
    const char *line = AXO_PAYLOAD(message, char);
    if (line[0] == '%') /* a bug */
        abort();
    size_t words = 1;
    for (const char *at = line; *at != 0; at++)
        words += *at == ' ';
    return axo_reply(ctx, message, PARSED, &words, sizeof words);
}

static const axo_class parser = AXO_CLASS(.name = "parser", .receive = parser_receive);
static const axo_class *const classes[] = {&parser};

/* ---- here ---- */

static axo_directive reader_decides(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    void *user)
{
    (void)ctx;
    (void)state;
    (void)user;
    printf("the parser has failed: %s\n", failure->text);
    return AXO_RESTART;
}

static const axo_strategy restarts =
    AXO_STRATEGY(.decider = reader_decides, .answer_failed = 1);

typedef struct reader {
    axo_zygote *zygote;
    axo_ref parser;
    uint32_t answers;
} reader;

/* The next line goes behind the answer to the one before: a failure is told ahead of messages. */
static axo_status reader_next(axo_ctx *ctx, const reader *me)
{
    static const char *const lines[] = {"one two three", "%n", "four five"};
    const char *line = lines[me->answers];
    return axo_send(ctx, me->parser, PARSE, line, strlen(line) + 1);
}

static axo_status reader_construct(axo_ctx *ctx, void *state, const void *args)
{
    reader *me = state;
    memcpy(&me->zygote, args, sizeof(axo_zygote *));
    axo_process recipe = AXO_PROCESS(.zygote = me->zygote);
    axo_props props = AXO_PROPS(.cls = &parser, .name = "parser");
    axo_status status = axo_process_spawn(ctx, &recipe, &props, &me->parser);
    return status == AXO_OK ? reader_next(ctx, me) : status;
}

static axo_status reader_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    reader *me = state;
    if (message->tag == PARSED)
        printf("%zu words\n", *AXO_PAYLOAD(message, size_t));
    else if (message->tag == AXO_REQUEST_FAILED)
        printf("no answer\n");
    else
        return AXO_UNHANDLED;
    if (++me->answers == 3)
        return axo_system_shutdown(axo_system_of(ctx));
    return reader_next(ctx, me);
}

static const axo_class reader_class =
    AXO_CLASS(.name = "reader", .state_size = sizeof(reader), .construct = reader_construct,
              .receive = reader_receive);

int main(int argc, char **argv)
{
    axo_system *system;
    axo_zygote *zygote;
    axo_ref ref;
    axo_process_main(argc, argv, classes, 1);
    axo_options options = AXO_OPTIONS(.workers = 2);
    if (axo_system_start(&options, &system) != AXO_OK)
        return 1;
    if (axo_zygote_start(system, NULL, &zygote) != AXO_OK)
        return 1;
    axo_props props = AXO_PROPS(.cls = &reader_class, .args = &zygote,
                                .args_size = sizeof(axo_zygote *), .strategy = &restarts);
    if (axo_system_spawn(system, &props, &ref) != AXO_OK)
        return 1;
    axo_status status = axo_system_wait(system, -1, NULL);
    return status == AXO_OK && axo_system_destroy(system) == AXO_OK ? 0 : 1;
}
