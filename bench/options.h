/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of rondo-bench. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "bench/body.h"
#include "bench/peers/peer.h"
#include "bench/table.h"

enum { OPTIONS_IMPLS_MAX = 16, OPTIONS_SIZES_MAX = 16 };

struct options {
    enum graph_kind graph; /* GRAPH_KINDS: not given; a pattern where one was */
    enum graph_kind pattern[PATTERNS];
    unsigned patterns;
    uint32_t width, steps; /* 0: not given */
    enum replay_mode mode;
    enum replay_order order;
    enum replay_schedule schedule;
    unsigned workers, rounds, submitters; /* 0: not given */
    int unbound, quick, longer, strace;
    uint32_t window;
    struct body_spec body;
    int body_given;
    uint64_t replays; /* 0: not given */
    const struct peer *impl[OPTIONS_IMPLS_MAX];
    unsigned impls;
    uint32_t nodes[OPTIONS_SIZES_MAX];
    unsigned sizes;
    double period_ns;
    enum table_format format;
    const char *plot;
};

struct command {
    const char *name, *what;
    const char *options;  /* names of the options it knows, with spaces between them */
    const char *defaults; /* said in its help; may be NULL */
    int (*run)(const struct options *options);
};

/* Reads argv[2] and on. Ends the program on --help (0) and on what is wrong (2). */
void options_read(const struct command *command, int argc, char **argv, struct options *options);

int command_overhead(const struct options *options);
int command_latency(const struct options *options);
int command_instantiate(const struct options *options);
int command_build_one(const struct options *options);
int command_metg(const struct options *options);
int command_irregular(const struct options *options);
int command_auto(const struct options *options);
int command_trace(const struct options *options);
int command_simulate(const struct options *options);
int command_handover(const struct options *options);
int command_limit(const struct options *options);
int command_steady(const struct options *options);
int command_idle(const struct options *options);
int command_device(const struct options *options);
int command_compare(const struct options *options);

#endif
