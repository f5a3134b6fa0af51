/* SPDX-License-Identifier: BSD-3-Clause */
/* Task graphs in the Standard Task Graph format (Tobita and Kasahara, "A standard task graph set
 * for fair evaluation of multiprocessor scheduling algorithms", 2002).
 *
 * The first line gives the number of tasks, n, without the two dummy ones (a second number is
 * allowed and ignored). Then one line per task, in ascending order: its number, its processing
 * time, how many predecessors it has, and these. Task 0 (absent in some files) and task n + 1 are
 * dummies of time 0. A predecessor is a task of an earlier line, so no file can hold a cycle. Blank
 * lines are skipped, and what follows the last task is comment: nothing is read from the first
 * line that begins with '#' on. */
#ifndef RONDO_TOOLS_STG_H
#define RONDO_TOOLS_STG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a file may hold. Memory grows with what has been read, never with what is announced. */
#define STG_MAX_TASKS        1000000u
#define STG_MAX_PREDECESSORS 16000000u   /* of all tasks together */
#define STG_MAX_TIME         1000000000u /* of one task, in the file's units */
#define STG_MAX_BYTES        268435456u  /* of the file */

struct stg_task {
    uint32_t time;         /* in the file's units */
    uint32_t first, count; /* its predecessors: predecessors[first .. first + count) */
};

/* Tasks are known by their place here: the number in the file, less first_number. */
struct stg_graph {
    uint32_t first_number; /* 0, or 1 where the file has no task 0 */
    uint32_t task_count, predecessor_count;
    struct stg_task *tasks;
    uint32_t *predecessors; /* places, each smaller than that of the task it precedes */
};

enum stg_status { STG_OK = 0, STG_MALFORMED, STG_UNREADABLE, STG_NO_MEMORY };

struct stg_error {
    size_t line; /* from 1 */
    char reason[160];
};

/* Reads a graph. On success `graph` is the caller's, ended by stg_free; else only `error` is
 * written. */
enum stg_status stg_read(FILE *file, struct stg_graph *graph, struct stg_error *error);
void stg_free(struct stg_graph *graph);

/* The longest chain of processing times, and the sum of all, in the file's units. */
struct stg_extent {
    uint64_t critical, serial;
};
/* Returns STG_NO_MEMORY or STG_OK. */
enum stg_status stg_measure(const struct stg_graph *graph, struct stg_extent *extent);

#endif
