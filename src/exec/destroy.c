/* SPDX-License-Identifier: BSD-3-Clause */
/* An exec as the cleaner's tenant: what its frames hold, and its end. After the id was retired and
 * a grace period, it takes no ticket any more; when the last one has ended, the workers let go of
 * the lanes and the seats are closed; after another grace period no caller is between taking a seat
 * and giving it back. */
#include "src/exec/exec.h"

#include "src/machine/worker.h"

int rd_exec_sweep(struct rd_tenant *tenant, struct rd_unmet *unmet)
{
    struct rd_exec *x = (struct rd_exec *)tenant;
    int held = 0;
    pthread_mutex_lock(&x->lock);
    for (struct rd_core *c = x->cores; c; c = c->next) {
        struct rd_unmet u;
        if (!rd_core_sweep(c, &u))
            continue;
        if (!held || u.need < unmet->need)
            *unmet = u;
        held = 1;
    }
    pthread_mutex_unlock(&x->lock);
    return held;
}

int rd_exec_closed(struct rd_tenant *tenant, struct rd_unmet *unmet)
{
    struct rd_exec *x = (struct rd_exec *)tenant;
    int closed = 1;
    if (!x->draining) { /* after the grace period: all its tickets are below */
        x->drain = RD_WORD_TICKET(rd_load_acquire(&x->series->word));
        x->draining = 1;
    }
    pthread_mutex_lock(&x->lock);
    for (struct rd_core *c = x->cores; c && closed; c = c->next)
        closed = rd_core_closed(c, x->drain, unmet);
    pthread_mutex_unlock(&x->lock);
    return closed;
}

void rd_exec_tenant_free(struct rd_tenant *tenant) { rd_exec_unref((struct rd_exec *)tenant); }
