/* main.c - axo-top: what a system with a board or a console does, on a screen or as text. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <axo/version.h>

#include "remote.h"
#include "view.h"

#ifdef TOP_SCREEN
#include <curses.h>
#include <poll.h>
#include <termios.h>
#endif

static const char *const usage =
    "usage: axo-top [options] BOARD | CONSOLE\n"
    "  BOARD             the file of axo_options.board; the process may run, hang or be dead\n"
    "  CONSOLE           http://127.0.0.1:9465 or unix:/path: mailboxes and nodes too; the\n"
    "                    process answers\n"
    "  --once            print one look as text, and end; rates since the start\n"
    "  --interval S      seconds between two looks (1); with --once: rates over so long\n"
    "  --sort WORD       tree, rate, handled, failures, restarts (tree); of a console: tree,\n"
    "                    restarts, queued\n"
    "  --hung S          a callback hangs that takes longer (1)\n"
    "  --actors N        rows of actors at most (200)\n"
    "  --events N        the last events (20)\n"
    "  --gone            actors that have terminated, too\n"
    "  --version --help\n"
    "keys: t r h f s m sort by tree, rate, handled, failures, restarts, mailbox; g gone; up, "
    "down,\n"
    "page; q ends\n"
    "exit: 0; 1: no board, no console, or an error; 2: bad usage, or no terminal for the screen;\n"
    "with --once 3: the process is dead, 4: a callback hangs\n";

typedef struct top {
    const char *path;
    top_board board;
    top_remote *remote; /* NULL: a board */
    view_how how;
    double interval;
    bool once;
} top;

#ifdef TOP_SCREEN
static struct termios terminal; /* as it was before the screen */
static bool terminal_kept;
#endif

/* The file was cut by another while it is mapped. Only what a signal handler may is done. */
static void on_bus(int signal)
{
    static const char text[] = "axo-top: the board was cut\n";
    (void)signal;
#ifdef TOP_SCREEN
    static const char leave[] = "\033[?1049l\033[?25h\r\n";
    if (terminal_kept) {
        (void)tcsetattr(0, TCSANOW, &terminal);
        (void)!write(1, leave, sizeof leave - 1);
    }
#endif
    (void)!write(2, text, sizeof text - 1);
    _exit(1);
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "axo-top: %s: %s\n", what, why);
    return 1;
}

static void pause_for(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

static int print_view(const view *v)
{
    for (uint32_t i = 0; i < v->count; i++) {
        size_t length = strlen(v->lines[i]);
        while (length > 0 && v->lines[i][length - 1] == ' ')
            length--;
        printf("%.*s\n", (int)length, v->lines[i]);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

static int print_remote(const top *t, bool compare)
{
    view v = {.count = 0};
    const char *wrong = remote_view(t->remote, &v, &t->how);
    if (wrong == NULL && compare) {
        pause_for(t->interval);
        wrong = remote_view(t->remote, &v, &t->how);
    }
    int code = wrong != NULL ? fail(t->path, wrong) : print_view(&v);
    if (code == 0 && v.hung > 0)
        code = 4;
    view_free(&v);
    return code;
}

static int print_once(const top *t, bool compare)
{
    top_shot before = {.now = 0};
    top_shot now = {.now = 0};
    view v = {.count = 0};
    if (compare) {
        if (!top_take(&t->board, &before))
            return fail("board", "it was cut, or there is no memory");
        pause_for(t->interval);
    }
    if (!top_take(&t->board, &now) ||
        !view_make(&v, &t->board, compare ? &before : NULL, &now, &t->how))
        return fail("board", "it was cut, or there is no memory");
    int printed = print_view(&v);
    int code = printed != 0 ? printed : now.life == TOP_DEAD ? 3 : v.hung > 0 ? 4 : 0;
    view_free(&v);
    top_free(&before);
    top_free(&now);
    return code;
}

/* A board has no mailboxes, and a console no counters of an actor. */
static bool sorts(const top *t, view_sort sort)
{
    if (t->remote != NULL)
        return sort == VIEW_TREE || sort == VIEW_RESTARTS || sort == VIEW_QUEUED;
    return sort != VIEW_QUEUED;
}

#ifdef TOP_SCREEN
/* false: the user has enough. */
static bool screen_key(top *t, int key, int *first)
{
    static const char keys[] = "trhfsm";
    const char *sort = key > 0 && key < 128 ? strchr(keys, key) : NULL;
    if (sort != NULL && *sort != 0 && sorts(t, (view_sort)(sort - keys)))
        t->how.sort = (view_sort)(sort - keys);
    else if (key == 'g')
        t->how.gone = !t->how.gone;
    else if (key == KEY_UP)
        *first -= 1;
    else if (key == KEY_DOWN)
        *first += 1;
    else if (key == KEY_PPAGE)
        *first -= LINES;
    else if (key == KEY_NPAGE)
        *first += LINES;
    return key != 'q';
}

static void screen_draw(const top *t, const view *v, int *first)
{
    int rows = LINES - 1;
    if (*first > (int)v->count - rows)
        *first = (int)v->count - rows;
    if (*first < 0)
        *first = 0;
    erase();
    for (int y = 0; y < rows && *first + y < (int)v->count; y++) {
        const char *text = v->lines[*first + y];
        bool bad = strstr(text, " HUNG ") != NULL || strstr(text, " DEAD (") != NULL ||
                   strstr(text, " LOST ") != NULL;
        if (bad)
            attron(A_REVERSE);
        mvaddnstr(y, 0, text, COLS);
        if (bad)
            attroff(A_REVERSE);
    }
    char bar[120];
    (void)snprintf(bar, sizeof bar, "sort %s | t r h f s m: sort  g: gone  q: quit",
                   view_sorts[t->how.sort]);
    attron(A_BOLD);
    mvaddnstr(LINES - 1, 0, bar, COLS - 1);
    attroff(A_BOLD);
    refresh();
}

/* A process that was started anew has a board of its own under the same name. */
static bool screen_follow(top *t, top_shot *shots)
{
    top_board next;
    if (!top_is_replaced(&t->board, t->path) || top_open(&next, t->path) != NULL)
        return false;
    top_close(&t->board);
    t->board = next;
    top_free(&shots[0]);
    top_free(&shots[1]);
    return true;
}

/* What the next picture shows; NULL: `v` has it, else what is wrong. */
static const char *screen_look(top *t, top_shot *shots, view *v, uint32_t *round)
{
    if (t->remote != NULL)
        return remote_view(t->remote, v, &t->how);
    if (screen_follow(t, shots))
        *round = 0;
    uint32_t i = (*round)++;
    const top_shot *before = i > 0 ? &shots[(i + 1) % 2] : NULL;
    if (top_take(&t->board, &shots[i % 2]) &&
        view_make(v, &t->board, before, &shots[i % 2], &t->how))
        return NULL;
    return "it was cut, or there is no memory";
}

/* Whether no key will come any more: what there is to read, or a hangup, is what getch does not get
 * twice running. Once may be the end of its time, or a signal, with a key close behind. */
static bool screen_is_left(int key, uint32_t *unread)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    *unread = key == ERR && poll(&input, 1, 0) > 0 ? *unread + 1 : 0;
    return *unread > 1;
}

/* 0: it is there. */
static int screen_begin(const top *t)
{
    if (isatty(0) == 0 || isatty(1) == 0) {
        (void)fail("screen", "input and output must be a terminal; --once prints text");
        return 2;
    }
    terminal_kept = tcgetattr(0, &terminal) == 0;
    if (initscr() == NULL)
        return fail("terminal", "it cannot be used; --once prints text");
    (void)cbreak();
    (void)noecho();
    (void)curs_set(0);
    (void)keypad(stdscr, TRUE);
    timeout((int)(t->interval * 1000));
    return 0;
}

static int screen(top *t)
{
    top_shot shots[2] = {{.now = 0}, {.now = 0}};
    view v = {.count = 0};
    int first = 0;
    uint32_t round = 0;
    uint32_t unread = 0;
    bool left = false;
    const char *wrong;
    int code = screen_begin(t);
    if (code != 0)
        return code;
    while ((wrong = screen_look(t, shots, &v, &round)) == NULL) {
        screen_draw(t, &v, &first);
        int key = getch();
        left = screen_is_left(key, &unread);
        if (left || !screen_key(t, key, &first))
            break;
    }
    (void)endwin();
    view_free(&v);
    top_free(&shots[0]);
    top_free(&shots[1]);
    if (left)
        return fail("terminal", "it has gone");
    return wrong == NULL ? 0 : fail(t->path, wrong);
}
#else
static int screen(top *t)
{
    (void)t;
    return fail("screen", "built without ncurses; --once prints text");
}
#endif

/* A number in a range; false: it is none. */
static bool read_number(const char *text, double least, double most, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == 0 && *out >= least && *out <= most;
}

static bool read_option(top *t, int option, const char *value, bool *compare)
{
    double number = 0;
    switch (option) {
    case 'o':
        t->once = true;
        return true;
    case 'g':
        t->how.gone = true;
        return true;
    case 'i':
        *compare = true;
        return read_number(value, 0.05, 3600, &t->interval);
    case 'h':
        if (!read_number(value, 0, 1e6, &number))
            return false;
        t->how.hung_ns = (int64_t)(number * 1e9);
        return true;
    case 'a':
    case 'e':
        if (!read_number(value, 0, 1e6, &number))
            return false;
        *(option == 'a' ? &t->how.actors : &t->how.events) = (uint32_t)number;
        return true;
    case 's':
        for (uint32_t i = 0; view_sorts[i] != NULL; i++) {
            if (strcmp(view_sorts[i], value) == 0) {
                t->how.sort = (view_sort)i;
                return true;
            }
        }
        return false;
    default:
        return false;
    }
}

static int top_run(top *t, bool compare)
{
    struct sigaction bus = {.sa_handler = on_bus};
    (void)sigaction(SIGBUS, &bus, NULL);
    bool remote = remote_is(t->path);
    const char *wrong = NULL;
    if (!remote)
        wrong = top_open(&t->board, t->path);
    else if ((t->remote = remote_open(t->path)) == NULL)
        wrong = "an address too long, no memory, or built without libcurl and jansson";
    if (wrong != NULL)
        return fail(t->path, wrong);
    int code = 2;
    if (!sorts(t, t->how.sort))
        fprintf(stderr, "axo-top: %s is not sorted by %s\n", remote ? "a console" : "a board",
                view_sorts[t->how.sort]);
    else if (t->once)
        code = remote ? print_remote(t, compare) : print_once(t, compare);
    else
        code = screen(t);
    remote_close(t->remote);
    if (!remote)
        top_close(&t->board);
    return code;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"once", no_argument, NULL, 'o'},         {"interval", required_argument, NULL, 'i'},
        {"sort", required_argument, NULL, 's'},   {"hung", required_argument, NULL, 'h'},
        {"actors", required_argument, NULL, 'a'}, {"events", required_argument, NULL, 'e'},
        {"gone", no_argument, NULL, 'g'},         {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'H'},         {NULL, 0, NULL, 0},
    };
    top t = {.interval = 1, .how = {.hung_ns = 1000000000, .actors = 200, .events = 20}};
    bool compare = false;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'V') {
            printf("axo-top %d.%d.%d\n", AXO_VERSION_MAJOR, AXO_VERSION_MINOR, AXO_VERSION_PATCH);
            return 0;
        }
        if (option == 'H') {
            fputs(usage, stdout);
            return 0;
        }
        if (!read_option(&t, option, optarg, &compare)) {
            fputs(usage, stderr);
            return 2;
        }
    }
    if (optind + 1 != argc) {
        fputs(usage, stderr);
        return 2;
    }
    t.path = argv[optind];
    return top_run(&t, compare);
}
