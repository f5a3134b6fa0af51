/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes on devices, and the devices that there are. */
#ifndef RD_EXEC_ON_DEVICE_H
#define RD_EXEC_ON_DEVICE_H

#include "subgraph/subgraph.h"

/* INVALID, naming the node or slot: it asks for a device that the runtime has not opened. */
rondo_status rd_check_devices(const struct rd_subgraph *g);

#endif
