/* SPDX-License-Identifier: BSD-3-Clause */
/* The sparse triangular solve in Rondo: this file is the one to read.
 *
 * A solve is two tasks per block of rows: forward substitution, from the leaves of the elimination
 * tree to its root, and backward, from the root to the leaves. There are thousands of tasks, of
 * less than a microsecond each, no two alike. What parallel there is lies in the tree: subtrees
 * know nothing of each other. Near the root there is little of it.
 *
 * A runtime that looks at every task's dependences in every solve spends more on that than on the
 * arithmetic. But all solves with one factor are alike, and only the right-hand side changes. So
 * the graph is recorded and placed once, and a replay only runs it: on each CPU a fixed list of
 * tasks, with a wait only where a result comes from another CPU.
 *
 * Three choices are made here, and explained below: edges by hand, in `record`; `work` as a
 * temporary, in make_work; right-hand side and solution through a parameter, in forward. */
#include "solver.h"

#include "common/ways.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(void)
{
    fprintf(stderr, "trisolve: %s\n", rondo_error_message());
    return -1;
}

/* ---- the tasks */

/* Which rows a task solves; copied into the recording. */
struct rows {
    int32_t first, count;
};

/* The vectors of a solve come in a parameter: a call hands over one value for each of its solves,
 * and a task sees the one of its own, also while others already run for the next solve. They could
 * be slots, but slots bound anew with each call put a barrier between solves, and a ring has so
 * many buffers and no more. The price: Rondo does not know of these vectors. That is safe, as each
 * row is written by one task, and SIDES solves later not before the window is over: see options. */
static int forward(rondo_task *self, const void *arg)
{
    const struct rows *rows = arg;
    const struct side *side = rondo_task_param(self, 0);
    factor_forward(rondo_task_context(self), rows->first, rows->count, side->right,
                   rondo_task_write(self, 0));
    return 0;
}

static int backward(rondo_task *self, const void *arg)
{
    const struct rows *rows = arg;
    const struct side *side = rondo_task_param(self, 0);
    factor_backward(rondo_task_context(self), rows->first, rows->count, rondo_task_write(self, 0),
                    side->solution);
    return 0;
}

/* ---- the recording */

struct recording {
    struct solver *solver;
    rondo_subgraph graph;
    rondo_slot work;
    double ns_per_entry;
    rondo_node *down, *up; /* the nodes of each block, forward and backward */
    rondo_node *after;     /* room for the edges of one */
    rondo_access *access;  /* and for its accesses */
    char *touched;         /* a flag per block, all 0 between uses */
};

/* A temporary is Rondo's memory, another one for each replay in flight. So a solve does not wait
 * for the one before to be done with `work`: while one comes down to the leaves on a few CPUs, the
 * next one climbs from the leaves on the others. Nothing else is needed for that: no edge leads
 * from one solve to the next. */
static void make_work(struct recording *r)
{
    r->work = rondo_subgraph_slot(
        r->graph, &(rondo_slot_desc){
                      .name = "work",
                      .shape = { sizeof(double), { r->solver->problem->a.rows }, { 0 } },
                      .flags = RONDO_TEMPORARY,
                  });
}

/* What a block touches of `work`: its own rows, first, and those of the blocks in whose columns it
 * has entries, as runs of neighbouring blocks. Returns how many accesses that is. */
static uint32_t list_accesses(struct recording *r, const struct triangle *t, int32_t v,
                              unsigned own_mode)
{
    const struct blocks *b = &r->solver->problem->blocks;
    const struct block *block = b->block, *rows = &block[v];
    int32_t low = v, high = v;
    uint32_t count = 1;
    for (int32_t k = t->first[rows->first]; k < t->first[rows->first + rows->count]; k++) {
        const int32_t from = b->owner[t->column[k]];
        r->touched[from] = 1;
        low = from < low ? from : low;
        high = from > high ? from : high;
    }
    r->touched[v] = 0; /* it reads its own rows, too, but only what it has written */
    r->access[0] = rondo_access_of(r->work, own_mode, rondo_span(rows->first, rows->count));
    for (int32_t begin = low, end; begin <= high; begin = end + 1) {
        for (end = begin; end <= high && r->touched[end]; end++)
            r->touched[end] = 0;
        if (end == begin)
            continue;
        const int64_t past = block[end - 1].first + block[end - 1].count;
        r->access[count++] =
            rondo_read(r->work, rondo_span(block[begin].first, past - block[begin].first));
    }
    return count;
}

static rondo_node record_block(struct recording *r, int32_t v, rondo_task_fn *fn,
                               uint32_t access_count, uint32_t after_count)
{
    const struct problem *p = r->solver->problem;
    const struct triangle *t = fn == forward ? &p->factor.lower : &p->factor.upper;
    const struct rows rows = { p->blocks.block[v].first, p->blocks.block[v].count };
    const int32_t entries = t->first[rows.first + rows.count] - t->first[rows.first];
    char name[32]; /* messages and traces have it */
    snprintf(name, sizeof name, "%s %" PRId32, fn == forward ? "forward" : "backward", v);
    return rondo_record_task(r->graph, &(rondo_task_desc){
                                           .name = name,
                                           .fn = fn,
                                           .context = (void *)&p->factor,
                                           .cost_ns = entries * r->ns_per_entry,
                                           .accesses = r->access,
                                           .access_count = access_count,
                                           .after = r->after,
                                           .after_count = after_count,
                                           RONDO_ARG(rows),
                                           RONDO_PARAMS(r->solver->side),
                                       });
}

/* Forward a block waits for its children, backward for its parents, a root for its own forward
 * part.
 *
 * These edges are given by hand because the program knows what Rondo cannot: that in a Cholesky
 * factor the edges of the tree imply all other dependences (see blocks.c). Inferred from accesses
 * there would be an edge from every block that writes to every one that reads, many times as many.
 * The order would be the same one, and no wait more, as Rondo keeps none that others imply; only
 * recording and instantiating take longer.
 *
 * The accesses are said all the same. With RONDO_EDGES_EXPLICIT they order nothing, but
 * rondo_instantiate checks that edges order every two tasks of which one writes what the other
 * touches. One edge too few, and it names the two tasks and the rows. Without this check, tasks
 * that say RONDO_NO_ACCESS would do. */
static void record(struct recording *r)
{
    const struct problem *p = r->solver->problem;
    const struct blocks *b = &p->blocks;
    make_work(r);
    r->solver->side = rondo_subgraph_param(r->graph, "side", sizeof(struct side), NULL);
    for (int32_t v = 0; v < b->count; v++) {
        uint32_t after = 0;
        for (int32_t e = b->block[v].child; e < b->block[v + 1].child; e++)
            r->after[after++] = r->down[b->child[e]];
        r->down[v] =
            record_block(r, v, forward, list_accesses(r, &p->factor.lower, v, RONDO_WRITE), after);
    }
    for (int32_t v = b->count - 1; v >= 0; v--) {
        uint32_t after = 0;
        for (int32_t e = b->block[v].parent; e < b->block[v + 1].parent; e++)
            r->after[after++] = r->up[b->parent[e]];
        if (!after)
            r->after[after++] = r->down[v];
        r->up[v] = record_block(r, v, backward,
                                list_accesses(r, &p->factor.upper, v, RONDO_READ_WRITE), after);
    }
}

/* Room for all of one block's lists, then the recording. */
static int record_in_room(struct recording *r)
{
    const size_t blocks = (size_t)r->solver->problem->blocks.count;
    r->down = calloc(blocks, sizeof *r->down);
    r->up = calloc(blocks, sizeof *r->up);
    r->after = calloc(blocks + 1, sizeof *r->after);
    r->access = calloc(blocks + 1, sizeof *r->access);
    r->touched = calloc(blocks, 1);
    const int enough = r->down && r->up && r->after && r->access && r->touched;
    const int64_t begin = ways_now_ns();
    if (enough)
        record(r); /* what its calls have to complain about comes out of rondo_instantiate */
    else
        fprintf(stderr, "trisolve: out of memory\n");
    r->solver->record_ns = ways_now_ns() - begin;
    free(r->down);
    free(r->up);
    free(r->after);
    free(r->access);
    free(r->touched);
    return enough ? 0 : -1;
}

/* ---- the execs */

/* At most WINDOW solves are in flight, so that solve i + SIDES, which writes the same solution as
 * solve i, never meets it. */
enum { WINDOW = 4 };
_Static_assert((int)WINDOW <= (int)SIDES, "solves in flight write different solutions");

static const rondo_instantiate_options options[EXECS] = {
    [INTERPRETED] = { .mode = RONDO_INTERPRETED, .window = WINDOW },
    /* One solve after the other, each on all CPUs. */
    [SERIAL] = { .mode = RONDO_COMPILED, .schedule = RONDO_STATIC, .window = WINDOW },
    /* Solves overlap: CPUs that find nothing to do near the root of one begin the next one. */
    [PIPELINED] = { .mode = RONDO_COMPILED,
                    .schedule = RONDO_STATIC,
                    .order = RONDO_PIPELINED,
                    .window = WINDOW },
    /* Whoever is free takes the next task. That costs more per task, which shows where tasks are
     * this small, and evens out what was placed badly, and a CPU that others use, too. */
    [DATAFLOW] = { .mode = RONDO_COMPILED,
                   .schedule = RONDO_DATAFLOW,
                   .order = RONDO_PIPELINED,
                   .window = WINDOW },
    /* Times the others on live replays, and one lane on one thread, and keeps the best. */
    [AUTO] = { .order = RONDO_PIPELINED, .window = WINDOW },
};

static int make_execs(struct solver *solver, rondo_subgraph graph)
{
    for (int i = 0; i < EXECS; i++) {
        const int64_t begin = ways_now_ns();
        if (rondo_instantiate(graph, &options[i], &solver->exec[i]))
            return complain();
        if (i == PIPELINED)
            solver->instantiate_ns = ways_now_ns() - begin;
    }
    return rondo_exec_count(solver->exec[PIPELINED], &solver->counts) ? complain() : 0;
}

/* ---- solving */

/* Replay k of the call takes the k-th value. */
static int solve(struct solver *solver, int which, int64_t count)
{
    rondo_value value = { solver->side, solver->sides, sizeof *solver->sides };
    rondo_result result = { 0 };
    if (!rondo_replay_and_wait(
            solver->exec[which],
            &(rondo_replay_args){ .values = &value, .value_count = 1, .count = (uint64_t)count },
            -1, &result))
        return 0;
    if (!result.status)
        return complain();
    fprintf(stderr, "trisolve: solve %" PRIu64 ", node '%s': %s\n", result.replay, result.node,
            result.message);
    return -1;
}

int solver_run(struct solver *solver, int which) { return solve(solver, which, solver->solves); }

static void find_why(void *context, const char *text)
{
    struct solver *solver = context;
    const char *line = strstr(text, "auto:");
    if (line)
        snprintf(solver->why, sizeof solver->why, "%.*s", (int)strcspn(line, "\n"), line);
}

/* AUTO chooses between calls; in a program that solves now and then it does so by the way. */
static int let_auto_choose(struct solver *solver)
{
    enum { CALLS = 400, LOOK = 16 };
    for (int i = 0; i < CALLS; i++) {
        if (solve(solver, AUTO, 1))
            return -1;
        if (i % LOOK != LOOK - 1)
            continue;
        if (rondo_exec_describe(solver->exec[AUTO], find_why, solver))
            return complain();
        if (!strstr(solver->why, "not settled"))
            break;
    }
    return 0;
}

static int list_sides(struct solver *solver)
{
    solver->sides = calloc((size_t)solver->solves, sizeof *solver->sides);
    if (!solver->sides) {
        fprintf(stderr, "trisolve: out of memory\n");
        return -1;
    }
    for (int64_t i = 0; i < solver->solves; i++)
        solver->sides[i] = (struct side){ solver->problem->right[i % SIDES],
                                          solver->problem->solution[i % SIDES] };
    return 0;
}

static int open_runtime(struct solver *solver, uint32_t workers)
{
    char *cpus = NULL;
    if (workers && !(cpus = ways_cpu_list(workers))) {
        fprintf(stderr, "trisolve: the CPUs to use cannot be listed\n");
        return -1;
    }
    rondo_status status =
        rondo_runtime_open(&(rondo_runtime_options){ .cpus = cpus }, &solver->runtime);
    free(cpus);
    return status || rondo_runtime_processors(solver->runtime, &solver->workers) ? complain() : 0;
}

int solver_open(struct solver *solver, struct problem *problem, int64_t solves, uint32_t workers,
                double ns_per_entry)
{
    struct recording recording = { .solver = solver, .ns_per_entry = ns_per_entry };
    *solver = (struct solver){ .problem = problem, .solves = solves };
    if (open_runtime(solver, workers) || list_sides(solver))
        return -1;
    if (rondo_subgraph_create(
            solver->runtime,
            &(rondo_subgraph_desc){ .name = "solve", .flags = RONDO_EDGES_EXPLICIT },
            &recording.graph))
        return complain();
    int failed = record_in_room(&recording) || make_execs(solver, recording.graph);
    rondo_subgraph_destroy(recording.graph); /* the execs own copies of all they need */
    return failed || let_auto_choose(solver) ? -1 : 0;
}

void solver_close(struct solver *solver)
{
    free(solver->sides);
    if (!solver->runtime.id)
        return;
    for (int i = 0; i < EXECS; i++)
        rondo_exec_destroy(solver->exec[i]); /* {0}: an error without consequences */
    if (rondo_runtime_close(solver->runtime))
        complain();
    solver->runtime.id = 0;
}
