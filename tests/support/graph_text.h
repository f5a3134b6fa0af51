/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings as text, for tests of what writes and reads them. */
#ifndef RD_TESTS_SUPPORT_GRAPH_TEXT_H
#define RD_TESTS_SUPPORT_GRAPH_TEXT_H

#include <rondo/rondo.h>

/* What pieces were put together; freed by the caller. */
struct graph_text {
    char *text;
    size_t bytes, room;
};
/* A `write` whose context is a struct graph_text. */
void graph_text_append(void *text, const char *piece);
/* The recording as JSON; the status, its text untouched where it is not RONDO_OK. */
rondo_status graph_text_of(rondo_subgraph subgraph, struct graph_text *text);
/* Its nodes and edges, a line each. */
rondo_status graph_text_seen(rondo_subgraph subgraph, struct graph_text *text);

/* Writes, reads, writes again: NULL when both texts are the same, and the nodes and edges of both
 * recordings; else what differs or failed (static memory). `json` (may be NULL) gets the text.
 * `counter`: one for each counter of the recording. */
const char *graph_text_round_trip(rondo_runtime runtime, rondo_subgraph subgraph,
                                  const rondo_counter *counter, struct graph_text *json);

#endif
