/* SPDX-License-Identifier: BSD-3-Clause */
/* Every mode, order and schedule together, for tests of what must not depend on them. */
#ifndef TESTS_ENGINE_EVERY_MODE_H
#define TESTS_ENGINE_EVERY_MODE_H

#include "tests/engine/engine_check.h"

struct em_mode {
    const char *name;
    uint32_t mode, order, schedule;
};

/* Concurrent ones last. */
static const struct em_mode em_modes[] = {
    { "interpreted serial", RONDO_INTERPRETED, RONDO_SERIAL, RONDO_STATIC },
    { "interpreted pipelined", RONDO_INTERPRETED, RONDO_PIPELINED, RONDO_STATIC },
    { "static serial", RONDO_COMPILED, RONDO_SERIAL, RONDO_STATIC },
    { "static pipelined", RONDO_COMPILED, RONDO_PIPELINED, RONDO_STATIC },
    { "dataflow serial", RONDO_AUTO, RONDO_SERIAL, RONDO_DATAFLOW },
    { "dataflow pipelined", RONDO_AUTO, RONDO_PIPELINED, RONDO_DATAFLOW },
    { "auto serial", RONDO_AUTO, RONDO_SERIAL, RONDO_SCHEDULE_AUTO },
    { "auto pipelined", RONDO_AUTO, RONDO_PIPELINED, RONDO_SCHEDULE_AUTO },
    { "static concurrent", RONDO_COMPILED, RONDO_CONCURRENT, RONDO_STATIC },
    { "dataflow concurrent", RONDO_AUTO, RONDO_CONCURRENT, RONDO_DATAFLOW },
};
enum { EM_MODES = sizeof em_modes / sizeof *em_modes, EM_ORDERED = EM_MODES - 2 };

static inline rondo_instantiate_options em_options(const struct em_mode *m, uint32_t window)
{
    return (rondo_instantiate_options){ .mode = m->mode,
                                        .order = m->order,
                                        .schedule = m->schedule,
                                        .window = window,
                                        .tracks = m->order == RONDO_CONCURRENT ? 2 : 0 };
}

/* Says what was being tested when an assertion fails or time is up. */
#define EM_TRY(m, workers) \
    et_alarm(120, "%s, %u workers: %s", (m)->name, (unsigned)(workers), __func__)

#endif
