/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a trace in the Trace Event Format (the JSON that chrome://tracing and Perfetto read): a
 * complete event per span, metadata that names each lane. */
#include "src/trace/spans.h"

#include <stdarg.h>
#include <string.h>

/* Texts are gathered to pieces of about this size. */
enum { PIECE = 4096, LONGEST = 512 };

struct piece {
    void (*write)(void *context, const char *text);
    void *context;
    size_t used;
    char text[PIECE + LONGEST];
};

static void flush(struct piece *p)
{
    if (p->used)
        p->write(p->context, p->text);
    p->used = 0;
}

/* At most LONGEST - 1 characters. */
static void put(struct piece *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct piece *p, const char *format, ...)
{
    va_list args;
    int n;
    va_start(args, format);
    n = vsnprintf(p->text + p->used, LONGEST, format, args);
    va_end(args);
    p->used += n < 0 ? 0 : n < LONGEST ? (size_t)n : LONGEST - 1;
    if (p->used >= PIECE)
        flush(p);
}

/* How many bytes at `text` are one character of UTF-8 (RFC 3629); 0: they are none. */
static size_t utf8_length(const unsigned char *text)
{
    size_t n = text[0] < 0x80                       ? 1
               : text[0] >= 0xc2 && text[0] <= 0xdf ? 2
               : (text[0] & 0xf0) == 0xe0           ? 3
               : text[0] >= 0xf0 && text[0] <= 0xf4 ? 4
                                                    : 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0; /* longer than need be, a surrogate, past the last character */
    return n;
}

/* The inside of a string. Bytes that are no UTF-8 become the replacement character. */
static void put_text(struct piece *p, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        size_t n = utf8_length(at);
        if (!n)
            put(p, "\\ufffd");
        else if (*at == '"' || *at == '\\')
            put(p, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            put(p, "\\u%04x", *at);
        else
            put(p, "%.*s", (int)n, (const char *)at);
        at += n ? n : 1;
    }
}

/* Microseconds, exact to the nanosecond. */
static void put_time(struct piece *p, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    put(p, "%s%llu.%03llu", ns < 0 ? "-" : "", (unsigned long long)(size / 1000),
        (unsigned long long)(size % 1000));
}

static uint32_t process_of(const struct rd_trace_page *page)
{
    return (uint32_t)page->runtime; /* no two runtimes that live at one time share it */
}

static void put_lane(struct piece *p, const struct rd_trace_page *page, const struct rd_spans *s)
{
    put(p, ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"",
        process_of(page), s->number);
    put(p, "exec '");
    put_text(p, s->names ? s->names->exec : "?");
    put(p, "'");
    if (s->tracks > 1)
        put(p, " track %u", s->track);
    put(p, " lane %u", s->lane);
    if (s->processor < page->processors)
        put(p, " (cpu %u)", s->processor);
    else
        put(p, " (a thread of its own)");
    put(p,
        "\"}},\n{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,"
        "\"args\":{\"sort_index\":%u}}",
        process_of(page), s->number, s->number);
}

static void put_span(struct piece *p, const struct rd_trace_page *page, const struct rd_spans *s,
                     const struct rd_span *span)
{
    const struct rd_trace_names *names = s->names;
    uint32_t node = span->node;
    put(p, ",\n{\"name\":\"");
    if (names && node < names->nodes)
        put_text(p, names->names + names->name[node]);
    else
        put(p, "node %u", node);
    put(p, "\",\"cat\":\"node\",\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", process_of(page),
        s->number);
    put_time(p, span->begin_ns - page->begin_ns);
    put(p, ",\"dur\":");
    put_time(p, span->end_ns - span->begin_ns);
    put(p, ",\"args\":{\"replay\":%llu,\"node\":%u,\"tag\":%llu}}",
        (unsigned long long)span->replay, node,
        (unsigned long long)(names && names->tag && node < names->nodes ? names->tag[node] : 0));
}

void rd_trace_write(const struct rd_trace_page *page,
                    void (*write)(void *context, const char *text), void *context)
{
    struct piece p = { write, context, 0, { 0 } };
    uint64_t kept = 0, dropped = 0;
    put(&p,
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
    put(&p, "\n],\"otherData\":{\"spans\":\"%llu\",\"dropped\":\"%llu\",\"begin_ns\":\"%lld\"}}\n",
        (unsigned long long)kept, (unsigned long long)dropped, (long long)page->begin_ns);
    flush(&p);
}
