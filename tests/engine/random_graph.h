/* SPDX-License-Identifier: BSD-3-Clause */
/* A random program for the differential tests: memories, buffers, slots, parameters, records and a
 * script of calls, as plain data made from one seed. random_record.c records it, random_run.c plays
 * its script on an exec, oracle.c interprets both; the bodies (random_body.c) are common to all. */
#ifndef TESTS_ENGINE_RANDOM_GRAPH_H
#define TESTS_ENGINE_RANDOM_GRAPH_H

#include <rondo/rondo.h>

#include <stdatomic.h>

enum {
    RG_CELLS = 16, /* stamps kept per node: more than any window plus any distance */
    RG_NODES = 500,
    RG_MEMORIES = 48,
    RG_BUFFERS = 64,
    RG_SLOTS = 30,
    RG_PARAMS = 28,
    RG_PARAM_BYTES = 32,
    RG_ACCESSES = 4,
    RG_RING = 7,
    RG_PATCH_BYTES = 32,
    RG_STEPS = 40,
    RG_NESTS = 6,
    RG_COUNTERS = 4,
    RG_MEMBERS = 3,
    RG_KERNEL_BOXES = 40
};

/* What a program may use beyond plain records and calls; each draws a few of these. */
#define RG_FEATURES(X)                 \
    X(EVERY, "every")                  \
    X(GATE, "when param")              \
    X(FLAG, "when flag")               \
    X(NESTED, "nested")                \
    X(REPEATED, "nested twice")        \
    X(STOP, "stop")                    \
    X(COUNTER, "signal and wait")      \
    X(PARTNER, "two execs")            \
    X(EVENT_PARAM, "event parameter")  \
    X(EVENT_AT, "event_at")            \
    X(DETACHED, "detached")            \
    X(BLOCKING, "may block")           \
    X(SPMD, "spmd")                    \
    X(HOSTED, "hosted")                \
    X(COMMUTE, "commute")              \
    X(REDUCE, "reduce")                \
    X(TEMPORARY, "temporary")          \
    X(TOKEN, "token")                  \
    X(ALLREDUCE, "allreduce")          \
    X(GROUP, "group")                  \
    X(UPDATE, "update")                \
    X(UPDATE_TASK, "update_task")      \
    X(ENABLE, "enable")                \
    X(PROFILE, "profile")              \
    X(STATIC, "static")                \
    X(CPUS, "cpus")                    \
    X(PRIORITY, "priority")            \
    X(TIMED, "timed")                  \
    X(TRACED, "traced")                \
    X(DEADLINE, "deadline ahead")      \
    X(LATE, "deadline past")           \
    X(NOT_BEFORE, "not before")        \
    X(DONE, "done")                    \
    X(FAILING, "failing")              \
    X(CONTINUE, "on_failure continue") \
    X(DEVICE, "device")
enum rg_feature {
#define RG_FEATURE_ENUM(name, text) RG_F_##name,
    RG_FEATURES(RG_FEATURE_ENUM)
#undef RG_FEATURE_ENUM
        RG_F_COUNT
};

enum rg_profile {
    RG_INFERRED,  /* edges from accesses, some by hand */
    RG_BY_HAND,   /* tasks that touch nothing Rondo knows of, ordered by hand */
    RG_CHECKED,   /* RONDO_EDGES_EXPLICIT: every conflict has its edge */
    RG_CONCURRENT /* writes only what is bound per replay */
};
enum rg_kind {
    RG_TASK,
    RG_FENCE,
    RG_NOTHING,
    RG_FOR,
    RG_CALL,
    RG_COPY,
    RG_FILL,
    RG_ALLREDUCE,
    RG_SIGNAL,
    RG_AWAIT
};
enum rg_slot_kind { RG_FIXED, RG_RINGED, RG_BOUND, RG_TEMPORARY, RG_TOKEN };

struct rg_rng {
    uint64_t state;
};
uint64_t rg_next(struct rg_rng *rng);
uint64_t rg_mix(uint64_t x);
/* Uniform in [0, n), n at least 1. */
static inline uint32_t rg_below(struct rg_rng *rng, uint64_t n)
{
    return (uint32_t)(rg_next(rng) % n);
}
static inline int rg_chance(struct rg_rng *rng, uint32_t percent)
{
    return rg_below(rng, 100) < percent;
}

struct rg_buffer {
    uint32_t memory;
    size_t offset;
    rondo_shape shape; /* complete: absent extents 1, pitches filled in */
};

struct rg_slot {
    enum rg_slot_kind kind;
    rondo_shape shape; /* of a token: with elements of one byte, which only the oracle has */
    int dims;
    uint32_t type;            /* RONDO_F64...: holds small whole numbers; 0: any bytes */
    int flag;                 /* holds 0 and 1 */
    int zeroed;               /* RG_TEMPORARY */
    int home;                 /* its bytes are on the host at the end of every replay */
    uint32_t buffer[RG_RING]; /* the fixed one, the ring, or what may be bound */
    uint32_t count, first, stride;
    uint32_t alias; /* its own index, or that of the slot it shares its buffer with */
};

struct rg_param {
    uint32_t bytes;
    int has_initial;
    int gate;       /* is 0 every other time */
    int event;      /* holds a rondo_event */
    int32_t counts; /* record whose copy or fill it sizes, -1: an ordinary one */
    unsigned char initial[RG_PARAM_BYTES];
};

struct rg_access {
    uint32_t slot;
    uint32_t mode, flags, type, op;
    int16_t halo[3];
    rondo_region region; /* as recorded */
};

struct rg_boxes {
    uint32_t first, count; /* in rg_program.box */
    rondo_region hull;     /* what rondo_task_view shows */
};

struct rg_range {
    uint32_t memory;
    size_t offset, bytes;
};

struct rg_when {
    uint32_t every, phase;
    int32_t param, flag; /* -1: none */
};

struct rg_record {
    enum rg_kind kind;
    uint32_t member; /* of a group */
    uint32_t nest;   /* + 1; 0: none */
    uint32_t twin;   /* the record whose body it runs: itself but in a nest recorded again */
    int repeated;    /* runs, or is run as, another's body: no stamps */
    int must_run;    /* writes a temporary first: always runs */
    struct rg_when when;
    uint32_t flags, team, stop_lag; /* RONDO_SPMD... */
    uint32_t counter;               /* RG_SIGNAL, RG_AWAIT */
    uint64_t first, step;
    int32_t event;     /* RG_AWAIT: the parameter; -1: a counter */
    uint32_t partner;  /* RG_SIGNAL: to, RG_AWAIT: from the other exec */
    uint32_t type, op; /* RG_ALLREDUCE */
    uint32_t first_node, node_count;
    uint32_t access_count;
    struct rg_access access[RG_ACCESSES]; /* of a copy: from, to; of a fill: to */
    uint32_t range_count;                 /* fences and calls: what they touch, as raw bytes */
    struct rg_range range[3];             /* read; the first is written as well */
    uint32_t param_count, param[3];
    uint32_t patch_count;
    rondo_patch patch[3]; /* `param` holds the index */
    int32_t on;           /* processor to be taken modulo the workers; -1: any */
    int32_t device;       /* to be taken modulo the devices; -1: none. A task then is a kernel */
    int by_address;       /* a kernel: how it gets its parameters */
    int32_t priority;
    double cost_ns;
    uint32_t spin;
    int has_context;
    uint32_t fail_every; /* fails in about every n-th replay; 0: never */
    rondo_region span;   /* RG_FOR */
    uint32_t chunks[3];
    int32_t count_param; /* of a copy or fill, -1: none */
    unsigned char value[16];
};

struct rg_node {
    uint32_t record;
    uint32_t twin; /* the node whose body it runs */
    rondo_region chunk;
    struct rg_boxes boxes[RG_ACCESSES];
    /* In rg_program.pred. First those by hand, expanded, then those that follow: through nodes that
     * leave no stamp, and over tokens. */
    uint32_t pred_first, hand_count, pred_count;
};

/* Records [first, end) are recorded in a subgraph of their own, or are those of nest `twin` again.
 */
struct rg_nest {
    uint32_t first, end, twin, member;
    struct rg_when when;
    uint8_t map[RG_SLOTS]; /* slot of the inner -> slot of the outer recording; RG_UNMAPPED */
};
enum { RG_UNMAPPED = 255 };

enum rg_edge_how { RG_AFTER, RG_CARRIED, RG_EDGE };
struct rg_edge {
    uint32_t from, to; /* records; one in a nest that the other is not in: all of the nest */
    uint32_t distance;
    enum rg_edge_how how;
};

struct rg_pred {
    uint32_t node, distance;
};

enum rg_step_kind {
    RG_REPLAY,
    RG_REPLAY_AND_WAIT,
    RG_WAIT,       /* rondo_exec_wait */
    RG_EVENT_WAIT, /* of the last replay */
    RG_SET_PARAM,
    RG_SET_MODE, /* only where the variant toggles */
    RG_RESET,
    RG_EVENT_AT,    /* of a record in the last replay */
    RG_UPDATE,      /* all functions and arguments of a member */
    RG_UPDATE_TASK, /* of a record */
    RG_ENABLE       /* a record on or off */
};
/* What is done with a buffer after a step, where there are devices. */
enum rg_chore {
    RG_NO_CHORE,
    RG_LOOK,  /* all of them are as they should be */
    RG_POKE,  /* written through a map */
    RG_TOUCH, /* written behind Rondo's back */
    RG_SYNC,
    RG_MAP, /* to read, while replays are in flight */
    RG_ADDRESS,
    RG_VISIT, /* written by another exec, on a CPU */
    RG_VISIT_DEVICE,
    RG_CHORES
};
enum {
    RG_WITH_DONE = 1,
    RG_WITH_TIMED = 2,
    RG_WITH_DEADLINE = 4,
    RG_WITH_NOT_BEFORE = 8,
    RG_WITH_AT = 16
};
struct rg_step {
    enum rg_step_kind kind;
    uint32_t count;           /* replays, 1 at least */
    uint32_t given, strided;  /* bit p: the call gives parameter p, anew for each replay */
    uint64_t salt;            /* chooses values */
    uint32_t param;           /* RG_SET_PARAM */
    uint32_t mode;            /* RG_SET_MODE */
    uint32_t member;          /* which exec of the group */
    uint32_t record, version; /* RG_EVENT_AT, RG_UPDATE...; RG_ENABLE: 0 or 1 */
    int late;                 /* its deadline has passed */
    uint32_t with;            /* RG_WITH_DONE... */
    uint8_t bind[RG_SLOTS];
    enum rg_chore chore;
    uint32_t chore_buffer;
    uint64_t chore_salt;
};

struct rg_program {
    uint64_t seed;
    enum rg_profile profile;
    uint64_t features, used; /* drawn; in use */
    int devices;
    int sometimes; /* some nodes do not run in every replay */
    int stops, late;
    uint32_t member_count, nest_count, counter_count;
    struct {
        uint32_t first_record, end_record, first_node, end_node;
    } member[RG_MEMBERS];
    struct rg_nest nest[RG_NESTS];
    uint8_t memory_type[RG_MEMORIES], memory_flag[RG_MEMORIES];
    uint8_t memory_hidden[RG_MEMORIES]; /* of temporaries and tokens: the oracle's own */
    uint8_t memory_kind[RG_MEMORIES];   /* random_device.h */
    uint8_t ready[RG_SLOTS]; /* while records are made: temporaries that have been written */
    uint32_t open;           /* the nest being made + 1 */
    uint32_t members_made;
    int plain_edges; /* every edge goes forward in the recording */
    uint32_t memory_count, buffer_count, slot_count, param_count, record_count, node_count;
    size_t memory_bytes[RG_MEMORIES];
    struct rg_buffer buffer[RG_BUFFERS];
    struct rg_slot slot[RG_SLOTS];
    struct rg_param param[RG_PARAMS];
    struct rg_record *record; /* RG_NODES */
    struct rg_node *node;     /* RG_NODES */
    rondo_region *box;
    uint32_t box_count, box_capacity;
    struct rg_edge *edge;
    uint32_t edge_count, edge_capacity;
    struct rg_pred *pred;
    uint32_t pred_count, pred_capacity;
    uint32_t flag_box; /* the first element of any slot */
    uint32_t *order;   /* an order of the nodes that all edges agree with */
    uint32_t window, tracks, on_failure;
    int fails; /* some task may fail */
    uint32_t step_count;
    struct rg_step step[RG_STEPS];
};

static inline int rg_has(const struct rg_program *p, enum rg_feature feature)
{
    return (int)(p->features >> feature & 1);
}
static inline void rg_use(struct rg_program *p, enum rg_feature feature)
{
    p->used |= 1ull << feature;
}
extern const char *const rg_feature_names[RG_F_COUNT];
/* Never NULL: aborts without memory. */
struct rg_program *rg_program_new(uint64_t seed);
void rg_program_free(struct rg_program *p);

/* random_region.c: the boxes an access of a node covers, appended to p->box. */
void rg_boxes_of(struct rg_program *p, const struct rg_access *access, const rondo_region *chunk,
                 struct rg_boxes *boxes);
int rg_dims(const rondo_shape *shape);
rondo_shape rg_shape_complete(rondo_shape shape);
size_t rg_shape_span(const rondo_shape *shape); /* of a complete shape, in bytes */
/* The part of `span` that chunk number `index` is, dimension 0 fastest. */
rondo_region rg_chunk_of(const rondo_region *span, const uint32_t chunks[3], uint32_t index);

/* random_script.c */
void rg_script_make(struct rg_program *p, struct rg_rng *rng);
/* What a step with this salt gives parameter `param` in the call's replay `index`. */
void rg_param_value(const struct rg_program *p, uint32_t param, uint64_t salt, uint64_t index,
                    unsigned char *value);
/* Which of a slot's buffers a step binds. Under RG_CONCURRENT each track has its own. */
uint32_t rg_binding(const struct rg_program *p, const struct rg_step *step, uint32_t slot,
                    uint64_t replay);

/* ---- one execution of a program */

/* A node's stamp. Plain memory: only the edges by hand order its readers and writers, so that a
 * missing wait shows as a wrong value, and to ThreadSanitizer as a race. */
struct rg_cell {
    uint64_t replay; /* number + 1; 0: not yet */
    uint64_t value;
    uint64_t failed; /* 1: it failed there */
};
struct rg_partner; /* random_partner.c */

struct rg_run {
    const struct rg_program *program;
    unsigned char *memory[RG_MEMORIES];
    struct rg_cell *cell; /* node * RG_CELLS + replay % RG_CELLS */
    atomic_ullong *runs;  /* by node: executions */
    uint64_t *calls;      /* by record: executions of RG_CALL */
    uint32_t workers;     /* processors of the exec; 0: the oracle */
    uint32_t devices;
    int limited;                                 /* their memory may not do */
    int refused;                                 /* it did not */
    rondo_counter counter[RG_COUNTERS], promise; /* the latter: of events that the helper raises */
    atomic_ullong promised;
    atomic_int stop; /* a node has called rondo_task_stop; the oracle's */
    struct rg_partner *partner;
    struct rg_cell answer[RG_CELLS]; /* of the partner, by replay */
    int cells_exact;      /* every node runs in every replay, so a cell's old stamp is known */
    int follows_failures; /* a node may run behind one that failed in an earlier replay */
    atomic_int failed;    /* a body found something wrong */
    char what[256];       /* the first such thing */
};
struct rg_run *rg_run_new(const struct rg_program *p, uint32_t workers);
void rg_run_free(struct rg_run *run);
/* Keeps the first message. Returns 0. */
int rg_run_wrong(struct rg_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a task's arg_bytes hold. */
struct rg_arg {
    struct rg_run *run;
    uint32_t record, version;
    unsigned char patched[RG_PATCH_BYTES];
};
/* What a node computes from and into. */
struct rg_frame {
    uint64_t replay;
    unsigned char *base[RG_ACCESSES];
    const unsigned char *param[3];
    const unsigned char *patched;
    uint32_t version;
    rondo_task *self; /* NULL: the oracle's */
    uint32_t rank, team;
};
/* random_body.c: what node `node` does; nonzero where it is to fail. */
int rg_body(struct rg_run *run, uint32_t node, const struct rg_frame *frame);
/* What its hash begins with. */
uint64_t rg_body_hash(const struct rg_program *p, uint32_t node, uint64_t replay, uint32_t version);
uint64_t rg_hash_bytes(uint64_t h, const unsigned char *bytes, size_t n);
uint64_t rg_write_bytes(uint64_t h, unsigned char *bytes, size_t n);
int rg_fails(const struct rg_program *p, uint32_t node, uint64_t replay);
/* Whether a node that may stop does, in this replay. */
int rg_stops(const struct rg_program *p, uint32_t node, uint64_t replay);
void rg_call_body(struct rg_run *run, uint32_t record);

/* ---- recording (random_record.c) */

struct rg_call_context {
    struct rg_run *run;
    uint32_t record;
};
/* One member's recording. */
struct rg_recorded {
    rondo_runtime runtime;
    rondo_subgraph subgraph;
    rondo_buffer buffer[RG_BUFFERS];
    rondo_buffer holder[RG_MEMORIES]; /* has the device memory that a buffer wraps */
    rondo_slot slot[RG_SLOTS];
    rondo_param param[RG_PARAMS];
    rondo_node *node; /* by record */
    struct rg_call_context *context;
    uint32_t inner_count; /* of nests that are no others' twins */
    struct {
        uint32_t nest;
        rondo_slot slot[RG_SLOTS];
        rondo_param param[RG_PARAMS];
        rondo_subgraph subgraph;
    } inner[RG_NESTS];
    const uint32_t *version; /* by record */
};
/* random_task.c: the function of every task, and its context's. */
int rg_run_task(rondo_task *self, const void *arg);
void rg_release_context(void *context);
extern atomic_ullong rg_contexts_made, rg_contexts_released;
/* 0, or what went wrong is in run->what. */
int rg_record(struct rg_run *run, rondo_runtime runtime, uint32_t member, const uint32_t *version,
              struct rg_recorded *recorded);
/* Another function and argument for a record's node. */
rondo_status rg_record_again(struct rg_run *run, rondo_exec exec, rondo_node node, uint32_t record,
                             uint32_t version);
void rg_recorded_free(struct rg_recorded *recorded); /* ends subgraph and buffers too */

/* ---- running (random_run.c) */

struct rg_variant {
    const char *name;
    uint32_t mode, order, schedule;
    int toggles; /* RG_SET_MODE steps are performed */
};
struct rg_place {
    rondo_runtime runtime;
    uint32_t workers, used; /* of the runtime; of the exec, the first ones */
    uint32_t devices;
    int limited; /* what does not fit in their memory may be refused */
};
/* What the oracle says of the script. */
struct rg_expected;
/* 0, or what went wrong is in run->what. */
int rg_play(struct rg_run *run, const struct rg_place *place, const struct rg_variant *variant,
            const struct rg_expected *expected);
/* Execs that could not be compiled and were made with RONDO_AUTO instead. */
extern uint64_t rg_not_compiled;

#endif
