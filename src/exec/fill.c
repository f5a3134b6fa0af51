/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills a frame for a ticket: whoever took the ticket has the frame to itself until it publishes
 * it. */
#include "src/exec/exec.h"

#include <string.h>

static void let_go(struct rd_exec *x, struct rd_frame *f)
{
    for (uint32_t i = 0; i < f->held_count; i++)
        rd_buffer_unref(f->held[i]);
    f->held_count = 0;
    rd_sub_relaxed(&x->rt->held, 1);
    rd_store_release(&f->hold, RD_HOLD_NONE); /* pairs with the filler's acquire */
}

/* Takes what a frame holds, to look at it or let go of it. Acquire: what the filler wrote. */
static int take_hold(struct rd_frame *f)
{
    uint32_t held = RD_HOLD_HELD;
    return rd_cas_acq_rel(&f->hold, &held, RD_HOLD_BUSY);
}

void rd_frame_let_go(struct rd_exec *x, struct rd_frame *f)
{
    if (take_hold(f))
        let_go(x, f);
}

/* `held_for` is read only after the hold was taken: before, the frame might be filled for a later
 * replay. */
uint64_t rd_frame_let_go_if_ended(struct rd_exec *x, struct rd_track *t, struct rd_frame *f)
{
    if (rd_load_relaxed(&f->hold) == RD_HOLD_NONE || !take_hold(f))
        return 0;
    if (f->held_for <= rd_load_acquire(&t->source->done)) {
        let_go(x, f);
        return 0;
    }
    {
        uint64_t until = f->held_for;
        rd_store_release(&f->hold, RD_HOLD_HELD); /* as it was */
        return until;
    }
}

static void fill_base(struct rd_exec *x, struct rd_frame *f, const struct rd_request *call)
{
    if (!f->own_base)
        return;
    for (uint32_t s = 0; x->ring_slots && s < x->slots; s++)
        if (x->slot[s].kind == RD_SLOT_RING) {
            const struct rd_exec_slot *slot = &x->slot[s];
            uint64_t at =
                (slot->ring_first + f->index % slot->count * slot->ring_stride) % slot->count;
            f->own_base[s] = rd_buffer_base(slot->buffers[at]);
        }
    for (uint32_t i = 0; i < call->binding_count; i++)
        f->own_base[call->slot[i]] = rd_buffer_base(call->buffer[i]);
}

static void hold(struct rd_exec *x, struct rd_frame *f, const struct rd_request *call)
{
    for (uint32_t i = 0; i < call->binding_count; i++) {
        rd_buffer_ref(call->buffer[i]);
        f->held[i] = call->buffer[i];
    }
    f->held_count = call->binding_count;
    f->held_for = f->count;
    rd_add_relaxed(&x->rt->held, 1);
    rd_store_release(&f->hold, RD_HOLD_HELD); /* pairs with rd_frame_let_go */
    rd_fence(); /* orders the hold with the look; partner: the cleaner's fence in sweep */
    if (!rd_exchange_acq_rel(&x->tenant.queued, 1))
        rd_cleaner_sweep(x->rt, &x->tenant);
}

static void fill_params(struct rd_exec *x, struct rd_frame *f, const struct rd_request *call,
                        uint64_t k)
{
    memcpy(f->own_params, call->sticky, x->params_bytes);
    for (uint32_t i = 0; i < call->value_count; i++) {
        const rondo_value *v = &call->value[i];
        const struct rd_exec_param *p = &x->param[rd_exec_param_at(x, v->param)];
        memcpy(f->own_params + p->offset, (const char *)v->value + k * v->stride_bytes, p->bytes);
    }
}

/* The first replay after a reset begins when all before have ended, on whichever track. */
static void gate_epoch(const struct rd_exec *x, const struct rd_track *t, struct rd_frame *f)
{
    struct rd_failures *fs = t->failures;
    struct rd_source *all = x->series->all;
    uint64_t first;
    pthread_mutex_lock(&fs->lock);
    first = fs->epoch_first[f->epoch & fs->epoch_mask];
    pthread_mutex_unlock(&fs->lock);
    if (f->replay - first < t->tracks) /* the first one of its track */
        f->gate[f->gate_count++] = (struct rd_gate){ all, rd_source_id(all), first, 1 };
}

static void fill_gates(const struct rd_exec *x, struct rd_track *t, struct rd_frame *f,
                       const struct rd_request *call, uint64_t local, uint64_t k)
{
    f->gate_count = 0;
    if (t->tracks > 1 && f->epoch)
        gate_epoch(x, t, f);
    if (local == rd_load_relaxed(&t->resume) && t->core->resume.count)
        f->gate[f->gate_count++] = t->core->resume; /* the first frame after a change of core */
    for (uint32_t i = 0; !k && i < call->gate_count; i++) { /* only a call's first replay waits */
        const rondo_event *e = &call->after[i];
        if (e->source)
            f->gate[f->gate_count++] =
                (struct rd_gate){ rd_source_find(e->source), e->source, e->count, 0 };
    }
}

/* All replays of a call wait for its copies: on several tracks none is before all others. */
static void fill_fetch(struct rd_frame *f, struct rd_fetch *fetch)
{
    rd_fetch_unref(f->fetch); /* of the slot's last replay that had some */
    f->fetch = NULL;
    if (!fetch || (rd_load_acquire(&fetch->over) && !fetch->status))
        return;
    rd_fetch_ref(fetch);
    f->fetch = fetch;
    f->slow |= RD_SLOW_FETCH;
    f->gate[f->gate_count++] =
        (struct rd_gate){ fetch->source, fetch->event.source, fetch->event.count, 0 };
}

/* What few frames have. */
static void fill_special(struct rd_exec *x, struct rd_track *t, struct rd_frame *f,
                         const struct rd_request *call, uint64_t k)
{
    const struct rd_plan *plan = t->plan;
    f->stop = call->stop;
    f->call_end = call->first + call->count;
    f->done = NULL;
    if (plan->variants > 1) {
        f->special |= RD_SPECIAL_VARIANT;
        f->variant = plan->variant_of_phase[f->index % plan->phases];
    }
    if (call->not_before_ns && !k) {
        f->special |= RD_SPECIAL_NOT_BEFORE;
        f->not_before_ns = call->not_before_ns;
    }
    if (call->deadline_ns) {
        f->slow |= RD_SLOW_DEADLINE;
        f->deadline_ns = call->deadline_ns;
    }
    if (call->done && k + 1 == call->count) {
        f->special |= RD_SPECIAL_DONE;
        f->done = call->done;
        f->done_context = call->context;
    }
    if (call->timed) {
        f->special |= RD_SPECIAL_TIMED;
        f->slow |= RD_SLOW_TIMED;
        rd_store_relaxed(&f->begin_ns, 0); /* published by seq */
    }
    for (uint32_t i = 0; i < x->program.pend_count; i++) { /* published by seq */
        struct rd_pend *p = &f->pend[i];
        rd_store_relaxed(&p->state, 0);
        for (uint32_t m = 0; m < 4; m++)
            rd_store_relaxed(&p->more[m], 0);
    }
}

RD_NOINLINE void rd_frame_clear_bad(const struct rd_track *t, struct rd_frame *f)
{
    for (uint32_t i = 0; i < t->plan->bits / 64; i++)
        rd_store_relaxed(&f->bad[i], 0); /* published by seq */
    rd_store_relaxed(&f->dirty, 0);
}

void rd_frame_fill(struct rd_exec *x, uint64_t ticket, const struct rd_request *call, uint64_t k)
{
    struct rd_track *t = rd_core_track(call->core, ticket);
    uint64_t local = rd_core_local(call->core, t, ticket);
    struct rd_frame *f = rd_track_frame(t, local);
    if (x->bound_slots) {
        /* The cleaner may have the hold for a moment, and put it back if it had not seen the end of
         * the replay yet. */
        while (rd_load_acquire(&f->hold) != RD_HOLD_NONE) {
            rd_frame_let_go(x, f);
            rd_pause();
        }
    }
    f->replay = ticket;
    f->count = (t->tracks == 1 ? ticket : ticket / t->tracks) + 1;
    f->epoch = call->epoch;
    f->interpreted = call->interpreted != 0;
    f->odd = call->binding_count && x->order != RONDO_CONCURRENT;
    f->slow = f->special = 0;
    if (x->indexed) /* the epoch's entry was made before its first ticket was taken */
        f->index = ticket - (rd_load_acquire(&x->series->ring_word) & RD_REPLAY_MASK);
    fill_special(x, t, f, call, k);
    fill_base(x, f, call);
    if (x->params)
        fill_params(x, f, call, k);
    fill_gates(x, t, f, call, local, k);
    if (x->stays)
        fill_fetch(f, call->fetch);
    if (RD_UNLIKELY(rd_exec_is_checked(&x->check)))
        rd_exec_check_frame(x, f);
    rd_store_relaxed(&f->left, f->interpreted ? t->lanes : t->sinks); /* published by seq */
    if (RD_UNLIKELY(rd_load_relaxed(&f->dirty)))
        rd_frame_clear_bad(t, f);
    if (call->binding_count)
        hold(x, f, call);
}

/* A submit wakes two workers, and each that begins the replay wakes two more, of those that waited
 * before this submit: they are taken out of submit_wake first, since who has ended the replay waits
 * there again, for the next, and would use up the wakes. Only spots that somebody slept on count as
 * woken, and a sleeper has not begun: it sees to_wake when it does. So none of those taken is left
 * asleep. */
RD_NOINLINE void rd_track_wake_some(struct rd_track *t)
{
    rd_or_acq_rel(&t->to_wake, rd_exchange_acq_rel(&t->submit_wake, 0));
    rd_park_wake_some(&t->to_wake, rd_park_some());
}
