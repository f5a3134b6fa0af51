/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad inputs: a recording and an exec that are right, and calls on them of which one thing is
 * wrong. Each case makes its call twice, first wrong, then corrected. */
#ifndef TESTS_ENGINE_BAD_INPUTS_H
#define TESTS_ENGINE_BAD_INPUTS_H

#include <rondo/rondo.h>

struct bad {
    rondo_runtime rt, other_rt;
    rondo_subgraph g, other;
    rondo_buffer u, v, bytes, ring[2], in, out, gone, foreign, narrow;
    rondo_slot u_slot, v_slot, bytes_slot, ring_slot, in_slot, out_slot, other_slot;
    rondo_param p, n, q, must, other_param; /* 8, 8, 12 and 4 bytes; `must` has no initial value */
    rondo_node base, loop, other_node;
    rondo_slot token, temporary, zeroed; /* of g; 16 elements, of 8 bytes if of any */
    rondo_param event;                   /* 16 bytes */
    rondo_counter counter, foreign_counter, gone_counter;
    rondo_subgraph inner; /* one node on each of three slots */
    rondo_slot inner_v, inner_token, inner_zeroed;
    rondo_exec exec;
    uint64_t u_bytes[4][128];
    uint64_t argument;
    rondo_access access; /* what `task` touches */
    rondo_task_desc task;
    uint64_t shown;     /* %H in a message: the handle meant */
    char expected[320]; /* set by a case: instead of its message */
    const char *undone; /* set by a case: what it found changed by the refused call */
};

/* How a case is checked. */
enum bad_kind {
    BAD_BUILDER, /* its error sticks to b->g */
    BAD_DEVICE,  /* the same, and what it records corrected asks for a device */
    BAD_CALL     /* leaves nothing */
};
struct bad_case {
    const char *name;
    rondo_status (*call)(struct bad *b, int good);
    rondo_status status;
    const char *message;
};
struct bad_table {
    const char *name;
    enum bad_kind kind;
    const struct bad_case *item;
    size_t count;
};
extern const struct bad_table bad_tasks, bad_accesses, bad_builders, bad_machine, bad_execs,
    bad_replays, bad_traits, bad_syncs, bad_nested, bad_counters, bad_kernels, bad_on_devices;

enum { BAD_NODES = 6 };
/* Everything but the runtimes; 0, or the message is in rondo_error_message(). */
int bad_make(struct bad *b);
void bad_end(struct bad *b);
/* A call of b->exec that is right; with it *step, the value that it gives `must`. */
rondo_replay_args bad_args(struct bad *b, rondo_value *value, rondo_binding binding[2],
                           uint32_t *step);
/* The status that stuck, for a builder that returned this id. */
rondo_status bad_built(struct bad *b, uint64_t id);

#endif
