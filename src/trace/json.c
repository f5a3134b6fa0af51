/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a trace in the Trace Event Format (the JSON that chrome://tracing and Perfetto read): a
 * complete event per span, metadata that names each lane. */
#include "src/base/json_write.h"
#include "src/trace/spans.h"

/* Microseconds, exact to the nanosecond. */
static void put_time(struct rd_json_out *p, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    rd_json_put(p, "%s%llu.%03llu", ns < 0 ? "-" : "", (unsigned long long)(size / 1000),
                (unsigned long long)(size % 1000));
}

static uint32_t process_of(const struct rd_trace_page *page)
{
    return (uint32_t)page->runtime; /* no two runtimes that live at one time share it */
}

static void put_lane(struct rd_json_out *p, const struct rd_trace_page *page,
                     const struct rd_spans *s)
{
    rd_json_put(
        p, ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"",
        process_of(page), s->number);
    rd_json_put(p, "exec '");
    rd_json_text(p, s->names ? s->names->exec : "?");
    rd_json_put(p, "'");
    if (s->tracks > 1)
        rd_json_put(p, " track %u", s->track);
    if (s->on_device)
        rd_json_put(p, " gpu %u", s->device - 1);
    else
        rd_json_put(p, " lane %u", s->lane);
    if (s->device && !s->on_device)
        rd_json_put(p, " (submits to gpu %u)", s->device - 1);
    else if (!s->device && s->processor < page->processors)
        rd_json_put(p, " (cpu %u)", s->processor);
    else if (!s->device)
        rd_json_put(p, " (a thread of its own)");
    rd_json_put(p,
                "\"}},\n{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,"
                "\"args\":{\"sort_index\":%u}}",
                process_of(page), s->number, s->number);
}

static void put_span(struct rd_json_out *p, const struct rd_trace_page *page,
                     const struct rd_spans *s, const struct rd_span *span)
{
    const struct rd_trace_names *names = s->names;
    uint32_t node = span->node;
    rd_json_put(p, ",\n{\"name\":\"");
    if (names && node < names->nodes)
        rd_json_text(p, names->names + names->name[node]);
    else
        rd_json_put(p, "node %u", node);
    rd_json_put(p,
                "\",\"cat\":\"node\",\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", process_of(page),
                s->number);
    put_time(p, span->begin_ns - page->begin_ns);
    rd_json_put(p, ",\"dur\":");
    put_time(p, span->end_ns - span->begin_ns);
    rd_json_put(
        p, ",\"args\":{\"replay\":%llu,\"node\":%u,\"tag\":%llu}}",
        (unsigned long long)span->replay, node,
        (unsigned long long)(names && names->tag && node < names->nodes ? names->tag[node] : 0));
}

void rd_trace_write(const struct rd_trace_page *page,
                    void (*write)(void *context, const char *text), void *context)
{
    struct rd_json_out p = { write, context, 0, { 0 } };
    uint64_t kept = 0, dropped = 0;
    rd_json_put(&p,
                "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,"
                "\"args\":{\"name\":\"rondo runtime 0x%llx\"}}",
                process_of(page), (unsigned long long)page->runtime);
    for (const struct rd_spans *s = page->spans; s; s = s->next) {
        put_lane(&p, page, s);
        for (const struct rd_spans_chunk *c = s->first; c; c = c->next)
            for (uint32_t i = 0; i < c->count; i++)
                put_span(&p, page, s, &c->span[i]);
        kept += s->count;
        dropped += s->dropped;
    }
    rd_json_put(
        &p, "\n],\"otherData\":{\"spans\":\"%llu\",\"dropped\":\"%llu\",\"begin_ns\":\"%lld\"}}\n",
        (unsigned long long)kept, (unsigned long long)dropped, (long long)page->begin_ns);
    rd_json_flush(&p);
}
