/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the command line: which options there are, which command knows which, what they may be. */
#include "bench/options.h"

#include "bench/support.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct option_row {
    const char *name, *value; /* value: what it is called in the help; NULL: none */
    const char *help;
    void (*read)(struct options *options, const char *name, const char *text);
};

BENCH_NORETURN static void refuse(const char *name, const char *text, const char *wanted)
{
    bench_die(BENCH_EXIT_USAGE, "--%s %s: %s (--help lists the options)", name, text, wanted);
}

static uint64_t number(const char *name, const char *text, uint64_t least, uint64_t most)
{
    char *end, wanted[80];
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (*end || end == text || *text == '-' || errno || value < least || value > most) {
        snprintf(wanted, sizeof wanted, "not a number from %llu to %llu", (unsigned long long)least,
                 (unsigned long long)most);
        refuse(name, text, wanted);
    }
    return value;
}

/* ---- one reader for each option */

static void read_graph(struct options *o, const char *name, const char *text)
{
    o->graph = graph_kind_of(text);
    if (o->graph == GRAPH_KINDS)
        refuse(name, text, "not one of chain, stencil, fft, random, fan, cholesky, tree");
}

static void read_pattern(struct options *o, const char *name, const char *text)
{
    char *copy = bench_text("%s", text);
    o->patterns = 0;
    for (unsigned kind = PATTERN_TRIVIAL; strcmp(text, "all") == 0 && kind < PATTERN_END; kind++)
        o->pattern[o->patterns++] = (enum graph_kind)kind;
    for (char *save = NULL, *one = o->patterns ? NULL : strtok_r(copy, ",", &save); one;
         one = strtok_r(NULL, ",", &save)) {
        enum graph_kind kind = graph_pattern_of(one);
        if (kind == PATTERN_END || o->patterns == PATTERNS)
            refuse(name, one, "not a pattern of Task Bench");
        o->pattern[o->patterns++] = kind;
    }
    free(copy);
    if (!o->patterns)
        refuse(name, text, "names no pattern");
    o->graph = o->pattern[0];
}

static void read_width(struct options *o, const char *name, const char *text)
{
    o->width = (uint32_t)number(name, text, 1, 1u << 20);
}

static void read_steps(struct options *o, const char *name, const char *text)
{
    o->steps = (uint32_t)number(name, text, 1, 1u << 24);
}

static void read_mode(struct options *o, const char *name, const char *text)
{
    int mode = replay_mode_of(text);
    if (mode < 0)
        refuse(name, text, "not compiled or interpreted");
    o->mode = (enum replay_mode)mode;
}

static void read_schedule(struct options *o, const char *name, const char *text)
{
    int schedule = replay_schedule_of(text);
    if (schedule < 0)
        refuse(name, text, "not static, dataflow or auto");
    o->schedule = (enum replay_schedule)schedule;
}

static void read_order(struct options *o, const char *name, const char *text)
{
    int order = replay_order_of(text);
    if (order < 0)
        refuse(name, text, "not serial, pipelined or concurrent");
    o->order = (enum replay_order)order;
}

static void read_workers(struct options *o, const char *name, const char *text)
{
    o->workers = (unsigned)number(name, text, 1, 256);
}

static void read_rounds(struct options *o, const char *name, const char *text)
{
    o->rounds = (unsigned)number(name, text, 1, 10000);
}

static void read_submitters(struct options *o, const char *name, const char *text)
{
    o->submitters = (unsigned)number(name, text, 1, 2);
}

static void read_window(struct options *o, const char *name, const char *text)
{
    o->window = (uint32_t)number(name, text, 1, 1024);
}

static void read_replays(struct options *o, const char *name, const char *text)
{
    o->replays = number(name, text, 1, 1000000000000u);
}

static void read_body(struct options *o, const char *name, const char *text)
{
    if (body_parse(text, &o->body) != 0)
        refuse(name, text, "not empty, spin:NS or uneven:NS");
    o->body_given = 1;
}

static void read_impl(struct options *o, const char *name, const char *text)
{
    char *copy = bench_text("%s", text);
    o->impls = 0;
    if (strcmp(text, "all") == 0)
        for (unsigned i = 0; peers[i]; i++)
            o->impl[o->impls++] = peers[i];
    else
        for (char *save = NULL, *one = strtok_r(copy, ",", &save); one;
             one = strtok_r(NULL, ",", &save)) {
            const struct peer *peer = peer_find(one);
            if (!peer || o->impls == OPTIONS_IMPLS_MAX)
                refuse(name, one, "not an implementation that was built");
            o->impl[o->impls++] = peer;
        }
    free(copy);
    if (!o->impls)
        refuse(name, text, "names no implementation");
}

static void read_nodes(struct options *o, const char *name, const char *text)
{
    char *copy = bench_text("%s", text);
    o->sizes = 0;
    for (char *save = NULL, *one = strtok_r(copy, ",", &save); one;
         one = strtok_r(NULL, ",", &save)) {
        if (o->sizes == OPTIONS_SIZES_MAX)
            refuse(name, one, "too many numbers");
        o->nodes[o->sizes++] = (uint32_t)number(name, one, 1, 20000000);
    }
    free(copy);
    if (!o->sizes)
        refuse(name, text, "no number");
}

static void read_period(struct options *o, const char *name, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    static const struct {
        const char *name;
        double ns;
    } unit[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
    double ns = 0;
    for (unsigned i = 0; i < 4; i++)
        if (strcmp(end, unit[i].name) == 0)
            ns = value * unit[i].ns;
    if (end == text || !(ns >= 1000 && ns <= 1e10))
        refuse(name, text, "not a time from 1us to 10s, as 100us");
    o->period_ns = ns;
}

static void read_format(struct options *o, const char *name, const char *text)
{
    int format = table_format_of(text);
    if (format < 0)
        refuse(name, text, "not table, csv or json");
    o->format = (enum table_format)format;
}

static void read_plot(struct options *o, const char *name, const char *text)
{
    (void)name;
    o->plot = text;
}

static void read_unbound(struct options *o, const char *name, const char *text)
{
    (void)name;
    (void)text;
    o->unbound = 1;
}

static void read_quick(struct options *o, const char *name, const char *text)
{
    (void)name;
    (void)text;
    o->quick = 1;
}

static void read_longer(struct options *o, const char *name, const char *text)
{
    (void)name;
    (void)text;
    o->longer = 1;
}

static void read_strace(struct options *o, const char *name, const char *text)
{
    (void)name;
    (void)text;
    o->strace = 1;
}

static const struct option_row rows[] = {
    { "graph", "NAME", "chain, stencil, fft, random, fan, cholesky or tree", read_graph },
    { "pattern", "NAME[,NAME...]", "patterns of Task Bench, or all of them", read_pattern },
    { "width", "W", "columns, leaves, or tiles in a row (cholesky)", read_width },
    { "steps", "S", "rows, or repetitions of fan and tree", read_steps },
    { "nodes", "N[,N...]", "about how many nodes the graph has", read_nodes },
    { "mode", "NAME", "rondo: compiled or interpreted", read_mode },
    { "schedule", "NAME", "rondo: static, dataflow or auto", read_schedule },
    { "order", "NAME", "serial, pipelined or concurrent", read_order },
    { "workers", "K", "threads; forces K lanes, each node on its column's", read_workers },
    { "unbound", NULL, "rondo: let it choose where nodes run", read_unbound },
    { "window", "N", "rondo: replays in flight", read_window },
    { "body", "BODY", "empty, spin:NS or uneven:NS (1 node in 16 takes 100 times NS)", read_body },
    { "replays", "N", "replays in a sample; chosen by time if not given", read_replays },
    { "rounds", "N", "samples of each, taken by turns", read_rounds },
    { "impl", "NAME[,NAME...]", "what to measure, or all", read_impl },
    { "period", "TIME", "one replay each period, as 100us", read_period },
    { "submitters", "N", "1 or 2 threads that replay", read_submitters },
    { "strace", NULL, "count system calls with strace", read_strace },
    { "format", "NAME", "table, csv or json", read_format },
    { "plot", "FILE", "draw the costs per node as SVG", read_plot },
    { "quick", NULL, "fewer graphs, sizes and samples: under a minute", read_quick },
    { "long", NULL, "10^8 replays where memory is watched", read_longer },
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- reading */

static int knows(const struct command *command, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = command->options; (at = strstr(at, name)); at += length)
        if ((at == command->options || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return 1;
    return 0;
}

static void help(const struct command *command)
{
    printf("usage: rondo-bench %s [options]\n%s.\n\n", command->name, command->what);
    for (unsigned i = 0; i < ROWS; i++) {
        char left[64];
        if (!knows(command, rows[i].name))
            continue;
        snprintf(left, sizeof left, "--%s %s", rows[i].name, rows[i].value ? rows[i].value : "");
        printf("  %-24s %s\n", left, rows[i].help);
    }
    printf("  %-24s %s\n", "--help", "this text");
    if (command->defaults)
        printf("\nNot given: %s.\n", command->defaults);
    if (!knows(command, "impl"))
        return;
    printf("\nImplementations:\n");
    for (unsigned i = 0; peers[i]; i++)
        printf("  %-24s %s\n", peers[i]->name, peers[i]->what);
}

void options_read(const struct command *command, int argc, char **argv, struct options *options)
{
    struct option longs[ROWS + 2] = { 0 };
    unsigned count = 0;
    int found;
    *options = (struct options){ .graph = GRAPH_KINDS };
    for (int i = 0; i < ROWS; i++)
        if (knows(command, rows[i].name))
            longs[count++] =
                (struct option){ rows[i].name, rows[i].value ? required_argument : no_argument,
                                 NULL, i };
    longs[count] = (struct option){ "help", no_argument, NULL, 'h' };
    opterr = 0;
    optind = 2;
    while ((found = getopt_long(argc, argv, ":h", longs, NULL)) >= 0) {
        if (found == 'h') {
            help(command);
            exit(0);
        }
        if (found == '?' || found == ':')
            bench_die(BENCH_EXIT_USAGE, "%s: %s (rondo-bench %s --help)", argv[optind - 1],
                      found == ':' ? "needs a value" : "no such option", command->name);
        rows[found].read(options, rows[found].name, optarg);
    }
    if (optind < argc)
        bench_die(BENCH_EXIT_USAGE, "%s: not an option (rondo-bench %s --help)", argv[optind],
                  command->name);
}
