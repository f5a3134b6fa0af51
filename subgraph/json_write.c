/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a recording as JSON (docs/graph-file.md): the file, its buffers, slots, parameters and
 * edges by hand. What is as it would be anyhow is left out; a line per part. */
#include "src/device/devices.h"
#include "subgraph/json_writer.h"

#include <inttypes.h>
#include <string.h>

void rd_json_put_number(struct rd_json_writer *w, const char *before, uint64_t value)
{
    /* What no signed number holds is text. */
    rd_json_put(&w->out, value > INT64_MAX ? "%s\"%" PRIu64 "\"" : "%s%" PRIu64, before, value);
}

void rd_json_put_string(struct rd_json_writer *w, const char *before, const char *text)
{
    rd_json_put(&w->out, "%s\"", before);
    rd_json_text(&w->out, text);
    rd_json_put(&w->out, "\"");
}

/* By name, where it has one of its own. */
static void put_part(struct rd_json_writer *w, const char *before, uint32_t index,
                     const struct rd_names *t, const void *names, size_t stride, uint32_t name)
{
    const char *text = rd_subgraph_text(w->g, name);
    if (rd_names_find(w->g, t, names, stride, text) == index && rd_json_is_exact(text))
        rd_json_put_string(w, before, text);
    else
        rd_json_put_number(w, before, index);
}

void rd_json_put_slot(struct rd_json_writer *w, const char *before, uint32_t slot)
{
    const struct rd_slot *s = w->g->slots.item;
    put_part(w, before, slot, &w->slot_names, s, sizeof *s, s[slot].name);
}

void rd_json_put_param(struct rd_json_writer *w, const char *before, uint32_t param)
{
    const struct rd_param *p = w->g->params.item;
    put_part(w, before, param, &w->param_names, p, sizeof *p, p[param].name);
}

static void put_list(struct rd_json_writer *w, const char *before, const int64_t *value, int count)
{
    int i;
    rd_json_put(&w->out, "%s[", before);
    for (i = 0; i < count; i++)
        rd_json_put(&w->out, "%s%" PRId64, i ? ", " : "", value[i]);
    rd_json_put(&w->out, "]");
}

void rd_json_put_region(struct rd_json_writer *w, const char *before, const rondo_region *r,
                        const int64_t whole[3])
{
    int dims = 3;
    while (dims > 1 && !r->first[dims - 1] && r->count[dims - 1] == whole[dims - 1])
        dims--;
    rd_json_put(&w->out, "%s", before);
    put_list(w, "{\"first\": ", r->first, dims);
    put_list(w, ", \"count\": ", r->count, dims);
    rd_json_put(&w->out, "}");
}

/* ---- shapes, buffers, slots, parameters */

static void put_shape(struct rd_json_writer *w, const char *before, const rondo_shape *s, int token)
{
    int64_t pitch[2] = { 0, 0 };
    uint64_t dense = s->elem_bytes * (uint64_t)s->extent[0];
    int dims = 3, pitches = 0, d;
    while (dims > 1 && s->extent[dims - 1] == 1)
        dims--;
    for (d = 0; d < 2; d++) {
        if (s->pitch_bytes[d] != dense) {
            pitch[d] = (int64_t)s->pitch_bytes[d];
            pitches = d + 1;
        }
        dense = s->pitch_bytes[d] * (uint64_t)s->extent[d + 1];
    }
    rd_json_put(&w->out, "%s{", before);
    if (!token)
        rd_json_put_number(w, "\"elem_bytes\": ", s->elem_bytes);
    put_list(w, token ? "\"extent\": " : ", \"extent\": ", s->extent, dims);
    if (pitches)
        put_list(w, ", \"pitch_bytes\": ", pitch, pitches);
    rd_json_put(&w->out, "}");
}

static void put_buffer(struct rd_json_writer *w, uint32_t i)
{
    const struct rd_buffer *b = w->buffer[i];
    const char *before = "{";
    if (strcmp(b->name, "buffer") != 0) {
        rd_json_put_string(w, "{\"name\": ", b->name);
        before = ", ";
    }
    rd_json_put(&w->out, "%s", before);
    put_shape(w, "\"shape\": ", &b->shape, 0);
    if (w->memory[i] != RD_JSON_ALONE)
        rd_json_put_number(w, ", \"memory\": ", w->memory[i]);
    if (w->offset[i])
        rd_json_put_number(w, ", \"offset\": ", w->offset[i]);
    rd_json_put(&w->out, "}");
}

static int same_shape(const rondo_shape *a, const rondo_shape *b)
{
    return a->elem_bytes == b->elem_bytes && !memcmp(a->extent, b->extent, sizeof a->extent) &&
           !memcmp(a->pitch_bytes, b->pitch_bytes, sizeof a->pitch_bytes);
}

static void put_ring(struct rd_json_writer *w, uint32_t i)
{
    const struct rd_slot *s = &w->g->slots.item[i];
    uint32_t k;
    rd_json_put(&w->out, ", \"buffers\": [");
    for (k = 0; k < s->count; k++)
        rd_json_put_number(w, k ? ", " : "", w->buffer_of_use[w->use_first[i] + k]);
    rd_json_put(&w->out, "]");
    if (s->ring_first)
        rd_json_put_number(w, ", \"first\": ", s->ring_first);
    if (s->ring_stride != 1)
        rd_json_put_number(w, ", \"stride\": ", s->ring_stride);
}

static void put_slot(struct rd_json_writer *w, uint32_t i)
{
    const struct rd_subgraph *g = w->g;
    const struct rd_slot *s = &g->slots.item[i];
    const char *name = rd_subgraph_text(g, s->name);
    rd_json_put(&w->out, "{");
    if (strcmp(name, "slot") != 0) {
        rd_json_put_string(w, "\"name\": ", name);
        rd_json_put(&w->out, ", ");
    }
    rd_json_put_string(w, "\"kind\": ", rd_json_word_of(rd_json_slot_kinds, s->kind));
    if (s->kind == RD_SLOT_FIXED)
        rd_json_put_number(w, ", \"buffer\": ", w->buffer_of_use[w->use_first[i]]);
    if (s->kind == RD_SLOT_RING)
        put_ring(w, i);
    if (!s->count || !same_shape(&s->shape, &s->buffers[0]->shape))
        put_shape(w, ", \"shape\": ", &s->shape, s->kind == RD_SLOT_TOKEN);
    if (s->zeroed)
        rd_json_put(&w->out, ", \"zeroed\": true");
    if (s->alias != i)
        rd_json_put_slot(w, ", \"alias_of\": ", s->alias);
    if (s->at_end > RD_MEMORY_HOST + 1)
        rd_json_put(&w->out, ", \"at_end\": \"gpu %u\"", s->at_end - RD_MEMORY_HOST - 2u);
    else if (s->at_end)
        rd_json_put(&w->out, ", \"at_end\": \"host\"");
    rd_json_put(&w->out, "}");
}

static void put_param(struct rd_json_writer *w, uint32_t i)
{
    const struct rd_subgraph *g = w->g;
    const struct rd_param *p = &g->params.item[i];
    const char *name = rd_subgraph_text(g, p->name);
    rd_json_put(&w->out, "{");
    if (strcmp(name, "param") != 0) {
        rd_json_put_string(w, "\"name\": ", name);
        rd_json_put(&w->out, ", ");
    }
    rd_json_put_number(w, "\"bytes\": ", p->bytes);
    if (p->has_initial) {
        rd_json_put(&w->out, ", \"initial\": \"");
        rd_json_hex(&w->out, g->params_initial.item + p->offset, p->bytes);
        rd_json_put(&w->out, "\"");
    }
    rd_json_put(&w->out, "}");
}

/* ---- lists: a line per part; nothing of one without parts */

static void put_parts(struct rd_json_writer *w, const char *key, size_t count,
                      void (*put)(struct rd_json_writer *w, uint32_t i))
{
    uint32_t i;
    if (!count)
        return;
    rd_json_put(&w->out, ",\n\"%s\": [\n", key);
    for (i = 0; i < count; i++) {
        put(w, i);
        rd_json_put(&w->out, i + 1 < count ? ",\n" : "\n]");
    }
}

/* Edges that no node's `after` tells. */
static void put_edges(struct rd_json_writer *w)
{
    size_t i, put = 0;
    for (i = 0; i < w->g->edges.count; i++) {
        const struct rd_hand_edge *e = &w->g->edges.item[i];
        if (rd_json_is_after(e))
            continue;
        rd_json_put(&w->out, "%s{\"from\": %u, \"to\": %u", put++ ? ",\n" : ",\n\"edges\": [\n",
                    e->from, e->to);
        if (e->distance)
            rd_json_put_number(w, ", \"distance\": ", e->distance);
        rd_json_put(&w->out, "}");
    }
    if (put)
        rd_json_put(&w->out, "\n]");
}

static void put_file(struct rd_json_writer *w)
{
    const struct rd_subgraph *g = w->g;
    rd_json_put(&w->out, "{\n\"rondo\": %d", RD_JSON_VERSION);
    if (strcmp(g->name, "subgraph") != 0)
        rd_json_put_string(w, ",\n\"name\": ", g->name);
    if (g->edges_explicit)
        rd_json_put(&w->out, ",\n\"edges_explicit\": true");
    put_parts(w, "buffers", w->buffers, put_buffer);
    put_parts(w, "slots", g->slots.count, put_slot);
    put_parts(w, "params", g->params.count, put_param);
    put_parts(w, "images", g->images.count, rd_json_put_image);
    put_parts(w, "nodes", g->nodes.count, rd_json_put_node);
    put_edges(w);
    rd_json_put(&w->out, "\n}\n");
    rd_json_flush(&w->out);
}

rondo_status rd_subgraph_write_json(const struct rd_subgraph *g,
                                    void (*write)(void *context, const char *text), void *context)
{
    struct rd_json_writer w;
    rondo_status status;
    memset(&w, 0, sizeof w);
    w.g = g;
    w.out.write = write;
    w.out.context = context;
    status = rd_json_numbers_make(&w);
    if (!status)
        put_file(&w);
    rd_json_numbers_free(&w);
    return status;
}
