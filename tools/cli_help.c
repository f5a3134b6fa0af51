/* SPDX-License-Identifier: BSD-3-Clause */
/* --help: what a table of options says, wrapped for a terminal. */
#include "tools/cli_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const char cli_about[] =
    "Rondo is a C library: record a subgraph of tasks and copies once, replay it many times. This "
    "command replays graphs from files, measures and checks them, says what they would take on "
    "other machines, and shows what the library sees of this one.\n"
    "\n"
    "A graph file is a task graph in the Standard Task Graph format (.stg), a workflow in WfFormat "
    "(JSON), or a recording that Rondo wrote (JSON); which one is told by what it holds.";

const char *const cli_examples[] = {
    "rondo info",
    "the machine as Rondo sees it, and what a hand-over between its CPUs costs",
    "rondo run graph.stg",
    "replays a task graph in every mode and prints times and speed-ups",
    "rondo sim graph.stg --processors 1,2,...,1024",
    "says what it would take on other numbers of processors",
    "rondo timeline graph.stg -o replay.svg",
    "draws one replay, processor by processor",
    NULL,
};

const struct cli_command *cli_command_named(const char *name)
{
    for (int i = 0; cli_commands[i]; i++)
        if (!strcmp(name, cli_commands[i]->name))
            return cli_commands[i];
    return NULL;
}

/* ---- wrapping */

enum { NARROW = 50, USUAL = 80, WIDE = 100, MARGIN = 26, NAMES_MARGIN = 14, OPTIONS_MARGIN = 20 };

static int width_of(FILE *file)
{
    struct winsize size;
    if (!isatty(fileno(file)) || ioctl(fileno(file), TIOCGWINSZ, &size) || !size.ws_col)
        return USUAL;
    return size.ws_col < NARROW ? NARROW : size.ws_col > WIDE ? WIDE : size.ws_col;
}

struct wrap {
    FILE *file;
    int width, margin, column; /* column: of what is on the line already */
    int paragraphs;
};

static void put_words(struct wrap *wrap, const char *text, size_t length)
{
    const char *end = text + length;
    int first = 1;
    while (text < end) {
        size_t space = 0, word;
        while (text + space < end && strchr(" \n", text[space]))
            space++;
        text += space;
        for (word = 0; text + word < end && !strchr(" \n", text[word]);)
            word++;
        if (!word)
            break;
        if (!first && wrap->column + 1 + (int)word > wrap->width) {
            fprintf(wrap->file, "\n%*s", wrap->margin, "");
            wrap->column = wrap->margin;
        } else if (!first) {
            fputc(' ', wrap->file);
            wrap->column++;
        }
        fwrite(text, 1, word, wrap->file);
        wrap->column += (int)word;
        text += word;
        first = 0;
    }
    fputc('\n', wrap->file);
    wrap->column = 0;
}

void cli_paragraphs(const char *text,
                    void (*visit)(void *context, const char *paragraph, size_t length),
                    void *context)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        visit(context, text, length);
        text += length;
        text += strspn(text, "\n");
    }
}

static void put_paragraph(void *context, const char *paragraph, size_t length)
{
    struct wrap *wrap = context;
    if (wrap->paragraphs++)
        fputc('\n', wrap->file);
    put_words(wrap, paragraph, length);
}

/* ---- the parts of a page */

static void heading(FILE *file, const char *text)
{
    fprintf(file, "\n%s%s%s\n", cli_colour(file, CLI_BOLD), text, cli_colour(file, CLI_PLAIN));
}

/* A name to the left, its text to the right, beginning on the next line where there is no room. */
static void entry(FILE *file, int margin, const char *name, const char *help)
{
    struct wrap wrap = { .file = file, .width = width_of(file), .margin = margin };
    int length = fprintf(file, "  %s", name);
    if (length > margin - 2)
        fprintf(file, "\n%*s", margin, "");
    else
        fprintf(file, "%*s", margin - length, "");
    wrap.column = margin;
    put_words(&wrap, help, strlen(help));
}

static void put_text(FILE *file, const char *text)
{
    struct wrap wrap = { .file = file, .width = width_of(file) };
    fputc('\n', file);
    cli_paragraphs(text, put_paragraph, &wrap);
}

static void put_examples(FILE *file, const char *const *examples)
{
    if (!examples || !examples[0])
        return;
    heading(file, "examples:");
    for (int i = 0; examples[i]; i += 2) {
        struct wrap wrap = { .file = file, .width = width_of(file), .margin = 6, .column = 6 };
        fprintf(file, "  %s\n      ", examples[i]);
        put_words(&wrap, examples[i + 1], strlen(examples[i + 1]));
    }
}

static void put_options(FILE *file, const struct cli_option *option)
{
    char name[128];
    for (; option && option->name; option++) {
        char letter[5] = "    ";
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(name, sizeof name, "%s--%s%s%s", letter, option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        entry(file, MARGIN, name, option->help);
    }
    entry(file, MARGIN, "    --help", CLI_HELP_OPTION);
}

static void help_all(FILE *file)
{
    fprintf(file, "usage: rondo COMMAND [OPTIONS] [FILE]\n");
    put_text(file, cli_about);
    heading(file, "commands:");
    for (int i = 0; cli_commands[i]; i++)
        entry(file, NAMES_MARGIN, cli_commands[i]->name, cli_commands[i]->summary);
    heading(file, "options:");
    entry(file, OPTIONS_MARGIN, "COMMAND --help", "about one command; also: rondo help COMMAND");
    entry(file, OPTIONS_MARGIN, "--version", "the version");
    put_examples(file, cli_examples);
}

void cli_help(const struct cli_command *command, FILE *file)
{
    if (!command) {
        help_all(file);
    } else {
        fprintf(file, "usage: rondo %s [OPTIONS]%s%s\n", command->name,
                *command->operands ? " " : "", command->operands);
        put_text(file, command->text);
        heading(file, "options:");
        put_options(file, command->options);
        put_examples(file, command->examples);
    }
    fprintf(file, "\nexit status: " CLI_EXIT_STATUS "\n");
}
