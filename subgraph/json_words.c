/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of the format, and which slot or parameter a name stands for. */
#include "subgraph/json.h"

#include <string.h>

#define ALL       UINT32_MAX /* kinds */
#define BIT(kind) (1u << (kind))
enum {
    TASK = BIT(RD_NODE_TASK),
    KERNEL = BIT(RD_NODE_KERNEL),
    FUNCTION = TASK | BIT(RD_NODE_LAUNCH),
    WORK = FUNCTION | KERNEL,
    MOVE = BIT(RD_NODE_COPY) | BIT(RD_NODE_FILL) | BIT(RD_NODE_ALLREDUCE),
    FROM = BIT(RD_NODE_COPY) | BIT(RD_NODE_ALLREDUCE),
    SYNC = BIT(RD_NODE_WAIT) | BIT(RD_NODE_SIGNAL),
    MEMORY = BIT(RD_SLOT_FIXED) | BIT(RD_SLOT_RING) | BIT(RD_SLOT_BOUND)
};

static const struct rd_json_key file_keys[] = {
    { "rondo", ALL },   { "name", ALL },  { "edges_explicit", ALL },
    { "buffers", ALL }, { "slots", ALL }, { "params", ALL },
    { "images", ALL },  { "nodes", ALL }, { "edges", ALL },
};
static const struct rd_json_key buffer_keys[] = {
    { "name", ALL },
    { "shape", ALL },
    { "memory", ALL },
    { "offset", ALL },
};
static const struct rd_json_key shape_keys[] = {
    { "elem_bytes", ALL },
    { "extent", ALL },
    { "pitch_bytes", ALL },
};
static const struct rd_json_key slot_keys[] = {
    { "name", ALL },
    { "kind", ALL },
    { "shape", ALL },
    { "buffer", BIT(RD_SLOT_FIXED) },
    { "buffers", BIT(RD_SLOT_RING) },
    { "first", BIT(RD_SLOT_RING) },
    { "stride", BIT(RD_SLOT_RING) },
    { "zeroed", BIT(RD_SLOT_TEMPORARY) },
    { "alias_of", MEMORY },
    { "at_end", MEMORY },
};
static const struct rd_json_key param_keys[] = {
    { "name", ALL },
    { "bytes", ALL },
    { "initial", ALL },
};
static const struct rd_json_key image_keys[] = {
    { "text", ALL },
    { "bytes", ALL },
};
static const struct rd_json_key node_keys[] = {
    { "kind", ALL },
    { "name", ALL },
    { "tag", WORK | MOVE | SYNC },
    { "on", WORK | MOVE },
    { "priority", WORK | MOVE | SYNC },
    { "cost_ns", WORK | MOVE },
    { "flags", WORK },
    { "team", TASK },
    { "stop_lag", TASK },
    { "accesses", WORK },
    { "params", FUNCTION },
    { "patches", FUNCTION },
    { "arg", FUNCTION },
    { "chunk", TASK },
    { "image", KERNEL },
    { "format", KERNEL },
    { "entry", KERNEL },
    { "options", KERNEL },
    { "args", KERNEL },
    { "global", KERNEL },
    { "local", KERNEL },
    { "from", FROM },
    { "to", MOVE },
    { "count", MOVE },
    { "value", BIT(RD_NODE_FILL) },
    { "type", BIT(RD_NODE_ALLREDUCE) },
    { "op", BIT(RD_NODE_ALLREDUCE) },
    { "counter", SYNC },
    { "first", SYNC },
    { "step", SYNC },
    { "event", BIT(RD_NODE_WAIT) },
    { "when", ALL },
    { "after", ALL },
};
static const struct rd_json_key access_keys[] = {
    { "slot", ALL },  { "mode", ALL }, { "region", ALL },
    { "boxes", ALL }, { "type", ALL }, { "op", ALL },
};
static const struct rd_json_key side_keys[] = {
    { "slot", ALL },
    { "region", ALL },
};
static const struct rd_json_key region_keys[] = {
    { "first", ALL },
    { "count", ALL },
};
static const struct rd_json_key patch_keys[] = {
    { "param", ALL },
    { "from", ALL },
    { "to", ALL },
    { "bytes", ALL },
};
static const struct rd_json_key arg_keys[] = {
    { "access", ALL },        { "value", ALL }, { "param", ALL },
    { "param_address", ALL }, { "local", ALL },
};
static const struct rd_json_key when_keys[] = {
    { "param", ALL },
    { "flag", ALL },
    { "every", ALL },
    { "phase", ALL },
};
static const struct rd_json_key edge_keys[] = {
    { "from", ALL },
    { "to", ALL },
    { "distance", ALL },
};

#define KEYS(name, keys)                          \
    {                                             \
        name, keys, sizeof(keys) / sizeof *(keys) \
    }
const struct rd_json_keys rd_json_objects[RD_JSON_OBJECTS] = {
    [RD_JSON_FILE] = KEYS("file", file_keys),       [RD_JSON_BUFFER] = KEYS("buffer", buffer_keys),
    [RD_JSON_SHAPE] = KEYS("shape", shape_keys),    [RD_JSON_SLOT] = KEYS("slot", slot_keys),
    [RD_JSON_PARAM] = KEYS("param", param_keys),    [RD_JSON_NODE] = KEYS("node", node_keys),
    [RD_JSON_ACCESS] = KEYS("access", access_keys), [RD_JSON_SIDE] = KEYS("side", side_keys),
    [RD_JSON_REGION] = KEYS("region", region_keys), [RD_JSON_PATCH] = KEYS("patch", patch_keys),
    [RD_JSON_WHEN] = KEYS("when", when_keys),       [RD_JSON_EDGE] = KEYS("edge", edge_keys),
    [RD_JSON_IMAGE] = KEYS("image", image_keys),    [RD_JSON_ARG] = KEYS("arg", arg_keys),
};

const struct rd_json_word rd_json_node_kinds[] = {
    { "task", RD_NODE_TASK },           { "call", RD_NODE_CALL },
    { "copy", RD_NODE_COPY },           { "fill", RD_NODE_FILL },
    { "allreduce", RD_NODE_ALLREDUCE }, { "wait", RD_NODE_WAIT },
    { "signal", RD_NODE_SIGNAL },       { "kernel", RD_NODE_KERNEL },
    { "launch", RD_NODE_LAUNCH },       { NULL, 0 },
};
const struct rd_json_word rd_json_slot_kinds[] = {
    { "fixed", RD_SLOT_FIXED },         { "ring", RD_SLOT_RING },   { "bound", RD_SLOT_BOUND },
    { "temporary", RD_SLOT_TEMPORARY }, { "token", RD_SLOT_TOKEN }, { NULL, 0 },
};
const struct rd_json_word rd_json_modes[] = {
    { "read", RONDO_READ },       { "write", RONDO_WRITE },   { "read_write", RONDO_READ_WRITE },
    { "commute", RONDO_COMMUTE }, { "reduce", RONDO_REDUCE }, { NULL, 0 },
};
const struct rd_json_word rd_json_types[] = {
    { "f64", RONDO_F64 }, { "f32", RONDO_F32 }, { "i64", RONDO_I64 },
    { "i32", RONDO_I32 }, { NULL, 0 },
};
const struct rd_json_word rd_json_ops[] = {
    { "sum", RONDO_SUM },
    { "min", RONDO_MIN },
    { "max", RONDO_MAX },
    { NULL, 0 },
};
const struct rd_json_word rd_json_flags[] = {
    { "hosted", RONDO_HOSTED },
    { "spmd", RONDO_SPMD },
    { "detached", RONDO_DETACHED },
    { "may_stop", RONDO_MAY_STOP },
    { "may_block", RONDO_MAY_BLOCK },
    { "no_access", RONDO_NO_ACCESS },
    { NULL, 0 },
};

const struct rd_json_word rd_json_formats[] = {
    { "opencl_c", RONDO_OPENCL_C },
    { NULL, 0 },
};
const struct rd_json_word rd_json_arg_kinds[] = {
    { "access", RONDO_ARG_ACCESS }, { "value", RONDO_ARG_VALUE },
    { "param", RONDO_ARG_PARAM },   { "param_address", RONDO_ARG_PARAM_ADDRESS },
    { "local", RONDO_ARG_LOCAL },   { NULL, 0 },
};

const char *rd_json_word_of(const struct rd_json_word *words, uint32_t value)
{
    while (words->word && words->value != value)
        words++;
    return words->word;
}

const char *rd_json_default_name(uint32_t node_kind)
{
    return rd_json_word_of(rd_json_node_kinds, node_kind);
}

/* ---- names: open addressing, at most half full */

static const uint32_t several = 0x80000000u;

static uint64_t hash(uint64_t seed, const char *text)
{
    uint64_t h = seed;
    for (; *text; text++) {
        h = (h ^ (unsigned char)*text) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

static const char *text_of(const struct rd_subgraph *g, const void *names, size_t stride,
                           uint32_t index)
{
    uint32_t name;
    memcpy(&name, (const char *)names + index * stride, sizeof name);
    return rd_subgraph_text(g, name);
}

/* Where the text stands, or the empty place where it would. */
static size_t place_of(const struct rd_subgraph *g, const struct rd_names *t, const void *names,
                       size_t stride, const char *text)
{
    size_t i = hash(t->seed, text) & (t->size - 1);
    while (t->at[i] && strcmp(text_of(g, names, stride, (t->at[i] & ~several) - 1), text) != 0)
        i = (i + 1) & (t->size - 1);
    return i;
}

static int grow(const struct rd_subgraph *g, struct rd_names *t, const void *names, size_t stride)
{
    struct rd_names more = { NULL, t->size ? 2 * t->size : 16, t->count, 0 };
    size_t i;
    more.at = rd_zalloc_array(&g->rt->alloc, more.size, sizeof *more.at);
    if (!more.at)
        return 0;
    /* Who makes names that collide would have to know where blocks lie. */
    more.seed = (uint64_t)(uintptr_t)more.at * 0xd1342543de82ef95u ^ (uint64_t)(uintptr_t)g;
    for (i = 0; i < t->size; i++)
        if (t->at[i])
            more.at[place_of(g, &more, names, stride,
                             text_of(g, names, stride, (t->at[i] & ~several) - 1))] = t->at[i];
    rd_names_free(g, t);
    *t = more;
    return 1;
}

int rd_names_add(const struct rd_subgraph *g, struct rd_names *t, const void *names, size_t stride,
                 uint32_t index)
{
    size_t i;
    if (2 * (t->count + 1) > t->size && !grow(g, t, names, stride))
        return 0;
    i = place_of(g, t, names, stride, text_of(g, names, stride, index));
    if (t->at[i]) {
        t->at[i] |= several;
    } else {
        t->at[i] = index + 1;
        t->count++;
    }
    return 1;
}

uint32_t rd_names_find(const struct rd_subgraph *g, const struct rd_names *t, const void *names,
                       size_t stride, const char *text)
{
    uint32_t at = t->size ? t->at[place_of(g, t, names, stride, text)] : 0;
    return !at ? (uint32_t)RD_NAME_NONE : at & several ? (uint32_t)RD_NAME_SEVERAL : at - 1;
}

void rd_names_free(const struct rd_subgraph *g, struct rd_names *t)
{
    rd_free_array(&g->rt->alloc, t->at, t->size, sizeof *t->at);
    memset(t, 0, sizeof *t);
}
