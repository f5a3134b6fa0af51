/* SPDX-License-Identifier: BSD-3-Clause */
/* Task graphs in WfFormat, the JSON of WfCommons (https://wfcommons.org/format): recorded runs of
 * workflows.
 *
 * Schema 1.5: `workflow.specification.tasks[]` with id, name, parents and children, and
 * `workflow.execution.tasks[]` with id and runtimeInSeconds. Before: `workflow.tasks[]` (or
 * `jobs[]`) with name, parents, children and runtimeInSeconds or runtime; parents are named by id
 * or by name. Where both a task's parents and its parent's children are given, they must agree. */
#ifndef RONDO_TOOLS_WFFORMAT_H
#define RONDO_TOOLS_WFFORMAT_H

#include <stddef.h>
#include <stdint.h>

/* What a file may hold. */
#define WF_MAX_TASKS      1000000u
#define WF_MAX_EDGES      16000000u
#define WF_MAX_SECONDS    1e9         /* of one task */
#define WF_MAX_TREE_BYTES 3221225472u /* of the tree that is made of the text for a while */

struct wf_task {
    char *name;
    double seconds;        /* 0: not said */
    uint32_t first, count; /* its predecessors: predecessors[first .. first + count) */
};

/* Tasks stand in the order of the file where that has predecessors first, else in one that has. */
struct wf_graph {
    uint32_t task_count, predecessor_count;
    struct wf_task *tasks;
    uint32_t *predecessors; /* each smaller than the task it precedes */
};

enum wf_status { WF_OK = 0, WF_MALFORMED, WF_NO_MEMORY };

struct wf_error {
    int line, column; /* from 1; 0: the reason names the task or the member */
    char reason[320];
};

/* Reads a graph from JSON. On success `graph` is the caller's, ended by wf_free; else only `error`
 * is written. */
enum wf_status wf_read(const char *text, size_t bytes, struct wf_graph *graph,
                       struct wf_error *error);
void wf_free(struct wf_graph *graph);

#endif
