/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices in random programs: which records are kernels or moves on a device, where memories are,
 * and what the program does with its buffers between replays. */
#ifndef TESTS_ENGINE_RANDOM_DEVICE_H
#define TESTS_ENGINE_RANDOM_DEVICE_H

#include "tests/engine/random_graph.h"

/* Where a memory's bytes are to begin with. All but the first have one buffer, and no raw ranges
 * are touched in them: the run's own bytes are a copy then, see rg_device_fetch. */
enum rg_place_kind { RG_WRAPPED, RG_OWNED, RG_PINNED, RG_ON_DEVICE, RG_OF_DEVICE };

/* ---- random_device.c: making */

/* Programs made from now on use devices. */
extern int rg_devices;
/* A record that was just made, with its boxes: now and then it goes to a device. */
void rg_device_make(struct rg_program *p, struct rg_rng *rng, struct rg_record *r);
/* Once everything else has been made. */
void rg_device_finish(struct rg_program *p, struct rg_rng *rng);
/* The oracle's part of a step's chore, and what is to be seen then. */
void rg_device_oracle(struct rg_run *run, const struct rg_step *step, unsigned char **seen,
                      uint64_t *home);
/* A hash of the slots that have to be home. */
uint64_t rg_device_home(const struct rg_run *run);
/* Whether all memories are as the oracle has seen them. */
void rg_device_compare(struct rg_run *run, uint32_t step, const unsigned char *seen);
/* Other bytes for a buffer of plain ones, whose element (0,0,0) is at `base`. */
void rg_device_poke(const struct rg_program *p, uint32_t buffer, unsigned char *base,
                    uint64_t salt);

/* ---- random_kernel.c: the one image of all kernels, and their recording */

/* `d` has what is common to nodes. */
rondo_node rg_device_kernel(const struct rg_run *run, uint32_t record, uint32_t version,
                            const rondo_param *param, rondo_subgraph subgraph,
                            rondo_kernel_desc *d);

/* ---- random_chore.c: running */

/* A buffer of memory that is not wrapped, with its first bytes. */
rondo_status rg_device_buffer(struct rg_run *run, struct rg_recorded *out, uint32_t buffer,
                              const rondo_buffer_desc *d);
/* Everything comes home: what the buffers hold is in run->memory. */
rondo_status rg_device_fetch(struct rg_run *run, const struct rg_recorded *recorded);
struct rg_chores; /* execs that visit */
/* While no replay is in flight, but for RG_SYNC, RG_MAP, RG_ADDRESS and the visits. */
rondo_status rg_device_chore(struct rg_run *run, struct rg_chores **chores,
                             const struct rg_recorded *recorded, const struct rg_step *step,
                             rondo_event last);
void rg_chores_end(struct rg_chores *chores);

#endif
