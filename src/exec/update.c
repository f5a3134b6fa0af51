/* SPDX-License-Identifier: BSD-3-Clause */
/* A new version of a whole exec: another recording of the same structure. It becomes an exec of its
 * own in the same series, and the handle names it from then on; the old one keeps what was
 * submitted to it, and ends when that has ended. */
#include "src/exec/exec.h"

#include "src/base/id.h"

#include <string.h>

static rondo_status differs(const struct rd_exec *x, uint32_t node, const char *field,
                            unsigned long long now, unsigned long long was)
{
    return rd_error(RONDO_ERR_INVALID, "exec '%s': update: node %u '%s': %s is %llu, was %llu",
                    x->program.exec_name, node, rd_program_name(&x->program, node), field, now,
                    was);
}

/* ---- edges: the predecessors of each node, as a set */

static void node_of_bit(const struct rd_plan *plan, uint32_t *node)
{
    for (uint32_t l = 0; l < plan->lanes; l++)
        for (uint32_t i = 0; i < plan->lane[l].length; i++)
            node[plan->lane[l].bit_first + i] = plan->op[plan->lane[l].first + i].node;
}

/* Marks the predecessors of both; reports the first one that only one of them has. */
static rondo_status compare_edges(const struct rd_exec *x, uint32_t v, const struct rd_plan *was,
                                  const uint32_t *was_node, const struct rd_plan *now,
                                  const uint32_t *now_node, uint32_t *mark)
{
    uint32_t was_count = was->pred_first[v + 1] - was->pred_first[v],
             now_count = now->pred_first[v + 1] - now->pred_first[v];
    if (was_count != now_count)
        return differs(x, v, "its number of predecessors", now_count, was_count);
    for (uint32_t i = was->pred_first[v]; i < was->pred_first[v + 1]; i++)
        mark[was_node[was->pred[i]]] = v + 1;
    for (uint32_t i = now->pred_first[v]; i < now->pred_first[v + 1]; i++) {
        uint32_t from = now_node[now->pred[i]];
        if (mark[from] != v + 1)
            return rd_error(RONDO_ERR_INVALID,
                            "exec '%s': update: node %u '%s': comes after node %u '%s', which it "
                            "did not before",
                            x->program.exec_name, v, rd_program_name(&x->program, v), from,
                            rd_program_name(&x->program, from));
    }
    return RONDO_OK;
}

static rondo_status check_edges(struct rd_exec *x, struct rd_exec *y)
{
    struct rd_allocator *a = &x->rt->alloc;
    const struct rd_plan *was = x->chosen->plan, *now = y->chosen->plan;
    uint32_t *was_node = rd_zalloc_array(a, was->bits, sizeof *was_node);
    uint32_t *now_node = rd_zalloc_array(a, now->bits, sizeof *now_node);
    uint32_t *mark = rd_zalloc_array(a, x->program.nodes, sizeof *mark);
    rondo_status status = RONDO_OK;
    if (!was_node || !now_node || !mark) {
        status = rd_error(RONDO_ERR_MEMORY, "exec '%s': update: no memory to compare %u nodes",
                          x->program.exec_name, x->program.nodes);
    } else {
        node_of_bit(was, was_node);
        node_of_bit(now, now_node);
    }
    for (uint32_t v = 0; v < x->program.nodes && !status; v++)
        status = compare_edges(x, v, was, was_node, now, now_node, mark);
    if (!status && was->carried_edges != now->carried_edges)
        status = rd_error(RONDO_ERR_INVALID,
                          "exec '%s': update: %llu edges are carried from replay to replay, were "
                          "%llu",
                          x->program.exec_name, (unsigned long long)now->carried_edges,
                          (unsigned long long)was->carried_edges);
    rd_free_array(a, was_node, was->bits, sizeof *was_node);
    rd_free_array(a, now_node, now->bits, sizeof *now_node);
    rd_free_array(a, mark, x->program.nodes, sizeof *mark);
    return status;
}

/* ---- nodes, slots, parameters */

static rondo_status check_nodes(const struct rd_exec *x, const struct rd_exec *y)
{
    const struct rd_program *was = &x->program, *now = &y->program;
    for (uint32_t v = 0; v < x->nodes; v++) {
        const rondo_task_node *a = &was->node[v], *b = &now->node[v];
        uint32_t count = a[1].place - a[0].place;
        if (b[1].place - b[0].place != count)
            return differs(x, v, "its number of accesses", b[1].place - b[0].place, count);
        if (b[1].param - b[0].param != a[1].param - a[0].param)
            return differs(x, v, "its number of parameters", b[1].param - b[0].param,
                           a[1].param - a[0].param);
        for (uint32_t i = 0; i < count; i++)
            if (was->places[a->place + i] != now->places[b->place + i] ||
                was->modes[a->place + i] != now->modes[b->place + i] ||
                memcmp(&was->views[a->place + i], &now->views[b->place + i], sizeof *was->views))
                return rd_error(RONDO_ERR_INVALID,
                                "exec '%s': update: node %u '%s': access %u to slot '%s' has "
                                "another slot, mode or region than before",
                                was->exec_name, v, rd_program_name(was, v), i,
                                was->names + x->slot[was->places[a->place + i]].name);
    }
    return RONDO_OK;
}

static rondo_status check_count(const struct rd_exec *x, const char *what, size_t now, size_t was)
{
    if (now == was)
        return RONDO_OK;
    return rd_error(RONDO_ERR_INVALID, "exec '%s': update: %zu %s, there were %zu",
                    x->program.exec_name, now, what, was);
}

static rondo_status check_slots(const struct rd_exec *x, const struct rd_exec *y)
{
    for (uint32_t s = 0; s < x->slots; s++)
        if (x->slot[s].kind != y->slot[s].kind || x->slot[s].count != y->slot[s].count ||
            memcmp(&x->program.shapes[s], &y->program.shapes[s], sizeof *x->program.shapes))
            return rd_error(RONDO_ERR_INVALID,
                            "exec '%s': update: slot %u '%s' has another kind, ring length or "
                            "shape than before",
                            x->program.exec_name, s, x->program.names + x->slot[s].name);
    for (uint32_t p = 0; p < x->params; p++)
        if (x->param[p].bytes != y->param[p].bytes)
            return rd_error(RONDO_ERR_INVALID,
                            "exec '%s': update: parameter %u '%s' has %u bytes, had %u",
                            x->program.exec_name, p, x->program.names + x->param[p].name,
                            y->param[p].bytes, x->param[p].bytes);
    return RONDO_OK;
}

static rondo_status check_same(struct rd_exec *x, struct rd_exec *y)
{
    rondo_status status = check_count(x, "nodes", y->nodes, x->nodes);
    if (!status)
        status = check_count(x, "slots", y->slots, x->slots);
    if (!status)
        status = check_count(x, "parameters", y->params, x->params);
    if (!status)
        status = check_slots(x, y);
    if (!status)
        status = check_nodes(x, y);
    if (!status)
        status =
            check_count(x, "nodes that instantiation added", y->program.nodes, x->program.nodes);
    return status ? status : check_edges(x, y);
}

/* ---- what stays */

/* Values that rondo_exec_set_param gave. Under the old exec's lock. */
static void keep_values(const struct rd_exec *x, struct rd_exec *y)
{
    const struct rd_sticky *was = rd_load_relaxed(&x->sticky); /* written under the lock */
    struct rd_sticky *now = rd_load_relaxed(&y->sticky);
    for (uint32_t p = 0; p < x->params; p++) {
        if (was->given[p] != RD_GIVEN_SET)
            continue;
        memcpy(now->block + y->param[p].offset, was->block + x->param[p].offset, x->param[p].bytes);
        now->missing -= !now->given[p];
        now->given[p] = RD_GIVEN_SET;
    }
}

static void keep_handles(const struct rd_exec *x, struct rd_exec *y)
{
    size_t n = sizeof y->parts.older / sizeof *y->parts.older;
    y->parts.older[0] = x->serial;
    for (size_t i = 1; i < n; i++)
        y->parts.older[i] = x->parts.older[i - 1];
}

rondo_status rd_exec_update(struct rd_exec *x, struct rd_subgraph *g)
{
    struct rd_exec *y;
    rondo_status status;
    if (g->rt != x->rt)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': update: subgraph '%s' is of another runtime",
                        x->program.exec_name, g->name);
    status = rd_exec_new_like(g, x, &y);
    if (status)
        return status;
    pthread_mutex_lock(&x->placing);
    status = check_same(x, y);
    if (!status && rd_load_relaxed(&x->closed))
        status = rd_error(RONDO_ERR_STALE, "exec '%s' was destroyed or updated meanwhile",
                          x->program.exec_name);
    if (!status && rd_load_relaxed(&x->interpreted) && !x->profile)
        status = rd_exec_choose(y, 1);
    if (status)
        goto unlock;
    pthread_mutex_lock(&x->lock);
    keep_values(x, y);
    pthread_mutex_unlock(&x->lock);
    keep_handles(x, y);
    y->in_group = x->in_group;
    y->id = x->id;
    for (struct rd_core *c = y->cores; c; c = c->next)
        rd_core_attach(c);
    if (rd_id_swap(x->id, RD_ID_EXEC, x, y)) {
        /* Who still holds the old one looks its handle up again. */
        rd_store_relaxed(&x->replaced, 1);
        rd_store_release(&x->closed, 1); /* pairs with the acquire in submit.c's take */
        rd_cleaner_retire(x->rt, &x->tenant);
        pthread_mutex_unlock(&x->placing);
        return RONDO_OK;
    }
    /* Destroyed meanwhile: the new one ends as an exec does that never ran. */
    rd_store_relaxed(&y->closed, 1);
    rd_cleaner_retire(y->rt, &y->tenant);
    pthread_mutex_unlock(&x->placing);
    return rd_id_error(x->id, RD_ID_EXEC);
unlock:
    pthread_mutex_unlock(&x->placing);
    rd_exec_unref(y);
    return status;
}
