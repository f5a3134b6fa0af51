/* SPDX-License-Identifier: BSD-3-Clause */
/* What `rondo sim` computes, and its picture. */
#ifndef RONDO_TOOLS_SIM_H
#define RONDO_TOOLS_SIM_H

#include "tools/cli.h"

struct sim_row {
    uint64_t processors;
    const char *refused; /* why the recording cannot run on so many; NULL: it can. Owned */
    double makespan_ns, bound_ns;
    uint64_t handovers;
    uint32_t lanes, used; /* used: processors that got work */
};

struct sim {
    const char *path;
    uint32_t nodes;
    size_t edges;
    double critical_ns, work_ns; /* of one replay */
    double handover_ns;
    uint32_t count;
    struct sim_row row[CLI_NUMBERS_MOST];
};

double sim_speedup(const struct sim *sim, const struct sim_row *row);

/* Speed-up over processors, and the bound, as SVG. */
void sim_plot(const struct sim *sim, FILE *file);

#endif
