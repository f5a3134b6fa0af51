/* SPDX-License-Identifier: BSD-3-Clause */
/* What the measured nodes do, and the check that a graph runs as it should. Every body's argument
 * points to its node's number. */
#ifndef BENCH_BODY_H
#define BENCH_BODY_H

#include "bench/graphs.h"

#include <rondo/task.h>

#ifdef __cplusplus
extern "C" {
#endif

enum body_kind { BODY_EMPTY, BODY_SPIN, BODY_UNEVEN };

struct body_spec {
    enum body_kind kind;
    double ns; /* how long a body takes; of uneven ones the short kind */
};

/* "empty", "spin:NS" or "uneven:NS". 0 on success. */
int body_parse(const char *text, struct body_spec *spec);

int body_empty(rondo_task *self, const void *arg);
/* Takes the time last set by body_set: the same for all, or 100 times that for one node in 16. */
int body_spin(rondo_task *self, const void *arg);
int body_uneven(rondo_task *self, const void *arg);
int body_check(rondo_task *self, const void *arg);

rondo_task_fn *body_function(enum body_kind kind);
/* What node `node` takes of a graph with bodies like that; of empty ones spec->ns too. */
double body_node_ns(const struct body_spec *spec, uint32_t node);
/* Measures how long an iteration takes and sets how many a body does; no body may be running. */
void body_set(const struct body_spec *spec);
void body_set_iterations(uint64_t iterations);
uint64_t body_iterations_for(double ns);
uint64_t body_iterations(void);

/* Between begin and end body_check counts the runs of each node of the graph and looks that each
 * starts after its predecessors' runs of the same replay, and with `carried` after those of the
 * replay before. */
void body_check_begin(const struct graph *graph, int carried);
/* How many of the nodes ran another number of times than `replays`, plus how many started too
 * early.
 */
uint64_t body_check_end(uint64_t replays);

#ifdef __cplusplus
}
#endif
#endif
