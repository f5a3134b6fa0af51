/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots declared as aliases: accesses through two of a class conflict whatever their regions.
 *
 * Each slot keeps its accesses, written and only read ones apart. A write through slot A covers the
 * accesses through the others that it follows: later accesses follow them through it, but for those
 * through A itself, which need not follow the write. So such an access is kept for A alone; a
 * second write, through another slot, covers it for A too, and it goes. */
#include "subgraph/walk.h"

#include <string.h>

struct access {
    uint64_t time;
    uint32_t next;
    uint32_t kept_for; /* slot + 1 that alone still needs it; 0: all */
};

/* Lists are indices in `access`; 0 ends them. */
struct member {
    uint32_t writes, reads;
    uint32_t next;    /* slot + 1 of the class's next member in use; 0: none */
    uint32_t covered; /* accesses kept for one slot alone */
};

struct rd_alias {
    struct member *slot;
    uint32_t *first; /* by class: slot + 1; 0: nothing in the class can conflict */
    struct access *access;
    size_t count, capacity;
    uint32_t free_access;
};

/* Links each class's slots in use; returns whether any class has two of which one is written. */
static int link_classes(struct rd_walk *w, struct rd_alias *x)
{
    const struct rd_memories *m = w->memories;
    uint32_t s, c, slots = (uint32_t)w->g->slots.count;
    int any = 0;
    for (s = slots; s-- > 0;) {
        if (!m->slot[s].mode)
            continue;
        c = m->slot[s].alias_class;
        x->slot[s].next = x->first[c];
        x->first[c] = s + 1;
    }
    for (c = 0; c < slots; c++) {
        uint32_t members = 0, mode = 0;
        for (s = x->first[c]; s; s = x->slot[s - 1].next) {
            members++;
            mode |= m->slot[s - 1].mode;
        }
        if (members < 2 || !(mode & RONDO_WRITE))
            x->first[c] = 0;
        any |= x->first[c] != 0;
    }
    return any;
}

rondo_status rd_alias_make(struct rd_walk *w)
{
    size_t slots = w->g->slots.count, i;
    struct rd_alias *x;
    int declared = 0;
    for (i = 0; i < slots; i++)
        declared |= w->memories->slot[i].alias_class != i;
    if (!declared)
        return RONDO_OK;
    x = w->alias = rd_zalloc(w->alloc, sizeof *x, _Alignof(struct rd_alias));
    if (!x)
        goto no_memory;
    x->count = 1;
    x->slot = rd_zalloc_array(w->alloc, slots, sizeof *x->slot);
    x->first = rd_zalloc_array(w->alloc, slots, sizeof *x->first);
    if (!x->slot || !x->first ||
        !rd_grow(w->alloc, (void **)&x->access, &x->capacity, 0, 1, sizeof *x->access))
        goto no_memory;
    if (!link_classes(w, x))
        rd_alias_free(w);
    return RONDO_OK;
no_memory:
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to analyse aliases", w->g->name);
}

void rd_alias_free(struct rd_walk *w)
{
    struct rd_alias *x = w->alias;
    size_t slots = w->g->slots.count;
    if (!x)
        return;
    rd_free_array(w->alloc, x->slot, slots, sizeof *x->slot);
    rd_free_array(w->alloc, x->first, slots, sizeof *x->first);
    rd_free_array(w->alloc, x->access, x->capacity, sizeof *x->access);
    rd_free(w->alloc, x, sizeof *x);
    w->alias = NULL;
}

static int add(struct rd_walk *w, uint32_t *list)
{
    struct rd_alias *x = w->alias;
    uint32_t i = x->free_access;
    if (*list && x->access[*list].time == w->now)
        return 1;
    if (i) {
        x->free_access = x->access[i].next;
    } else {
        if (x->count >= UINT32_MAX ||
            (x->count >= x->capacity &&
             !rd_grow(w->alloc, (void **)&x->access, &x->capacity, x->count, 1, sizeof *x->access)))
            return 0;
        i = (uint32_t)x->count++;
    }
    x->access[i].time = w->now;
    x->access[i].kept_for = 0;
    x->access[i].next = *list;
    *list = i;
    return 1;
}

static void drop(struct rd_alias *x, struct member *m, uint32_t *link)
{
    uint32_t i = *link;
    *link = x->access[i].next;
    m->covered -= x->access[i].kept_for != 0;
    x->access[i].next = x->free_access;
    x->free_access = i;
}

/* The present access through `slot` follows those in a list of another slot; a write covers them.
 */
static void follow(struct rd_walk *w, uint32_t slot, int write, struct member *m, uint32_t *link)
{
    struct rd_alias *x = w->alias;
    while (*link) {
        struct access *e = &x->access[*link];
        if (e->time < w->base) {
            drop(x, m, link);
            continue;
        }
        if (!e->kept_for || e->kept_for == slot + 1)
            rd_walk_conflict(w, e->time);
        if (write && e->kept_for && e->kept_for != slot + 1) {
            drop(x, m, link);
            continue;
        }
        if (write && !e->kept_for) {
            e->kept_for = slot + 1;
            m->covered++;
        }
        link = &e->next;
    }
}

/* What is kept for one other slot alone goes when this one writes: the write it was covered by came
 * before, and that other slot follows this write. */
static void drop_covered(struct rd_alias *x, struct member *m, uint32_t *link)
{
    while (*link && m->covered)
        if (x->access[*link].kept_for)
            drop(x, m, link);
        else
            link = &x->access[*link].next;
}

static int bound(const struct rd_walk *w, uint32_t slot)
{
    uint8_t kind = w->g->slots.item[slot].kind;
    return kind == RD_SLOT_BOUND || kind == RD_SLOT_TEMPORARY;
}

int rd_alias_touch(struct rd_walk *w, uint32_t slot, uint32_t mode)
{
    struct rd_alias *x = w->alias;
    struct member *own = &x->slot[slot];
    uint32_t s = x->first[w->memories->slot[slot].alias_class];
    int write = (mode & RONDO_WRITE) != 0;
    if (!s)
        return 1;
    w->keep = w->copy >= w->warm && w->copy - w->warm < w->phases; /* whatever rings do */
    for (; s; s = x->slot[s - 1].next) {
        struct member *m = &x->slot[s - 1];
        if (s - 1 == slot)
            continue;
        w->floor = w->base;
        if ((bound(w, slot) || bound(w, s - 1)) && w->begin > w->base)
            w->floor = w->begin;
        follow(w, slot, write, m, &m->writes);
        if (write)
            follow(w, slot, write, m, &m->reads);
    }
    if (write) {
        drop_covered(x, own, &own->writes);
        drop_covered(x, own, &own->reads);
    }
    return add(w, write ? &own->writes : &own->reads);
}
