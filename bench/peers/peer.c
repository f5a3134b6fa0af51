/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of peers that were built, and what goes for all of them. */
#include "bench/peers/peer.h"

#include "bench/support.h"

#include <string.h>

enum { CHECK_REPLAYS = 20 };

const struct peer *const peers[] = {
    &peer_rondo,       &peer_handwritten,     &peer_loop,
#ifdef RONDO_PEER_TBB
    &peer_tbb,         &peer_tbb_flow,
#endif
#ifdef RONDO_PEER_OPENMP
    &peer_openmp,      &peer_openmp_for,
#endif
#ifdef RONDO_PEER_LLVM_OPENMP
    &peer_llvm_openmp, &peer_llvm_openmp_for,
#endif
#ifdef RONDO_PEER_MPI
    &peer_mpi,
#endif
    &peer_barrier,     &peer_spin_barrier,    NULL,
};

const struct peer *peer_find(const char *name)
{
    for (size_t i = 0; peers[i]; i++)
        if (strcmp(peers[i]->name, name) == 0)
            return peers[i];
    return NULL;
}

void peers_close(void)
{
    for (size_t i = 0; peers[i]; i++)
        if (peers[i]->close)
            peers[i]->close();
}

uint64_t peer_check(const struct peer *peer, const struct graph *graph, const struct setup *setup,
                    uint64_t count)
{
    struct setup checking = *setup;
    checking.body = body_check;
    if (peer->check)
        return peer->check(graph, &checking, count);
    body_check_begin(graph, setup->order == ORDER_PIPELINED);
    void *built = peer->build(graph, &checking);
    peer->run(built, count);
    peer->free(built);
    return body_check_end(count);
}

void peer_must_check(const struct peer *peer, const struct graph *graph, const struct setup *setup)
{
    uint64_t wrong = peer_check(peer, graph, setup, CHECK_REPLAYS);
    if (wrong)
        bench_die(BENCH_EXIT_FAILED, "%s does not run the graph %s as it should: %llu faults",
                  peer->name, graph_kind_name(graph->kind), (unsigned long long)wrong);
}

/* ---- names */

static const char *const order_names[] = { "serial", "pipelined", "concurrent", NULL };
static const char *const mode_names[] = { "compiled", "interpreted", NULL };
static const char *const schedule_names[] = { "static", "dataflow", "auto", NULL };

static int find(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

int replay_order_of(const char *name) { return find(order_names, name); }

const char *replay_order_name(enum replay_order order) { return order_names[order]; }

int replay_mode_of(const char *name) { return find(mode_names, name); }

const char *replay_mode_name(enum replay_mode mode) { return mode_names[mode]; }

int replay_schedule_of(const char *name) { return find(schedule_names, name); }

const char *replay_schedule_name(enum replay_schedule schedule) { return schedule_names[schedule]; }
