/* SPDX-License-Identifier: BSD-3-Clause */
/* The sequential oracle. Replays run in the order of submission, nodes in an order that all edges
 * agree with; rings advance per replay executed; a node is skipped when a predecessor within the
 * replay failed or was skipped; after a failure replays are cancelled until the reset. */
#include "tests/engine/oracle.h"

#include <stdlib.h>
#include <string.h>

struct oracle {
    const struct rg_program *p;
    struct rg_run *run;
    struct rg_expected *expected;
    unsigned char value[RG_PARAMS][RG_PARAM_BYTES]; /* what replays see that give none */
    unsigned char *bad;                             /* by node, in this replay */
    uint64_t ticket, executed;
    int cancelling;
    int known, quiet; /* the first failure since the reset is certain; nothing is in flight */
    struct rg_outcome first; /* failure since the reset */
};

static unsigned char *base_of(const struct oracle *o, const struct rg_step *step, uint32_t slot)
{
    const struct rg_slot *s = &o->p->slot[slot];
    uint32_t which = 0;
    if (s->kind == RG_RINGED)
        which = (uint32_t)((s->first + o->executed * s->stride) % s->count);
    else if (s->kind == RG_BOUND)
        which = rg_binding(o->p, step, slot, o->ticket);
    const struct rg_buffer *b = &o->p->buffer[s->buffer[which]];
    return o->run->memory[b->memory] + b->offset;
}

/* How much a copy or fill moves: its region, or what its parameter says. */
static rondo_region moved(const struct rg_program *p, const struct rg_record *r,
                          const struct rg_access *to, const unsigned char *count)
{
    rondo_region box = to->region;
    for (int d = 0; d < 3; d++)
        if (box.count[d] == 0)
            box.count[d] = p->slot[to->slot].shape.extent[d] - box.first[d];
    if (r->count_param >= 0)
        memcpy(box.count, count, p->param[r->count_param].bytes);
    return box;
}

static unsigned char *element(unsigned char *base, const rondo_shape *s, const rondo_region *from,
                              int64_t x, int64_t y, int64_t z)
{
    return base + (size_t)(from->first[2] + z) * s->pitch_bytes[1] +
           (size_t)(from->first[1] + y) * s->pitch_bytes[0] +
           (size_t)(from->first[0] + x) * s->elem_bytes;
}

static void move_bytes(const struct oracle *o, const struct rg_step *step, uint32_t node,
                       const unsigned char (*value)[RG_PARAM_BYTES])
{
    const struct rg_program *p = o->p;
    const struct rg_record *r = &p->record[p->node[node].record];
    const struct rg_access *to = &r->access[r->kind == RG_COPY], *from = &r->access[0];
    const rondo_shape *ts = &p->slot[to->slot].shape, *fs = &p->slot[from->slot].shape;
    rondo_region box = moved(p, r, to, r->count_param >= 0 ? value[r->count_param] : NULL);
    unsigned char *t = base_of(o, step, to->slot), *f = base_of(o, step, from->slot);
    for (int64_t z = 0; z < box.count[2]; z++)
        for (int64_t y = 0; y < box.count[1]; y++)
            for (int64_t x = 0; x < box.count[0]; x++)
                memcpy(element(t, ts, &box, x, y, z),
                       r->kind == RG_FILL ? r->value : element(f, fs, &from->region, x, y, z),
                       ts->elem_bytes);
    atomic_fetch_add_explicit(&o->run->runs[node], 1, memory_order_relaxed);
}

static int run_node(const struct oracle *o, const struct rg_step *step, uint32_t node,
                    const unsigned char (*value)[RG_PARAM_BYTES])
{
    const struct rg_program *p = o->p;
    const struct rg_record *r = &p->record[p->node[node].record];
    struct rg_frame frame = { .replay = o->ticket };
    unsigned char patched[RG_PATCH_BYTES] = { 0 };
    if (r->kind == RG_CALL) {
        rg_call_body(o->run, p->node[node].record);
        return 0;
    }
    if (r->kind == RG_COPY || r->kind == RG_FILL) {
        move_bytes(o, step, node, value);
        return 0;
    }
    for (uint32_t a = 0; a < r->access_count; a++)
        frame.base[a] = base_of(o, step, r->access[a].slot);
    for (uint32_t i = 0; i < r->param_count; i++)
        frame.param[i] = value[r->param[i]];
    for (uint32_t i = 0; i < r->patch_count; i++)
        memcpy(patched + r->patch[i].to, value[r->patch[i].param.id] + r->patch[i].from,
               r->patch[i].bytes);
    frame.patched = patched;
    return rg_body(o->run, node, &frame);
}

static int preceded_by_bad(const struct oracle *o, uint32_t node)
{
    const struct rg_node *n = &o->p->node[node];
    for (uint32_t k = 0; k < n->pred_count; k++) {
        const struct rg_pred *pred = &o->p->pred[n->pred_first + k];
        if (pred->distance == 0 && o->bad[pred->node])
            return 1;
    }
    return 0;
}

/* One replay that is not cancelled; the failed node recorded first, or the number of nodes. */
static uint32_t run_replay(struct oracle *o, const struct rg_step *step, uint64_t index)
{
    const struct rg_program *p = o->p;
    unsigned char value[RG_PARAMS][RG_PARAM_BYTES];
    uint32_t failed = p->node_count;
    memcpy(value, o->value, sizeof value);
    for (uint32_t q = 0; q < p->param_count; q++)
        if (step->given >> q & 1)
            rg_param_value(p, q, step->salt, step->strided >> q & 1 ? index : 0, value[q]);
    memset(o->bad, 0, p->node_count);
    for (uint32_t i = 0; i < p->node_count; i++) {
        uint32_t node = p->order[i];
        o->bad[node] = (unsigned char)preceded_by_bad(o, node);
        if (o->bad[node] || !run_node(o, step, node, (const unsigned char(*)[RG_PARAM_BYTES])value))
            continue;
        o->bad[node] = 1;
        failed = node < failed ? node : failed;
    }
    return failed;
}

static void replay_step(struct oracle *o, const struct rg_step *step, struct rg_outcome *outcome)
{
    struct rg_outcome worst = { .status = RONDO_OK }, last = worst;
    for (uint64_t k = 0; k < step->count; k++, o->ticket++) {
        last = (struct rg_outcome){ .status = RONDO_OK, .replay = o->ticket };
        if (o->cancelling) {
            last.status = RONDO_ERR_CANCELLED;
        } else {
            last.node = run_replay(o, step, k);
            o->executed++;
            last.status = last.node < o->p->node_count ? RONDO_ERR_FAILED : RONDO_OK;
        }
        last.replays_run = o->executed;
        if (last.status == RONDO_ERR_FAILED) {
            o->cancelling = o->p->on_failure == RONDO_ON_FAILURE_CANCEL;
            if (o->first.status == RONDO_OK)
                o->first = last;
        }
        if (worst.status == RONDO_OK ||
            (worst.status == RONDO_ERR_CANCELLED && last.status == RONDO_ERR_FAILED))
            worst = last;
    }
    *outcome = step->kind == RG_REPLAY ? last : worst;
    o->quiet = step->kind == RG_REPLAY_AND_WAIT;
}

static void perform(struct oracle *o, const struct rg_step *step, struct rg_expected_step *e)
{
    switch (step->kind) {
    case RG_REPLAY:
    case RG_REPLAY_AND_WAIT:
        replay_step(o, step, &e->outcome);
        e->known = 1;
        break;
    case RG_WAIT:
        e->outcome = o->first;
        e->known = o->known;
        o->quiet = 1;
        break;
    case RG_SET_PARAM:
        rg_param_value(o->p, step->param, step->salt, 0, o->value[step->param]);
        break;
    case RG_RESET:
        o->known = o->quiet; /* else a failure in flight may come before or after it */
        o->cancelling = 0;
        o->first = (struct rg_outcome){ .status = RONDO_OK };
        break;
    case RG_EVENT_WAIT:
    case RG_SET_MODE: break;
    }
}

struct rg_expected *rg_oracle_run(const struct rg_program *p)
{
    struct rg_expected *expected = calloc(1, sizeof *expected);
    struct oracle o = { .p = p, .expected = expected, .known = 1, .quiet = 1 };
    o.bad = calloc(p->node_count, 1);
    if (!expected || !o.bad)
        abort();
    expected->run = o.run = rg_run_new(p, 0);
    for (uint32_t q = 0; q < p->param_count; q++)
        memcpy(o.value[q], p->param[q].initial, sizeof o.value[q]);
    for (uint32_t s = 0; s < p->step_count; s++)
        perform(&o, &p->step[s], &expected->step[s]);
    expected->replays = o.ticket;
    expected->replays_run = o.executed;
    free(o.bad);
    return expected;
}

void rg_expected_free(struct rg_expected *expected)
{
    if (!expected)
        return;
    rg_run_free(expected->run);
    free(expected);
}
