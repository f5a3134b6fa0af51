/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking a ticket: everything is checked first, then the ticket is taken by CAS, its frame filled
 * and published. Nothing here blocks; waiting for room happens between two attempts, outside of the
 * read section and with a new look-up of the handle. */
#include "src/exec/exec.h"

#include "compile/run/lane.h"
#include "src/base/id.h"
#include "src/base/os.h"
#include "src/machine/worker.h"

#include <limits.h>

/* What to wait for when there is no room. */
struct room {
    struct rd_source *source;
    uint64_t id, count;
};

/* Rings advance per executed replay: the first replay of a new epoch needs to know how many replays
 * before it were cancelled, so it is taken only when they have all ended. */
static RD_NOINLINE rondo_status ring_ready(struct rd_exec *x, uint32_t epoch,
                                           struct rd_source **wait_source, uint64_t *wait_count)
{
    struct rd_failures *fs = &x->failures;
    uint64_t first, word;
    if (rd_load_acquire(&x->ring_word) >> RD_REPLAY_BITS == epoch)
        return RONDO_OK;
    pthread_mutex_lock(&fs->lock);
    first = fs->epoch_first[epoch & fs->epoch_mask];
    if (rd_load_acquire(&x->source->done) < first) {
        pthread_mutex_unlock(&fs->lock);
        *wait_source = x->source;
        *wait_count = first;
        return RONDO_ERR_AGAIN;
    }
    word = (uint64_t)epoch << RD_REPLAY_BITS | rd_failures_cancelled_before(fs, first);
    if (word >> RD_REPLAY_BITS > rd_load_relaxed(&x->ring_word) >> RD_REPLAY_BITS)
        rd_store_release(&x->ring_word, word); /* pairs with the acquires of fillers */
    pthread_mutex_unlock(&fs->lock);
    return RONDO_OK;
}

static inline rondo_status take(struct rd_exec *x, uint64_t count, uint64_t *ticket,
                                uint32_t *epoch, struct rd_source **wait_source,
                                uint64_t *wait_count)
{
    uint64_t word = rd_load_relaxed(&x->word);
    for (;;) {
        uint64_t at = RD_WORD_TICKET(word), local = rd_exec_local(x, at);
        struct rd_track *t = rd_exec_track(x, at);
        if (RD_UNLIKELY(word & RD_WORD_CLOSED))
            return rd_error(RONDO_ERR_STALE, "exec '%s' was destroyed", x->program.exec_name);
        *epoch = RD_WORD_EPOCH(word);
        if (RD_UNLIKELY(x->ring_slots) && ring_ready(x, *epoch, wait_source, wait_count))
            return RONDO_ERR_AGAIN;
        /* Acquire: the frame's last replay has ended, every lane has left it. */
        if ((int64_t)(local - rd_load_acquire(&t->source->done)) >= (int64_t)t->window) {
            *wait_source = t->source;
            *wait_count = local - t->window + 1;
            return RONDO_ERR_AGAIN;
        }
        /* acq_rel: reset and destroy are before or after this ticket. A failure reloads the word.
         */
        if (rd_cas_acq_rel(&x->word, &word, word + count)) {
            *ticket = at;
            return RONDO_OK;
        }
    }
}

rondo_status rd_exec_take(struct rd_exec *x, uint64_t count, uint64_t *ticket, uint32_t *epoch,
                          struct rd_source **wait_source, uint64_t *wait_count)
{
    return take(x, count, ticket, epoch, wait_source, wait_count);
}

/* The exec's only lane, for the caller to drive. */
static struct rd_lane *only_lane(struct rd_track *t)
{
    struct rd_lane *l = &t->lane[0];
    return t->lanes == 1 && l->processor == 0 && !rd_task_depth && rd_seat_take(l) ? l : NULL;
}

/* rd_frame_fill for a call that gives nothing, to an exec whose frames hold nothing of their own.
 */
static inline void fill_plain(struct rd_track *t, uint64_t ticket, uint64_t local,
                              const struct rd_request *call)
{
    struct rd_frame *f = rd_track_frame(t, local);
    f->replay = ticket;
    f->epoch = call->epoch;
    f->interpreted = call->interpreted != 0;
    f->odd = 0;
    f->gate_count = 0;
    rd_store_relaxed(&f->left, f->interpreted ? t->lanes : t->sinks); /* published by seq */
    if (RD_UNLIKELY(rd_load_relaxed(&f->dirty)))
        rd_frame_clear_bad(t, f);
}

static rondo_status submit_one(struct rd_exec *x, struct rd_request *call, int drive,
                               struct rd_submitted *out, struct room *room)
{
    struct rd_track *t;
    uint64_t ticket = 0, local;
    rondo_status status = rd_exec_take(x, 1, &ticket, &call->epoch, &room->source, &room->count);
    if (status)
        return status;
    t = rd_exec_track(x, ticket);
    local = rd_exec_local(x, ticket);
    call->interpreted = (int)rd_load_acquire(&x->interpreted); /* and the interpreter */
    if (RD_LIKELY(call->plain))
        fill_plain(t, ticket, local, call);
    else
        rd_frame_fill(x, ticket, call, 0);
    rd_frame_publish(t, local);
    out->source = t->source;
    out->event = (rondo_event){ rd_source_id(t->source), local + 1 };
    out->first = ticket;
    /* A caller that drives the only lane itself wakes nobody: it looks for work left when it gives
     * the seat back. The CAS of the seat orders the publication with its look. */
    if (drive && (out->lane = only_lane(t)) != NULL)
        return RONDO_OK;
    rd_fence(); /* orders seq with the look at submit_wake; partner: the workers' fence before
                   parking */
    rd_track_wake(t);
    return RONDO_OK;
}

static rondo_status submit_many(struct rd_exec *x, const rondo_replay_args *args,
                                struct rd_request *call, struct rd_submitted *out,
                                struct room *room)
{
    uint64_t first;
    rondo_status status = rd_batch_submit(x, args, call, &first, &room->source, &room->count);
    if (status)
        return status;
    out->source = x->source;
    out->event = (rondo_event){ rd_source_id(x->source), first + args->count };
    out->first = first;
    return RONDO_OK;
}

static const rondo_replay_args none;

static inline rondo_status attempt(struct rd_exec *x, const rondo_replay_args *args, int drive,
                                   struct rd_submitted *out, struct room *room)
{
    struct rd_request call;
    rondo_status status;
    call.plain = x->plain && args == &none;
    call.binding_count = 0;
    if (!call.plain && (status = rd_request_check(x, args, &call)) != RONDO_OK)
        return status;
    if (args->count > 1)
        status = submit_many(x, args, &call, out, room);
    else
        status = submit_one(x, &call, drive, out, room);
    if (RD_UNLIKELY(call.binding_count))
        rd_request_end(x, &call);
    if (status == RONDO_ERR_AGAIN)
        room->id = rd_source_id(room->source);
    return status;
}

static rondo_status no_room(const struct rd_exec *x, const struct room *room)
{
    return rd_error(RONDO_ERR_AGAIN,
                    "exec '%s': its window of %u replays is full: replay %llu has not ended",
                    x->program.exec_name, x->window, (unsigned long long)room->count - 1);
}

rondo_status rd_exec_submit(rondo_exec handle, const rondo_replay_args *args, int drive,
                            int64_t deadline, struct rd_submitted *out)
{
    out->lane = NULL;
    if (!args)
        args = &none;
    for (;;) {
        struct room room = { NULL, 0, 0 };
        rondo_status status;
        struct rd_exec *x;
        rd_rcu_read_lock();
        x = rd_id_find(handle.id, RD_ID_EXEC);
        status = RD_LIKELY(x != NULL) ? attempt(x, args, drive, out, &room)
                                      : rd_id_error(handle.id, RD_ID_EXEC);
        if (status == RONDO_ERR_AGAIN && (args->flags & RONDO_NO_WAIT || rd_task_depth)) {
            no_room(x, &room);
            room.source = NULL;
        }
        rd_rcu_read_unlock();
        if (status != RONDO_ERR_AGAIN || !room.source)
            return status;
        /* On the event's record: the exec may be destroyed meanwhile, and then the new look-up
         * tells. */
        if (rd_wait(room.source, room.id, room.count, deadline, NULL, NULL))
            return rd_error(RONDO_ERR_AGAIN, "replay: no room in the exec's window in time");
    }
}
