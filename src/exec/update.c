/* SPDX-License-Identifier: BSD-3-Clause */
/* A new version of a whole exec: another recording of the same structure. It becomes an exec of its
 * own in the same series, and the handle names it from then on; the old one keeps what was
 * submitted to it, and ends when that has ended. */
#include "src/exec/exec.h"

#include "src/base/id.h"

#include <string.h>

enum { LOOK_NS = 200000 }; /* how long to wait for the cleaner to end older versions */

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
    if (!status && x->carried_sum != y->carried_sum)
        status = rd_error(RONDO_ERR_INVALID,
                          "exec '%s': update: the %llu edges carried from replay to replay, or the "
                          "phases in which nodes run, are others than before",
                          x->program.exec_name, (unsigned long long)now->carried_edges);
    rd_free_array(a, was_node, was->bits, sizeof *was_node);
    rd_free_array(a, now_node, now->bits, sizeof *now_node);
    rd_free_array(a, mark, x->program.nodes, sizeof *mark);
    return status;
}

/* ---- edges between replays, which no plan keeps: a sum over all of them, in any order */

static uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 31) * 0x9e3779b97f4a7c15u;
    return (value ^ value >> 29) * 0xbf58476d1ce4e5b9u;
}

static uint64_t sum_of(const uint32_t *first, const struct rd_edge *pred, uint32_t nodes,
                       uint32_t variant, int all)
{
    uint64_t sum = 0;
    for (uint32_t v = 0; v < nodes; v++)
        for (uint32_t i = first[v]; i < first[v + 1]; i++)
            if (all || pred[i].distance)
                sum += mixed(mixed((uint64_t)v << 32 | pred[i].from) +
                             ((uint64_t)variant << 8 | pred[i].distance));
    return sum;
}

uint64_t rd_exec_sum_carried(const struct rd_graph *g)
{
    uint64_t sum = sum_of(g->first, g->pred, g->nodes, 0, 0);
    for (uint32_t i = 0; g->phases > 1 && i < g->variants; i++)
        sum += sum_of(g->variant[i].first, g->variant[i].pred, g->nodes, i + 1, 1);
    for (uint32_t i = 0; g->phases > 1 && i < g->phases; i++)
        sum += mixed((uint64_t)i << 32 | g->variant_of_phase[i]);
    return sum;
}

/* ---- nodes, slots, parameters */

static rondo_status check_nodes(const struct rd_exec *x, const struct rd_exec *y)
{
    const struct rd_program *was = &x->program, *now = &y->program;
    for (uint32_t v = 0; v < x->nodes; v++) {
        const rondo_task_node *a = &was->node[v], *b = &now->node[v];
        uint32_t count = a[1].place - a[0].place;
        if (y->flags[v] != x->flags[v])
            return differs(x, v, "its kind and flags", y->flags[v], x->flags[v]);
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

static rondo_status check_kernels(const struct rd_exec *x, const struct rd_exec *y)
{
    struct rd_kernel_difference d;
    if (rd_kernel_forms_differ(&x->kernel_forms, &y->kernel_forms, &d))
        return differs(x, d.node, d.field, d.now, d.was);
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
        status = check_kernels(x, y);
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

/* The last recordings that were replaced, and the very first. */
static void keep_handles(const struct rd_exec *x, struct rd_exec *y)
{
    enum { OLDER = sizeof y->parts.older / sizeof *y->parts.older };
    uint32_t *to = y->parts.older;
    const uint32_t *from = x->parts.older;
    memcpy(to, from, sizeof y->parts.older);
    if (x->serial == y->serial)
        return;
    for (uint32_t i = 0; i < OLDER; i++)
        if (from[i] == x->serial)
            return;
    if (!to[0]) {
        to[0] = x->serial;
        return;
    }
    memmove(to + 2, to + 1, (OLDER - 2) * sizeof *to);
    to[1] = x->serial;
}

/* Gives the new one what the user set, as of now: from here on the handle names it. *begun: its
 * lanes are the workers', so it ends as execs do. */
static rondo_status take_over(struct rd_exec *x, struct rd_exec *y, int *begun)
{
    rondo_status status = RONDO_OK;
    pthread_mutex_lock(&x->lock);
    keep_values(x, y);
    if (x->mode_set != RONDO_AUTO)
        status = rd_exec_set_mode(y, x->mode_set);
    if (status)
        goto unlock;
    rd_store_relaxed(&y->profile_end, RD_WORD_TICKET(rd_load_relaxed(&x->series->word)) +
                                          rd_load_relaxed(&y->profile));
    *begun = 1;
    for (struct rd_core *c = y->cores; c; c = c->next)
        rd_core_attach(c);
    y->id = x->id;
    if (!rd_id_swap(x->id, RD_ID_EXEC, x, y)) { /* destroyed meanwhile */
        rd_store_relaxed(&y->closed, 1);
        rd_cleaner_retire(y->rt, &y->tenant); /* ends as an exec does that never ran */
        status = rd_id_error(x->id, RD_ID_EXEC);
        goto unlock;
    }
    /* Who still holds the old one looks its handle up again. */
    rd_store_relaxed(&x->replaced, 1);
    rd_store_release(&x->closed, 1); /* pairs with the acquire in submit.c's take */
    rd_cleaner_retire(x->rt, &x->tenant);
unlock:
    pthread_mutex_unlock(&x->lock);
    return status;
}

rondo_status rd_exec_update(struct rd_exec *x, struct rd_subgraph *g)
{
    struct rd_exec *y;
    rondo_status status;
    int begun = 0;
    if (g->rt != x->rt)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': update: subgraph '%s' is of another runtime",
                        x->program.exec_name, g->name);
    while ((status = rd_exec_new_like(g, x, &y)) == RONDO_ERR_AGAIN &&
           rd_series_will_have_room(x->series)) {
        rd_cleaner_poke(x->rt);
        rd_park_sleep(rd_park_prepare(), LOOK_NS);
    }
    if (status)
        return status;
    y->in_group = x->in_group;
    pthread_mutex_lock(&x->placing);
    if (rd_load_relaxed(&x->replaced)) /* written under the lock */
        status = RD_LOOK_AGAIN;
    else
        status = check_same(x, y);
    if (!status) {
        keep_handles(x, y);
        status = take_over(x, y, &begun);
    }
    pthread_mutex_unlock(&x->placing);
    if (!begun)
        rd_exec_unref(y);
    return status;
}
