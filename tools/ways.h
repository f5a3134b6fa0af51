/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways of replaying one graph file, made ready, timed and checked: what `rondo run` and `rondo
 * compare` share. */
#ifndef RONDO_TOOLS_WAYS_H
#define RONDO_TOOLS_WAYS_H

#include "tools/cli.h"
#include "tools/job.h"

enum { WAYS_MOST = 10, WAYS_SKIPPED_BYTES = 320 };
#define WAYS_SCALE_AUTO UINT64_MAX

struct way {
    const char *name;
    uint32_t mode, schedule, order; /* mode 0: in order, on this thread, without Rondo */
    rondo_exec exec;
    rondo_exec_counts counts;
    struct job_state state;
    uint64_t *ns; /* per replay, of each sample */
    uint64_t samples;
    uint64_t checks_ns;               /* the best of replays that check and do not compute */
    uint64_t batch;                   /* replays per sample */
    char skipped[WAYS_SKIPPED_BYTES]; /* why it cannot be replayed so; "": it can */
};

struct ways {
    const struct cli_command *command;
    const char *path;
    rondo_runtime runtime;
    uint32_t processors;
    struct job job;
    uint64_t scale; /* in use */
    double times;   /* on top of it; 1: as the file says */
    struct way way[WAYS_MOST];
    int count;
    uint64_t samples_most;
};

/* Reads the file and opens a runtime of `workers` (0: one per CPU) with `devices` (NULL: the
 * environment's). `scale`: as in file_options, or
 * WAYS_SCALE_AUTO: 1000, or as much less as a replay needs to compute for 5 ms at most. Returns 0
 * or an exit status after saying why; either way ways_close ends what is there. */
int ways_open(struct ways *ways, const struct cli_command *command, const char *path,
              uint64_t workers, const char *devices, uint64_t scale, uint64_t samples_most);
void ways_close(struct ways *ways);

/* Adds one. One that the recording cannot be replayed in is there, and skipped. Returns 0 or an
 * exit status. */
int ways_add(struct ways *ways, const char *name, uint32_t mode, uint32_t schedule, uint32_t order);

/* Replays `count` times in one call. Returns 0 and the nanoseconds per replay, or an exit status.
 */
int ways_replay(struct ways *ways, struct way *way, int work, uint64_t count, uint64_t *ns);
/* Adds a sample of way->batch replays. */
int ways_sample(struct ways *ways, struct way *way);
/* That all replays so far ran each task once. Sorts the samples. */
int ways_end(struct ways *ways);

uint64_t ways_now_ns(void);
double ways_min_us(const struct way *way);
double ways_median_us(const struct way *way);
uint64_t ways_replays(const struct ways *ways); /* by Rondo, of all ways */
const char *ways_order(const struct way *way);  /* "serial", ... */

/* The lines about the graph that stand above a table; and the same in JSON (json_t *), NULL: no
 * memory. */
void ways_print_head(const struct ways *ways);
void *ways_head_json(const struct ways *ways);
/* Notes below it: ways that were skipped, counters. */
void ways_print_notes(const struct ways *ways);

#endif
