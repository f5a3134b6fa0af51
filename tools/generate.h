/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RONDO_TOOLS_GENERATE_H
#define RONDO_TOOLS_GENERATE_H

/* `rondo --generate man FOLDER` and `rondo --generate completion FILE`, for the build: argv[0] is
 * "--generate". Returns an exit status. */
int generate(int argc, char **argv);

#endif
