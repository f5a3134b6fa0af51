/* SPDX-License-Identifier: BSD-3-Clause */
/* What is measured against each other: Rondo, programs written by hand, and what else a user could
 * pick. Each is one struct peer; each runs the very same body functions on the same graph. */
#ifndef BENCH_PEERS_PEER_H
#define BENCH_PEERS_PEER_H

#include "bench/body.h"
#include "bench/graphs.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum replay_order { ORDER_SERIAL, ORDER_PIPELINED, ORDER_CONCURRENT };
enum replay_mode { MODE_COMPILED, MODE_INTERPRETED };
enum replay_schedule { SCHEDULE_STATIC, SCHEDULE_DATAFLOW, SCHEDULE_AUTO };

struct setup {
    rondo_task_fn *body;
    enum replay_order order;
    enum replay_mode mode; /* rondo, of the static schedule: the others choose it themselves */
    enum replay_schedule schedule; /* rondo */
    unsigned workers;              /* 1 or 2 threads; Rondo takes more */
    int bind; /* 1: each node runs on its owner; 0: placement is the library's, if it has one */
    int each; /* rondo, not serial: a call for each replay instead of one for all of them; `auto`
 chooses between calls */
    const struct body_spec *told; /* rondo: what it is told that the bodies take; NULL: nothing */
    unsigned pauses; /* handwritten: 1 to 4 between two polls; 0: those that measure best */
};

struct figures {
    size_t edges, waits;                          /* waits kept, where that means something */
    double record_ns, instantiate_ns, plan_bytes; /* of the whole graph; 0: not known */
    unsigned pauses;                              /* between two polls of a counter; 0: not known */
};

struct peer {
    const char *name, *what;
    /* NULL if it can run the graph so, else why not. */
    const char *(*refusal)(const struct graph *graph, const struct setup *setup);
    /* All that is needed once before many replays. The graph outlives it. Given back by `free`. */
    void *(*build)(const struct graph *graph, const struct setup *setup);
    /* Replays the graph `count` times in the order of the setup and returns how long it took, in
     * ns. Serial: each ends before the next begins. */
    double (*run)(void *built, uint64_t count);
    void (*figures)(void *built, struct figures *figures); /* may be NULL */
    void (*free)(void *built);
    /* Runs the graph with the check of bench/body.h where its nodes run in other processes: how
     * much was wrong. NULL: this process can check. */
    uint64_t (*check)(const struct graph *graph, const struct setup *setup, uint64_t count);
    void (*close)(void); /* ends its threads and processes; may be NULL */
};

extern const struct peer peer_rondo, peer_handwritten, peer_loop;
extern const struct peer peer_barrier, peer_spin_barrier;
#ifdef RONDO_PEER_OPENMP
extern const struct peer peer_openmp, peer_openmp_for;
#endif
#ifdef RONDO_PEER_LLVM_OPENMP /* the name of its module */
extern const struct peer peer_llvm_openmp, peer_llvm_openmp_for;
#endif
#ifdef RONDO_PEER_TBB
extern const struct peer peer_tbb, peer_tbb_flow;
#endif
#ifdef RONDO_PEER_MPI
extern const struct peer peer_mpi;
/* What a rank of the MPI peer does; `board` names the file that holds its orders. */
int peer_mpi_rank_main(const char *board);
#endif

/* All that were built, ended by NULL. */
extern const struct peer *const peers[];
/* By name; NULL when there is none. */
const struct peer *peer_find(const char *name);
void peers_close(void);
/* Runs the graph `count` times with the checking body; how much was wrong, 0 for a right peer. */
uint64_t peer_check(const struct peer *peer, const struct graph *graph, const struct setup *setup,
                    uint64_t count);

/* Ends the program with a message if the peer does not run the graph right. */
void peer_must_check(const struct peer *peer, const struct graph *graph, const struct setup *setup);

/* Orders of replays, modes and schedules by their names on the command line; -1 for anything else.
 */
int replay_order_of(const char *name);
const char *replay_order_name(enum replay_order order);
int replay_mode_of(const char *name);
const char *replay_mode_name(enum replay_mode mode);
int replay_schedule_of(const char *name);
const char *replay_schedule_name(enum replay_schedule schedule);

#ifdef __cplusplus
}
#endif
#endif
