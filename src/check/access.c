/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands before and after each node of an exec under RONDO_CHECK=access. Everything here
 * belongs to the holder of the guard, which a node keeps from before to after. */
#include "src/check/access.h"

#include "src/base/error.h"
#include "src/check/guard.h"
#include "src/check/regions.h"
#include "src/frame/program.h"

#include <stdio.h>
#include <string.h>

struct access_check {
    struct rd_check check; /* first */
    const struct rd_regions *regions;
    struct rd_guard_range *range; /* by slot, of the frame under way */
    char **saved;                 /* by slot: its open bytes as they were before the node */
    int guarded;                  /* before took the guard */
};

/* Calls `what` with each run of the row's bytes that lies on open pages, and where they are saved.
 */
struct visit {
    struct access_check *c;
    uint32_t slot;
    void (*what)(char *at, char *saved, size_t bytes, char **found);
    char *found;
};

static void visit_row(struct visit *v, char *row, size_t bytes)
{
    char *saved = v->c->saved[v->slot] + (row - v->c->range[v->slot].base);
    for (size_t at = 0, n; at < bytes && !v->found; at += n) {
        int open;
        n = rd_guard_run(row + at, bytes - at, &open);
        if (open)
            v->what(row + at, saved + at, n, &v->found);
    }
}

static void visit_box(struct visit *v, const rd_box *box)
{
    struct rd_rows rows;
    char *row;
    rd_rows_begin(&rows, &v->c->regions->shape[v->slot], box, v->c->range[v->slot].base);
    while (!v->found && rd_rows_next(&rows, &row))
        visit_row(v, row, rows.bytes);
}

static void save(char *at, char *saved, size_t bytes, char **found)
{
    (void)found;
    memcpy(saved, at, bytes);
}
static void restore(char *at, char *saved, size_t bytes, char **found)
{
    (void)found;
    memcpy(at, saved, bytes);
}
static void fill_junk(char *at, char *saved, size_t bytes, char **found)
{
    (void)saved;
    (void)found;
    memset(at, RD_CHECK_JUNK, bytes);
}
static void compare(char *at, char *saved, size_t bytes, char **found)
{
    if (memcmp(at, saved, bytes))
        for (size_t i = 0; i < bytes && !*found; i++)
            if (at[i] != saved[i])
                *found = at + i;
}

static void visit_slot(struct visit *v, uint32_t slot)
{
    rd_box all = rd_rows_all(&v->c->regions->shape[slot]);
    v->slot = slot;
    if (v->c->range[slot].base)
        visit_box(v, &all);
}

/* Calls `what` with every row of bytes of the node's accesses. */
static void each_row(struct access_check *c, uint32_t node,
                     void (*what)(struct access_check *c, const struct rd_touch *t, char *row,
                                  size_t bytes, void *context),
                     void *context)
{
    const struct rd_regions *r = c->regions;
    const struct rd_node_touches *n = &r->node[node];
    struct rd_rows rows;
    char *row;
    for (uint32_t i = n->first; i < n->first + n->count; i++) {
        const struct rd_touch *t = &r->touch[i];
        for (uint32_t k = 0; c->range[t->slot].base && k < t->box_count; k++) {
            rd_rows_begin(&rows, &r->shape[t->slot], &r->box[t->box + k], c->range[t->slot].base);
            while (rd_rows_next(&rows, &row))
                what(c, t, row, rows.bytes, context);
        }
    }
}

/* Of accesses of a mode. */
struct wanted {
    struct visit visit;
    int (*mode)(unsigned mode);
};

static void visit_wanted(struct access_check *c, const struct rd_touch *t, char *row, size_t bytes,
                         void *context)
{
    struct wanted *w = context;
    (void)c;
    if (!w->mode(t->mode & RONDO_READ_WRITE))
        return;
    w->visit.slot = t->slot;
    visit_row(&w->visit, row, bytes);
}

static void visit_accesses(struct access_check *c, uint32_t node,
                           void (*what)(char *, char *, size_t, char **),
                           int (*mode)(unsigned mode))
{
    struct wanted w = { { c, 0, what, NULL }, mode };
    each_row(c, node, visit_wanted, &w);
}
static int overwrites(unsigned mode) { return mode == RONDO_WRITE; }
static int reads(unsigned mode) { return (mode & RONDO_READ) != 0; }

/* ---- before */

static void take_ranges(struct access_check *c, const struct rd_frame *f)
{
    const struct rd_regions *r = c->regions;
    for (uint32_t s = 0; s < r->slots; s++) {
        const rondo_shape *shape = &r->shape[s];
        c->range[s] = (struct rd_guard_range){
            .base = f->base[s],
            .bytes = r->bytes[s],
            .row_bytes = (size_t)shape->extent[0] * shape->elem_bytes,
            .pitch = { shape->pitch_bytes[0], shape->pitch_bytes[1] },
            .rows = shape->extent[1],
            .planes = shape->extent[2],
        };
    }
}

static int make_room(struct access_check *c)
{
    const struct rd_regions *r = c->regions;
    for (uint32_t s = 0; s < r->slots; s++)
        if (c->range[s].base && !c->saved[s] &&
            !(c->saved[s] = rd_alloc(r->alloc, r->bytes[s], RD_LINE)))
            return 0;
    return 1;
}

static void mark_row(struct access_check *c, const struct rd_touch *t, char *row, size_t bytes,
                     void *context)
{
    (void)c;
    (void)context;
    rd_guard_mark(row, bytes, t->mode & RONDO_WRITE ? RD_GUARD_WRITE : RD_GUARD_READ);
}

static int is_checked(const struct access_check *c, const struct rd_lane *l, uint32_t node)
{
    const struct rd_program *p = l->self.program;
    return node < c->regions->nodes && !c->regions->node[node].everything &&
           !(p->pend_of && p->pend_of[node]);
}

static void before(struct rd_check *check, struct rd_lane *l, struct rd_frame *f,
                   const struct rd_op *e)
{
    struct access_check *c = (struct access_check *)check;
    struct visit v = { c, 0, save, NULL };
    if (!is_checked(c, l, e->node))
        return;
    take_ranges(c, f);
    if (rd_guard_enter(c->range, c->regions->slots))
        return; /* unchecked rather than failed: the node has done nothing wrong */
    if (!make_room(c)) {
        rd_guard_leave();
        return;
    }
    c->guarded = 1;
    each_row(c, e->node, mark_row, NULL);
    for (uint32_t s = 0; s < c->regions->slots; s++)
        visit_slot(&v, s);
    if (!c->regions->node[e->node].own) {
        visit_accesses(c, e->node, fill_junk, overwrites);
        visit_accesses(c, e->node, restore, reads); /* what another access of the node reads */
    }
    rd_guard_arm();
}

/* ---- after */

/* What the node wrote where it may is what was there before, from now on: through whatever slot it
 * is seen. */
static void accept_write(struct access_check *c, const struct rd_touch *t, char *row, size_t bytes,
                         void *context)
{
    struct visit v = { c, 0, save, NULL };
    (void)context;
    if (!(t->mode & RONDO_WRITE))
        return;
    for (v.slot = 0; v.slot < c->regions->slots; v.slot++) {
        const struct rd_guard_range *r = &c->range[v.slot];
        char *from = row > r->base ? row : r->base,
             *to = row + bytes < r->base + r->bytes ? row + bytes : r->base + r->bytes;
        if (r->base && from < to)
            visit_row(&v, from, (size_t)(to - from));
    }
}

/* The slot that an address belongs to: one that the node has an access to, if there is one. */
static uint32_t slot_of(const struct access_check *c, uint32_t node, const char *address,
                        int64_t element[3])
{
    const struct rd_regions *r = c->regions;
    const struct rd_node_touches *n = &r->node[node];
    uint32_t found = r->slots;
    for (uint32_t s = 0; s < r->slots; s++) {
        int64_t e[3];
        const struct rd_guard_range *g = &c->range[s];
        if (!g->base || address < g->base || address >= g->base + g->bytes ||
            !rd_regions_element(&r->shape[s], g->base, address, e))
            continue;
        if (found == r->slots) {
            found = s;
            memcpy(element, e, sizeof e);
        }
        for (uint32_t i = n->first; i < n->first + n->count; i++)
            if (r->touch[i].slot == s) {
                memcpy(element, e, sizeof e);
                return s;
            }
    }
    return found;
}

static void print_element(const rondo_shape *shape, const int64_t e[3], char *text, size_t bytes)
{
    if (shape->extent[2] > 1)
        snprintf(text, bytes, "(%lld,%lld,%lld)", (long long)e[0], (long long)e[1],
                 (long long)e[2]);
    else if (shape->extent[1] > 1)
        snprintf(text, bytes, "(%lld,%lld)", (long long)e[0], (long long)e[1]);
    else
        snprintf(text, bytes, "%lld", (long long)e[0]);
}

static int tell(struct access_check *c, struct rd_lane *l, uint32_t node,
                const struct rd_guard_fault *fault)
{
    static const char *const what[] = { "access", "read", "write" };
    struct rd_self *self = &l->self;
    char element[72];
    int64_t e[3] = { 0, 0, 0 };
    uint32_t s = slot_of(c, node, fault->address, e);
    unsigned mode;
    if (s == c->regions->slots)
        return 0; /* between the slots' elements: nobody's */
    print_element(&c->regions->shape[s], e, element, sizeof element);
    mode = rd_regions_mode(c->regions, node, s, e);
    snprintf(self->message, sizeof self->message,
             "undeclared %s of slot '%.40s' at %p, element %s, which %s", what[fault->write + 1],
             rd_regions_slot(c->regions, s), (void *)fault->address, element,
             mode & RONDO_READ ? "it may only read" : "is in none of its accesses");
    self->told = 1;
    return 1;
}

static void find_change(struct access_check *c, uint32_t node, struct rd_guard_fault *fault)
{
    struct visit v = { c, 0, compare, NULL };
    each_row(c, node, accept_write, NULL);
    for (uint32_t s = 0; s < c->regions->slots; s++) {
        v.found = NULL;
        visit_slot(&v, s);
        if (v.found && (!fault->address || v.found < fault->address))
            *fault = (struct rd_guard_fault){ v.found, 1 };
    }
}

static int after(struct rd_check *check, struct rd_lane *l, struct rd_frame *f,
                 const struct rd_op *e, int code)
{
    struct access_check *c = (struct access_check *)check;
    struct rd_guard_fault fault;
    int told = 0;
    (void)f;
    if (!c->guarded)
        return code;
    rd_guard_disarm(&fault);
    if (l->self.skipped || code == RD_CALLED_OFF)
        visit_accesses(c, e->node, restore, overwrites); /* the junk: nothing has run */
    if (!fault.address)
        find_change(c, e->node, &fault);
    if (fault.address && !code)
        told = tell(c, l, e->node, &fault);
    c->guarded = 0;
    rd_guard_leave();
    return told ? 1 : code;
}

/* ---- the check */

rondo_status rd_access_check_new(const struct rd_regions *regions, struct rd_check **check)
{
    struct access_check *c = rd_zalloc(regions->alloc, sizeof *c, 16);
    if (c) {
        c->check = (struct rd_check){ before, after };
        c->regions = regions;
        c->range = rd_zalloc_array(regions->alloc, regions->slots, sizeof *c->range);
        c->saved = rd_zalloc_array(regions->alloc, regions->slots, sizeof *c->saved);
        if (c->range && c->saved) {
            *check = &c->check;
            return RONDO_OK;
        }
        rd_access_check_free(&c->check);
    }
    return rd_error(RONDO_ERR_MEMORY, "no memory to check the accesses of %u nodes",
                    regions->nodes);
}

void rd_access_check_free(struct rd_check *check)
{
    struct access_check *c = (struct access_check *)check;
    struct rd_allocator *a;
    if (!c)
        return;
    a = c->regions->alloc;
    for (uint32_t s = 0; c->saved && s < c->regions->slots; s++)
        rd_free(a, c->saved[s], c->regions->bytes[s]);
    rd_free_array(a, c->saved, c->regions->slots, sizeof *c->saved);
    rd_free_array(a, c->range, c->regions->slots, sizeof *c->range);
    rd_free(a, c, sizeof *c);
}
