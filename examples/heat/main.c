/* SPDX-License-Identifier: BSD-3-Clause */
/* The example's command line, its table and its picture. How the loop is written with Rondo is told
 * in solver.c. */
#include "picture.h"
#include "rows.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

enum { DONE = 0, RUN_FAILED = 1, BAD_INPUT = 2, NO_DEVICE = 3, GO_ON = -1 };

static void help(void)
{
    puts(
        "usage: heat [OPTIONS] [PICTURE.png]\n"
        "\n"
        "Solves the heat equation on a picture (bright is hot), in several ways, by turns; prints\n"
        "how fast each of them is and writes the final field. All must agree bit for bit.\n"
        "\n"
        "  --steps N        time steps (default 200)\n"
        "  --tiles XxY      tiles, each of them a node (default 4x4)\n"
        "  --workers K      workers, and OpenMP threads (default: one per CPU)\n"
        "  --size WxH       resample the picture to W by H points\n"
        "  --repeat R       repetitions, the best one counts (default 10)\n"
        "  --output FILE    the final field (default heat.png)\n"
        "  --device NAME    also on a device: opencl, opencl:0, ... (see docs/devices.md), all of\n"
        "                   the step, and with the points near the border on the CPUs\n"
        "  --describe       with --device: what Rondo says of the step on the device and the CPUs\n"
        "  --help           this text\n"
        "\n"
        "exit status: 0 done, 1 the run failed or results differ, 2 bad input or usage, 3 no such\n"
        "device");
}

/* ---- the command line */

/* The digits at `text` as a number from 1 to `most`, and where they end. Returns 0, or -1. */
static int digits(const char *text, int64_t most, int64_t *value, const char **end)
{
    int64_t n = 0;
    for (; *text >= '0' && *text <= '9' && n <= most; text++)
        n = n * 10 + (*text - '0');
    *value = n;
    *end = text;
    return n >= 1 && n <= most ? 0 : -1;
}

/* Both return 0, or -1 after saying why. */
static int number(const char *option, const char *text, int64_t most, int64_t *value)
{
    const char *end;
    if (!digits(text, most, value, &end) && !*end)
        return 0;
    fprintf(stderr, "heat: %s: '%s' is not a number from 1 to %" PRId64 "\n", option, text, most);
    return -1;
}

static int pair(const char *option, const char *text, int64_t most, int64_t *x, int64_t *y)
{
    const char *end;
    if (!digits(text, most, x, &end) && *end == 'x' && !digits(end + 1, most, y, &end) && !*end)
        return 0;
    fprintf(stderr, "heat: %s: '%s' is not two numbers from 1 to %" PRId64 ", as in 4x4\n", option,
            text, most);
    return -1;
}

static int parse_option(int option, struct settings *set)
{
    int64_t x = 0, y = 0;
    switch (option) {
    case 's': return number("--steps", optarg, 100000000, &set->steps);
    case 'r': return number("--repeat", optarg, 10000, &set->repeat);
    case 'z': return pair("--size", optarg, PICTURE_SIDE, &set->nx, &set->ny);
    case 'o': set->output = optarg; return 0;
    case 'd': set->device = optarg; return 0;
    case 'D': set->describe = 1; return 0;
    case 'w':
        if (number("--workers", optarg, 1024, &x))
            return -1;
        set->workers = (uint32_t)x;
        return 0;
    case 't':
        if (pair("--tiles", optarg, PICTURE_SIDE, &x, &y))
            return -1;
        set->tiles_x = (uint32_t)x;
        set->tiles_y = (uint32_t)y;
        return 0;
    default: return -1;
    }
}

static int parse(int argc, char **argv, struct settings *set)
{
    static const struct option options[] = {
        { "steps", required_argument, NULL, 's' },   { "tiles", required_argument, NULL, 't' },
        { "workers", required_argument, NULL, 'w' }, { "size", required_argument, NULL, 'z' },
        { "repeat", required_argument, NULL, 'r' },  { "output", required_argument, NULL, 'o' },
        { "describe", no_argument, NULL, 'D' },      { "device", required_argument, NULL, 'd' },
        { "help", no_argument, NULL, 'h' },          { NULL, 0, NULL, 0 },
    };
    *set = (struct settings){
        .steps = 200, .repeat = 10, .tiles_x = 4, .tiles_y = 4, .output = "heat.png"
    };
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            help();
            return DONE;
        }
        if (parse_option(option, set))
            return BAD_INPUT;
    }
    if (argc - optind > 1) {
        fprintf(stderr, "heat: one picture at most, not %d\n", argc - optind);
        return BAD_INPUT;
    }
    set->picture = argv[optind]; /* NULL where there is none */
    return GO_ON;
}

/* ---- the initial field */

static int load_picture(const struct settings *set, struct field *picture)
{
    if (set->picture)
        return picture_read(set->picture, picture);
#if defined(RONDO_HAVE_PNG) && defined(EXAMPLE_DIR)
    return picture_read(EXAMPLE_DIR "/rondo.png", picture);
#else
    if (field_make(picture, 512, 512))
        return -1;
    field_rings(picture);
    return 0;
#endif
}

static int load(struct bench *bench)
{
    struct settings *set = &bench->settings;
    struct field picture;
    if (load_picture(set, &picture))
        return BAD_INPUT;
    if (!set->nx) {
        set->nx = picture.nx;
        set->ny = picture.ny;
    }
    int status = field_make(&bench->initial, set->nx, set->ny) ? RUN_FAILED : GO_ON;
    if (status == GO_ON)
        field_resample(&picture, &bench->initial);
    else
        fprintf(stderr, "heat: out of memory\n");
    field_free(&picture);
    if (status == GO_ON && (set->tiles_x > set->nx - 2 || set->tiles_y > set->ny - 2)) {
        fprintf(stderr,
                "heat: %" PRIu32 "x%" PRIu32 " tiles do not fit into %" PRId64 "x%" PRId64
                " points and their border\n",
                set->tiles_x, set->tiles_y, set->nx, set->ny);
        status = BAD_INPUT;
    }
    return status;
}

/* ---- the table */

static void print_row(const struct bench *bench, enum row_kind kind)
{
    const struct settings *set = &bench->settings;
    const struct row *row = &bench->rows[kind];
    double steps = (double)set->steps, ns = (double)row->best_ns;
    char overhead[24] = "-";
    if (kind >= ROW_INTERPRETED && kind <= ROW_PIPELINED) {
        double processors =
            bench->solver.processors[kind == ROW_PIPELINED ? EXEC_PIPELINED : EXEC_SERIAL];
        double spent = ns * processors - (double)bench->rows[ROW_TILES].best_ns;
        snprintf(overhead, sizeof overhead, "%.0f", spent / steps / set->tiles_x / set->tiles_y);
    }
    printf("%-26s %9.0f %9.1f %13s %9.2f  %016" PRIx64 "\n", row_names[kind], steps * 1e9 / ns,
           ns * 1e-3 / steps, overhead, (double)bench->rows[ROW_PLAIN].best_ns / ns, row->checksum);
}

static void print_device(const struct bench *bench)
{
    rondo_device_info info;
    if (bench->settings.device && !rondo_runtime_device(bench->solver.runtime, RONDO_GPU(0), &info))
        printf("device: %s, %s, %" PRIu32 " units\n", info.backend, info.name, info.units);
}

static void print_table(const struct bench *bench)
{
    const struct settings *set = &bench->settings;
    printf("%" PRId64 " x %" PRId64 " points, %" PRId64 " steps, %" PRIu32 " x %" PRIu32
           " tiles, %" PRIu32 " workers, best of %" PRId64 "\n",
           set->nx, set->ny, set->steps, set->tiles_x, set->tiles_y, bench->threads, set->repeat);
    print_device(bench);
    putchar('\n');
    printf("%-26s %9s %9s %13s %9s  %s\n", "", "steps/s", "us/step", "overhead ns", "speed-up",
           "checksum");
    for (enum row_kind kind = 0; kind < ROWS; kind++)
        if (kind != ROW_TILES && bench->rows[kind].best_ns)
            print_row(bench, kind);
    printf(
        "\noverhead ns, per node: (time x processors used - time of the tiles called in order on "
        "one\nthread, %.1f us per step) / nodes; it includes what two cores lose on shared "
        "memory and cache.\n",
        (double)bench->rows[ROW_TILES].best_ns * 1e-3 / (double)set->steps);
}

static void print_text(void *context, const char *text)
{
    (void)context;
    fputs(text, stdout);
}

int main(int argc, char **argv)
{
    struct bench bench = { 0 };
    int status = parse(argc, argv, &bench.settings);
    if (status == GO_ON)
        status = load(&bench);
    if (status == GO_ON) {
        status = bench_open(&bench) || bench_run(&bench) ? RUN_FAILED : DONE;
        if (status == DONE) {
            print_table(&bench);
            if (bench.settings.describe && bench.settings.device)
                rondo_exec_describe(bench.solver.exec[EXEC_MIXED], print_text, NULL);
            if (picture_write(bench.settings.output, &bench.result))
                status = RUN_FAILED;
        } else if (bench.solver.no_device) {
            status = NO_DEVICE;
        }
    }
    bench_close(&bench);
    return status;
}
