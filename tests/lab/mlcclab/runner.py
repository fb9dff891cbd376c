# SPDX-License-Identifier: GPL-2.0
"""One run: some of the scenario's jobs, together, under one congestion control."""

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from . import lead, machine, netplugin, shell
from .burst import BINARY, NET, VERBS, Burst, Record
from .carrier import NEUTRAL, Carrier, is_announced, is_led, is_mlcc, profile_of
from .cluster import Cluster, Command
from .daemon import Daemon
from .errors import LabError
from .link import Change, Link
from .scenario import Flow, Job
from .topology import LinkCounters, Topology

BINARIES = {"tcp": BINARY, "verbs": VERBS, "net": NET, "net-verbs": NET}
SAMPLE_MS = 20
POLL_S = 0.1
# A poll that comes later than this was not late: the lab stood still.
FROZEN_S = 1.0
# From the first process started to the common start of all jobs.
LEAD_S = 0.4
LEAD_PER_PROCESS_S = 0.03

Tick = Callable[[float], None]
Samples = list[tuple[int, int]]  # (monotonic ns, bytes received so far)


@dataclass(frozen=True)
class Plan:
    """What to run."""

    cc: str
    jobs: Sequence[Job]
    flows: Sequence[Flow]
    iterations: int
    seed: int
    seconds: float = 0.0  # without jobs: how long the flows run
    changes: Sequence[Change] = ()  # of the link, while it runs


@dataclass
class JobTrace:
    """What one job did: a value per iteration."""

    iteration_ms: list[float]
    compute_ms: list[float]
    comm_ms: list[float]
    retransmits: int
    sent_bytes: int
    samples: Samples


@dataclass
class FlowTrace:
    """What ordinary traffic achieved."""

    completion_ms: list[float]
    samples: Samples
    retransmits: int


@dataclass
class RunResult:
    """Everything measured in one run."""

    jobs: dict[str, JobTrace] = field(default_factory=dict)
    flows: dict[str, FlowTrace] = field(default_factory=dict)
    counters: LinkCounters = field(default_factory=lambda: LinkCounters(0, 0, 0))
    softnet_drops: int = 0
    frozen_s: float = 0.0
    seconds: float = 0.0
    start_ns: int = 0


class Runner:
    """One run on a cluster: whose jobs are there, and their processes."""

    def __init__(
        self, cluster: Cluster, topology: Topology, plan: Plan, timeout_s: float, transport: str
    ) -> None:
        self.cluster = cluster
        self.topology = topology
        self.plan = plan
        self.timeout_s = timeout_s
        self.transport = transport
        # by mark: the cgroup of an announced job's sending host, and options for mlcc-burst
        self.announced: dict[int, tuple[Path, list[str]]] = {}
        self.receivers: dict[str, Burst] = {}
        self.senders: dict[str, list[Burst]] = {}
        self.leads: list[Burst] = []
        self.start_ns = 0
        self.frozen_s = 0.0
        self.changes = list(plan.changes)

    def run(self, carrier: Carrier | None, tick: Tick) -> RunResult:
        """Run the plan; tick is told the fraction that is done."""
        with ExitStack() as self.stack:
            if self.transport == "verbs":
                self._assign_devices()
            if is_mlcc(self.plan.cc) and self.transport not in netplugin.PLUGINS:
                self._load_carrier(carrier)
            folder = tempfile.TemporaryDirectory(prefix="mlcc-lab-")
            self.folder = Path(self.stack.enter_context(folder))
            return self._measure(tick)

    def _load_carrier(self, brought: Carrier | None) -> None:
        plan, stack = self.plan, self.stack
        if brought is None:
            raise LabError(f"{plan.cc}: no carrier")
        carrier = stack.enter_context(brought.profiled(profile_of(plan.cc)))
        exact = announced(plan.cc, plan.jobs)
        classed = [flow for flow in plan.flows if is_job(plan.cc, flow)]
        prioritised = classed if self.topology.link.queue == "prio" else []
        if exact or prioritised:
            daemon = stack.enter_context(Daemon(carrier.mlccd))
            self._announce(daemon, exact)
            self._prioritise(daemon, prioritised)
        for job in plan.jobs:
            for worker in self.cluster.workers[job.name]:
                if worker.mark not in self.announced:
                    carrier.set_job(worker.mark, job.profile)
            if is_led(plan.cc):
                lead.set_job(carrier, job, self.cluster.workers[job.name])
        for flow in classed:
            mark = self.cluster.traffic[flow.name].mark
            if mark not in self.announced:
                carrier.set_job(mark, "", flow.job_class)

    def _assign_devices(self) -> None:
        """QPs are flows of jobs under mlcc only; else they are plain DCQCN."""
        for job in self.plan.jobs:
            workers = self.cluster.workers[job.name]
            for worker in workers:
                number = lead.number(workers) if is_led(self.plan.cc) else worker.mark
                if worker.host.device:
                    worker.host.device.belongs_to(number if is_mlcc(self.plan.cc) else 0)

    def _prioritise(self, daemon: Daemon, flows: Sequence[Flow]) -> None:
        """Where the switch has priorities, the tagger gives a class its DSCP."""
        for flow in flows:
            mark = self.cluster.traffic[flow.name].mark
            said = {"class": flow.job_class, "priority_classes": 2}
            self.announced[mark] = (daemon.set_job(mark, flow.name, "", said), [])

    def _announce(self, daemon: Daemon, jobs: Sequence[Job]) -> None:
        for job in jobs:
            for worker in self.cluster.workers[job.name]:
                cgroup = daemon.set_job(worker.mark, job.name, job.profile)
                options = ["--hint", str(daemon.socket), "--hint-job", str(worker.mark)]
                options += ["--claim", f"{job.claim:g}"]
                if job.restart_ms:
                    options += ["--restart-ms", f"{job.restart_ms:g}"]
                self.announced[worker.mark] = (cgroup, options)

    def _measure(self, tick: Tick) -> RunResult:
        """Start everything, wait for the last job, stop everything."""
        plan, topology = self.plan, self.topology
        topology.change(topology.link)
        self._start_leads()
        self._start_receivers()
        self._start_senders()
        before, drops = topology.counters(), machine.softnet_drops()
        self._watch(tick)
        counters = topology.counters().since(before)
        seconds = (time.monotonic_ns() - self.start_ns) / 1e9
        self._stop()
        result = RunResult(counters=counters, seconds=seconds, start_ns=self.start_ns)
        result.frozen_s = self.frozen_s
        result.softnet_drops = machine.softnet_drops() - drops
        result.jobs = {job.name: self._job_trace(job) for job in plan.jobs}
        result.flows = {flow.name: self._flow_trace(flow) for flow in plan.flows}
        return result

    def _options(self, cc: str) -> list[str]:
        if self.transport != "tcp":
            return self._timeout()
        # Receivers use it too: with ECN both ends have to agree.
        return [*_cc(cc), *self._timeout()]

    def _timeout(self) -> list[str]:
        return ["--timeout-s", f"{self.timeout_s:g}"]

    def _start(self, command: Command) -> Burst:
        cgroup, more = self._identity(command)
        arguments = [*command.arguments, *more]
        driver = self.topology.driver
        device = driver.in_namespace(command.namespace) if driver else ""
        environment = netplugin.environment(self.transport, self.plan.cc, device)
        # without a bottleneck its CPU is the receivers'
        topology = self.topology
        receives = not topology.link.shaped and command.namespace == topology.right
        cpus = machine.on_network_cpu() if receives else []
        burst = Burst(
            command.name,
            command.namespace,
            arguments,
            self.folder,
            cgroup,
            BINARIES[self.transport],
            environment,
            cpus,
        )
        self.stack.callback(burst.kill)
        return burst

    def _identity(self, command: Command) -> tuple[Path | None, list[str]]:
        """How a job's process is known as such: by the cgroup it runs in, or by its mark."""
        announced = self.announced.get(command.mark)
        if announced:
            return announced
        if not command.mark or self.transport != "tcp":
            return None, []
        return None, ["--mark", str(command.mark), *_cc(self.plan.cc)]

    def _start_leads(self) -> None:
        for job in self.plan.jobs if is_led(self.plan.cc) else ():
            for command in lead.commands(job, self.cluster.workers[job.name]):
                namespace, words = command.namespace, command.arguments
                burst = Burst(command.name, namespace, words, self.folder, binary=lead.TOOL)
                self.stack.callback(burst.kill)
                self.leads.append(burst)

    def _start_receivers(self) -> None:
        sample = ["--sample-ms", str(SAMPLE_MS)]
        for job in self.plan.jobs:
            options = [*self._options(self.plan.cc), *sample]
            for command in self.cluster.job_receivers(job, options):
                self.receivers[job.name] = self._start(command)
        for flow in self.plan.flows:
            command = self.cluster.flow_receiver(flow, [*self._options(flow.cc), *sample])
            self.receivers[flow.name] = self._start(command)

    def _start_senders(self) -> None:
        plan, sample = self.plan, ["--sample-ms", str(SAMPLE_MS)]
        count = sum(len(self.cluster.workers[job.name]) for job in plan.jobs) + len(plan.flows)
        lead = (LEAD_S + LEAD_PER_PROCESS_S * count) * shell.SLOW
        self.start_ns = time.monotonic_ns() + int(lead * 1e9)
        at = ["--at", str(self.start_ns)]
        for job in plan.jobs:
            options = [*self._timeout(), *at]
            commands = self.cluster.job_senders(job, plan.seed, options, sample)
            self.senders[job.name] = [self._start(command) for command in commands]
        for flow in plan.flows:
            options = [*self._options(flow.cc), *at]
            command = self.cluster.flow_sender(flow, options, is_job(plan.cc, flow))
            self.senders[flow.name] = [self._start(command)]

    def _everything(self) -> list[Burst]:
        senders = [burst for bursts in self.senders.values() for burst in bursts]
        return [*senders, *self.receivers.values(), *self.leads]

    def _progress(self) -> float:
        """Fraction done by the slowest worker of the slowest job."""
        plan = self.plan
        if not plan.jobs:
            return (time.monotonic_ns() - self.start_ns) / 1e9 / plan.seconds
        done = [len(b.of_kind("iteration")) for job in plan.jobs for b in self.senders[job.name]]
        return min(done) / plan.iterations

    def _watch(self, tick: Tick) -> None:
        """Until the slowest is through: the fast ones keep competing."""
        while (progress := self._progress()) < 1.0:
            tick(max(0.0, progress))
            self._pause()
            self._change_link()
            # one that dies takes others with it: the cause is among what they all say
            complaints = [said for burst in self._everything() if (said := burst.poll())]
            if complaints:
                raise LabError("; ".join(complaints))
        tick(1.0)

    def _pause(self) -> None:
        """Until the next poll, or until the link is to change."""
        before = time.monotonic()
        due = [self._due_s(change) - before for change in self.changes[:1]]
        pause = max(0.0, min([POLL_S, *due]))
        time.sleep(pause)
        late = time.monotonic() - before - pause
        if late > FROZEN_S:
            self.frozen_s += late

    def _due_s(self, change: Change) -> float:
        return self.start_ns / 1e9 + change.at_ms / 1e3

    def _change_link(self) -> None:
        """What is due by now."""
        topology = self.topology
        while self.changes and self._due_s(self.changes[0]) <= time.monotonic():
            topology.change(topology.now.after(self.changes.pop(0)))

    def _stop(self) -> None:
        senders = [burst for bursts in self.senders.values() for burst in bursts]
        for group in (senders, list(self.receivers.values()), self.leads):
            for burst in group:
                burst.stop()
            for burst in group:
                burst.finish()

    def _job_trace(self, job: Job) -> JobTrace:
        bursts = self.senders[job.name]
        n = self.plan.iterations
        workers = [burst.of_kind("iteration")[:n] for burst in bursts]
        sampled = [self.receivers[job.name]] if job.name in self.receivers else bursts
        return JobTrace(
            iteration_ms=step_times(workers),
            compute_ms=slowest(workers, "compute_ms"),
            comm_ms=slowest(workers, "comm_ms"),
            retransmits=sum(burst.totals.get("retransmits", 0) for burst in bursts),
            sent_bytes=sum(burst.totals.get("bytes", 0) for burst in bursts),
            samples=_samples(sampled),
        )

    def _flow_trace(self, flow: Flow) -> FlowTrace:
        sender = self.senders[flow.name][0]
        return FlowTrace(
            completion_ms=[record["completion_ms"] for record in sender.of_kind("request")],
            samples=_samples([self.receivers[flow.name]]),
            retransmits=sender.totals.get("retransmits", 0),
        )


def announced(cc: str, jobs: Sequence[Job]) -> list[Job]:
    """The jobs that an mlccd is told of, with their phases."""
    if not is_mlcc(cc) or profile_of(cc) == NEUTRAL:
        return []
    return [job for job in jobs if job.hint == "exact" or is_announced(cc)]


def is_job(cc: str, flow: Flow) -> bool:
    """Whether ordinary traffic is a job's: it has a class, and a carrier knows of it."""
    return bool(flow.job_class) and is_mlcc(cc) and profile_of(cc) != NEUTRAL


def _cc(cc: str) -> list[str]:
    """The kernel knows no profiles: they are the carrier's."""
    return ["--cc", "mlcc" if is_mlcc(cc) else cc]


def slowest(workers: list[list[Record]], key: str) -> list[float]:
    """Of each step, the last worker's."""
    return [max(record[key] for record in step) for step in zip(*workers, strict=True)]


def step_times(workers: list[list[Record]]) -> list[float]:
    """From the end of the last worker's step to the end of the last one's next."""
    steps = []
    begun = min(records[0]["start_ns"] for records in workers)
    for step in zip(*workers, strict=True):
        ended = max(record["start_ns"] + record["iteration_ms"] * 1e6 for record in step)
        steps.append(round((ended - begun) / 1e6, 3))
        begun = ended
    return steps


def _samples(bursts: list[Burst]) -> Samples:
    """Received bytes over time, of all receivers of a job together."""
    series = [burst.of_kind("sample_ns") for burst in bursts]
    rows = zip(*series, strict=False)
    return [(row[0]["sample_ns"], sum(record["received_bytes"] for record in row)) for row in rows]


def mean_mbps(samples: Samples, start_ns: int) -> float:
    """Throughput after the first quarter of the time since start_ns."""
    if len(samples) < 2:
        return 0.0
    last_ns, last_bytes = samples[-1]
    since = start_ns + (last_ns - start_ns) // 4
    first_ns, first_bytes = next(s for s in samples if s[0] >= since)
    if last_ns == first_ns:
        return 0.0
    return (last_bytes - first_bytes) * 8e3 / (last_ns - first_ns)


def utilisation(result: RunResult, link: Link) -> float | None:
    """Share of the bottleneck's capacity that was used."""
    if not link.shaped:
        return None
    return result.counters.bytes * 8 / link.capacity_bits(result.seconds)


def expected_seconds(plan: Plan, link: Link) -> float:
    """A guess for the progress bar."""
    if not plan.jobs:
        return plan.seconds + LEAD_S
    busy = sum(job.wire_ms(link.rate, link.mtu) for job in plan.jobs)
    slowest = max(max(job.period_ms(link.rate, link.mtu), busy) for job in plan.jobs)
    return plan.iterations * slowest / 1e3 + 2 * LEAD_S
