/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts tasks in an order by depth first search along predecessors, without recursion: a hostile
 * file may hold a chain of a million. */
#include "tools/order.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct order_edge *x = a, *y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

void order_sort(struct order_edge *edges, size_t count)
{
    if (count)
        qsort(edges, count, sizeof *edges, compare);
}

void order_index(const struct order_edge *edges, size_t count, uint32_t tasks, uint32_t *first)
{
    size_t at = 0;
    for (uint32_t t = 0; t <= tasks; t++) {
        while (at < count && edges[at].to < t)
            at++;
        first[t] = (uint32_t)at;
    }
}

enum { UNSEEN, ON_PATH, PLACED };

struct search {
    const struct order_edge *edges;
    const uint32_t *first;
    uint32_t *place, *path; /* path: from a task back along predecessors */
    uint32_t *at;           /* the next edge to look at */
    uint8_t *state;
    uint32_t placed, length;
};

/* Turns the end of the path, from `task` on, into a circle along edges. */
static int close_circle(struct search *s, uint32_t task, uint32_t *length)
{
    uint32_t from = s->length - 1;
    while (s->path[from] != task)
        from--;
    *length = s->length - from;
    memmove(s->path, s->path + from, *length * sizeof *s->path);
    for (uint32_t i = 0; i < *length / 2; i++) {
        uint32_t other = s->path[i];
        s->path[i] = s->path[*length - 1 - i];
        s->path[*length - 1 - i] = other;
    }
    return 1;
}

static void enter(struct search *s, uint32_t task)
{
    s->state[task] = ON_PATH;
    s->at[task] = s->first[task];
    s->path[s->length++] = task;
}

static int place_with_all_before(struct search *s, uint32_t task, uint32_t *length)
{
    enter(s, task);
    while (s->length) {
        uint32_t top = s->path[s->length - 1];
        if (s->at[top] == s->first[top + 1]) {
            s->state[top] = PLACED;
            s->place[top] = s->placed++;
            s->length--;
            continue;
        }
        uint32_t before = s->edges[s->at[top]++].from;
        if (s->state[before] == ON_PATH)
            return close_circle(s, before, length);
        if (s->state[before] == UNSEEN)
            enter(s, before);
    }
    return 0;
}

int order_find(const struct order_edge *edges, const uint32_t *first, uint32_t tasks,
               uint32_t *place, uint32_t *circle, uint32_t *length)
{
    struct search s = { .edges = edges, .first = first, .place = place, .path = circle };
    s.at = calloc(tasks ? tasks : 1, sizeof *s.at);
    s.state = calloc(tasks ? tasks : 1, 1);
    int found = s.at && s.state ? 0 : -1;
    /* Tasks are tried by their numbers, so that an order that will do comes out as it is. */
    for (uint32_t t = 0; t < tasks && !found; t++)
        if (s.state[t] == UNSEEN)
            found = place_with_all_before(&s, t, length);
    free(s.at);
    free(s.state);
    return found;
}
