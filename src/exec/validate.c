/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a call of rondo_replay before it takes a ticket, and resolves its handles. Allocates
 * nothing but for calls with many bindings. Inside an RCU read section. */
#include "src/exec/exec.h"

#include <stdio.h>
#include <string.h>

static const char *slot_name(const struct rd_exec *x, uint32_t slot)
{
    return x->program.names + x->slot[slot].name;
}

static const char *param_name(const struct rd_exec *x, uint32_t param)
{
    return x->program.names + x->param[param].name;
}

/* The index behind a slot's or parameter's handle. */
static int part_index(const struct rd_exec *x, uint64_t id, enum rd_part part, uint32_t count,
                      uint32_t *index)
{
    if (((uint32_t)id >> 30) != (uint32_t)part)
        return 0;
    if (RD_LIKELY(id >> 32 == x->serial))
        *index = ((uint32_t)id & 0x3fffffff) - 1;
    else
        *index = rd_exec_parts_find(&x->parts, id) - 1; /* of a subgraph recorded into it */
    return *index < count;
}

rondo_status rd_exec_param_index(const struct rd_exec *x, rondo_param param, const char *what,
                                 uint32_t *index)
{
    if (part_index(x, param.id, RD_PART_PARAM, x->params, index))
        return RONDO_OK;
    return rd_error(RONDO_ERR_INVALID,
                    "exec '%s': %s: handle 0x%llx is no parameter of its subgraph",
                    x->program.exec_name, what, (unsigned long long)param.id);
}

static rondo_status check_values(const struct rd_exec *x, const rondo_replay_args *args,
                                 const struct rd_sticky *sticky)
{
    uint32_t index, i, p;
    char what[32];
    if (args->value_count && !args->values)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': value_count is %u but values is NULL",
                        x->program.exec_name, args->value_count);
    for (i = 0; i < args->value_count; i++) {
        if (!part_index(x, args->values[i].param.id, RD_PART_PARAM, x->params, &index)) {
            snprintf(what, sizeof what, "values[%u]", i);
            return rd_exec_param_index(x, args->values[i].param, what, &index);
        }
        if (!args->values[i].value)
            return rd_error(RONDO_ERR_INVALID,
                            "exec '%s': values[%u]: parameter '%s' is given NULL",
                            x->program.exec_name, i, param_name(x, index));
    }
    for (p = 0; sticky && sticky->missing && p < x->params; p++) {
        for (i = 0; i < args->value_count; i++)
            if (part_index(x, args->values[i].param.id, RD_PART_PARAM, x->params, &index) &&
                index == p)
                break;
        if (i == args->value_count && !sticky->given[p])
            return rd_error(
                RONDO_ERR_INVALID,
                "exec '%s': parameter '%s' has no value: it has no initial one, none was "
                "set, and this call gives none",
                x->program.exec_name, param_name(x, p));
    }
    return RONDO_OK;
}

static int same_shape(const rondo_shape *a, const rondo_shape *b)
{
    return a->elem_bytes == b->elem_bytes && !memcmp(a->extent, b->extent, sizeof a->extent) &&
           !memcmp(a->pitch_bytes, b->pitch_bytes, sizeof a->pitch_bytes);
}

static rondo_status check_overlap(const struct rd_exec *x, uint32_t slot,
                                  const struct rd_buffer *buffer, uint64_t low, uint64_t high,
                                  uint32_t other)
{
    uint64_t begin = rd_buffer_address_of(buffer), end = begin + x->slot[slot].bytes;
    if (begin >= high || low >= end || x->slot[slot].alias == x->slot[other].alias)
        return RONDO_OK;
    return rd_error(
        RONDO_ERR_INVALID,
        "exec '%s': slot '%s' is bound to buffer '%s', whose bytes [0x%llx, 0x%llx) overlap "
        "those of slot '%s', [0x%llx, 0x%llx), and neither is declared alias_of the other",
        x->program.exec_name, slot_name(x, slot), buffer->name, (unsigned long long)begin,
        (unsigned long long)end, slot_name(x, other), (unsigned long long)low,
        (unsigned long long)high);
}

/* Against the bindings before it and all fixed and ring buffers. */
static rondo_status check_overlaps(const struct rd_exec *x, const struct rd_request *call,
                                   uint32_t i)
{
    const uint64_t *range = x->fixed_range;
    rondo_status status = RONDO_OK;
    for (uint32_t j = 0; j < i && !status; j++) {
        uint64_t low = rd_buffer_address_of(call->buffer[j]);
        status = check_overlap(x, call->slot[i], call->buffer[i], low,
                               low + x->slot[call->slot[j]].bytes, call->slot[j]);
    }
    for (uint32_t s = 0; s < x->slots && !status; s++)
        for (uint32_t k = 0; k < x->slot[s].count && !status; k++, range += 2)
            status = check_overlap(x, call->slot[i], call->buffer[i], range[0], range[1], s);
    return status;
}

static rondo_status check_binding(struct rd_exec *x, const rondo_replay_args *args,
                                  struct rd_request *call, uint32_t i)
{
    rondo_status status;
    struct rd_buffer *b, *same;
    uint32_t slot;
    if (!part_index(x, args->bindings[i].slot.id, RD_PART_SLOT, x->slots, &slot))
        return rd_error(RONDO_ERR_INVALID,
                        "exec '%s': bindings[%u]: handle 0x%llx is no slot of its subgraph",
                        x->program.exec_name, i, (unsigned long long)args->bindings[i].slot.id);
    if (x->slot[slot].kind != RD_SLOT_BOUND)
        return rd_error(
            RONDO_ERR_INVALID,
            "exec '%s': bindings[%u]: slot '%s' has a %s of its own and is not bound per replay",
            x->program.exec_name, i, slot_name(x, slot),
            x->slot[slot].kind == RD_SLOT_RING ? "ring" : "buffer");
    for (uint32_t j = 0; j < call->binding_count; j++)
        if (call->slot[j] == slot)
            return rd_error(RONDO_ERR_INVALID,
                            "exec '%s': bindings[%u] and [%u] both bind slot '%s'",
                            x->program.exec_name, j, i, slot_name(x, slot));
    b = rd_buffer_get(args->bindings[i].buffer, &status);
    if (!b)
        return rd_error(status, "exec '%s': bindings[%u]: slot '%s': %s", x->program.exec_name, i,
                        slot_name(x, slot), rd_error_text());
    call->slot[i] = slot;
    call->buffer[i] = b;
    call->binding_count = i + 1; /* its reference is the call's from here on */
    if (b->rt != x->rt)
        return rd_error(RONDO_ERR_INVALID,
                        "exec '%s': bindings[%u]: slot '%s': buffer '%s' is another runtime's",
                        x->program.exec_name, i, slot_name(x, slot), b->name);
    status = rd_keeper_instance(b, RD_MEMORY_HOST, &same);
    if (status)
        return status;
    if (!same_shape(&b->shape, &x->program.shapes[slot])) {
        const rondo_shape *is = &b->shape, *want = &x->program.shapes[slot];
        return rd_error(
            RONDO_ERR_INVALID,
            "exec '%s': bindings[%u]: buffer '%s' is %lldx%lldx%lld elements of %zu bytes, "
            "slot '%s' has %lldx%lldx%lld of %zu (pitches included)",
            x->program.exec_name, i, b->name, (long long)is->extent[0], (long long)is->extent[1],
            (long long)is->extent[2], is->elem_bytes, slot_name(x, slot),
            (long long)want->extent[0], (long long)want->extent[1], (long long)want->extent[2],
            want->elem_bytes);
    }
    return check_overlaps(x, call, i);
}

static rondo_status check_bindings(struct rd_exec *x, const rondo_replay_args *args,
                                   struct rd_request *call)
{
    uint32_t count = args->binding_count, j;
    rondo_status status;
    if (count && !args->bindings)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': binding_count is %u but bindings is NULL",
                        x->program.exec_name, count);
    if (count > x->bound_slots) /* one of them is wrong: find out which with the room there is */
        count = x->bound_slots < RD_REQUEST_INLINE ? x->bound_slots + 1 : x->bound_slots;
    if (count > RD_REQUEST_INLINE) {
        call->room = count;
        call->slot = rd_alloc_array(&x->rt->alloc, count, sizeof *call->slot);
        call->buffer = rd_alloc_array(&x->rt->alloc, count, sizeof *call->buffer);
        if (!call->slot || !call->buffer)
            return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for %u bindings",
                            x->program.exec_name, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        status = check_binding(x, args, call, i);
        if (status)
            return status;
    }
    for (uint32_t s = 0; call->binding_count < x->bound_slots && s < x->slots; s++) {
        for (j = 0; j < call->binding_count && call->slot[j] != s; j++)
            ;
        if (x->slot[s].kind == RD_SLOT_BOUND && j == call->binding_count)
            return rd_error(
                RONDO_ERR_INVALID,
                "exec '%s': slot '%s' has neither buffer nor ring, and this call binds none",
                x->program.exec_name, slot_name(x, s));
    }
    return RONDO_OK;
}

static rondo_status check_after(const struct rd_exec *x, const rondo_replay_args *args)
{
    if (args->after_count && !args->after)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': after_count is %u but after is NULL",
                        x->program.exec_name, args->after_count);
    if (args->after_count > RD_GATES_MAX)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': after_count is %u, at most %d are possible",
                        x->program.exec_name, args->after_count, RD_GATES_MAX);
    for (uint32_t i = 0; i < args->after_count; i++)
        if (args->after[i].source && !rd_source_find(args->after[i].source))
            return rd_error(RONDO_ERR_INVALID,
                            "exec '%s': after[%u]: {0x%llx, %llu} is no event of this process",
                            x->program.exec_name, i, (unsigned long long)args->after[i].source,
                            (unsigned long long)args->after[i].count);
    return RONDO_OK;
}

rondo_status rd_request_check(struct rd_exec *x, const rondo_replay_args *args,
                              struct rd_request *call)
{
    const struct rd_sticky *sticky = NULL;
    rondo_status status = RONDO_OK;
    call->value = args->values;
    call->value_count = args->value_count;
    call->plain = 0;
    call->binding_count = 0;
    call->slot = call->slot_inline;
    call->buffer = call->buffer_inline;
    call->room = 0;
    call->after = args->after;
    call->gate_count = args->after_count;
    call->fetch = NULL;
    call->sticky = NULL;
    call->not_before_ns = args->not_before_ns;
    call->deadline_ns = args->deadline_ns;
    call->done = args->done;
    call->context = args->context;
    call->timed =
        rd_load_relaxed(&x->timed) || args->flags & RONDO_TIMED || rd_load_relaxed(&x->rt->tracing);
    if (args->not_before_ns < 0 || args->deadline_ns < 0)
        return rd_error(
            RONDO_ERR_INVALID,
            "exec '%s': not_before_ns is %lld, deadline_ns %lld: times are not negative",
            x->program.exec_name, (long long)args->not_before_ns, (long long)args->deadline_ns);
    if (args->flags & ~(uint32_t)(RONDO_NO_WAIT | RONDO_TIMED))
        return rd_error(RONDO_ERR_INVALID, "exec '%s': flags 0x%x: unknown bits",
                        x->program.exec_name, args->flags);
    if (args->count > RD_REPLAY_MASK / 2)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': count %llu is too large",
                        x->program.exec_name, (unsigned long long)args->count);
    if (x->params) {
        sticky = rd_load_acquire(&x->sticky); /* pairs with rd_exec_set_param: the block */
        call->sticky = sticky->block;
    }
    if (args->value_count || (sticky && sticky->missing))
        status = check_values(x, args, sticky);
    if (!status && args->after_count)
        status = check_after(x, args);
    if (!status && (args->binding_count || x->bound_slots))
        status = check_bindings(x, args, call);
    if (status)
        rd_request_end(x, call);
    return status;
}

void rd_request_end(struct rd_exec *x, struct rd_request *call)
{
    for (uint32_t i = 0; i < call->binding_count; i++)
        rd_buffer_unref(call->buffer[i]);
    call->binding_count = 0;
    if (call->room) {
        rd_free_array(&x->rt->alloc, call->slot, call->room, sizeof *call->slot);
        rd_free_array(&x->rt->alloc, call->buffer, call->room, sizeof *call->buffer);
        call->room = 0;
    }
}
