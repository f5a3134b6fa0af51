/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program with devices does with its buffers between replays: looks at them, changes them by
 * maps and behind Rondo's back, moves them, and lets other execs at them. */
#include "tests/engine/random_device.h"
#include "tests/engine/random_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rows of a buffer's elements; what lies between them is nobody's. */
static void copy_rows(const rondo_shape *s, unsigned char *to, const unsigned char *from)
{
    for (int64_t z = 0; z < s->extent[2]; z++)
        for (int64_t y = 0; y < s->extent[1]; y++) {
            size_t at = (size_t)z * s->pitch_bytes[1] + (size_t)y * s->pitch_bytes[0];
            memcpy(to + at, from + at, (size_t)s->extent[0] * s->elem_bytes);
        }
}

static unsigned char *own_bytes(const struct rg_run *run, uint32_t buffer)
{
    const struct rg_buffer *b = &run->program->buffer[buffer];
    return run->memory[b->memory] + b->offset;
}

/* ---- memory that is not wrapped */

static rondo_status fill_buffer(const struct rg_run *run, rondo_buffer buffer, uint32_t number)
{
    void *host;
    rondo_status status = rondo_buffer_map(buffer, RONDO_WRITE, &host);
    if (status)
        return status;
    copy_rows(&run->program->buffer[number].shape, host, own_bytes(run, number));
    return rondo_buffer_unmap(buffer);
}

/* Memory of a device that Rondo finds there: a part of another buffer's. */
static rondo_status find_memory(struct rg_recorded *out, uint32_t memory, size_t bytes,
                                rondo_memory where, void **found)
{
    rondo_buffer_desc d = { .name = "holder",
                            .shape = { 1, { (int64_t)bytes + 512 }, { 0 } },
                            .memory = where };
    rondo_status status = rondo_buffer_create(out->runtime, &d, &out->holder[memory]);
    if (!status)
        status = rondo_buffer_address(out->holder[memory], where, found);
    if (!status)
        *found = (char *)*found + 256;
    return status;
}

rondo_status rg_device_buffer(struct rg_run *run, struct rg_recorded *out, uint32_t buffer,
                              const rondo_buffer_desc *wrapping)
{
    const struct rg_program *p = run->program;
    const uint32_t m = p->buffer[buffer].memory;
    const rondo_memory there = RONDO_GPU_MEMORY((uint32_t)(p->seed + buffer) % run->devices);
    rondo_buffer_desc d = *wrapping;
    rondo_status status = RONDO_OK;
    d.host = NULL;
    if (p->memory_kind[m] == RG_PINNED)
        d.memory = RONDO_PINNED;
    if (p->memory_kind[m] >= RG_ON_DEVICE)
        d.memory = there;
    if (p->memory_kind[m] == RG_OF_DEVICE)
        status = find_memory(out, m, rg_shape_span(&d.shape), there, &d.device);
    if (!status)
        status = rondo_buffer_create(out->runtime, &d, &out->buffer[buffer]);
    return status ? status : fill_buffer(run, out->buffer[buffer], buffer);
}

rondo_status rg_device_fetch(struct rg_run *run, const struct rg_recorded *recorded)
{
    const struct rg_program *p = run->program;
    for (uint32_t b = 0; b < p->buffer_count; b++) {
        void *host;
        rondo_status status = RONDO_OK;
        if (p->memory_hidden[p->buffer[b].memory])
            continue;
        status = rondo_buffer_map(recorded->buffer[b], RONDO_READ, &host);
        if (status)
            return status;
        if (p->memory_kind[p->buffer[b].memory] != RG_WRAPPED)
            copy_rows(&p->buffer[b].shape, own_bytes(run, b), host);
        else if (host != own_bytes(run, b))
            rg_run_wrong(run, "buffer %u is mapped at %p, it wraps %p", b, host,
                         (void *)own_bytes(run, b));
        if ((status = rondo_buffer_unmap(recorded->buffer[b])) != RONDO_OK)
            return status;
    }
    return RONDO_OK;
}

/* ---- other execs over the same buffers */

struct rg_chores {
    rondo_event moving; /* of the last sync */
    struct visitor {
        rondo_exec exec;
        rondo_param salt;
        rondo_buffer stage;
        unsigned char *bytes;
    } visitor[RG_BUFFERS][2]; /* on CPUs, on a device */
};

struct visit_arg {
    const struct rg_program *program;
    uint32_t buffer;
};

static int visit(rondo_task *self, const void *arg)
{
    const struct visit_arg *a = arg;
    uint64_t salt;
    memcpy(&salt, rondo_task_param(self, 0), sizeof salt);
    rg_device_poke(a->program, a->buffer, rondo_task_write(self, 0), salt);
    return 0;
}

/* Writes all of the buffer's elements, which it sees before now and then. */
static void record_visit(const struct rg_program *p, struct visitor *v, uint32_t buffer,
                         rondo_subgraph g, rondo_slot slot)
{
    struct visit_arg arg = { p, buffer };
    rondo_access access =
        rondo_access_of(slot, buffer % 2 ? RONDO_WRITE : RONDO_READ_WRITE, rondo_whole());
    v->salt = rondo_subgraph_param(g, "salt", 8, NULL);
    (void)rondo_record_task(g, &(rondo_task_desc){ .name = "visit",
                                                   .fn = visit,
                                                   RONDO_ARG(arg),
                                                   .accesses = &access,
                                                   .access_count = 1,
                                                   .params = &v->salt,
                                                   .param_count = 1 });
}

/* A device copies from memory that the visitor has written behind Rondo's back. */
static void record_copy(const struct rg_run *run, rondo_runtime runtime, struct visitor *v,
                        uint32_t buffer, rondo_subgraph g, rondo_slot slot)
{
    const rondo_shape *s = &run->program->buffer[buffer].shape;
    v->bytes = calloc(1, rg_shape_span(s));
    if (!v->bytes)
        abort();
    rondo_buffer_desc d = { .name = "stage", .shape = *s, .host = v->bytes };
    if (rondo_buffer_create(runtime, &d, &v->stage))
        return;
    rondo_slot from = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = v->stage });
    (void)rondo_record_copy(g, &(rondo_move_desc){ .name = "bring",
                                                   .from = rondo_read(from, rondo_whole()),
                                                   .to = rondo_write(slot, rondo_whole()),
                                                   .on = RONDO_GPU(buffer % run->devices) });
}

static rondo_status make_visitor(const struct rg_run *run, struct visitor *v,
                                 const struct rg_recorded *recorded, uint32_t buffer, int device)
{
    rondo_subgraph g;
    rondo_status status = rondo_subgraph_create(recorded->runtime, NULL, &g);
    if (status)
        return status;
    rondo_slot slot =
        rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = recorded->buffer[buffer] });
    if (device)
        record_copy(run, recorded->runtime, v, buffer, g, slot);
    else
        record_visit(run->program, v, buffer, g, slot);
    status = rondo_instantiate(g, NULL, &v->exec);
    (void)rondo_subgraph_destroy(g);
    return status;
}

/* The visit comes after the replays so far, and before those to come. */
static rondo_status call_visitor(const struct rg_run *run, struct visitor *v,
                                 const struct rg_step *step, int device, rondo_event last)
{
    const struct rg_program *p = run->program;
    rondo_value value = { v->salt, &step->chore_salt, 0 };
    rondo_replay_args args = { .after = &last, .after_count = 1 };
    rondo_status status = RONDO_OK;
    if (device) {
        rg_device_poke(p, step->chore_buffer, v->bytes, step->chore_salt);
        status = rondo_buffer_touched(v->stage, RONDO_HOST);
    } else {
        args.values = &value;
        args.value_count = 1;
    }
    return status ? status : rondo_replay_and_wait(v->exec, &args, -1, NULL);
}

static struct rg_chores *need_chores(struct rg_chores **chores)
{
    if (!*chores && !(*chores = calloc(1, sizeof **chores)))
        abort();
    return *chores;
}

static rondo_status visit_buffer(const struct rg_run *run, struct rg_chores **chores,
                                 const struct rg_recorded *recorded, const struct rg_step *step,
                                 int device, rondo_event last)
{
    struct visitor *v = &need_chores(chores)->visitor[step->chore_buffer][device];
    if (!v->exec.id) {
        rondo_status status = make_visitor(run, v, recorded, step->chore_buffer, device);
        if (device && run->limited && status == RONDO_ERR_INVALID)
            return visit_buffer(run, chores, recorded, step, 0, last); /* it has no room */
        if (status)
            return status;
    }
    return call_visitor(run, v, step, device, last);
}

void rg_chores_end(struct rg_chores *chores)
{
    for (uint32_t b = 0; chores && b < RG_BUFFERS; b++)
        for (int d = 0; d < 2; d++) {
            struct visitor *v = &chores->visitor[b][d];
            if (!v->exec.id && !v->bytes)
                continue;
            (void)rondo_exec_destroy(v->exec);
            (void)rondo_buffer_destroy(v->stage);
            free(v->bytes);
        }
    free(chores);
}

/* ---- the chores */

/* Any memory there is, also of a device. */
static rondo_memory some_memory(const struct rg_run *run, uint64_t draw)
{
    uint32_t m = (uint32_t)(draw % (2 + run->devices));
    return m == 0 ? RONDO_HOST : m == 1 ? RONDO_PINNED : RONDO_GPU_MEMORY(m - 2);
}

/* No buffer has both kinds of host memory. */
static rondo_status sync_buffer(const struct rg_run *run, struct rg_chores *chores,
                                rondo_buffer buffer, const struct rg_step *step)
{
    rondo_memory m = some_memory(run, step->chore_salt >> 8);
    rondo_event event = { 0, 0 };
    rondo_status status;
    if (m == RONDO_PINNED)
        m = RONDO_HOST;
    status = rondo_buffer_sync(buffer, m, step->chore_salt % 3 ? &event : NULL);
    if (status == RONDO_OK && step->chore_salt % 3 == 1)
        status = rondo_event_wait(event, -1);
    if (status == RONDO_OK)
        chores->moving = event;
    if (status == RONDO_ERR_MEMORY && run->limited)
        status = RONDO_OK;
    return status;
}

static rondo_status map_buffer(rondo_buffer buffer, const struct rg_run *run,
                               const struct rg_step *step, uint32_t mode)
{
    void *host;
    rondo_status status = rondo_buffer_map(buffer, mode, &host);
    if (status)
        return status;
    if (mode & RONDO_WRITE)
        rg_device_poke(run->program, step->chore_buffer, host, step->chore_salt);
    return rondo_buffer_unmap(buffer);
}

/* Writes to host memory that Rondo shows, while nothing moves, and tells it afterwards. */
static rondo_status touch_buffer(const struct rg_run *run, const struct rg_chores *chores,
                                 rondo_buffer buffer, const struct rg_step *step)
{
    void *host;
    rondo_status status = rondo_event_wait(chores->moving, -1);
    if (!status)
        status = rondo_buffer_address(buffer, RONDO_HOST, &host);
    if (status)
        return status;
    rg_device_poke(run->program, step->chore_buffer, host, step->chore_salt);
    return rondo_buffer_touched(buffer, RONDO_HOST);
}

static rondo_status find_address(rondo_buffer buffer, const struct rg_run *run,
                                 const struct rg_step *step)
{
    void *address = NULL;
    rondo_memory m = RONDO_GPU_MEMORY((uint32_t)(step->chore_salt >> 8) % run->devices);
    rondo_status status = rondo_buffer_address(buffer, m, &address);
    return status == RONDO_ERR_MEMORY && run->limited ? RONDO_OK : status;
}

rondo_status rg_device_chore(struct rg_run *run, struct rg_chores **chores,
                             const struct rg_recorded *recorded, const struct rg_step *step,
                             rondo_event last)
{
    const rondo_buffer buffer = recorded->buffer[step->chore_buffer];
    switch (step->chore) {
    case RG_LOOK: return rg_device_fetch(run, recorded);
    case RG_POKE:
        return map_buffer(buffer, run, step,
                          step->chore_salt >> 8 & 1 ? RONDO_WRITE : RONDO_READ | RONDO_WRITE);
    case RG_TOUCH: return touch_buffer(run, need_chores(chores), buffer, step);
    case RG_SYNC: return sync_buffer(run, need_chores(chores), buffer, step);
    case RG_MAP: return map_buffer(buffer, run, step, RONDO_READ);
    case RG_ADDRESS: return find_address(buffer, run, step);
    case RG_VISIT:
    case RG_VISIT_DEVICE:
        return visit_buffer(run, chores, recorded, step, step->chore == RG_VISIT_DEVICE, last);
    case RG_NO_CHORE:
    case RG_CHORES: break;
    }
    return RONDO_OK;
}
