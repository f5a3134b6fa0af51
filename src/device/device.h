/* SPDX-License-Identifier: BSD-3-Clause */
/* What a backend provides: devices, their memory, kernels, queues and segments. One table of
 * functions of our signatures; a file per backend adapts a driver to it. The driver's library is
 * found by dlopen, so a program that links Rondo starts on a machine without.
 *
 * Addresses. Device memory is known by addresses, in one address space with the host's: no device
 * instance overlaps host memory or another device's. Whether the host may use such an address is
 * the backend's business and nothing here relies on it.
 *
 * Progress. A queue runs its submissions in order. Each is given a value, the next greater whole
 * number of that queue; when it and all before it have ended the backend raises the queue's
 * progress to it, from whatever thread, in whatever order (a maximum). Nothing here waits for a
 * device but `copy` and `segment_step`. */
#ifndef RD_DEVICE_DEVICE_H
#define RD_DEVICE_DEVICE_H

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/event/source.h"

#include <rondo/kernel.h>
#include <rondo/runtime.h>

struct rd_backend;       /* a driver, opened */
struct rd_device_kernel; /* a kernel compiled for a device, its arguments its own */
struct rd_queue;
struct rd_segment;

/* How far a queue has come: source->done is the value of the last submission that has ended, and
 * whoever waits for it is woken. Never goes back. Once `failed` is set the queue takes no more work
 * and `done` is RD_PROGRESS_LOST, so that nobody waits for ever; `why` was written before. */
struct rd_progress {
    struct rd_source *source;
    rd_atomic32 failed;
    char why[160];
};
#define RD_PROGRESS_LOST (UINT64_MAX >> 1)
/* progress.c: by a backend, from any thread, also a driver's. */
void rd_progress_reach(struct rd_progress *p, uint64_t value);
void rd_progress_fail(struct rd_progress *p, const char *why);

/* A box of bytes: `row` bytes, rows, planes, at pitches. */
struct rd_box_move {
    size_t row, rows, planes;
    size_t to_pitch[2], from_pitch[2];
};

/* Where an address comes from in a replay: base[slot] + offset. */
struct rd_place {
    uint32_t slot;
    int64_t offset;
};

enum rd_command_kind { RD_COMMAND_KERNEL, RD_COMMAND_COPY, RD_COMMAND_FILL, RD_COMMAND_LAUNCH };

/* An argument of a kernel. */
struct rd_command_arg {
    uint32_t kind;         /* RONDO_ARG_... */
    uint32_t bytes;        /* of a value, a parameter, or local memory */
    struct rd_place place; /* ARG_ACCESS */
    uint32_t param_at;     /* ARG_PARAM, ARG_PARAM_ADDRESS: offset in the block of parameters */
    const void *value;     /* ARG_VALUE */
};

struct rd_segment_call;

/* One node of a segment. What its pointers lead to lives as long as the segment. */
struct rd_command {
    enum rd_command_kind kind;
    uint32_t node;         /* whose it is, for messages and times */
    const char *name;      /* the node's */
    const uint32_t *after; /* commands of this segment that it follows, ascending, each less */
    uint32_t after_count;  /* than its own number; what it does not name it may overlap */
    /* KERNEL */
    struct rd_device_kernel *kernel; /* its own: nothing else sets its arguments */
    uint32_t dimensions, arg_count;
    uint64_t global[3], local[3]; /* local[0] 0: the driver chooses */
    const struct rd_command_arg *arg;
    /* COPY, FILL */
    struct rd_place to, from;
    struct rd_box_move box;
    size_t elem_bytes;
    const void *value; /* FILL: elem_bytes of it */
    /* A move whose counts (in elements) are a parameter: int64_t at param_at, how many of them; the
     * core has checked them against the box before it submits. 0: the whole box. */
    uint32_t count_values, count_at;
    /* LAUNCH: enqueues on the native queue; returns 0, or how it failed. */
    int (*launch)(void *context, const struct rd_segment_call *call, void *native_queue);
    void *launch_context;
};

/* What a segment is given for one replay. Valid until progress has reached `value`. */
struct rd_segment_call {
    void *const *base;   /* by slot: element (0,0,0) */
    const char *params;  /* this replay's block, in host memory */
    const uint8_t *skip; /* by command: 1: not this time; NULL: all run */
    uint32_t frame;      /* which of `frames` of segment_new; its last call has ended */
    uint64_t value;
    int timed;     /* when each command runs is wanted, see segment_times */
    void *context; /* the caller's, for launches */
};

/* A kernel's source. */
struct rd_kernel_source {
    uint32_t format;
    const void *image;
    size_t image_bytes;
    const char *entry, *options; /* options may be NULL */
    uint32_t arg_count;          /* what the node gives: INVALID if the kernel has another number */
};

/* A copy that is no part of a replay. */
struct rd_device_copy {
    void *to;
    const void *from;
    struct rd_box_move box;
};

/* When a command ran, CLOCK_MONOTONIC; 0, 0: it did not. */
struct rd_command_time {
    int64_t begin_ns, end_ns;
};

struct rd_hardware {
    char name[96];
    uint64_t memory_bytes;
    uint32_t units;
};

/* Every function that returns a status sets this thread's message and leaves nothing behind when it
 * fails. INVALID: the request; MEMORY: host or device memory; DEVICE_LOST: the driver failed. The
 * message names the driver's call and its error. Any thread, unless said otherwise. */
struct rd_backend_ops {
    const char *name; /* "opencl" */
    const char *what; /* for rondo_backends */
    /* Loads the driver and opens the devices that `which` names: "" all of them, or numbers and
     * splits as in rondo_runtime_options.devices, without the name: "0,1", "0/2". INVALID: it is
     * not there, or has no such device; the message says what is missing. */
    rondo_status (*open)(struct rd_allocator *a, const char *which, struct rd_backend **backend);
    void (*close)(struct rd_backend *b);
    uint32_t (*devices)(const struct rd_backend *b);
    void (*hardware)(const struct rd_backend *b, uint32_t device, struct rd_hardware *h);
    /* Whether a device can copy from another's memory by itself. */
    int (*peers)(const struct rd_backend *b, uint32_t device, uint32_t other);

    rondo_status (*allocate)(struct rd_backend *b, uint32_t device, size_t bytes, void **memory);
    void (*release)(struct rd_backend *b, uint32_t device, void *memory);
    rondo_status (*allocate_pinned)(struct rd_backend *b, size_t bytes, void **memory);
    void (*release_pinned)(struct rd_backend *b, void *memory);
    /* Copies now; returns when it is done. Each side is in host memory, this device's or a peer's.
     */
    rondo_status (*copy)(struct rd_backend *b, uint32_t device, const struct rd_device_copy *copy);

    rondo_status (*kernel_new)(struct rd_backend *b, uint32_t device,
                               const struct rd_kernel_source *source,
                               struct rd_device_kernel **kernel);
    void (*kernel_free)(struct rd_device_kernel *k);

    rondo_status (*queue_new)(struct rd_backend *b, uint32_t device, struct rd_progress *progress,
                              struct rd_queue **queue);
    /* Nothing of it is in flight. */
    void (*queue_free)(struct rd_queue *q);

    /* A segment of that queue; `frames` calls of it may be in flight at once. `params_bytes`: of
     * the block of parameters. Everything that a submit needs is made here. */
    rondo_status (*segment_new)(struct rd_queue *q, const struct rd_command *command,
                                uint32_t count, uint32_t frames, size_t params_bytes,
                                struct rd_segment **segment);
    void (*segment_free)(struct rd_segment *s); /* nothing of it is in flight */
    /* Hands the whole segment over and returns. One thread at a time per queue. When it fails,
     * *command is the one that did not go through (or `count`: none in particular), and none of the
     * call will be waited for. */
    rondo_status (*segment_submit)(struct rd_segment *s, const struct rd_segment_call *call,
                                   uint32_t *command);
    /* One command after the other, each waited for: what interpreted replays do. The same end:
     * progress reaches call->value. As segment_submit; also DEVICE_LOST of a command that ran. */
    rondo_status (*segment_step)(struct rd_segment *s, const struct rd_segment_call *call,
                                 uint32_t *command);
    /* After a timed call has ended, before its frame is used again: by command. */
    void (*segment_times)(struct rd_segment *s, uint32_t frame, struct rd_command_time *times);
    /* How the segment goes to the device, one line: "8 enqueues, 1 flush, 1 callback". */
    void (*segment_describe)(const struct rd_segment *s, char *text, size_t bytes);
    /* Driver calls so far on this thread's behalf or any other's: for tests and benchmarks. */
    uint64_t (*calls)(const struct rd_backend *b);
};

/* The backends that this build knows, NULL after the last. */
extern const struct rd_backend_ops *const rd_backends[];

#endif
