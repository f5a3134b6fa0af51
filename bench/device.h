/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs of small kernels for a device, and the ways of replaying one: by hand with OpenCL, by
 * Rondo. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include <stddef.h>
#include <stdint.h>

enum { DEVICE_ITEMS = 64, DEVICE_WIDTH_MAX = 8, DEVICE_ARRAYS = 2 * DEVICE_WIDTH_MAX };

/* Kernel k is that of column k % width in step k / width: one work group of DEVICE_ITEMS items,
 * each of which reads its element of the column's array and of the next column's (around), as the
 * step before left them, and writes that of the column's other array. Then it computes for `rounds`
 * rounds. Width 1 is a chain; otherwise a kernel follows three of the step before. */
struct device_graph {
    uint32_t kernels, width, rounds;
    int overlap; /* replays are handed over while earlier ones run, at most DEVICE_FLIGHT at once */
};
enum { DEVICE_FLIGHT = 4 };

/* The arrays of a kernel: two it reads, one it writes. */
static inline void device_arrays(const struct device_graph *g, uint32_t kernel, uint32_t array[3])
{
    uint32_t step = kernel / g->width, column = kernel % g->width;
    array[0] = step % 2 * DEVICE_WIDTH_MAX + column;
    array[1] = step % 2 * DEVICE_WIDTH_MAX + (column + 1) % g->width;
    array[2] = (step + 1) % 2 * DEVICE_WIDTH_MAX + column;
}
/* The kernels of the same replay that a kernel has to follow, at most 4; how many. */
uint32_t device_preds(const struct device_graph *g, uint32_t kernel, uint32_t pred[4]);

/* OpenCL C; the kernel's name is "advance", its parameters are the three arrays and `rounds`. */
extern const char device_source[];
/* What the arrays hold after so many replays, all 0 before the first. */
void device_expect(const struct device_graph *g, uint64_t replays,
                   uint32_t cell[DEVICE_ARRAYS][DEVICE_ITEMS]);

struct device_way {
    const char *name;
    int by_hand;
    int polls; /* who waits never sleeps */
    int bar;   /* it is Rondo's, and has to be as fast as those by hand of its kind */
    /* All that is needed once before many replays; the arrays are 0. NULL: it cannot run that
     * graph. The graph outlives it. Given back by `free`. */
    void *(*build)(const struct device_way *way, const struct device_graph *g);
    /* Replays it `count` times, each waited for, or with `overlap` all; ns. */
    double (*run)(void *built, uint64_t count);
    uint64_t (*calls)(void *built); /* calls of the driver so far */
    void (*read)(void *built, uint32_t cell[DEVICE_ARRAYS][DEVICE_ITEMS]);
    void (*free)(void *built);
};

/* Those of Rondo, and those by hand, each ended by one without a name. */
extern const struct device_way device_ways_rondo[];
void device_rondo_close(void);
#ifdef RONDO_PEER_OPENCL
extern const struct device_way device_ways_opencl[];
/* The device that all use: its name. NULL: there is none, and *why says what is missing. Threads of
 * the driver begin here, with the affinity of the caller. */
const char *device_opencl_open(const char **why);
void device_opencl_close(void);
/* How many rounds take so long, by measurement. */
uint32_t device_opencl_rounds(double ns);
#endif

#endif
