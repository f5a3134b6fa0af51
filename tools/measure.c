/* SPDX-License-Identifier: BSD-3-Clause */
/* The replays of `rondo run`: made ready, timed by turns, checked. */
#include "tools/cli.h"
#include "tools/run.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How many replays a sample of a pipelined exec holds: it fills and drains once per sample. */
enum { PIPELINED_BATCH = 8 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int complain(const char *message)
{
    fprintf(stderr, "rondo run: %s\n", message);
    return -1;
}

/* ---- opening */

/* The first `workers` CPUs this process may use, from the start again when they run out, as a list
 * that the caller frees; NULL: no memory, or no list of them to be had. */
static char *cpu_list(uint64_t workers)
{
    cpu_set_t allowed;
    size_t room = (size_t)workers * 8 + 1, used = 0;
    char *list = malloc(room);
    if (!list || sched_getaffinity(0, sizeof allowed, &allowed)) {
        free(list);
        return NULL;
    }
    list[0] = '\0';
    for (size_t cpu = 0; workers; cpu = (cpu + 1) % CPU_SETSIZE)
        if (CPU_ISSET(cpu, &allowed)) {
            used += (size_t)snprintf(list + used, room - used, "%s%zu", used ? "," : "", cpu);
            workers--;
        }
    return list;
}

static int open_runtime(struct run *run)
{
    char *cpus = NULL;
    if (run->settings.workers && !(cpus = cpu_list(run->settings.workers)))
        return complain("the CPUs to use cannot be listed");
    rondo_status status =
        rondo_runtime_open(&(rondo_runtime_options){ .cpus = cpus }, &run->runtime);
    free(cpus);
    return status ? complain(rondo_error_message()) : 0;
}

static int make_exec(struct run *run)
{
    rondo_subgraph subgraph;
    if (rondo_subgraph_create(
            run->runtime,
            &(rondo_subgraph_desc){ .name = run->settings.path, .flags = RONDO_EDGES_EXPLICIT },
            &subgraph))
        return complain(rondo_error_message());
    run->work = rondo_subgraph_param(subgraph, "work", sizeof(int), NULL);
    rondo_instantiate_options options = {
        .mode = run->settings.mode == MODE_INTERPRETED ? RONDO_INTERPRETED : RONDO_COMPILED,
        .order = run->settings.order == ORDER_PIPELINED ? RONDO_PIPELINED : RONDO_SERIAL,
    };
    rondo_status status = job_record(&run->job, subgraph, run->work);
    if (!status)
        status = rondo_instantiate(subgraph, &options, &run->exec);
    if (!status)
        status = rondo_exec_count(run->exec, &run->counts);
    if (status)
        complain(status == RONDO_ERR_MEMORY ? "out of memory" : rondo_error_message());
    rondo_subgraph_destroy(subgraph);
    return status ? -1 : 0;
}

static int make_rows(struct run *run)
{
    static const struct run_row kinds[] = {
        { "in order", 0, NULL, UINT64_MAX },
        { "interpreted", RONDO_INTERPRETED, NULL, UINT64_MAX },
        { "compiled", RONDO_COMPILED, NULL, UINT64_MAX },
    };
    for (int i = 0; i < 3; i++) {
        if ((i == 1 && run->settings.mode == MODE_COMPILED) ||
            (i == 2 && run->settings.mode == MODE_INTERPRETED))
            continue;
        struct run_row *row = &run->rows[run->row_count++];
        *row = kinds[i];
        if (!(row->ns = calloc(run->settings.repeat, sizeof *row->ns)))
            return complain("out of memory");
    }
    return 0;
}

int run_open(struct run *run)
{
    int overlap = run->settings.order == ORDER_PIPELINED;
    if (job_init(&run->job, &run->graph, run->settings.scale_ns, overlap) ||
        job_init(&run->plain, &run->graph, run->settings.scale_ns, overlap))
        return complain("out of memory");
    run->plain.spins_per_ns = run->job.spins_per_ns; /* equal work in every row */
    return make_rows(run) || open_runtime(run) || make_exec(run) ? -1 : 0;
}

void run_close(struct run *run)
{
    if (run->exec.id)
        rondo_exec_destroy(run->exec);
    if (run->runtime.id)
        rondo_runtime_close(run->runtime);
    for (int i = 0; i < run->row_count; i++)
        free(run->rows[i].ns);
    job_free(&run->job);
    job_free(&run->plain);
    stg_free(&run->graph);
}

/* ---- measuring */

static int replay_in_order(struct run *run, int work, uint64_t count)
{
    char why[160];
    for (uint64_t i = 0; i < count; i++)
        if (job_perform(&run->plain, run->plain_replays++, work, why, sizeof why))
            return complain(why);
    return 0;
}

static int replay(struct run *run, int work, uint64_t count)
{
    rondo_value value = { .param = run->work, .value = &work };
    rondo_result result = { 0 };
    rondo_status status = rondo_replay_and_wait(
        run->exec, &(rondo_replay_args){ .values = &value, .value_count = 1, .count = count }, -1,
        &result);
    run->replays += count;
    if (!status)
        return 0;
    if (!result.status)
        return complain(rondo_error_message());
    fprintf(stderr, "rondo run: replay %" PRIu64 ", node '%s': %s\n", result.replay, result.node,
            result.message);
    return -1;
}

/* Nanoseconds per replay, of `count` replays in one call. */
static int sample(struct run *run, const struct run_row *row, int work, uint64_t count,
                  uint64_t *ns)
{
    uint64_t begin = now_ns();
    if (row->mode ? replay(run, work, count) : replay_in_order(run, work, count))
        return -1;
    *ns = (now_ns() - begin) / count;
    return 0;
}

/* One sample of a row: one batch without and one with work. The replay before them warms up, and
 * gives the workers of the row before the time to go to sleep. */
static int sample_row(struct run *run, struct run_row *row, uint64_t turn)
{
    uint64_t batch = run->settings.order == ORDER_PIPELINED ? PIPELINED_BATCH : 1, ns = 0;
    if (row->mode && rondo_exec_set_mode(run->exec, row->mode))
        return complain(rondo_error_message());
    if (sample(run, row, 1, 1, &ns) || sample(run, row, 0, batch, &ns))
        return -1;
    if (ns < row->checks_ns)
        row->checks_ns = ns;
    return sample(run, row, 1, batch, &row->ns[turn]);
}

int run_measure(struct run *run)
{
    char why[160];
    for (uint64_t turn = 0; turn < run->settings.repeat; turn++) {
        cli_progress("replaying", turn, run->settings.repeat);
        for (int i = 0; i < run->row_count; i++)
            if (sample_row(run, &run->rows[i], turn))
                return -1;
    }
    cli_progress("replaying", run->settings.repeat, run->settings.repeat);
    if (job_check(&run->job, run->replays, why, sizeof why) ||
        job_check(&run->plain, run->plain_replays, why, sizeof why))
        return complain(why);
    return 0;
}
