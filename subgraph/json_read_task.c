/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks, launches and calls out of a file: what it says of them, and the functions that are asked
 * for. */
#include "subgraph/json_reader.h"

#include <string.h>

static int do_nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}
static void call_nothing(void *context) { (void)context; }

/* ---- accesses */

static rondo_status read_boxes(struct rd_reader *r, const struct rd_json *tree)
{
    const struct rd_json *list, *v = NULL;
    struct rd_read_boxes *of = &r->boxes_of.item[r->boxes_of.count++];
    rondo_status status = rd_read_list(r, tree, "boxes", &list);
    size_t i, n = !status && list ? rd_json_count(list) : 0;
    of->first = r->boxes.count;
    of->count = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
    if (!status && list && !n)
        return rd_read_refuse(r, "boxes", "it is empty");
    if (!RD_READ_ROOM(r, boxes, n))
        return rd_read_no_memory(r);
    for (i = 0; i < n && !status; i++) {
        status = rd_read_tree_at(r, list, "boxes", i, &v);
        rd_read_enter(r, "boxes", (int64_t)i);
        if (!status)
            status = rd_read_region_of(r, v, &r->boxes.item[r->boxes.count++]);
        rd_read_leave(r);
    }
    return status;
}

static rondo_status read_access(struct rd_reader *r, const struct rd_json *tree, rondo_access *a)
{
    uint32_t mode = 0, type = 0, op = 0;
    rondo_status status = rd_read_keys(r, tree, RD_JSON_ACCESS, 0, "an access");
    memset(a, 0, sizeof *a);
    if (!status)
        status = rd_read_need(r, tree, "slot");
    if (!status)
        status = rd_read_need(r, tree, "mode");
    if (!status)
        status = rd_read_slot(r, tree, "slot", &a->slot);
    if (!status)
        status = rd_read_word(r, tree, "mode", rd_json_modes, &mode);
    if (!status)
        status = rd_read_word(r, tree, "type", rd_json_types, &type);
    if (!status)
        status = rd_read_word(r, tree, "op", rd_json_ops, &op);
    if (!status)
        status = rd_read_region(r, tree, "region", &a->region);
    a->mode = (uint8_t)mode;
    a->type = (uint8_t)type;
    a->op = (uint8_t)op;
    return status ? status : read_boxes(r, tree);
}

rondo_status rd_read_accesses(struct rd_reader *r, const struct rd_json *tree)
{
    const struct rd_json *list, *v = NULL;
    size_t i, n;
    rondo_status status = rd_read_list(r, tree, "accesses", &list);
    r->accesses.count = r->boxes_of.count = r->boxes.count = 0;
    n = !status && list ? rd_json_count(list) : 0;
    if (!RD_READ_ROOM(r, accesses, n) || !RD_READ_ROOM(r, boxes_of, n))
        return rd_read_no_memory(r);
    for (i = 0; i < n && !status; i++) {
        status = rd_read_tree_at(r, list, "accesses", i, &v);
        rd_read_enter(r, "accesses", (int64_t)i);
        if (!status)
            status = read_access(r, v, &r->accesses.item[r->accesses.count++]);
        rd_read_leave(r);
    }
    return status;
}

/* ---- parameters, patches, flags */

static rondo_status read_params(struct rd_reader *r, const struct rd_json *tree)
{
    const struct rd_json *list;
    size_t i, n;
    rondo_status status = rd_read_list(r, tree, "params", &list);
    r->params.count = 0;
    n = !status && list ? rd_json_count(list) : 0;
    if (!RD_READ_ROOM(r, params, n))
        return rd_read_no_memory(r);
    for (i = 0; i < n && !status; i++)
        status = rd_read_param_at(r, list, "params", i, &r->params.item[r->params.count++]);
    return status;
}

static rondo_status read_patch(struct rd_reader *r, const struct rd_json *tree, rondo_patch *p)
{
    rondo_status status = rd_read_keys(r, tree, RD_JSON_PATCH, 0, "a patch");
    memset(p, 0, sizeof *p);
    if (!status)
        status = rd_read_need(r, tree, "param");
    if (!status)
        status = rd_read_need(r, tree, "bytes");
    if (!status)
        status = rd_read_param(r, tree, "param", &p->param);
    if (!status)
        status = rd_read_u32(r, tree, "from", &p->from);
    if (!status)
        status = rd_read_u32(r, tree, "to", &p->to);
    return status ? status : rd_read_u32(r, tree, "bytes", &p->bytes);
}

static rondo_status read_patches(struct rd_reader *r, const struct rd_json *tree)
{
    const struct rd_json *list, *v = NULL;
    size_t i, n;
    rondo_status status = rd_read_list(r, tree, "patches", &list);
    r->patches.count = 0;
    n = !status && list ? rd_json_count(list) : 0;
    if (!RD_READ_ROOM(r, patches, n))
        return rd_read_no_memory(r);
    for (i = 0; i < n && !status; i++) {
        status = rd_read_tree_at(r, list, "patches", i, &v);
        rd_read_enter(r, "patches", (int64_t)i);
        if (!status)
            status = read_patch(r, v, &r->patches.item[r->patches.count++]);
        rd_read_leave(r);
    }
    return status;
}

rondo_status rd_read_flags(struct rd_reader *r, const struct rd_json *tree, uint32_t *flags)
{
    const struct rd_json *list;
    uint32_t flag = 0;
    size_t i, n;
    rondo_status status = rd_read_list(r, tree, "flags", &list);
    n = !status && list ? rd_json_count(list) : 0;
    for (i = 0; i < n && !status; i++) {
        status = rd_read_word_at(r, list, "flags", i, rd_json_flags, &flag);
        *flags |= flag;
    }
    return status;
}

/* ---- tasks */

/* All that the file says; the lists are the reader's. */
static rondo_status read_desc(struct rd_reader *r, const struct rd_json *tree, rondo_task_desc *d)
{
    struct rd_read_traits t = { 0 };
    int given = 0;
    rondo_status status = rd_read_traits(r, tree, &t);
    if (!status)
        status = rd_read_flags(r, tree, &d->flags);
    if (!status)
        status = rd_read_u32(r, tree, "team", &d->team);
    if (!status)
        status = rd_read_u32(r, tree, "stop_lag", &d->stop_lag);
    if (!status)
        status = rd_read_accesses(r, tree);
    if (!status)
        status = read_params(r, tree);
    if (!status)
        status = read_patches(r, tree);
    if (!status)
        status = rd_read_hex(r, tree, "arg", &given);
    if (!status && given && !r->bytes.count)
        status = rd_read_refuse(r, "arg", "it is empty");
    d->tag = t.tag;
    d->on = t.on;
    d->priority = t.priority;
    d->cost_ns = t.cost_ns;
    d->arg = given ? r->bytes.item : NULL;
    d->arg_bytes = r->bytes.count;
    d->accesses = r->accesses.item;
    d->access_count = (uint32_t)r->accesses.count;
    d->params = r->params.item;
    d->param_count = (uint32_t)r->params.count;
    d->patches = r->patches.item;
    d->patch_count = (uint32_t)r->patches.count;
    d->after = r->after.item;
    d->after_count = (uint32_t)r->after.count;
    d->when = r->whens.item[0];
    return status;
}

static rondo_status ask_task(struct rd_reader *r, rondo_task_desc *d, void (**call)(void *context))
{
    const rondo_read_options *o = r->options;
    rondo_status status;
    if (!o->task)
        return RONDO_OK;
    status = o->task(o->context, (uint32_t)r->g->nodes.count, d, call);
    return status ? rd_read_stopped(r, "task", status) : RONDO_OK;
}

rondo_status rd_read_exact(struct rd_reader *r)
{
    rondo_status status = RONDO_OK;
    uint32_t i;
    for (i = 0; i < r->accesses.count && !status; i++)
        if (r->boxes_of.item[i].count)
            status = rd_exact_boxes(r->g, i, r->boxes.item + r->boxes_of.item[i].first,
                                    r->boxes_of.item[i].count);
    return rd_read_told(r, status);
}

/* Behind the node's builder: boxes of accesses that are those of the file, and the chunk. */
static rondo_status make_exact(struct rd_reader *r, const struct rd_json *tree,
                               const rondo_task_desc *d)
{
    rondo_region chunk;
    rondo_status status = RONDO_OK;
    if (d->accesses == r->accesses.item && d->access_count == r->accesses.count)
        status = rd_read_exact(r);
    if (status || !rd_json_get(tree, "chunk"))
        return status;
    status = rd_read_region(r, tree, "chunk", &chunk);
    return status ? status : rd_read_told(r, rd_exact_chunk(r->g, &chunk));
}

rondo_status rd_read_task(struct rd_reader *r, const struct rd_json *tree, enum rd_node_kind kind,
                          const char *name, rondo_node *node)
{
    void (*call)(void *context) = NULL;
    rondo_task_desc d;
    rondo_status status;
    memset(&d, 0, sizeof d);
    d.name = name;
    status = read_desc(r, tree, &d);
    if (kind == RD_NODE_LAUNCH && !d.on)
        d.on = RONDO_GPU(0);
    if (!status)
        status = ask_task(r, &d, &call);
    if (status)
        return status;
    if (!d.fn)
        d.fn = do_nothing;
    status = rd_record_task(r->g, kind, &d, node);
    if (!status)
        return make_exact(r, tree, &d);
    status = rd_read_told(r, status);
    if (d.release) /* a context that was given is released, whatever comes of its node */
        d.release(d.context);
    return status;
}

rondo_status rd_read_call(struct rd_reader *r, const char *name, rondo_node *node)
{
    void (*call)(void *context) = NULL;
    rondo_task_desc d;
    rondo_status status;
    memset(&d, 0, sizeof d);
    d.name = name;
    status = ask_task(r, &d, &call);
    if (status)
        return status;
    return rd_read_told(r, rd_record_call(r->g, name, call ? call : call_nothing, d.context, node));
}
