# SPDX-License-Identifier: GPL-2.0
"""What the verbs of the command line do."""

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import (
    carrier,
    comparison,
    experiment,
    features,
    machine,
    report,
    scenario,
    table,
    topology,
    vm,
)
from .errors import EXIT_OK, LabError, UsageError
from .options import LINK_OPTIONS, overrides, settled_seeds
from .scenario import Scenario
from .schedule import Request

Json = dict[str, Any]


def show(_: argparse.Namespace) -> int:
    """The shipped scenarios."""
    rows = [["name", "kind", "jobs", "flows", "load", "needs", "about"]]
    for path in sorted(scenario.SHIPPED.glob("*.toml")):
        rows.append(_list_row(scenario.load(path)))
    print("\n".join(table.align(rows, 7)))
    return EXIT_OK


def _list_row(item: Scenario) -> list[str]:
    needs = ",".join(item.needs) or "-"
    counts = [str(len(item.jobs)), str(len(item.flows))]
    load = "-" if item.load is None else f"{item.load:.0%}"
    return [item.name, item.kind, *counts, load, needs, item.about]


def run(options: argparse.Namespace) -> int:
    """One scenario under some congestion controls."""
    options.seeds = settled_seeds(options)
    loaded = scenario.load(scenario.find(options.scenario), overrides(options))
    check_writable(options.json, options.plot)
    if options.vm:
        return _run_in_vm(options)
    with reserved():
        request = _request(options, loaded, isolated_cc=not options.quick)
        measurement = experiment.measure(request, options.cc, options.carrier)
    document = report.document(measurement)
    write(document, options.json)
    if options.plot:
        _draw(document, options.plot)
    print(table.text(document))
    return EXIT_OK


@contextmanager
def reserved() -> Iterator[None]:
    """The machine is ours, and as it has to be."""
    features.check_machine()
    with machine.reserved():
        topology.remove_stale()
        yield


def write(document: Json, path: Path | None) -> None:
    """As JSON, if that is asked for."""
    if path:
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _draw(document: Json, path: Path) -> None:
    try:
        from . import plot as drawing  # only here: the rest works without matplotlib
    except ImportError as error:
        raise LabError(f"--plot: {error}; the package is python3-matplotlib") from None
    drawing.draw(document, path)


def _request(options: argparse.Namespace, loaded: Scenario, isolated_cc: bool) -> Request:
    return Request(
        scenario=loaded.scaled(options.scale) if options.scale != 1.0 else loaded,
        iterations=options.iterations or loaded.iterations,
        seed=options.seeds.start,
        repeat=len(options.seeds),
        isolated_cc=isolated_cc,
        timeout_s=float(options.timeout_s),
    )


def check_writable(*paths: Path | None) -> None:
    """Before minutes of measuring, not after."""
    for path in paths:
        if path and (path.is_dir() or not path.resolve().parent.is_dir()):
            raise UsageError(f"{path}: cannot be written: no such folder, or a folder itself")


def _run_in_vm(options: argparse.Namespace) -> int:
    command = [*_same_command("run", [options.scenario], options), "--cc", ",".join(options.cc)]
    command += ["--carrier", options.carrier or "module", *["--quick"] * options.quick]
    status, text = vm.run(options.vm, command)
    if status != EXIT_OK or text is None:
        return status
    if options.json:
        options.json.write_text(text, encoding="utf-8")
    if options.plot:  # here: drawing takes minutes on an emulated CPU
        _draw(json.loads(text), options.plot)
    return EXIT_OK


def _same_command(verb: str, names: Sequence[str], options: argparse.Namespace) -> list[str]:
    """The start of the command line in a virtual machine, which sees this repository."""
    program = carrier.REPOSITORY / "tests" / "lab" / "mlcc-lab"
    command = [str(program), verb, *(str(scenario.find(name).resolve()) for name in names)]
    command += ["--seeds", f"{options.seeds.start}-{options.seeds.stop - 1}"]
    for name in ("iterations", "scale", "timeout_s", "flows", *LINK_OPTIONS):
        if getattr(options, name) is not None:
            command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    return command


def compare(options: argparse.Namespace) -> int:
    """Two builds of the carrier on some scenarios."""
    cc, builds = options.cc, options.builds
    said = overrides(options)
    loaded = [scenario.load(scenario.find(name), said) for name in options.scenario]
    comparison.check_scenarios(loaded)
    comparison.check_builds(builds, not options.vm, comparison.needs_mlccd(cc, loaded))
    check_writable(options.json)
    if options.vm:
        return _compare_in_vm(options)
    with reserved():
        for item in loaded:
            experiment.check_kernel(item, [cc])
        requests = [_request(options, item, isolated_cc=False) for item in loaded]
        measurements = comparison.measure(cc, builds, requests)
    _conclude(comparison.document(cc, builds, measurements), options.json)
    return EXIT_OK


def _conclude(document: Json, path: Path | None) -> None:
    write(document, path)
    print(comparison.text(document))


def _compare_in_vm(options: argparse.Namespace) -> int:
    command = [*_same_command("compare", options.scenario, options), "--cc", options.cc]
    status, text = vm.compare(options.vm, command, options.builds)
    if status != EXIT_OK or text is None:
        return status
    document = json.loads(text) | {"builds": comparison.described(options.builds)}
    _conclude(document, options.json)
    return EXIT_OK
