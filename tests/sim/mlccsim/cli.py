# SPDX-License-Identifier: GPL-2.0
"""The command line."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from mlcclab import program
from mlcclab.errors import UsageError
from mlcclab.options import Parser, seeds, whole

from . import cluster, engine, report
from .cluster import SCENARIOS, Cluster, load, shipped
from .scenario import CCS, Scenario, racks

EVERY_CC = sorted({cc for ccs in CCS.values() for cc in ccs})

EPILOG = """\
examples:
  tests/sim/run list
      the shipped scenarios
  tests/sim/run pair-2x48
      two jobs on one link, under plain DCQCN and under mlcc's default profile
  tests/sim/run pair-3x32 --cc dcqcn,hotnets22,interleave --seeds 1-5 --json out.json
      means with 95 % intervals over five seeds, which all of them share
  tests/sim/run tcp-cross --load 0,0.2,0.4,0.6,0.8 --json sweep.json
      a table for each load of the cross traffic; tests/sim/fit makes a curve of that
  tests/sim/run ./mine.toml --iterations 60

A scenario is a TOML file: copy one of tests/sim/scenarios, which say what each line means. What is
left out has a default; what is wrong is refused with what would be right.

cc is plain dcqcn for RDMA, and cubic, reno or dctcp for TCP; or a profile of mlcc over those:
interleave (its default), hotnets22, which is R_AI (1 + p), mltcp. tmdml is dcqcn with receivers
that spare flows behind the others of their job; interleave+tmdml has them, too. Under
interleave+led a job's hosts go by the progress of all, which they tell a leader each millisecond.
Without --cc: dcqcn or cubic, and interleave.

slowdown is a job's mean iteration time over that of the same job alone in the network under dcqcn,
or cubic; the first quarter of the iterations is left out. Runs with the same seed have the same
noise, places and paths: so what a cc is worth against the first one is also told seed by seed.

A scenario with [cluster] draws its jobs with the seed. There slowdown is over an ideal without any
shared link, as published for such clusters, and over alone what slowdown is elsewhere, each job
counted once when it is done. 99th percentiles are over all jobs of all seeds, intervals over the
means of the seeds.

Background flows run plain DCQCN, or CUBIC, whatever the jobs run. Of those that come between 25 and
90 % of the time there is p50 and p99, by size, of what they took over what they would take alone
(their bytes at the slowest link's rate, and a round trip): means over the seeds, with intervals.

exit status: 0 done, 1 failed, 2 wrong usage or scenario, 4 mlcc-sim is not built
"""


def cc_list(text: str) -> list[str]:
    """Names with commas between them."""
    names = text.split(",")
    for name in names:
        if name not in EVERY_CC:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(EVERY_CC)}")
    return list(dict.fromkeys(names))


def loads(text: str) -> list[float]:
    """Parts of a link, with commas between them, that rise."""
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = [-1.0]
    if found != sorted(set(found)) or not 0 <= found[0] <= found[-1] <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not rising numbers from 0 to 1, like 0,0.5")
    return found


def parser() -> argparse.ArgumentParser:
    """All options."""
    words = Parser(
        prog="tests/sim/run",
        description="Simulate training jobs on a GPU cluster, packet by packet, with ns-3.",
        epilog=EPILOG,
    )
    words.add_argument("scenario", help="a shipped one's name, or a file; list: which there are")
    words.add_argument("--cc", type=cc_list, metavar="LIST")
    words.add_argument("--seeds", type=seeds, default=range(1, 4), metavar="FIRST-LAST", help="1-3")
    words.add_argument(
        "--load", type=loads, metavar="LIST", help="of background flows, one after the other"
    )
    words.add_argument("--iterations", type=whole(4, 100000), metavar="N")
    words.add_argument(
        "-j", "--json", type=Path, metavar="FILE", help="results, too; -: instead of the table"
    )
    return words


def find(name: str) -> Scenario | Cluster:
    """A shipped scenario, or a file."""
    return load(Path(name) if name.endswith(".toml") else shipped(name))


def show() -> None:
    """The shipped scenarios."""
    for path in sorted(SCENARIOS.glob("*.toml")):
        scenario = load(path)
        hosts = racks(scenario.frame if isinstance(scenario, Cluster) else scenario)[0]
        print(f"{scenario.name:<16} {hosts:>5} hosts  {scenario.about}")


def _names(scenario: Scenario, options: argparse.Namespace) -> list[str]:
    names = options.cc or [scenario.ccs[0], scenario.ccs[-1]]
    for cc in names:
        if cc not in scenario.ccs:
            raise UsageError(
                f"--cc: {cc} is none for {scenario.transport}: {', '.join(scenario.ccs)}"
            )
    return list(names)


def measure(
    scenario: Scenario, options: argparse.Namespace, base: str | None = None
) -> report.Json:
    """All runs of a scenario; base: under which jobs run alone."""
    if options.iterations:
        scenario = scenario.with_iterations(options.iterations)
    base, names = base or scenario.ccs[0], _names(scenario, options)
    runs = [engine.Run(cc, seed) for seed in options.seeds for cc in names]
    alone = report.alone_runs(scenario, base, options.seeds)
    if options.load is not None and not scenario.has_background:
        raise UsageError(f"{scenario.name} has no background flows for --load")
    if options.load is None:
        results = engine.simulate_all(scenario, runs + alone)
        return report.build(scenario, base, names, options.seeds, results)
    known = engine.simulate_all(scenario, alone)
    sweep = []
    for part in options.load:
        loaded = scenario.with_load(part)
        results = known | engine.simulate_all(loaded, runs)
        sweep.append({"load": part} | report.build(loaded, base, names, options.seeds, results))
    return {"scenario": scenario.name, "line_gbps": scenario.line_bps / 1e9, "sweep": sweep}


def _shown(found: report.Json) -> list[str]:
    """The table, or one for each load."""
    if "sweep" not in found:
        return report.lines(found)
    return [
        line
        for part in found["sweep"]
        for line in [f"load {part['load']:g}", *report.lines(part), ""]
    ]


def measure_cluster(found: Cluster, options: argparse.Namespace) -> report.Json:
    """The same of a cluster, whose jobs are others for each seed."""
    if options.iterations:
        raise UsageError("--iterations: a cluster's jobs run until its stop")
    if options.load is not None:
        raise UsageError(f"{found.name} has no background flows for --load")
    base, names = found.frame.ccs[0], _names(found.frame, options)
    shots = {seed: cluster.snapshot(found, seed) for seed in options.seeds}
    results: report.Results = {}
    for seed, shot in shots.items():
        runs = [engine.Run(cc, seed) for cc in names]
        alone = [engine.Run(base, seed, job) for job in range(len(shot.scenario.jobs))]
        for scenario, due in ((shot.scenario, runs), (shot.alone, alone)):
            results |= engine.simulate_all(scenario, due)
    return cluster.build(found, base, names, shots, results)


def _command(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    if options.scenario == "list":
        show()
        return 0
    scenario = find(options.scenario)
    if isinstance(scenario, Cluster):
        found, shown = measure_cluster(scenario, options), cluster.lines
    else:
        found, shown = measure(scenario, options), _shown
    text = json.dumps(found, indent=1)
    if str(options.json) == "-":
        print(text)
        return 0
    print("\n".join(shown(found)))
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    return 0


def main(arguments: Sequence[str]) -> int:
    """Parse, run, and turn every error into one line."""
    return program.run("tests/sim/run", lambda: _command(arguments))
