/* SPDX-License-Identifier: BSD-3-Clause */
/* Graph files made from bytes: raw text, a row of the format's words, or a file by its grammar with
 * values that are mostly right. Whatever they say, reading crashes never and leaves nothing; what
 * it accepts is written, read and written again as the same bytes.
 *
 * LLVMFuzzerTestOneInput is libFuzzer's entry. Built with FUZZ_ALONE the program makes its own
 * random bytes: `fuzz_read_json [executions [seed]]`. */
#include <rondo/rondo.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1 << 15, COUNTERS = 4, ROUND = 4096 };

static rondo_runtime runtime;
static rondo_counter counters[COUNTERS];
static struct {
    unsigned long read, nodes;
} made; /* for the summary */

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, rondo_error_message());
    abort();
}

/* ---- bytes and texts */

struct bytes {
    const uint8_t *at, *end;
};

static uint32_t take(struct bytes *b) { return b->at < b->end ? *b->at++ : 0; }
static uint32_t below(struct bytes *b, uint32_t n) { return take(b) % n; }
/* Once in a while something that cannot be right. */
static int odd(struct bytes *b) { return take(b) > 252; }

struct text {
    size_t used;
    char at[TEXT];
};

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *format, ...)
{
    va_list args;
    int n;
    va_start(args, format);
    n = vsnprintf(t->at + t->used, TEXT - t->used, format, args);
    va_end(args);
    t->used += n < 0 ? 0 : (size_t)n < TEXT - t->used ? (size_t)n : TEXT - t->used - 1;
}

static void append(void *context, const char *piece) { put(context, "%s", piece); }

/* ---- the format's words in any order */

static const char *const words[] = {
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    " ",
    "\n",
    "0",
    "1",
    "2",
    "-1",
    "7",
    "1.5",
    "1e9",
    "true",
    "false",
    "null",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\xff\"",
    "\"18446744073709551615\"",
    "\"00ff\"",
    "\"0g\"",
    "[0]",
    "[[]]",
    "{\"rondo\": 1",
    "\"rondo\": 1",
    "\"name\": \"a\"",
    "\"edges_explicit\": true",
    "\"buffers\": [",
    "\"slots\": [",
    "\"params\": [",
    "\"nodes\": [",
    "\"edges\": [",
    "\"kind\": \"task\"",
    "\"kind\": \"call\"",
    "\"kind\": \"copy\"",
    "\"kind\": \"kernel\"",
    "\"kind\": \"launch\"",
    "\"images\": [",
    "\"text\": \"a\"",
    "\"image\": 0",
    "\"args\": [{\"local\": 8}]",
    "\"global\": [8]",
    "\"on\": \"gpu 0\"",
    "\"kind\": \"ring\"",
    "\"kind\": \"token\"",
    "\"shape\": {\"elem_bytes\": 8, \"extent\": [4]}",
    "\"shape\": {\"extent\": [4]}",
    "\"accesses\": [",
    "{\"slot\": 0, \"mode\": \"read\"}",
    "\"after\": [0]",
    "\"when\": [{\"every\": 2}]",
    "{\"bytes\": 8}",
    "{}",
    "\"memory\": 0",
};

static void put_words(struct bytes *b, struct text *t)
{
    if (below(b, 4))
        put(t, "{\"rondo\": 1, ");
    while (b->at < b->end)
        put(t, "%s", words[below(b, sizeof words / sizeof *words)]);
}

/* ---- a file by its grammar */

static void put_odd(struct bytes *b, struct text *t)
{
    put(t, "%s", words[below(b, sizeof words / sizeof *words)]);
}

/* A number below n, mostly. */
static void put_number(struct bytes *b, struct text *t, uint32_t n)
{
    if (odd(b))
        put_odd(b, t);
    else
        put(t, "%u", below(b, n ? n : 1));
}

static void put_word(struct bytes *b, struct text *t, const char *const *of, uint32_t count)
{
    if (odd(b))
        put_odd(b, t);
    else
        put(t, "\"%s\"", of[below(b, count)]);
}
#define WORDS(...) \
    (const char *const[]) { __VA_ARGS__ }
#define PUT_WORD(b, t, ...) \
    put_word(b, t, WORDS(__VA_ARGS__), sizeof(WORDS(__VA_ARGS__)) / sizeof(char *))

static void put_numbers(struct bytes *b, struct text *t, const char *key, uint32_t count,
                        uint32_t n)
{
    put(t, "%s[", key);
    for (uint32_t i = 0; i < count; i++) {
        put(t, i ? ", " : "");
        put_number(b, t, n);
    }
    put(t, "]");
}

static void put_hex(struct bytes *b, struct text *t, const char *key, uint32_t bytes)
{
    put(t, "%s\"", key);
    for (uint32_t i = 0; i < bytes; i++)
        put(t, "%02x", take(b));
    put(t, odd(b) ? "0\"" : "\"");
}

static void put_region(struct bytes *b, struct text *t, const char *key)
{
    uint32_t dims = below(b, 6) ? 1 : 1 + below(b, 3);
    put(t, "%s{", key);
    put_numbers(b, t, "\"first\": ", dims, dims > 1 ? 1 : 3);
    put_numbers(b, t, ", \"count\": ", dims, dims > 1 ? 2 : 3);
    put(t, "}");
}

static void put_shape(struct bytes *b, struct text *t, int token)
{
    put(t, ", \"shape\": {");
    if (token == odd(b))
        put(t, "\"elem_bytes\": %u, ", below(b, 8) ? 8u : 4u << below(b, 3));
    put(t, "\"extent\": [%u", below(b, 4) ? 8 : 4 + below(b, 8));
    for (uint32_t d = below(b, 4) ? 0 : below(b, 3); d; d--)
        put(t, ", %u", 1 + below(b, 5));
    put(t, "]");
    if (!token && odd(b))
        put_numbers(b, t, ", \"pitch_bytes\": ", 1 + below(b, 2), 255);
    put(t, "}");
}

/* How many there are of each, so that most references are right. */
struct file {
    uint32_t buffers, slots, params, images, nodes;
};

static void put_buffers(struct bytes *b, struct text *t, struct file *f)
{
    f->buffers = 1 + below(b, 4);
    for (uint32_t i = 0; i < f->buffers; i++) {
        put(t, i ? ",\n{\"name\": \"b%u\"" : ",\n\"buffers\": [{\"name\": \"b%u\"", i);
        put_shape(b, t, 0);
        if (!below(b, 3)) {
            put(t, ", \"memory\": ");
            put_number(b, t, f->buffers);
            put(t, ", \"offset\": ");
            put_number(b, t, 96);
        }
        put(t, "}");
    }
    put(t, "]");
}

static void put_slot(struct bytes *b, struct text *t, const struct file *f, uint32_t i)
{
    uint32_t kind = below(b, 8);
    put(t, "{\"name\": \"s%u\"", below(b, 32) ? i : 0);
    if (kind < 3) {
        put(t, ", \"kind\": \"fixed\", \"buffer\": ");
        put_number(b, t, f->buffers);
    } else if (kind == 3) {
        put(t, ", \"kind\": \"ring\", ");
        put_numbers(b, t, "\"buffers\": ", 1 + below(b, 4), f->buffers);
        put(t, ", \"first\": %u, \"stride\": %u", !below(b, 8), below(b, 4));
    }
    if (kind > 3)
        put(t, ", \"kind\": \"%s\"%s", WORDS("bound", "bound", "temporary", "token")[kind - 4],
            kind == 6 && below(b, 2) ? ", \"zeroed\": true" : "");
    if (kind > 3 || odd(b))
        put_shape(b, t, kind == 7);
    if (kind < 6 && !below(b, 12)) {
        put(t, ", \"at_end\": ");
        PUT_WORD(b, t, "host", "gpu 0", "gpu 15");
    }
    if (kind < 6 && i && !below(b, 12))
        put(t, ", \"alias_of\": \"s%u\"", below(b, odd(b) ? i + 1 : i));
    put(t, "}");
}

static void put_places(struct bytes *b, struct text *t, struct file *f)
{
    f->slots = 1 + below(b, 5);
    f->params = below(b, 4);
    put(t, ",\n\"slots\": [");
    for (uint32_t i = 0; i < f->slots; i++) {
        put(t, i ? ",\n" : "");
        put_slot(b, t, f, i);
    }
    put(t, "],\n\"params\": [");
    for (uint32_t i = 0; i < f->params; i++) {
        uint32_t bytes = 8u << below(b, 2);
        put(t, "%s{\"name\": \"p%u\", \"bytes\": %u", i ? ", " : "", i, bytes);
        if (below(b, 2))
            put_hex(b, t, ", \"initial\": ", bytes + (uint32_t)odd(b));
        put(t, "}");
    }
    put(t, "]");
}

/* By number or name. */
static void put_ref(struct bytes *b, struct text *t, const char *key, char of, uint32_t count)
{
    put(t, "%s", key);
    if (below(b, 2))
        put_number(b, t, count);
    else
        put(t, "\"%c%u\"", of, below(b, count ? count : 1));
}

static void put_accesses(struct bytes *b, struct text *t, const struct file *f)
{
    uint32_t count = below(b, 4);
    put(t, ", \"accesses\": [");
    for (uint32_t i = 0; i < count; i++) {
        put_ref(b, t, i ? ", {\"slot\": " : "{\"slot\": ", 's', f->slots);
        put(t, ", \"mode\": ");
        if (below(b, 6))
            PUT_WORD(b, t, "read", "write", "read_write", "commute");
        else
            put(t, "\"reduce\", \"type\": \"%s\", \"op\": \"max\"",
                WORDS("f64", "i64", "f32", "i32")[below(b, 4)]);
        if (below(b, 2))
            put_region(b, t, ", \"region\": ");
        for (uint32_t k = below(b, 8) ? 0 : 1 + below(b, 3), j = 0; j < k; j++) {
            put_region(b, t, j ? ", " : ", \"boxes\": [");
            put(t, j + 1 < k ? "" : "]");
        }
        put(t, "}");
    }
    put(t, "]");
}

static void put_task(struct bytes *b, struct text *t, const struct file *f)
{
    uint32_t has = take(b);
    if (has & 7)
        put_accesses(b, t, f);
    if (has & 8 && f->params)
        put_ref(b, t, ", \"params\": [", 'p', f->params), put(t, "]");
    if ((has & 0x30) == 0x30 && f->params) {
        put_hex(b, t, ", \"arg\": ", 1 + below(b, 24));
        put_ref(b, t, ", \"patches\": [{\"param\": ", 'p', f->params);
        put(t, ", \"bytes\": %u, \"to\": %u}]", 1 + below(b, 8), below(b, 4));
    }
    if ((has & 0xc0) == 0xc0)
        put_region(b, t, ", \"chunk\": ");
    if (!below(b, 4))
        put(t, ", \"flags\": [\"%s\"]",
            WORDS("spmd", "hosted", "detached", "may_stop", "may_block", "no_access")[below(b, 6)]);
    if (odd(b))
        put(t, ", \"team\": 1");
    if (!below(b, 6)) {
        put(t, ", \"on\": ");
        put_number(b, t, 1);
        put(t, ", \"cost_ns\": %u.5, \"priority\": -%u", take(b), take(b));
    }
}

static void put_device(struct bytes *b, struct text *t)
{
    put(t, ", \"on\": ");
    PUT_WORD(b, t, "gpu 0", "gpu 1", "gpu 15");
}

static void put_arg(struct bytes *b, struct text *t, const struct file *f)
{
    switch (below(b, 5)) {
    case 0:
        put(t, "{\"access\": ");
        put_number(b, t, 2);
        put(t, "}");
        break;
    case 1:
        put_hex(b, t, "{\"value\": ", 1 + below(b, 12));
        put(t, "}");
        break;
    case 2:
        put(t, "{\"local\": ");
        put_number(b, t, 255);
        put(t, "}");
        break;
    default:
        put_ref(b, t, below(b, 2) ? "{\"param\": " : "{\"param_address\": ", 'p', f->params);
        put(t, "}");
    }
}

static void put_kernel(struct bytes *b, struct text *t, const struct file *f)
{
    static const uint8_t divides[] = { 1, 2, 3, 6, 12 };
    uint32_t dims = 1 + below(b, 3);
    put(t, ", \"format\": \"opencl_c\", \"entry\": \"k%u\", \"image\": ", below(b, 3));
    put_number(b, t, f->images);
    if (below(b, 4))
        put_accesses(b, t, f);
    else
        put(t, ", \"flags\": [\"no_access\"]");
    if (!below(b, 4))
        put(t, ", \"options\": \"-D X=%u\"", take(b));
    for (uint32_t n = below(b, 4), i = 0; i < n; i++) {
        put(t, i ? ", " : ", \"args\": [");
        put_arg(b, t, f);
        put(t, i + 1 < n ? "" : "]");
    }
    for (uint32_t local = 0; local < 1 + below(b, 2); local++)
        for (uint32_t d = 0; d < dims; d++)
            put(t, "%s%u%s",
                d       ? ", "
                : local ? ", \"local\": ["
                        : ", \"global\": [",
                local ? (uint32_t)divides[below(b, sizeof divides)] : 12u, d + 1 < dims ? "" : "]");
    if (!below(b, 4))
        put_device(b, t);
}

static void put_launch(struct bytes *b, struct text *t, const struct file *f)
{
    put_accesses(b, t, f);
    if (below(b, 2))
        put_hex(b, t, ", \"arg\": ", 1 + below(b, 24));
    if (below(b, 2) && f->params)
        put_ref(b, t, ", \"params\": [", 'p', f->params), put(t, "]");
    if (!below(b, 4))
        put_device(b, t);
}

static void put_images(struct bytes *b, struct text *t, struct file *f)
{
    f->images = below(b, 4);
    for (uint32_t i = 0; i < f->images; i++) {
        put(t, i ? ", " : ",\n\"images\": [");
        if (below(b, 4))
            put(t, "{\"text\": \"kernel void k%u() {}\\n\"}", below(b, 3));
        else
            put_hex(b, t, "{\"bytes\": ", 1 + below(b, 4)), put(t, "}");
        put(t, i + 1 < f->images ? "" : "]");
    }
}

static void put_move(struct bytes *b, struct text *t, const struct file *f, uint32_t kind)
{
    if (kind != 2) {
        put_ref(b, t, ", \"from\": {\"slot\": ", 's', f->slots);
        if (below(b, 2))
            put_region(b, t, ", \"region\": ");
        put(t, "}");
    }
    if (kind != 3 || below(b, 2)) {
        put_ref(b, t, ", \"to\": {\"slot\": ", 's', f->slots);
        if (below(b, 2))
            put_region(b, t, ", \"region\": ");
        put(t, "}");
    }
    if (!below(b, 4) && f->params)
        put_ref(b, t, ", \"count\": ", 'p', f->params);
    if (!below(b, 4))
        put_device(b, t);
    if (kind == 2)
        put_hex(b, t, ", \"value\": ", below(b, 8) ? 8 : 4);
    if (kind == 3)
        put(t, ", \"type\": \"i32\", \"op\": \"min\"");
}

static void put_sync(struct bytes *b, struct text *t, const struct file *f, uint32_t kind)
{
    if (kind == 4 && f->params && !below(b, 3)) {
        put_ref(b, t, ", \"event\": ", 'p', f->params);
        return;
    }
    put(t, ", \"counter\": ");
    put_number(b, t, COUNTERS);
    if (below(b, 2))
        put(t, ", \"first\": %u, \"step\": \"%" PRIu64 "\"", take(b), UINT64_MAX >> below(b, 3));
}

static void put_node(struct bytes *b, struct text *t, struct file *f)
{
    static const char *const kinds[] = { "call", "copy",   "fill",   "allreduce",
                                         "wait", "signal", "kernel", "launch" };
    uint32_t kind = below(b, 16);
    put(t, "{\"kind\": \"%s\"", kind < 8 ? kinds[kind] : "task");
    if (below(b, 2))
        put(t, ", \"name\": \"n%u\"", f->nodes);
    if (kind && below(b, 4) == 0)
        put(t, ", \"tag\": %u", take(b));
    if (kind > 7)
        put_task(b, t, f);
    else if (kind > 5)
        kind == 6 ? put_kernel(b, t, f) : put_launch(b, t, f);
    else if (kind > 3)
        put_sync(b, t, f, kind);
    else if (kind)
        put_move(b, t, f, kind);
    if (f->nodes && !below(b, 3))
        put_numbers(b, t, ", \"after\": ", 1 + below(b, 2), f->nodes);
    for (uint32_t k = below(b, 4) ? 0 : 1 + below(b, 2), i = 0; i < k; i++) {
        put(t, "%s{\"every\": %u", i ? ", " : ", \"when\": [", 1 + below(b, 3));
        if (!below(b, 3))
            put_ref(b, t, ", \"flag\": ", 's', f->slots);
        if (!below(b, 3) && f->params)
            put_ref(b, t, ", \"param\": ", 'p', f->params);
        put(t, i + 1 < k ? "}" : "}]");
    }
    if (odd(b))
        put_odd(b, t);
    put(t, "}");
    f->nodes++;
}

static void put_file(struct bytes *b, struct text *t)
{
    struct file f = { 0, 0, 0, 0, 0 };
    uint32_t nodes = 1 + below(b, 8), edges = below(b, 4);
    put(t, "{\"rondo\": 1%s", odd(b) ? ", \"edges_explicit\": true" : "");
    put_buffers(b, t, &f);
    put_places(b, t, &f);
    put_images(b, t, &f);
    put(t, ",\n\"nodes\": [");
    for (uint32_t i = 0; i < nodes; i++) {
        put(t, i ? ",\n" : "");
        put_node(b, t, &f);
    }
    put(t, "],\n\"edges\": [");
    for (uint32_t i = 0; i < edges; i++)
        put(t, "%s{\"from\": %u, \"to\": %u, \"distance\": %u}", i ? ", " : "",
            below(b, nodes + (uint32_t)odd(b)), below(b, nodes), below(b, 3));
    put(t, "]}");
    if (odd(b))
        t->used = take(b) * t->used / 256;
}

/* ---- reading and writing */

static rondo_status give_counter(void *context, uint32_t number, rondo_counter *counter)
{
    (void)context;
    if (number < COUNTERS)
        *counter = counters[number];
    return RONDO_OK;
}

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static rondo_status give_task(void *context, uint32_t node, rondo_task_desc *desc,
                              void (**call)(void *context))
{
    (void)context;
    (void)call;
    made.nodes += node == 0;
    desc->fn = nothing;
    return RONDO_OK;
}

static int read_text(const struct text *t, rondo_subgraph *g)
{
    static const rondo_read_options o = {
        .task = give_task, .counter = give_counter, .most_buffer_bytes = 1 << 16, .most_nodes = 1000
    };
    rondo_status status = rondo_subgraph_read_json(runtime, t->at, t->used, &o, g);
    if (status && status != RONDO_ERR_INVALID)
        die("reading");
    if (status && (strncmp(rondo_error_message(), "line ", 5) != 0))
        die("a message without a line");
    return !status;
}

static void write_text(rondo_subgraph g, struct text *t)
{
    t->used = 0;
    if (rondo_subgraph_write_json(g, append, t))
        die("writing");
    if (rondo_subgraph_destroy(g))
        die("destroying");
}

static void round_trip(struct text *t)
{
    static struct text first, second;
    rondo_subgraph g;
    if (!read_text(t, &g))
        return;
    made.read++;
    if (made.read % 16 == 0 && rondo_subgraph_visit(g, NULL, NULL, NULL))
        die("visiting");
    write_text(g, &first);
    if (first.used >= TEXT - 1)
        return;
    if (!read_text(&first, &g))
        die(first.at);
    write_text(g, &second);
    if (first.used != second.used || memcmp(first.at, second.at, first.used) != 0) {
        fprintf(stderr, "%s\n---- became\n%s\n", first.at, second.at);
        abort();
    }
}

static void open_runtime(void)
{
    rondo_runtime_options o = { .cpus = "0" };
    if (rondo_runtime_open(&o, &runtime))
        die("open");
    for (int i = 0; i < COUNTERS; i++)
        if (rondo_counter_create(runtime, 0, &counters[i]))
            die("counter");
}

static void look_for_leaks(void)
{
    rondo_runtime_statistics s;
    if (rondo_runtime_stats(runtime, &s))
        die("statistics");
    if (s.subgraphs || s.buffers) {
        fprintf(stderr, "left: %llu subgraphs, %llu buffers\n", (unsigned long long)s.subgraphs,
                (unsigned long long)s.buffers);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct text t;
    static unsigned round;
    struct bytes b = { data, data + size };
    uint32_t how = take(&b);
    if (!runtime.id)
        open_runtime();
    t.used = 0;
    if (how % 8 == 0) {
        t.used = (size_t)(b.end - b.at) < TEXT ? (size_t)(b.end - b.at) : TEXT;
        if (t.used)
            memcpy(t.at, b.at, t.used);
    } else if (how % 8 == 1) {
        put_words(&b, &t);
    } else {
        put_file(&b, &t);
    }
    round_trip(&t);
    if (++round % ROUND == 0)
        look_for_leaks();
    return 0;
}

#ifdef FUZZ_ALONE
static void end_all(void)
{
    rondo_runtime_statistics s;
    for (int i = 0; i < COUNTERS; i++)
        if (rondo_counter_destroy(counters[i]))
            die("counter");
    look_for_leaks();
    if (rondo_runtime_drain(runtime) || rondo_runtime_stats(runtime, &s) || s.bytes)
        die("bytes are left");
    if (rondo_runtime_close(runtime))
        die("close");
}

int main(int argc, char **argv)
{
    unsigned long executions = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (unsigned long i = 0; i < executions; i++) {
        uint8_t data[384];
        uint64_t r = (seed + i) * 0x9e3779b97f4a7c15u;
        for (size_t k = 0; k < sizeof data; k++) {
            r ^= r << 13;
            r ^= r >> 7;
            r ^= r << 17;
            data[k] = (uint8_t)(r >> 32);
        }
        LLVMFuzzerTestOneInput(data, 32 + (size_t)(r % (sizeof data - 32)));
    }
    end_all();
    printf("%lu executions, %lu files accepted, %lu with tasks\n", executions, made.read,
           made.nodes);
    if (executions >= 1000 && made.read < executions / 100) {
        fprintf(stderr, "too few are accepted\n");
        return 1;
    }
    return 0;
}
#endif
