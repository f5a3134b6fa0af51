/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion for bash from the tables of options. Names of commands, options and choices are words
 * of letters, digits and dashes, so nothing is quoted. */
#include "tools/cli_text.h"

/* The head reads the words: bash makes "--mode=both" three words, "--mode", "=" and "both". */
static const char head[] =
    "# Completion of the command rondo for bash.\n"
    "_rondo()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= words= i\n"
    "    COMPREPLY=()\n"
    "    if [ \"$cur\" = = ]; then\n"
    "        cur=\n"
    "    elif [ \"$prev\" = = ]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in\n"
    "        -*) ;;\n"
    "        *) command=${COMP_WORDS[i]}; break ;;\n"
    "        esac\n"
    "    done\n";

static const char tail[] = "    if [ -z \"$words\" ]; then\n"
                           "        compopt -o filenames 2>/dev/null\n"
                           "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                           "    else\n"
                           "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                           "    fi\n"
                           "}\n"
                           "complete -F _rondo rondo\n";

static void put_names(FILE *file)
{
    for (int i = 0; cli_commands[i]; i++)
        fprintf(file, "%s%s", i ? " " : "", cli_commands[i]->name);
}

/* What may follow `option`: a file (no words), one of its choices, or what nobody can guess. */
static void put_value(FILE *file, const struct cli_option *option)
{
    fprintf(file, "            --%s", option->name);
    if (option->letter)
        fprintf(file, "|-%c", option->letter);
    fputs(") ", file);
    if (option->kind == CLI_CHOICE) {
        fputs("words='", file);
        for (int i = 0; option->choices[i]; i++)
            fprintf(file, "%s%s", i ? " " : "", option->choices[i]);
        fputs("' ;;\n", file);
    } else {
        fputs(option->kind == CLI_FILE ? ";;\n" : "return ;;\n", file);
    }
}

static void put_command(FILE *file, const struct cli_command *command)
{
    fprintf(file, "    %s)\n        case $prev in\n", command->name);
    for (const struct cli_option *o = command->options; o && o->name; o++)
        if (o->kind != CLI_FLAG)
            put_value(file, o);
    fputs("            *)\n                case $cur in\n                -*) words='", file);
    for (const struct cli_option *o = command->options; o && o->name; o++)
        fprintf(file, "--%s ", o->name);
    fputs("--help' ;;\n", file);
    if (!command->operand_count)
        fputs("                *) return ;;\n", file);
    fputs("                esac ;;\n        esac ;;\n", file);
}

void cli_completion(FILE *file)
{
    fputs(head, file);
    fputs("    case $command in\n    '') words='", file);
    put_names(file);
    fputs(" help --help --version' ;;\n    help) words='", file);
    put_names(file);
    fputs("' ;;\n", file);
    for (int i = 0; cli_commands[i]; i++)
        put_command(file, cli_commands[i]);
    fputs("    *) return ;;\n    esac\n", file);
    fputs(tail, file);
}
