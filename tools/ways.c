/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes ways of replaying a graph ready, times samples of them and checks every replay. */
#include "tools/ways.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a replay may compute for: where the command chooses the scale, and where the user does. */
#define AUTO_REPLAY_NS 5e6
#define MAX_REPLAY_NS  60e9

/* Replays in flight of an order that has several; the library's own defaults, written out because
 * checks depend on them. */
enum { WINDOW = 4, TRACKS = 4 };

uint64_t ways_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int no_memory(const struct ways *ways)
{
    return cli_fail(ways->command, EXIT_RUN_FAILED, "out of memory");
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

static int open_runtime(struct ways *ways, uint64_t workers, const char *devices)
{
    char *cpus = NULL;
    if (workers && !(cpus = cpu_list(workers)))
        return cli_fail(ways->command, EXIT_RUN_FAILED, "the CPUs to use cannot be listed");
    rondo_status status = rondo_runtime_open(
        &(rondo_runtime_options){ .cpus = cpus, .devices = devices }, &ways->runtime);
    free(cpus);
    if (status == RONDO_ERR_INVALID && devices)
        return cli_fail(ways->command, EXIT_BAD_INPUT, "%s", rondo_error_message());
    if (!status)
        status = rondo_runtime_processors(ways->runtime, &ways->processors);
    return status ? cli_fail(ways->command, EXIT_RUN_FAILED, "%s", rondo_error_message()) : 0;
}

static int open_job(struct ways *ways, const struct file *file)
{
    struct file_options options = { .scale = ways->scale, .times = ways->times, .fill = 1 };
    return job_open(&ways->job, file, ways->runtime, &options);
}

/* The recording at the scale that is wanted: known only after a first one, since Rondo's own
 * recordings tell their costs when they are read. */
static int record(struct ways *ways, const struct file *file, uint64_t scale)
{
    int automatic = scale == WAYS_SCALE_AUTO;
    ways->scale = automatic ? 1000 : scale;
    ways->times = 1;
    int status = open_job(ways, file);
    if (status)
        return status;
    double work = ways->job.graph.work_ns;
    if (automatic && work > AUTO_REPLAY_NS) {
        job_close(&ways->job);
        ways->times = AUTO_REPLAY_NS / work;
        return open_job(ways, file);
    }
    if (work > MAX_REPLAY_NS) {
        fprintf(stderr,
                "%s: a replay would compute for %.0f s, more than %.0f s: give a smaller --scale\n",
                ways->path, work * 1e-9, MAX_REPLAY_NS * 1e-9);
        return EXIT_BAD_INPUT;
    }
    return 0;
}

int ways_open(struct ways *ways, const struct cli_command *command, const char *path,
              uint64_t workers, const char *devices, uint64_t scale, uint64_t samples_most)
{
    struct file *file = NULL;
    *ways = (struct ways){ .command = command, .path = path, .samples_most = samples_most };
    int status = file_open(path, &file);
    if (!status)
        status = open_runtime(ways, workers, devices);
    if (!status)
        status = record(ways, file, scale);
    file_close(file);
    return status;
}

void ways_close(struct ways *ways)
{
    for (int i = 0; i < ways->count; i++) {
        struct way *way = &ways->way[i];
        if (way->exec.id)
            (void)rondo_exec_destroy(way->exec);
    }
    job_close(&ways->job);
    if (ways->runtime.id)
        (void)rondo_runtime_close(ways->runtime);
    for (int i = 0; i < ways->count; i++) {
        free(ways->way[i].ns);
        job_state_free(&ways->way[i].state);
    }
}

/* ---- ways */

static int make_exec(struct ways *ways, struct way *way)
{
    rondo_instantiate_options options = {
        .mode = way->mode, .schedule = way->schedule, .order = way->order, .window = WINDOW
    };
    if (way->order == RONDO_CONCURRENT)
        options.tracks = TRACKS;
    rondo_status status = rondo_instantiate(ways->job.file.subgraph, &options, &way->exec);
    if (!status)
        status = rondo_exec_count(way->exec, &way->counts);
    if (status == RONDO_ERR_MEMORY)
        return no_memory(ways);
    if (status)
        file_printable(rondo_error_message(), way->skipped, sizeof way->skipped);
    return 0;
}

int ways_add(struct ways *ways, const char *name, uint32_t mode, uint32_t schedule, uint32_t order)
{
    static const uint32_t in_flight[] = { 1, WINDOW, WINDOW * TRACKS };
    struct way *way = &ways->way[ways->count++];
    *way = (struct way){ .name = name,
                         .mode = mode,
                         .schedule = schedule,
                         .order = order,
                         .checks_ns = UINT64_MAX,
                         .batch = 1 };
    if (mode) {
        int status = make_exec(ways, way);
        if (status || *way->skipped)
            return status;
    } else if (!ways->job.graph.order) {
        snprintf(way->skipped, sizeof way->skipped, "its nodes wait for each other");
        return 0;
    }
    way->ns = calloc(ways->samples_most, sizeof *way->ns);
    if (!way->ns || job_state_init(&way->state, &ways->job, in_flight[way->order]))
        return no_memory(ways);
    return 0;
}

/* ---- replays */

static int replay_in_order(struct ways *ways, struct way *way, uint64_t count)
{
    char why[256];
    for (uint64_t i = 0; i < count; i++)
        if (job_perform(&ways->job, way->state.replays++, why, sizeof why))
            return cli_fail(ways->command, EXIT_RUN_FAILED, "%s", why);
    return 0;
}

static int replay(struct ways *ways, struct way *way, uint64_t count)
{
    rondo_result result = { 0 };
    char shown[2][256];
    way->state.replays += count;
    rondo_status status =
        rondo_replay_and_wait(way->exec, &(rondo_replay_args){ .count = count }, -1, &result);
    if (!status)
        return 0;
    file_printable(result.status ? result.node : "", shown[0], sizeof shown[0]);
    file_printable(result.status ? result.message : rondo_error_message(), shown[1],
                   sizeof shown[1]);
    if (!result.status)
        return cli_fail(ways->command, EXIT_RUN_FAILED, "%s", shown[1]);
    return cli_fail(ways->command, EXIT_RUN_FAILED, "replay %" PRIu64 ", node '%s': %s",
                    result.replay, shown[0], shown[1]);
}

int ways_replay(struct ways *ways, struct way *way, int work, uint64_t count, uint64_t *ns)
{
    ways->job.now = &way->state;
    ways->job.work = work;
    uint64_t begin = ways_now_ns();
    int status = way->mode ? replay(ways, way, count) : replay_in_order(ways, way, count);
    *ns = (ways_now_ns() - begin) / count;
    return status;
}

int ways_sample(struct ways *ways, struct way *way)
{
    uint64_t ns = 0;
    int status = ways_replay(ways, way, 1, way->batch, &ns);
    if (!status && way->samples < ways->samples_most)
        way->ns[way->samples++] = ns;
    return status;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int ways_end(struct ways *ways)
{
    char why[256];
    for (int i = 0; i < ways->count; i++) {
        struct way *way = &ways->way[i];
        if (*way->skipped)
            continue;
        if (job_check(&ways->job, &way->state, why, sizeof why))
            return cli_fail(ways->command, EXIT_RUN_FAILED, "%s: %s", way->name, why);
        qsort(way->ns, way->samples, sizeof *way->ns, compare);
    }
    return 0;
}

double ways_min_us(const struct way *way) { return (double)way->ns[0] * 1e-3; }
double ways_median_us(const struct way *way) { return (double)way->ns[way->samples / 2] * 1e-3; }

uint64_t ways_replays(const struct ways *ways)
{
    uint64_t replays = 0;
    for (int i = 0; i < ways->count; i++)
        replays += ways->way[i].mode ? ways->way[i].state.replays : 0;
    return replays;
}

const char *ways_order(const struct way *way)
{
    static const char *const orders[] = { "serial", "pipelined", "concurrent" };
    return orders[way->order];
}
