/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequences of calls, made from bytes: records, instantiates, replays, changes and destroys in any
 * order, with good, bad and stale handles. Whatever the bytes say, nothing may crash, hang or leak:
 * every call returns a status, every event of a submitted replay completes once all counters have
 * been raised, and in the end the runtime holds nothing. Nodes on devices are in one of the
 * recordings of some sequences: without devices (RONDO_DEVICES) it is no more than recorded.
 *
 * LLVMFuzzerTestOneInput is libFuzzer's entry. Built with FUZZ_ALONE the program makes its own
 * random bytes: `fuzz_calls [executions [seed]]`. */
#include <rondo/rondo.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, NODES = 40, EXECS = 6, EVENTS = 16, ROUND = 64 };

/* ---- bytes */

struct bytes {
    const uint8_t *at, *end;
};

static uint32_t take(struct bytes *b) { return b->at < b->end ? *b->at++ : 0; }
static uint32_t below(struct bytes *b, uint32_t n) { return take(b) % n; }
/* Once in a while something that cannot be right. */
static int odd(struct bytes *b) { return take(b) > 250; }

/* ---- what there is */

struct world {
    struct bytes b;
    rondo_buffer buffer[MOST];
    rondo_counter counter[2];
    rondo_subgraph graph[3];
    rondo_slot slot[3][MOST];
    rondo_param param[3][4];
    rondo_node node[3][NODES];
    uint32_t slots[3], params[3], nodes[3];
    rondo_exec exec[EXECS];
    uint32_t exec_of[EXECS]; /* which graph's handles it knows */
    rondo_event event[EVENTS];
    uint32_t events;
    rondo_loop loop;
    int devices;           /* graph[DEVICE_GRAPH] has nodes on some */
    uint32_t on_device[3]; /* 1: a kernel or launch was recorded */
};
enum { DEVICE_GRAPH = 2 };

static rondo_runtime runtime;
static struct {
    unsigned long execs, calls, on_devices;
} made; /* for the summary */
static char memory[MOST][256];

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, rondo_error_message());
    abort();
}

static rondo_slot any_slot(struct world *w, uint32_t g)
{
    uint32_t n = w->slots[g];
    if (odd(&w->b) || !n)
        return (rondo_slot){ (uint64_t)take(&w->b) << 32 | take(&w->b) };
    return w->slot[g][below(&w->b, n)];
}

static rondo_param any_param(struct world *w, uint32_t g)
{
    uint32_t n = w->params[g];
    if (odd(&w->b) || !n)
        return (rondo_param){ take(&w->b) };
    return w->param[g][below(&w->b, n)];
}

static rondo_node any_node(struct world *w, uint32_t g)
{
    uint32_t n = w->nodes[g];
    if (odd(&w->b) || !n)
        return (rondo_node){ (uint64_t)take(&w->b) << 30 | take(&w->b) };
    return w->node[g][below(&w->b, n)];
}

/* Mostly one that is there. */
static uint32_t any_exec(struct world *w)
{
    uint32_t at = below(&w->b, EXECS);
    for (uint32_t i = 0; i < EXECS && !w->exec[at].id; i++)
        at = (at + 1) % EXECS;
    return at;
}

static rondo_event any_event(struct world *w)
{
    if (odd(&w->b))
        return (rondo_event){ take(&w->b), take(&w->b) };
    return w->event[below(&w->b, EVENTS)];
}

static void keep_event(struct world *w, rondo_event e) { w->event[w->events++ % EVENTS] = e; }
static void keep_node(struct world *w, uint32_t g, rondo_node n)
{
    if (n.id && w->nodes[g] < NODES)
        w->node[g][w->nodes[g]++] = n;
}

/* ---- tasks: what they do is in their argument */

static int body(rondo_task *self, const void *arg)
{
    const uint8_t *does = arg;
    if (!does)
        return 0;
    switch (does[0] % 8) {
    case 1: return does[1] < 200 ? 0 : rondo_task_fail(self, "the bytes say so");
    case 2: rondo_task_stop(self); return 0;
    case 3: return rondo_task_scratch(self, does[1]) == NULL && does[1];
    case 4: {
        rondo_completion c = rondo_task_detach(self);
        if (c.id && rondo_completion_finish(c, does[1] < 200 ? RONDO_OK : RONDO_ERR_FAILED, NULL))
            die("finish");
        return 0;
    }
    case 5: rondo_task_barrier(self); return 0;
    case 6: return rondo_event_wait((rondo_event){ 0, 0 }, 0) != RONDO_OK;
    default: return 0;
    }
}

static void call(void *context) { (void)context; }

/* ---- recording */

static rondo_region any_region(struct world *w)
{
    rondo_region r = rondo_whole();
    if (below(&w->b, 3)) {
        r.first[0] = below(&w->b, 10);
        r.count[0] = below(&w->b, 9);
    }
    if (odd(&w->b))
        r.first[below(&w->b, 3)] = -1;
    return r;
}

static rondo_access any_access(struct world *w, uint32_t g)
{
    static const unsigned modes[] = { RONDO_READ, RONDO_WRITE, RONDO_READ_WRITE, RONDO_COMMUTE,
                                      RONDO_REDUCE };
    rondo_access a = rondo_access_of(any_slot(w, g), modes[below(&w->b, 5)], any_region(w));
    if (a.mode == RONDO_REDUCE || odd(&w->b)) {
        a.type = (uint8_t)(1 + below(&w->b, 4));
        a.op = (uint8_t)(1 + below(&w->b, 3));
    }
    if (odd(&w->b)) {
        a.flags = (uint8_t)take(&w->b);
        a.halo[0] = (int16_t)below(&w->b, 4);
    }
    return a;
}

static rondo_when any_when(struct world *w, uint32_t g)
{
    rondo_when when = { { 0 }, { 0 }, 0, 0 };
    if (below(&w->b, 4))
        return when;
    when.every = below(&w->b, 6);
    when.phase = when.every ? below(&w->b, when.every) : 0;
    if (odd(&w->b))
        when.param = any_param(w, g);
    if (odd(&w->b))
        when.flag = any_slot(w, g);
    return when;
}

static void add_slot(struct world *w, uint32_t g)
{
    rondo_slot_desc d = { .name = "s" };
    uint32_t kind = below(&w->b, 6);
    rondo_buffer ring[3];
    rondo_slot s;
    d.shape = (rondo_shape){ 8, { 16 }, { 0 } };
    for (int i = 0; i < 3; i++)
        ring[i] = w->buffer[below(&w->b, MOST)];
    if (kind < 2) {
        d.buffer = ring[0];
    } else if (kind == 2) {
        d.ring = ring;
        d.ring_count = 1 + below(&w->b, 3);
        d.ring_first = below(&w->b, 4);
        d.ring_stride = below(&w->b, 4);
    } else if (kind == 3) {
        d.flags = RONDO_TEMPORARY | below(&w->b, 2) * RONDO_ZEROED;
    } else if (kind == 4) {
        d.shape.elem_bytes = 0;
    }
    if (odd(&w->b))
        d.alias_of = any_slot(w, g);
    if (odd(&w->b) || (w->devices && g == DEVICE_GRAPH && !below(&w->b, 8)))
        d.at_end = below(&w->b, 4) ? RONDO_HOST : RONDO_GPU_MEMORY(below(&w->b, 17));
    if (odd(&w->b))
        d.shape.extent[below(&w->b, 3)] = (int64_t)take(&w->b) - 10;
    s = rondo_subgraph_slot(w->graph[g], &d);
    if (s.id && w->slots[g] < MOST)
        w->slot[g][w->slots[g]++] = s;
}

static void add_param(struct world *w, uint32_t g)
{
    static const size_t sizes[] = { 4, 8, 16, 24 };
    static const char zeros[24];
    rondo_param p = rondo_subgraph_param(w->graph[g], "p", sizes[below(&w->b, 4)],
                                         below(&w->b, 4) ? zeros : NULL);
    if (p.id && w->params[g] < 4)
        w->param[g][w->params[g]++] = p;
}

static uint32_t any_flags(struct world *w)
{
    uint32_t kind = below(&w->b, 40);
    if (odd(&w->b))
        return take(&w->b);
    return kind == 0   ? RONDO_HOSTED
           : kind == 1 ? RONDO_SPMD
           : kind < 5  ? RONDO_DETACHED
           : kind < 8  ? RONDO_MAY_STOP
           : kind == 8 ? RONDO_MAY_BLOCK
           : kind < 20 ? RONDO_NO_ACCESS
                       : 0;
}

static rondo_task_desc any_task(struct world *w, uint32_t g, uint8_t *does, rondo_access *a,
                                rondo_node *after, rondo_param *p, rondo_patch *patch)
{
    rondo_task_desc d = { .name = "t", .fn = body };
    d.flags = any_flags(w);
    does[0] = (uint8_t)take(&w->b);
    does[1] = (uint8_t)take(&w->b);
    if (below(&w->b, 8)) {
        d.arg = does;
        d.arg_bytes = 16;
    }
    d.access_count = d.flags & RONDO_NO_ACCESS ? 0 : below(&w->b, 4);
    for (uint32_t i = 0; i < d.access_count; i++)
        a[i] = any_access(w, g);
    d.accesses = a;
    d.after_count = below(&w->b, 3);
    for (uint32_t i = 0; i < d.after_count; i++)
        after[i] = any_node(w, g);
    d.after = after;
    if (odd(&w->b)) {
        d.carried = after;
        d.carried_count = d.after_count;
        d.carried_distance = below(&w->b, 4);
    }
    if (w->params[g] && !below(&w->b, 4)) {
        p[0] = any_param(w, g);
        d.params = p;
        d.param_count = 1;
        patch[0] = (rondo_patch){ p[0], 0, 8, 4, 0 };
        d.patches = patch;
        d.patch_count = below(&w->b, 2);
    }
    d.when = any_when(w, g);
    d.on = below(&w->b, 6) ? RONDO_ANY_CPU : RONDO_CPU(below(&w->b, 3));
    d.priority = (int32_t)below(&w->b, 3);
    d.cost_ns = below(&w->b, 4) * 1000;
    d.team = d.flags & (RONDO_HOSTED | RONDO_SPMD) ? below(&w->b, 4) : 0;
    d.stop_lag = d.flags & RONDO_MAY_STOP ? below(&w->b, 4) : 0;
    return d;
}

static void add_task(struct world *w, uint32_t g)
{
    uint8_t does[16] = { 0 };
    rondo_access a[4];
    rondo_node after[3];
    rondo_param p[1];
    rondo_patch patch[1];
    rondo_task_desc d = any_task(w, g, does, a, after, p, patch);
    if (w->nodes[g] >= NODES)
        return;
    if (below(&w->b, 5)) {
        keep_node(w, g, rondo_record_task(w->graph[g], &d));
        return;
    }
    d.flags &= ~(uint32_t)(RONDO_MAY_BLOCK | RONDO_HOSTED | RONDO_SPMD);
    d.team = 0;
    keep_node(
        w, g,
        rondo_record_for(w->graph[g], &(rondo_for_desc){ .task = &d,
                                                         .range = rondo_span(0, 16),
                                                         .chunks = { 1 + below(&w->b, 5) } }));
}

/* Of the kernels below nearly always what they take: the address of access i. */
static rondo_kernel_arg any_arg(struct world *w, uint32_t g, uint32_t i)
{
    static const uint64_t value = 9;
    rondo_kernel_arg arg = rondo_arg_access(i);
    switch (odd(&w->b) ? below(&w->b, 5) : 5) {
    case 0: arg = rondo_arg_value(&value, 1 + below(&w->b, 8)); break;
    case 1: arg = rondo_arg_param(any_param(w, g)); break;
    case 2: arg = rondo_arg_param_address(any_param(w, g)); break;
    case 3: arg = rondo_arg_local(below(&w->b, 64)); break;
    case 4: arg.kind = take(&w->b); break;
    default: break;
    }
    return arg;
}

static rondo_processor any_device(struct world *w)
{
    return odd(&w->b) ? RONDO_GPU(below(&w->b, 18)) : RONDO_GPU(0);
}

static void add_kernel(struct world *w, uint32_t g)
{
    static const char *const images[] = { "kernel void k(global long *a) { }",
                                          "kernel void k(global long *a, global long *b) { }",
                                          "kernel void other(global long *a) { }", "no kernel" };
    rondo_access a[3];
    rondo_kernel_arg args[3];
    rondo_node after[1] = { any_node(w, g) };
    uint32_t kind = odd(&w->b) ? below(&w->b, 4) : below(&w->b, 2);
    rondo_kernel_desc d = { .name = "k",
                            .format = RONDO_OPENCL_C,
                            .image = images[kind],
                            .image_bytes = strlen(images[kind]),
                            .entry = "k",
                            .args = args,
                            .arg_count = odd(&w->b) ? below(&w->b, 4) : 1 + kind % 2,
                            .dimensions = 1 + below(&w->b, 2),
                            .accesses = a,
                            .access_count = 3 - below(&w->b, odd(&w->b) ? 4 : 2),
                            .on = any_device(w),
                            .after = after,
                            .after_count = (uint32_t)odd(&w->b),
                            .when = any_when(w, g) };
    for (uint32_t i = 0; i < 3; i++) {
        a[i] = any_access(w, g);
        args[i] = any_arg(w, g, i);
        d.global[i] = i < d.dimensions ? 1 + below(&w->b, 8) : 0;
        d.local[i] = (uint64_t)(odd(&w->b) && odd(&w->b));
    }
    keep_node(w, g, rondo_record_kernel(w->graph[g], &d));
}

static void add_launch(struct world *w, uint32_t g)
{
    uint8_t does[16] = { 0 };
    rondo_access a[4];
    rondo_node after[3];
    rondo_param p[1];
    rondo_patch patch[1];
    rondo_task_desc d = any_task(w, g, does, a, after, p, patch);
    d.on = any_device(w);
    if (!odd(&w->b)) {
        d.flags &= RONDO_NO_ACCESS;
        d.team = d.stop_lag = 0;
        does[0] = 0;
    }
    keep_node(w, g, rondo_record_launch(w->graph[g], &d));
}

static void add_on_device(struct world *w, uint32_t g)
{
    const uint32_t nodes = w->nodes[g];
    if (nodes >= NODES)
        return;
    if (below(&w->b, 3))
        add_kernel(w, g);
    else
        add_launch(w, g);
    w->on_device[g] |= w->nodes[g] > nodes;
}

static void add_move(struct world *w, uint32_t g)
{
    static const uint64_t value = 7;
    rondo_move_desc d = { .name = "m", .when = any_when(w, g) };
    uint32_t kind = below(&w->b, 3);
    d.to = rondo_write(any_slot(w, g), any_region(w));
    if (w->devices && g == DEVICE_GRAPH && below(&w->b, 2))
        d.on = any_device(w);
    if (kind == 0) {
        d.value = &value;
        d.value_bytes = 8;
        keep_node(w, g, rondo_record_fill(w->graph[g], &d));
        return;
    }
    d.from = rondo_read(any_slot(w, g), any_region(w));
    if (kind == 1) {
        if (odd(&w->b))
            d.count = any_param(w, g);
        keep_node(w, g, rondo_record_copy(w->graph[g], &d));
        return;
    }
    memset(&d.to, 0, sizeof d.to);
    d.from.mode = RONDO_READ_WRITE;
    d.type = RONDO_I64;
    d.op = RONDO_SUM;
    keep_node(w, g, rondo_record_allreduce(w->graph[g], &d));
}

static void add_sync(struct world *w, uint32_t g)
{
    rondo_node after[1] = { any_node(w, g) };
    rondo_sync_desc d = { .name = "c",
                          .counter = w->counter[below(&w->b, 2)],
                          .first = below(&w->b, 20),
                          .step = below(&w->b, 3),
                          .after = after,
                          .after_count = below(&w->b, 2),
                          .when = any_when(w, g) };
    if (below(&w->b, 2))
        keep_node(w, g, rondo_record_wait(w->graph[g], &d));
    else
        keep_node(w, g, rondo_record_signal(w->graph[g], &d));
}

static void add_inner(struct world *w, uint32_t g)
{
    uint32_t inner = below(&w->b, 3);
    rondo_slot_map map = { any_slot(w, inner), any_slot(w, g) };
    if (w->nodes[g] + w->nodes[inner] > NODES)
        return;
    keep_node(w, g,
              rondo_record_subgraph(w->graph[g], w->graph[inner],
                                    &(rondo_inner_desc){ .map = &map,
                                                         .map_count = below(&w->b, 2),
                                                         .when = any_when(w, g) }));
    w->nodes[g] += w->nodes[g] < NODES ? 4 : 0; /* so that nesting does not double for ever */
    if (w->nodes[g] > NODES)
        w->nodes[g] = NODES;
}

static void add_edge(struct world *w, uint32_t g)
{
    (void)rondo_record_edge(w->graph[g], any_node(w, g), any_node(w, g), below(&w->b, 3));
}

static void new_graph(struct world *w, uint32_t g)
{
    rondo_subgraph_desc d = { .name = "g", .flags = odd(&w->b) ? RONDO_EDGES_EXPLICIT : 0 };
    if (w->graph[g].id)
        (void)rondo_subgraph_destroy(w->graph[g]);
    w->slots[g] = w->params[g] = w->nodes[g] = w->on_device[g] = 0;
    memset(w->node[g], 0, sizeof w->node[g]);
    if (rondo_subgraph_create(runtime, &d, &w->graph[g]))
        die("subgraph");
}

/* ---- execs */

static rondo_instantiate_options any_options(struct world *w)
{
    rondo_instantiate_options o = { .mode = below(&w->b, 3),
                                    .order = below(&w->b, 3),
                                    .window = below(&w->b, 5),
                                    .schedule = below(&w->b, 3),
                                    .on_failure = below(&w->b, 8) == 0,
                                    .profile = odd(&w->b) ? 2 : 0,
                                    .priority = (int32_t)below(&w->b, 3) };
    if (o.order == RONDO_CONCURRENT)
        o.tracks = below(&w->b, 4);
    return o;
}

static void end_exec(struct world *w, uint32_t i)
{
    if (w->exec[i].id)
        (void)rondo_exec_destroy(w->exec[i]);
}

static void new_exec(struct world *w, uint32_t g)
{
    rondo_instantiate_options o = any_options(w);
    uint32_t at = below(&w->b, EXECS);
    rondo_exec x;
    if (below(&w->b, 8))
        (void)rondo_subgraph_clear_error(w->graph[g]);
    if (!rondo_instantiate(w->graph[g], &o, &x)) {
        made.execs++;
        made.on_devices += w->on_device[g];
        end_exec(w, at);
        w->exec[at] = x;
        w->exec_of[at] = g;
    }
}

static void new_group(struct world *w)
{
    rondo_instantiate_options o = any_options(w);
    rondo_exec x[2];
    rondo_subgraph pair[2] = { w->graph[below(&w->b, 3)], w->graph[below(&w->b, 3)] };
    uint32_t at = below(&w->b, EXECS - 1);
    o.schedule = RONDO_SCHEDULE_AUTO;
    o.profile = 0;
    if (rondo_instantiate_group(pair, 2, &o, x))
        return;
    for (uint32_t i = 0; i < 2; i++) {
        end_exec(w, at + i);
        w->exec[at + i] = x[i];
    }
}

static void do_replay(struct world *w)
{
    static const char bytes[256];
    uint32_t at = any_exec(w), g = w->exec_of[at];
    rondo_value values[4];
    rondo_binding bindings[MOST];
    rondo_event after[1] = { any_event(w) }, e;
    rondo_replay_args args = { .values = values, .bindings = bindings, .after = after };
    args.flags = RONDO_NO_WAIT | (odd(&w->b) ? RONDO_TIMED : 0u);
    args.count = below(&w->b, 6);
    args.after_count = (uint32_t)odd(&w->b);
    for (uint32_t i = 0; i < w->params[g] && below(&w->b, 4); i++)
        values[args.value_count++] = (rondo_value){ w->param[g][i], bytes, 0 };
    for (uint32_t i = 0; i < w->slots[g] && odd(&w->b); i++)
        bindings[args.binding_count++] =
            (rondo_binding){ w->slot[g][i], w->buffer[below(&w->b, MOST)] };
    if (odd(&w->b))
        args.deadline_ns = 1;
    if (!rondo_replay(w->exec[at], &args, &e))
        keep_event(w, e);
    else
        return;
    made.calls++;
}

static void do_look(struct world *w)
{
    rondo_event e, of = any_event(w);
    rondo_result r;
    rondo_node_info info;
    uint32_t at = any_exec(w), g = w->exec_of[at];
    switch (below(&w->b, 4)) {
    case 0: (void)rondo_event_wait(of, below(&w->b, 2) * 1000); break;
    case 1: (void)rondo_event_result(of, &r); break;
    case 2:
        if (!rondo_event_at(of, any_node(w, g), &e))
            keep_event(w, e);
        break;
    default: (void)rondo_exec_node_info(w->exec[at], any_node(w, g), &info); break;
    }
}

static void raise_all(struct world *w)
{
    for (int i = 0; i < 2; i++)
        if (rondo_counter_raise(w->counter[i], UINT64_MAX / 2))
            die("raise");
}

/* Changes that wait for what is in flight: which may wait for a counter. */
static void do_change(struct world *w)
{
    uint8_t does[16] = { (uint8_t)take(&w->b) };
    uint32_t at = any_exec(w), g = w->exec_of[at];
    rondo_task_desc d = { .fn = body, .arg = does, .arg_bytes = 16 };
    if (!w->exec[at].id)
        return;
    switch (below(&w->b, 6)) {
    case 0: (void)rondo_exec_set_mode(w->exec[at], below(&w->b, 4)); break;
    case 1: (void)rondo_exec_reset(w->exec[at]); break;
    case 2: (void)rondo_exec_update(w->exec[at], w->graph[below(&w->b, 3)]); break;
    case 3:
        raise_all(w);
        (void)rondo_exec_update_task(w->exec[at], any_node(w, g), &d);
        break;
    case 4:
        raise_all(w);
        (void)rondo_exec_enable(w->exec[at], any_node(w, g), (int)below(&w->b, 2));
        break;
    default: (void)rondo_exec_touch(w->exec[at]); break;
    }
}

static void do_loop(struct world *w)
{
    rondo_subgraph g;
    if (!w->loop.id && rondo_loop_create(runtime, NULL, NULL, &w->loop))
        die("loop");
    if (rondo_loop_record(w->loop, &g) && below(&w->b, 3))
        rondo_record_task(g, &(rondo_task_desc){ .fn = body, .flags = RONDO_NO_ACCESS });
    (void)rondo_loop_replay(w->loop, NULL, NULL);
    if (!below(&w->b, 4))
        (void)rondo_loop_invalidate(w->loop);
}

static void one_call(struct world *w)
{
    uint32_t what = below(&w->b, 32), g = below(&w->b, 3);
    if (what < 20 && below(&w->b, 8)) /* else the first refusal would be the end of it */
        (void)rondo_subgraph_clear_error(w->graph[g]);
    if (what < 4)
        add_slot(w, g);
    else if (what == 4)
        add_param(w, g);
    else if (what < 13 && w->devices && g == DEVICE_GRAPH && below(&w->b, 2))
        add_on_device(w, g);
    else if (what < 13)
        add_task(w, g);
    else if (what < 15)
        add_move(w, g);
    else if (what == 15)
        add_sync(w, g);
    else if (what == 16)
        add_inner(w, g);
    else if (what == 17)
        add_edge(w, g);
    else if (what == 18 && odd(&w->b))
        keep_node(w, g, rondo_record_call(w->graph[g], "call", call, NULL));
    else if (what == 19 && odd(&w->b))
        new_graph(w, g);
    else if (what < 22)
        new_exec(w, g);
    else if (what == 22)
        new_group(w);
    else if (what < 27)
        do_replay(w);
    else if (what < 29)
        do_look(w);
    else if (what == 29)
        do_change(w);
    else if (what == 30 && odd(&w->b))
        do_loop(w);
    else if (what == 31)
        (void)(below(&w->b, 2) ? rondo_exec_destroy(w->exec[any_exec(w)])
                               : rondo_subgraph_clear_error(w->graph[g]));
}

/* ---- beginning and end */

static void open_runtime(void)
{
    rondo_runtime_options o = { 0 };
    if (rondo_runtime_open(&o, &runtime))
        die("open");
}

static void begin(struct world *w, const uint8_t *data, size_t size)
{
    memset(w, 0, sizeof *w);
    w->b = (struct bytes){ data, data + size };
    for (int i = 0; i < MOST; i++)
        if (rondo_buffer_create(runtime,
                                &(rondo_buffer_desc){ .shape = { 8, { 16 }, { 0 } },
                                                      .host = i % 2 ? memory[i] : NULL },
                                &w->buffer[i]))
            die("buffer");
    for (int i = 0; i < 2; i++)
        if (rondo_counter_create(runtime, 0, &w->counter[i]))
            die("counter");
    w->devices = !below(&w->b, 4);
    for (uint32_t g = 0; g < 3; g++) {
        new_graph(w, g);
        for (uint32_t i = below(&w->b, 4) + (uint32_t)w->devices; i; i--)
            add_slot(w, g);
        if (!below(&w->b, 3))
            add_param(w, g);
        for (uint32_t i = 1 + below(&w->b, 4); i; i--)
            if (w->devices && g == DEVICE_GRAPH)
                add_on_device(w, g);
            else
                add_task(w, g);
    }
    new_exec(w, w->devices ? (uint32_t)DEVICE_GRAPH : 0);
}

static void end(struct world *w)
{
    raise_all(w);
    for (uint32_t i = 0; i < EVENTS; i++)
        if (w->event[i].source && rondo_event_wait(w->event[i], 20000000000))
            die("an event does not complete");
    for (uint32_t i = 0; i < EXECS; i++)
        end_exec(w, i);
    if (w->loop.id)
        (void)rondo_loop_destroy(w->loop);
    for (uint32_t g = 0; g < 3; g++)
        (void)rondo_subgraph_destroy(w->graph[g]);
    for (int i = 0; i < MOST; i++)
        (void)rondo_buffer_destroy(w->buffer[i]);
    for (int i = 0; i < 2; i++)
        (void)rondo_counter_destroy(w->counter[i]);
}

static void look_for_leaks(void)
{
    rondo_runtime_statistics s;
    if (rondo_runtime_drain(runtime) || rondo_runtime_stats(runtime, &s))
        die("drain");
    if (s.execs || s.subgraphs || s.buffers || s.frames || s.sources || s.held || s.bytes) {
        fprintf(stderr,
                "left: %llu execs, %llu subgraphs, %llu buffers, %llu sources, %llu bytes\n",
                (unsigned long long)s.execs, (unsigned long long)s.subgraphs,
                (unsigned long long)s.buffers, (unsigned long long)s.sources,
                (unsigned long long)s.bytes);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w;
    static unsigned round;
    if (!runtime.id)
        open_runtime();
    begin(&w, data, size);
    for (int i = 0; w.b.at < w.b.end && i < 200; i++)
        one_call(&w);
    end(&w);
    if (++round % ROUND == 0)
        look_for_leaks();
    return 0;
}

#ifdef FUZZ_ALONE
int main(int argc, char **argv)
{
    unsigned long executions = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (unsigned long i = 0; i < executions; i++) {
        uint8_t data[768];
        uint64_t r = (seed + i) * 0x9e3779b97f4a7c15u;
        for (size_t k = 0; k < sizeof data; k++) {
            r ^= r << 13;
            r ^= r >> 7;
            r ^= r << 17;
            data[k] = (uint8_t)(r >> 32);
        }
        LLVMFuzzerTestOneInput(data, 64 + (size_t)(r % (sizeof data - 64)));
    }
    look_for_leaks();
    if (rondo_runtime_close(runtime))
        die("close");
    printf("%lu executions, %lu execs, %lu with nodes on devices, %lu calls of rondo_replay "
           "accepted\n",
           executions, made.execs, made.on_devices, made.calls);
    return 0;
}
#endif
