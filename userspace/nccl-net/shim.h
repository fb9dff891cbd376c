/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MLCC_NET_SHIM_H
#define MLCC_NET_SHIM_H

#include "abi.h"

/* Our table of this version; NULL: the chained plugin has none. */
const struct net *shim_net(int version);

#endif /* MLCC_NET_SHIM_H */
