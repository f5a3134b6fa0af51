/* SPDX-License-Identifier: BSD-3-Clause */
/* The work-stealing deque: every item is taken once, by its owner or a thief, whole. */
#include "compile/run/deque.h"

#include "tests/support/scale.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

enum { CELLS = 8, THIEVES = 2 };

struct table {
    struct rd_deque deque;
    rd_atomic64 cell[CELLS];
    uint64_t *payload;  /* by item, plain: written before the push */
    rd_atomic32 *taken; /* by item */
    rd_atomic32 over;
    rd_atomic64 torn;
};

static void take(struct table *t, uint64_t item)
{
    if (t->payload[item] != item * 3 + 1)
        rd_add_relaxed(&t->torn, 1);
    rd_add_relaxed(&t->taken[item], 1);
}

static void *thief(void *argument)
{
    struct table *t = argument;
    uint64_t item;
    while (!rd_load_acquire(&t->over))
        if (rd_deque_steal(&t->deque, &item))
            take(t, item);
    return NULL;
}

static void push_all(struct table *t, uint64_t items, uint32_t burst, uint32_t some)
{
    uint64_t item, batch[CELLS], next = 0;
    while (next < items) {
        for (uint32_t i = 0; i < burst && next < items; i++) {
            t->payload[next] = next * 3 + 1;
            if (!rd_deque_push(&t->deque, next))
                break; /* full: some have to go first */
            next++;
        }
        if (some && rd_deque_pop_some(&t->deque, batch, some))
            for (uint32_t i = 0; i < some; i++)
                take(t, batch[i]);
        for (uint32_t i = 0; i < burst; i++)
            if (rd_deque_pop(&t->deque, &item))
                take(t, item);
    }
    while (rd_deque_pop(&t->deque, &item))
        take(t, item);
}

Test(deque, every_item_once)
{
    static const struct {
        uint32_t burst, some; /* pushed at a time; taken at once */
    } ways[] = { { 1, 0 }, { 2, 0 }, { 3, 0 }, { CELLS, 0 },         { 3 * CELLS, 0 },
                 { 2, 1 }, { 3, 1 }, { 3, 2 }, { CELLS, CELLS / 2 }, { CELLS, CELLS - 1 } };
    const uint64_t items = rd_test_scaled(400000);
    for (size_t b = 0; b < sizeof ways / sizeof *ways; b++) {
        struct table *t = aligned_alloc(RD_LINE, (sizeof *t + RD_LINE - 1) / RD_LINE * RD_LINE);
        pthread_t thread[THIEVES];
        uint64_t wrong = 0;
        *t = (struct table){ .deque = { .mask = CELLS - 1 } };
        t->deque.cell = t->cell;
        t->payload = malloc(items * sizeof *t->payload);
        t->taken = calloc(items, sizeof *t->taken);
        for (int i = 0; i < THIEVES; i++)
            pthread_create(&thread[i], NULL, thief, t);
        push_all(t, items, ways[b].burst, ways[b].some);
        while (rd_deque_size(&t->deque)) /* a thief is at the last one */
            rd_pause();
        rd_store_release(&t->over, 1);
        for (int i = 0; i < THIEVES; i++)
            pthread_join(thread[i], NULL);
        for (uint64_t i = 0; i < items; i++)
            wrong += rd_load_relaxed(&t->taken[i]) != 1;
        cr_assert(wrong == 0, "bursts of %u: %llu items not taken once", ways[b].burst,
                  (unsigned long long)wrong);
        cr_assert(rd_load_relaxed(&t->torn) == 0, "bursts of %u: an item without its payload",
                  ways[b].burst);
        free(t->payload);
        free(t->taken);
        free(t);
    }
}

/* Without thieves: last in, first out; a full deque refuses; both ways of popping. */
Test(deque, alone)
{
    static struct table t = { .deque = { .mask = CELLS - 1 } };
    uint64_t item = 99, some[CELLS];
    t.deque.cell = t.cell;
    for (int round = 0; round < 3; round++) {
        cr_assert(!rd_deque_pop(&t.deque, &item) && !rd_deque_pop_alone(&t.deque, &item) &&
                  !rd_deque_steal(&t.deque, &item));
        for (uint64_t i = 0; i < CELLS; i++)
            cr_assert(rd_deque_push(&t.deque, i));
        cr_assert(!rd_deque_push(&t.deque, 77) && rd_deque_size(&t.deque) == CELLS);
        cr_assert(rd_deque_steal(&t.deque, &item) && item == 0);
        cr_assert(rd_deque_push(&t.deque, 8));
        cr_assert(!rd_deque_pop_some(&t.deque, some, CELLS),
                  "all of them: the last is not its own");
        cr_assert(rd_deque_pop_some(&t.deque, some, 3) && some[0] == 6 && some[1] == 7 &&
                  some[2] == 8);
        for (uint64_t i = 6; i <= CELLS; i++)
            cr_assert(rd_deque_push(&t.deque, i));
        for (uint64_t i = CELLS; i > 0; i--)
            cr_assert(
                (i % 2 ? rd_deque_pop_alone(&t.deque, &item) : rd_deque_pop(&t.deque, &item)) &&
                item == i);
    }
}
