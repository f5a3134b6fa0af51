/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank of the MPI peer does: the columns of one half, step by step. The columns that the
 * other rank needs go first and leave in one message per step, through persistent requests, one for
 * each set of dependences; the rest runs while it travels. A received message lies in one of two
 * buffers by turns, since the step that reads it runs while the next one arrives. */
#include "bench/peers/mpi_board.h"

#include "bench/machine.h"
#include "bench/patterns.h"
#include "bench/peers/peer.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What travels for one set of dependences: for each column how many steps it has done. */
struct link {
    uint32_t *out_column, *in_column;
    int outs, ins;
    int64_t *out, *in[2];
    MPI_Request send, receive[2];
    unsigned turn; /* which receive is next */
};

struct step {
    uint32_t boundary, end; /* in `own`: the boundary's end, the step's end */
    struct link *link;
    int sends, receives;
};

struct rank {
    struct pattern pattern;
    struct graph *graph;
    uint32_t me;
    struct step *step;
    uint32_t *own; /* own nodes by steps, the boundary first */
    struct link *link;
    uint32_t links;
    int64_t done; /* steps */
    uint64_t wrong;
};

static uint32_t owner_of(const struct pattern *p, uint32_t column)
{
    return (uint32_t)((uint64_t)column * 2 / p->width);
}

/* Marks the columns of `from` that columns of the other rank depend on at `step`; how many. */
static int mark_needed(const struct pattern *p, uint32_t step, uint32_t from, unsigned char *needed,
                       uint32_t *room)
{
    int count = 0;
    uint32_t first = pattern_first(p, step), end = first + pattern_count(p, step);
    memset(needed, 0, p->width);
    for (uint32_t i = first; i < end; i++) {
        uint32_t preds = owner_of(p, i) == from ? 0 : pattern_preds(p, step, i, room);
        for (uint32_t k = 0; k < preds; k++)
            if (owner_of(p, room[k]) == from && !needed[room[k]]) {
                needed[room[k]] = 1;
                count++;
            }
    }
    return count;
}

/* ---- building */

/* A link for the set that leads to `step`, with every column that any step of the set needs. */
static void widen_link(struct rank *r, uint32_t step, unsigned char *needed, uint32_t *room)
{
    struct link *l = &r->link[pattern_set(&r->pattern, step)];
    for (uint32_t from = 0; from < 2; from++) {
        mark_needed(&r->pattern, step, from, needed, room);
        uint32_t *column = from == r->me ? l->out_column : l->in_column;
        int *count = from == r->me ? &l->outs : &l->ins;
        for (uint32_t i = 0; i < r->pattern.width; i++) {
            int known = !needed[i];
            for (int k = 0; k < *count; k++)
                known |= column[k] == i;
            if (!known)
                column[(*count)++] = i;
        }
    }
}

static void make_links(struct rank *r, unsigned char *needed, uint32_t *room)
{
    uint32_t width = r->pattern.width;
    r->links = pattern_sets(&r->pattern);
    r->link = bench_alloc(r->links, sizeof *r->link);
    for (uint32_t i = 0; i < r->links; i++) {
        struct link *l = &r->link[i];
        l->out_column = bench_alloc(width, sizeof *l->out_column);
        l->in_column = bench_alloc(width, sizeof *l->in_column);
        l->out = bench_alloc(width, sizeof *l->out);
        l->in[0] = bench_alloc(width, sizeof *l->in[0]);
        l->in[1] = bench_alloc(width, sizeof *l->in[1]);
    }
    for (uint32_t s = 0; s < r->pattern.steps; s++)
        widen_link(r, s, needed, room);
    for (uint32_t i = 0; i < r->links; i++) {
        struct link *l = &r->link[i];
        int other = (int)(1 - r->me);
        MPI_Send_init(l->out, l->outs, MPI_INT64_T, other, 0, MPI_COMM_WORLD, &l->send);
        for (unsigned turn = 0; turn < 2; turn++)
            MPI_Recv_init(l->in[turn], l->ins, MPI_INT64_T, other, 0, MPI_COMM_WORLD,
                          &l->receive[turn]);
    }
}

/* Own nodes of step `s`, whose numbers begin at `first_node`: those in the link first. */
static uint32_t place_step(struct rank *r, uint32_t s, uint32_t first_node, uint32_t n, int last)
{
    const struct pattern *p = &r->pattern;
    struct step *step = &r->step[s];
    uint32_t first = pattern_first(p, s), end = first + pattern_count(p, s);
    for (int boundary = 1; boundary >= 0; boundary--) {
        for (uint32_t i = first; i < end; i++) {
            int in_link = 0;
            for (int k = 0; !last && k < step->link->outs; k++)
                in_link |= step->link->out_column[k] == i;
            if (owner_of(p, i) == r->me && in_link == boundary)
                r->own[n++] = first_node + (i - first);
        }
        if (boundary)
            step->boundary = n;
    }
    return step->end = n;
}

static void rank_begin(struct rank *r, const struct board *board)
{
    uint32_t width = board->width, steps = board->steps, node = 0, n = 0;
    r->pattern = (struct pattern){ board->kind, width, steps };
    r->graph = graph_make(board->kind, width, steps, 2);
    r->step = bench_alloc(steps, sizeof *r->step);
    r->own = bench_alloc(r->graph->nodes, sizeof *r->own);
    unsigned char *needed = bench_alloc(width, 1);
    uint32_t *room = bench_alloc(width + 2, sizeof *room);
    make_links(r, needed, room);
    for (uint32_t s = 0; s < steps; s++) {
        int last = s + 1 == steps && !board->pipelined;
        uint32_t next = (s + 1) % steps;
        struct step *step = &r->step[s];
        step->link = &r->link[pattern_set(&r->pattern, next)];
        step->sends = !last && mark_needed(&r->pattern, next, r->me, needed, room) > 0;
        step->receives = !last && mark_needed(&r->pattern, next, 1 - r->me, needed, room) > 0;
        n = place_step(r, s, node, n, last);
        node += pattern_count(&r->pattern, s);
    }
    free(needed);
    free(room);
}

static void rank_end(struct rank *r)
{
    for (uint32_t i = 0; i < r->links; i++) {
        struct link *l = &r->link[i];
        MPI_Request_free(&l->send);
        MPI_Request_free(&l->receive[0]);
        MPI_Request_free(&l->receive[1]);
        free(l->out_column);
        free(l->in_column);
        free(l->out);
        free(l->in[0]);
        free(l->in[1]);
    }
    free(r->link);
    free(r->step);
    free(r->own);
    graph_free(r->graph);
}

/* ---- running */

static void check_received(struct rank *r, uint32_t s, const struct link *l, unsigned turn)
{
    uint32_t first = pattern_first(&r->pattern, s), count = pattern_count(&r->pattern, s);
    for (int k = 0; k < l->ins; k++)
        if (l->in_column[k] >= first && l->in_column[k] < first + count)
            r->wrong += l->in[turn][k] != r->done;
}

static void rank_replay(struct rank *r, rondo_task_fn *body, int check)
{
    const uint32_t *id = r->graph->id;
    uint32_t v = 0;
    for (uint32_t s = 0; s < r->pattern.steps; s++) {
        const struct step *step = &r->step[s];
        struct link *l = step->link;
        unsigned turn = l->turn;
        if (step->receives) {
            MPI_Start(&l->receive[turn]);
            l->turn = 1 - turn;
        }
        for (; v < step->boundary; v++)
            body(NULL, &id[r->own[v]]);
        r->done++;
        if (step->sends) {
            for (int k = 0; k < l->outs; k++)
                l->out[k] = r->done;
            MPI_Start(&l->send);
        }
        for (; v < step->end; v++)
            body(NULL, &id[r->own[v]]);
        if (step->sends && step->receives) {
            MPI_Request both[2] = { l->receive[turn], l->send };
            MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        } else if (step->receives) {
            MPI_Wait(&l->receive[turn], MPI_STATUS_IGNORE);
        } else if (step->sends) {
            MPI_Wait(&l->send, MPI_STATUS_IGNORE);
        }
        if (check && step->receives)
            check_received(r, s, l, turn);
    }
}

static void rank_run(uint32_t me, struct board *board)
{
    struct rank rank = { .me = me };
    int check = board->order == RANK_CHECK;
    rondo_task_fn *body = body_function(board->body);
    unsigned long long wrong, all = 0;
    body_set_iterations(board->iterations);
    rank_begin(&rank, board);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = timing_ns();
    for (uint64_t i = 0; i < board->count; i++) {
        rank_replay(&rank, body, check);
        if (!board->pipelined)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    if (board->pipelined)
        MPI_Barrier(MPI_COMM_WORLD);
    double ns = timing_ns() - start;
    wrong = rank.wrong + (rank.done != (int64_t)(board->count * board->steps));
    MPI_Reduce(&wrong, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0) {
        board->ns = ns;
        board->wrong = all;
    }
    rank_end(&rank);
}

int peer_mpi_rank_main(const char *path)
{
    int me, file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        bench_die(BENCH_EXIT_FAILED, "cannot open %s: %s", path, strerror(errno));
    struct board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (board == MAP_FAILED)
        bench_die(BENCH_EXIT_FAILED, "cannot map %s: %s", path, strerror(errno));
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    machine_pin((unsigned)me);
    for (;;) {
        MPI_Barrier(MPI_COMM_WORLD); /* both have read the order before this one is done */
        if (me == 0)
            sem_post(&board->done);
        while (sem_wait(&board->go[me]) != 0)
            ;
        if (board->order == RANK_QUIT)
            break;
        rank_run((uint32_t)me, board);
    }
    MPI_Finalize();
    return 0;
}
