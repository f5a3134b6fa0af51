/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the whole engine share: sizes, runtimes with so many workers, waiting with a
 * limit, and the checks that everything is gone. */
#ifndef TESTS_ENGINE_ENGINE_UTIL_H
#define TESTS_ENGINE_ENGINE_UTIL_H

#include <rondo/rondo.h>

/* `full` scaled by RONDO_TEST_SCALE percent (100 by default), at least `least`. */
uint64_t et_scaled(uint64_t full, uint64_t least);
/* A whole number from the environment. */
uint64_t et_number(const char *variable, uint64_t otherwise);
/* A list of `workers` CPUs of this process, going round them: "0,1,0". */
void et_cpu_list(uint32_t workers, char *list, size_t bytes);
/* Opens a runtime with `workers` workers; aborts with the message when it cannot. */
rondo_runtime et_runtime(uint32_t workers);
/* Closes it once every object is gone and every count is 0; returns what is not, or NULL. */
const char *et_close_clean(rondo_runtime runtime);
int64_t et_now_ns(void);
/* Waits until *flag is at least `value`, looking now and then; 0 when it took over a minute. */
int et_await(const _Atomic(uint64_t) *flag, uint64_t value);
/* Resident bytes of this process. */
uint64_t et_resident_bytes(void);

/* The ways a recording is run by every case. */
struct et_mode {
    const char *name;
    uint32_t mode, order, schedule;
};
enum { ET_MODES = 6 };
extern const struct et_mode et_modes[ET_MODES];
/* Aborts the process, naming what ran, when `seconds` are over; 0: calls it off. */
void et_alarm(unsigned seconds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs every case in every mode, with one worker and two. */
struct et_mode_case {
    const char *name;
    void (*run)(const struct et_mode *mode, uint32_t workers);
};
void et_every_mode(const struct et_mode_case *cases, size_t count);
/* Runs every case in the mode and order of every mode, each with static lanes and, where it is
 * compiled, dataflow; with one worker to three. */
struct et_schedule_case {
    const char *name;
    void (*run)(const rondo_instantiate_options *o, uint32_t workers);
};
void et_every_schedule(const struct et_schedule_case *cases, size_t count);

#endif
