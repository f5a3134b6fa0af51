/* SPDX-License-Identifier: BSD-3-Clause */
/* A hosted team's function on the runtime's host thread. What the thread is given is a record of
 * process-lifetime memory, as is the completion it finishes: it touches nothing of the exec once
 * that says that the function is over. */
#include "src/machine/host.h"
#include "src/event/completion.h"
#include "src/frame/node_kinds.h"
#include "src/frame/team.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct job {
    struct rd_host_job host; /* first */
    struct rd_self self;     /* a view of its own: rank 0's lane goes on with other nodes */
    const struct rd_node_work *work;
    rondo_completion completion;
    struct job *next; /* free */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct job *free_jobs; /* under the lock */

static struct job *take_job(void)
{
    struct job *job;
    pthread_mutex_lock(&lock);
    job = free_jobs;
    if (job)
        free_jobs = job->next;
    pthread_mutex_unlock(&lock);
    return job ? job : rd_zalloc(rd_allocator_system(), sizeof *job, RD_LINE);
}

static void give_job(struct job *job)
{
    pthread_mutex_lock(&lock);
    job->next = free_jobs;
    free_jobs = job;
    pthread_mutex_unlock(&lock);
}

/* On the host thread. */
static void run(struct rd_host_job *host)
{
    struct job *job = (struct job *)host;
    const struct rd_node_work *w = job->work;
    const rondo_completion completion = job->completion;
    struct rd_self *self = &job->self;
    char message[sizeof self->message] = "";
    int code = rd_node_call(self, w);
    if (code && self->told)
        memcpy(message, self->message, sizeof message);
    else if (code)
        snprintf(message, sizeof message, "returned %d", code);
    rd_self_end(&w->rt->alloc, self);
    give_job(job);
    rd_completion_finish(completion, code ? RONDO_ERR_FAILED : RONDO_OK, message);
}

int rd_team_host(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *team)
{
    struct rd_completion *c = rd_completion_new();
    struct job *job = c ? take_job() : NULL;
    if (!job) {
        if (c)
            rd_completion_free(c);
        return 0;
    }
    job->host.run = run;
    job->self = *self;
    job->self.view.rank = 0;
    job->self.view.team = w->team;
    job->self.view.processor = RONDO_ANY_CPU;
    job->self.scratch = NULL; /* the lane's is not this thread's */
    job->self.scratch_bytes = 0;
    job->self.told = 0;
    job->work = w;
    job->completion = rd_completion_handle(c);
    team->record = c; /* published with GO */
    rd_host_run(w->rt, w->cpus, w->team, &job->host);
    return 1;
}

int rd_team_host_is_over(struct rd_pend *team, struct rd_unmet *unmet)
{
    return rd_completion_is_over(team->record, unmet);
}

int rd_team_host_end(struct rd_self *self, struct rd_pend *team)
{
    struct rd_completion *c = team->record;
    int code = c->status ? rd_node_fail(self, "%s", c->message) : 0;
    rd_completion_free(c);
    team->record = NULL;
    return code;
}
