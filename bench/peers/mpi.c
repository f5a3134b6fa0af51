/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI with persistent requests: two ranks on one machine exchange what the next step needs. The
 * ranks are this program again, under mpirun; they sleep between measurements and take their orders
 * from a page they share with it. Here is the side that measures. */
#include "bench/peers/mpi_board.h"
#include "bench/peers/peer.h"

#include "bench/child.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { START_SECONDS = 60, RUN_SECONDS = 300 };

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
    if ((graph->kind != GRAPH_STENCIL && graph->kind <= GRAPH_KINDS) || graph->width < 2)
        return "it is written for the stencil and the patterns, two columns or more";
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
    board->kind = b->graph->kind;
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
