/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings of Rondo's own, as JSON, with what commands give them. */
#ifndef RONDO_TOOLS_RECORDED_H
#define RONDO_TOOLS_RECORDED_H

#include "tools/file.h"

/* Reads what `text` holds: costs are multiplied by `times`, bodies given, counters made. Fills
 * graph->subgraph, nodes and counters; with `fill` also graph->filled. The message of a status is
 * rondo_error_message's. */
rondo_status recorded_read(const char *text, size_t bytes, rondo_runtime runtime, double times,
                           int fill, const struct file_bodies *bodies, struct file_graph *graph);

#endif
