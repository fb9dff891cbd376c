# SPDX-License-Identifier: GPL-2.0
"""One run: some jobs together, in namespaces left and right of the bottleneck.

    h0 (rank 0) ──┐                       ┌── h1 (rank 1)   job 1
    h2 (rank 0) ──┤ left ══ queue ══ right ├── h3 (rank 1)   job 2

Every namespace plays a host, and each rank is started there as a launcher would: under mlcc by
"mlcc-ctl run", so that it has a cgroup, a tag and a job of its own.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlcclab import machine, shell
from mlcclab.carrier import REPOSITORY, Carrier, is_announced, is_mlcc
from mlcclab.daemon import Daemon
from mlcclab.errors import LabError
from mlcclab.runner import JobTrace, RunResult, Tick, slowest, step_times
from mlcclab.topology import Host, Topology

from .jobs import TORCH_MODELS, Job

CTL = REPOSITORY / "build" / "userspace" / "mlcc-ctl" / "mlcc-ctl"
HINT = REPOSITORY / "build" / "userspace" / "libmlcc-hint"
RANKS = Path(__file__).resolve().parents[1] / "ranks"
# torch is Debian's, and belongs to Debian's interpreter
PYTHON = "/usr/bin/python3"
PORT = 29500
# what ss prints before the congestion control's name
OPTIONS = ("ts", "sack", "ecn", "ecnseen", "fastopen")
RANKS_OF_A_JOB = 2
POLL_S = 0.1
READY_S = 90.0 * shell.SLOW
LEAD_S = 0.5
STOP_S = 10.0 * shell.SLOW

Record = dict[str, Any]
Trace = list[Record]  # what one rank of a job did, an entry an iteration


@dataclass
class RealRun(RunResult):
    """Everything of one run, as the lab has it, and what only these jobs tell."""

    ranks: dict[str, list[Trace]] = field(default_factory=dict)
    stolen: float = 0.0  # part of one processor's time
    hints: dict[str, int] = field(default_factory=dict)
    in_use: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, ranks: list[Trace]) -> None:
        """A job. Nobody counts what its connections send again."""
        times, comm_ms = step_times(ranks), slowest(ranks, "comm_ms")
        self.ranks[name] = ranks
        self.jobs[name] = JobTrace(times, slowest(ranks, "real_ms"), comm_ms, 0, 0, [])


class Process:
    """A rank, or the mpirun of two."""

    def __init__(self, name: str, command: Sequence[str], env: dict[str, str], log: Path) -> None:
        self.name = name
        self._log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(
                list(command),
                env=os.environ | env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def check(self) -> None:
        """Complain if it has ended by itself."""
        if self.process.poll() is not None:
            said = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            why = said[-1] if said else "it says nothing"
            raise LabError(f"{self.name}: ended with status {self.process.returncode}: {why}")

    def stop(self) -> None:
        """mlcc-ctl and mpirun pass it on, and take away what they have made."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def finish(self) -> None:
        """Wait for the end; the hard way in the end."""
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Cluster:
    """Two hosts for each job, made once for all runs."""

    def __init__(self, topology: Topology, jobs: Sequence[Job]) -> None:
        self.hosts: dict[str, list[Host]] = {}
        for job in jobs:
            self.hosts[job.name] = [topology.add_host("left"), topology.add_host("right")]
        topology.seal()
        self.topology = topology

    def all_hosts(self) -> list[Host]:
        """Every namespace that ranks run in."""
        return [host for hosts in self.hosts.values() for host in hosts]

    def default_cc(self, cc: str) -> None:
        """What a socket gets that asks for nothing; empty: the kernel's default.

        By the route: newer kernels let the sysctl of a namespace name only what any user may have.
        """
        for host in self.all_hosts():
            gateway = host.addresses[0].rpartition(".")[0] + ".1"
            route = ["route", "replace", "default", "via", gateway, "dev", "eth0"]
            shell.run(["ip", "-n", host.namespace, *route, *(["congctl", cc] if cc else [])])

    def in_use(self) -> dict[str, int]:
        """Connections between hosts by their congestion control, as ss names it."""
        words: Counter[str] = Counter()
        for host in self.all_hosts():
            text = shell.run(["ip", "netns", "exec", host.namespace, "ss", "-HtinO"])
            # state, two queues, two addresses, options, the name
            for _, _, _, near, far, *rest in map(str.split, text.splitlines()):
                if near.rpartition(":")[0] != far.rpartition(":")[0]:
                    words[next((word for word in rest if word not in OPTIONS), "?")] += 1
        return dict(words)

    def clear(self) -> None:
        """End what a killed launcher has left in our namespaces."""
        for host in self.all_hosts():
            for pid in shell.attempt(["ip", "netns", "pids", host.namespace]).stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)


class Session:
    """The processes of one run."""

    def __init__(self, cluster: Cluster, jobs: Sequence[Job], cc: str, folder: Path) -> None:
        self.cluster = cluster
        self.jobs = jobs
        self.cc = cc
        self.folder = folder
        self.processes: list[Process] = []
        self.daemon: Daemon | None = None

    def run(self, carrier: Carrier | None, iterations: int, limit_s: float, tick: Tick) -> RealRun:
        """Until the slowest job has done its iterations; the others keep competing."""
        with ExitStack() as stack:
            # under mlcc it is the tagger that chooses
            self.cluster.default_cc("" if is_mlcc(self.cc) else self.cc)
            if is_mlcc(self.cc):
                if carrier is None:
                    raise LabError(f"{self.cc}: no carrier")
                stack.enter_context(carrier.profiled(""))
                self.daemon = stack.enter_context(Daemon())
            stack.callback(self._stop)
            for job in self.jobs:
                self._start(job)
            self._wait_ready()
            return self._measure(iterations, limit_s, tick)

    def _measure(self, iterations: int, limit_s: float, tick: Tick) -> RealRun:
        topology = self.cluster.topology
        before, drops = topology.counters(), machine.softnet_drops()
        stolen, begun = machine.stolen_s(), time.monotonic()
        go = self.folder / "go.new"
        go.write_text(str(time.monotonic_ns() + round(LEAD_S * 1e9)))
        go.rename(self.folder / "go")
        result = RealRun()
        end = time.monotonic() + limit_s
        while (done := min(map(self._done, self._names()))) < iterations:
            tick(done / iterations)
            time.sleep(POLL_S)
            for process in self.processes:
                process.check()
            if time.monotonic() > end:
                raise LabError(f"{self.cc}: {done} iterations in {limit_s:.0f} s; gives up")
            if not result.in_use and done >= iterations // 2:
                result.in_use = self.cluster.in_use()
        result.counters = topology.counters().since(before)
        result.softnet_drops = machine.softnet_drops() - drops
        took = time.monotonic() - begun
        result.seconds = took - LEAD_S
        result.stolen = (machine.stolen_s() - stolen) / took
        result.hints = self.daemon.records() if self.daemon else {}
        for job in self.jobs:
            names = [f"{job.name}-{rank}" for rank in range(RANKS_OF_A_JOB)]
            result.add(job.name, [self._records(name)[:iterations] for name in names])
        return result

    def _names(self) -> list[str]:
        return [f"{job.name}-{rank}" for job in self.jobs for rank in range(RANKS_OF_A_JOB)]

    def _done(self, name: str) -> int:
        file = self.folder / f"{name}.out"
        return file.read_bytes().count(b"\n") if file.exists() else 0

    def _records(self, name: str) -> list[Record]:
        whole = (self.folder / f"{name}.out").read_text(encoding="utf-8").rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def _wait_ready(self) -> None:
        end = time.monotonic() + READY_S
        while not all((self.folder / f"{name}.ready").exists() for name in self._names()):
            for process in self.processes:
                process.check()
            if time.monotonic() > end:
                raise LabError(f"{self.cc}: not all ranks were ready in {READY_S:.0f} s")
            time.sleep(POLL_S)

    def _start(self, job: Job) -> None:
        if job.model in TORCH_MODELS:
            for rank in range(RANKS_OF_A_JOB):
                self._start_torch(job, rank)
        else:
            self._start_mpi(job)

    def _start_torch(self, job: Job, rank: int) -> None:
        hosts = self.cluster.hosts[job.name]
        env = {
            "RANK": str(rank),
            "WORLD_SIZE": str(RANKS_OF_A_JOB),
            "LOCAL_RANK": "0",
            "LOCAL_WORLD_SIZE": "1",
            "MASTER_ADDR": hosts[0].addresses[0],
            "MASTER_PORT": str(PORT),
            "GLOO_SOCKET_IFNAME": "eth0",
            # Debian 13 builds PyTorch without it, and PyTorch asks for it all the same
            "USE_LIBUV": "0",
        }
        name = f"{job.name}-{rank}"
        words = [PYTHON, "-B", str(RANKS / "torch_rank.py"), "--name", name, "--model", job.model]
        inside = [*_host_cpus(), *self._as_job(name, hosts[rank])]
        self._spawn(name, [*inside, *words, *self._common(job)], env)

    def _start_mpi(self, job: Job) -> None:
        """One mpirun, which reaches the other host by a remote shell of our own."""
        hosts = self.cluster.hosts[job.name]
        left = hosts[0].namespace
        settings = {
            "btl": "self,tcp",
            "btl_tcp_if_include": "eth0",
            "oob_tcp_if_include": "eth0",
            "plm_rsh_agent": str(RANKS / "netns-rsh"),
            "plm_rsh_no_tree_spawn": "1",
            "orte_keep_fqdn_hostnames": "1",
            "coll_libnbc_iallreduce_algorithm": "1",  # ring; its choice for two ranks is a tree
            "rmaps_base_oversubscribe": "1",
            "hwloc_base_binding_policy": "none",
        }
        words = ["mpirun", "--allow-run-as-root", "--leave-session-attached"]
        for key, value in settings.items():
            words += ["--mca", key, value]
        for rank, host in enumerate(hosts):
            name = f"{job.name}-{rank}"
            program = [PYTHON, "-B", str(RANKS / "mpi_rank.py"), "--name", name]
            words += [":"] if rank else []
            words += ["-np", "1", "--host", host.namespace]
            words += [*self._as_job(name, host), *program, *self._common(job)]
        inside = ["unshare", "--uts", *_host_cpus(), "nsenter", f"--net=/run/netns/{left}"]
        named = ["sh", "-c", 'hostname "$1" && shift && exec "$@"', "sh", left]
        self._spawn(job.name, [*inside, *named, *words], {})

    def _common(self, job: Job) -> list[str]:
        words = ["--folder", str(self.folder), "--bytes", str(job.bytes)]
        words += ["--compute-ms", str(job.compute_ms), "--seed", str(job.seed)]
        return [*words, "--hints"] if is_announced(self.cc) else words

    def _as_job(self, name: str, host: Host) -> list[str]:
        """On that host; under mlcc what an operator would write, in mlccd's network namespace."""
        there = ["nsenter", f"--net=/run/netns/{host.namespace}"]
        if not self.daemon:
            return there
        ctl = [str(CTL), "--socket", str(self.daemon.socket), "run", "--strict", "--name", name]
        env = [f"MLCC_SOCKET={self.daemon.socket}", f"LD_LIBRARY_PATH={HINT}"]
        here = ["nsenter", f"--net=/proc/{os.getpid()}/ns/net"]
        return [*here, *ctl, "--", "env", *env, *there]

    def _spawn(self, name: str, command: list[str], env: dict[str, str]) -> None:
        self.processes.append(Process(name, command, env, self.folder / f"{name}.log"))

    def _stop(self) -> None:
        for process in self.processes:
            process.stop()
        for process in self.processes:
            process.finish()
        self.cluster.clear()


def _host_cpus() -> list[str]:
    """Command prefix: out of the way of the processor that carries the packets."""
    hosts = os.sched_getaffinity(0) - {machine.network_cpu()}
    return ["taskset", "-c", ",".join(map(str, sorted(hosts)))] if hosts else []
