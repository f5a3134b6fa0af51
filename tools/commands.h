/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands, each described and defined in a file of its own name. */
#ifndef RONDO_TOOLS_COMMANDS_H
#define RONDO_TOOLS_COMMANDS_H

#include "tools/cli.h"

extern const struct cli_command command_info, command_run, command_compare, command_sim,
    command_timeline, command_dot, command_convert, command_check;

/* The help of --devices. */
#define COMMAND_DEVICES_HELP                                                                    \
    "the devices that RONDO_GPU(i) are: all, opencl, opencl:0 (by number), opencl:0/2 (split "  \
    "in two), several of them with commas, or none (default: the environment's RONDO_DEVICES, " \
    "else none)"

#endif
