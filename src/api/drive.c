/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo_processor_drive: a thread of the user's becomes the worker of an adopted processor. */
#include "src/base/error.h"
#include "src/base/id.h"
#include "src/base/os.h"
#include "src/base/rcu.h"
#include "src/machine/worker.h"

/* The processor's worker, which the caller may now run; NULL with the status told. Inside the read
 * section: the runtime's closing waits for it, and then for who drives. */
static struct rd_worker *take(rondo_runtime runtime, rondo_processor processor,
                              rondo_status *status)
{
    struct rd_runtime *rt = rd_id_find(runtime.id, RD_ID_RUNTIME);
    uint32_t index = processor - RONDO_CPU(0);
    if (!rt) {
        *status = rd_id_error(runtime.id, RD_ID_RUNTIME);
    } else if (processor < RONDO_CPU(0) || index >= rt->processors) {
        *status =
            rd_error(RONDO_ERR_INVALID,
                     "rondo_processor_drive: 0x%x is no processor of the runtime, which has %u",
                     processor, rt->processors);
    } else if (index >= rt->adopted) {
        *status = rd_error(RONDO_ERR_INVALID,
                           "rondo_processor_drive: cpu %u has a worker of its own, adopted are %u",
                           index, rt->adopted);
    } else if (!rd_worker_take(&rt->workers[index])) {
        *status = rd_error(RONDO_ERR_INVALID, "rondo_processor_drive: another thread drives cpu %u",
                           index);
    } else {
        *status = RONDO_OK;
        return &rt->workers[index];
    }
    return NULL;
}

static rondo_status until_of(rondo_event event, int64_t timeout_ns, struct rd_until *until)
{
    *until = (struct rd_until){ NULL, event.source, event.count, -1, timeout_ns == 0 };
    if (timeout_ns > 0 && __builtin_add_overflow(rd_os.now_ns(), timeout_ns, &until->deadline))
        until->deadline = -1;
    if (!event.source)
        return RONDO_OK;
    until->source = rd_source_find(event.source);
    if (until->source)
        return RONDO_OK;
    return rd_error(RONDO_ERR_INVALID,
                    "rondo_processor_drive: {0x%llx, %llu} is no event of this process",
                    (unsigned long long)event.source, (unsigned long long)event.count);
}

rondo_status rondo_processor_drive(rondo_runtime runtime, rondo_processor processor,
                                   rondo_event until, int64_t timeout_ns)
{
    struct rd_until what;
    struct rd_worker *w;
    rondo_status status;
    if (rd_task_depth)
        return rd_error(RONDO_ERR_WOULD_BLOCK, "rondo_processor_drive inside a task");
    status = until_of(until, timeout_ns, &what);
    if (status)
        return status;
    rd_rcu_read_lock();
    w = take(runtime, processor, &status);
    rd_rcu_read_unlock();
    if (!w)
        return status;
    status = rd_worker_drive(w, &what);
    if (status == RONDO_ERR_AGAIN)
        return rd_error(status, "rondo_processor_drive: the time is over");
    if (status)
        return rd_error(status, "rondo_processor_drive: the runtime was closed");
    return RONDO_OK;
}
