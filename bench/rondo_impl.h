/* SPDX-License-Identifier: BSD-3-Clause */
/* Rondo through its public interface, beyond its being a peer. */
#ifndef BENCH_RONDO_IMPL_H
#define BENCH_RONDO_IMPL_H

#include "bench/peers/peer.h"

#include <rondo/rondo.h>

/* Ends the program with Rondo's message unless `status` is RONDO_OK. */
void rondo_must(rondo_status status, const char *what);
/* The runtime for so many workers, on the first CPUs; opened once, closed by peers_close. One
 * worker is the first of two. */
rondo_runtime rondo_impl_runtime(unsigned workers);
/* The exec of what peer_rondo built. */
rondo_exec rondo_impl_exec(void *built);
/* How many replays may be in flight; 0: the library's choice. */
void rondo_impl_set_window(uint32_t window);
/* Records the graph as peer_rondo does. The caller destroys it. */
rondo_subgraph rondo_impl_record(const struct graph *graph, const struct setup *setup);

#endif
