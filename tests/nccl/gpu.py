#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The plugin in the real NCCL: two ranks on one GPU that take each other for two hosts.

Each trains ITERATIONS times: an all-reduce over TCP, then a pause. Checks that every iteration is
announced, with the bytes that the kernel counts on the rank's sockets; prints what an all-reduce
takes with the plugin and without, in turns. Needs a GPU and PyTorch; without them it ends with
status 4. Nothing else may use the GPU meanwhile, or the times are worth nothing.
"""

import importlib.util
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

from fake_mlccd import Listener  # noqa: E402  (needs the path above)
from sockets import sent_bytes  # noqa: E402

PLUGIN = ROOT / "build" / "userspace" / "nccl" / "libnccl-profiler-mlcc.so"
JOB = {"id": 1, "name": "1"}
ITERATIONS, WARM_UP, PAUSE_S, COUNT, ROUNDS = 40, 10, 0.05, 16 << 20, 3
TOLERANCE = 0.02  # 4 bytes per message, and control
SKIPPED, TIMEOUT_S = 4, 300


def rank(number: int) -> None:
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=number, world_size=2)
    tensor = torch.ones(COUNT, device="cuda")
    times, before = [], 0
    for i in range(WARM_UP + ITERATIONS):
        if i == WARM_UP:
            before = sent_bytes()
        begun = time.perf_counter()
        dist.all_reduce(tensor)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
        tensor.fill_(1.0)
        time.sleep(PAUSE_S)
    sent = (sent_bytes() - before) / ITERATIONS
    print(json.dumps({"ms": statistics.median(times[WARM_UP:]) * 1e3, "sent": sent}), flush=True)
    dist.destroy_process_group()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(number: int, port: int, path: Path | None) -> dict[str, str]:
    env = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "NCCL_HOSTID": f"host{number}",
        "NCCL_NET": "Socket",
        "NCCL_SOCKET_IFNAME": "=lo",
        "NCCL_ALGO": "RING",
        "NCCL_DEBUG": "WARN",
    }
    if path:
        env |= {"NCCL_PROFILER_PLUGIN": str(PLUGIN), "MLCC_SOCKET": str(path)}
        env |= {"MLCC_JOB": "1", "MLCC_LOG": "1"}
    return env


def train(base: Path | None) -> tuple[list[dict[str, float]], list[Listener]]:
    """Both ranks' figures; with @base, with the plugin, and a listener for each."""
    port = free_port()
    paths = [base / f"rank{n}" if base else None for n in range(2)]
    listeners = [Listener([JOB], path=path) for path in paths if path]
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, "--rank", str(n)],
            env=environment(n, port, path),
            stdout=subprocess.PIPE,
            text=True,
        )
        for n, path in enumerate(paths)
    ]
    try:
        figures = [json.loads(r.communicate(timeout=TIMEOUT_S)[0].splitlines()[-1]) for r in ranks]
    finally:
        for r in ranks:
            r.kill()
    return figures, listeners


def check(figures: list[dict[str, float]], listeners: list[Listener]) -> bool:
    good = True
    for number, (figure, listener) in enumerate(zip(figures, listeners, strict=True)):
        told, sent = listener.starts[-1] if listener.starts else 0, figure["sent"]
        enough = len(listener.starts) >= ITERATIONS
        exact = sent > 0 and abs(told - sent) <= TOLERANCE * sent
        good = good and enough and exact
        print(
            f"rank {number}: {len(listener.starts)} phases announced, the last with {told} bytes; "
            f"its sockets sent {sent:.0f} an iteration: {'good' if enough and exact else 'BAD'}"
        )
    return good


def reason_to_skip() -> str | None:
    if not PLUGIN.exists():
        return f"{PLUGIN} is not built: make nccl"
    if not shutil.which("ss"):
        return "no ss (iproute2)"
    if importlib.util.find_spec("torch") is None:
        return "no PyTorch"
    import torch

    if not torch.cuda.is_available():
        return "no GPU here"
    return None


def main() -> int:
    if sys.argv[1:2] == ["--rank"]:
        rank(int(sys.argv[2]))
        return 0
    if reason := reason_to_skip():
        print(f"SKIP: {reason}")
        return SKIPPED
    good, ms = True, {"with": [], "without": []}
    for turn in range(ROUNDS):
        with tempfile.TemporaryDirectory() as directory:
            figures, listeners = train(Path(directory))
            good = check(figures, listeners) and good
            ms["with"].append(max(f["ms"] for f in figures))
        figures, _ = train(None)
        ms["without"].append(max(f["ms"] for f in figures))
        print(f"round {turn}: {ms['with'][-1]:.3f} ms with, {ms['without'][-1]:.3f} ms without")
    ratio = statistics.median(ms["with"]) / statistics.median(ms["without"])
    print(f"the all-reduce takes {ratio:.4f} of its time without the plugin")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
