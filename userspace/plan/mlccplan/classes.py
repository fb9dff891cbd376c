# SPDX-License-Identifier: BSD-2-Clause
"""Priority classes: jobs that share a link get different ones, as far as there are enough.

A graph's nodes are the jobs; an edge says that two share a link, and weighs the sum over these
links of the product of their mean loads, the part of the time in which both want it by chance.
DSATUR (Brelaz, 1979) colours it; no colouring has fewer colours than a link has jobs. Where more
colours come out than there are classes, what is wanted is the K-cut of the largest weight: greedy,
then each job moves where it shares its class with the least, until none wants to.

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
    colours = _coloured(graph)
    needed = len(set(colours.values()))
    crowd = max((len(link.jobs) for link in layout.links.values()), default=1)
    if needed > count:
        colours = _cut(graph, count)
    order = _ordered(layout, colours, min(count, needed))
    clashes = [
        (weight, one, other)
        for one, others in graph.items()
        for other, weight in others.items()
        if one < other and colours[one] == colours[other]
    ]
    names = [job.name for job in layout.problem.jobs]
    return {
        "classes": count,
        "needed": needed,
        "at_least": crowd,
        "distinct": not clashes,
        # whether all could differ; None: not known, as a colouring with fewer colours may exist
        "possible": True if not clashes else False if crowd > count else None,
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


def _coloured(graph: Graph) -> dict[int, int]:
    """DSATUR: next is whose neighbours have the most colours, of these who has most neighbours."""
    colours: dict[int, int] = {}
    seen: dict[int, set[int]] = {job: set() for job in graph}
    left = set(graph)
    while left:
        job = max(left, key=lambda one: (len(seen[one]), len(graph[one]), -one))
        left.discard(job)
        colours[job] = next(c for c in range(len(graph)) if c not in seen[job])
        for other in graph[job]:
            seen[other].add(colours[job])
    return colours


def _cut(graph: Graph, count: int) -> dict[int, int]:
    """A K-cut: the heaviest job first, each where it clashes least; then descent."""
    weights = {job: sum(others.values()) for job, others in graph.items()}
    order = sorted(graph, key=lambda job: (-weights[job], job))
    colours: dict[int, int] = {}
    moved = True
    while moved:
        moved = False
        for job in order:
            best = _least(graph[job], colours, count, colours.get(job))
            moved = moved or best != colours.get(job)
            colours[job] = best
    return colours


def _least(
    others: Mapping[int, float], colours: Mapping[int, int], count: int, now: int | None
) -> int:
    clash: dict[int, float] = defaultdict(float)
    for other, weight in others.items():
        if other in colours:
            clash[colours[other]] += weight
    best = min(range(count), key=lambda colour: (clash[colour], colour))
    return best if now is None or clash[best] < clash[now] - 1e-12 else now


def _ordered(layout: Layout, colours: Mapping[int, int], used: int) -> dict[int, int]:
    """The class of each colour, long phases lowest."""
    phases: dict[int, list[int]] = defaultdict(list)
    for job, colour in colours.items():
        phases[colour].append(sum(arc.length_us for arc in layout.problem.jobs[job].arcs))
    longest_first: Sequence[int] = sorted(
        phases, key=lambda colour: (-fmean(phases[colour]), colour)
    )
    assert len(longest_first) <= used
    return {colour: index for index, colour in enumerate(longest_first)}


def text(result: Json) -> str:
    """A line for each job, and what could not be kept apart."""
    lines = [f"{'JOB':<24}  CLASS  DSCP  TRAFFIC CLASS"]
    lines += [
        f"{job['name']:<24}  {job['class']:5}  {job['dscp']:4}  {job['traffic_class']:13}"
        for job in result["jobs"]
    ]
    if result["distinct"]:
        lines.append(f"\njobs that share a link differ, with {result['needed']} classes")
    else:
        lines.append(
            f"\n{len(result['clashes'])} pairs that share a link share a class, too: "
            f"{result['classes']} classes are too few, {result['at_least']} would be the least"
        )
    return "\n".join(lines)
