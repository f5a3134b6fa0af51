/* SPDX-License-Identifier: BSD-3-Clause */
/* The runtime: a process's processors, their workers and the cleaner. */
#ifndef RONDO_RUNTIME_H
#define RONDO_RUNTIME_H

#include <rondo/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RONDO_LOG_ERROR = 0, RONDO_LOG_WARNING = 1, RONDO_LOG_INFO = 2 };

typedef struct rondo_runtime_options {
    /* The CPUs to use, as numbers of the operating system: "2-5,8". Each entry is one processor
     * with one pinned worker, in the order given; a CPU named twice carries two workers. NULL:
     * every CPU of the caller's affinity mask, one worker each. */
    const char *cpus;
    /* How long a worker or a waiting caller looks for work before it sleeps, in ns. 0: chosen by
     * the runtime (50,000, and at once when the workers of this process outnumber its CPUs).
     * RONDO_NEVER: they never sleep and nothing ever has to wake them, also where they outnumber
     * CPUs; they then offer the CPU to others between two looks. */
    int64_t park_after_ns;
    /* Where the cleaner's thread may run, as `cpus`. NULL: anywhere the opener may. */
    const char *cleaner_cpus;
    /* Memory: both or neither. `allocate` returns `bytes` aligned to `align` (a power of two), or
     * NULL; called from any thread. NULL: the C library's. */
    void *(*allocate)(void *context, size_t bytes, size_t align);
    void (*release)(void *context, void *block);
    /* Receives messages (RONDO_LOG_...), from any thread. NULL: errors and warnings go to stderr.
     */
    void (*log)(void *context, int level, const char *message);
    void *context; /* given to the hooks */
    /* The first `adopt` processors have no thread of Rondo's: the user's threads drive them, see
     * rondo_processor_drive. At most as many as there are processors. */
    uint32_t adopt;
    /* RONDO_SHARED: join the process's open shared runtime if there is one (its options stand,
     * these are ignored), else open one that others can join. Every open has its close; the last
     * one closes. */
    uint32_t flags;
    /* Scheduling of the workers: a policy of sched(7) (0: as the opener's) and its priority. SYSTEM
     * when the system refuses. */
    int32_t sched_policy, sched_priority;
    /* Run in each worker's thread before its first and after its last task, and in helper threads
     * with RONDO_ANY_CPU: thread-local storage, floating-point environment, contexts of other
     * libraries. A start that returns another status than RONDO_OK fails the open with it. */
    rondo_status (*thread_start)(void *context, rondo_processor processor);
    void (*thread_stop)(void *context, rondo_processor processor);
    /* The devices to open, in the order of RONDO_GPU(i): "opencl" (all that its drivers have),
     * "opencl:0,opencl:1" (by number), "opencl:0/2" (split into two sub-devices), "all" (of every
     * backend that is there; none is no error), "none". NULL: what RONDO_DEVICES says, else none.
     * INVALID: a device that was named and is not there; the message says why. */
    const char *devices;
    /* Bytes that Rondo may take of each device's memory. 0: RONDO_DEVICE_BYTES, else nine tenths.
     */
    uint64_t device_bytes;
} rondo_runtime_options;

enum { RONDO_SHARED = 1 };

/* Opens a runtime: reads the machine with hwloc, starts and pins the workers and the cleaner.
 * `options` may be NULL. Signals are blocked in the threads it starts. Blocks until they run.
 * INVALID: a CPU list that cannot be read or names a CPU outside the affinity mask, one of the two
 * memory hooks alone. MEMORY, SYSTEM: nothing is left behind.
 * Ended by rondo_runtime_close. */
RONDO_API rondo_status rondo_runtime_open_sized(const rondo_runtime_options *options,
                                                size_t options_bytes, rondo_runtime *runtime);

/* Waits until every submitted replay has ended, destroys what is left of the runtime's objects (a
 * warning lists them in debug builds), stops the threads. The caller runs adopted processors that
 * nobody drives meanwhile; who drives one is sent away. WOULD_BLOCK inside a task. */
RONDO_API rondo_status rondo_runtime_close(rondo_runtime runtime);

/* Waits until all that was destroyed before this call has been freed. Blocks; WOULD_BLOCK inside a
 * task. Does not wait for replays of execs that still live. */
RONDO_API rondo_status rondo_runtime_drain(rondo_runtime runtime);

/* Gives memory that is kept for reuse back to the system. Blocks for as long as freeing takes. */
RONDO_API rondo_status rondo_runtime_trim(rondo_runtime runtime);

/* What lives in a runtime. Created less freed: 0 everywhere once all is destroyed and drained. */
typedef struct rondo_runtime_statistics {
    uint64_t execs, subgraphs, buffers; /* objects, those destroyed and not yet freed included */
    uint64_t frames;                    /* frames of live execs */
    uint64_t sources;                   /* event sources in use by this runtime */
    uint64_t held;                      /* frames that hold more than their slot, not yet retired */
    uint64_t bytes;        /* memory obtained through the allocator and not given back */
    uint64_t allocations;  /* calls of the allocator so far; grows only */
    uint64_t instances;    /* of buffers, in devices' memories */
    uint64_t device_bytes; /* of devices' memories that Rondo has taken */
} rondo_runtime_statistics;

/* Any thread, never blocks; the numbers are read one after the other. */
RONDO_API rondo_status rondo_runtime_stats_sized(rondo_runtime runtime,
                                                 rondo_runtime_statistics *statistics,
                                                 size_t statistics_bytes);

/* The caller is that processor's worker until `until` is complete ({0, 0}: until the time is over)
 * or `timeout_ns` has passed (negative: never; 0: one look at what there is to do). Runs the tasks
 * of every exec placed there. For adopted processors only, one thread at a time; INVALID else.
 * OK: `until` is complete; AGAIN: the time is over; STALE: the runtime was closed. WOULD_BLOCK
 * inside a task. */
RONDO_API rondo_status rondo_processor_drive(rondo_runtime runtime, rondo_processor processor,
                                             rondo_event until, int64_t timeout_ns);

/* How many processors (workers) the runtime has. */
RONDO_API rondo_status rondo_runtime_processors(rondo_runtime runtime, uint32_t *count);

/* The CPU, by the operating system's number, that a processor's worker is bound to. */
RONDO_API rondo_status rondo_processor_cpu(rondo_runtime runtime, rondo_processor processor,
                                           uint32_t *cpu);

/* ---- what there is */

/* How many devices the runtime has opened: RONDO_GPU(0) to RONDO_GPU(count - 1). */
RONDO_API rondo_status rondo_runtime_devices(rondo_runtime runtime, uint32_t *count);

typedef struct rondo_device_info {
    char name[96];
    char backend[16];
    uint64_t memory_bytes; /* of the device */
    uint64_t limit_bytes;  /* that Rondo may take */
    uint64_t used_bytes;   /* that it has taken */
    uint32_t units;        /* compute units */
    uint32_t lost;         /* 1: it failed and takes no more work */
} rondo_device_info;
/* INVALID: `device` is no RONDO_GPU of the runtime. */
RONDO_API rondo_status rondo_runtime_device_sized(rondo_runtime runtime, rondo_processor device,
                                                  rondo_device_info *info, size_t info_bytes);

/* The machine, as far as the process may see it, and what a runtime makes of it. */
typedef struct rondo_machine {
    uint32_t packages, cores, cpus;
    uint32_t allowed; /* CPUs that the caller may keep busy: those of its affinity mask, or fewer if
                         a cgroup's quota says so */
    uint32_t processors;  /* of the runtime */
    uint32_t handover_ns; /* what instantiation reckons with for work that goes from one CPU to
                             another: measured and rounded, once per process, or
                             RONDO_HANDOVER_NS. 0: the runtime has one CPU */
    uint64_t memory_bytes;
} rondo_machine;

/* The first call that needs the hand-over measures it: about a millisecond, with two threads. */
RONDO_API rondo_status rondo_runtime_machine_sized(rondo_runtime runtime, rondo_machine *machine,
                                                   size_t machine_bytes);

/* Something that nodes could run on, or ranks be joined by. Frozen. */
typedef struct rondo_backend {
    const char *name, *what;
    const char *why; /* it is not there; NULL: it is */
} rondo_backend;
/* Calls `visit` for each that this version knows of, on this thread. */
RONDO_API void rondo_backends(void (*visit)(void *context, const rondo_backend *backend),
                              void *context);

/* A variable of the environment that Rondo reads. Frozen. */
typedef struct rondo_variable {
    const char *name, *by_default, *range, *help;
    const char *value; /* at present; NULL: unset or empty */
} rondo_variable;
/* Calls `visit` for each, on this thread. */
RONDO_API void rondo_environment(void (*visit)(void *context, const rondo_variable *variable),
                                 void *context);

static inline rondo_status rondo_runtime_open(const rondo_runtime_options *options,
                                              rondo_runtime *runtime)
{
    return rondo_runtime_open_sized(options, sizeof(rondo_runtime_options), runtime);
}
static inline rondo_status rondo_runtime_stats(rondo_runtime runtime,
                                               rondo_runtime_statistics *statistics)
{
    return rondo_runtime_stats_sized(runtime, statistics, sizeof *statistics);
}
static inline rondo_status rondo_runtime_device(rondo_runtime runtime, rondo_processor device,
                                                rondo_device_info *info)
{
    return rondo_runtime_device_sized(runtime, device, info, sizeof *info);
}
static inline rondo_status rondo_runtime_machine(rondo_runtime runtime, rondo_machine *machine)
{
    return rondo_runtime_machine_sized(runtime, machine, sizeof *machine);
}

#ifdef __cplusplus
}
#endif
#endif
