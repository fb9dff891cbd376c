# SPDX-License-Identifier: GPL-2.0
"""The lab's report of real jobs, with what only they have: losses, connections, stolen time."""

from collections.abc import Sequence
from typing import Any

from mlcclab import report, table

from .experiment import Measurement
from .session import RealRun, Trace

Json = dict[str, Any]


def losses(ranks: Sequence[Trace]) -> list[list[str]]:
    """Of each rank, to the last bit."""
    return [[record["loss"] for record in trace] for trace in ranks]


def same_losses(measurement: Measurement) -> bool:
    """Whether every run of a job, alone or not, computed the same, as far as both went."""
    runs = [run for runs in measurement.runs.values() for run in runs]
    for name, alone in measurement.alone.items():
        together = [losses(run.ranks[name]) for run in runs]
        if any(run != together[0] for run in together):
            return False
        for one, other in zip(losses(alone.ranks[name]), together[0], strict=True):
            both = min(len(one), len(other))
            if one[:both] != other[:both]:
                return False
    return True


def document(measurement: Measurement) -> Json:
    """The whole report."""
    found = report.document(measurement.of_lab())
    for result in found["results"]:
        del result["shares"]  # nobody samples what ranks receive, or counts what they send again
        for job in (job for each in (result, *result.get("repeats", ())) for job in each["jobs"]):
            del job["retransmits"], job["sent_mb"]
        result["runs"] = [_of_run(run) for run in measurement.runs[result["cc"]]]
    first = next(iter(measurement.runs.values()))[0]
    return {
        **found,
        "same_losses": same_losses(measurement),
        "losses": {
            name: [float.fromhex(x) for x in losses(ranks)[0]]
            for name, ranks in first.ranks.items()
        },
        "alone": {name: _of_run(run) for name, run in measurement.alone.items()},
    }


def _of_run(run: RealRun) -> Json:
    return {"connections": run.in_use, "hints": run.hints, "stolen": round(run.stolen, 4)}


def text(found: Json) -> str:
    """For eyes: the lab's table, and what to make of it."""
    same = "the same in every run" if found["same_losses"] else "THEY DIFFER"
    return "\n".join(
        [
            *table.lines(found),
            f"losses: {same}; computing is padded to a fixed time, so that jobs do not compete for "
            "this machine's processors",
            _stolen(found),
            _sentence(found),
        ]
    )


def _stolen(found: Json) -> str:
    """What a hypervisor took while each run lasted: its times are not only the network's."""
    runs = {"alone": found["alone"].values()}
    runs |= {result["cc"]: result["runs"] for result in found["results"]}
    parts = [" ".join([cc, *(f"{run['stolen']:.1%}" for run in each)]) for cc, each in runs.items()]
    return f"time stolen from this machine, of a processor's: {', '.join(parts)}"


def _sentence(found: Json) -> str:
    """The result in plain words, whatever it is; of several runs each one's."""
    parts = []
    for result in found["results"]:
        each = [f"{run['slowdown_mean'] - 1:.1%}" for run in result.get("repeats", ())]
        listed = f" ({', '.join(each)})" if each else ""
        parts.append(f"{result['slowdown_mean'] - 1:.1%} under {result['cc']}{listed}")
    return f"Sharing one link made an iteration longer by {', '.join(parts)}."
