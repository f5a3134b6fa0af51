/* SPDX-License-Identifier: BSD-3-Clause */
/* Graph files of every format as recordings, and back. */
#ifndef RONDO_TOOLS_FILE_H
#define RONDO_TOOLS_FILE_H

#include <rondo/rondo.h>

#include <stdint.h>
#include <stdio.h>

struct file_options {
    /* Nanoseconds per unit of a .stg file's processing times (default 1000). Of the other formats,
     * which say times in seconds or nanoseconds: thousandths that they are multiplied by. 1000: as
     * the file says. */
    uint64_t scale;
    double times; /* on top of that, for scales finer than a thousandth; 0: 1 */
    /* 1: slots and parameters that every replay must give (of a "rondo" file) get memory of their
     * own and zeros, so that replays need give nothing. */
    int fill;
};

/* What a task of the file runs: given by the command that loads it. NULL: nothing. Called once per
 * task, `number` counting the nodes of the recording; may set desc->fn, context, arg. */
struct file_bodies {
    rondo_status (*task)(void *context, uint32_t number, rondo_task_desc *desc);
    void *context;
};

struct file_graph {
    rondo_subgraph subgraph;
    char format[16]; /* "stg", "wfformat", "rondo" */
    uint32_t nodes;
    /* Counters that wait and signal nodes name. Nobody else raises them: they are made at the
     * greatest value, so that no wait waits for ever. */
    uint32_t counters;
    uint32_t filled; /* slots and parameters, see file_options */
};

/* Reads `path` ("-": standard input), whatever its format, which is told by what it holds, and
 * records it in `runtime`. Returns 0, or an exit status after saying file, place and reason on
 * stderr: EXIT_BAD_INPUT, EXIT_RUN_FAILED (no memory, unreadable). */
int file_load(const char *path, rondo_runtime runtime, const struct file_options *options,
              const struct file_bodies *bodies, struct file_graph *graph);

/* The same in two steps, to record what was read more than once. */
struct file;
/* Of a "rondo" file only its text is looked at here. Returns as file_load; *file is ended by
 * file_close. */
int file_open(const char *path, struct file **file);
int file_is_stg(const struct file *file);
int file_record(const struct file *file, rondo_runtime runtime, const struct file_options *options,
                const struct file_bodies *bodies, struct file_graph *graph);
void file_close(struct file *file); /* may be NULL */

/* `text` without what a terminal would act on, cut to fit: for messages about hostile files. */
void file_printable(const char *text, char *shown, size_t shown_bytes);

#endif
