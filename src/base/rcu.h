/* SPDX-License-Identifier: BSD-3-Clause */
/* Read sections and grace periods: liburcu's memb flavour. A read section is never held over a task
 * or a wait. A thread registers at its first read section and unregisters when it ends. */
#ifndef RD_BASE_RCU_H
#define RD_BASE_RCU_H

void rd_rcu_read_lock(void); /* may nest */
void rd_rcu_read_unlock(void);
/* Returns when every read section begun before has ended. Never inside a read section. */
void rd_rcu_synchronize(void);

#endif
