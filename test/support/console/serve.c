/* serve.c - a system with a console that console_test.sh has under its hand: it reads words from
 * its standard input, does them, and says "done".
 *
 *   serve ADDRESS [MS] connections_max 4, actors_max 50; how long a connection may be open
 *   refuse, give       the allocator refuses memory from now on; gives it
 *   starve N           another console starts and stops, with memory for N blocks: how it went
 *   hang, go           two actors hold both workers; they go on
 *   park               /user/sender is parked: /user/full hangs, and its mailbox has no room
 *   stuff N            N actors with long names, below /user/many
 *   fail               the console is told to fail, so it is restarted
 *   stop               the console alone is stopped
 *   unfed              the actor that tells systemd of a stop is stopped alone
 *   misuse             says what is not refused that should be
 *   second             another console at the same address: says how its start went
 *   bound              says where the console listens
 *   notify             says what axo_notify_systemd returns
 *   odd                an actor whose class has a name that is no UTF-8
 *   anonymous          an actor without a name: says its path
 *   run N              the console is sent N messages that look like its own
 *   short, enough      there are no descriptors for connections; there are
 *   gone               says whether the console is
 *   accepts            says how often the console has tried to take a connection
 *   things N           the section "things" has N rows; -1: it cannot be read
 *   end, or the end of the input */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/console.h>

static atomic_bool refuses;
static atomic_bool counts;
static atomic_int blocks; /* that are given while it counts */
static atomic_bool hangs;
static atomic_int hanging;
static atomic_bool lacks;
static atomic_int accepts;

/* The system's own, for the library too, which is linked into this program. */
int accept4(int fd, __SOCKADDR_ARG name, socklen_t *size, int flags)
{
    struct sockaddr *peer = name.__sockaddr__;
    atomic_fetch_add(&accepts, 1);
    if (atomic_load(&lacks)) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_accept4, fd, peer, size, flags);
}

static void *serve_alloc(void *user, size_t size, size_t align)
{
    void *block = NULL;
    if (atomic_load(&refuses) || (atomic_load(&counts) && atomic_fetch_sub(&blocks, 1) <= 0) ||
        posix_memalign(&block, align < 16 ? 16 : align, size) != 0)
        return NULL;
    return block;
}

static void serve_free(void *user, void *block, size_t size, size_t align)
{
    free(block);
}

/* ---- a section ---- */

static atomic_int things = 2;

static axo_status things_json(void *user, axo_metrics_write_fn write, void *to)
{
    static const char *const rows[] = {"{\"thing\":\"<pen>\",\"price\":120,\"there\":true}",
                                       "{\"thing\":\"ink\",\"price\":7,\"there\":false}"};
    int count = atomic_load((atomic_int *)user);
    axo_status status = count >= 0 ? write(to, "{\"rows\":[", 9) : AXO_EGONE;
    for (int i = 0; i < count && status == AXO_OK; i++) {
        status = i > 0 ? write(to, ",", 1) : AXO_OK;
        if (status == AXO_OK)
            status = write(to, rows[i % 2], strlen(rows[i % 2]));
    }
    return status == AXO_OK ? write(to, "]}\n", 3) : status;
}

static axo_status things_metrics(void *user, uint32_t format, axo_metrics_write_fn write, void *to)
{
    char text[128];
    int count = atomic_load((atomic_int *)user);
    int size = snprintf(text, sizeof text,
                        "# TYPE axo_things gauge\n# HELP axo_things Things%s.\naxo_things %d\n",
                        format == AXO_METRICS_OPENMETRICS ? ", openly" : "", count);
    return count >= 0 ? write(to, text, (size_t)size) : AXO_EGONE;
}

static const axo_console_section things_section = AXO_CONSOLE_SECTION(
    .name = "things", .json = things_json, .metrics = things_metrics, .user = &things);

/* Another, which has only a page. */
static const axo_console_section more_section =
    AXO_CONSOLE_SECTION(.name = "more-2", .json = things_json, .user = &things);

static axo_status hang_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    atomic_fetch_add(&hanging, 1);
    while (atomic_load(&hangs))
        usleep(1000);
    atomic_fetch_sub(&hanging, 1);
    return AXO_OK;
}

static const axo_class hang_class = AXO_CLASS(.name = "hang", .receive = hang_receive);

/* It sends two more than there is room for. */
static axo_status sender_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_ref full;
    axo_status status = axo_find(ctx, "/user/full", &full);
    for (int i = 0; i < 3 && status == AXO_OK; i++)
        status = axo_send(ctx, full, 7, NULL, 0);
    return status;
}

static const axo_class sender_class = AXO_CLASS(.name = "sender", .receive = sender_receive);

static axo_status many_start(axo_ctx *ctx, void *state)
{
    static const axo_class one = AXO_CLASS(.name = "one of many", .receive = hang_receive);
    char name[AXO_NAME_MAX + 1];
    axo_ref ref;
    int count = *(const int *)state;
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "%05d-%0240d", i, 0);
        axo_props props = AXO_PROPS(.cls = &one, .name = name);
        axo_status status = axo_spawn(ctx, &props, &ref);
        if (status != AXO_OK)
            return status;
    }
    return AXO_OK;
}

static axo_status many_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(int));
    return AXO_OK;
}

static const axo_class many_class =
    AXO_CLASS(.name = "many", .state_size = sizeof(int), .construct = many_construct,
              .pre_start = many_start, .receive = hang_receive);

static axo_status spawn(axo_system *system, const axo_class *cls, const char *name, int argument)
{
    axo_props props =
        AXO_PROPS(.cls = cls, .name = name, .args = &argument, .args_size = sizeof argument);
    axo_ref ref;
    return axo_system_spawn(system, &props, &ref);
}

static void hang(axo_system *system)
{
    axo_ref ref;
    atomic_store(&hangs, true);
    for (int i = 0; i < 2; i++) {
        const char *path = i == 0 ? "/user/a" : "/user/b";
        if (axo_system_find(system, path, &ref) == AXO_OK)
            (void)axo_system_send(system, ref, 7, NULL, 0);
    }
    while (atomic_load(&hanging) < 2)
        (void)sched_yield();
}

static void park(axo_system *system)
{
    static const axo_mailbox narrow = AXO_MAILBOX(.overflow = AXO_OVERFLOW_PARK, .messages_max = 1);
    axo_props props = AXO_PROPS(.cls = &hang_class, .name = "full", .mailbox = &narrow);
    axo_ref full;
    axo_ref sender;
    atomic_store(&hangs, true);
    if (axo_system_spawn(system, &props, &full) != AXO_OK ||
        axo_system_send(system, full, 7, NULL, 0) != AXO_OK ||
        spawn(system, &sender_class, "sender", 0) != AXO_OK ||
        axo_system_find(system, "/user/sender", &sender) != AXO_OK) {
        puts("not parked");
        return;
    }
    while (atomic_load(&hanging) < 1)
        (void)sched_yield();
    (void)axo_system_send(system, sender, 1, NULL, 0);
    axo_actor_info info = AXO_ACTOR_INFO();
    while (axo_system_inspect(system, sender, axo_ref_none(), &info) == AXO_OK &&
           info.doing != AXO_DOING_PARKED)
        (void)sched_yield();
}

/* Where the console listens; "-": it does not answer. */
static void bound(axo_system *system, axo_ref console)
{
    axo_asked asked;
    axo_status status =
        axo_system_ask(system, console, AXO_LISTENER_LOOK, NULL, 0, INT64_C(10000000000), &asked);
    if (status != AXO_OK) {
        puts(axo_status_name(status));
        return;
    }
    const axo_listener_info *info = AXO_PAYLOAD(&asked.message, axo_listener_info);
    printf("%s accepted %d refused %d\n", info->address, (int)info->accepted, (int)info->refused);
    axo_asked_free(system, &asked);
}

static void serve_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    fprintf(stderr, "%s\n", text);
}

static void anonymous(axo_system *system)
{
    char path[AXO_NAME_MAX + 1] = "";
    axo_props props = AXO_PROPS(.cls = &hang_class);
    axo_ref ref;
    axo_status status = axo_system_spawn(system, &props, &ref);
    if (status == AXO_OK)
        status = axo_system_path(system, ref, path, sizeof path);
    puts(status == AXO_OK ? path : axo_status_name(status));
}

/* As of an instance that is none. */
static void run(axo_system *system, axo_ref console, int count)
{
    uint32_t instance = 0;
    for (int i = 0; i < count; i++)
        (void)axo_system_send(system, console, AXO_CONSOLE_RUN, &instance, sizeof instance);
}

static void second(axo_system *system, const char *address)
{
    axo_console settings = AXO_CONSOLE(.address = address);
    axo_props props;
    axo_ref ref;
    if (axo_console_props(&settings, "second", &props) != AXO_OK ||
        axo_system_spawn(system, &props, &ref) != AXO_OK) {
        puts("not spawned");
        return;
    }
    for (int i = 0; i < 1000 && axo_system_find(system, "/user/second", &ref) == AXO_OK; i++)
        usleep(10000);
    puts(axo_system_find(system, "/user/second", &ref) == AXO_ENOENT ? "ended" : "alive");
}

/* A console whose start, first answer and end find memory for so many blocks. */
static void starve(axo_system *system, int number)
{
    char address[64];
    axo_asked asked;
    (void)snprintf(address, sizeof address, "unix:@starve-%d", (int)getpid());
    axo_console settings = AXO_CONSOLE(.address = address);
    axo_props props;
    axo_ref ref;
    axo_status status = axo_console_props(&settings, "starved", &props);
    atomic_store(&blocks, number);
    atomic_store(&counts, true);
    if (status == AXO_OK)
        status = axo_system_spawn(system, &props, &ref);
    if (status == AXO_OK) {
        status = axo_system_ask(system, ref, AXO_LISTENER_LOOK, NULL, 0, 200000000, &asked);
        if (status == AXO_OK)
            axo_asked_free(system, &asked);
        (void)axo_system_stop_actor(system, ref);
    }
    atomic_store(&counts, false);
    while (axo_system_find(system, "/user/starved", &ref) == AXO_OK)
        (void)sched_yield();
    puts(axo_status_name(status));
}

/* Sections that are refused; "": all of them. */
static const char *misuse_sections(void)
{
    static const char *const names[] = {"", "tree", "sections", "Nodes", "a/b", "a b", "\xc3\xa4",
                                        "a-name-of-33-characters-is-too-lo", "things"};
    const axo_console_section *pair[] = {&things_section, NULL};
    axo_console console = AXO_CONSOLE(.sections = pair, .sections_count = 2);
    axo_props props;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        axo_console_section section = things_section;
        section.name = names[i];
        pair[1] = &section;
        if (axo_console_props(&console, "x", &props) != AXO_EINVAL)
            return names[i][0] != 0 ? names[i] : "no name";
    }
    axo_console_section section = more_section;
    pair[1] = &section;
    section.size++;
    if (axo_console_props(&console, "x", &props) != AXO_EVERSION)
        return "section size";
    section.size = 0;
    if (axo_console_props(&console, "x", &props) != AXO_EINVAL)
        return "section without size";
    section = more_section;
    section.json = NULL;
    if (axo_console_props(&console, "x", &props) != AXO_EINVAL)
        return "section json";
    pair[1] = NULL;
    if (axo_console_props(&console, "x", &props) != AXO_EINVAL)
        return "section NULL";
    console.sections_count = AXO_CONSOLE_SECTIONS_MAX + 1;
    if (axo_console_props(&console, "x", &props) != AXO_EINVAL)
        return "sections_count";
    console = (axo_console)AXO_CONSOLE(.sections_count = 1);
    return axo_console_props(&console, "x", &props) == AXO_EINVAL ? "" : "sections";
}

/* What is refused without a system's help; "": all of it. */
static const char *misuse(axo_system *system)
{
    axo_console console = AXO_CONSOLE();
    axo_notify notify = AXO_NOTIFY(.within_ns = -1);
    axo_props props = AXO_PROPS();
    char far[AXO_ADDRESS_MAX + 1] = "";
    axo_ref ref;
    memset(far, 'x', sizeof far - 1);
    if (axo_console_props(&console, "x", NULL) != AXO_EINVAL ||
        axo_console_props(NULL, "x", &props) != AXO_OK || props.cls == NULL)
        return "props";
    if (axo_console_start(system, NULL, NULL) != AXO_EINVAL ||
        axo_console_start(NULL, NULL, &ref) != AXO_EINVAL || !axo_ref_is_none(ref))
        return "start";
    console.size--;
    if (axo_console_props(&console, "x", &props) != AXO_EVERSION)
        return "size";
    console = (axo_console)AXO_CONSOLE(.connections_max = 1025);
    if (axo_console_props(&console, "x", &props) != AXO_EINVAL)
        return "connections_max";
    console = (axo_console)AXO_CONSOLE(.actors_max = 65537);
    if (axo_console_props(&console, "x", &props) != AXO_EINVAL)
        return "actors_max";
    console = (axo_console)AXO_CONSOLE(.within_ns = -1);
    if (axo_console_props(&console, "x", &props) != AXO_EINVAL)
        return "within_ns";
    console = (axo_console)AXO_CONSOLE(.connection_ns = -1);
    if (axo_console_props(&console, "x", &props) != AXO_EINVAL)
        return "connection_ns";
    console = (axo_console)AXO_CONSOLE(.address = far);
    if (axo_console_props(&console, "x", &props) != AXO_EINVAL)
        return "address";
    if (misuse_sections()[0] != 0)
        return misuse_sections();
    if (axo_notify_systemd(NULL, NULL) != AXO_EINVAL ||
        axo_notify_systemd(system, &notify) != AXO_EINVAL)
        return "notify";
    notify.size--;
    return axo_notify_systemd(system, &notify) == AXO_EVERSION ? "" : "notify size";
}

static void act(axo_system *system, axo_ref console, const char *address, const char *word,
                int number)
{
    static const axo_class odd =
        AXO_CLASS(.name = "\"<odd>\\\t\xff\xc3\xa4\xed\xa0\x80", .receive = hang_receive);
    axo_ref ref;
    if (strcmp(word, "refuse") == 0)
        atomic_store(&refuses, true);
    else if (strcmp(word, "give") == 0)
        atomic_store(&refuses, false);
    else if (strcmp(word, "starve") == 0)
        starve(system, number);
    else if (strcmp(word, "hang") == 0)
        hang(system);
    else if (strcmp(word, "park") == 0)
        park(system);
    else if (strcmp(word, "go") == 0)
        atomic_store(&hangs, false);
    else if (strcmp(word, "stuff") == 0)
        puts(axo_status_name(spawn(system, &many_class, "many", number)));
    else if (strcmp(word, "odd") == 0)
        puts(axo_status_name(spawn(system, &odd, "odd", 0)));
    else if (strcmp(word, "anonymous") == 0)
        anonymous(system);
    else if (strcmp(word, "run") == 0)
        run(system, console, number);
    else if (strcmp(word, "short") == 0 || strcmp(word, "enough") == 0)
        atomic_store(&lacks, word[0] == 's');
    else if (strcmp(word, "accepts") == 0)
        printf("%d\n", atomic_load(&accepts));
    else if (strcmp(word, "things") == 0)
        atomic_store(&things, number);
    else if (strcmp(word, "fail") == 0)
        (void)axo_system_fail(system, console, AXO_FAILURE_ORDINARY, 9);
    else if (strcmp(word, "gone") == 0)
        puts(axo_system_find(system, "/system/console", &ref) == AXO_ENOENT ? "gone" : "there");
    else if (strcmp(word, "stop") == 0)
        (void)axo_system_stop_actor(system, console);
    else if (strcmp(word, "unfed") == 0 && axo_system_find(system, "/user/systemd", &ref) == AXO_OK)
        (void)axo_system_stop_actor(system, ref);
    else if (strcmp(word, "second") == 0)
        second(system, address);
    else if (strcmp(word, "bound") == 0)
        bound(system, console);
    else if (strcmp(word, "notify") == 0)
        puts(axo_status_name(axo_notify_systemd(system, NULL)));
    else if (strcmp(word, "misuse") == 0)
        puts(misuse(system));
    else
        puts("what?");
}

int main(int argc, char **argv)
{
    axo_options options =
        AXO_OPTIONS(.name = "serve", .workers = 2, .log = serve_log,
                    .allocator = {serve_alloc, serve_free, NULL}, .figures = AXO_FIGURES_COUNTS);
    static const axo_console_section *const sections[] = {&things_section, &more_section};
    axo_console settings = AXO_CONSOLE(.connections_max = 4, .actors_max = 50,
                                       .sections = sections, .sections_count = 2);
    char word[32];
    char line[64];
    axo_system *system;
    axo_ref console;
    if (argc != 2 && argc != 3)
        return 2;
    settings.address = argv[1];
    settings.connection_ns = argc == 3 ? INT64_C(1000000) * atoi(argv[2]) : 0;
    if (axo_system_start(&options, &system) != AXO_OK ||
        spawn(system, &hang_class, "a", 0) != AXO_OK ||
        spawn(system, &hang_class, "b", 0) != AXO_OK ||
        axo_console_start(system, &settings, &console) != AXO_OK)
        return 1;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
        int number = 0;
        if (sscanf(line, "%31s %d", word, &number) < 1)
            continue;
        if (strcmp(word, "end") == 0)
            break;
        act(system, console, settings.address, word, number);
        puts("done");
    }
    atomic_store(&hangs, false);
    atomic_store(&refuses, false);
    (void)axo_system_stop(system, -1, NULL, 0, NULL);
    return axo_system_destroy(system) != AXO_OK;
}
