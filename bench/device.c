/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench device`: what replaying a graph of small kernels costs, by Rondo and by hand with
 * OpenCL, by turns. */
#include "bench/device.h"

#include "bench/machine.h"
#include "bench/measures.h"
#include "bench/options.h"
#include "bench/progress.h"
#include "bench/rondo_impl.h"
#include "bench/support.h"
#include "bench/table.h"
#include "bench/timing.h"

#include <stdlib.h>
#include <string.h>

/* ---- the graph */

const char device_source[] =
    "__kernel void advance(__global const uint *a, __global const uint *b, __global uint *to,\n"
    "                      uint rounds)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    uint x = a[i] + b[i] + (uint)i + 1;\n"
    "    for (uint r = 0; r < rounds; r++)\n"
    "        x = x * 1664525u + 1013904223u;\n"
    "    to[i] = x;\n"
    "}\n";

static void run_kernel(const struct device_graph *g, uint32_t kernel,
                       uint32_t cell[DEVICE_ARRAYS][DEVICE_ITEMS])
{
    uint32_t array[3];
    device_arrays(g, kernel, array);
    for (uint32_t i = 0; i < DEVICE_ITEMS; i++) {
        uint32_t x = cell[array[0]][i] + cell[array[1]][i] + i + 1;
        for (uint32_t r = 0; r < g->rounds; r++)
            x = x * 1664525u + 1013904223u;
        cell[array[2]][i] = x;
    }
}

void device_expect(const struct device_graph *g, uint64_t replays,
                   uint32_t cell[DEVICE_ARRAYS][DEVICE_ITEMS])
{
    memset(cell, 0, sizeof(uint32_t) * DEVICE_ARRAYS * DEVICE_ITEMS);
    for (uint64_t r = 0; r < replays; r++)
        for (uint32_t k = 0; k < g->kernels; k++)
            run_kernel(g, k, cell);
}

/* What the kernels of the step before write that it reads, and what they read that it writes. */
uint32_t device_preds(const struct device_graph *g, uint32_t kernel, uint32_t pred[4])
{
    uint32_t n = 0, mine[3], other[3];
    uint32_t step = kernel / g->width, from = step ? (step - 1) * g->width : kernel;
    device_arrays(g, kernel, mine);
    for (uint32_t k = from; k < step * g->width; k++) {
        device_arrays(g, k, other);
        if (other[2] == mine[0] || other[2] == mine[1] || other[0] == mine[2] ||
            other[1] == mine[2])
            pred[n++] = k;
    }
    return n;
}

/* ---- entries */

enum { WAYS_MAX = 8, SAMPLE_NS = 5000000, ROUNDS_PER_BUILD = 4 };

struct device_entry {
    const struct device_way *way;
    void *built;
    uint64_t count;    /* replays in a sample */
    struct samples ns; /* per replay */
    double calls;      /* of the driver, per replay */
};

struct device_case {
    struct device_graph g;
    double body_ns;
    struct device_entry entry[WAYS_MAX];
    unsigned entries;
};

/* Ends the program where a way does not compute what it should. */
static void check(struct device_entry *e, const struct device_graph *g)
{
    enum { REPLAYS = 3 };
    static uint32_t cell[DEVICE_ARRAYS][DEVICE_ITEMS], expected[DEVICE_ARRAYS][DEVICE_ITEMS];
    e->way->run(e->built, REPLAYS);
    e->way->read(e->built, cell);
    device_expect(g, REPLAYS, expected);
    for (uint32_t i = 0; i < DEVICE_ARRAYS; i++)
        for (uint32_t k = 0; k < DEVICE_ITEMS; k++)
            if (cell[i][k] != expected[i][k])
                bench_die(BENCH_EXIT_FAILED,
                          "%s, %u kernels, width %u: item %u of array %u is %u after %d replays, "
                          "not %u",
                          e->way->name, g->kernels, g->width, k, i, cell[i][k], (int)REPLAYS,
                          expected[i][k]);
}

static void add_entry(struct device_case *c, const struct device_way *way)
{
    progress_show("%s, %u kernels: check", way->name, c->g.kernels);
    void *built = way->build(way, &c->g);
    if (!built)
        return;
    struct device_entry *e = &c->entry[c->entries++];
    *e = (struct device_entry){ .way = way, .built = built };
    check(e, &c->g);
}

/* Until nothing is tried out any more: Rondo's first replays may be. */
static void settle(const struct device_entry *e)
{
    enum { REPLAYS = 60 };
    e->way->run(e->built, REPLAYS);
}

static void size_entry(struct device_entry *e, const struct options *o)
{
    double ns = 0;
    settle(e);
    e->count = o->replays ? o->replays : 1;
    if (o->replays)
        return;
    e->way->run(e->built, 1);
    while ((ns = e->way->run(e->built, e->count)) < SAMPLE_NS / 2 && e->count < 1u << 20)
        e->count *= 2;
    e->count = (uint64_t)((double)e->count * SAMPLE_NS / ns) + 1;
}

static void take_sample(struct device_entry *e)
{
    timing_settle();
    e->way->run(e->built, e->count / 4 + 1);
    uint64_t before = e->way->calls(e->built);
    samples_add(&e->ns, e->way->run(e->built, e->count) / (double)e->count);
    e->calls = (double)(e->way->calls(e->built) - before) / (double)e->count;
}

static void measure(struct device_case *c, const struct options *o)
{
    unsigned rounds = o->rounds ? o->rounds : o->quick ? 3 : 15;
    for (unsigned i = 0; i < c->entries; i++)
        size_entry(&c->entry[i], o);
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < c->entries; i++) {
            struct device_entry *e = &c->entry[i];
            progress_show("%u kernels, width %u: round %u of %u, %s", c->g.kernels, c->g.width,
                          round + 1, rounds, e->way->name);
            if (round && round % ROUNDS_PER_BUILD == 0) {
                e->way->free(e->built);
                e->built = e->way->build(e->way, &c->g);
                settle(e);
            }
            take_sample(e);
        }
    progress_show(NULL);
}

/* ---- the table */

/* The least of what was written by hand: of a way that polls, of all; otherwise of those that sleep
 * in the driver. */
static struct range best_by_hand(const struct device_case *c, int polls)
{
    struct range best = { 0, 0 };
    for (unsigned i = 0; i < c->entries; i++) {
        const struct device_entry *e = &c->entry[i];
        if (!e->way->by_hand || (e->way->polls && !polls))
            continue;
        double least = samples_min(&e->ns), middle = samples_median(&e->ns);
        best.min = best.min > 0 && best.min < least ? best.min : least;
        best.median = best.median > 0 && best.median < middle ? best.median : middle;
    }
    return best;
}

static const char *verdict(double ratio_min, double ratio_median)
{
    const double limit = 1.1;
    return ratio_min <= limit && ratio_median <= limit ? "pass"
           : ratio_min <= limit                        ? "pass by minimum only"
           : ratio_median <= limit                     ? "pass by median only"
                                                       : "MISS";
}

static void add_rows(struct table *t, const struct device_case *c)
{
    for (unsigned i = 0; i < c->entries; i++) {
        const struct device_entry *e = &c->entry[i];
        struct range best = best_by_hand(c, e->way->polls);
        double least = samples_min(&e->ns), middle = samples_median(&e->ns);
        table_cell(t, "%s", c->g.width > 1 ? "width 8" : "chain");
        table_cell(t, "%s", c->g.overlap ? "pipelined" : "serial");
        table_cell(t, "%u", c->g.kernels);
        table_cell(t, "%.0f", c->body_ns);
        table_cell(t, "%s", e->way->name);
        table_cell(t, "%.2f", least / 1e3);
        table_cell(t, "%.2f", middle / 1e3);
        table_cell(t, "%.0f", least / c->g.kernels);
        table_cell(t, "%.0f", middle / c->g.kernels);
        table_cell(t, "%.1f", e->calls);
        table_cell(t, "%.3f", least / best.min);
        table_cell(t, "%.3f", middle / best.median);
        table_cell(t, "%s", e->way->bar ? verdict(least / best.min, middle / best.median) : "");
    }
}

static void run_case(struct table *t, const struct options *o, struct device_graph g)
{
    struct device_case c = { .g = g, .body_ns = o->body_given ? o->body.ns : 0 };
    for (const struct device_way *way = device_ways_rondo; way->name; way++)
        add_entry(&c, way);
#ifdef RONDO_PEER_OPENCL
    for (const struct device_way *way = device_ways_opencl; way->name; way++)
        add_entry(&c, way);
#endif
    measure(&c, o);
    add_rows(t, &c);
    for (unsigned i = 0; i < c.entries; i++) {
        c.entry[i].way->free(c.entry[i].built);
        samples_clear(&c.entry[i].ns);
    }
}

/* ---- the command */

#ifdef RONDO_PEER_OPENCL
static void open_device(FILE *notes)
{
    const char *why = NULL;
    machine_unpin(); /* the driver's threads begin here, and stay where this one may run */
    const char *name = device_opencl_open(&why);
    machine_pin(0);
    if (!name)
        bench_die(BENCH_EXIT_FAILED, "no device to measure on: %s", why);
    fprintf(notes, "device: %s\n\n", name);
}
#else
static void open_device(FILE *notes)
{
    (void)notes;
    bench_die(BENCH_EXIT_FAILED, "built without OpenCL's headers (Debian package "
                                 "opencl-c-headers): there is nothing by hand to compare with");
}
#endif

static uint32_t rounds_for(const struct options *o)
{
    if (!o->body_given || o->body.kind == BODY_EMPTY)
        return 0;
    if (o->body.kind != BODY_SPIN)
        bench_die(BENCH_EXIT_USAGE, "--body: kernels are all alike here: empty or spin:NS");
#ifdef RONDO_PEER_OPENCL
    progress_show("how long a kernel takes");
    return device_opencl_rounds(o->body.ns);
#else
    return 0;
#endif
}

int command_device(const struct options *o)
{
    static const uint32_t all[] = { 1, 10, 100, 1000 }, few[] = { 1, 100 };
    const uint32_t *size = o->sizes ? o->nodes : o->quick ? few : all;
    unsigned sizes = o->sizes ? o->sizes : o->quick ? 2 : 4;
    if (o->width && o->width != 1 && o->width != DEVICE_WIDTH_MAX)
        bench_die(BENCH_EXIT_USAGE, "--width %u: 1, a chain, or 8", o->width);
    if (o->order == ORDER_CONCURRENT)
        bench_die(BENCH_EXIT_USAGE, "--order concurrent: not here");
    open_device(o->format == TABLE_ALIGNED ? stdout : stderr);
    struct table *t =
        table_make("graph,order,kernels,body_ns,way,us_per_replay_min,us_per_replay_median,"
                   "ns_per_kernel_min,ns_per_kernel_median,driver_calls_per_replay,"
                   "ratio_min,ratio_median,verdict");
    uint32_t rounds = rounds_for(o);
    int overlap = o->order == ORDER_PIPELINED;
    for (uint32_t width = 1; width <= DEVICE_WIDTH_MAX; width += DEVICE_WIDTH_MAX - 1)
        for (unsigned i = 0; i < sizes; i++)
            if ((!o->width || o->width == width) && size[i] >= width)
                run_case(t, o, (struct device_graph){ size[i], width, rounds, overlap });
    table_write(t, o->format, stdout);
    table_free(t);
    device_rondo_close();
#ifdef RONDO_PEER_OPENCL
    device_opencl_close();
#endif
    return 0;
}
