# SPDX-License-Identifier: BSD-2-Clause
"""The verb profile: its options, and the source that they name."""

import argparse

import mlcc_client

from . import (
    argument,
    capture,
    counters,
    daemon,
    delimited,
    expect,
    graph,
    inspector,
    profile,
    reader,
)
from .errors import PlanError, UsageError
from .expect import Step
from .profile import Json
from .traffic import Traffic, read_trace

BIN_S = 0.001  # resolution: twice the usual time between samples at least
SECONDS = 10

EPILOG = """\
of each job: period, duty, bytes of an iteration, whether it is periodic, and with what confidence
(0.5 is what random arrivals reach, 1 is certain); of a capture the pattern, from who sends to whom.
-j has the jobs for a problem, too: "jobs"; routes are all that is missing.

examples:
  mlcc-plan profile --pcap job.pcap --name bert
        a capture at a switch, or of all hosts (mergecap); tcpdump -s 128 is enough, 256 in tunnels
  mlcc-plan profile --pcap all.pcap
        jobs that do not send to each other are told apart
  mlcc-plan profile --pcap all.pcap --hosts bert=10.0.0.1,10.0.0.2 --hosts vgg=10.0.0.3,10.0.0.4
        these jobs
  mlcc-plan profile --interface eth0 --seconds 30
        this host while its job runs; mlx5_0 or mlx5_0/1 for the port of an RDMA device
  mlcc-plan profile --pcap job.pcap --model-bytes 97.5e6 --workers 4 --algorithm ring
        and whether an iteration sends what it should
  mlcc-plan profile --inspector nccl-inspector-7/host-pid4711.log --name bert
        what NCCL's Inspector has logged of a process, and how much longer collectives took than
        they can; its NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS should be 1000 at most
  mlcc-plan -j profile --mlccd
        jobs that mlccd has seen whole iterations of
"""


def add_options(verb: argparse.ArgumentParser) -> None:
    """Those of the verb."""
    verb.epilog = EPILOG
    verb.formatter_class = argparse.RawDescriptionHelpFormatter
    source = verb.add_mutually_exclusive_group(required=True)
    source.add_argument("--inspector", metavar="FILE", help="a log of NCCL's Inspector")
    source.add_argument("--interface", metavar="DEV", help="watch its byte counters now")
    source.add_argument("--pcap", metavar="FILE", help="a capture, pcap or pcapng")
    source.add_argument("--mlccd", action="store_true", help="ask mlccd for its jobs")
    source.add_argument("--trace", metavar="CSV", help='lines "seconds,bytes" of one job alone')
    add = verb.add_argument
    add("--seconds", type=argument.whole(1, 3600), metavar="N", help="to watch (default 10)")
    add(
        "--hosts",
        type=argument.hosts,
        action="append",
        default=[],
        metavar="[NAME=]ADDRESS,...",
        help="of a job in the capture; may be given again (default: those that send to each other)",
    )
    add("--name", default="job", help="of the job; several are NAME-1, NAME-2...")
    add("--socket", default=mlcc_client.SOCKET, metavar="PATH", help="mlccd's")
    add("--model-bytes", type=argument.nbytes, metavar="M", help="of the gradients: predict bytes")
    add("--workers", type=argument.whole(2, 10**6), metavar="N", help="that train the model")
    add(
        "--algorithm",
        choices=expect.ALGORITHMS,
        metavar="NAME",
        help=f"by which they share gradients: {', '.join(expect.ALGORITHMS)} (default ring)",
    )


def profiles(arguments: argparse.Namespace) -> Json:
    """What the source shows of its jobs."""
    step = _step(arguments)
    _refuse_unused(arguments)
    found = _found(arguments, step)
    if not found["profiles"]:
        raise PlanError("no job has statistics of whole iterations yet")
    return found


def _step(arguments: argparse.Namespace) -> Step | None:
    if arguments.model_bytes is None and arguments.workers is None and arguments.algorithm is None:
        return None
    if arguments.model_bytes is None or arguments.workers is None:
        raise UsageError("bytes are predicted from both --model-bytes and --workers")
    return Step(arguments.algorithm or "ring", arguments.model_bytes, arguments.workers)


def _refuse_unused(arguments: argparse.Namespace) -> None:
    if arguments.seconds and not arguments.interface:
        raise UsageError("--seconds is only for --interface")
    if arguments.hosts and not arguments.pcap:
        raise UsageError("--hosts is only for --pcap")
    for option, name in (("--name", arguments.name), *(("--hosts", n) for n, _ in arguments.hosts)):
        if name and not reader.NAME.fullmatch(name):
            raise UsageError(f"{option}: {reader.quoted(name)} is not a name")


def _found(arguments: argparse.Namespace, step: Step | None) -> Json:
    if arguments.mlccd:
        with daemon.connected(arguments.socket) as mlccd:
            return delimited.from_mlccd(list(mlccd.jobs()), step)
    whole: Json = {"jobs": [], "profiles": []}
    for name, traffic in _named(arguments):
        for key, jobs in profile.of_job(name, traffic, BIN_S, step).items():
            whole[key] += jobs
    return whole


def _named(arguments: argparse.Namespace) -> list[tuple[str, Traffic]]:
    """The traffic of each job, by its name."""
    if arguments.inspector:
        return [(arguments.name, inspector.read(arguments.inspector))]
    if arguments.trace:
        return [(arguments.name, read_trace(arguments.trace))]
    if device := arguments.interface:
        read, seconds = counters.reader(device), arguments.seconds or SECONDS
        return [(arguments.name, counters.watch(device, read, seconds, BIN_S))]
    traffic = capture.read(arguments.pcap)
    if not traffic.flows:
        if arguments.hosts:
            raise PlanError(f"{arguments.pcap}: no frames with IP addresses, which --hosts wants")
        return [(arguments.name, traffic)]
    jobs = [graph.among(traffic, hosts) for _, hosts in arguments.hosts] or graph.split(traffic)
    names = [name for name, _ in arguments.hosts] or [""] * len(jobs)
    numbered = [
        name or (f"{arguments.name}-{number}" if len(jobs) > 1 else arguments.name)
        for number, name in enumerate(names, 1)
    ]
    reader.unique("--hosts", numbered)
    return list(zip(numbered, jobs, strict=True))
