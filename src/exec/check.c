/* SPDX-License-Identifier: BSD-3-Clause */
/* Ties src/check/ to execs: which check an exec gets, and which frames. */
#include "src/exec/check.h"

#include "src/base/env.h"
#include "src/check/access.h"
#include "src/check/verify.h"
#include "src/exec/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERIFY_MOST = 1000000000 };

static rondo_status bad_value(const struct rd_subgraph *g, enum rd_env variable, const char *is_not)
{
    return rd_error(RONDO_ERR_INVALID,
                    "subgraph '%s': instantiate: the environment's %s is '%.40s', %s", g->name,
                    rd_env_table[variable].name, rd_env_text(variable), is_not);
}

/* 1 if the variable is set. */
static rondo_status read_number(const struct rd_subgraph *g, enum rd_env variable, int64_t low,
                                int64_t high, int64_t *value, int *is_set)
{
    const char *text = rd_env_text(variable);
    char *end;
    *is_set = text != NULL;
    if (!text)
        return RONDO_OK;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (errno || *end || *value < low || *value > high)
        return bad_value(g, variable, "no whole number in its range");
    return RONDO_OK;
}

static rondo_status read_environment(struct rd_exec *x, const struct rd_subgraph *g)
{
    const char *text = rd_env_text(RD_ENV_RONDO_CHECK);
    int64_t seed, every = 0;
    int has_every;
    rondo_status status =
        read_number(g, RD_ENV_RONDO_SHUFFLE, INT64_MIN, INT64_MAX, &seed, &x->check.shuffle);
    if (!status)
        status = read_number(g, RD_ENV_RONDO_VERIFY, 0, VERIFY_MOST, &every, &has_every);
    if (status)
        return status;
    x->check.verify = (uint64_t)every;
    if (text && strcmp(text, "access") != 0)
        return bad_value(g, RD_ENV_RONDO_CHECK, "which is not 'access'");
    x->check.access = text != NULL;
    return RONDO_OK;
}

static void check_off(struct rd_exec *x, const char *why)
{
    x->check.access = 0;
    snprintf(x->check.off[0], sizeof x->check.off[0], "%s", why);
}

static void verify_off(struct rd_exec *x, const char *why)
{
    x->check.verify = 0;
    snprintf(x->check.off[1], sizeof x->check.off[1], "%s", why);
}

static int may_block(const struct rd_subgraph *g)
{
    for (size_t i = 0; i < g->extras.count; i++)
        if (g->extras.item[i].flags & RONDO_MAY_BLOCK)
            return 1;
    return 0;
}

/* Drops what cannot be done here, or not together. */
static void settle(struct rd_exec *x, const struct rd_subgraph *g)
{
    char why[128];
    if (x->check.access && may_block(g))
        check_off(x, "tasks that may block run beside others");
    if (x->check.access && rd_exec_any_on_device(g))
        check_off(x, "nodes are on devices");
    if (!x->check.verify)
        return;
    if (x->check.access || x->check.shuffle || x->mode == RONDO_INTERPRETED)
        verify_off(x, "every replay is interpreted");
    else if (x->schedule == RONDO_DATAFLOW)
        verify_off(x, "dataflow was asked for, which has no fixed lanes");
    else if (!rd_verify_can(g, why, sizeof why))
        verify_off(x, why);
}

rondo_status rd_exec_check_begin(struct rd_exec *x, const struct rd_subgraph *g)
{
    rondo_status status = read_environment(x, g);
    if (status)
        return status;
    settle(x, g);
    if (x->check.access || x->check.shuffle) {
        x->mode = RONDO_INTERPRETED;
        snprintf(x->why, sizeof x->why, "the environment's %s says so",
                 x->check.access ? "RONDO_CHECK" : "RONDO_SHUFFLE");
    }
    if (x->check.access || x->check.shuffle || x->check.verify)
        x->schedule = RONDO_STATIC;
    if (x->check.access)
        rd_store_relaxed(&x->profile, 0); /* there is nothing to place */
    return RONDO_OK;
}

rondo_status rd_exec_check_regions(struct rd_exec *x, const struct rd_subgraph *e)
{
    if (!rd_exec_is_checked(&x->check))
        return RONDO_OK;
    x->check.has_regions = rd_regions_init(&x->check.regions, &x->rt->alloc, e);
    return x->check.has_regions
               ? RONDO_OK
               : rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory to check %zu nodes",
                          x->program.exec_name, e->nodes.count);
}

void rd_exec_check_end(struct rd_exec *x)
{
    if (x->check.has_regions)
        rd_regions_end(&x->check.regions);
}

static void *ring_buffer(void *exec, uint32_t slot, uint32_t i)
{
    const struct rd_exec_slot *s = &((struct rd_exec *)exec)->slot[slot];
    return s->kind == RD_SLOT_RING && i < s->count ? rd_buffer_base(s->buffers[i]) : NULL;
}

rondo_status rd_exec_check_track(struct rd_core *c, struct rd_track *t)
{
    const struct rd_exec_check *check = &c->x->check;
    rondo_status status;
    if (check->access)
        return rd_access_check_new(&check->regions, &t->check);
    if (!check->verify || c->kind == RD_CORE_FLOW)
        return RONDO_OK;
    status = rd_verify_new(&check->regions, c->plan, &(struct rd_verify_reach){ c->x, ring_buffer },
                           &t->check);
    if (!status)
        t->interpret = rd_verify_interpret;
    return status;
}

void rd_exec_check_free_track(struct rd_track *t)
{
    if (t->interpret == rd_verify_interpret)
        rd_verify_free(t->check);
    else
        rd_access_check_free(t->check);
}

void rd_exec_check_frame(struct rd_exec *x, struct rd_frame *f)
{
    if (x->check.access) {
        f->slow |= RD_SLOW_CHECK;
    } else if (x->check.verify && !f->interpreted && (f->replay + 1) % x->check.verify == 0) {
        f->slow |= RD_SLOW_CHECK;
        f->interpreted = 1;
    }
}

void rd_exec_check_describe(const struct rd_exec *x, void (*write)(void *context, const char *text),
                            void *context)
{
    const struct rd_exec_check *c = &x->check;
    char text[256];
    if (c->access)
        write(context, "check: RONDO_CHECK=access, nodes one by one, what they did not declare is "
                       "protected\n");
    if (c->off[0][0]) {
        snprintf(text, sizeof text, "check: RONDO_CHECK=access is off: %s\n", c->off[0]);
        write(context, text);
    }
    if (c->shuffle) {
        snprintf(text, sizeof text, "order of nodes: random, RONDO_SHUFFLE=%.40s\n",
                 rd_env_text(RD_ENV_RONDO_SHUFFLE) ? rd_env_text(RD_ENV_RONDO_SHUFFLE) : "");
        write(context, text);
    }
    if (c->verify) {
        snprintf(text, sizeof text,
                 "check: RONDO_VERIFY=%llu, so often a replay runs interpreted and compiled\n",
                 (unsigned long long)c->verify);
        write(context, text);
    }
    if (c->off[1][0]) {
        snprintf(text, sizeof text, "check: RONDO_VERIFY is off: %s\n", c->off[1]);
        write(context, text);
    }
}
