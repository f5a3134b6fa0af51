/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI with persistent requests: two ranks on one machine exchange the stencil's boundary at every
 * step. The ranks are this program again, under mpirun; they sleep between measurements and take
 * their orders from a page they share with it. */
#include "bench/peers/peer.h"

#include "bench/child.h"
#include "bench/machine.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum rank_order { RANK_RUN, RANK_CHECK, RANK_QUIT };
enum { START_SECONDS = 60, RUN_SECONDS = 300 };

struct board {
    sem_t go[2], done; /* done: raised by rank 0 */
    enum rank_order order;
    uint32_t width, steps;
    uint64_t count, iterations;
    enum body_kind body;
    int pipelined;
    double ns;      /* rank 0's answer */
    uint64_t wrong; /* the same */
};

/* ---- a rank */

struct rank {
    const struct graph *graph;
    int me;
    uint32_t *own; /* own nodes by steps, the boundary first */
    uint32_t per_step;
    int64_t out, in; /* boundary values: how many steps their sender has done */
    MPI_Request request[2];
    uint64_t wrong;
};

static void rank_begin(struct rank *r, const struct board *board)
{
    struct graph *g = graph_make(GRAPH_STENCIL, board->width, board->steps, 2);
    uint32_t first = 0, end = 0, n = 0;
    for (uint32_t i = 0; i < g->width; i++)
        if (g->owner[i] == (uint32_t)r->me)
            first = end ? first : i, end = i + 1;
    r->graph = g;
    r->per_step = end - first;
    r->own = bench_alloc((size_t)r->per_step * g->steps, sizeof *r->own);
    for (uint32_t s = 0; s < g->steps; s++)
        for (uint32_t k = 0; k < r->per_step; k++)
            r->own[n++] = s * g->width + (r->me ? first + k : end - 1 - k);
    r->out = 0;
    MPI_Recv_init(&r->in, 1, MPI_INT64_T, 1 - r->me, 0, MPI_COMM_WORLD, &r->request[0]);
    MPI_Send_init(&r->out, 1, MPI_INT64_T, 1 - r->me, 0, MPI_COMM_WORLD, &r->request[1]);
}

static void rank_end(struct rank *r)
{
    MPI_Request_free(&r->request[0]);
    MPI_Request_free(&r->request[1]);
    graph_free((struct graph *)r->graph);
    free(r->own);
}

static void rank_replay(struct rank *r, rondo_task_fn *body, int check)
{
    const uint32_t *v = r->own;
    for (uint32_t s = 0; s < r->graph->steps; s++) {
        MPI_Start(&r->request[0]);
        body(NULL, &r->graph->id[*v++]);
        r->out++;
        MPI_Start(&r->request[1]);
        for (uint32_t k = 1; k < r->per_step; k++)
            body(NULL, &r->graph->id[*v++]);
        MPI_Waitall(2, r->request, MPI_STATUSES_IGNORE);
        if (check)
            r->wrong += r->in != r->out;
    }
}

static void rank_run(int me, struct board *board)
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
    wrong = rank.wrong + (rank.out != (int64_t)(board->count * board->steps));
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
        rank_run(me, board);
    }
    MPI_Finalize();
    return 0;
}

/* ---- the side that measures */

static struct board *board;
static pid_t ranks = -1;
static const char *broken; /* why there are no ranks */

static int wait_done(int seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    while (sem_timedwait(&board->done, &until) != 0)
        if (errno != EINTR)
            return -1;
    return 0;
}

static int give(enum rank_order order)
{
    board->order = order;
    sem_post(&board->go[0]);
    sem_post(&board->go[1]);
    return order == RANK_QUIT ? 0 : wait_done(RUN_SECONDS);
}

static const char *start_ranks(void)
{
    char path[64];
    int file = memfd_create("rondo-bench", 0);
    if (file < 0 || ftruncate(file, sizeof *board) != 0)
        return "cannot make a page to share with its ranks";
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (board == MAP_FAILED)
        return "cannot map a page to share with its ranks";
    sem_init(&board->go[0], 1, 0);
    sem_init(&board->go[1], 1, 0);
    sem_init(&board->done, 1, 0);
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), file);
    /* Two ranks on two CPUs poll; that they pin themselves is their own affair. */
    char *argv[] = { "mpirun",
                     "--allow-run-as-root",
                     "--oversubscribe",
                     "--bind-to",
                     "none",
                     "--mca",
                     "mpi_yield_when_idle",
                     "0",
                     "--mca",
                     "btl",
                     "self,vader",
                     "--mca",
                     "btl_vader_single_copy_mechanism",
                     "none",
                     "-np",
                     "2",
                     (char *)child_self(),
                     "mpi-rank",
                     path,
                     NULL };
    ranks = child_start(argv, NULL, 1);
    if (ranks < 0)
        return "mpirun cannot be started";
    if (wait_done(START_SECONDS) != 0) {
        kill(ranks, SIGTERM);
        child_wait(ranks);
        ranks = -1;
        return "mpirun did not start two ranks";
    }
    return NULL;
}

static const char *refusal(const struct graph *graph, const struct setup *setup)
{
    if (graph->kind != GRAPH_STENCIL || graph->width < 2)
        return "it is written for the stencil, two columns or more";
    if (graph->workers != 2)
        return "it has two ranks";
    if (setup->order == ORDER_CONCURRENT)
        return "it has no concurrent order";
    if (ranks < 0 && !broken)
        broken = start_ranks();
    return broken;
}

struct built {
    const struct graph *graph;
    enum body_kind body;
    int pipelined;
};

static void *build(const struct graph *graph, const struct setup *setup)
{
    struct built *b = bench_alloc(1, sizeof *b);
    b->graph = graph;
    b->pipelined = setup->order == ORDER_PIPELINED;
    b->body = BODY_EMPTY;
    for (unsigned kind = BODY_EMPTY; kind <= BODY_UNEVEN; kind++)
        if (setup->body == body_function((enum body_kind)kind))
            b->body = (enum body_kind)kind;
    return b;
}

static void send_order(const struct built *b, uint64_t count, enum rank_order what)
{
    board->width = b->graph->width;
    board->steps = b->graph->steps;
    board->body = b->body;
    board->pipelined = b->pipelined;
    board->iterations = body_iterations();
    board->count = count;
    if (give(what) != 0)
        bench_die(BENCH_EXIT_FAILED, "the MPI ranks do not answer");
}

static double run(void *built, uint64_t count)
{
    send_order(built, count, RANK_RUN);
    return board->ns;
}

static uint64_t check(const struct graph *graph, const struct setup *setup, uint64_t count)
{
    struct built *b = build(graph, setup);
    send_order(b, count, RANK_CHECK);
    free(b);
    return board->wrong;
}

static void close_ranks(void)
{
    if (ranks < 0)
        return;
    give(RANK_QUIT);
    child_wait(ranks);
    ranks = -1;
}

const struct peer peer_mpi = {
    .name = "mpi",
    .what = "two MPI ranks, persistent requests, shared memory",
    .refusal = refusal,
    .build = build,
    .run = run,
    .free = free,
    .check = check,
    .close = close_ranks,
};
