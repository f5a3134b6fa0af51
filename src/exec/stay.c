/* SPDX-License-Identifier: BSD-3-Clause */
/* Stays are made when an exec is, and taken over by its submitters.
 *
 * Safety. A submitter asks in a read section whether the exec's epoch is the keeper's, and takes
 * its ticket in the same section. If so, nothing that is current has changed since the exec's last
 * take-over, all copies of that have been made, and whoever changes something next finds the ticket
 * (src/machine/keeper.h). If not, it leaves the section, gets its turn, takes over, and goes
 * through a new section while it has the turn: nobody else changes anything between the take-over
 * and the ticket. Copies that the take-over asks for, or that are under way for it, gate the
 * replays of the call; until they have been made every call takes its turn, so that each is gated,
 * whatever track its replays run on. Of copies that failed the epoch was raised before their gate
 * opens: the next call takes over anew. */
#include "src/exec/exec.h"

#include "compile/residency.h"

#include <string.h>

/* ---- making */

static rondo_status no_memory(const struct rd_exec *x)
{
    return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for where its buffers are",
                    x->program.exec_name);
}

/* The exec's entry for a buffer. */
static struct rd_stay *stay_of(struct rd_exec_stays *s, struct rd_buffer *b)
{
    for (uint32_t i = 0; i < s->stays; i++)
        if (s->stay[i].buffer == b)
            return &s->stay[i];
    rd_buffer_ref(b);
    s->stay[s->stays].buffer = b;
    return &s->stay[s->stays++];
}

/* Several slots may name one buffer. */
static int add_stay(struct rd_allocator *a, struct rd_stay *to, uint32_t memories,
                    const struct rd_residency_stay *from)
{
    for (uint32_t m = 0; m < memories; m++)
        if (rd_boxes_add_all(a, &to->need[m], &from->need[m]) ||
            rd_boxes_add_all(a, &to->hold[m], &from->hold[m]))
            return -1;
    return rd_boxes_add_all(a, &to->written, &from->written);
}

static int add_stays(struct rd_exec *x, struct rd_exec_stays *s, const struct rd_residency *r)
{
    for (uint32_t i = 0; i < r->stays; i++)
        s->room += x->slot[r->stay[i].slot].count;
    s->stay = rd_zalloc_array(&x->rt->alloc, s->room, sizeof *s->stay);
    if (!s->stay)
        return -1;
    for (uint32_t i = 0; i < r->stays; i++) {
        const struct rd_exec_slot *slot = &x->slot[r->stay[i].slot];
        for (uint32_t k = 0; k < slot->count; k++)
            if (add_stay(&x->rt->alloc, stay_of(s, slot->buffers[k]), r->memories, &r->stay[i]))
                return -1;
    }
    return 0;
}

rondo_status rd_exec_stay_make(struct rd_exec *x, const struct rd_residency *r)
{
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_exec_stays *s = rd_zalloc(a, sizeof *s, 16);
    const struct rd_program *p = &x->program;
    if (!s)
        return no_memory(x);
    s->holder.word = &x->series->word;
    s->holder.mask = RD_REPLAY_MASK;
    s->holder.all = x->series->all;
    s->holder.on_device = r->twins > 0;
    x->stays = s;
    s->written = rd_zalloc_array(a, x->slots, 1);
    if (!s->written || add_stays(x, s, r))
        return no_memory(x);
    for (size_t i = 0; i < p->place_count; i++)
        s->written[p->places[i]] |= (p->modes[i] & RONDO_WRITE) != 0;
    s->holder.stay = s->stay;
    s->holder.stays = s->stays;
    rd_keeper_join(x->rt, &s->holder);
    return RONDO_OK;
}

rondo_status rd_exec_stay_host(struct rd_exec *x, const struct rd_subgraph *e)
{
    struct rd_residency *r;
    rondo_status status = rd_residency_host(&x->rt->alloc, e, &r);
    if (status)
        return status;
    status = rd_exec_stay_make(x, r);
    rd_residency_free(r);
    return status;
}

void rd_exec_stay_free(struct rd_exec *x)
{
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_exec_stays *s = x->stays;
    if (!s)
        return;
    rd_keeper_leave(x->rt, &s->holder);
    for (uint32_t i = 0; i < s->stays; i++) {
        for (uint32_t m = 0; m < RD_MEMORIES_MAX; m++) {
            rd_boxes_free(a, &s->stay[i].need[m]);
            rd_boxes_free(a, &s->stay[i].hold[m]);
        }
        rd_boxes_free(a, &s->stay[i].written);
        rd_buffer_unref(s->stay[i].buffer);
    }
    rd_fetch_unref(s->fetch);
    rd_free_array(a, s->stay, s->room, sizeof *s->stay);
    rd_free_array(a, s->written, x->slots, 1);
    rd_free(a, s, sizeof *s);
    x->stays = NULL;
}

rondo_status rd_exec_stay_hosts(const struct rd_subgraph *e)
{
    rondo_status status = RONDO_OK;
    for (size_t i = 0; i < e->accesses.count && !status; i++) {
        const struct rd_slot *slot = &e->slots.item[e->accesses.item[i].slot];
        for (uint32_t k = 0; k < slot->count && !status; k++) {
            struct rd_buffer *same;
            status = rd_keeper_instance(slot->buffers[k], RD_MEMORY_HOST, &same);
        }
    }
    return status;
}

/* ---- what a call binds */

/* A buffer that was never on a device, and shared no bytes with one that was when it was looked at
 * last, in this epoch. */
static int is_settled(const struct rd_buffer *b)
{
    struct rd_buffer *at = (struct rd_buffer *)(uintptr_t)b;
    /* Relaxed: as the epoch. */
    return !rd_load_relaxed(&at->keep) && rd_load_relaxed(&at->settled) == rd_keeper_epoch(b->rt);
}

int rd_exec_stay_bound(const struct rd_exec_stays *s, const struct rd_request *call)
{
    if (s->holder.on_device && call->binding_count)
        return 0;
    for (uint32_t i = 0; i < call->binding_count; i++)
        if (!is_settled(call->buffer[i]))
            return 0;
    return 1;
}

static void forget_bound(struct rd_take_turn *turn, struct rd_allocator *a)
{
    for (uint32_t i = 0; i < turn->bounds; i++)
        rd_buffer_unref(turn->bound[i]);
    turn->bounds = 0;
    if (turn->room) {
        rd_free_array(a, turn->bound, turn->room, sizeof *turn->bound);
        rd_free_array(a, turn->written, turn->room, 1);
    }
    turn->room = 0;
}

rondo_status rd_take_note(struct rd_take_turn *turn, struct rd_exec *x,
                          const struct rd_request *call)
{
    struct rd_allocator *a = &x->rt->alloc;
    const uint32_t count = call->binding_count;
    turn->bound = turn->bound_inline;
    turn->written = turn->written_inline;
    turn->bounds = 0;
    turn->room = 0;
    if (count > RD_REQUEST_INLINE) {
        turn->room = count;
        turn->bound = rd_alloc_array(a, count, sizeof *turn->bound);
        turn->written = rd_alloc_array(a, count, 1);
        if (!turn->bound || !turn->written) {
            forget_bound(turn, a);
            return no_memory(x);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        rd_buffer_ref(call->buffer[i]);
        turn->bound[i] = call->buffer[i];
        turn->written[i] = x->stays->written[call->slot[i]];
    }
    turn->bounds = count;
    return RONDO_OK;
}

/* ---- taking over */

/* Whether the exec's own buffers are as they were at its last take-over, which then may have
 * ended. In its turn. */
static int is_holder(struct rd_exec_stays *s, const struct rd_runtime *rt)
{
    const uint64_t epoch = rd_keeper_epoch(rt);
    if (s->taken != epoch || (s->fetch && !rd_load_acquire(&s->fetch->over)))
        return 0;
    rd_fetch_unref(s->fetch);
    s->fetch = NULL;
    rd_store_release(&s->epoch, epoch); /* pairs with rd_exec_stay_holds */
    return 1;
}

static rondo_status take(struct rd_take_turn *turn, struct rd_exec *x, const rondo_event *after,
                         uint32_t after_count)
{
    struct rd_exec_stays *s = x->stays;
    const int holds = is_holder(s, x->rt);
    struct rd_takeover t = { .holder = &s->holder,
                             .holds = holds,
                             .bound = turn->bound,
                             .bound_written = turn->written,
                             .bounds = turn->bounds,
                             .after = after,
                             .after_count = after_count };
    uint64_t epoch;
    rondo_status status = rd_keeper_take(x->rt, &t, &epoch, &turn->fetch);
    if (status)
        return rd_error(status, "exec '%s': %s", x->program.exec_name, rd_error_text());
    if (holds)
        return RONDO_OK;
    s->taken = epoch;
    rd_fetch_unref(s->fetch);
    s->fetch = turn->fetch;
    if (s->fetch)
        rd_fetch_ref(s->fetch);
    else
        rd_store_release(&s->epoch, epoch); /* pairs with rd_exec_stay_holds */
    return RONDO_OK;
}

rondo_status rd_take_begin(struct rd_take_turn *turn, struct rd_exec *x, const rondo_event *after,
                           uint32_t after_count)
{
    rondo_status status;
    rd_keeper_turn(x->rt);
    turn->x = x;
    turn->fetch = NULL;
    status = take(turn, x, after, after_count);
    if (status)
        rd_take_end(turn);
    return status;
}

RD_NOINLINE void rd_take_over(struct rd_take_turn *turn)
{
    struct rd_exec *x = turn->x;
    rd_keeper_turn_over(x->rt);
    rd_fetch_unref(turn->fetch);
    forget_bound(turn, &x->rt->alloc);
    turn->fetch = NULL;
    turn->x = NULL;
    rd_exec_unref(x);
}
