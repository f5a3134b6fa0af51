// SPDX-License-Identifier: BSD-3-Clause
// oneTBB, in the two ways its users run one graph many times: tasks with a counter per node kept by
// hand, and a flow graph of continue_node. Both are built once and run again; two threads.
#include "bench/peers/peer.h"

#include "bench/machine.h"
#include "bench/timing.h"

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_observer.h>

namespace
{

// The worker that TBB starts would inherit the main thread's one CPU.
class pinning : public tbb::task_scheduler_observer
{
  public:
    explicit pinning(tbb::task_arena &arena) : tbb::task_scheduler_observer(arena)
    {
        observe(true);
    }
    ~pinning() override { observe(false); }
    void on_scheduler_entry(bool is_worker) override
    {
        if (is_worker)
            machine_pin(1);
    }
};

struct machine {
    tbb::global_control parallelism{ tbb::global_control::max_allowed_parallelism, 2 };
    tbb::task_arena arena{ 2 };
    pinning pins{ arena };
};

std::unique_ptr<machine> the_machine;

machine &opened()
{
    if (!the_machine) {
        machine_unpin();
        the_machine = std::make_unique<machine>();
        the_machine->arena.initialize();
        machine_pin(0);
    }
    return *the_machine;
}

void close_machine() { the_machine.reset(); }

const char *refusal(const graph *, const setup *setup)
{
    return setup->workers > 2 ? "it is measured with two threads" : nullptr;
}

// ---- tasks with counters

struct counted {
    const graph &g;
    rondo_task_fn *body;
    std::vector<std::atomic<uint32_t>> left; // predecessors that have not run
    std::vector<uint32_t> roots;
    tbb::task_group group;

    counted(const graph &of, rondo_task_fn *fn) : g(of), body(fn), left(of.nodes)
    {
        for (uint32_t v = 0; v < g.nodes; v++) {
            left[v].store(preds(v), std::memory_order_relaxed);
            if (preds(v) == 0)
                roots.push_back(v);
        }
    }

    uint32_t preds(uint32_t v) const { return g.pred_first[v + 1] - g.pred_first[v]; }

    // Goes on with one successor that becomes ready and leaves the others to whoever is free.
    void run_from(uint32_t v)
    {
        for (;;) {
            body(nullptr, &g.id[v]);
            left[v].store(preds(v), std::memory_order_relaxed); // for the next replay
            uint32_t next = UINT32_MAX;
            for (uint32_t k = g.succ_first[v]; k < g.succ_first[v + 1]; k++) {
                uint32_t s = g.succ[k];
                if (left[s].fetch_sub(1, std::memory_order_acq_rel) != 1)
                    continue;
                if (next == UINT32_MAX)
                    next = s;
                else
                    group.run([this, s] { run_from(s); });
            }
            if (next == UINT32_MAX)
                return;
            v = next;
        }
    }
};

void *counted_build(const graph *g, const setup *setup)
{
    opened();
    return new counted(*g, setup->body);
}

double counted_run(void *built, uint64_t count)
{
    counted &c = *static_cast<counted *>(built);
    return opened().arena.execute([&] {
        double start = timing_ns();
        for (uint64_t r = 0; r < count; r++) {
            for (size_t i = 1; i < c.roots.size(); i++)
                c.group.run([&c, v = c.roots[i]] { c.run_from(v); });
            c.group.run_and_wait([&c] { c.run_from(c.roots[0]); });
        }
        return timing_ns() - start;
    });
}

void counted_free(void *built) { delete static_cast<counted *>(built); }

// ---- flow graph

using flow_node = tbb::flow::continue_node<tbb::flow::continue_msg>;

struct flowing {
    tbb::flow::graph graph;
    std::deque<flow_node> node;
    std::vector<flow_node *> roots;
    double record_ns = 0;

    flowing(const struct graph &g, rondo_task_fn *body)
    {
        double start = timing_ns();
        for (uint32_t v = 0; v < g.nodes; v++) {
            const void *arg = &g.id[v];
            node.emplace_back(graph,
                              [body, arg](const tbb::flow::continue_msg &) { body(nullptr, arg); });
            if (g.pred_first[v] == g.pred_first[v + 1])
                roots.push_back(&node.back());
            for (uint32_t k = g.pred_first[v]; k < g.pred_first[v + 1]; k++)
                tbb::flow::make_edge(node[g.pred[k]], node[v]);
        }
        record_ns = timing_ns() - start;
    }
};

void *flow_build(const graph *g, const setup *setup)
{
    // The graph belongs to the arena it is made in.
    return opened().arena.execute([&] { return new flowing(*g, setup->body); });
}

double flow_run(void *built, uint64_t count)
{
    flowing &f = *static_cast<flowing *>(built);
    return opened().arena.execute([&] {
        double start = timing_ns();
        for (uint64_t r = 0; r < count; r++) {
            for (flow_node *root : f.roots)
                root->try_put(tbb::flow::continue_msg());
            f.graph.wait_for_all();
        }
        return timing_ns() - start;
    });
}

void flow_figures(void *built, figures *figures)
{
    figures->record_ns = static_cast<flowing *>(built)->record_ns;
}

void flow_free(void *built) { delete static_cast<flowing *>(built); }

} // namespace

extern "C" {
const peer peer_tbb = { "tbb",        "oneTBB tasks, a counter per node kept by hand",
                        refusal,      counted_build,
                        counted_run,  nullptr,
                        counted_free, nullptr,
                        close_machine };
const peer peer_tbb_flow = { "tbb-flow",   "oneTBB flow graph of continue_node",
                             refusal,      flow_build,
                             flow_run,     flow_figures,
                             flow_free,    nullptr,
                             close_machine };
}
