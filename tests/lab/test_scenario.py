# SPDX-License-Identifier: GPL-2.0
"""What a scenario may say, and the one line that answers to anything else."""

import copy
import unittest
from pathlib import Path
from typing import Any

from mlcclab import cluster, noise, scenario, schedule, topology
from mlcclab.errors import UsageError

SHIPPED = Path(__file__).parent / "scenarios"

GOOD: dict[str, Any] = {
    "link": {"rate": "1gbit", "limit": "1MiB"},
    "job": [
        {"name": "a", "phase_bytes": 10_000_000, "compute_ms": 100.0},
        {"name": "b", "phase_bytes": 10_000_000, "compute_ms": 100.0},
    ],
}


def changed(path: str, value: object) -> dict[str, Any]:
    """GOOD with one key, like "job.0.noise", set to something else."""
    document = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    table: Any = document
    for parent in parents:
        table = table[int(parent)] if parent.isdigit() else table[parent]
    table[last] = value
    return document


class Refused(unittest.TestCase):
    """Each mistake names its key and what is allowed."""

    def refuse(self, path: str, value: object, *words: str) -> None:
        with self.assertRaises(UsageError) as caught:
            scenario.parse(changed(path, value), "test")
        line = str(caught.exception)
        self.assertNotIn("\n", line)
        for word in words:
            self.assertIn(word, line)

    def test_unknown_keys(self) -> None:
        self.refuse("lnk", {}, "lnk: unknown key", "link, job")
        self.refuse("link.rat", "1gbit", "link.rat: unknown key", "rate")
        self.refuse("job.1.bytes", 5, "job[1].bytes: unknown key", "phase_bytes")

    def test_link(self) -> None:
        self.refuse("link.rate", "fast", "link.rate", "gbit")
        self.refuse("link.rate", 1000, "link.rate", "not a string")
        self.refuse("link.queue", "codel", "link.queue", "droptail", "red-ecn")
        self.refuse("link.loss", 2, "link.loss", "from 0 to 0.5")
        self.refuse("link.delay", "1 hour", "link.delay", "800us, 250ms or 1.5s")
        self.refuse("link.limit", "1 furlong", "link.limit", "mib")

    def test_limit_bdp(self) -> None:
        self.refuse("link.limit_bdp", 0.5, "link.limit_bdp: not together with limit")
        self.refuse("link.rtt", "2ms", "link.rtt: only with limit_bdp")
        for values, word in (
            ({"limit_bdp": 0}, "from 0.01 to 100"),
            ({"limit_bdp": "1"}, "from 0.01 to 100"),
            ({"limit_bdp": 1, "rtt": 10}, "link.rtt: 10 is not a string"),
            # 100 us of 1 Gb/s are 12500 bytes
            ({"limit_bdp": 0.2}, "link.limit_bdp: 2500: from 3000"),
        ):
            self.refuse("link", {"rate": "1gbit", **values}, "link.", word)

    def test_wire(self) -> None:
        self.refuse("link.jitter", 5, "link.jitter", "not a string")
        self.refuse("link.jitter", "2s", "link.jitter", "to 1000ms is wanted")
        self.refuse("link.ack_slot", "2 hours", "link.ack_slot", "800us, 250ms or 1.5s")
        self.refuse("link.reorder", 0.7, "link.reorder", "from 0 to 0.5")
        self.refuse("link.reorder", 0.1, "link.reorder: needs a delay")

    def test_mtu(self) -> None:
        for value in (1501, "9000", True):
            self.refuse("link.mtu", value, "link.mtu", "is not one of 1500, 9000")
        link = {"rate": "1gbit", "limit": "17KiB", "mtu": 9000}
        self.refuse("link", link, "link.limit: 17408 bytes are less than two frames")
        self.refuse("link", {"rate": "1gbit", "limit": 3000 - 1}, "from 3000")

    def test_unshaped(self) -> None:
        self.refuse("link.rate", "None", "link.rate", "gbit", '"none": no limit but the machine')
        for more, key in (
            ({"queue": "policer"}, "queue"),
            ({"limit_bdp": 1}, "limit_bdp"),
            ({"delay": "1ms"}, "delay"),
            ({"loss": 0.1}, "loss"),
            ({"change": [{"at_ms": 1, "rate": "1gbit"}]}, "change"),
        ):
            self.refuse("link", {"rate": "none", **more}, f"link.{key}", "needs a rate")
        trace = {"name": "t", "trace": "gpt-13b-dp", "period_ms": 200.0, "duty": 0.5}
        for key, value, where in (
            ("transport", "net-verbs", "transport"),
            ("flow", [{"name": "f", "kind": "bulk"}], "flow[0].kind"),
            ("job", [trace], "job[0].duty"),
        ):
            with self.assertRaises(UsageError) as caught:
                scenario.parse(changed("link.rate", "none") | {key: value}, "test")
            self.assertTrue(str(caught.exception).startswith(f"{where}: needs a rate"))

    def test_paths_of_the_link(self) -> None:
        eight = {"rate": "2gbit", "paths": 8}
        self.refuse("link", eight | {"paths": 17}, "link.paths", "from 1 to 16")
        self.refuse("link", eight | {"delay": "1ms"}, "link.paths: one only, together with delay")
        self.refuse("link", eight | {"rate": "none"}, "link.paths: needs a rate")
        late = {"change": [{"at_ms": 1, "delay": "1ms"}]}
        self.refuse("link", eight | late, "link.paths: one only, together with change")
        document = changed("link", eight)
        for words, job in (
            ("flows: 1 is no multiple of the link's 8", {}),
            ("flows: 12 is no multiple of the link's 8", {"flows": 12}),
            ("pattern: only pair on a link of several paths", {"flows": 8, "pattern": "ring"}),
        ):
            document["job"] = [GOOD["job"][0] | job]
            with self.assertRaisesRegex(UsageError, rf"job\[0\].{words}"):
                scenario.parse(document, "test")
        document["job"] = [GOOD["job"][0] | {"flows": 8}]
        with self.assertRaisesRegex(UsageError, "link.paths: one only with transport = net"):
            scenario.parse(document | {"transport": "net"}, "test")
        document["flow"] = [{"name": "f", "kind": "bulk"}]
        with self.assertRaisesRegex(UsageError, r"flow\[0\]: not on a link of several paths"):
            scenario.parse(document, "test")

    def test_change(self) -> None:
        self.refuse("link.change", {"at_ms": 5}, "link.change: write 0 to 1000 tables")
        self.refuse("link.change", [{"rate": "1gbit"}], "link.change[0].at_ms: missing")
        self.refuse("link.change", [{"at_ms": 5}], "link.change[0]: neither rate nor delay")
        self.refuse("link.change", [{"at_ms": -1, "rate": "1gbit"}], "link.change[0].at_ms")
        self.refuse("link.change", [{"at_ms": 1, "rate": 5}], "link.change[0].rate", "string")
        self.refuse("link.change", [{"at_ms": 1, "loss": 5}], "link.change[0].loss: unknown key")
        twice = [{"at_ms": 5, "rate": "1gbit"}, {"at_ms": 5, "rate": "2gbit"}]
        self.refuse("link.change", twice, "link.change[1].at_ms: not later")
        link = {"rate": "1gbit", "queue": "policer", "change": twice}
        self.refuse("link", link, "link.change[0].rate: only with queue = droptail")

    def test_job(self) -> None:
        self.refuse("job.0.phase_bytes", 0, "job[0].phase_bytes", "from 10000")
        self.refuse("job.0.phase_bytes", True, "job[0].phase_bytes", "whole number")
        self.refuse("job.0.noise", "much", "job[0].noise", "from 0 to 0.5")
        self.refuse("job.0.name", "a b", "job[0].name", "letters")
        self.refuse("job.0.name", "b", "name", "'b' is used 2 times")
        self.refuse("job.0.name", ["c", "c"], "name", "'c' is used 2 times")
        self.refuse("job.0.name", [], "job[0].name", "not a name")
        self.refuse("job.0.flows", 0, "job[0].flows", "from 1 to 64")
        self.refuse("job.0.hint", "maybe", "job[0].hint", "none, exact")

    def test_combinations(self) -> None:
        self.refuse("job.0.claim", 0.1, "job[0].claim", "exact")
        self.refuse("job.0.restart_ms", 20, "job[0].restart_ms", "exact")
        self.refuse("job.0.restart_ms", 0.5, "job[0].restart_ms", "from 1 to 600000")
        self.refuse("job.0.connect_late", 1, "job[0].connect_late", "true nor false")
        self.refuse("job.0.workers", 3, "job[0].workers", "ring")
        self.refuse("flow", [{"name": "f", "kind": "short"}], "flow[0].bytes: missing")
        self.refuse(
            "flow", [{"name": "f", "kind": "bulk", "bytes": 500}], "flow[0].bytes: not", "bulk"
        )
        self.refuse("flow", [{"name": "f", "kind": "conversation"}], "flow[0].bytes: missing")
        self.refuse(
            "flow", [{"name": "f", "kind": "bulk", "class": "training"}], "flow[0].class", "latency"
        )

    def refuse_trace(self, words: str, **changes: object) -> None:
        job = {"name": "t", "trace": "gpt-13b-dp", "period_ms": 200.0, "duty": 0.5}
        self.refuse("job", [{**job, **changes}], words)

    def test_trace(self) -> None:
        self.refuse_trace("job[0].trace: 'x' is not one of gpt-13b-dp, llama", trace="x")
        self.refuse_trace("job[0].phase_bytes: not with a trace", phase_bytes=1_000_000)
        self.refuse_trace("job[0].compute_ms: not with a trace", compute_ms=0.0)
        self.refuse_trace("job[0].duty: 1.0: a number from 0.01 to 0.99", duty=1.0)
        self.refuse_trace("job[0].trace: only with pattern = pair", pattern="ring")
        # the smallest gather of ZeRO-3 is a hundred-thousandth of its bytes
        self.refuse_trace("once send 15 bytes; 17 at least", trace="llama-7b-zero3", duty=0.01)
        self.refuse("job.0.duty", 0.5, "job[0].duty: only with a trace")
        self.refuse("job", [{"name": "t", "trace": "gpt-13b-dp"}], "job[0].period_ms: missing")
        self.refuse("job", [{"name": "t", "compute_ms": 5.0}], "job[0].phase_bytes: missing")

    def test_measured_noise(self) -> None:
        ring = {"pattern": "ring", "noise": "measured"}
        self.refuse("job", [GOOD["job"][0] | ring], "job[0].noise", "only with pattern = pair")

    def test_missing(self) -> None:
        for key in ("link", "job"):
            document = copy.deepcopy(GOOD)
            del document[key]
            with self.assertRaisesRegex(UsageError, f"^{key}: missing$"):
                scenario.parse(document, "test")
        self.refuse("job", [], "job: write 1 to 128 tables as [[job]]")


class Meaning(unittest.TestCase):
    """What the figures of a scenario come to."""

    def test_defaults(self) -> None:
        parsed = scenario.parse(GOOD, "stem")
        self.assertEqual(parsed.name, "stem")
        self.assertEqual(parsed.link.limit, 1024 * 1024)
        self.assertEqual(parsed.jobs[0].hosts, 1)
        self.assertEqual((parsed.jobs[0].hint, parsed.jobs[0].claim), ("none", 1.0))
        self.assertEqual(parsed.needs, ())

    def test_alike(self) -> None:
        """A list of names is a table for each."""
        jobs = scenario.parse(GOOD, "").jobs
        document = GOOD | {"job": [GOOD["job"][0] | {"name": ["a", "b"]}]}
        self.assertEqual(scenario.parse(document, "").jobs, jobs)

    def test_load(self) -> None:
        # 10 MB at 1 Gb/s * 1448/1514 take 83.65 ms of 183.65, twice.
        parsed = scenario.parse(GOOD, "test")
        self.assertAlmostEqual(parsed.load, 2 * 83.646 / 183.646, places=4)

    def test_mtu(self) -> None:
        """Jumbo frames carry more of what the link carries, of which everything is made."""
        parsed = scenario.parse(changed("link.mtu", 9000), "test")
        self.assertAlmostEqual(parsed.link.goodput_bps, 1e9 * 8948 / 9014)
        self.assertAlmostEqual(parsed.load, 2 * 80.590 / 180.590, places=4)

    def test_unshaped(self) -> None:
        """No link, no time on it; a limit is of no queue."""
        parsed = scenario.parse(changed("link.rate", "none"), "test")
        self.assertFalse(parsed.link.shaped)
        self.assertIsNone(parsed.load)
        self.assertEqual(parsed.jobs[0].period_ms(parsed.link.rate), 100.0)
        self.assertTrue(scenario.parse(GOOD, "test").link.shaped)

    def test_paths_of_the_link(self) -> None:
        """A job has one for each, and all of them have the rate together."""
        document = changed("link", {"rate": "2gbit", "paths": 8})
        document["job"] = [GOOD["job"][0] | {"flows": 16}]
        parsed = scenario.parse(document, "test")
        self.assertEqual(parsed.link.one_path.rate, 250e6)
        self.assertAlmostEqual(parsed.jobs[0].wire_ms(parsed.link.rate), 41.823, places=3)

    def test_needs(self) -> None:
        self.assertEqual(scenario.parse(changed("link.delay", "50us"), "").needs, ())
        self.assertEqual(scenario.parse(changed("link.delay", "51us"), "").needs, ("netem",))
        self.assertEqual(scenario.parse(changed("link.loss", 0.001), "").needs, ("loss",))
        self.assertEqual(scenario.parse(changed("link.queue", "red-ecn"), "").needs, ("red",))

    def test_needs_of_hostile_links(self) -> None:
        slow = {"rate": "1gbit", "delay": "1ms"}
        for link, needs in (
            ({"rate": "1gbit", "queue": "policer"}, ("policer",)),
            ({"rate": "1gbit", "jitter": "1ms"}, ("netem",)),
            ({"rate": "1gbit", "ack_slot": "1ms"}, ("netem",)),
            ({**slow, "reorder": 0.01}, ("netem",)),
            ({"rate": "1gbit", "change": [{"at_ms": 5, "rate": "1mbit"}]}, ()),
            ({"rate": "1gbit", "change": [{"at_ms": 5, "delay": "1ms"}]}, ("netem",)),
        ):
            self.assertEqual(scenario.parse(changed("link", link), "").needs, needs, link)

    def test_limit_bdp(self) -> None:
        for values, limit in (
            ({"limit_bdp": 0.5, "delay": "5ms"}, 625_000),
            ({"limit_bdp": 0.5, "rtt": "2ms"}, 125_000),
            ({"limit_bdp": 1}, 12_500),
        ):
            parsed = scenario.parse(changed("link", {"rate": "1gbit", **values}), "")
            self.assertEqual(parsed.link.limit, limit, values)

    def test_changes(self) -> None:
        changes = [{"at_ms": 1000, "rate": "500mbit"}, {"at_ms": 3000, "delay": "1ms"}]
        link = scenario.parse(changed("link.change", changes), "").link
        half = link.after(link.changes[0])
        self.assertEqual((half.rate, half.delay), (0.5e9, 0.0))
        self.assertEqual(half.after(link.changes[1]).rate, 0.5e9)
        for seconds, bits in ((0.5, 0.5e9), (1.0, 1e9), (2.0, 1.5e9), (4.0, 2.5e9)):
            self.assertAlmostEqual(link.capacity_bits(seconds), bits)
        self.assertEqual(link.scaled(0.2).changes[0].rate, 0.1e9)

    def test_netem(self) -> None:
        self.assertEqual(topology._netem(0.0), "netem limit 100000")
        self.assertEqual(
            topology._netem(0.005, 0.001, 0.01, (0.0, 0.002)),
            "netem limit 100000 delay 5000us loss 0.100000% reorder 1.000000% slot 0us 2000us",
        )

    def test_scaled(self) -> None:
        parsed = scenario.parse(GOOD, "")
        slower = parsed.scaled(0.2)
        self.assertAlmostEqual(slower.load, parsed.load)
        self.assertEqual(slower.link.limit, round(1024 * 1024 * 0.2))
        self.assertEqual(slower.jobs[1].phase_bytes, 2_000_000)

    def test_claim(self) -> None:
        document = changed("job.0.hint", "exact")
        document["job"][0]["claim"] = 0.1
        self.assertEqual(scenario.parse(document, "").jobs[0].claim, 0.1)

    def test_restart(self) -> None:
        document = changed("job.0.hint", "exact")
        document["job"][0]["restart_ms"] = 20
        parsed = scenario.parse(document, "")
        self.assertEqual([job.restart_ms for job in parsed.jobs], [20.0, 0.0])

    def test_connect_late(self) -> None:
        document = changed("job.0.connect_late", True)
        document["job"][0]["start_ms"] = 500.0
        late, early = scenario.parse(document, "").jobs
        self.assertIn("--connect-ms 500.0", " ".join(cluster._shape(late)))
        self.assertNotIn("--connect-ms", cluster._shape(early))
        # alone there is no queue to be born in
        self.assertEqual(schedule.shape(late), schedule.shape(early))

    def test_trace(self) -> None:
        """Its period and its part of the link are what is said, at any rate."""
        job = {"name": "t", "trace": "gpt-13b-dp", "period_ms": 200.0, "duty": 0.5, "flows": 2}
        for factor in (1.0, 0.2):
            parsed = scenario.parse(changed("job", [job]), "").scaled(factor)
            self.assertAlmostEqual(parsed.jobs[0].period_ms(1e9 * factor), 200.0, places=2)
            self.assertAlmostEqual(parsed.load, 0.5, places=4)
        words = cluster._steps(parsed.jobs[0])
        steps = [word.split(":") for word in words[1::2]]
        # from the backward pass on, which the gather for the next forward pass follows
        self.assertEqual(words[::2], ["--overlap"] * 80 + ["--step"] * 2)
        self.assertEqual(sum(int(nbytes) for _, nbytes in steps), parsed.jobs[0].phase_bytes)
        compute_ms = sum(float(ms) for ms, _ in steps)
        self.assertAlmostEqual(compute_ms, parsed.jobs[0].compute_ms, places=3)

    def test_noise(self) -> None:
        plain, measured = (
            scenario.parse(changed("job.0.noise", said), "").jobs[0] for said in (0.1, "measured")
        )
        self.assertEqual(cluster._noise(plain, 5), ["--noise", "0.1"])
        self.assertEqual(cluster._noise(measured, 5), ["--lognormal", str(noise.drawn(5))])

    def test_crossing(self) -> None:
        document = changed("job.0.pattern", "ring")
        document["job"][0]["workers"] = 4
        job = scenario.parse(document, "").jobs[0]
        self.assertEqual(job.crossing_bytes(), 20_000_000)
        document["job"][0]["pattern"] = "all-to-all"
        job = scenario.parse(document, "").jobs[0]
        self.assertAlmostEqual(job.crossing_bytes(), 10_000_000 * 4 / 3)

    def test_shipped(self) -> None:
        paths = list(SHIPPED.glob("*.toml"))
        self.assertGreater(len(paths), 25)
        for path in paths:
            with self.subTest(path.stem):
                self.assertEqual(scenario.load(path).name, path.stem)
