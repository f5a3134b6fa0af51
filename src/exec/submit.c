/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking a ticket: everything is checked first, then the ticket is taken by CAS, its frame filled
 * and published. Nothing here blocks; waiting for room happens between two attempts, outside of the
 * read section and with a new look-up of the handle. */
#include "src/exec/tuner.h"

#include "compile/run/lane.h"
#include "src/base/id.h"
#include "src/base/os.h"
#include "src/machine/worker.h"

#include <limits.h>
#include <string.h>

static const rondo_replay_args none;

/* What has to be done first, outside of the read section: no status that leaves this directory. */
enum { PLACE_ANEW = -1, IN_PARTS = -2, LOOK_AGAIN = RD_LOOK_AGAIN, TAKE_OVER = -4 };
enum { PART_VALUES = 64 }; /* of a call that may be submitted in parts */

/* What to wait for when there is no room. */
struct room {
    struct rd_source *source;
    uint64_t id, count;
};

/* The index of a replay is the number of those executed before it. The first replay of a new epoch,
 * or after a call that a node may stop, needs to know how many did not run: it is taken only when
 * they have all ended. */
static RD_NOINLINE rondo_status index_ready(struct rd_exec *x, uint64_t word,
                                            struct rd_source **wait_source, uint64_t *wait_count)
{
    struct rd_series *s = x->series;
    struct rd_failures *fs = &s->failures;
    uint64_t epoch = RD_WORD_EPOCH(word), first, ring;
    pthread_mutex_lock(&fs->lock);
    first = fs->epoch_first[epoch & fs->epoch_mask];
    if (first < s->many_end)
        first = s->many_end;
    if (rd_load_acquire(&s->all->done) < first) {
        pthread_mutex_unlock(&fs->lock);
        *wait_source = s->all;
        *wait_count = first;
        return RONDO_ERR_AGAIN;
    }
    ring = epoch << RD_REPLAY_BITS | rd_failures_cancelled_before(fs, first);
    if (ring >> RD_REPLAY_BITS >= rd_load_relaxed(&s->ring_word) >> RD_REPLAY_BITS) {
        rd_store_release(&s->ring_word, ring); /* pairs with the acquires of fillers */
        s->counted_end = s->many_end;
    }
    pthread_mutex_unlock(&fs->lock);
    return RONDO_OK;
}

/* Where calls may be stopped `stops_lock` is held, so many_end and counted_end stand still. */
static int is_index_ready(const struct rd_series *s, uint64_t word)
{
    return rd_load_acquire(&s->ring_word) >> RD_REPLAY_BITS == RD_WORD_EPOCH(word) &&
           (!s->stoppable || s->counted_end == s->many_end);
}

static RD_NOINLINE rondo_status take(struct rd_exec *x, uint64_t count, struct rd_request *call,
                                     struct rd_source **wait_source, uint64_t *wait_count)
{
    struct rd_series *s = x->series;
    struct rd_core *c = rd_load_acquire(&x->core); /* all of it */
    uint64_t word = rd_load_acquire(&s->word);     /* and the offsets of its core's tracks */
    for (;;) {
        uint64_t at = RD_WORD_TICKET(word), local;
        struct rd_track *t;
        /* Destroy waits for a grace period. Acquire: whether it was replaced. */
        if (RD_UNLIKELY(rd_load_acquire(&x->closed)))
            return rd_load_relaxed(&x->replaced)
                       ? LOOK_AGAIN
                       : rd_error(RONDO_ERR_STALE, "exec '%s' was destroyed", x->program.exec_name);
        if (RD_UNLIKELY(RD_WORD_CORE(word) != c->number)) {
            struct rd_core *now = rd_load_acquire(&x->core);
            if (now == c && rd_series_switch(s, c, wait_source, wait_count))
                return RONDO_ERR_AGAIN;
            c = now;
            word = rd_load_acquire(&s->word);
            continue;
        }
        if (RD_UNLIKELY(x->indexed) && !is_index_ready(s, word)) {
            if (index_ready(x, word, wait_source, wait_count))
                return RONDO_ERR_AGAIN;
            word = rd_load_acquire(&s->word);
            continue;
        }
        t = rd_core_track(c, at);
        local = rd_core_local(c, t, at);
        /* Acquire: the frame's last replay has ended, every lane has left it. */
        if ((int64_t)(local - rd_core_ended(t)) >= (int64_t)t->window) {
            *wait_source = t->source;
            *wait_count = local - t->window + 1 + rd_load_relaxed(&t->offset);
            return RONDO_ERR_AGAIN;
        }
        /* acq_rel: reset and a change of core are before or after this ticket. A failure reloads
         * the word. */
        if (rd_cas_acq_rel(&s->word, &word, word + count)) {
            call->core = c;
            call->first = at;
            call->count = count;
            call->epoch = RD_WORD_EPOCH(word);
            call->interpreted =
                rd_load_acquire(&x->interpreted) && c->kind == RD_CORE_LANES; /* interpreter */
            return RONDO_OK;
        }
    }
}

/* Where a node may stop calls they are taken one by one, those of the others of its group too: the
 * index of what comes after it counts what did run. A call that may be stopped has a word for it.
 */
static RD_NOINLINE rondo_status take_stoppable(struct rd_exec *x, uint64_t count,
                                               struct rd_request *call,
                                               struct rd_source **wait_source, uint64_t *wait_count)
{
    struct rd_series *s = x->series;
    rondo_status status;
    pthread_mutex_lock(&s->stops_lock);
    status = take(x, count, call, wait_source, wait_count);
    if (!status && x->stops) {
        call->stop = &s->stop[s->calls++ & s->stop_mask];
        rd_store_relaxed(call->stop, UINT64_MAX); /* published with the frames */
        if (count > 1)
            s->many_end = call->first + count;
    }
    pthread_mutex_unlock(&s->stops_lock);
    return status;
}

rondo_status rd_exec_take(struct rd_exec *x, uint64_t count, struct rd_request *call,
                          struct rd_source **wait_source, uint64_t *wait_count)
{
    call->stop = NULL;
    if (RD_UNLIKELY(x->series->stoppable))
        return take_stoppable(x, count, call, wait_source, wait_count);
    return take(x, count, call, wait_source, wait_count);
}

/* The exec's only lane, for the caller to drive. */
static struct rd_lane *only_lane(struct rd_track *t)
{
    struct rd_lane *l = &t->lane[0];
    return t->lanes == 1 && l->processor == 0 && !rd_task_depth && rd_seat_take(l) ? l : NULL;
}

/* rd_frame_fill for a call that gives nothing, to an exec whose frames hold nothing of their own,
 * on a core of one track. */
static inline void fill_plain(struct rd_track *t, uint64_t ticket, uint64_t local, uint32_t epoch,
                              int interpreted)
{
    struct rd_frame *f = rd_track_frame(t, local);
    f->replay = ticket;
    f->count = ticket + 1;
    f->epoch = epoch;
    f->interpreted = interpreted != 0;
    f->odd = f->slow = f->special = 0;
    f->gate_count = 0;
    rd_store_relaxed(&f->left, interpreted ? t->lanes : t->sinks); /* published by seq */
    if (RD_UNLIKELY(rd_load_relaxed(&f->dirty)))
        rd_frame_clear_bad(t, f);
}

/* Wakes who waits for the frame that was published last; or nobody, where the caller drives the
 * only lane itself: it looks for work left when it gives the seat back. The CAS of the seat orders
 * the publication with its look. */
static inline void hand_over(struct rd_track *t, int drive, struct rd_submitted *out)
{
    if (drive && (out->lane = only_lane(t)) != NULL)
        return;
    rd_fence(); /* orders seq with the look at submit_wake; partner: the workers' fence before
                   parking */
    rd_track_wake(t);
}

/* A call that gives nothing, but whose frame may: it follows a change of core, a reset, or a
 * take-over. */
static RD_NOINLINE void fill_resumed(struct rd_exec *x, struct rd_request *call, uint64_t ticket)
{
    struct rd_request full;
    rd_request_check(x, &none, &full); /* nothing to refuse */
    full.fetch = call->fetch;
    full.core = call->core;
    full.first = call->first;
    full.count = 1;
    full.stop = NULL;
    full.epoch = call->epoch;
    full.interpreted = call->interpreted;
    rd_frame_fill(x, ticket, &full, 0);
}

static rondo_status submit_one(struct rd_exec *x, struct rd_request *call, int drive,
                               struct rd_submitted *out, struct room *room)
{
    struct rd_track *t;
    uint64_t ticket, local;
    rondo_status status = rd_exec_take(x, 1, call, &room->source, &room->count);
    if (status)
        return status;
    ticket = call->first;
    t = rd_core_track(call->core, ticket);
    local = rd_core_local(call->core, t, ticket);
    /* With several tracks the first frame after a reset is gated: fill_gates. */
    if (RD_LIKELY(call->plain) && t->tracks == 1 && RD_LIKELY(!call->fetch) &&
        RD_LIKELY(local != rd_load_relaxed(&t->resume)))
        fill_plain(t, ticket, local, call->epoch, call->interpreted);
    else if (call->plain)
        fill_resumed(x, call, ticket);
    else
        rd_frame_fill(x, ticket, call, 0);
    rd_frame_publish(t, local);
    out->source = t->source;
    out->event = (rondo_event){ rd_source_id(t->source),
                                (t->tracks == 1 ? ticket : ticket / t->tracks) + 1 };
    out->first = ticket;
    out->end = ticket + 1;
    if (RD_UNLIKELY(x->tuner != NULL))
        rd_tuner_submitted(x, call->core, ticket);
    hand_over(t, drive, out);
    return RONDO_OK;
}

static rondo_status submit_many(struct rd_exec *x, const rondo_replay_args *args,
                                struct rd_request *call, struct rd_submitted *out,
                                struct room *room)
{
    struct rd_source *all = x->series->all;
    rondo_status status = rd_batch_submit(x, args, call, &room->source, &room->count);
    if (status)
        return status;
    out->source = all;
    out->event = (rondo_event){ rd_source_id(all), call->first + args->count };
    out->first = call->first;
    out->end = call->first + args->count;
    if (x->tuner)
        rd_tuner_submitted(x, call->core, call->first);
    return RONDO_OK;
}

/* An exec whose core is not settled. room->count: replays of the first part. */
static RD_NOINLINE rondo_status settle(struct rd_exec *x, const rondo_replay_args *args,
                                       int may_split, struct room *room)
{
    uint64_t count = args->count ? args->count : 1, part;
    if (rd_load_relaxed(&x->profile)) {
        uint64_t end = rd_load_relaxed(&x->profile_end);
        uint64_t ticket = RD_WORD_TICKET(rd_load_acquire(&x->series->word));
        if (ticket < end) {
            if (ticket + count > end && may_split && !x->stops) {
                room->count = end - ticket;
                return IN_PARTS;
            }
            return RONDO_OK;
        }
        if (rd_load_acquire(&x->series->all->done) < ticket) { /* all that were timed */
            room->source = x->series->all;
            room->count = ticket;
            room->id = rd_source_id(room->source);
            return RONDO_ERR_AGAIN;
        }
        return PLACE_ANEW;
    }
    if (!x->tuner)
        return RONDO_OK;
    rd_tuner_step(x, count);
    part = may_split ? rd_tuner_part(x, count) : 0;
    if (part) {
        room->count = part;
        return IN_PARTS;
    }
    return RONDO_OK;
}

/* A replay that gives nothing, to an exec whose frames hold nothing of their own, on the one track
 * of the core that ran last: take and submit_one with all that cannot be left out. 0: it is not
 * that simple, and nothing was done. */
static inline int submit_plain(struct rd_exec *x, int drive, struct rd_submitted *out)
{
    struct rd_series *s = x->series;
    struct rd_core *c = rd_load_acquire(&x->core); /* as in take */
    uint64_t word = rd_load_acquire(&s->word), at = RD_WORD_TICKET(word);
    struct rd_track *t = c->track;
    uint64_t local = at - rd_load_relaxed(&t->offset);
    int interpreted;
    if (RD_UNLIKELY(RD_WORD_CORE(word) != c->number || c->tracks != 1 ||
                    rd_load_relaxed(&x->closed) || local == rd_load_relaxed(&t->resume)))
        return 0;
    if (RD_UNLIKELY((int64_t)(local - rd_core_ended(t)) >= (int64_t)t->window))
        return 0;
    if (RD_UNLIKELY(!rd_cas_acq_rel(&s->word, &word, word + 1))) /* as in take */
        return 0;
    interpreted = rd_load_acquire(&x->interpreted) && c->kind == RD_CORE_LANES;
    fill_plain(t, at, local, RD_WORD_EPOCH(word), interpreted);
    rd_frame_publish(t, local);
    out->source = t->source;
    out->event = (rondo_event){ rd_source_id(t->source), at + 1 };
    out->first = at;
    out->end = at + 1;
    out->timed = 0;
    hand_over(t, drive, out);
    return 1;
}

/* Whether buffers have to be taken over first; then what the call binds is noted. */
static RD_NOINLINE rondo_status look_at_stays(struct rd_exec *x, struct rd_take_turn *turn,
                                              struct rd_request *call)
{
    rondo_status status;
    if (turn->x == x) {
        call->fetch = turn->fetch;
        return RONDO_OK;
    }
    if (rd_exec_stay_holds(x->stays, x->rt) && rd_exec_stay_bound(x->stays, call))
        return RONDO_OK;
    status = rd_take_note(turn, x, call);
    return status ? status : TAKE_OVER;
}

static inline rondo_status attempt(struct rd_exec *x, const rondo_replay_args *args, int drive,
                                   int may_split, struct rd_take_turn *turn,
                                   struct rd_submitted *out, struct room *room)
{
    struct rd_request call;
    rondo_status status;
    call.plain = rd_load_relaxed(&x->plain) && args == &none && !rd_load_relaxed(&x->rt->tracing);
    if (RD_LIKELY(call.plain) && !rd_load_relaxed(&x->unsettled) &&
        (RD_LIKELY(!x->stays) || rd_exec_stay_holds(x->stays, x->rt)) &&
        submit_plain(x, drive, out))
        return RONDO_OK;
    call.binding_count = 0;
    call.room = 0;
    call.fetch = NULL;
    if (!call.plain && (status = rd_request_check(x, args, &call)) != RONDO_OK)
        return status;
    if (RD_UNLIKELY(rd_load_relaxed(&x->unsettled)) &&
        (status = settle(x, args, may_split, room)) != RONDO_OK) {
        rd_request_end(x, &call);
        return status;
    }
    if (RD_UNLIKELY(x->stays != NULL) && (status = look_at_stays(x, turn, &call)) != RONDO_OK) {
        rd_request_end(x, &call);
        return status;
    }
    if (args->count > 1)
        status = submit_many(x, args, &call, out, room);
    else
        status = submit_one(x, &call, drive, out, room);
    out->timed = !call.plain && call.timed;
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

/* `part`: NULL, or how many replays to submit first if the status is IN_PARTS. */
static rondo_status submit(rondo_exec handle, const rondo_replay_args *args, int drive,
                           int64_t deadline, uint64_t *part, struct rd_submitted *out)
{
    struct rd_take_turn turn;
    out->lane = NULL;
    turn.x = NULL;
    for (;;) {
        struct room room = { NULL, 0, 0 };
        rondo_status status;
        struct rd_exec *x;
        rd_rcu_read_lock();
        x = rd_id_find(handle.id, RD_ID_EXEC);
        status = RD_LIKELY(x != NULL) ? attempt(x, args, drive, part != NULL, &turn, out, &room)
                                      : rd_id_error(handle.id, RD_ID_EXEC);
        if (status == RONDO_ERR_AGAIN && (args->flags & RONDO_NO_WAIT || rd_task_depth)) {
            no_room(x, &room);
            room.source = NULL;
        }
        if (RD_UNLIKELY(status == PLACE_ANEW || status == TAKE_OVER))
            rd_exec_ref(x);
        rd_rcu_read_unlock();
        rd_take_end(&turn);
        if (RD_UNLIKELY(status < 0)) {
            if (status == IN_PARTS) {
                *part = room.count;
                return status;
            }
            if (status == PLACE_ANEW) {
                rd_exec_place_anew(x);
                rd_exec_unref(x);
            }
            if (status == TAKE_OVER) {
                status = rd_take_begin(&turn, x, args->after, args->after_count);
                if (status)
                    return status;
            }
            continue; /* LOOK_AGAIN: the handle names a newer exec by now */
        }
        if (status != RONDO_ERR_AGAIN || !room.source)
            return status;
        /* On the event's record: the exec may be destroyed meanwhile, and then the new look-up
         * tells. */
        if (rd_wait(room.source, room.id, room.count, deadline, NULL, NULL))
            return rd_error(RONDO_ERR_AGAIN, "replay: no room in the exec's window in time");
    }
}

/* One call as several: its first replays, and the rest by another look at what to do. */
static RD_NOINLINE rondo_status submit_parts(rondo_exec handle, const rondo_replay_args *args,
                                             uint64_t part, struct rd_submitted *out)
{
    rondo_replay_args first, rest = *args;
    rondo_value values[PART_VALUES];
    uint64_t begin = UINT64_MAX;
    rondo_status status;
    for (uint32_t i = 0; i < args->value_count; i++)
        values[i] = args->values[i];
    rest.values = values;
    do {
        first = rest;
        first.count = part;
        first.done = NULL;
        status = submit(handle, &first, 0, -1, NULL, out);
        if (status)
            return status;
        if (begin > out->first)
            begin = out->first;
        for (uint32_t i = 0; i < rest.value_count; i++)
            values[i].value = (const char *)values[i].value + part * values[i].stride_bytes;
        rest.count -= part;
        rest.after_count = 0;
        rest.not_before_ns = 0;
        status = submit(handle, &rest, 0, -1, &part, out);
    } while (status == IN_PARTS);
    out->first = begin;
    return status;
}

rondo_status rd_exec_submit(rondo_exec handle, const rondo_replay_args *args, int drive,
                            int64_t deadline, struct rd_submitted *out)
{
    rondo_status status;
    uint64_t part;
    int may_split;
    if (!args)
        args = &none;
    /* A call that ends early has submitted all or nothing. */
    may_split = RD_UNLIKELY(args->count > 1) && deadline < 0 && !(args->flags & RONDO_NO_WAIT) &&
                !rd_task_depth && args->value_count <= PART_VALUES;
    status = submit(handle, args, drive, deadline, may_split ? &part : NULL, out);
    return RD_LIKELY(status != IN_PARTS) ? status : submit_parts(handle, args, part, out);
}
