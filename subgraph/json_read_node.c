/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes out of a file, each through the builder of its kind; what no builder takes is added behind
 * it (exact.c). */
#include "subgraph/json_reader.h"

#include <inttypes.h>
#include <string.h>

/* ---- what nodes of every kind may have */

static rondo_status read_after(struct rd_reader *r, const struct rd_json *tree)
{
    const struct rd_json *list;
    uint64_t number = 0;
    size_t i, n;
    rondo_status status = rd_read_list(r, tree, "after", &list);
    r->after.count = 0;
    n = !status && list ? rd_json_count(list) : 0;
    if (n > r->most)
        return rd_read_refuse(r, "after", "%zu nodes are more than %" PRIu64 " (most_nodes)", n,
                              r->most);
    if (!RD_READ_ROOM(r, after, n))
        return rd_read_no_memory(r);
    for (i = 0; i < n && !status; i++) {
        status = rd_read_element(r, list, "after", i, INT64_MAX, &number);
        if (!status && number >= r->g->nodes.count)
            status =
                rd_read_refuse(r, "after", "node %" PRIu64 " does not come before this one, %zu",
                               number, r->g->nodes.count);
        r->after.item[r->after.count++].id = rd_part_id(r->g->serial, RD_PART_NODE, (size_t)number);
    }
    return status;
}

static rondo_status read_when(struct rd_reader *r, const struct rd_json *tree, rondo_when *w)
{
    rondo_status status = rd_read_keys(r, tree, RD_JSON_WHEN, 0, "a condition");
    memset(w, 0, sizeof *w);
    if (!status)
        status = rd_read_param(r, tree, "param", &w->param);
    if (!status)
        status = rd_read_slot(r, tree, "flag", &w->flag);
    if (!status)
        status = rd_read_u32(r, tree, "every", &w->every);
    return status ? status : rd_read_u32(r, tree, "phase", &w->phase);
}

static rondo_status read_whens(struct rd_reader *r, const struct rd_json *tree)
{
    const struct rd_json *list, *v = NULL;
    size_t i, n;
    rondo_status status = rd_read_list(r, tree, "when", &list);
    r->whens.count = 0;
    n = !status && list ? rd_json_count(list) : 0;
    if (!RD_READ_ROOM(r, whens, n + 1))
        return rd_read_no_memory(r);
    memset(r->whens.item, 0, sizeof *r->whens.item); /* what a builder sees of a node without */
    for (i = 0; i < n && !status; i++) {
        status = rd_read_tree_at(r, list, "when", i, &v);
        rd_read_enter(r, "when", (int64_t)i);
        if (!status)
            status = read_when(r, v, &r->whens.item[i]);
        rd_read_leave(r);
        r->whens.count++;
    }
    return status;
}

rondo_status rd_read_device(struct rd_reader *r, const char *key, const char *text, uint32_t *index)
{
    const char *at = text + 4;
    uint32_t i = 0;
    if (!strncmp(text, "gpu ", 4) && *at) {
        for (; *at >= '0' && *at <= '9' && i < 0xffff; at++)
            i = 10 * i + (uint32_t)(*at - '0');
        if (!*at) {
            *index = i;
            return RONDO_OK;
        }
    }
    return rd_read_refuse(r, key, "'%.40s' is no device: \"gpu 0\" is the first", text);
}

static rondo_status read_on(struct rd_reader *r, const struct rd_json *tree, rondo_processor *on)
{
    const struct rd_json *v = rd_json_get(tree, "on");
    uint64_t i = 0;
    uint32_t device = 0;
    rondo_status status = RONDO_OK;
    if (v && rd_json_type_of(v) == RD_JSON_STRING) {
        status = rd_read_device(r, "on", rd_json_string(v), &device);
        *on = RONDO_GPU(device);
    } else if (v) {
        status = rd_read_u64(r, tree, "on", 0xffffff, &i);
        *on = RONDO_CPU((uint32_t)i);
    }
    return status;
}

rondo_status rd_read_traits(struct rd_reader *r, const struct rd_json *tree,
                            struct rd_read_traits *t)
{
    rondo_status status = rd_read_u64(r, tree, "tag", UINT64_MAX, &t->tag);
    if (!status)
        status = read_on(r, tree, &t->on);
    if (!status)
        status = rd_read_i32(r, tree, "priority", &t->priority);
    return status ? status : rd_read_real(r, tree, "cost_ns", &t->cost_ns);
}

/* ---- copies, fills, allreduces */

static rondo_status read_side(struct rd_reader *r, const struct rd_json *tree, const char *key,
                              rondo_access *side)
{
    const struct rd_json *v;
    rondo_status status = rd_read_tree(r, tree, key, &v);
    if (status || !v)
        return status;
    rd_read_enter(r, key, -1);
    status = rd_read_keys(r, v, RD_JSON_SIDE, 0, "a side of a copy");
    if (!status)
        status = rd_read_need(r, v, "slot");
    if (!status)
        status = rd_read_slot(r, v, "slot", &side->slot);
    if (!status)
        status = rd_read_region(r, v, "region", &side->region);
    rd_read_leave(r);
    return status;
}

static rondo_status read_reduction(struct rd_reader *r, const struct rd_json *tree, uint8_t *type,
                                   uint8_t *op)
{
    uint32_t t = 0, o = 0;
    rondo_status status = rd_read_word(r, tree, "type", rd_json_types, &t);
    if (!status)
        status = rd_read_word(r, tree, "op", rd_json_ops, &o);
    *type = (uint8_t)t;
    *op = (uint8_t)o;
    return status;
}

static rondo_status read_move(struct rd_reader *r, const struct rd_json *tree,
                              enum rd_node_kind kind, const char *name, rondo_node *node)
{
    struct rd_read_traits t = { 0 };
    rondo_move_desc d;
    int given = 0;
    rondo_status status = rd_read_traits(r, tree, &t);
    memset(&d, 0, sizeof d);
    if (!status)
        status = read_side(r, tree, "from", &d.from);
    if (!status)
        status = read_side(r, tree, "to", &d.to);
    if (!status)
        status = rd_read_param(r, tree, "count", &d.count);
    if (!status)
        status = rd_read_hex(r, tree, "value", &given);
    if (!status)
        status = read_reduction(r, tree, &d.type, &d.op);
    if (status)
        return status;
    d.name = name;
    d.tag = t.tag;
    d.on = t.on;
    d.priority = t.priority;
    d.cost_ns = t.cost_ns;
    d.value = given ? r->bytes.item : NULL;
    d.value_bytes = given ? r->bytes.count : 0;
    d.after = r->after.item;
    d.after_count = (uint32_t)r->after.count;
    d.when = r->whens.item[0];
    return rd_read_told(r, rd_record_move(r->g, kind, &d, node));
}

/* ---- waits and signals */

static rondo_status ask_counter(struct rd_reader *r, uint64_t number, rondo_counter *counter)
{
    struct rd_read_counter *c;
    rondo_status status;
    if (number >= r->most)
        return rd_read_refuse(r, "counter", "%" PRIu64 " is not below %" PRIu64 " (most_nodes)",
                              number, r->most);
    if (number >= r->counters.count) {
        size_t more = (size_t)number + 1 - r->counters.count;
        if (!RD_READ_ROOM(r, counters, more))
            return rd_read_no_memory(r);
        memset(r->counters.item + r->counters.count, 0, more * sizeof *c);
        r->counters.count += more;
    }
    c = &r->counters.item[number];
    if (!c->known && r->options->counter) {
        status = r->options->counter(r->options->context, (uint32_t)number, &c->counter);
        if (status)
            return rd_read_stopped(r, "counter", status);
    }
    c->known = 1;
    *counter = c->counter;
    return c->counter.id
               ? RONDO_OK
               : rd_read_refuse(r, "counter", "%" PRIu64 " is given by no callback", number);
}

static rondo_status read_sync(struct rd_reader *r, const struct rd_json *tree,
                              enum rd_node_kind kind, const char *name, rondo_node *node)
{
    rondo_sync_desc d;
    uint64_t number = 0;
    rondo_status status;
    memset(&d, 0, sizeof d);
    d.name = name;
    d.after = r->after.item;
    d.after_count = (uint32_t)r->after.count;
    d.when = r->whens.item[0];
    if (kind == RD_NODE_WAIT && rd_json_get(tree, "counter") && rd_json_get(tree, "event"))
        return rd_read_refuse(r, NULL, "both a counter and an event");
    status = rd_json_get(tree, "event") ? RONDO_OK : rd_read_need(r, tree, "counter");
    if (!status)
        status = rd_read_u64(r, tree, "tag", UINT64_MAX, &d.tag);
    if (!status)
        status = rd_read_i32(r, tree, "priority", &d.priority);
    if (!status)
        status = rd_read_u64(r, tree, "first", UINT64_MAX, &d.first);
    if (!status)
        status = rd_read_u64(r, tree, "step", UINT64_MAX, &d.step);
    if (!status)
        status = rd_read_param(r, tree, "event", &d.event);
    if (!status)
        status = rd_read_u64(r, tree, "counter", UINT32_MAX, &number);
    if (!status && rd_json_get(tree, "counter"))
        status = ask_counter(r, number, &d.counter);
    return status ? status : rd_read_told(r, rd_record_sync(r->g, kind, &d, node));
}

/* ---- any node */

static rondo_status read_kind(struct rd_reader *r, const struct rd_json *tree, uint32_t *kind)
{
    static const char *const of[] = {
        [RD_NODE_TASK] = "a task",
        [RD_NODE_CALL] = "a call",
        [RD_NODE_COPY] = "a copy",
        [RD_NODE_FILL] = "a fill",
        [RD_NODE_ALLREDUCE] = "an allreduce",
        [RD_NODE_WAIT] = "a wait",
        [RD_NODE_SIGNAL] = "a signal",
        [RD_NODE_KERNEL] = "a kernel",
        [RD_NODE_LAUNCH] = "a launch",
    };
    rondo_status status = rd_read_text(r, tree, "name", &r->name);
    *kind = RD_NODE_TASK;
    if (!status)
        status = rd_read_word(r, tree, "kind", rd_json_node_kinds, kind);
    if (!status)
        status = rd_read_keys(r, tree, RD_JSON_NODE, *kind, of[*kind]);
    if (!status && !r->name && *kind == RD_NODE_KERNEL)
        status = rd_read_text(r, tree, "entry", &r->name);
    if (!r->name)
        r->name = rd_json_default_name(*kind);
    return status;
}

/* What the builder of a call does not take. */
static rondo_status add_to_call(struct rd_reader *r, rondo_node node)
{
    rondo_status status = RONDO_OK;
    size_t i;
    for (i = 0; i < r->after.count && !status; i++)
        status = rd_record_edge(r->g, r->after.item[i], node, 0);
    if (!status && r->whens.count)
        status = rd_exact_when(r->g, &r->whens.item[0]);
    return rd_read_told(r, status);
}

rondo_status rd_read_node_part(struct rd_reader *r, const struct rd_json *tree)
{
    uint32_t kind = RD_NODE_TASK;
    rondo_node node;
    size_t i;
    rondo_status status = read_kind(r, tree, &kind);
    if (!status)
        status = read_after(r, tree);
    if (!status)
        status = read_whens(r, tree);
    if (status)
        return status;
    if (kind == RD_NODE_TASK || kind == RD_NODE_LAUNCH)
        status = rd_read_task(r, tree, kind, r->name, &node);
    else if (kind == RD_NODE_KERNEL)
        status = rd_read_kernel(r, tree, r->name, &node);
    else if (kind == RD_NODE_CALL)
        status = rd_read_call(r, r->name, &node);
    else if (kind == RD_NODE_WAIT || kind == RD_NODE_SIGNAL)
        status = read_sync(r, tree, kind, r->name, &node);
    else
        status = read_move(r, tree, kind, r->name, &node);
    if (!status && kind == RD_NODE_CALL)
        status = add_to_call(r, node);
    for (i = 1; i < r->whens.count && !status; i++)
        status = rd_read_told(r, rd_exact_when(r->g, &r->whens.item[i]));
    return status;
}
