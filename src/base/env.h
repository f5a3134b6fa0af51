/* SPDX-License-Identifier: BSD-3-Clause */
/* Every environment variable Rondo reads, in one table. */
#ifndef RD_BASE_ENV_H
#define RD_BASE_ENV_H

#include <stdint.h>

/* name, what to say for its default, its range, one line of help */
#define RD_ENVIRONMENT(X)                                                                          \
    X(RONDO_DEVICES, "none", "none | all | backend[:device[/parts]],...",                          \
      "the devices that rondo_runtime_open opens, if its options name none")                       \
    X(RONDO_DEVICE_BYTES, "0 (nine tenths)", "0 to 1000000000000000",                              \
      "bytes that Rondo may take of each device's memory")                                         \
    X(RONDO_DEVICE_POISON, "0 (off); 1 in debug builds", "0 or 1",                                 \
      "what is out of date in an instance of a buffer is overwritten with 0xA5")                   \
    X(RONDO_DEVICE_SYNC, "0 (off)", "0 or 1",                                                      \
      "every exec is interpreted; each node of a device is waited for, so that an error names it") \
    X(RONDO_OPENCL_SUBMIT, "trial", "trial | in-order | command-buffer | out-of-order",            \
      "how nodes go to an OpenCL device, where they can; trial: as was fastest in first replays")  \
    X(RONDO_HANDOVER_NS, "measured", "1 to 1000000",                                               \
      "what a hand-over from one CPU to another costs, instead of measuring it")                   \
    X(RONDO_MODE, "none", "compiled | interpreted",                                                \
      "overrides mode RONDO_AUTO of rondo_instantiate")                                            \
    X(RONDO_STALL_S, "0 (off)", "0 to 86400",                                                      \
      "seconds without progress after which a waiting thread logs what it waits for")              \
    X(RONDO_TRACE, "none", "a file's name",                                                        \
      "traces from rondo_runtime_open on; the file is written by rondo_runtime_close")             \
    X(RONDO_SHUFFLE, "none", "a whole number",                                                     \
      "every exec is interpreted, its nodes run in random legal orders made from this seed")       \
    X(RONDO_CHECK, "none", "access",                                                               \
      "every exec is interpreted on one lane; a task that touches what it did not declare fails")  \
    X(RONDO_VERIFY, "0 (off)", "0 to 1000000000",                                                  \
      "every n-th replay runs interpreted and compiled, and fails if they differ")

enum rd_env {
#define RD_ENV_ENUM(name, by_default, range, help) RD_ENV_##name,
    RD_ENVIRONMENT(RD_ENV_ENUM)
#undef RD_ENV_ENUM
        RD_ENV_COUNT
};

struct rd_env_entry {
    const char *name, *by_default, *range, *help;
};
extern const struct rd_env_entry rd_env_table[RD_ENV_COUNT];

/* The variable's text, or NULL when it is unset or empty. */
const char *rd_env_text(enum rd_env variable);
/* Its value as a whole number within [low, high]; `otherwise` when unset or not such a number. */
int64_t rd_env_number(enum rd_env variable, int64_t low, int64_t high, int64_t otherwise);

#endif
