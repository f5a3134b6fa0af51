/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices of a backend made for tests: a thread per queue runs what is handed over, the commands of
 * a segment in another order each time, as what they follow allows; kernels are C functions. It can
 * be held, made to refuse a command, and lost, when a test says so. */
#ifndef TESTS_SUPPORT_FAKE_DEVICE_H
#define TESTS_SUPPORT_FAKE_DEVICE_H

#include "src/device/devices.h"

#include <rondo/rondo.h>

/* What a kernel sees: by argument the address of an access, or that of a value. */
struct fake_call {
    void *const *arg;
    uint32_t args;
    uint64_t global[3];
};
/* A kernel: its entry, and what it does. */
struct fake_kernel {
    const char *entry;
    void (*run)(const struct fake_call *call);
    uint32_t args;
};

/* A runtime of `cpus` ("0"; NULL: all) with `devices` fake devices of `bytes` each, whose kernels
 * are those of `kernels` up to the one without entry. */
rondo_runtime fake_open(const char *cpus, uint32_t devices, size_t bytes,
                        const struct fake_kernel *kernels);

/* The same of a runtime that is open, without devices. */
void fake_devices(rondo_runtime runtime, uint32_t devices, size_t bytes,
                  const struct fake_kernel *kernels);

/* Of all fake devices of the process; fake_open resets them.
 * The keeper's copies: held until 0; the next one fails after `after` more, once; bytes so far. */
void fake_hold_copies(int held);
void fake_fail_copy(uint32_t after, rondo_status status);
uint64_t fake_copied(void);
void fake_peers(int yes); /* devices copy from each other's memory */
void fake_hold(int held); /* 1: nothing that is handed over runs, until 0 */
/* The next time that a command of a node of this name is handed over, it fails so. */
void fake_refuse(const char *node, rondo_status status);
void fake_lose(uint32_t device); /* its queues fail, at once */
uint64_t fake_submissions(void);
uint64_t fake_allocated(void); /* bytes of device memory that were not released */
/* On the native queue of a launch, inside it: `run` runs on the device, behind what comes before.
 */
void fake_enqueue(void *native_queue, void (*run)(void *context), void *context);

#endif
