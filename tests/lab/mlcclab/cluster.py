# SPDX-License-Identifier: GPL-2.0
"""Places a scenario's jobs on hosts and knows their mlcc-burst command lines."""

from dataclasses import dataclass

from . import conversation
from .scenario import Flow, Job, Scenario
from .topology import Host, Topology

FIRST_PORT = 5000


@dataclass(frozen=True)
class Worker:
    """One sending host of a job; for a pair, with the receiver that it sends to."""

    host: Host
    mark: int
    port: int
    receiver: Host | None


@dataclass(frozen=True)
class Command:
    """A process to start: its name, where, and with which arguments."""

    name: str
    namespace: str
    arguments: list[str]
    mark: int = 0


class Cluster:
    """The hosts of a scenario, made once and used by all of its runs.

    Every sending host of a job has a mark of its own: the mark stands for
    (host, job), and all hosts share one kernel here. Receivers of a pair carry
    none: on their hosts the job has no phase of its own.
    """

    def __init__(self, scenario: Scenario, topology: Topology) -> None:
        self.workers: dict[str, list[Worker]] = {}
        self.traffic: dict[str, Worker] = {}
        self._count = 0
        for job in scenario.jobs:
            self.workers[job.name] = self._place(job, topology)
        for flow in scenario.flows:
            self.traffic[flow.name] = self._worker(topology.add_host("left"), topology.receiver())
        topology.seal()

    def _place(self, job: Job, topology: Topology) -> list[Worker]:
        if job.pattern == "pair":
            return [self._worker(topology.add_host("left"), topology.receiver())]
        sides = ["left" if i % 2 == 0 else "right" for i in range(job.workers)]
        return [self._worker(topology.add_host(side), None) for side in sides]

    def _worker(self, host: Host, receiver: Host | None) -> Worker:
        self._count += 1
        return Worker(host, self._count, FIRST_PORT + self._count, receiver)

    def job_receivers(self, job: Job, common: list[str]) -> list[Command]:
        """What must listen before the job starts."""
        commands = []
        for worker in self.workers[job.name]:
            if worker.receiver:
                listen = ["recv", "--listen", _endpoint(worker.receiver, worker), "--job", job.name]
                name = f"{job.name}-recv"
                commands.append(Command(name, worker.receiver.namespace, [*listen, *common]))
        return commands

    def job_senders(
        self, job: Job, seed: int, common: list[str], sample: list[str]
    ) -> list[Command]:
        """The job itself: one process per sending host, which is yet to get its mark."""
        workers = self.workers[job.name]
        commands = []
        for index, worker in enumerate(workers):
            arguments = ["job", "--job", job.name]
            arguments += ["--seed", str(seed * 1000 + worker.mark), *_shape(job), *common]
            arguments += _peers(job, workers, index)
            if worker.receiver is None:
                arguments += sample
            name = f"{job.name}-{index}"
            commands.append(Command(name, worker.host.namespace, arguments, worker.mark))
        return commands

    def flow_receiver(self, flow: Flow, common: list[str]) -> Command:
        """The far end of ordinary traffic."""
        worker = self.traffic[flow.name]
        host = worker.receiver or worker.host
        arguments = ["recv", "--listen", _endpoint(host, worker), "--job", flow.name, *common]
        return Command(f"{flow.name}-recv", host.namespace, arguments)

    def flow_sender(self, flow: Flow, common: list[str], is_job: bool) -> Command:
        """The near end of ordinary traffic; is_job: it is yet to get its mark."""
        worker = self.traffic[flow.name]
        peer = _endpoint(worker.receiver or worker.host, worker)
        kind = "bulk" if flow.kind == "bulk" else "short"
        arguments = [kind, "--job", flow.name, "--peer", peer]
        arguments += ["--start-ms", str(flow.start_ms), *common]
        if flow.kind == "short":
            arguments += ["--bytes", str(flow.bytes), "--every-ms", str(flow.every_ms)]
        elif flow.kind == "conversation":
            for gap_ms, nbytes in conversation.requests(flow.bytes, flow.every_ms):
                arguments += ["--request", f"{gap_ms:.3f}:{nbytes}"]
        mark = worker.mark if is_job else 0
        return Command(f"{flow.name}-send", worker.host.namespace, arguments, mark)


def _endpoint(host: Host, worker: Worker) -> str:
    return f"{host.addresses[0]}:{worker.port}"


def _shape(job: Job) -> list[str]:
    """What the job does, whoever its peers are. It runs until it is stopped."""
    arguments = ["--bytes", str(job.phase_bytes), "--compute-ms", str(job.compute_ms)]
    arguments += ["--noise", str(job.noise), "--flows", str(job.flows)]
    arguments += ["--start-ms", str(job.start_ms), "--iterations", "0"]
    if job.connect_late:
        arguments += ["--connect-ms", str(job.start_ms)]
    return arguments


def _peers(job: Job, workers: list[Worker], index: int) -> list[str]:
    me = workers[index]
    if me.receiver:
        sources = me.host.addresses if len(me.host.addresses) > 1 else ()
        bound = [word for source in sources for word in ("--source", source)]
        return ["--peer", _endpoint(me.receiver, me), *bound]
    if job.pattern == "ring":
        peers = [workers[(index + 1) % len(workers)]]
    else:
        peers = [peer for peer in workers if peer is not me]
    inbound = len(peers) * job.flows
    addressed = [word for peer in peers for word in ("--peer", _endpoint(peer.host, peer))]
    lead = ["--lead", str(job.ring_lead)] if job.pattern == "ring" else []
    return ["--listen", _endpoint(me.host, me), "--inbound", str(inbound), *lead, *addressed]
