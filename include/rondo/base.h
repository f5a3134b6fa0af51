/* SPDX-License-Identifier: BSD-3-Clause */
/* Rondo: statuses, handles and events, shared by every public header. */
#ifndef RONDO_BASE_H
#define RONDO_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RONDO_API
#if defined(__GNUC__)
#define RONDO_API __attribute__((visibility("default")))
#else
#define RONDO_API
#endif
#endif

/* Every status, its number and what it says. */
#define RONDO_STATUSES(X)                                                              \
    X(RONDO_OK, 0, "success")                                                          \
    X(RONDO_ERR_INVALID, 1, "invalid argument")                                        \
    X(RONDO_ERR_FAILED, 2, "a task failed")                                            \
    X(RONDO_ERR_AGAIN, 3, "not now, try again")                                        \
    X(RONDO_ERR_STALE, 4, "the handle's object is gone, or its result no longer kept") \
    X(RONDO_ERR_CANCELLED, 5, "cancelled after an earlier failure")                    \
    X(RONDO_ERR_WOULD_BLOCK, 6, "a task may not block")                                \
    X(RONDO_ERR_MEMORY, 7, "out of memory")                                            \
    X(RONDO_ERR_SYSTEM, 8, "an operating system call failed")                          \
    X(RONDO_ERR_DEADLINE, 9, "past its deadline")                                      \
    X(RONDO_ERR_DEVICE_LOST, 10, "a device failed and takes no more work")

enum {
#define RONDO_STATUS_ENUM(name, value, text) name = (value),
    RONDO_STATUSES(RONDO_STATUS_ENUM)
#undef RONDO_STATUS_ENUM
};
typedef int32_t rondo_status;

/* Handles are 8-byte values with a generation. {0} means none; a handle whose object was destroyed,
 * or that belongs to another object, gives RONDO_ERR_STALE or RONDO_ERR_INVALID, never a crash. */
typedef struct rondo_runtime {
    uint64_t id;
} rondo_runtime;
typedef struct rondo_buffer {
    uint64_t id;
} rondo_buffer;
typedef struct rondo_subgraph {
    uint64_t id;
} rondo_subgraph;
typedef struct rondo_exec {
    uint64_t id;
} rondo_exec;
typedef struct rondo_node {
    uint64_t id;
} rondo_node;
typedef struct rondo_slot {
    uint64_t id;
} rondo_slot;
typedef struct rondo_param {
    uint64_t id;
} rondo_param;
typedef struct rondo_counter {
    uint64_t id;
} rondo_counter;
typedef struct rondo_completion {
    uint64_t id;
} rondo_completion;
typedef struct rondo_loop {
    uint64_t id;
} rondo_loop;

/* Complete when the source has reached the count. {0, 0} is always complete. Safe to query for
 * ever, also after its exec is gone. */
typedef struct rondo_event {
    uint64_t source, count;
} rondo_event;

/* A processor: RONDO_ANY_CPU, RONDO_CPU(i) for the i-th worker of the runtime, or RONDO_GPU(i) for
 * the i-th device that it opened. */
typedef uint32_t rondo_processor;
enum { RONDO_ANY_CPU = 0 };
/* A memory: where bytes of a buffer may be. RONDO_HOST, RONDO_PINNED (host memory that devices copy
 * from and to at full speed), or RONDO_GPU_MEMORY(i), that of RONDO_GPU(i). 0: none named. */
typedef uint32_t rondo_memory;
enum { RONDO_HOST = 1, RONDO_PINNED = 2 };
/* A time that never comes. */
enum { RONDO_NEVER = -1 };
static inline rondo_processor RONDO_CPU(uint32_t i) { return (rondo_processor)(1u << 24 | i); }
static inline rondo_processor RONDO_GPU(uint32_t i) { return (rondo_processor)(2u << 24 | i); }
static inline rondo_memory RONDO_GPU_MEMORY(uint32_t i) { return (rondo_memory)(2u << 24 | i); }

/* The text of a status; a fixed string for an unknown one. Any thread, never blocks. */
RONDO_API const char *rondo_status_string(rondo_status status);

/* What the last call of this thread that did not return RONDO_OK (or returned a {0} handle) has to
 * say: which object, node and field, and the values. Valid until this thread's next failing call;
 * never NULL. */
RONDO_API const char *rondo_error_message(void);

#ifdef __cplusplus
}
#endif
#endif
