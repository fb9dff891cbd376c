# SPDX-License-Identifier: BSD-2-Clause
"""Priority classes: jobs that share a link get different ones, as far as there are enough.

A graph's nodes are the jobs; an edge says that two share a link, and weighs the sum over these
links of the product of their mean loads, the part of the time in which both want it by chance.
DSATUR (Brelaz, 1979) colours it with K colours; a job that none is left for takes the one that it
shares with the least. Then each job moves where it shares less, until none wants to.

Colours have no order, but classes have. The jobs of a class with short phases go first: whoever
waits for them waits for the least time.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from .layout import Layout
from .report import Json

CLASSES_MAX = 8  # as mlccd's, and as most switches have queues
# RFC 2474's class selectors: DSCP 8 * class; RDMA's traffic class has two more bits
DSCP_PER_CLASS = 8

Graph = Mapping[int, Mapping[int, float]]


def assign(layout: Layout, count: int) -> Json:
    """The class of each job; 0 is the lowest."""
    graph = _graph(layout)
    colours = _coloured(graph, count)
    order = _ordered(layout, colours)
    clashes = [
        (weight, one, other)
        for one, others in graph.items()
        for other, weight in others.items()
        if one < other and colours[one] == colours[other]
    ]
    names = [job.name for job in layout.problem.jobs]
    return {
        "classes": count,
        "at_least": max((len(link.jobs) for link in layout.links.values()), default=1),
        "distinct": not clashes,
        "shared_load": round(sum(weight for weight, _, _ in clashes), 9),
        "jobs": [
            {
                "name": name,
                "class": order[colours[job]],
                "dscp": order[colours[job]] * DSCP_PER_CLASS,
                "traffic_class": order[colours[job]] * DSCP_PER_CLASS << 2,
            }
            for job, name in enumerate(names)
        ],
        "clashes": [
            {"jobs": [names[one], names[other]], "shared_load": round(weight, 9)}
            for weight, one, other in sorted(clashes, key=lambda clash: (-clash[0], clash[1:]))
        ],
    }


def _graph(layout: Layout) -> dict[int, dict[int, float]]:
    graph: dict[int, dict[int, float]] = {job: {} for job in range(len(layout.problem.jobs))}
    for link in layout.links.values():
        loads = {demand.job: demand.mean / link.capacity for demand in link.demands}
        for one in link.jobs:
            for other in link.jobs:
                if one != other:
                    graph[one][other] = graph[one].get(other, 0.0) + loads[one] * loads[other]
    return graph


def _coloured(graph: Graph, count: int) -> dict[int, int]:
    """Next is whose neighbours have the most colours, of these the heaviest; then descent."""
    colours: dict[int, int] = {}
    seen: dict[int, set[int]] = {job: set() for job in graph}
    weights = {job: sum(others.values()) for job, others in graph.items()}
    left = set(graph)
    while left:
        job = max(left, key=lambda one: (len(seen[one]), weights[one], -one))
        left.discard(job)
        colours[job] = _least(graph[job], colours, count)
        for other in graph[job]:
            seen[other].add(colours[job])
    moved = True
    while moved:
        moved = False
        for job, others in graph.items():
            now, colours[job] = colours[job], _least(others, colours, count, colours[job])
            moved = moved or now != colours[job]
    return colours


def _least(
    others: Mapping[int, float], colours: Mapping[int, int], count: int, now: int | None = None
) -> int:
    """The colour shared with the least, which is now's if that is as good."""
    clash: dict[int, float] = defaultdict(float)
    for other, weight in others.items():
        if other in colours:
            clash[colours[other]] += weight
    best = min(range(count), key=lambda colour: (clash[colour], colour))
    return best if now is None or clash[best] < clash[now] - 1e-12 else now


def _ordered(layout: Layout, colours: Mapping[int, int]) -> dict[int, int]:
    """The class of each colour, long phases lowest."""
    phases: dict[int, list[int]] = defaultdict(list)
    for job, colour in colours.items():
        phases[colour].append(sum(arc.length_us for arc in layout.problem.jobs[job].arcs))
    longest_first: Sequence[int] = sorted(
        phases, key=lambda colour: (-fmean(phases[colour]), colour)
    )
    return {colour: index for index, colour in enumerate(longest_first)}


def text(result: Json) -> str:
    """A line for each job, and what could not be kept apart."""
    lines = [f"{'JOB':<24}  CLASS  DSCP  TRAFFIC CLASS"]
    lines += [
        f"{job['name']:<24}  {job['class']:5}  {job['dscp']:4}  {job['traffic_class']:13}"
        for job in result["jobs"]
    ]
    if result["distinct"]:
        lines.append("\njobs that share a link differ")
    else:
        lines.append(
            f"\n{len(result['clashes'])} pairs that share a link share a class, too: "
            f"{result['classes']} classes are too few, {result['at_least']} would be the least"
        )
    return "\n".join(lines)
