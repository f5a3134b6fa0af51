/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

/* Writes a chart of horizontal bars as SVG, one panel beside the other: panel p has a bar of length
 * value[p * bars + b] for each b where that is above 0, on a logarithmic scale. 0 on success. */
int plot_write(const char *path, const char *title, const char *const *panel, unsigned panels,
               const char *const *bar, unsigned bars, const double *value);

#endif
