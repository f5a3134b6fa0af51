/* SPDX-License-Identifier: BSD-3-Clause */
/* An existing loop: its first iteration is recorded, every iteration replays.
 *
 *     for (t = 0; t < steps; t++) {
 *         if (rondo_loop_record(loop, &g)) {
 *             ... record one step into g ...
 *         }
 *         rondo_loop_replay(loop, NULL, NULL);
 *     }
 *     rondo_loop_wait(loop, &result);
 *
 * A loop belongs to one thread at a time. */
#ifndef RONDO_LOOP_H
#define RONDO_LOOP_H

#include <rondo/exec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both descriptions may be NULL; they are copied. Ended by rondo_loop_destroy. */
RONDO_API rondo_status rondo_loop_create_sized(rondo_runtime runtime,
                                               const rondo_subgraph_desc *desc, size_t desc_bytes,
                                               const rondo_instantiate_options *options,
                                               size_t options_bytes, rondo_loop *loop);
/* Returns at once; replays in flight end by themselves. */
RONDO_API rondo_status rondo_loop_destroy(rondo_loop loop);

/* 1: record the step into *subgraph (which the loop owns), then call rondo_loop_replay. 0: it is
 * recorded. 0 also on an error, which rondo_loop_replay tells: STALE; INVALID: a recording is open
 * already (no replay since), which sticks until rondo_loop_invalidate. */
RONDO_API int rondo_loop_record(rondo_loop loop, rondo_subgraph *subgraph);

/* Instantiates what was recorded, if that is new, and replays it; `args` and `event` may be NULL.
 * As rondo_replay; and INVALID, or the error that stuck to the recording, when it cannot be
 * instantiated: invalidate, then record again. */
RONDO_API rondo_status rondo_loop_replay_sized(rondo_loop loop, const rondo_replay_args *args,
                                               size_t args_bytes, rondo_event *event);

/* As rondo_exec_wait of the loop's exec; OK before the first replay. */
RONDO_API rondo_status rondo_loop_wait_sized(rondo_loop loop, rondo_result *result,
                                             size_t result_bytes);

/* The next rondo_loop_record records anew: addresses or sizes have changed. Clears an error.
 * Replays in flight end as they were recorded, before the first replay of the new recording begins.
 */
RONDO_API rondo_status rondo_loop_invalidate(rondo_loop loop);

/* The exec behind it, for describe, set_mode and the like; STALE before the first replay. It stays
 * the loop's. */
RONDO_API rondo_status rondo_loop_exec(rondo_loop loop, rondo_exec *exec);

static inline rondo_status rondo_loop_create(rondo_runtime runtime, const rondo_subgraph_desc *desc,
                                             const rondo_instantiate_options *options,
                                             rondo_loop *loop)
{
    return rondo_loop_create_sized(runtime, desc, sizeof(rondo_subgraph_desc), options,
                                   sizeof(rondo_instantiate_options), loop);
}
static inline rondo_status rondo_loop_replay(rondo_loop loop, const rondo_replay_args *args,
                                             rondo_event *event)
{
    return rondo_loop_replay_sized(loop, args, sizeof(rondo_replay_args), event);
}
static inline rondo_status rondo_loop_wait(rondo_loop loop, rondo_result *result)
{
    return rondo_loop_wait_sized(loop, result, sizeof(rondo_result));
}

#ifdef __cplusplus
}
#endif
#endif
