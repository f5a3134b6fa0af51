/* SPDX-License-Identifier: BSD-3-Clause */
/* Tries the candidates in turn on live replays: a few replays each, two rounds, those far behind
 * after the first round left out; keeps the one with the least median time per replay. Then a few
 * replays in every PERIOD are timed; when their mean leaves the one kept by DRIFT, it tries again.
 *
 * The time of a replay is from the later of its submission and the end of the one before to its own
 * end: what it adds to a stream of replays, and what a caller that waits for each sees. The first
 * replay after a change of core pays for the change and is not counted.
 *
 * The other cores are made by the cleaner's thread, so that no submit allocates; until they are
 * there, and when there is no memory for them, replays go where the placement says. The trial is
 * between calls: a call of some replays goes to the best known, one of very many begins in parts.
 */
#include "src/exec/tuner.h"

#include "src/base/os.h"

#include <stdio.h>
#include <string.h>

enum { LANES, ONE_LANE, FLOW, INTERPRETED, CANDIDATES };
enum { BEGIN_AFTER = 4, SAMPLES = 5, ROUNDS = 2, PERIOD = 256, WATCHED = 5, STARTS = 64 };
enum { MANY = 16 }; /* replays of a call that is not for trying */
/* A call of so many replays tries with its first ones, in parts: of so many while the other cores
 * are not there, and in the trial. */
enum { MANY_PARTS = 1024, PART_WAITING = 32, PART = 6 };
enum { AGAIN_MOST = 1 << 20 };
#define DRIFT 1.5
#define FAR   1.6

static const char *const names[] = { "lanes", "one lane", "dataflow", "interpreted" };

/* IDLE: until a profile has placed the nodes, or for ever if there is nothing to choose then. */
enum stage { IDLE, WAITING, BUILDING, TRYING, SETTLED };

struct candidate {
    struct rd_core *core; /* NULL: not there */
    double sample[ROUNDS * SAMPLES], median;
    uint32_t samples;
    int out; /* of the rest of the trial */
};

struct rd_tuner {
    struct rd_garbage job; /* first */
    struct rd_exec *x;
    pthread_mutex_t lock; /* of all below; only tried by submitters and who ends a replay */
    enum stage stage;
    int built;  /* the job is done */
    int rested; /* those that were not kept are on no agenda */
    int forced; /* the user chose a mode */
    struct candidate candidate[CANDIDATES];
    uint32_t now, best, round, trials;
    uint64_t submits;
    uint64_t from, counted; /* tickets: timed from here on; up to here */
    int64_t last_end;
    int64_t start[STARTS]; /* when the ticket was taken */
    uint64_t start_of[STARTS];
    /* settled */
    double kept, sum, most;
    uint32_t watched, period, quiet;
};

/* ---- the cores, on the cleaner's thread */

/* Whether one lane cannot run all nodes: the ranks of a team wait for each other. */
static int is_bound(const struct rd_exec *x)
{
    if (x->team_of)
        return 1;
    for (uint32_t v = 0; v < x->program.nodes; v++)
        if (x->recipe.bound[v] != RD_PROCESSOR_ANY)
            return 1;
    return 0;
}

static struct rd_core *make(struct rd_exec *x, enum rd_core_kind kind)
{
    struct rd_core *core = NULL;
    if (rd_exec_make_core(x, kind, kind == RD_CORE_FLOW, &core))
        return NULL;
    if (rd_core_start(core))
        return core;
    rd_core_free(core);
    return NULL;
}

static void build(struct rd_garbage *job)
{
    struct rd_tuner *t = (struct rd_tuner *)job;
    struct rd_exec *x = t->x;
    struct rd_core *one = NULL, *flow;
    int interpreter;
    if (!is_bound(x))
        one = make(x, RD_CORE_ONE_LANE);
    flow = make(x, RD_CORE_FLOW);
    pthread_mutex_lock(&x->lock);
    interpreter = rd_core_need_interpreter(t->candidate[LANES].core) == RONDO_OK;
    pthread_mutex_unlock(&x->lock);
    pthread_mutex_lock(&t->lock);
    t->candidate[ONE_LANE].core = one;
    t->candidate[FLOW].core = flow;
    t->candidate[INTERPRETED].core = interpreter ? t->candidate[LANES].core : NULL;
    t->built = 1;
    pthread_mutex_unlock(&t->lock);
    rd_exec_unref(x);
}

/* ---- the trial; under the lock */

static void go_to(struct rd_tuner *t, uint32_t which)
{
    struct rd_exec *x = t->x;
    struct rd_core *core = t->candidate[which].core;
    t->now = which;
    if (which != INTERPRETED) /* in the order of rd_exec_choose */
        rd_store_release(&x->interpreted, 0);
    rd_store_release(&x->core, core);
    if (which == INTERPRETED)
        rd_store_release(&x->interpreted, 1);
    t->from = RD_WORD_TICKET(rd_load_acquire(&x->series->word)) + 1; /* after the change itself */
    t->counted = t->from;
}

static void watch(struct rd_tuner *t, int on)
{
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        struct rd_core *c = t->candidate[i].core;
        if (c && on)
            rd_or_relaxed(&c->track[0].watched, RD_WATCHED_TUNER);
        else if (c)
            rd_and_acq_rel(&c->track[0].watched, ~(uint32_t)RD_WATCHED_TUNER);
    }
}

static double median_of(const struct candidate *c)
{
    double sorted[ROUNDS * SAMPLES];
    for (uint32_t i = 0; i < c->samples; i++) {
        uint32_t k = i;
        for (; k && sorted[k - 1] > c->sample[i]; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = c->sample[i];
    }
    return sorted[c->samples / 2];
}

static int next_candidate(const struct rd_tuner *t, uint32_t after)
{
    for (uint32_t i = after + 1; i < CANDIDATES; i++)
        if (t->candidate[i].core && !t->candidate[i].out)
            return (int)i;
    return -1;
}

static void rank(struct rd_tuner *t)
{
    t->best = LANES;
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        struct candidate *c = &t->candidate[i];
        if (!c->core || !c->samples)
            continue;
        c->median = median_of(c);
        if (c->median < t->candidate[t->best].median || !t->candidate[t->best].samples)
            t->best = i;
    }
}

/* Of cores, those that are made for the trial. Lanes are there for other modes, too. */
static int may_rest(const struct rd_tuner *t, uint32_t which)
{
    return (which == ONE_LANE || which == FLOW) && which != t->best && t->candidate[which].core;
}

/* Takes those that were not kept off their workers' agendas, once their last replays ended. */
static void rest_others(struct rd_tuner *t)
{
    int all = 1;
    if (pthread_mutex_trylock(&t->x->lock)) /* somebody changes the exec: the next submit tries */
        return;
    for (uint32_t i = 0; i < CANDIDATES; i++)
        if (may_rest(t, i) && !rd_load_relaxed(&t->candidate[i].core->rests)) /* under the lock */
            all &= rd_core_rest(t->candidate[i].core);
    pthread_mutex_unlock(&t->x->lock);
    t->rested = all;
}

/* Puts them back; one that cannot be is left out of the trial. */
static void wake_others(struct rd_tuner *t)
{
    pthread_mutex_lock(&t->x->lock);
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        struct rd_core *c = t->candidate[i].core;
        if (c && i != INTERPRETED && rd_load_relaxed(&c->rests)) /* under the lock */
            t->candidate[i].out = !rd_core_wake(c);
    }
    pthread_mutex_unlock(&t->x->lock);
    t->rested = 0;
}

static void settle(struct rd_tuner *t)
{
    t->stage = SETTLED;
    t->kept = t->candidate[t->best].median;
    t->watched = 0;
    t->quiet = 0;
    t->trials++;
    watch(t, 0);
    go_to(t, t->best);
}

static void begin_trial(struct rd_tuner *t)
{
    t->stage = TRYING;
    t->round = 0;
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        t->candidate[i].samples = 0;
        t->candidate[i].out = 0;
    }
    wake_others(t);
    watch(t, 1);
    go_to(t, LANES);
}

/* The candidate has its samples of this round: on to the next. */
static void go_on(struct rd_tuner *t)
{
    int next = next_candidate(t, t->now);
    if (next >= 0) {
        go_to(t, (uint32_t)next);
        return;
    }
    rank(t);
    for (uint32_t i = 0; i < CANDIDATES; i++)
        t->candidate[i].out |= t->candidate[i].median > FAR * t->candidate[t->best].median;
    if (++t->round == ROUNDS)
        settle(t);
    else
        go_to(t, (uint32_t)next_candidate(t, (uint32_t)-1));
}

/* Every PERIOD submits a few replays are timed, while the choice stands. */
static void look_again(struct rd_tuner *t)
{
    if (t->watched == WATCHED) {
        double mean = (t->sum - t->most) / (WATCHED - 1); /* one may have been preempted */
        t->watched = 0;
        t->quiet = 0;
        watch(t, 0);
        if (mean > t->kept * DRIFT || mean < t->kept / DRIFT) {
            t->period = t->period < AGAIN_MOST ? 2 * t->period : t->period;
            begin_trial(t);
        }
        return;
    }
    if (++t->quiet == t->period) {
        t->sum = t->most = 0;
        t->from = t->counted = RD_WORD_TICKET(rd_load_acquire(&t->x->series->word)) + 1;
        watch(t, 1);
    }
}

void rd_tuner_step(struct rd_exec *x, uint64_t count)
{
    struct rd_tuner *t = x->tuner;
    if (pthread_mutex_trylock(&t->lock)) /* somebody else is at it */
        return;
    if (t->forced)
        goto unlock;
    if (t->stage == WAITING && ++t->submits >= BEGIN_AFTER) {
        t->stage = BUILDING;
        rd_exec_ref(x);
        t->job.free = build;
        rd_cleaner_discard(x->rt, &t->job);
    } else if (t->stage == BUILDING && t->built) {
        begin_trial(t);
    } else if (t->stage == TRYING && count >= MANY) {
        rank(t);
        if (t->now != t->best)
            go_to(t, t->best);
    } else if (t->stage == TRYING && t->candidate[t->now].samples >= (t->round + 1) * SAMPLES) {
        go_on(t);
    } else if (t->stage == SETTLED && rd_load_acquire(&x->core) == t->candidate[t->best].core) {
        if (!t->rested)
            rest_others(t);
        look_again(t);
    }
unlock:
    pthread_mutex_unlock(&t->lock);
}

void rd_tuner_force(struct rd_exec *x, int forced)
{
    struct rd_tuner *t = x->tuner;
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->forced = forced;
    if (!forced && t->stage == SETTLED)
        go_to(t, t->best);
    else if (t->stage == TRYING) /* its samples are of two minds */
        begin_trial(t);
    pthread_mutex_unlock(&t->lock);
}

uint64_t rd_tuner_part(struct rd_exec *x, uint64_t count)
{
    struct rd_tuner *t = x->tuner;
    uint64_t part = 0;
    if (!t || count < MANY_PARTS || x->stops || pthread_mutex_trylock(&t->lock))
        return 0;
    if (!t->forced && t->stage != SETTLED)
        part = t->stage == TRYING ? PART : PART_WAITING;
    pthread_mutex_unlock(&t->lock);
    return part;
}

void rd_tuner_submitted(struct rd_exec *x, const struct rd_core *c, uint64_t first)
{
    struct rd_tuner *t = x->tuner;
    if (!(rd_load_relaxed(&c->track[0].watched) & RD_WATCHED_TUNER) ||
        pthread_mutex_trylock(&t->lock))
        return;
    t->start[first % STARTS] = rd_os.now_ns();
    t->start_of[first % STARTS] = first;
    pthread_mutex_unlock(&t->lock);
}

static void take_sample(struct rd_tuner *t, double ns)
{
    struct candidate *c = &t->candidate[t->now];
    if (t->stage == TRYING && c->samples < (t->round + 1) * SAMPLES)
        c->sample[c->samples++] = ns;
    else if (t->stage == SETTLED && t->watched < WATCHED) {
        t->sum += ns;
        t->most = ns > t->most ? ns : t->most;
        t->watched++;
    }
}

void rd_tuner_ended(struct rd_exec *x)
{
    struct rd_tuner *t = x->tuner;
    uint64_t done = rd_load_acquire(&x->series->all->done);
    int64_t now, begin;
    if (pthread_mutex_trylock(&t->lock))
        return;
    now = rd_os.now_ns();
    if (done > t->counted) {
        uint64_t first = t->counted;
        begin = t->last_end;
        if (t->start_of[first % STARTS] == first && t->start[first % STARTS] > begin)
            begin = t->start[first % STARTS];
        for (uint64_t i = first; i < done && begin; i++) /* replays that ended together share it */
            take_sample(t, (double)(now - begin) / (double)(done - first));
        t->counted = done;
    }
    if (done >= t->from)
        t->last_end = now;
    else
        t->last_end = 0;
    pthread_mutex_unlock(&t->lock);
}

/* ---- making, telling */

rondo_status rd_tuner_start(struct rd_exec *x)
{
    const struct rd_plan *plan = x->chosen->plan;
    const int profile = rd_load_relaxed(&x->profile) != 0;
    struct rd_tuner *t;
    if (x->schedule != RONDO_SCHEDULE_AUTO || !x->compiled || x->mode != RONDO_AUTO ||
        x->tracks > 1 || x->in_group)
        return RONDO_OK;
    if (plan->lanes == 1 && !profile)
        return RONDO_OK;
    t = rd_zalloc(&x->rt->alloc, sizeof *t, 16);
    if (!t)
        return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory to time its replays",
                        x->program.exec_name);
    t->x = x;
    t->period = PERIOD;
    t->stage = profile ? IDLE : WAITING;
    t->candidate[LANES].core = x->chosen;
    pthread_mutex_init(&t->lock, NULL);
    x->tuner = t;
    return RONDO_OK;
}

int rd_tuner_begin(struct rd_exec *x)
{
    struct rd_tuner *t = x->tuner;
    if (!t || x->chosen->plan->lanes == 1)
        return 0;
    pthread_mutex_lock(&t->lock);
    t->candidate[LANES].core = x->chosen;
    t->stage = WAITING;
    pthread_mutex_unlock(&t->lock);
    return 1;
}

void rd_tuner_set_cost(struct rd_exec *x, uint32_t node, uint32_t cost_ns)
{
    struct rd_tuner *t = x->tuner;
    if (t)
        pthread_mutex_lock(&t->lock);
    if (!t || t->stage <= WAITING) /* then nobody is reading them on the cleaner's thread */
        x->recipe.cost[node] = cost_ns;
    if (t)
        pthread_mutex_unlock(&t->lock);
}

void rd_tuner_free(struct rd_exec *x)
{
    struct rd_tuner *t = x->tuner;
    if (!t)
        return;
    pthread_mutex_destroy(&t->lock);
    rd_free(&x->rt->alloc, t, sizeof *t);
}

/* Why nothing is tried. */
static void describe_choice(const struct rd_exec *x, char *text, size_t bytes)
{
    const struct rd_plan *plan = rd_load_acquire(&x->core)->plan;
    if (x->static_for_devices)
        snprintf(text, bytes, "auto: no choice, nodes are on devices");
    if (x->schedule != RONDO_SCHEDULE_AUTO)
        return;
    if (rd_load_relaxed(&x->profile))
        snprintf(text, bytes, "auto: after the profile");
    else if (!x->compiled || x->mode != RONDO_AUTO)
        snprintf(text, bytes, "auto: no choice, the mode is given");
    else if (x->tracks > 1)
        snprintf(text, bytes, "auto: no choice, tracks run beside each other");
    else
        snprintf(text, bytes,
                 "auto: one lane, no more pay by the costs given: %llu ns predicted, %llu ns of "
                 "work",
                 (unsigned long long)plan->makespan_ns, (unsigned long long)plan->work_ns);
}

void rd_tuner_describe(struct rd_exec *x, char *text, size_t bytes)
{
    struct rd_tuner *t = x->tuner;
    size_t at = 0;
    text[0] = 0;
    if (!t) {
        describe_choice(x, text, bytes);
        return;
    }
    pthread_mutex_lock(&t->lock);
    if (t->stage == IDLE)
        describe_choice(x, text, bytes);
    else if (t->stage != SETTLED) {
        snprintf(text, bytes, "auto: not settled yet, %s now", names[t->now]);
    } else {
        at += (size_t)snprintf(text, bytes, "auto: %s, the least of", names[t->best]);
        for (uint32_t i = 0; i < CANDIDATES && at < bytes; i++)
            if (t->candidate[i].core && t->candidate[i].samples)
                at +=
                    (size_t)snprintf(text + at, bytes - at, "%s %s %.2f us", i == LANES ? "" : ",",
                                     names[i], t->candidate[i].median / 1000);
        if (at < bytes)
            snprintf(text + at, bytes - at, " a replay; trials: %u", t->trials);
    }
    pthread_mutex_unlock(&t->lock);
}
