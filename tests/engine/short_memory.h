/* SPDX-License-Identifier: BSD-3-Clause */
/* A memory that ends at the n-th block, once or for good, and calls that are made until they
 * succeed: the first refusal says that there is no memory, and there is none after it. */
#ifndef TESTS_ENGINE_SHORT_MEMORY_H
#define TESTS_ENGINE_SHORT_MEMORY_H

#include "tests/engine/engine_check.h"

#include <stdatomic.h>
#include <stdlib.h>

static struct hooks {
    atomic_llong calls, live;
    atomic_llong fail_at; /* 0: never */
    atomic_int persistent, failures;
} hooks;

static inline void *allocate(void *context, size_t bytes, size_t align)
{
    struct hooks *h = context;
    void *block = NULL;
    long long n = atomic_fetch_add(&h->calls, 1) + 1, at = atomic_load(&h->fail_at);
    if (at && (n == at || (n > at && atomic_load(&h->persistent)))) {
        atomic_fetch_add(&h->failures, 1);
        return NULL;
    }
    if (posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, bytes) != 0)
        return NULL;
    memset(block, 0xa5, bytes); /* nobody may rely on zeros */
    atomic_fetch_add(&h->live, 1);
    return block;
}

static inline void release(void *context, void *block)
{
    struct hooks *h = context;
    atomic_fetch_sub(&h->live, 1);
    free(block);
}

static inline void begin_memory(long long fail_at, int persistent)
{
    atomic_store(&hooks.calls, 0);
    atomic_store(&hooks.failures, 0);
    atomic_store(&hooks.persistent, persistent);
    atomic_store(&hooks.fail_at, fail_at);
}

/* A refused call: memory was refused before, it said so, and from now on there is enough. */
static inline void refused(rondo_status status, const char *call)
{
    cr_assert_eq(status, RONDO_ERR_MEMORY, "%s: '%s': %s (allocation %lld)", call,
                 rondo_status_string(status), rondo_error_message(), atomic_load(&hooks.fail_at));
    cr_assert(atomic_load(&hooks.failures) > 0, "%s: no memory, but none was refused: %s", call,
              rondo_error_message());
    cr_assert(strstr(rondo_error_message(), "memory"), "%s: '%s'", call, rondo_error_message());
    cr_assert(atomic_exchange(&hooks.fail_at, 0) != 0, "%s: refused again: %s", call,
              rondo_error_message());
}

#define TRY(call)                                         \
    for (rondo_status try_; (try_ = (call)) != RONDO_OK;) \
    refused(try_, #call)
/* The same of a call with an output, which a refusal leaves as it was. */
#define TRY_OUT(output, call)                                       \
    for (rondo_status try_; (try_ = (call)) != RONDO_OK;) {         \
        refused(try_, #call);                                       \
        cr_assert_eq((output).id, 0, "%s wrote its output", #call); \
    }
#define TRY_HANDLE(g, handle, call)               \
    while (((handle) = (call)).id == 0) {         \
        refused(rondo_subgraph_status(g), #call); \
        ET_OK(rondo_subgraph_clear_error(g));     \
    }

#endif
