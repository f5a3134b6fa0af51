/* SPDX-License-Identifier: BSD-3-Clause */
/* Rondo: record a subgraph of tasks and copies once, replay it many times.
 *
 * The rules that hold for every call:
 *
 * - Handles are 8-byte values with a generation: one whose object is gone gives RONDO_ERR_STALE,
 * one of another object RONDO_ERR_INVALID, never a crash. {0} is none.
 * - A zeroed description means defaults. Everything it points to is copied before the call returns,
 *   except `context`. Descriptions grow at the end: the inline wrappers pass their size to the
 * exported
 *   `_sized` function, so a program built against an older header keeps working.
 * - Builders return the handle, {0} when refused, and the first error sticks to the subgraph.
 *   Everything else returns a rondo_status; outputs come last and are written only on success. Only
 *   rondo_exec_wait and rondo_replay_and_wait return the status of a failed replay and fill the
 * result.
 * - After a call that did not succeed, rondo_error_message() says what, which node and which
 * values; the call has changed nothing (but a builder's sticky error).
 * - Unless said otherwise a call may be made from any thread and does not block.
 * - Sizes are bytes, times nanoseconds, regions count elements, dimension 0 is contiguous. */
#ifndef RONDO_H
#define RONDO_H

#include <rondo/base.h>
#include <rondo/buffer.h>
#include <rondo/counter.h>
#include <rondo/exec.h>
#include <rondo/kernel.h>
#include <rondo/loop.h>
#include <rondo/read.h>
#include <rondo/runtime.h>
#include <rondo/subgraph.h>
#include <rondo/task.h>
#include <rondo/trace.h>

#endif
