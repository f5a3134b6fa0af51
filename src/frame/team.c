/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams: one node, an op per rank, each bound to a processor of its own. All ranks arrive; then
 * they run at once (SPMD) or rank 0's function runs on a host thread while the others' processors
 * rest (HOSTED); rank 0's op is over when all ranks are.
 *
 * Safety.
 * - Rank 0's entry of the frame's `pend` is the team's. `state` counts arrivals; OFF says that the
 *   team was called off, GO that it runs. Arriving and calling off are CASes of the same word, so
 *   either all ranks arrive or the team is called off, never both: a rank that is skipped sets OFF
 *   unless all have arrived, and a rank that finds OFF does not run.
 * - Two SPMD teams cannot hold processors of each other: a team runs while it is its turn, in the
 *   order of tickets taken by rank 0 when all ranks have arrived; a rank that waits for its turn
 *   pends and holds nothing. The turn goes on when the last rank has ended.
 * - A rank touches the entry only inside its op, and the replay ends after all of them. A host
 *   thread does not: it finishes a completion, whose record outlives the exec.
 * - Barrier: {phase:32, gone:16, arrived:16}. Who completes a phase, by arriving or by leaving for
 *   good, adds one to the phase in the same CAS (release); the others acquire it. */
#include "src/frame/team.h"

#include "src/base/os.h"
#include "src/frame/node_kinds.h"
#include "src/machine/runtime.h"
#include "src/machine/spin.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define TEAM_GO  (1ull << 32)
#define TEAM_OFF (1ull << 62)

/* What the rank of least number that failed has to say; in rank 0's `record`. */
struct team_failure {
    uint32_t rank;
    char message[208];
};

static const struct team_failure no_memory = { 0, "a rank failed (no memory for its message)" };
static pthread_mutex_t failing = PTHREAD_MUTEX_INITIALIZER;

static struct rd_pend *team_of(const struct rd_frame *f, const struct rd_node_work *w)
{
    return rd_node_pend(f, w->team_pend);
}

static void wake(rd_atomic64 *word)
{
    rd_fence(); /* orders the change before with the look; partner: the parkers' fence */
    if (rd_load_relaxed(word))
        rd_park_wake(word);
}

/* ---- arriving and calling off */

/* 0: the team was called off. */
static int arrive(struct rd_pend *team, uint32_t ranks)
{
    uint64_t s = rd_load_relaxed(&team->state);
    do {
        if (s & TEAM_OFF)
            return 0;
    } while (!rd_cas_acq_rel(&team->state, &s, s + 1)); /* what came before this rank */
    if (s + 1 == ranks)
        wake(&team->wake);
    return 1;
}

int rd_team_under_way(const struct rd_frame *f, const struct rd_node_work *w)
{
    uint64_t s = rd_load_acquire(&team_of(f, w)->state);
    return !(s & TEAM_OFF) && (uint32_t)s == w->team;
}

int rd_team_skip(const struct rd_frame *f, const struct rd_node_work *w)
{
    struct rd_pend *team = team_of(f, w);
    uint64_t s = rd_load_acquire(&team->state);
    do {
        if (s & TEAM_OFF)
            return 1;
        if ((uint32_t)s == w->team)
            return 0;
    } while (!rd_cas_acq_rel(&team->state, &s, s | TEAM_OFF));
    wake(&team->wake);
    return 1;
}

/* ---- failing ranks */

static void note_failure(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *team,
                         int code)
{
    struct team_failure *k;
    pthread_mutex_lock(&failing);
    k = team->record;
    if (!k)
        k = rd_alloc(&w->rt->alloc, sizeof *k, 16);
    if (!k) {
        team->record = (void *)&no_memory;
    } else if (k != &no_memory && (!team->record || w->rank < k->rank)) {
        team->record = k;
        k->rank = w->rank;
        if (self->told)
            memcpy(k->message, self->message, sizeof k->message);
        else
            snprintf(k->message, sizeof k->message, "rank %u returned %d", w->rank, code);
    }
    pthread_mutex_unlock(&failing);
    self->told = 0;
}

/* By rank 0, when all ranks have ended. */
static int tell_failure(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *team)
{
    struct team_failure *k = team->record; /* acquired with the count of ended ranks */
    if (!k)
        return 0;
    team->record = NULL;
    rd_node_fail(self, "%s", k->message);
    if (k != &no_memory)
        rd_free(&w->rt->alloc, k, sizeof *k);
    return 1;
}

/* ---- SPMD */

/* Rank 0, all ranks have arrived: whether it is the team's turn. */
static int has_turn(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *team)
{
    struct rd_runtime *rt = w->rt;
    uint64_t ticket = rd_load_relaxed(&team->more[RD_PEND_TICKET]); /* rank 0's, + 1 */
    if (!ticket) {
        ticket = rd_add_relaxed(&rt->gang_tickets, 1) + 1;
        rd_store_relaxed(&team->more[RD_PEND_TICKET], ticket); /* published with GO */
    }
    /* Acquire: pairs with pass_turn, what the team before did. */
    if (rd_load_acquire(&rt->gang_turn) == ticket - 1)
        return 1;
    rd_node_pends(self, &rt->gang_turn, ticket - 1, &rt->gang_wake);
    return 0;
}

static void pass_turn(const struct rd_node_work *w, struct rd_pend *team)
{
    struct rd_runtime *rt = w->rt;
    rd_store_release(&rt->gang_turn, rd_load_relaxed(&team->more[RD_PEND_TICKET]));
    wake(&rt->gang_wake);
}

static void go(struct rd_pend *team)
{
    rd_or_acq_rel(&team->state, TEAM_GO); /* what rank 0 has seen; pairs with may_run's acquire */
    wake(&team->wake);
}

/* The others have arrived: they are called off all the same. */
static int no_host(struct rd_self *self, struct rd_pend *team)
{
    rd_or_acq_rel(&team->state, TEAM_OFF);
    wake(&team->wake);
    return rd_node_fail(self, "no memory to have it run on the host thread");
}

/* Whether the rank may run: 0, RD_PENDING or RD_CALLED_OFF. */
static int may_run(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *team)
{
    uint64_t s = rd_load_acquire(&team->state);
    if (s & TEAM_OFF)
        return RD_CALLED_OFF;
    if (s & TEAM_GO)
        return 0;
    if (w->rank)
        return rd_node_pends(self, &team->state, TEAM_GO, &team->wake);
    if ((uint32_t)s < w->team)
        return rd_node_pends(self, &team->state, w->team, &team->wake);
    if (w->does == RD_DO_HOSTED) {
        if (!rd_team_host(self, w, team))
            return no_host(self, team);
    } else if (!has_turn(self, w, team)) {
        return RD_PENDING;
    }
    go(team);
    return 0;
}

#define PHASE(word)   ((uint32_t)((word) >> 32))
#define GONE(word)    ((uint32_t)((word) >> 16 & 0xffff))
#define ARRIVED(word) ((uint32_t)((word)&0xffff))

/* One more rank has arrived at the barrier, or left it for ever. Returns the phase it found. */
static uint32_t pass_barrier(struct rd_pend *team, uint32_t ranks, uint64_t more)
{
    rd_atomic64 *word = &team->more[RD_PEND_BARRIER];
    uint64_t old = rd_load_relaxed(word), next;
    do {
        next = old + more;
        /* Nobody waits for the last phase, of those that left. */
        if (ARRIVED(next) && ARRIVED(next) + GONE(next) == ranks)
            next = (uint64_t)(PHASE(old) + 1) << 32 | (uint64_t)GONE(next) << 16;
    } while (!rd_cas_acq_rel(word, &old, next));
    if (PHASE(next) != PHASE(old))
        wake(&team->wake);
    return PHASE(old);
}

/* Looks on for as long as a worker looks for work; whether it should go on looking. */
static int look_on(const struct rd_runtime *rt, int64_t *since)
{
    int64_t now;
    if (!rd_spin_polls()) { /* threads outnumber CPUs: the rank waited for may need this one */
        if (rt->park_after_ns != INT64_MAX)
            return 0;
        rd_os.yield();
        return 1;
    }
    for (int i = 0; i < 64; i++)
        rd_pause();
    if (rt->park_after_ns == INT64_MAX)
        return 1;
    now = rd_os.now_ns();
    if (!*since)
        *since = now;
    return now - *since < rt->park_after_ns;
}

static void wait_for_phase(const struct rd_runtime *rt, struct rd_pend *team, uint32_t phase)
{
    rd_atomic64 *word = &team->more[RD_PEND_BARRIER];
    int64_t since = 0;
    for (uint32_t polls = rd_spin_polls(); polls; polls--) { /* most waits are short */
        if (PHASE(rd_load_acquire(word)) != phase)
            return;
        rd_pause();
    }
    while (PHASE(rd_load_acquire(word)) == phase) {
        uint32_t prepared;
        if (look_on(rt, &since))
            continue;
        prepared = rd_park_prepare();
        rd_park_register(&team->wake);
        rd_fence(); /* orders the bit with the look; partner: wake's */
        if (PHASE(rd_load_acquire(word)) == phase)
            rd_park_sleep(prepared, -1);
    }
}

void rd_team_barrier(struct rd_self *self)
{
    const struct rd_node_work *w = self->work;
    struct rd_pend *team;
    uint32_t phase;
    if (!w || w->does != RD_DO_SPMD || w->team == 1)
        return;
    team = team_of(self->frame, w);
    phase = pass_barrier(team, w->team, 1);
    wait_for_phase(w->rt, team, phase);
}

static void run_rank(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *team)
{
    int code;
    self->view.rank = w->rank;
    self->view.team = w->team;
    code = rd_node_call(self, w);
    self->view.rank = 0;
    self->view.team = 1;
    if (code)
        note_failure(self, w, team, code);
    pass_barrier(team, w->team, 1ull << 16);
}

/* ---- both */

/* The rank has ended; rank 0 is over when all have. */
static void end_rank(const struct rd_node_work *w, struct rd_pend *team)
{
    /* acq_rel: rank 0 sees what all ranks did, the last one too. */
    if (rd_add_acq_rel(&team->more[RD_PEND_ENDED], 1) + 1 != w->team)
        return;
    if (w->does == RD_DO_SPMD)
        pass_turn(w, team);
    wake(&team->wake);
}

int rd_team_run(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *own)
{
    struct rd_pend *team = team_of(self->frame, w);
    int code;
    if (!rd_node_stage(own)) {
        if (!w->rank)
            team->record = NULL; /* published by its arrival */
        if (!arrive(team, w->team))
            return RD_CALLED_OFF;
        rd_node_set_stage(own, RD_STAGE_BEGUN);
    }
    if (rd_node_stage(own) == RD_STAGE_BEGUN) {
        code = may_run(self, w, team);
        if (code)
            return code;
        if (w->does == RD_DO_SPMD)
            run_rank(self, w, team);
        else if (!rd_team_host_is_over(team, &self->unmet))
            return RD_PENDING;
        rd_node_set_stage(own, RD_STAGE_RAN);
        end_rank(w, team);
    }
    if (w->rank)
        return 0;
    if (rd_load_acquire(&team->more[RD_PEND_ENDED]) < w->team)
        return rd_node_pends(self, &team->more[RD_PEND_ENDED], w->team, &team->wake);
    return w->does == RD_DO_SPMD ? tell_failure(self, w, team) : rd_team_host_end(self, team);
}
