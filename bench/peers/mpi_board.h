/* SPDX-License-Identifier: BSD-3-Clause */
/* The page through which the program that measures gives two MPI ranks their orders. */
#ifndef BENCH_PEERS_MPI_BOARD_H
#define BENCH_PEERS_MPI_BOARD_H

#include "bench/body.h"
#include "bench/graphs.h"

#include <semaphore.h>
#include <stdint.h>

enum rank_order { RANK_RUN, RANK_CHECK, RANK_QUIT };

struct board {
    sem_t go[2], done; /* done: raised by rank 0 */
    enum rank_order order;
    enum graph_kind kind;
    uint32_t width, steps;
    uint64_t count, iterations;
    enum body_kind body;
    int pipelined;
    double ns;      /* rank 0's answer */
    uint64_t wrong; /* the same */
};

#endif
