/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo/trace.h but rondo_where. */
#include "src/trace/trace.h"

#include "src/base/error.h"

#include <rondo/trace.h>

rondo_status rondo_trace_start(rondo_runtime runtime, uint64_t most_spans)
{
    rondo_status status;
    struct rd_runtime *rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    status = rd_trace_start(rt->trace, most_spans);
    rd_runtime_unref(rt);
    return status;
}

rondo_status rondo_trace_stop(rondo_runtime runtime, void (*write)(void *context, const char *text),
                              void *context)
{
    rondo_status status;
    struct rd_runtime *rt;
    if (!write)
        return rd_error(RONDO_ERR_INVALID, "rondo_trace_stop: write is NULL");
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    status = rd_trace_stop(rt->trace, write, context);
    rd_runtime_unref(rt);
    return status;
}
