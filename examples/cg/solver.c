/* SPDX-License-Identifier: BSD-3-Clause */
/* Conjugate gradients in Rondo: this file is the one to read.
 *
 * One iteration is recorded, and one call replays it hundreds of times, or until the residual is
 * small:
 *
 *     multiply   q = A p, and p'q        a node per block of rows
 *     alpha      r'r / p'q               one node
 *     advance    x, r, and the new r'r   a node per block
 *     check      beta; small enough?     one node
 *     turn       p = r + beta p          a node per block
 *
 * No edge is written down. Every node says what it reads and writes, and the edges follow: alpha
 * waits for the sum of all shares of p'q, a block's `turn` waits for `check` and for its own r. And
 * from iteration to iteration: the `multiply` of a block waits for the `turn` of those blocks of p
 * that its rows touch, for a grid its own and the two beside it, while others still turn.
 *
 * The plain loop of cg.c computes the same bits. A sum's last bits depend on the order in which it
 * is added up; here the order is that of recording, block after block, whichever worker was first.
 * So the number of iterations, each residual and x are equal in every mode on any number of
 * workers: a run can be compared with another one by memcmp, and a difference is a mistake. */
#include "solver.h"

#include "common/ways.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(void)
{
    fprintf(stderr, "cg: %s\n", rondo_error_message());
    return -1;
}

/* ---- the tasks
 *
 * rondo_task_read and _write give element 0 of the slot of an access, by its place in the node's
 * list below, whatever part the access names: bodies keep the indices of the whole vector. */

/* The second access is a reduction. What it points to is a number of this node's own, 0 when the
 * node begins; Rondo adds it up with the others' once all have ended. */
static int multiply(rondo_task *self, const void *arg)
{
    double *share = rondo_task_write(self, 1);
    *share += cg_multiply(rondo_task_context(self), *(const struct block *)arg,
                          rondo_task_read(self, 2), rondo_task_write(self, 0));
    return 0;
}

/* A task that cannot go on fails. Nodes that come after it do not run, later replays neither, and
 * the result of the call has its name and message. */
static int divide(rondo_task *self, const void *arg)
{
    const struct progress *now = rondo_task_read(self, 0);
    const double *pq = rondo_task_read(self, 1);
    double *alpha = rondo_task_write(self, 2);
    (void)arg;
    if (!(*pq > 0))
        return rondo_task_fail(self, "p'Ap is not positive: the matrix is not positive definite");
    *alpha = now->rr / *pq;
    return 0;
}

static int advance(rondo_task *self, const void *arg)
{
    const double *alpha = rondo_task_read(self, 4);
    double *share = rondo_task_write(self, 5);
    *share +=
        cg_advance(*(const struct block *)arg, *alpha, rondo_task_read(self, 2),
                   rondo_task_read(self, 3), rondo_task_write(self, 0), rondo_task_write(self, 1));
    return 0;
}

/* May stop the call: see record_scalars. */
static int check(rondo_task *self, const void *arg)
{
    const double *enough = arg, *rr = rondo_task_read(self, 0);
    struct progress *now = rondo_task_write(self, 1);
    double *beta = rondo_task_write(self, 2);
    *beta = *rr / now->rr;
    cg_note(now, *rr);
    if (*rr <= *enough)
        rondo_task_stop(self);
    return 0;
}

static int turn(rondo_task *self, const void *arg)
{
    const double *beta = rondo_task_read(self, 2);
    cg_turn(*(const struct block *)arg, *beta, rondo_task_read(self, 1), rondo_task_write(self, 0));
    return 0;
}

/* ---- the recording */

/* The vectors and the progress are the program's own memory, wrapped: they live from one replay to
 * the next. The scalars of an iteration are temporaries, Rondo's memory and one set per replay in
 * flight: an iteration that already writes its p'q does not wait for who still reads the last. */
struct iteration {
    struct solver *solver;
    rondo_subgraph graph;
    rondo_slot x, r, p, q, progress; /* live on */
    rondo_slot pq, rr, alpha, beta;  /* of one iteration */
};

static rondo_slot wrap(struct iteration *it, const char *name, void *memory, size_t elem_bytes,
                       int64_t elements)
{
    rondo_buffer buffer = { 0 };
    /* Fails only where its slot fails then, with a message that names it. */
    rondo_buffer_create(it->solver->runtime,
                        &(rondo_buffer_desc){ .name = name,
                                              .shape = { elem_bytes, { elements }, { 0 } },
                                              .host = memory },
                        &buffer);
    rondo_slot slot =
        rondo_subgraph_slot(it->graph, &(rondo_slot_desc){ .name = name, .buffer = buffer });
    rondo_buffer_destroy(buffer); /* the handle: the slot and its execs keep the buffer */
    return slot;
}

/* RONDO_ZEROED: a reduction adds to what the slot holds, here 0 in every replay. */
static rondo_slot scalar(struct iteration *it, const char *name, uint32_t flags)
{
    return rondo_subgraph_slot(it->graph,
                               &(rondo_slot_desc){ .name = name,
                                                   .shape = { sizeof(double), { 1 }, { 0 } },
                                                   .flags = RONDO_TEMPORARY | flags });
}

static void make_slots(struct iteration *it)
{
    struct cg *cg = it->solver->cg;
    it->x = wrap(it, "x", cg->x, sizeof *cg->x, cg->a.rows);
    it->r = wrap(it, "r", cg->r, sizeof *cg->r, cg->a.rows);
    it->p = wrap(it, "p", cg->p, sizeof *cg->p, cg->a.rows);
    it->q = wrap(it, "q", cg->q, sizeof *cg->q, cg->a.rows);
    it->progress = wrap(it, "progress", cg->progress, cg_progress_bytes(cg), 1);
    it->pq = scalar(it, "p'q", RONDO_ZEROED);
    it->rr = scalar(it, "r'r", RONDO_ZEROED);
    it->alpha = scalar(it, "alpha", 0);
    it->beta = scalar(it, "beta", 0);
}

/* Adds a read of p for each run of neighbouring blocks that the rows of block `b` touch; returns
 * how many. To name the blocks, not the columns, keeps a row with two far neighbours from reading
 * all between them, and the list short. `owner`: which block a row is in. `touched`: room. */
static uint32_t read_what_rows_touch(const struct iteration *it, int32_t b, const int32_t *owner,
                                     char *touched, rondo_access *access)
{
    const struct cg *cg = it->solver->cg;
    const struct block *block = cg->block, rows = block[b];
    uint32_t count = 0;
    memset(touched, 0, (size_t)cg->blocks + 1);
    for (int32_t k = cg->a.first[rows.first]; k < cg->a.first[rows.first + rows.count]; k++)
        touched[owner[cg->a.column[k]]] = 1;
    for (int32_t begin = 0, end; begin < cg->blocks; begin = end + 1) {
        for (end = begin; touched[end]; end++) /* touched[blocks] is 0 */
            ;
        if (end > begin) {
            const int64_t past = block[end - 1].first + block[end - 1].count;
            access[count++] =
                rondo_read(it->p, rondo_span(block[begin].first, past - block[begin].first));
        }
    }
    return count;
}

/* Costs tell Rondo where to place the nodes: it weighs them against handing results to another CPU.
 */
static double cost_ns(const struct iteration *it, double numbers)
{
    return numbers * it->solver->ns_per_number;
}

static double numbers_of_multiply(const struct cg *cg, struct block rows)
{
    /* A column is half a number. */
    return 1.5 * (cg->a.first[rows.first + rows.count] - cg->a.first[rows.first]) +
           2.0 * rows.count;
}
static double numbers_of_advance(struct block rows) { return 6.0 * rows.count; }
static double numbers_of_turn(struct block rows) { return 3.0 * rows.count; }

double solver_numbers(const struct cg *cg)
{
    double all = 0;
    for (int32_t b = 0; b < cg->blocks; b++)
        all += numbers_of_multiply(cg, cg->block[b]) + numbers_of_advance(cg->block[b]) +
               numbers_of_turn(cg->block[b]);
    return all;
}

/* A node per block by hand, not by rondo_record_for: blocks are cut by entries, and what each reads
 * of p follows from the matrix. */
static int record_multiply(struct iteration *it)
{
    struct cg *cg = it->solver->cg;
    const size_t blocks = (size_t)cg->blocks;
    rondo_access *access = calloc(blocks + 2, sizeof *access);
    int32_t *owner = calloc((size_t)cg->a.rows, sizeof *owner);
    char *touched = malloc(blocks + 1);
    const int enough = access && owner && touched;
    for (int32_t b = 0; b < cg->blocks && enough; b++)
        for (int32_t i = 0; i < cg->block[b].count; i++)
            owner[cg->block[b].first + i] = b;
    for (int32_t b = 0; b < cg->blocks && enough; b++) {
        const struct block rows = cg->block[b];
        access[0] = rondo_write(it->q, rondo_span(rows.first, rows.count));
        access[1] = rondo_reduce(it->pq, rondo_whole(), RONDO_F64, RONDO_SUM);
        rondo_record_task(it->graph, &(rondo_task_desc){
                                         .name = "multiply",
                                         .fn = multiply,
                                         .context = &cg->a,
                                         .cost_ns = cost_ns(it, numbers_of_multiply(cg, rows)),
                                         .accesses = access,
                                         .access_count = 2 + read_what_rows_touch(
                                                                 it, b, owner, touched, access + 2),
                                         RONDO_ARG(rows),
                                     });
    }
    free(access);
    free(owner);
    free(touched);
    if (!enough)
        fprintf(stderr, "cg: out of memory\n");
    return enough ? 0 : -1;
}

static void record_divide(struct iteration *it)
{
    rondo_record_task(it->graph, &(rondo_task_desc){
                                     .name = "alpha",
                                     .fn = divide,
                                     .cost_ns = 20,
                                     RONDO_ACCESSES(rondo_read(it->progress, rondo_whole()),
                                                    rondo_read(it->pq, rondo_whole()),
                                                    rondo_write(it->alpha, rondo_whole())),
                                 });
}

static void record_advance(struct iteration *it)
{
    struct cg *cg = it->solver->cg;
    for (int32_t b = 0; b < cg->blocks; b++) {
        const struct block rows = cg->block[b];
        const rondo_region own = rondo_span(rows.first, rows.count);
        rondo_record_task(
            it->graph,
            &(rondo_task_desc){
                .name = "advance",
                .fn = advance,
                .cost_ns = cost_ns(it, numbers_of_advance(rows)),
                RONDO_ARG(rows),
                RONDO_ACCESSES(rondo_read_write(it->x, own), rondo_read_write(it->r, own),
                               rondo_read(it->p, own), rondo_read(it->q, own),
                               rondo_read(it->alpha, rondo_whole()),
                               rondo_reduce(it->rr, rondo_whole(), RONDO_F64, RONDO_SUM)),
            });
    }
}

/* The node that may stop. With stop_lag n, what it decides in iteration i keeps i + 1 + n and later
 * ones from running, so these wait for it: a lag is how far the loop may run ahead of the decision.
 * Here a lag would gain nothing. The node also makes beta, which every block of p and so all of the
 * next iteration waits for anyhow; 0 is the right lag, and nothing runs too far. */
static void record_check(struct iteration *it)
{
    const double enough = it->solver->cg->enough;
    rondo_record_task(it->graph, &(rondo_task_desc){
                                     .name = "check",
                                     .fn = check,
                                     .cost_ns = 20,
                                     .flags = RONDO_MAY_STOP,
                                     .stop_lag = 0,
                                     RONDO_ARG(enough),
                                     RONDO_ACCESSES(rondo_read(it->rr, rondo_whole()),
                                                    rondo_read_write(it->progress, rondo_whole()),
                                                    rondo_write(it->beta, rondo_whole())),
                                 });
}

static void record_turn(struct iteration *it)
{
    struct cg *cg = it->solver->cg;
    for (int32_t b = 0; b < cg->blocks; b++) {
        const struct block rows = cg->block[b];
        const rondo_region own = rondo_span(rows.first, rows.count);
        rondo_record_task(it->graph,
                          &(rondo_task_desc){
                              .name = "turn",
                              .fn = turn,
                              .cost_ns = cost_ns(it, numbers_of_turn(rows)),
                              RONDO_ARG(rows),
                              RONDO_ACCESSES(rondo_read_write(it->p, own), rondo_read(it->r, own),
                                             rondo_read(it->beta, rondo_whole())),
                          });
    }
}

static int record(struct iteration *it)
{
    make_slots(it);
    if (record_multiply(it))
        return -1;
    record_divide(it);
    record_advance(it);
    record_check(it);
    record_turn(it);
    return 0; /* what the calls had to complain about comes out of rondo_instantiate */
}

/* ---- the execs */

/* One recording, five ways to run it. AUTO times the others on live replays and keeps the best; one
 * lane on one thread is among them, and for a small matrix it is the best. */
static int make_execs(struct solver *solver, rondo_subgraph graph)
{
    static const rondo_instantiate_options options[EXECS] = {
        [INTERPRETED] = { .mode = RONDO_INTERPRETED },
        [SERIAL] = { .mode = RONDO_COMPILED, .schedule = RONDO_STATIC },
        [PIPELINED] = { .mode = RONDO_COMPILED,
                        .schedule = RONDO_STATIC,
                        .order = RONDO_PIPELINED },
        [DATAFLOW] = { .mode = RONDO_COMPILED,
                       .schedule = RONDO_DATAFLOW,
                       .order = RONDO_PIPELINED },
        [AUTO] = { .order = RONDO_PIPELINED },
    };
    for (int i = 0; i < EXECS; i++)
        if (rondo_instantiate(graph, &options[i], &solver->exec[i]))
            return complain();
    return 0;
}

/* Up to `count` iterations in one call; `stopped` says whether a check stopped it. */
static int iterate(struct solver *solver, int which, int64_t count, int *stopped)
{
    rondo_event end;
    rondo_result result = { 0 };
    if (rondo_replay(solver->exec[which], &(rondo_replay_args){ .count = (uint64_t)count }, &end) ||
        rondo_event_wait(end, -1) || rondo_event_result(end, &result))
        return complain();
    if (result.status) {
        rondo_exec_wait(solver->exec[which], &result); /* of the failures the first */
        fprintf(stderr, "cg: iteration %" PRIu64 ", node '%s': %s\n", result.replay, result.node,
                result.message);
        return -1;
    }
    solver->ran[which] = result.replays_run;
    *stopped = result.stopped != 0;
    return 0;
}

static void find_why(void *context, const char *text)
{
    struct solver *solver = context;
    const char *line = strstr(text, "auto:");
    if (line)
        snprintf(solver->why, sizeof solver->why, "%.*s", (int)strcspn(line, "\n"), line);
}

/* AUTO chooses between calls, and a call that may be stopped is one: it learns from short ones. */
static int let_auto_choose(struct solver *solver)
{
    enum { CALLS = 400, LOOK = 16 };
    int stopped = 1;
    for (int i = 0; i < CALLS; i++) {
        if (stopped || solver->cg->progress->iterations >= solver->cg->most)
            cg_reset(solver->cg);
        if (iterate(solver, AUTO, 1, &stopped))
            return -1;
        if (i % LOOK == LOOK - 1) {
            if (rondo_exec_describe(solver->exec[AUTO], find_why, solver))
                return complain();
            if (!strstr(solver->why, "not settled"))
                break;
        }
    }
    return 0;
}

/* One call could ask for all iterations that are allowed. A replay that is stopped is not run, but
 * somebody has to see that it is not, a microsecond perhaps; where 300 of 100,000 run this would be
 * what takes the time. So there are several calls of some hundred, each of which may be stopped. */
int solver_run(struct solver *solver, int which)
{
    const struct progress *now = solver->cg->progress;
    const uint64_t before = solver->ran[which];
    int64_t left = solver->cg->most;
    int stopped = 0;
    for (; left && !stopped; left -= left < solver->call ? left : solver->call)
        if (iterate(solver, which, left < solver->call ? left : solver->call, &stopped))
            return -1;
    const int64_t ran = (int64_t)(solver->ran[which] - before);
    if (ran == now->iterations && stopped == (now->rr <= solver->cg->enough))
        return 0;
    fprintf(stderr, "cg: %" PRId64 " replays ran and %s, but %" PRId64 " iterations are noted\n",
            ran, stopped ? "were stopped" : "were not stopped", now->iterations);
    return -1;
}

int solver_open(struct solver *solver, struct cg *cg, int64_t call, uint32_t workers,
                double ns_per_number)
{
    *solver = (struct solver){ .cg = cg, .call = call, .ns_per_number = ns_per_number };
    char *cpus = NULL;
    if (workers && !(cpus = ways_cpu_list(workers))) {
        fprintf(stderr, "cg: the CPUs to use cannot be listed\n");
        return -1;
    }
    rondo_status status =
        rondo_runtime_open(&(rondo_runtime_options){ .cpus = cpus }, &solver->runtime);
    free(cpus);
    struct iteration it = { .solver = solver };
    if (status || rondo_runtime_processors(solver->runtime, &solver->workers) ||
        rondo_subgraph_create(solver->runtime, &(rondo_subgraph_desc){ .name = "cg iteration" },
                              &it.graph))
        return complain();
    int failed = record(&it) || make_execs(solver, it.graph);
    rondo_subgraph_destroy(it.graph); /* the execs own copies of all they need */
    return failed || let_auto_choose(solver) ? -1 : 0;
}

void solver_close(struct solver *solver)
{
    if (!solver->runtime.id)
        return;
    for (int i = 0; i < EXECS; i++)
        rondo_exec_destroy(solver->exec[i]); /* {0}: an error without consequences */
    if (rondo_runtime_close(solver->runtime))
        complain();
    solver->runtime.id = 0;
}
