# SPDX-License-Identifier: GPL-2.0
"""Inside gdb: has a real libnccl load the plugin, and make a few phases' events itself.

NCCL sets up no communicator without a GPU. But its loader and the functions that make events only
read NCCL's own structs, and the library brings their layout as debugging information: here they
are filled as for a ring of two nodes, and NCCL's functions called with them. What the plugin is
handed is then NCCL's, in that version's layout, not ours.
"""

import os
import time

import gdb

PHASES, STEPS, BYTES = (int(word) for word in os.environ["WHEEL_PHASES"].split())
PAUSE_S = 0.05
SEND_WAIT, IN_PROGRESS, PEER_WAIT = 9, 19, 20  # ncclProfilerEventState_t
V3_TRANSMITTED, V3_DONE = 2, 3
ALLREDUCE = "ncclFuncAllReduce"


def zeroed(struct: str) -> gdb.Value:
    return gdb.parse_and_eval(f"(struct {struct} *)calloc(1, sizeof(struct {struct}))")


def exists(function: str) -> bool:
    return gdb.lookup_static_symbol(function) or gdb.lookup_global_symbol(function)


def taken() -> str:
    """Which of the plugin's tables NCCL's loader took: the one that it keeps a pointer to."""
    library = gdb.lookup_objfile("libnccl.so.2")  # the plugin has variables of the same names
    kept = []
    for version in range(1, 10):
        symbol = library.lookup_static_symbol(f"ncclProfiler_v{version}")
        kept += [str(version)] if symbol and int(symbol.value()) else []
    return " ".join(kept) or "none"


def call(function: str, *arguments: gdb.Value | int | str) -> None:
    """One of NCCL's own functions, all of which return an ncclResult_t."""
    words = [f"({a.type}){int(a):#x}" if isinstance(a, gdb.Value) else str(a) for a in arguments]
    result = int(gdb.parse_and_eval(f"(int){function}({', '.join(words)})"))
    if result:
        raise gdb.GdbError(f"{function} returned {result}")


def put(at: gdb.Value, member: str, value: int | str) -> None:
    gdb.execute(f"set var (({at.type}){int(at):#x})->{member} = {value}", to_string=True)


def address(at: gdb.Value) -> str:
    return f"{int(at):#x}"


class Ring:
    """Rank 0 of two, on two nodes; one channel, which sends to the other node."""

    def __init__(self) -> None:
        self.comm, self.plan = zeroed("ncclComm"), zeroed("ncclKernelPlan")
        self.task, self.args = zeroed("ncclTaskColl"), zeroed("ncclProxyArgs")
        for member, value in (("nRanks", 2), ("nNodes", 2), ("commHash", 77)):
            put(self.comm, member, value)
        put(self.plan, "comm", address(self.comm))
        for end in ("head", "tail"):
            put(self.plan, f"collTaskQueue.{end}", address(self.task))

    def begin(self) -> None:
        call("ncclProfilerPluginInit", self.comm)
        mask = int(gdb.parse_and_eval("(int)ncclProfilerEventMask"))
        print(f"version {taken()}")
        print(f"mask {mask}")
        put(self.task, "func", ALLREDUCE)
        put(self.task, "count", STEPS * BYTES // 4)
        put(self.task, "datatype", "ncclFloat32")
        put(self.task, "nMaxChannels", 1)
        put(self.task, "eActivationMask", mask)
        sub = {
            "peer": 1,
            "nsteps": STEPS,
            "rank": 0,
            "pid": "(int)getpid()",
            "eActivationMask": mask,
            "profilerContext": address(self.comm["profilerContext"]),
        }
        for member, value in sub.items():
            put(self.args, f"subs[0].{member}", value)
        for member, value in (("nsubs", 1), ("sliceSteps", 1), ("chunkSteps", 1)):
            put(self.args, member, value)
        put(self.args, "chunkSize", 1 << 17)
        # by this NCCL tells what is sent from what is received
        put(self.args, "progress", "ncclTransports[2]->send.proxyProgress")

    def phase(self) -> None:
        """One all-reduce: the task, its operation on the proxy thread, and what that sends."""
        call("ncclProfilerStartGroupEvent", self.plan)
        call("ncclProfilerStartTaskEvents", self.plan)
        put(self.args, "subs[0].taskEventHandle", address(self.task["eventHandle"]))
        if exists("ncclProfilerStartSendProxyOpEvent"):
            self._operation_v3()
        else:
            self._operation()
        call("ncclProfilerStopProxyOpEvent", 0, self.args)
        call("ncclProfilerStopTaskEvents", self.plan)
        call("ncclProfilerStopGroupEvent", self.plan)

    def _operation_v3(self) -> None:
        call("ncclProfilerStartSendProxyOpEvent", 0, self.args)
        state = "ncclProfilerRecordProxyOpEventState"
        for step in range(1, STEPS + 1):
            kind = f"(ncclProfilerEventState_t){V3_TRANSMITTED}"
            call(state, 0, self.args, step, step * BYTES, kind)
        call(state, 0, self.args, STEPS, STEPS * BYTES, f"(ncclProfilerEventState_t){V3_DONE}")

    def _operation(self) -> None:
        call("ncclProfilerStartProxyOpEvent", 0, self.args)
        kind = f"(ncclProfilerEventState_t){IN_PROGRESS}"
        call("ncclProfilerRecordProxyOpEventState", 0, self.args, kind)
        for step in range(STEPS):
            call("ncclProfilerStartSendProxyStepEvent", 0, self.args, step)
            put(self.args, "subs[0].transSize", 0)
            self._step_state(step, PEER_WAIT)
            put(self.args, "subs[0].transSize", BYTES)
            self._step_state(step, SEND_WAIT)
            call("ncclProfilerStopProxyStepEvent", 0, self.args, step)

    def _step_state(self, step: int, state: int) -> None:
        kind = f"(ncclProfilerEventState_t){state}"
        call("ncclProfilerRecordProxyStepEventState", 0, self.args, step, kind)


def network() -> str:
    """Which version of the shim NCCL takes; "" where it has no such call."""
    library = int(gdb.parse_and_eval(f'(unsigned long)dlopen("{os.environ["WHEEL_SHIM"]}", 2)'))
    calls = [v for v in range(20, 5, -1) if exists(f"getNcclNet_v{v}")]
    for version in calls:
        if int(gdb.parse_and_eval(f"(unsigned long)getNcclNet_v{version}((void*){library:#x})")):
            return str(version)
    return "none" if calls else ""


def main() -> None:
    for setting in ("pagination off", "confirm off", "print thread-events off"):
        gdb.execute(f"set {setting}")
    gdb.Breakpoint("loaded")
    gdb.execute("run", to_string=True)
    ring = Ring()
    ring.begin()
    for _ in range(PHASES):
        ring.phase()
        time.sleep(PAUSE_S)
    call("ncclProfilerPluginFinalize", ring.comm)
    print(f"network {network()}")
    print("finished")
    gdb.execute("kill", to_string=True)


main()
