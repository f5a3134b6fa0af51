/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo-bench: what a node, a replay and an instantiation cost, beside what else there is. */
#include "bench/machine.h"
#include "bench/options.h"
#include "bench/support.h"

#include <stdio.h>
#include <string.h>

static const struct command commands[] = {
    { "overhead", "What a node costs, in ns",
      "graph pattern width steps mode schedule order workers unbound window body replays rounds "
      "impl "
      "format",
      "stencil of width 8 and 1000 steps, compiled, serial, 2 workers (1 for a chain), empty "
      "bodies,"
      "\n15 rounds, rondo",
      command_overhead },
    { "latency", "What one replay and the wait for it cost, of 1, 10 and 100 empty nodes",
      "period workers strace impl submitters replays rounds format",
      "all three beside calling the functions in a loop; --period: a replay of half the period on "
      "two\nprocessors at each, 10000 times, rondo and handwritten; "
      "--submitters 2: how many replays two threads get through on one exec of two lanes",
      command_latency },
    { "instantiate", "What recording and instantiating cost, beside a flow graph's first build",
      "graph nodes workers rounds format quick",
      "every graph, 1000 to 1000000 nodes, 2 workers, each build in a process of its own",
      command_instantiate },
    { "metg", "The smallest task for which half of two threads' time is work, in ns",
      "pattern width steps schedule order rounds impl format",
      "stencil_1d, widths 2 and 8, 1000 steps, serial, every implementation", command_metg },
    { "irregular", "Rondo's dataflow schedule on graphs and bodies that no fixed one suits",
      "graph body rounds format",
      "Cholesky, random and fan, each with empty and with uneven bodies, 15 rounds",
      command_irregular },
    { "auto", "What schedule auto settles on, beside one thread and beside static lanes",
      "graph nodes rounds quick format",
      "every graph of about 1000 nodes, bodies of 0, 100 ns, 1 us and 10 us, 9 rounds",
      command_auto },
    { "handover", "What a dependence between two CPUs costs, and how steady that is",
      "rounds format", "200 measurements of 1 ms", command_handover },
    { "trace", "What tracing costs: before any trace, while one runs, and after it",
      "rounds format", "a chain of 1000 on one lane, 25 rounds", command_trace },
    { "simulate", "How long a replay takes by rondo_simulate, and how long it does",
      "graph nodes body rounds format",
      "every graph of about 250 nodes, bodies of 20 us and uneven ones of 12 us, 9 rounds",
      command_simulate },
    { "limit", "What programs written by hand for the graph cost, for each number of pauses",
      "graph width steps order body rounds format",
      "stencil, widths 2 and 8, 1000 steps, both orders", command_limit },
    { "steady", "What many replays allocate, how often threads sleep, how memory grows",
      "graph width steps mode order workers window replays strace long format",
      "a chain of 10 nodes with one worker, then a stencil of width 2 and 10 steps with two, "
      "pipelined",
      command_steady },
    { "idle", "What a runtime uses that has nothing to do", "format", NULL, command_idle },
    { "device", "What kernels on a device cost, by Rondo and by hand with OpenCL",
      "nodes width order body replays rounds quick format",
      "1, 10, 100 and 1000 kernels of 64 work items, in a chain and eight wide, that only add, "
      "serial, 15 "
      "rounds",
      command_device },
    { "compare", "All bars, each as a ratio to something measured in the same run",
      "quick long plot schedule rounds format",
      "every graph and every implementation that was built; --schedule is of P3", command_compare },
    { "build-one", "One build in this process; `instantiate` starts it", "graph nodes workers impl",
      "stencil, 10000 nodes, 2 workers, rondo", command_build_one },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *out)
{
    fputs("usage: rondo-bench COMMAND [options]\n\n", out);
    for (unsigned i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].what);
    fputs("\nrondo-bench COMMAND --help lists a command's options.\n", out);
}

int main(int argc, char **argv)
{
    struct options options;
    if (argc < 2) {
        usage(stderr);
        return BENCH_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        usage(stdout);
        return 0;
    }
#ifdef RONDO_PEER_MPI
    if (argc == 3 && strcmp(argv[1], "mpi-rank") == 0)
        return peer_mpi_rank_main(argv[2]);
#endif
    for (unsigned i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, argv[1]) != 0)
            continue;
        options_read(&commands[i], argc, argv, &options);
        if (machine_cpus() < 2)
            fputs("rondo-bench: one usable CPU: two threads measure nothing here\n", stderr);
        machine_pin(0);
        int code = commands[i].run(&options);
        peers_close();
        return code;
    }
    bench_die(BENCH_EXIT_USAGE, "%s: no such command (rondo-bench --help lists them)", argv[1]);
}
