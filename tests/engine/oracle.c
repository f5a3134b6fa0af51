/* SPDX-License-Identifier: BSD-3-Clause */
/* The sequential oracle. Replays run in the order of submission, nodes in an order that all edges
 * agree with; rings advance per replay executed; a node is skipped when a predecessor within the
 * replay failed or was skipped; after a failure replays are cancelled until the reset. */
#include "tests/engine/oracle.h"
#include "tests/engine/random_device.h"
#include "tests/engine/random_program.h"

#include <stdlib.h>
#include <string.h>

/* By byte of a memory, in this replay: what is not as it should be, since who was to read or write
 * it was skipped, or failed. Who comes after such a one by an access to the byte is skipped. */
struct taint {
    unsigned char *read, *written;
};

struct oracle {
    const struct rg_program *p;
    struct rg_run *run;
    struct rg_expected *expected;
    unsigned char value[RG_PARAMS][RG_PARAM_BYTES]; /* what replays see that give none */
    unsigned char *bad;                             /* by node, in this replay */
    uint32_t *version;                              /* by record: what it was updated to */
    unsigned char *off;                             /* by record */
    int taints;                                     /* accesses order nodes, some of which fail */
    struct taint taint[RG_MEMORIES];
    int touched, fenced, called, any; /* a bad one touched something, everything */
    uint64_t stop_after;              /* of this call, replays up to it run */
    uint32_t stop_lag;                /* the least of those that stopped in this replay */
    const struct rg_step *late_call;
    int stopped;   /* a node of this call called for a stop */
    uint32_t from; /* whose stamp the partner answers */
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
    const struct rg_access *to = &r->access[r->kind != RG_FILL], *from = &r->access[0];
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
    struct rg_frame frame = { .replay = o->ticket, .team = 1, .version = o->version[r->twin] };
    unsigned char patched[RG_PATCH_BYTES] = { 0 };
    switch (r->kind) {
    case RG_CALL: rg_call_body(o->run, r->twin); return 0;
    case RG_COPY:
    case RG_FILL:
    case RG_ALLREDUCE:
        if (r->kind == RG_FILL || r->access_count > 1) /* in place, of one process: nothing */
            move_bytes(o, step, node, value);
        return 0;
    case RG_SIGNAL:
        if (r->partner)
            rg_partner_answer(o->run, o->from, o->ticket);
        return 0;
    case RG_AWAIT: return 0;
    default: break;
    }
    for (uint32_t a = 0; a < r->access_count; a++)
        frame.base[a] = base_of(o, step, r->access[a].slot);
    for (uint32_t i = 0; i < r->param_count; i++)
        frame.param[i] = value[r->param[i]];
    for (uint32_t i = 0; i < r->patch_count; i++)
        memcpy(patched + r->patch[i].to, value[r->patch[i].param.id] + r->patch[i].from,
               r->patch[i].bytes);
    frame.patched = patched;
    return rg_body(o->run, p->node[node].twin, &frame);
}

/* ---- conditions */

static int in_phase(const struct oracle *o, const struct rg_when *w)
{
    return !w->every || o->executed % w->every == w->phase;
}

static int gates_open(const struct oracle *o, const struct rg_step *step, const struct rg_when *w,
                      const unsigned char (*value)[RG_PARAM_BYTES])
{
    int open = w->param < 0;
    int32_t flag = 1;
    for (uint32_t b = 0; !open && b < o->p->param[w->param].bytes; b++)
        open = value[w->param][b] != 0;
    if (w->flag >= 0)
        memcpy(&flag, base_of(o, step, (uint32_t)w->flag), sizeof flag);
    return open && flag;
}

static const struct rg_when *outer_when(const struct rg_program *p, const struct rg_record *r)
{
    return r->nest ? &p->nest[r->nest - 1].when : &r->when;
}

/* ---- what comes after what failed */

static int preceded_by_bad(const struct oracle *o, uint32_t node)
{
    const struct rg_node *n = &o->p->node[node];
    for (uint32_t k = 0; k < n->hand_count; k++) {
        const struct rg_pred *pred = &o->p->pred[n->pred_first + k];
        if (pred->distance == 0 && o->bad[pred->node])
            return 1;
    }
    return 0;
}

/* Looks at (mark 0) or taints the bytes that a node touches; whether one was tainted. */
static int taint_box(const struct oracle *o, const struct rg_step *step,
                     const struct rg_access *access, const rondo_region *box, int mark)
{
    const struct rg_slot *slot = &o->p->slot[access->slot];
    int writes = (access->mode & RONDO_WRITE) != 0, found = 0;
    uint32_t m = 0;
    unsigned char *base = base_of(o, step, access->slot);
    while (base < o->run->memory[m] || base >= o->run->memory[m] + o->p->memory_bytes[m])
        m++;
    for (int64_t z = 0; z < box->count[2]; z++)
        for (int64_t y = 0; y < box->count[1]; y++) {
            size_t at = (size_t)(element(base, &slot->shape, box, 0, y, z) - o->run->memory[m]);
            for (size_t n = (size_t)box->count[0] * slot->shape.elem_bytes; n > 0; n--, at++) {
                found |= o->taint[m].written[at] || (writes && o->taint[m].read[at]);
                o->taint[m].read[at] |= (unsigned char)mark;
                o->taint[m].written[at] |= (unsigned char)(mark & writes);
            }
        }
    return found;
}

static int touches_all(const struct rg_record *r)
{
    return r->kind == RG_FENCE || r->kind == RG_CALL;
}

static int taint(struct oracle *o, const struct rg_step *step, uint32_t node, int mark)
{
    struct rg_access access;
    struct rg_boxes boxes;
    const struct rg_record *r = &o->p->record[o->p->node[node].record];
    int found = touches_all(r) && o->touched, any = touches_all(r);
    /* A plain call is in sequence also with what touches nothing. */
    found |= o->called || (r->kind == RG_CALL && o->any);
    for (uint32_t i = 0; rg_touch(o->p, node, i, &access, &boxes); i++) {
        any |= access.mode != 0;
        for (uint32_t b = 0; access.mode && b < boxes.count; b++)
            found |= taint_box(o, step, &access, &o->p->box[boxes.first + b], mark);
    }
    found |= any && o->fenced;
    o->touched |= any && mark;
    o->fenced |= touches_all(r) && mark;
    o->called |= r->kind == RG_CALL && mark;
    o->any |= mark;
    return found;
}

static int comes_after_bad(struct oracle *o, const struct rg_step *step, uint32_t node, int active)
{
    int bad = preceded_by_bad(o, node);
    if (o->taints && active)
        bad |= taint(o, step, node, 0);
    if (o->taints && active && bad)
        (void)taint(o, step, node, 1);
    return bad;
}

static void begin_replay(struct oracle *o)
{
    const struct rg_program *p = o->p;
    memset(o->bad, 0, p->node_count);
    o->touched = o->fenced = o->called = o->any = 0;
    for (uint32_t m = 0; m < p->memory_count; m++) {
        if (p->memory_hidden[m])
            memset(o->run->memory[m], 0, p->memory_bytes[m]);
        if (o->taints) {
            memset(o->taint[m].read, 0, p->memory_bytes[m]);
            memset(o->taint[m].written, 0, p->memory_bytes[m]);
        }
    }
}

/* One replay that is not cancelled; the failed node recorded first, or the number of nodes. */
static uint32_t run_replay(struct oracle *o, const struct rg_step *step, uint64_t index)
{
    const struct rg_program *p = o->p;
    unsigned char value[RG_PARAMS][RG_PARAM_BYTES];
    const unsigned char(*values)[RG_PARAM_BYTES] = (const unsigned char(*)[RG_PARAM_BYTES])value;
    uint32_t failed = p->node_count;
    memcpy(value, o->value, sizeof value);
    for (uint32_t q = 0; q < p->param_count; q++)
        if (step->given >> q & 1 && !p->param[q].event)
            rg_param_value(p, q, step->salt, step->strided >> q & 1 ? index : 0, value[q]);
    begin_replay(o);
    for (uint32_t i = 0; i < p->node_count; i++) {
        uint32_t node = p->order[i];
        const struct rg_record *r = &p->record[p->node[node].record];
        int active = in_phase(o, &r->when) && in_phase(o, outer_when(p, r));
        if (r->member != step->member)
            continue;
        o->bad[node] = (unsigned char)comes_after_bad(o, step, node, active);
        if (o->bad[node] || !active || o->off[p->node[node].record] ||
            !gates_open(o, step, &r->when, values) ||
            !gates_open(o, step, outer_when(p, r), values))
            continue;
        int fails = run_node(o, step, node, values);
        if (atomic_exchange(&o->run->stop, 0) && r->stop_lag < o->stop_lag)
            o->stop_lag = r->stop_lag;
        if (!fails)
            continue;
        o->bad[node] = 1;
        if (o->taints)
            (void)taint(o, step, node, 1);
        failed = node < failed ? node : failed;
    }
    return failed;
}

/* A replay whose deadline has passed: nothing of it runs. */
static struct rg_outcome late_replay(const struct oracle *o, const struct rg_step *step)
{
    return (struct rg_outcome){ .status = RONDO_ERR_DEADLINE,
                                .replay = o->ticket,
                                .node = o->p->member[step->member].first_node };
}

static struct rg_outcome one_replay(struct oracle *o, const struct rg_step *step, uint64_t k)
{
    struct rg_outcome is = { .status = RONDO_OK, .replay = o->ticket };
    o->stop_lag = UINT32_MAX;
    if (o->cancelling) {
        /* Of the call that was late the rest is late as well. */
        o->expected->cancelled++;
        is.status = step->late && o->late_call == step ? RONDO_ERR_DEADLINE : RONDO_ERR_CANCELLED;
    } else if (k <= o->stop_after) {
        if (step->late) {
            is = late_replay(o, step);
            o->late_call = step;
        } else {
            is.node = run_replay(o, step, k);
            is.status = is.node < o->p->node_count ? RONDO_ERR_FAILED : RONDO_OK;
        }
        o->executed++;
        if (is.status) {
            o->cancelling = o->p->on_failure == RONDO_ON_FAILURE_CANCEL;
            is.began = 1;
        }
    }
    o->expected->stopped += k > o->stop_after;
    if (o->stop_lag != UINT32_MAX) {
        uint64_t last = k + o->stop_lag;
        o->stop_after = last < o->stop_after ? last : o->stop_after;
        o->stopped = 1;
    }
    is.replays_run = o->executed;
    return is;
}

static void replay_step(struct oracle *o, const struct rg_step *step, struct rg_outcome *outcome)
{
    struct rg_outcome worst = { .status = RONDO_OK }, last = worst;
    o->stop_after = UINT64_MAX;
    o->stopped = 0;
    o->late_call = NULL;
    for (uint64_t k = 0; k < step->count; k++, o->ticket++) {
        last = one_replay(o, step, k);
        if (last.began && o->first.status == RONDO_OK)
            o->first = last;
        if (worst.status == RONDO_OK || (worst.status == RONDO_ERR_CANCELLED && last.began))
            worst = last;
    }
    last.stopped = o->stopped;
    if (worst.status == RONDO_OK)
        worst.stopped = o->stopped;
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
    case RG_UPDATE:
        for (uint32_t i = 0; i < o->p->record_count; i++)
            if (o->p->record[i].member == step->member)
                o->version[i] = step->version;
        break;
    case RG_UPDATE_TASK: o->version[step->record] = step->version; break;
    case RG_ENABLE: o->off[step->record] = !step->version; break;
    case RG_EVENT_AT:
    case RG_EVENT_WAIT:
    case RG_SET_MODE: break;
    }
}

static void *zeroed(size_t count, size_t bytes)
{
    void *block = calloc(count + 1, bytes);
    if (!block)
        abort();
    return block;
}

static void begin(struct oracle *o)
{
    const struct rg_program *p = o->p;
    o->bad = zeroed(p->node_count, 1);
    o->version = zeroed(p->record_count, sizeof *o->version);
    o->off = zeroed(p->record_count, 1);
    o->taints = p->fails && p->profile != RG_CHECKED;
    for (uint32_t m = 0; m < p->memory_count && o->taints; m++) {
        o->taint[m].read = zeroed(p->memory_bytes[m], 1);
        o->taint[m].written = zeroed(p->memory_bytes[m], 1);
    }
    for (uint32_t i = 0; i < p->record_count; i++)
        if (p->record[i].kind == RG_SIGNAL && p->record[i].partner)
            o->from = rg_partner_from(p, i);
}

static void end(struct oracle *o)
{
    free(o->bad);
    free(o->version);
    free(o->off);
    for (uint32_t m = 0; m < RG_MEMORIES; m++) {
        free(o->taint[m].read);
        free(o->taint[m].written);
    }
}

struct rg_expected *rg_oracle_run(const struct rg_program *p)
{
    struct rg_expected *expected = calloc(1, sizeof *expected);
    struct oracle o = { .p = p, .expected = expected, .known = 1, .quiet = 1 };
    if (!expected)
        abort();
    begin(&o);
    expected->run = o.run = rg_run_new(p, 0);
    for (uint32_t q = 0; q < p->param_count; q++)
        memcpy(o.value[q], p->param[q].initial, sizeof o.value[q]);
    for (uint32_t s = 0; s < p->step_count; s++) {
        perform(&o, &p->step[s], &expected->step[s]);
        rg_device_oracle(o.run, &p->step[s], &expected->step[s].seen, &expected->step[s].home);
    }
    expected->replays = o.ticket;
    expected->replays_run = o.executed;
    end(&o);
    return expected;
}

void rg_expected_free(struct rg_expected *expected)
{
    if (!expected)
        return;
    rg_run_free(expected->run);
    for (uint32_t s = 0; s < RG_STEPS; s++)
        free(expected->step[s].seen);
    free(expected);
}
