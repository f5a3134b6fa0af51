/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes to an exec between replays: parameters, mode, reset, destroy. */
#include "src/exec/tuner.h"

#include "src/base/id.h"

#include <string.h>

rondo_status rd_exec_set_param(struct rd_exec *x, rondo_param param, const void *value)
{
    struct rd_sticky *old, *fresh;
    uint32_t index;
    rondo_status status = rd_exec_param_index(x, param, "set_param", &index);
    if (status)
        return status;
    if (!value)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': set_param: parameter '%s' is given NULL",
                        x->program.exec_name, x->program.names + x->param[index].name);
    fresh = rd_sticky_new(x);
    if (!fresh)
        return rd_error(RONDO_ERR_MEMORY, "exec '%s': set_param: no memory for %zu bytes",
                        x->program.exec_name, x->params_bytes);
    pthread_mutex_lock(&x->lock);
    if (rd_load_relaxed(&x->replaced)) { /* written under the lock */
        pthread_mutex_unlock(&x->lock);
        rd_sticky_free(&fresh->garbage);
        return RD_LOOK_AGAIN;
    }
    old = rd_load_relaxed(&x->sticky); /* written under the lock */
    memcpy(fresh->block, old->block, x->params_bytes);
    memcpy(fresh->given, old->given, x->params);
    memcpy(fresh->block + x->param[index].offset, value, x->param[index].bytes);
    fresh->missing = old->missing - !old->given[index];
    fresh->given[index] = RD_GIVEN_SET;
    rd_store_release(&x->sticky, fresh); /* pairs with rd_request_check */
    pthread_mutex_unlock(&x->lock);
    old->garbage.free = rd_sticky_free; /* replays may be reading it */
    rd_cleaner_discard(x->rt, &old->garbage);
    return RONDO_OK;
}

struct rd_core *rd_exec_lanes(struct rd_exec *x)
{
    for (struct rd_core *c = x->cores; c; c = c->next)
        if (c->kind == RD_CORE_LANES && !rd_load_relaxed(&c->retired))
            return c;
    return NULL; /* while the last one is being replaced; never seen under the lock */
}

/* The mode that stands: as set, else as instantiated. Lanes that dataflow has beside it are made to
 * be interpreted; there is nothing else until a profile ends. Under the lock. */
static int is_to_interpret(const struct rd_exec *x)
{
    if (x->schedule == RONDO_DATAFLOW && x->chosen->kind == RD_CORE_LANES)
        return 1;
    if (x->mode_set != RONDO_AUTO)
        return x->mode_set == RONDO_INTERPRETED;
    return x->mode == RONDO_INTERPRETED || rd_load_relaxed(&x->profile);
}

/* Only a core of lanes can interpret; compiled replays go to the core that was chosen. Under the
 * lock. */
static rondo_status choose(struct rd_exec *x)
{
    const int interpreted = is_to_interpret(x);
    struct rd_core *lanes = rd_exec_lanes(x);
    rondo_status status = interpreted ? rd_core_need_interpreter(lanes) : RONDO_OK;
    if (status)
        return status;
    /* Release: the interpreter; pairs with the acquires of submitters, who look at the core first.
     */
    if (!interpreted)
        rd_store_release(&x->interpreted, 0);
    rd_store_release(&x->core, interpreted ? lanes : x->chosen);
    if (interpreted)
        rd_store_release(&x->interpreted, 1);
    return RONDO_OK;
}

rondo_status rd_exec_choose(struct rd_exec *x)
{
    rondo_status status;
    pthread_mutex_lock(&x->lock);
    status = choose(x);
    pthread_mutex_unlock(&x->lock);
    return status;
}

rondo_status rd_exec_set_mode(struct rd_exec *x, uint32_t mode)
{
    rondo_status status;
    uint32_t was;
    if (mode > RONDO_INTERPRETED)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': set_mode: mode %u is unknown",
                        x->program.exec_name, mode);
    if (x->check.access || x->check.shuffle || x->stepped)
        return RONDO_OK; /* the environment has the last word, as rondo_exec_describe says */
    if (mode == RONDO_COMPILED && !x->compiled)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': set_mode: it could not be compiled: %s",
                        x->program.exec_name, x->why);
    if (mode != RONDO_AUTO)
        rd_tuner_force(x, 1);
    pthread_mutex_lock(&x->lock);
    was = x->mode_set;
    if (mode == was && !rd_load_relaxed(&x->replaced)) { /* a trial under way goes on */
        pthread_mutex_unlock(&x->lock);
        return RONDO_OK;
    }
    x->mode_set = mode;
    status = choose(x);
    if (status)
        x->mode_set = was;
    else if (rd_load_relaxed(&x->replaced)) /* written under the lock */
        status = RD_LOOK_AGAIN;
    pthread_mutex_unlock(&x->lock);
    if ((status == RONDO_OK ? mode : was) == RONDO_AUTO)
        rd_tuner_force(x, 0);
    return status;
}

rondo_status rd_exec_reset(struct rd_exec *x)
{
    struct rd_series *s = x->series;
    struct rd_failures *fs = &s->failures;
    rondo_status status = RONDO_OK;
    uint64_t word, next;
    pthread_mutex_lock(&fs->lock);
    word = rd_load_relaxed(&s->word);
    for (;;) {
        if (RD_WORD_TICKET(word) == fs->epoch_first[fs->epoch_now & fs->epoch_mask])
            break; /* no replay since the last reset: nothing to forget */
        if (RD_WORD_EPOCH(word) >= RD_EPOCH_MAX) {
            status = rd_error(RONDO_ERR_INVALID, "exec '%s': reset %d times, no more are possible",
                              x->program.exec_name, RD_EPOCH_MAX);
            break;
        }
        next = word + (1ull << RD_REPLAY_BITS);
        if (rd_cas_acq_rel(&s->word, &word, next)) {
            rd_failures_new_epoch(fs, RD_WORD_TICKET(word));
            break;
        }
    }
    pthread_mutex_unlock(&fs->lock);
    return status;
}

rondo_status rd_exec_destroy(rondo_exec handle)
{
    struct rd_exec *x;
    rd_rcu_read_lock();
    x = rd_id_find(handle.id, RD_ID_EXEC);
    if (x)
        rd_series_leave(x->series, handle.id);
    rd_rcu_read_unlock();
    x = rd_id_retire(handle.id, RD_ID_EXEC);
    if (!x)
        return rd_id_error(handle.id, RD_ID_EXEC);
    rd_store_relaxed(&x->closed, 1); /* ordered by the grace period before its end */
    rd_cleaner_retire(x->rt, &x->tenant);
    return RONDO_OK;
}
