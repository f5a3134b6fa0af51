/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads recordings of Rondo's own through the library, and fills what such a file leaves open. */
#include "tools/recorded.h"
#include "tools/json_scan.h"
#include "tools/wfformat.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    rondo_runtime runtime;
    double times;
    const struct file_bodies *bodies;
    rondo_counter *counters; /* made so far */
    uint32_t count;
};

static rondo_status give_task(void *context, uint32_t node, rondo_task_desc *desc,
                              void (**call)(void *context))
{
    struct reading *r = context;
    (void)call; /* of a rondo_record_call only the context is taken: it calls nothing */
    desc->cost_ns *= r->times;
    return r->bodies && r->bodies->task ? r->bodies->task(r->bodies->context, node, desc)
                                        : RONDO_OK;
}

/* Nobody raises it: it is where every wait wants it. */
static rondo_status give_counter(void *context, uint32_t number, rondo_counter *counter)
{
    struct reading *r = context;
    rondo_counter *grown = realloc(r->counters, (r->count + 1) * sizeof *grown);
    (void)number;
    if (!grown)
        return RONDO_ERR_MEMORY;
    r->counters = grown;
    rondo_status status = rondo_counter_create(r->runtime, UINT64_MAX, counter);
    if (!status)
        grown[r->count++] = *counter;
    return status;
}

static rondo_status read_text(struct reading *r, const char *text, size_t bytes,
                              rondo_subgraph *subgraph)
{
    rondo_read_options options = { .task = give_task, .counter = give_counter, .context = r };
    rondo_status status = rondo_subgraph_read_json(r->runtime, text, bytes, &options, subgraph);
    /* The nodes keep what they name. */
    for (uint32_t i = 0; i < r->count; i++)
        (void)rondo_counter_destroy(r->counters[i]);
    free(r->counters);
    return status;
}

static void count_node(void *context, uint32_t number, const rondo_recorded_node *node)
{
    (void)node;
    *(uint32_t *)context = number + 1;
}

/* ---- what is open */

/* Every replay must bind such a slot: it becomes one with a buffer of its own. */
static int fill_slot(json_t *buffers, json_t *slot)
{
    const char *kind = json_string_value(json_object_get(slot, "kind"));
    if (!kind || strcmp(kind, "bound") != 0)
        return 0;
    json_int_t buffer = (json_int_t)json_array_size(buffers);
    int failed = json_array_append_new(
                     buffers, json_pack("{s:O}", "shape", json_object_get(slot, "shape"))) ||
                 json_object_set_new(slot, "kind", json_string("fixed")) ||
                 json_object_set_new(slot, "buffer", json_integer(buffer));
    return failed ? -1 : 1;
}

/* Every replay must give such a parameter: it becomes one that begins with zeros. */
static int fill_param(json_t *param)
{
    json_int_t bytes = json_integer_value(json_object_get(param, "bytes"));
    if (json_object_get(param, "initial"))
        return 0;
    char *zeros = malloc(2 * (size_t)bytes + 1);
    if (!zeros)
        return -1;
    memset(zeros, '0', 2 * (size_t)bytes);
    zeros[2 * (size_t)bytes] = '\0';
    int failed = json_object_set_new(param, "initial", json_string(zeros));
    free(zeros);
    return failed ? -1 : 1;
}

/* Returns how many there were, or -1: no memory. The text has been read before: it is one that may
 * be read. */
static int fill_all(json_t *root)
{
    json_t *buffers = json_object_get(root, "buffers"), *entry;
    int filled = 0;
    size_t i;
    if (!buffers) {
        buffers = json_array();
        if (json_object_set_new(root, "buffers", buffers))
            return -1;
    }
    json_array_foreach(json_object_get(root, "slots"), i, entry)
    {
        int one = fill_slot(buffers, entry);
        if (one < 0)
            return -1;
        filled += one;
    }
    json_array_foreach(json_object_get(root, "params"), i, entry)
    {
        int one = fill_param(entry);
        if (one < 0)
            return -1;
        filled += one;
    }
    return filled;
}

/* The text with all filled, which the caller frees; NULL: there was nothing to fill, or no memory
 * for it. */
static char *filled_text(const char *text, size_t bytes, uint32_t *filled)
{
    *filled = 0;
    if (json_scan(text, bytes).tree_bytes > WF_MAX_TREE_BYTES)
        return NULL;
    json_t *root = json_loadb(text, bytes, 0, NULL);
    int found = root ? fill_all(root) : 0;
    char *made = found > 0 ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    *filled = made ? (uint32_t)found : 0;
    return made;
}

rondo_status recorded_read(const char *text, size_t bytes, rondo_runtime runtime, double times,
                           int fill, const struct file_bodies *bodies, struct file_graph *graph)
{
    /* First as it is, so that messages say the file's lines. */
    struct reading looking = { .runtime = runtime, .times = times },
                   reading = { .runtime = runtime, .times = times, .bodies = bodies };
    char *made = NULL;
    if (fill) {
        rondo_status status = read_text(&looking, text, bytes, &graph->subgraph);
        if (status)
            return status;
        (void)rondo_subgraph_destroy(graph->subgraph);
        graph->subgraph = (rondo_subgraph){ 0 };
        made = filled_text(text, bytes, &graph->filled);
    }
    rondo_status status =
        read_text(&reading, made ? made : text, made ? strlen(made) : bytes, &graph->subgraph);
    free(made);
    graph->counters = reading.count;
    return status ? status : rondo_subgraph_visit(graph->subgraph, count_node, NULL, &graph->nodes);
}
