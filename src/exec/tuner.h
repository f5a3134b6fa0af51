/* SPDX-License-Identifier: BSD-3-Clause */
/* RONDO_SCHEDULE_AUTO: which core an exec's replays run on, found by timing live ones. */
#ifndef RD_EXEC_TUNER_H
#define RD_EXEC_TUNER_H

#include "src/exec/exec.h"

/* Gives the exec a tuner if there is a choice to make. MEMORY. */
rondo_status rd_tuner_start(struct rd_exec *x);
void rd_tuner_free(struct rd_exec *x);
/* The nodes were placed by a profile, on x->chosen: whether there is a choice to make. */
int rd_tuner_begin(struct rd_exec *x);
/* What a node costs from now on, for cores that are not being made yet. Under x->placing. */
void rd_tuner_set_cost(struct rd_exec *x, uint32_t node, uint32_t cost_ns);
/* Before a submit takes its tickets: may turn to another core. `count`: of its replays. */
void rd_tuner_step(struct rd_exec *x, uint64_t count);
/* The user chose a mode (1), or leaves it to Rondo again (0). */
void rd_tuner_force(struct rd_exec *x, int forced);
/* How many replays of a call of `count` to submit first, while the choice is open; 0: all. */
uint64_t rd_tuner_part(struct rd_exec *x, uint64_t count);
/* Tickets from `first` on were taken: notes when. */
void rd_tuner_submitted(struct rd_exec *x, const struct rd_core *c, uint64_t first);
/* A replay of the exec has ended. Any thread. */
void rd_tuner_ended(struct rd_exec *x);
/* What was chosen and why, with the figures, for rondo_exec_describe. */
void rd_tuner_describe(struct rd_exec *x, char *text, size_t bytes);

#endif
