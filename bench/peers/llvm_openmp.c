/* SPDX-License-Identifier: BSD-3-Clause */
/* LLVM's OpenMP runtime beside GCC's in one process: both define the same names, so it comes with a
 * module of its own, bench/peers/openmp.c compiled by clang, whose names nobody else sees. */
#include "bench/peers/peer.h"

#include "bench/child.h"
#include "bench/support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const struct peer *tasks, *levels; /* the module's */
static char broken[512];                  /* why there is none */

/* The module lies beside the program. */
static void load(void)
{
    const char *self = child_self(), *slash = strrchr(self, '/');
    char path[4096];
    snprintf(path, sizeof path, "%.*s/%s", slash ? (int)(slash - self) : 0, self,
             RONDO_PEER_LLVM_OPENMP);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module) {
        tasks = dlsym(module, "openmp_module_tasks");
        levels = dlsym(module, "openmp_module_levels");
    }
    if (!tasks || !levels)
        snprintf(broken, sizeof broken, "%s", dlerror());
}

static const char *refusal(const struct graph *graph, const struct setup *setup)
{
    if (!tasks && !broken[0])
        load();
    return broken[0] ? broken : tasks->refusal(graph, setup);
}

static void *build(const struct graph *graph, const struct setup *setup)
{
    return tasks->build(graph, setup);
}

static double run_tasks(void *built, uint64_t count) { return tasks->run(built, count); }

static double run_levels(void *built, uint64_t count) { return levels->run(built, count); }

static void release(void *built) { tasks->free(built); }

const struct peer peer_llvm_openmp = {
    .name = "llvm-openmp",
    .what = "LLVM OpenMP tasks with depend",
    .refusal = refusal,
    .build = build,
    .run = run_tasks,
    .free = release,
};

const struct peer peer_llvm_openmp_for = {
    .name = "llvm-openmp-for",
    .what = "LLVM OpenMP, a loop over each level",
    .refusal = refusal,
    .build = build,
    .run = run_levels,
    .free = release,
};
