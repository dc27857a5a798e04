/* grammar.c - the grammar of hooks. */
#include "grammar.h"

typedef enum hook_letter {
    LETTER_c,
    LETTER_C,
    LETTER_s,
    LETTER_S,
    LETTER_m,
    LETTER_F,
    LETTER_u,
    LETTER_p,
    LETTER_x,
    LETTER_d,
    LETTER_T,
    LETTERS
} hook_letter;

static const uint8_t grammar[STATES][LETTERS] = {
    /*                    c           C           s           S                m           F
                          u           p           x           d                T */
    [STATE_NONE] =       {STATE_MADE, STATE_NONE, NO,         NO,              NO,         NO,
                          NO,         NO,         NO,         NO,              STATE_OVER},
    [STATE_MADE] =       {NO,         NO,         STATE_RUNS, STATE_UNSTARTED, NO,         NO,
                          NO,         NO,         NO,         NO,              NO},
    [STATE_UNSTARTED] =  {NO,         NO,         NO,         NO,              NO,         NO,
                          NO,         NO,         NO,         STATE_NONE,      NO},
    [STATE_RUNS] =       {NO,         NO,         NO,         NO,       STATE_RUNS, STATE_FAILED,
                          NO,         STATE_HALF, STATE_STOPPED, NO,           NO},
    [STATE_FAILED] =     {NO,         NO,         NO,         NO,              NO,         NO,
                          STATE_RUNS, STATE_HALF, STATE_STOPPED, NO,           NO},
    [STATE_BROKEN] =     {NO,         NO,         NO,         NO,              NO,         NO,
                          STATE_BROKEN, NO,       NO,         STATE_BARE,      NO},
    [STATE_HALF] =       {NO,         NO,         NO,         NO,              NO,         NO,
                          NO,         NO,         STATE_HALF_STOPS, STATE_BARE, NO},
    [STATE_HALF_STOPS] = {NO,         NO,         NO,         NO,              NO,         NO,
                          NO,         NO,         NO,         STATE_ENDING,    NO},
    [STATE_STOPPED] =    {NO,         NO,         NO,         NO,              NO,         NO,
                          NO,         NO,         NO,         STATE_ENDING,    NO},
    [STATE_BARE] =       {STATE_MADE, STATE_NONE, NO,         NO,              NO,         NO,
                          NO,         NO,         NO,         NO,              STATE_OVER},
    [STATE_ENDING] =     {NO,         NO,         NO,         NO,              NO,         NO,
                          NO,         NO,         NO,         NO,              STATE_OVER},
    [STATE_OVER] =       {NO,         NO,         NO,         NO,              NO,         NO,
                          NO,         NO,         NO,         NO,              NO},
};

static void grammar_letter(ghost *it, hook_letter what)
{
    static const char letters[] = "cCsSmFupxdT";
    uint8_t next = grammar[it->letters][what];
    HOLDS_ALL(22, next != NO, "hook %c in state %u of the grammar (actor %014" PRIx64 ")",
              letters[what], (unsigned)it->letters, it->bits);
    it->letters = next;
}

void grammar_event(ghost *it, const axo_event *e)
{
    switch (e->kind) {
    case AXO_EV_CONSTRUCTED:
        grammar_letter(it, e->arg == 0 ? LETTER_c : LETTER_C);
        return;
    case AXO_EV_STARTED:
        grammar_letter(it, e->arg == 0 ? LETTER_s : LETTER_S);
        if (e->arg == 0 && it->failed) /* restarted from above: its own failure is still open */
            grammar_letter(it, LETTER_F);
        return;
    case AXO_EV_RECEIVED:
        grammar_letter(it, LETTER_m);
        return;
    case AXO_EV_SUSPEND:
        if (e->arg == 0 && it->live && it->started)
            grammar_letter(it, LETTER_F);
        if (it->broken && it->letters == STATE_FAILED)
            it->letters = STATE_BROKEN;
        return;
    case AXO_EV_RESUME:
        if (e->arg == 0 && it->live && it->started && !it->remaking && !it->stopping)
            grammar_letter(it, LETTER_u);
        return;
    case AXO_EV_PRE_RESTART:
        grammar_letter(it, LETTER_p);
        return;
    case AXO_EV_POST_STOPPED:
        if (it->letters != STATE_HALF || it->stopping)
            grammar_letter(it, LETTER_x);
        return;
    case AXO_EV_DESTROY:
        grammar_letter(it, LETTER_d);
        return;
    case AXO_EV_TERMINATED:
        grammar_letter(it, LETTER_T);
        return;
    default:
        return;
    }
}
