/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeing what ran when. */
#ifndef RONDO_TRACE_H
#define RONDO_TRACE_H

#include <rondo/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Replays of the runtime submitted from now on note when each node began and ended, lane by lane
 * (RONDO_TRACE=file in the environment starts at open and writes at close). INVALID: a trace runs
 * already. MEMORY. Keeps up to `most_spans` per lane, 0: 65,536; later ones are counted, not kept.
 */
RONDO_API rondo_status rondo_trace_start(rondo_runtime runtime, uint64_t most_spans);
/* Ends the trace and writes it in the Trace Event Format that chrome://tracing and Perfetto read,
 * piece by piece, on this thread. Replays in flight should have ended: spans of theirs that are not
 * noted yet are missing. INVALID: no trace runs. */
RONDO_API rondo_status rondo_trace_stop(rondo_runtime runtime,
                                        void (*write)(void *context, const char *text),
                                        void *context);

/* Writes to a file descriptor, for every worker of every runtime of the process, which node of
 * which exec and replay it runs, or what it waits for: a line each. Async-signal-safe: call it from
 * a handler of SIGSEGV, SIGALRM, SIGABRT. */
RONDO_API void rondo_where(int fd);

#ifdef __cplusplus
}
#endif
#endif
