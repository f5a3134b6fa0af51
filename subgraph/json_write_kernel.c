/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes kernels and their images as JSON. */
#include "subgraph/json_writer.h"

#include <inttypes.h>
#include <string.h>

static void put_hex(struct rd_json_writer *w, const char *before, const void *bytes, size_t count)
{
    rd_json_put(&w->out, "%s\"", before);
    rd_json_hex(&w->out, bytes, count);
    rd_json_put(&w->out, "\"");
}

void rd_json_put_image(struct rd_json_writer *w, uint32_t i)
{
    const struct rd_image *image = &w->g->images.item[i];
    const char *text = w->g->sources.item + image->source; /* terminated */
    if (rd_json_is_exact(text))
        rd_json_put_string(w, "{\"text\": ", text);
    else
        put_hex(w, "{\"bytes\": ", text, image->bytes);
    rd_json_put(&w->out, "}");
}

static void put_arg(struct rd_json_writer *w, const struct rd_kernel_arg *a)
{
    switch (a->kind) {
    case RONDO_ARG_ACCESS: rd_json_put_number(w, "{\"access\": ", a->index); break;
    case RONDO_ARG_VALUE: put_hex(w, "{\"value\": ", w->g->args.item + a->value, a->bytes); break;
    case RONDO_ARG_PARAM: rd_json_put_param(w, "{\"param\": ", a->index); break;
    case RONDO_ARG_PARAM_ADDRESS: rd_json_put_param(w, "{\"param_address\": ", a->index); break;
    default: rd_json_put_number(w, "{\"local\": ", a->bytes); break;
    }
    rd_json_put(&w->out, "}");
}

static void put_items(struct rd_json_writer *w, const char *before, const uint64_t *items,
                      uint32_t dimensions)
{
    uint32_t d;
    for (d = 0; d < dimensions; d++)
        rd_json_put_number(w, d ? ", " : before, items[d]);
    rd_json_put(&w->out, "]");
}

const struct rd_kernel *rd_json_kernel(const struct rd_subgraph *g, uint32_t node)
{
    return &g->kernels.item[rd_node_extra(g, node)->kernel - 1];
}

void rd_json_put_kernel(struct rd_json_writer *w, uint32_t node)
{
    const struct rd_subgraph *g = w->g;
    const struct rd_kernel *k = rd_json_kernel(g, node);
    uint32_t i;
    rd_json_put_number(w, ", \"image\": ", k->image);
    rd_json_put_string(w, ", \"format\": ", rd_json_word_of(rd_json_formats, k->format));
    rd_json_put_string(w, ", \"entry\": ", rd_subgraph_text(g, k->entry));
    if (k->options)
        rd_json_put_string(w, ", \"options\": ", rd_subgraph_text(g, k->options));
    for (i = 0; i < k->arg_count; i++) {
        rd_json_put(&w->out, "%s", i ? ", " : ", \"args\": [");
        put_arg(w, &g->kernel_args.item[k->arg + i]);
    }
    if (k->arg_count)
        rd_json_put(&w->out, "]");
    put_items(w, ", \"global\": [", k->global, k->dimensions);
    if (k->local[0])
        put_items(w, ", \"local\": [", k->local, k->dimensions);
}
