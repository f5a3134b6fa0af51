/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of external nodes: those that may wait for something outside of the exec.
 *
 * Two nodes may share a lane if in every variant the same external nodes come before them within a
 * replay, themselves included. Then
 * - what stands behind a blocked external node in its lane depends on it, and so does whatever
 *   waits for that: nothing else is held back;
 * - nothing can deadlock that is not the program's own circle. Take the oldest replay that is not
 *   over. All carried dependences into it are met. Of its nodes whose external nodes are all over,
 *   the first in the global order waits for nothing (what it waits for, and what stands before it
 *   in its lane, has no more external nodes before it than itself); so all of these run. Then each
 *   external node with no unfinished one before it is the first of its lane that is left and has
 *   been started: if every external node is over once all that needs none has run in its replay
 *   and in those before, the replay ends.
 *
 * Paths from the replays before do not count. They would tell apart more nodes than there may be
 * sets, for a later replay's sake only: a node that depends on an external node of the replay
 * before holds back what stands behind it in its own lane, until that is over. The argument above
 * has no need of them, since an external node may not count on replays after its own: its lane
 * could not go on to them in any case.
 *
 * Each external node begins a set of its own, so there are at most as many as there may be sets,
 * and a set is a word of bits. */
#include "compile/passes.h"

#include <string.h>

enum { SETS = 16 };

struct key {
    uint8_t set;   /* in the variants before */
    uint16_t mask; /* in the one at hand */
};

struct external {
    struct rd_pass *p;
    uint16_t *mask; /* by node: external nodes upstream in the variant at hand */
    uint8_t *set;   /* by node: its set in the variants so far */
    struct key key[SETS];
    uint32_t sets;
};

static rondo_status too_many(uint32_t node)
{
    return rd_error(RONDO_ERR_INVALID,
                    "node %u: with it nodes depend on more than %d different sets of nodes that "
                    "wait, are detached or may block",
                    node, SETS);
}

static rondo_status find_masks(struct external *x, const uint32_t *first,
                               const struct rd_edge *pred)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < x->p->nodes; i++) {
        uint32_t v = rd_pass_at(x->p, i), mask = 0;
        for (uint32_t e = first[v]; e < first[v + 1]; e++)
            if (!pred[e].distance)
                mask |= x->mask[pred[e].from];
        if (x->p->in->external[v]) {
            if (found == SETS)
                return too_many(v);
            mask |= 1u << found++;
        }
        x->mask[v] = (uint16_t)mask;
    }
    return RONDO_OK;
}

/* Each set becomes as many as it has masks in this variant. */
static rondo_status split(struct external *x)
{
    x->sets = 0;
    for (uint32_t v = 0; v < x->p->nodes; v++) {
        uint32_t k = 0;
        while (k < x->sets && (x->key[k].set != x->set[v] || x->key[k].mask != x->mask[v]))
            k++;
        if (k == SETS)
            return too_many(v);
        if (k == x->sets)
            x->key[x->sets++] = (struct key){ x->set[v], x->mask[v] };
        x->set[v] = (uint8_t)k;
    }
    return RONDO_OK;
}

static int any_external(const struct rd_pass *p)
{
    return p->in->external && !p->in->interpret_only && p->nodes &&
           memchr(p->in->external, 1, p->nodes) != NULL;
}

rondo_status rd_external_sets(struct rd_pass *p, uint8_t **set, uint32_t *sets)
{
    const struct rd_graph *g = p->graph;
    struct external x = { .p = p };
    const int plain = g->variants < 2;
    const uint32_t variants = plain ? 1 : g->variants;
    rondo_status s = RONDO_OK;
    *sets = 1;
    *set = NULL;
    if (!any_external(p))
        return RONDO_OK;
    x.mask = rd_scratch_array(&p->scratch, p->nodes, sizeof *x.mask);
    x.set = rd_scratch_zeroed(&p->scratch, p->nodes, sizeof *x.set);
    if (!x.mask || !x.set)
        return rd_pass_memory();
    for (uint32_t i = 0; i < variants && !s; i++) {
        s = plain ? find_masks(&x, g->first, g->pred)
                  : find_masks(&x, g->variant[i].first, g->variant[i].pred);
        if (!s)
            s = split(&x);
    }
    *set = x.set;
    *sets = x.sets;
    return s;
}
