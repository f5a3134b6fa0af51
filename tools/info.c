/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo info`: the machine as Rondo sees it, backends, and the environment. */
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/machine.h"

#include <inttypes.h>
#include <rondo/rondo.h>
#include <stdlib.h>

struct settings {
    int env, json;
};

struct info {
    struct machine machine;
    rondo_machine seen;
    uint32_t *cpu; /* of each processor; owned */
    uint32_t devices;
    rondo_device_info *device; /* owned */
};

/* ---- reading */

static int fail(void) { return cli_fail(&command_info, -1, "%s", rondo_error_message()); }

static int ask_devices(struct info *info, rondo_runtime runtime)
{
    if (rondo_runtime_devices(runtime, &info->devices))
        return fail();
    info->device = calloc(info->devices + 1, sizeof *info->device);
    if (!info->device)
        return cli_fail(&command_info, -1, "out of memory");
    for (uint32_t i = 0; i < info->devices; i++)
        if (rondo_runtime_device(runtime, RONDO_GPU(i), &info->device[i]))
            return fail();
    return 0;
}

static int ask(struct info *info, rondo_runtime runtime)
{
    if (rondo_runtime_machine(runtime, &info->seen))
        return fail();
    info->cpu = calloc(info->seen.processors, sizeof *info->cpu);
    if (!info->cpu)
        return cli_fail(&command_info, -1, "out of memory");
    for (uint32_t i = 0; i < info->seen.processors; i++)
        if (rondo_processor_cpu(runtime, RONDO_CPU(i), &info->cpu[i]))
            return fail();
    return ask_devices(info, runtime);
}

/* The devices that a runtime opens where RONDO_DEVICES names some, else all that it could. */
static int read_info(struct info *info)
{
    const char *named = getenv("RONDO_DEVICES");
    const rondo_runtime_options options = { .devices = named && *named ? named : "all" };
    rondo_runtime runtime;
    if (machine_read(&info->machine))
        return cli_fail(&command_info, -1, "the machine cannot be read");
    if (rondo_runtime_open(&options, &runtime))
        return fail();
    int bad = ask(info, runtime);
    rondo_runtime_close(runtime);
    return bad;
}

/* ---- as text */

static const char *label(const char *name)
{
    static char text[64];
    snprintf(text, sizeof text, "%s%-11s%s", cli_colour(stdout, CLI_BOLD), name,
             cli_colour(stdout, CLI_PLAIN));
    return text;
}

static const char *plural(uint32_t count) { return count == 1 ? "" : "s"; }

/* In the unit in which it has up to four digits. */
static const char *size(uint64_t bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB" };
    static char text[32];
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 5; unit++)
        value /= 1024;
    snprintf(text, sizeof text, "%.*f %s", value < 100 && value > (double)(uint64_t)value, value,
             units[unit]);
    return text;
}

/* As a list of ranges: "0-3,8". */
static void print_cpus(const uint32_t *cpu, uint32_t count)
{
    for (uint32_t i = 0, last; i < count; i = last + 1) {
        for (last = i; last + 1 < count && cpu[last + 1] == cpu[last] + 1;)
            last++;
        printf("%s%" PRIu32, i ? "," : "", cpu[i]);
        if (last > i)
            printf("-%" PRIu32, cpu[last]);
    }
}

static void print_machine(const struct machine *machine, const rondo_machine *seen)
{
    printf("%s%s\n", label("machine"), *machine->model ? machine->model : "CPUs of unknown model");
    printf("%s%" PRIu32 " package%s, %" PRIu32 " core%s, %" PRIu32 " CPU%s, of which this process "
           "may keep %" PRIu32 " busy\n",
           label(""), seen->packages, plural(seen->packages), seen->cores, plural(seen->cores),
           seen->cpus, plural(seen->cpus), seen->allowed);
    for (uint32_t i = 0; i < machine->memories; i++) {
        const struct machine_memory *m = &machine->memory[i];
        printf("%snode %" PRIu32 ": %s, near %" PRIu32 " CPU%s\n", label(i ? "" : "memory"),
               m->node, size(m->bytes), m->cpus, plural(m->cpus));
    }
    for (uint32_t i = 0; i < machine->caches; i++) {
        const struct machine_cache *c = &machine->cache[i];
        printf("%s%-4s %8s, %" PRIu32 " of them, ", label(i ? "" : "caches"), c->name,
               size(c->bytes), c->count);
        if (c->cpus > 1)
            printf("shared by %" PRIu32 " CPUs\n", c->cpus);
        else
            puts("of one CPU");
    }
}

static void print_runtime(const struct info *info)
{
    const rondo_machine *seen = &info->seen;
    printf("%s%" PRIu32 " processor%s, on CPU%s ", label("runtime"), seen->processors,
           plural(seen->processors), plural(seen->processors));
    print_cpus(info->cpu, seen->processors);
    fputc('\n', stdout);
    if (getenv("RONDO_HANDOVER_NS") && seen->handover_ns)
        printf("%s%" PRIu32 " ns from one CPU to another, as RONDO_HANDOVER_NS says\n",
               label("hand-over"), seen->handover_ns);
    else if (seen->handover_ns)
        printf("%s%" PRIu32 " ns from one CPU to another, measured now and rounded\n",
               label("hand-over"), seen->handover_ns);
    else
        printf("%snot measured: %s\n", label("hand-over"),
               seen->processors > 1 ? "the CPUs are busy" : "there is one processor");
}

static void print_devices(const struct info *info)
{
    if (!info->devices)
        printf("%snone\n", label("devices"));
    for (uint32_t i = 0; i < info->devices; i++) {
        const rondo_device_info *d = &info->device[i];
        printf("%s%" PRIu32 " %s %s: %" PRIu32 " compute unit%s, %s", label(i ? "" : "devices"), i,
               d->backend, d->name, d->units, plural(d->units), size(d->memory_bytes));
        printf(", of which Rondo may take %s\n", size(d->limit_bytes));
    }
}

static void print_backend(void *context, const rondo_backend *backend)
{
    int *lines = context;
    printf("%s%s%-7s%s %s%s%s\n", label((*lines)++ ? "" : "backends"),
           cli_colour(stdout, backend->why ? CLI_DIM : CLI_GREEN), backend->name,
           cli_colour(stdout, CLI_PLAIN), backend->what, backend->why ? ": " : "",
           backend->why ? backend->why : "");
}

static int print_info(const struct info *info)
{
    int lines = 0;
    print_machine(&info->machine, &info->seen);
    print_runtime(info);
    print_devices(info);
    rondo_backends(print_backend, &lines);
    return EXIT_DONE;
}

/* ---- as JSON */

static void add_backend(void *context, const rondo_backend *backend)
{
    json_array_append_new(context,
                          json_pack("{s:s, s:s, s:b, s:s*}", "name", backend->name, "what",
                                    backend->what, "there", !backend->why, "why", backend->why));
}

static json_t *json_info(const struct info *info)
{
    const struct machine *m = &info->machine;
    const rondo_machine *seen = &info->seen;
    json_t *memories = json_array(), *caches = json_array(), *cpus = json_array(),
           *backends = json_array(), *devices = json_array();
    for (uint32_t i = 0; i < m->memories; i++)
        json_array_append_new(memories,
                              json_pack("{s:I, s:I, s:I}", "node", (json_int_t)m->memory[i].node,
                                        "bytes", (json_int_t)m->memory[i].bytes, "cpus",
                                        (json_int_t)m->memory[i].cpus));
    for (uint32_t i = 0; i < m->caches; i++)
        json_array_append_new(caches, json_pack("{s:s, s:I, s:I, s:I}", "name", m->cache[i].name,
                                                "bytes", (json_int_t)m->cache[i].bytes, "count",
                                                (json_int_t)m->cache[i].count, "cpus",
                                                (json_int_t)m->cache[i].cpus));
    for (uint32_t i = 0; i < seen->processors; i++)
        json_array_append_new(cpus, json_integer(info->cpu[i]));
    for (uint32_t i = 0; i < info->devices; i++) {
        const rondo_device_info *d = &info->device[i];
        json_array_append_new(devices,
                              json_pack("{s:o, s:s, s:I, s:I, s:I}", "name", json_text(d->name),
                                        "backend", d->backend, "units", (json_int_t)d->units,
                                        "memory_bytes", (json_int_t)d->memory_bytes, "limit_bytes",
                                        (json_int_t)d->limit_bytes));
    }
    rondo_backends(add_backend, backends);
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "model",
                     m->model, "packages", (json_int_t)seen->packages, "cores",
                     (json_int_t)seen->cores, "cpus", (json_int_t)seen->cpus, "cpus_allowed",
                     (json_int_t)seen->allowed, "memory_bytes", (json_int_t)seen->memory_bytes,
                     "handover_ns", (json_int_t)seen->handover_ns, "memories", memories, "caches",
                     caches, "processors", cpus, "devices", devices, "backends", backends);
}

/* ---- the environment */

static void print_variable(void *context, const rondo_variable *v)
{
    (void)context;
    printf("%s%s%s", cli_colour(stdout, CLI_BOLD), v->name, cli_colour(stdout, CLI_PLAIN));
    if (v->value)
        printf("=%s%s%s", cli_colour(stdout, CLI_GREEN), v->value, cli_colour(stdout, CLI_PLAIN));
    else
        printf(" (not set)");
    printf("\n    %s\n    %s; default: %s\n", v->help, v->range, v->by_default);
}

static void add_variable(void *context, const rondo_variable *v)
{
    json_array_append_new(context,
                          json_pack("{s:s, s:o, s:s, s:s, s:s}", "name", v->name, "value",
                                    v->value ? json_text(v->value) : json_null(), "default",
                                    v->by_default, "range", v->range, "help", v->help));
}

static int show_environment(int as_json)
{
    if (!as_json)
        return rondo_environment(print_variable, NULL), EXIT_DONE;
    json_t *variables = json_array();
    rondo_environment(add_variable, variables);
    return json_print(&command_info, variables);
}

static int run(int argc, char **argv)
{
    struct settings settings = { 0 };
    struct info info = { .cpu = NULL };
    int status = cli_parse(&command_info, argc, argv, &settings, NULL);
    if (status >= 0)
        return status;
    if (settings.env)
        return show_environment(settings.json);
    status = EXIT_RUN_FAILED;
    if (!read_info(&info))
        status = settings.json ? json_print(&command_info, json_info(&info)) : print_info(&info);
    free(info.device);
    free(info.cpu);
    return status;
}

static const struct cli_option options[] = {
    { "env", 0, NULL,
      "the variables of the environment that Rondo reads, with their present values, instead",
      CLI_FLAG, offsetof(struct settings, env), 0, 0, NULL },
    { "json", 0, NULL, "as JSON", CLI_FLAG, offsetof(struct settings, json), 0, 0, NULL },
    { .name = NULL },
};

static const char *const examples[] = {
    "rondo info",
    "CPUs, memories, caches, what a hand-over costs, devices, backends",
    "rondo info --env",
    "what can be set in the environment, and what is set",
    NULL,
};

const struct cli_command command_info = {
    .name = "info",
    .operands = "",
    .summary = "say what Rondo sees of this machine and of the environment",
    .text =
        "Opens a runtime as a program would by default, and says what there is: the model, "
        "number and caches of the CPUs, the memories, on which CPUs the runtime's processors "
        "run, what it costs to hand work from one CPU to another (measured now), the devices that "
        "could be opened (RONDO_DEVICES: that are), and which backends there are.",
    .examples = examples,
    .options = options,
    .run = run,
};
