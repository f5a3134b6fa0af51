/* SPDX-License-Identifier: BSD-3-Clause */
/* How a worker turns to its sources, and rests when none has work. */
#ifndef RD_MACHINE_AGENDA_H
#define RD_MACHINE_AGENDA_H

#include "src/machine/worker.h"

/* The calling thread is the worker, until it is told to stop (STALE) or, of a driver, what it waits
 * for (`until` not NULL) is complete (OK) or late (AGAIN). */
rondo_status rd_agenda_run(struct rd_worker *w, const struct rd_until *until);
/* Turns to every source once; whether any progressed. */
int rd_agenda_look(struct rd_worker *w);
/* Lets go of the sources that are to be detached, and runs nothing. */
void rd_agenda_sweep(struct rd_worker *w);

#endif
