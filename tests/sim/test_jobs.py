# SPDX-License-Identifier: GPL-2.0
"""What jobs of each kind send, how long that takes them alone; noise."""

import unittest
from statistics import fmean, pstdev

from common import LINE_BPS, PERIOD_S, Table, dumbbell, pairs, run
from mlcclab import traces
from mlccsim.scenario import parse

SIZE = 10_000_000
HOSTS = 4
COMPUTE_S = 5e-3
LINE_S = 8 * SIZE / LINE_BPS  # that SIZE bytes take


def leaves(kind: str, **job: object) -> Table:
    """A job of HOSTS hosts on two leaves that nothing slows down."""
    table = {"name": "job", "workload": kind, "hosts": HOSTS, "bytes": SIZE, "compute": "5ms"}
    topology = {"kind": "leaf-spine", "rate": "10gbit", "leaves": 2, "spines": 2, "hosts": 4}
    return {"topology": topology, "rdma": {"header": 0}, "job": [table | job]}


class Alone(unittest.TestCase):
    """A job takes what it has to, and sends no byte more."""

    def check(self, kind: str, sends: float, least: float, most: float) -> None:
        """sends: in SIZE bytes, by all hosts; least, most: in LINE_S, besides the computation."""
        result = run(leaves(kind), placement="spread", iterations=6)
        took = fmean(result["jobs"][0]["iterations_s"]) - COMPUTE_S
        self.assertGreater(took, least * LINE_S)
        self.assertLess(took, most * LINE_S)
        self.assertAlmostEqual(result["jobs"][0]["delivered"] / SIZE, 6 * sends, delta=0.01)

    def test_ring(self) -> None:
        """Each of n hosts sends 2 (n - 1) / n of the bytes."""
        self.check("ring", 2 * (HOSTS - 1), 1.5, 1.65)

    def test_shards(self) -> None:
        """Two rounds, of which the second waits for what the last one sends in the first."""
        self.check("shards", 2 * (HOSTS - 1), 1.5, 1.8)

    def test_parameter_server(self) -> None:
        """The server's link carries it all, first in, then out."""
        self.check("parameter-server", 2 * (HOSTS - 1), 6, 7)


class Traces(unittest.TestCase):
    """Steps of a model's layers."""

    DUTY = 0.3
    BYTES = round(DUTY * PERIOD_S * LINE_BPS / 8)
    BURST_S = 20e-6  # what a burst that computing waits for takes besides its bytes, at most
    DP = "gpt-13b-dp"

    def job(self, trace: str, **more: object) -> Table:
        size = {"trace": trace, "period_ms": 1e3 * PERIOD_S, "duty": self.DUTY}
        return {"name": "job", "workload": "trace"} | size | more

    def test_alone_an_iteration_takes_its_period(self) -> None:
        """And sends the bytes that it has to, in as many bursts as the trace has."""
        for name in traces.NAMES:
            bursts = sum(not step.overlaps for step in traces.load(name))
            with self.subTest(name):
                result = run(dumbbell([self.job(name)]), iterations=4)["jobs"][0]
                self.assertEqual(result["delivered"], 4 * self.BYTES)
                for took in result["iterations_s"]:
                    self.assertGreater(took, PERIOD_S - 1e-6)
                    self.assertLess(took, PERIOD_S + bursts * self.BURST_S)

    def test_computing_hides_what_overlaps(self) -> None:
        """Without that an iteration takes what it computes and what it sends, one by one."""
        table = dumbbell([self.job(self.DP)])
        steps = parse("test", table).jobs[0].steps
        apart = sum(step.compute_s for step in steps) + self.DUTY * PERIOD_S
        self.assertGreater(apart, 1.15 * PERIOD_S)
        waits = " ".join(f"{step.compute_s} {step.bytes} 0" for step in steps)
        result = run(table, iterations=4, keys={"steps": waits})["jobs"][0]
        self.assertAlmostEqual(fmean(result["iterations_s"]), apart, delta=82 * self.BURST_S)


class Noise(unittest.TestCase):
    """How much computing varies."""

    def test_a_lognormal_one_has_its_deviation_and_the_mean_one(self) -> None:
        job = {"name": "job", "bytes": 1, "compute": "1ms"}
        result = run(dumbbell([job]), iterations=4000, keys={"lognormal": 0.5})
        times = result["jobs"][0]["iterations_s"]
        self.assertAlmostEqual(fmean(times), 1e-3, delta=0.05e-3)
        self.assertAlmostEqual(pstdev(times) / fmean(times), 0.5, delta=0.05)

    def test_it_goes_by_the_seed_and_not_by_the_cc(self) -> None:
        table = dumbbell([pairs(1, 0.02)[0] | {"noise": 0.1}])
        plain, ours, other = (
            run(table, cc, seed, iterations=8)["jobs"][0]["iterations_s"]
            for cc, seed in (("dcqcn", 1), ("interleave", 1), ("dcqcn", 2))
        )
        for one, same in zip(plain, ours, strict=True):
            self.assertAlmostEqual(one, same, delta=1e-3)
        self.assertGreater(max(abs(a - b) for a, b in zip(plain, other, strict=True)), 2e-3)


class Tmdml(unittest.TestCase):
    """Receivers that spare who is behind."""

    def took(self, cc: str) -> float:
        """Of two workers one is on the server's leaf; a flow is in the other's way."""
        server = {"name": "job", "workload": "parameter-server", "hosts": 3, "bytes": 3 * SIZE}
        others = {"name": "flow", "workload": "endless"}
        topology = {"kind": "leaf-spine", "rate": "10gbit", "leaves": 2, "spines": 1, "hosts": 4}
        table = {
            "topology": topology | {"oversubscription": 4},
            "job": [server | {"compute": "20ms", "noise": 0.02}, others],
            "iterations": 24,
        }
        return fmean(run(table, cc, hosts=((0, 1, 4), (5, 2)))["jobs"][0]["iterations_s"])

    def test_the_flow_with_two_bottlenecks_catches_up(self) -> None:
        plain = self.took("dcqcn")
        self.assertLess(self.took("tmdml"), 0.97 * plain)

    def test_it_goes_with_a_profile(self) -> None:
        self.assertLess(self.took("interleave+tmdml"), 0.98 * self.took("interleave"))
