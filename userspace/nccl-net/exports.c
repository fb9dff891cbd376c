// SPDX-License-Identifier: BSD-2-Clause
/*
 * What NCCL may look for in a network plugin's library, see chain.h.  Versions that it has by now,
 * and some to come: one that the chained plugin lacks is not found here either.
 */
#include "chain.h"
#include "shim.h"

typedef void found(void);

#define EXPORT(symbol, resolve)							\
	static found *find_##symbol(void)					\
	{									\
		return (found *)(resolve);					\
	}									\
	__attribute__((visibility("default"), ifunc("find_" #symbol))) void symbol(void)

#define OURS(v)			EXPORT(ncclNetPlugin_v##v, shim_net(v));
#define THEIRS(what, v)		EXPORT(nccl##what##_v##v, chain_symbol("nccl" #what "_v" #v));

OURS(8)
OURS(9)
OURS(10)
OURS(11)
OURS(12)

THEIRS(CollNetPlugin, 8)
THEIRS(CollNetPlugin, 9)
THEIRS(CollNetPlugin, 10)
THEIRS(CollNetPlugin, 11)
THEIRS(CollNetPlugin, 12)

THEIRS(TunerPlugin, 2)
THEIRS(TunerPlugin, 3)
THEIRS(TunerPlugin, 4)
THEIRS(TunerPlugin, 5)
THEIRS(TunerPlugin, 6)
THEIRS(TunerPlugin, 7)

THEIRS(Profiler, 1)
THEIRS(Profiler, 2)
THEIRS(Profiler, 3)
THEIRS(Profiler, 4)
THEIRS(Profiler, 5)
THEIRS(Profiler, 6)
THEIRS(Profiler, 7)

THEIRS(GinPlugin, 11)
THEIRS(GinPlugin, 12)
THEIRS(GinPlugin, 13)
THEIRS(GinPlugin, 14)
THEIRS(GinPlugin, 15)
THEIRS(GinPlugin, 16)

THEIRS(RmaPlugin, 13)
THEIRS(RmaPlugin, 14)
THEIRS(RmaPlugin, 15)
THEIRS(RmaPlugin, 16)
