/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a random program: its slots, records, edges and script, for whoever reproduces one. */
#include "tests/engine/random_program.h"

#include <stdio.h>

static const char *const kind_names[] = { "task", "fence", "nothing",   "for",    "call",
                                          "copy", "fill",  "allreduce", "signal", "await" };
static const char *const slot_kinds[] = { "fixed", "ring", "bound", "temporary", "token" };
static const char *const step_kinds[] = { "replay",    "replay and wait", "wait exec", "event",
                                          "set_param", "set_mode",        "reset",     "event_at",
                                          "update",    "update_task",     "enable" };

static const char *const chores[] = { "nothing", "look",    "poke",  "touch",          "sync",
                                      "map",     "address", "visit", "visit on device" };

static void print_when(const struct rg_when *w)
{
    if (w->every)
        fprintf(stderr, ", every %u phase %u", w->every, w->phase);
    if (w->param >= 0)
        fprintf(stderr, ", if p%d", w->param);
    if (w->flag >= 0)
        fprintf(stderr, ", if s%d", w->flag);
}

static void print_access(const struct rg_program *p, const struct rg_access *a)
{
    fprintf(stderr, " %s%s s%u",
            a->mode == RONDO_COMMUTE  ? "commute"
            : a->mode == RONDO_REDUCE ? "reduce"
            : a->mode == RONDO_READ   ? "read"
            : a->mode == RONDO_WRITE  ? "write"
                                      : "update",
            a->flags & RONDO_CHUNK ? " chunk" : "", a->slot);
    for (int d = 0; d < p->slot[a->slot].dims; d++)
        fprintf(stderr, "%s%lld+%lld", d ? "," : "[", (long long)a->region.first[d],
                (long long)a->region.count[d]);
    fprintf(stderr, "]halo %d,%d,%d flags %x", a->halo[0], a->halo[1], a->halo[2], a->flags);
}

static void print_record(const struct rg_program *p, uint32_t i)
{
    const struct rg_record *r = &p->record[i];
    fprintf(stderr, "  n%u: %s, nodes %u+%u", i, kind_names[r->kind], r->first_node, r->node_count);
    if (p->member_count > 1)
        fprintf(stderr, ", member %u", r->member);
    if (r->nest)
        fprintf(stderr, ", nest %u (twin n%u)", r->nest - 1, r->twin);
    if (r->flags)
        fprintf(stderr, ", flags 0x%x team %u lag %u", r->flags, r->team, r->stop_lag);
    if (r->on >= 0)
        fprintf(stderr, ", on %d", r->on);
    if (r->device >= 0)
        fprintf(stderr, ", on device %d%s", r->device, r->by_address ? ", by address" : "");
    if (r->fail_every)
        fprintf(stderr, ", fails 1 in %u", r->fail_every);
    for (uint32_t q = 0; q < r->param_count; q++)
        fprintf(stderr, ", takes p%u", r->param[q]);
    for (uint32_t q = 0; q < r->patch_count; q++)
        fprintf(stderr, ", patched by p%u", (uint32_t)r->patch[q].param.id);
    print_when(&r->when);
    for (uint32_t a = 0; a < r->access_count; a++)
        print_access(p, &r->access[a]);
    fprintf(stderr, "\n");
}

static void print_step(const struct rg_program *p, uint32_t i)
{
    const struct rg_step *s = &p->step[i];
    fprintf(stderr, "  step %u: %s", i, step_kinds[s->kind]);
    if (p->member_count > 1)
        fprintf(stderr, " member %u", s->member);
    if (s->kind == RG_REPLAY || s->kind == RG_REPLAY_AND_WAIT)
        fprintf(stderr, " x%u%s, with 0x%x", s->count, s->late ? " late" : "", s->with);
    if (s->kind == RG_SET_MODE)
        fprintf(stderr, " %u", s->mode);
    if (s->kind == RG_SET_PARAM)
        fprintf(stderr, " p%u", s->param);
    if (s->kind >= RG_EVENT_AT)
        fprintf(stderr, " n%u version %u", s->record, s->version);
    if (s->chore)
        fprintf(stderr, ", then %s b%u", chores[s->chore], s->chore_buffer);
    fprintf(stderr, "\n");
}

static void print_slot(const struct rg_program *p, uint32_t i)
{
    static const char *const kinds[] = { "wrapped", "owned", "pinned", "on a device",
                                         "found there" };
    const struct rg_slot *s = &p->slot[i];
    const struct rg_buffer *b = &p->buffer[s->buffer[0]];
    fprintf(stderr,
            "  s%u: %s of %u from %u by %u, %zu bytes x %lld x %lld x %lld, pitches %zu %zu, ", i,
            slot_kinds[s->kind], s->count, s->first, s->stride, s->shape.elem_bytes,
            (long long)s->shape.extent[0], (long long)s->shape.extent[1],
            (long long)s->shape.extent[2], s->shape.pitch_bytes[0], s->shape.pitch_bytes[1]);
    fprintf(stderr, "type %u, b%u at %zu of memory %u (%s)%s%s\n", s->type, s->buffer[0], b->offset,
            b->memory, kinds[p->memory_kind[b->memory]], s->home ? ", home" : "",
            s->zeroed ? ", zeroed" : "");
}

void rg_print(const struct rg_program *p)
{
    static const char *const how[] = { "after", "carried", "edge" };
    for (uint32_t i = 0; i < p->slot_count; i++)
        print_slot(p, i);
    for (uint32_t i = 0; i < p->record_count; i++)
        print_record(p, i);
    for (uint32_t i = 0; i < p->nest_count; i++) {
        fprintf(stderr, "  nest %u: n%u to n%u, twin %u", i, p->nest[i].first, p->nest[i].end - 1,
                p->nest[i].twin);
        print_when(&p->nest[i].when);
        fprintf(stderr, "\n");
    }
    for (uint32_t i = 0; i < p->edge_count; i++)
        fprintf(stderr, "  n%u -> n%u over %u (%s)\n", p->edge[i].from, p->edge[i].to,
                p->edge[i].distance, how[p->edge[i].how]);
    for (uint32_t i = 0; i < p->step_count; i++)
        print_step(p, i);
}
