/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the OpenCL backend share. */
#ifndef RD_DEVICE_OPENCL_STATE_H
#define RD_DEVICE_OPENCL_STATE_H

#include "src/device/device.h"
#include "src/device/opencl_calls.h"

#include <pthread.h>

enum { RD_OPENCL_DEVICES_MAX = 64, RD_OPENCL_PLATFORMS_MAX = 16 };

/* Copies and fills of boxes that the driver has no call for: kernels by the width of what a work
 * item moves, 1, 4, 8 and 16 bytes. */
enum { RD_OPENCL_WIDTHS = 4 };
struct rd_opencl_movers {
    struct rd_opencl_program *program;
    cl_kernel copy[RD_OPENCL_WIDTHS], fill[RD_OPENCL_WIDTHS];
};

/* How a segment goes to the device. */
enum rd_opencl_way {
    RD_OPENCL_IN_ORDER,     /* node by node, one after the other */
    RD_OPENCL_RECORDED,     /* as a command buffer: opencl_record.c */
    RD_OPENCL_OUT_OF_ORDER, /* node by node, each behind those that it follows: opencl_wide.c */
    RD_OPENCL_WAYS,
    RD_OPENCL_TRIAL = RD_OPENCL_WAYS /* which is fastest is being tried out: opencl_trial.c */
};

struct rd_opencl_device {
    struct rd_backend *backend;
    uint32_t index; /* in backend->device */
    cl_device_id id;
    int part; /* a sub-device, released at the end */
    cl_platform_id platform;
    cl_context context; /* one for all devices of a platform: they are peers */
    struct rd_hardware hardware;
    /* Its kernels may read host memory that is not its own. */
    int system;
    /* It is the host: a function of ours, enqueued, moves any box. */
    int native;
    int fine; /* host and device may use the same memory at the same time */
    int wide; /* it has queues out of order */
    /* Command buffers, of which several submissions may be in flight; all NULL: it has none. */
    struct rd_opencl_buffer_calls {
        clCreateCommandBufferKHR_fn create;
        clCommandNDRangeKernelKHR_fn ndrange;
        clFinalizeCommandBufferKHR_fn finalize;
        clEnqueueCommandBufferKHR_fn enqueue;
        clReleaseCommandBufferKHR_fn release;
    } buffer;
    /* For what is no part of a replay. */
    pthread_mutex_t lock;
    cl_command_queue queue;
    struct rd_opencl_movers movers; /* unless it is native; under the lock */
};

/* A compiled image. */
struct rd_opencl_program {
    struct rd_opencl_program *next;
    uint32_t device, refs;
    cl_program program;
    char *image, *options;
    size_t image_bytes, options_bytes;
};

/* Memory that this backend has allocated, in order of addresses. */
struct rd_opencl_blocks {
    uint32_t count, capacity;
    struct rd_opencl_block {
        char *begin;
        size_t bytes;       /* 0: it has been released */
        cl_context context; /* NULL: plain host memory */
    } block[];
};

struct rd_backend {
    struct rd_allocator *alloc;
    const struct rd_opencl_calls *cl;
    rd_atomic64 calls;
    enum rd_opencl_way way; /* RONDO_OPENCL_SUBMIT */
    pthread_mutex_t lock;   /* of blocks */
    struct rd_opencl_program *programs;
    rd_atomic(struct rd_opencl_blocks *) blocks;
    const char *asked_by;
    cl_int asked; /* while it is opened: how a question about a device failed first */
    uint32_t contexts, devices;
    cl_context context[RD_OPENCL_PLATFORMS_MAX];
    struct rd_opencl_device device[RD_OPENCL_DEVICES_MAX];
};

struct rd_device_kernel {
    struct rd_opencl_device *device;
    struct rd_opencl_program *program;
    char *entry;
    cl_kernel kernel;
};

struct rd_queue {
    struct rd_opencl_device *device;
    struct rd_progress *progress;
    cl_command_queue queue;
    cl_command_queue timed; /* for timed calls */
    cl_command_queue wide;  /* out of order; NULL: no segment has use for it */
    uint64_t submitted;     /* the latest value */
    /* The latest submission: see rd_opencl_follow. */
    struct rd_opencl_latest {
        struct rd_opencl_entry *entry; /* whose event it is; NULL: none, or it has ended */
        cl_event event;
        int wide;
    } latest;
};

/* An argument that may change from one call to the next, and what the kernel object has. */
struct rd_opencl_arg {
    uint32_t index; /* of the kernel's arguments */
    int set;
    const struct rd_command_arg *arg;
    void *address;
    char *value; /* RONDO_ARG_PARAM: arg->bytes of it */
};

/* What is known of a command beside what the caller says. */
struct rd_opencl_node {
    /* KERNEL: the first command of the segment with the same kernel and arguments, whose kernel
     * object serves all of them. A driver copies an object's arguments at each enqueue: a thousand
     * objects are a thousand times what it finds in its caches. */
    uint32_t as;
    uint32_t arg_first, arg_end; /* of rd_segment.arg; those of `as` */
    uint32_t followed;           /* whether commands of the segment follow it */
    char *value_there;           /* FILL: its value in device memory, where a kernel may need it */
};

enum { RD_OPENCL_PENDING = 1, RD_OPENCL_FORSAKEN = 2 };
/* A call in flight, by frame. */
struct rd_opencl_entry {
    struct rd_queue *queue;
    uint64_t value;
    /* Its callback has not returned. Progress may have passed its value all the same: callbacks
     * come in any order. Until then nothing of the entry is changed or freed, nor is the progress;
     * unless it is RD_OPENCL_FORSAKEN, when the callback does nothing. */
    rd_atomic32 pending;
    cl_event last; /* NULL: none is kept */
    /* By command: its first and its last event, of a timed call; its event as the second, out of
     * order. NULL: none is kept; has_events: some may be. */
    cl_event *events;
    int has_events;
    int64_t submit_ns; /* a timed call: just before it was handed over */
    int is_timed;
    int trial;      /* 1 + the way it went: how long it takes is wanted */
    int64_t end_ns; /* of a trial */
};

/* A segment as a command buffer: recorded with kernel objects of its own, once it looks as if its
 * addresses stayed. */
struct rd_opencl_record {
    cl_command_buffer_khr buffer; /* NULL: not recorded */
    cl_kernel *kernel;            /* by command */
    uint32_t slots;               /* that its addresses come from */
    uint32_t *slot;
    void **base;   /* of them, as recorded, or as of the latest submission */
    uint32_t same; /* submissions with those */
    uint32_t seen; /* submissions before it was recorded */
};

/* Which way a segment goes. */
enum { RD_OPENCL_SAMPLES = 15 };
struct rd_opencl_trial {
    rd_atomic32 way; /* enum rd_opencl_way; changed by who submits */
    int can[RD_OPENCL_WAYS];
    uint32_t tried; /* submissions on trial */
    unsigned turn;  /* the way of the latest of them that is a sample */
    uint32_t samples[RD_OPENCL_WAYS];
    int64_t took_ns[RD_OPENCL_WAYS][RD_OPENCL_SAMPLES];
};

struct rd_segment {
    struct rd_queue *queue;
    const struct rd_command *command;
    uint32_t count, frames, args;
    struct rd_opencl_node *node;
    struct rd_opencl_arg *arg;
    char *arg_values; /* of all arguments */
    size_t arg_bytes;
    struct rd_opencl_entry *entry;
    cl_event *events; /* of all entries */
    cl_event *wait;   /* out of order: what a command waits for, or the end */
    uint32_t waits;   /* that `wait` has room for */
    /* A copy of the parameters in device memory for each frame; NULL: no argument is the address of
     * one. */
    char *params;
    size_t params_bytes, params_pitch;
    char *values; /* of fills; in device memory, NULL: not needed */
    struct rd_opencl_movers movers;
    struct rd_opencl_record record;
    struct rd_opencl_trial trial;
};

/* The status and message of a call that failed. */
rondo_status rd_opencl_failed(const struct rd_opencl_device *d, const char *call, cl_int error);

/* Waits for all that is in a queue; nothing of it runs on where that fails, if the driver lets us.
 */
rondo_status rd_opencl_finish(struct rd_opencl_device *d, cl_command_queue queue);
/* The same behind another failure, whose message stays. Whether it did. */
int rd_opencl_drain(struct rd_opencl_device *d, cl_command_queue queue);

/* ---- opencl_memory.c */
rondo_status rd_opencl_allocate(struct rd_backend *b, uint32_t device, size_t bytes, void **memory);
void rd_opencl_release(struct rd_backend *b, uint32_t device, void *memory);
rondo_status rd_opencl_allocate_pinned(struct rd_backend *b, size_t bytes, void **memory);
void rd_opencl_release_pinned(struct rd_backend *b, void *memory);
/* Whether [address, address + bytes) is memory of the device's context. */
int rd_opencl_is_ours(const struct rd_opencl_device *d, const void *address, size_t bytes);

/* ---- opencl_program.c */
rondo_status rd_opencl_kernel_new(struct rd_backend *b, uint32_t device,
                                  const struct rd_kernel_source *source,
                                  struct rd_device_kernel **kernel);
void rd_opencl_kernel_free(struct rd_device_kernel *k);
rondo_status rd_opencl_program_get(struct rd_opencl_device *d,
                                   const struct rd_kernel_source *source,
                                   struct rd_opencl_program **program);
void rd_opencl_program_put(struct rd_backend *b, struct rd_opencl_program *program);

/* ---- opencl_move.c */
struct rd_opencl_move {
    char *to;
    const char *from; /* NULL: a fill */
    struct rd_box_move box;
    const void *value; /* fill: elem_bytes of it; lives until the move has ended */
    void *value_there; /* the same in the device's memory, where the fill kernel is used */
    size_t elem_bytes;
};
/* Where something is enqueued. */
struct rd_opencl_at {
    cl_command_queue queue;
    /* What it waits for: of a thing that is one command of the driver. */
    cl_uint waits;
    const cl_event *wait;
    /* The events of the first and of the last command it is made of; NULL: not wanted. Set where a
     * command was enqueued. */
    cl_event *first, *last;
};
rondo_status rd_opencl_movers_new(struct rd_opencl_device *d, struct rd_opencl_movers *movers);
void rd_opencl_movers_free(struct rd_opencl_device *d, struct rd_opencl_movers *movers);
/* Whether such a command may need movers. */
int rd_opencl_needs_movers(const struct rd_opencl_device *d, const struct rd_command *c);
/* A kernel object that makes this move, its arguments set, and its three global sizes; NULL: no
 * kernel can. Movers have been made. */
rondo_status rd_opencl_move_kernel(struct rd_opencl_device *d,
                                   const struct rd_opencl_movers *movers,
                                   const struct rd_opencl_move *move, cl_kernel *kernel,
                                   size_t *global);
rondo_status rd_opencl_enqueue_move(struct rd_opencl_device *d,
                                    const struct rd_opencl_movers *movers,
                                    const struct rd_opencl_move *move, struct rd_opencl_at at);
/* Whether that is one command of the driver. */
int rd_opencl_move_is_one(const struct rd_opencl_device *d, const struct rd_opencl_move *move);
rondo_status rd_opencl_copy(struct rd_backend *b, uint32_t device,
                            const struct rd_device_copy *copy);

/* ---- opencl_segment.c */
/* A queue of the driver's; *queue is NULL if there is none. */
rondo_status rd_opencl_make_queue(struct rd_opencl_device *d, const cl_queue_properties *properties,
                                  cl_command_queue *queue);
rondo_status rd_opencl_queue_new(struct rd_backend *b, uint32_t device,
                                 struct rd_progress *progress, struct rd_queue **queue);
void rd_opencl_queue_free(struct rd_queue *q);
rondo_status rd_opencl_segment_new(struct rd_queue *q, const struct rd_command *command,
                                   uint32_t count, uint32_t frames, size_t params_bytes,
                                   struct rd_segment **segment);
void rd_opencl_segment_free(struct rd_segment *s);
rondo_status rd_opencl_no_memory(const struct rd_segment *s);
/* Arguments that never change, of rd_opencl_kernel_of or another object. */
rondo_status rd_opencl_set_fixed(struct rd_segment *s, uint32_t command, cl_kernel kernel);
void rd_opencl_forget_events(struct rd_segment *s, struct rd_opencl_entry *e);
/* Waits until the entry's callback has returned; 0: it does not come, the queue being lost. */
int rd_opencl_await_callback(const struct rd_segment *s, struct rd_opencl_entry *e);

/* ---- opencl_args.c */
/* Whether an argument may be another from call to call. */
int rd_opencl_arg_changes(const struct rd_command_arg *a);
/* Which kernel objects serve which commands, and what of them changes: node, arg, arg_values. */
rondo_status rd_opencl_args_new(struct rd_segment *s);
void rd_opencl_args_free(struct rd_segment *s);
/* INVALID naming node and argument. */
rondo_status rd_opencl_check_args(struct rd_opencl_device *d, const struct rd_command *c);
/* The kernel object that a kernel node is enqueued with. */
static inline cl_kernel rd_opencl_kernel_of(const struct rd_segment *s, uint32_t command)
{
    return s->command[s->node[command].as].kernel->kernel;
}

/* ---- opencl_trial.c */
rondo_status rd_opencl_trial_new(struct rd_segment *s);
/* The way that a call goes, never RD_OPENCL_TRIAL; *status: why it cannot go as it has to. Before
 * anything of the entry is used again. */
enum rd_opencl_way rd_opencl_way_of(struct rd_segment *s, const struct rd_segment_call *call,
                                    struct rd_opencl_entry *e, rondo_status *status);

/* ---- opencl_record.c */
/* Whether it could be a command buffer. */
int rd_opencl_record_can(const struct rd_segment *s);
rondo_status rd_opencl_record_new(struct rd_segment *s);
void rd_opencl_record_free(struct rd_segment *s);
/* Whether there is a recording that does what the call wants. It is made where it is time to; with
 * `at_once`, now. *can: 0 if it never will be; then, or on error, there is none. */
int rd_opencl_record_ready(struct rd_segment *s, const struct rd_segment_call *call, int at_once,
                           int *can, rondo_status *status);
rondo_status rd_opencl_record_enqueue(struct rd_segment *s, cl_event *event);

/* ---- opencl_wide.c */
/* Whether kernels of it may run at the same time. */
int rd_opencl_wide_can(const struct rd_segment *s);
/* The queue and what else a segment needs for it. */
rondo_status rd_opencl_wide_new(struct rd_segment *s);
void rd_opencl_wide_free(struct rd_segment *s);
/* All of the segment, and an event behind it in e->last. As segment_submit. */
rondo_status rd_opencl_wide_enqueue(struct rd_segment *s, const struct rd_segment_call *call,
                                    struct rd_opencl_entry *e, uint32_t *command);

/* ---- opencl_submit.c */
rondo_status rd_opencl_enqueue(struct rd_segment *s, const struct rd_segment_call *call,
                               uint32_t command, struct rd_opencl_at at);
/* Whether there is anything to do for it in this call. */
int rd_opencl_runs(const struct rd_segment *s, const struct rd_segment_call *call,
                   uint32_t command);
rondo_status rd_opencl_send_params(struct rd_segment *s, const struct rd_segment_call *call,
                                   cl_command_queue queue);
/* Its event is at.last: behind what it waits for, or all that is in the queue. */
rondo_status rd_opencl_marker(struct rd_queue *q, struct rd_opencl_at at);
/* What follows in the queue waits for all that is in it, or for `event` unless it is NULL. */
rondo_status rd_opencl_barrier(struct rd_queue *q, cl_command_queue queue, const cl_event *event);
/* What goes to `queue` next, the main one or the one out of order, comes behind the latest
 * submission. */
rondo_status rd_opencl_follow(struct rd_queue *q, cl_command_queue queue);
/* Whether nothing of the queue's submissions is under way. */
static inline int rd_opencl_is_idle(const struct rd_queue *q)
{
    /* Acquire: what was written before the raise; pairs with rd_progress_reach. */
    return rd_load_acquire(&q->progress->source->done) >= q->submitted;
}
void *rd_opencl_address(const struct rd_segment *s, const struct rd_segment_call *call,
                        const struct rd_command_arg *a);
struct rd_opencl_move rd_opencl_move_of(const struct rd_segment *s,
                                        const struct rd_segment_call *call, uint32_t command);
rondo_status rd_opencl_segment_submit(struct rd_segment *s, const struct rd_segment_call *call,
                                      uint32_t *command);
rondo_status rd_opencl_segment_step(struct rd_segment *s, const struct rd_segment_call *call,
                                    uint32_t *command);
void rd_opencl_segment_times(struct rd_segment *s, uint32_t frame, struct rd_command_time *times);
void rd_opencl_segment_describe(const struct rd_segment *s, char *text, size_t bytes);

#endif
