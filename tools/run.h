/* SPDX-License-Identifier: BSD-3-Clause */
/* What `rondo run` was asked for, and the replays it times. */
#ifndef RONDO_TOOLS_RUN_H
#define RONDO_TOOLS_RUN_H

#include "tools/job.h"

enum { MODE_INTERPRETED, MODE_COMPILED, MODE_BOTH };
enum { ORDER_SERIAL, ORDER_PIPELINED };

struct run_settings {
    const char *path;
    uint64_t workers; /* 0: one per CPU */
    uint64_t scale_ns, repeat;
    int mode, order;
};

/* One way of running the graph, and how long a replay of it took. */
struct run_row {
    const char *name;
    uint32_t mode;      /* RONDO_INTERPRETED or RONDO_COMPILED; 0: in order, without Rondo */
    uint64_t *ns;       /* settings.repeat samples */
    uint64_t checks_ns; /* the best without work: what nodes cost that only check */
};

struct run {
    struct run_settings settings;
    struct stg_graph graph;
    struct stg_extent extent;
    struct job job, plain; /* of the exec and of the row in order */
    uint64_t replays, plain_replays;
    rondo_runtime runtime;
    rondo_param work;
    rondo_exec exec;
    rondo_exec_counts counts;
    struct run_row rows[3];
    int row_count;
};

/* Opens a runtime, records, instantiates. Both return 0, or -1 after saying why on stderr; either
 * way run_close ends what is there. */
int run_open(struct run *run);
/* Replays by turns, one row after the other, `repeat` times over, and checks every replay. */
int run_measure(struct run *run);
void run_close(struct run *run);

#endif
