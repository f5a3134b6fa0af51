/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo_task_view: what a task without a chunk or an argument of its own can ask about its accesses
 * in every mode: shapes, boxes, halos at borders; and what it is told of accesses that it has not.
 */
#include "tests/engine/engine_check.h"

#include <stdatomic.h>
#include <stdio.h>

enum { NX = 6, NY = 5, CHUNKS = 6 };

struct seen {
    _Atomic(int) runs;
    rondo_shape shape[CHUNKS];
    rondo_region clipped[CHUNKS], wrapped[CHUNKS], whole[CHUNKS], chunk[CHUNKS];
    rondo_status beyond[CHUNKS];
    char said[CHUNKS][128];
};

static int look(rondo_task *self, const void *arg)
{
    struct seen *s = rondo_task_context(self);
    const rondo_region *chunk = rondo_task_chunk(self);
    int i = (int)(chunk->first[0] / 3 + chunk->first[1]); /* 3 by 2 points, two in a row */
    (void)arg;
    s->chunk[i] = *chunk;
    if (rondo_task_view(self, 0, &s->shape[i], &s->clipped[i]) ||
        rondo_task_view(self, 1, NULL, &s->wrapped[i]) ||
        rondo_task_view(self, 2, NULL, &s->whole[i]))
        return rondo_task_fail(self, rondo_error_message());
    s->beyond[i] = rondo_task_view(self, 3, NULL, NULL);
    snprintf(s->said[i], sizeof s->said[i], "%.127s", rondo_error_message());
    atomic_fetch_add(&s->runs, 1);
    return 0;
}

static int is_box(const rondo_region *r, int64_t x, int64_t y, int64_t nx, int64_t ny)
{
    return r->first[0] == x && r->first[1] == y && r->count[0] == nx && r->count[1] == ny;
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A halo of 1 to both sides, cut at the slot's border. */
static void check_chunk(const struct seen *s, int i)
{
    const rondo_region *c = &s->chunk[i];
    int64_t x = most(c->first[0] - 1, 0), y = most(c->first[1] - 1, 0);
    int64_t nx = least(c->first[0] + c->count[0] + 1, NX) - x;
    int64_t ny = least(c->first[1] + c->count[1] + 1, NY) - y;
    cr_assert_eq(s->shape[i].elem_bytes, 4);
    cr_assert(s->shape[i].extent[0] == NX && s->shape[i].extent[1] == NY);
    cr_assert_eq(s->shape[i].pitch_bytes[0], 64);
    cr_assert(is_box(&s->clipped[i], x, y, nx, ny), "chunk %d: box at %lld, %lld", i,
              (long long)s->clipped[i].first[0], (long long)s->clipped[i].first[1]);
    /* Of what goes on at the other side, the part at this one. */
    cr_assert(is_box(&s->wrapped[i], x, y, nx, ny), "chunk %d: box at %lld, %lld", i,
              (long long)s->wrapped[i].first[0], (long long)s->wrapped[i].first[1]);
    cr_assert(is_box(&s->whole[i], 1, 2, 3, 3)); /* a count of 0: to the end */
    cr_assert_eq(s->beyond[i], RONDO_ERR_INVALID);
    cr_assert(strstr(s->said[i], "access 3, it has 3"), "%s", s->said[i]);
}

static void record(rondo_subgraph g, rondo_buffer grid, rondo_slot *out, struct seen *seen)
{
    rondo_slot in = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = grid });
    rondo_access wrapped = rondo_access_of(in, RONDO_READ, rondo_whole());
    wrapped.flags = RONDO_CHUNK | RONDO_WRAP;
    wrapped.halo[0] = wrapped.halo[1] = 1;
    *out = rondo_subgraph_slot(
        g, &(rondo_slot_desc){ .shape = { .elem_bytes = 1, .extent = { NX, NY } },
                               .flags = RONDO_TEMPORARY });
    rondo_task_desc task = { .name = "look",
                             .fn = look,
                             .context = seen,
                             RONDO_ACCESSES(rondo_chunk(in, RONDO_READ, 1, 1), wrapped,
                                            rondo_read(*out, rondo_box(1, 2, 3, 0))) };
    ET_HANDLE(rondo_record_fill(g, &(rondo_move_desc){ .to = rondo_write(*out, rondo_whole()),
                                                       .value = "",
                                                       .value_bytes = 1 }));
    ET_HANDLE(rondo_record_for(
        g,
        &(rondo_for_desc){ .task = &task, .range = rondo_box(0, 0, NX, NY), .chunks = { 2, 3 } }));
}

Test(engine_view, in_every_mode)
{
    rondo_runtime rt = et_runtime(2);
    rondo_buffer grid;
    rondo_buffer_desc d = { .shape = {
                                .elem_bytes = 4, .extent = { NX, NY }, .pitch_bytes = { 64 } } };
    ET_OK(rondo_buffer_create(rt, &d, &grid));
    for (int k = 0; k < ET_MODES; k++) {
        static struct seen seen;
        rondo_subgraph g;
        rondo_slot out;
        rondo_exec exec;
        rondo_instantiate_options o = { .mode = et_modes[k].mode,
                                        .order = et_modes[k].order,
                                        .schedule = et_modes[k].schedule };
        et_alarm(60, "%s", et_modes[k].name);
        memset(&seen, 0, sizeof seen);
        ET_OK(rondo_subgraph_create(rt, NULL, &g));
        record(g, grid, &out, &seen);
        ET_OK(rondo_instantiate(g, &o, &exec));
        ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
        cr_assert_eq(atomic_load(&seen.runs), CHUNKS);
        for (int i = 0; i < CHUNKS; i++)
            check_chunk(&seen, i);
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_subgraph_destroy(g));
    }
    ET_OK(rondo_buffer_destroy(grid));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}
