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
/* A runtime of the caller's own; `options` may leave out the CPUs: the first `workers`. */
rondo_runtime rondo_impl_open(rondo_runtime_options options, unsigned workers);
/* As peer_rondo does, in a runtime given. What is recorded the caller destroys; what is built goes
 * back through peer_rondo.free. */
rondo_subgraph rondo_impl_record(rondo_runtime runtime, const struct graph *graph,
                                 const struct setup *setup);
void *rondo_impl_build(rondo_runtime runtime, const struct graph *graph, const struct setup *setup);

#endif
