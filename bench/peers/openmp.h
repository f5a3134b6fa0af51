/* SPDX-License-Identifier: BSD-3-Clause */
/* What bench/peers/openmp.c defines: in the program itself, or as what a module shows. */
#ifndef BENCH_PEERS_OPENMP_H
#define BENCH_PEERS_OPENMP_H

#include "bench/peers/peer.h"

#ifdef RONDO_OPENMP_MODULE
#define peer_openmp     openmp_module_tasks
#define peer_openmp_for openmp_module_levels
extern __attribute__((visibility("default"))) const struct peer openmp_module_tasks,
    openmp_module_levels;
#endif

#endif
