/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that read graph files, as a shell sees them, on a file with nodes on devices: what
 * they do where there are none, and where OpenCL has one. */
#include "tests/tools/command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char graph[] =
    "{\"rondo\": 1, \"name\": \"k\",\n"
    "\"buffers\": [{\"name\": \"u\", \"shape\": {\"elem_bytes\": 8, \"extent\": [100]}}],\n"
    "\"slots\": [{\"name\": \"u\", \"kind\": \"fixed\", \"buffer\": 0, \"at_end\": \"host\"}],\n"
    "\"params\": [{\"name\": \"f\", \"bytes\": 8}],\n"
    "\"images\": [{\"text\": \"kernel void scale(global double *u, double f) "
    "{ u[get_global_id(0)] *= f; }\"}],\n"
    "\"nodes\": [\n"
    "{\"name\": \"begin\", \"cost_ns\": 3000, \"accesses\": [{\"slot\": \"u\", \"mode\": "
    "\"read_write\"}]},\n"
    "{\"kind\": \"kernel\", \"cost_ns\": 2000, \"image\": 0, \"format\": \"opencl_c\", "
    "\"entry\": \"scale\", \"args\": [{\"access\": 0}, {\"param\": \"f\"}], \"global\": [100], "
    "\"accesses\": [{\"slot\": \"u\", \"mode\": \"read_write\"}]},\n"
    "{\"kind\": \"launch\", \"name\": \"more\", \"cost_ns\": 1000, \"accesses\": [{\"slot\": "
    "\"u\", \"mode\": \"read_write\"}]},\n"
    "{\"name\": \"end\", \"cost_ns\": 3000, \"accesses\": [{\"slot\": \"u\", \"mode\": "
    "\"read\"}]}\n"
    "]}\n";

static struct command_output output;
static char path[64];

static int run(const char *a, const char *b, const char *c)
{
    const char *arguments[] = { "rondo", a, path, b, c, NULL };
    return command_run(arguments, &output);
}

#define SAYS(stream, text) cr_assert(strstr(output.stream, text), "'%s'", output.stream)

Test(command_devices, without_any)
{
    command_file(path, sizeof path, graph);
    cr_assert_eq(run("check", "--devices=none", NULL), 0, "%s", output.err);
    SAYS(out, "rondo, 4 nodes, 4 edges, 1 of them carried: fine\n");
    SAYS(out, "not tried: 2 nodes are on devices, and none was opened; --devices opens some\n");
    cr_assert_eq(run("check", "--devices=none", "--json"), 0);
    SAYS(out, "\"on_devices\": 2,\n  \"tried\": false,\n  \"fine\": true,");
    cr_assert_eq(run("run", "--devices=none", "--repeat=1"), 2);
    SAYS(err, ": node 'scale' is on RONDO_GPU(0), and the runtime has opened no devices "
              "(rondo_runtime_options.devices)\n");
    cr_assert_eq(run("compare", "--devices=none", "--seconds=1"), 2);
    SAYS(err, ": node 'scale' is on RONDO_GPU(0), and the runtime has opened no devices");
    cr_assert_eq(run("run", "--devices=nothing", NULL), 2);
    SAYS(err, "rondo run: devices 'nothing': ");
    (void)unlink(path);
}

/* What is wrong with such a graph is told without devices too. */
Test(command_devices, wrong_without_any)
{
    command_file(path, sizeof path,
                 "{\"rondo\": 1, \"images\": [{\"text\": \"a\"}], \"nodes\": ["
                 "{\"kind\": \"kernel\", \"image\": 0, \"format\": \"opencl_c\", \"entry\": \"a\", "
                 "\"global\": [1], \"flags\": [\"no_access\"]}, {\"name\": \"b\"}],"
                 "\"edges\": [{\"from\": 0, \"to\": 1}, {\"from\": 1, \"to\": 0}]}");
    cr_assert_eq(run("check", "--devices=none", NULL), 2);
    SAYS(err, "error: cycle: a -> b -> a\n");
    SAYS(err, "mend: take one of these edges away");
    (void)unlink(path);
}

Test(command_devices, that_are_not_needed)
{
    command_file(path, sizeof path, graph);
    cr_assert_eq(run("sim", "--processors=1", "--handover=0"), 0, "%s", output.err);
    SAYS(out, "4 nodes, 3 edges, critical path 9000.0 ns");
    cr_assert_eq(run("dot", NULL, NULL), 0);
    SAYS(out, "[label=\"scale\", shape=box3d]");
    SAYS(out, "[label=\"more\", shape=component]");
    cr_assert_eq(run("convert", "-", "--to=stg"), 2);
    SAYS(err, "no .stg file can hold it: node 'scale' is a kernel: the format has tasks only\n");
    cr_assert_eq(run("convert", "-", "--to=json"), 0, "%s", output.err);
    SAYS(out, "\"images\": [\n{\"text\": \"kernel void scale(");
    SAYS(out, "{\"kind\": \"launch\", \"name\": \"more\", ");
    (void)unlink(path);
}

Test(command_devices, of_opencl, .timeout = 120)
{
    command_file(path, sizeof path, graph);
    if (run("check", "--devices=opencl:0", NULL) == 2 && strstr(output.err, "opencl")) {
        fprintf(stderr, "skipped: %s", output.err);
        cr_assert(!getenv("RONDO_TEST_NEEDS_OPENCL"), "%s", output.err);
        (void)unlink(path);
        return;
    }
    SAYS(out, ": fine\n");
    cr_assert(!strstr(output.out, "not tried"), "%s", output.out);
    cr_assert_eq(run("run", "--devices=opencl:0", "--repeat=2"), 0, "%s", output.err);
    SAYS(out, "checked: each of 2 tasks ran once in each of ");
    SAYS(out, "in order: without the 2 nodes on devices\n");
    (void)unlink(path);
}
