# SPDX-License-Identifier: GPL-2.0
"""What a scenario and the command line may say, and the one line that answers to anything else."""

import copy
import unittest
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest import mock

from mlcclab import (
    bottleneck,
    carrier,
    cli,
    cluster,
    conversation,
    features,
    link,
    offloads,
    options,
    runner,
    scenario,
    schedule,
    sizes,
    topology,
)
from mlcclab.errors import UsageError
from mlcclab.scenario import Overrides, Scenario

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


def parsed(path: str, value: object) -> Scenario:
    """The same as a scenario."""
    return scenario.parse(changed(path, value), "test")


def said(*words: str) -> Overrides:
    """What options of `run` come to."""
    return options.overrides(cli.parser().parse_args(["run", "two-equal", *words]))


def told(*words: str, name: str = "two-equal") -> Scenario:
    """A shipped scenario with them."""
    return scenario.load(scenario.find(name), said(*words))


SHORT, BULK = {"name": "f", "kind": "short"}, {"name": "f", "kind": "bulk"}
TWICE = [{"at_ms": 5, "rate": "1gbit"}, {"at_ms": 5, "rate": "2gbit"}]
FAST, NONE, EIGHT = {"rate": "1gbit"}, {"rate": "none"}, {"rate": "2gbit", "paths": 8}

REFUSED = (
    ("lnk", {}, "lnk: unknown key; allowed: name,"),
    ("link.rat", "1gbit", "link.rat: unknown key"),
    ("job.1.bytes", 5, "job[1].bytes: unknown key"),
    ("link.rate", "fast", "link.rate: 'fast' is not a number and one of"),
    ("link.rate", "None", '"none": no limit but the machine'),
    ("link.rate", 1000, "link.rate: 1000 is not a string"),
    ("link.queue", "codel", "link.queue: 'codel' is not one of droptail, red-ecn"),
    ("link.loss", 2, "link.loss: 2: a number from 0 to 0.5"),
    ("link.delay", "1 hour", "800us, 250ms or 1.5s"),
    ("link.limit", "1 furlong", "link.limit: '1 furlong' is not"),
    ("link.limit_bdp", 0.5, "link.limit_bdp: not together with limit"),
    ("link.rtt", "2ms", "link.rtt: only with limit_bdp"),
    # 100 us of 1 Gb/s are 12500 bytes
    ("link", {**FAST, "limit_bdp": 0.2}, "link.limit_bdp: 2500: from 3000"),
    ("link.jitter", "2s", "to 1000ms is wanted"),
    ("link.reorder", 0.1, "link.reorder: needs a delay"),
    ("link", {**FAST, "coalesce": "2ms"}, "link.coalesce: "),
    ("link", {"rate": "20gbit", "coalesce": "30us"}, "link.coalesce: 0us at most at this rate"),
    ("link", {**FAST, "coalesce": "30us", "limit": "64KiB"}, "link.coalesce: needs offloads"),
    ("link", EIGHT | {"coalesce": "30us"}, "link.paths: one only, together with coalesce"),
    ("link.mtu", 1501, "link.mtu: 1501 is not one of 1500, 9000"),
    ("link", {**FAST, "limit": "17KiB", "mtu": 9000}, "17408 bytes are less than two frames"),
    ("link", {**NONE, "queue": "policer"}, "link.queue: policer needs a rate"),
    ("link", {**NONE, "loss": 0.1}, "link.loss: needs a rate"),
    ("link", {**NONE, "paths": 8}, "link.paths: needs a rate"),
    ("link", EIGHT | {"paths": 17}, "link.paths: 17: a whole number from 1 to 16"),
    ("link", EIGHT | {"delay": "1ms"}, "link.paths: one only, together with delay"),
    ("link", EIGHT, "job[0].flows: 1 is no multiple of the link's 8"),
    ("link.change", {"at_ms": 5}, "link.change: write 0 to 1000 tables"),
    ("link.change", [{"rate": "1gbit"}], "link.change[0].at_ms: missing"),
    ("link.change", [{"at_ms": 5}], "link.change[0]: neither rate nor delay"),
    ("link.change", TWICE, "link.change[1].at_ms: not later"),
    ("link", {**FAST, "queue": "policer", "change": TWICE}, "only with queue = droptail"),
    ("job.0.phase_bytes", 0, "job[0].phase_bytes: 0: a whole number from 10000"),
    ("job.0.phase_bytes", True, "job[0].phase_bytes: True: a whole number"),
    ("job.0.noise", "much", "job[0].noise: 'much': a number from 0 to 0.5"),
    ("job.0.name", "a b", "job[0].name: 'a b' is not a name"),
    ("job.0.name", "b", "name: 'b' is used 2 times"),
    ("job.0.name", [], "job[0].name: [] is not a name"),
    ("job.0.flows", 65, "job[0].flows: 65: a whole number from 1 to 64"),
    ("job.0.hint", "maybe", "job[0].hint: 'maybe' is not one of none, exact"),
    ("job.0.claim", 0.1, "job[0].claim: only with hint"),
    ("job.0.restart_ms", 20, "job[0].restart_ms: only with hint"),
    ("job.0.profile", "a b", "job[0].profile: 'a b' is not a name"),
    ("job.0.connect_late", 1, "job[0].connect_late: 1 is neither true nor false"),
    ("job.0.workers", 3, "job[0].workers: only with pattern = ring"),
    ("job", [], "job: write 1 to 128 tables as [[job]]"),
    ("job", [{"name": "t", "compute_ms": 5.0}], "job[0].phase_bytes: missing"),
    ("flow", [SHORT], "flow[0].bytes: missing"),
    ("flow", [{**SHORT, "kind": "conversation"}], "flow[0].bytes: missing"),
    ("flow", [{**BULK, "class": "gold"}], "flow[0].class: 'gold' is not one of latency"),
    ("flow", [{**BULK, "bytes": 500}], "flow[0].bytes: not with kind = bulk"),
)


class Refused(unittest.TestCase):
    """Each mistake names its key and what is allowed."""

    def test_keys(self) -> None:
        for path, value, words in REFUSED:
            with self.subTest(path, value=value), self.assertRaises(UsageError) as caught:
                parsed(path, value)
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

    def test_combinations(self) -> None:
        bulk = {"flow": [BULK]}
        eight = {"link": EIGHT, "job": [GOOD["job"][0] | {"flows": 8}]}
        for more, words in (
            ({"link": NONE, "transport": "net-verbs"}, "transport: needs a rate"),
            ({"link": NONE} | bulk, "flow[0].kind: needs a rate"),
            (eight | {"transport": "net"}, "link.paths: one only with transport = net"),
            (eight | bulk, "flow[0]: not on a link of several paths"),
            ({"transport": "net"} | bulk, "flow[0]: not with transport = net"),
            ({"transport": "verbs", "link": FAST | {"mtu": 9000}}, "link.mtu: 1500 only"),
            ({"transport": "verbs", "link": FAST | {"offloads": True}}, "link.offloads: only with"),
            ({"transport": "verbs", "link": FAST | {"coalesce": "30us"}}, "link.coalesce: only"),
        ):
            with self.subTest(words), self.assertRaises(UsageError) as caught:
                scenario.parse(GOOD | more, "test")
            self.assertIn(words, str(caught.exception))

    def test_options(self) -> None:
        for words in (
            ("--rate", "fast"),
            ("--mtu", "1501"),
            ("--coalesce", "2ms"),
            ("--seed", "-1"),
            ("--repeat", "1001"),
            ("--offloads", "yes"),
            ("--flows", "0"),
            ("--seeds", "5-3"),
            ("--seeds", "1-1001"),
            ("--cc", "cubic,,reno"),
            ("--cc", "reno,reno"),
            ("--iterations", "-1"),
        ):
            with self.assertRaisesRegex(UsageError, f"^argument {words[0]}: ") as caught:
                said("=".join(words))
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(UsageError, f'link.delay: needs a rate, not "{link.NO_RATE}"'):
            scenario.parse(changed("link.delay", "1ms"), "", said("--rate", "none"))

    def test_no_tables(self) -> None:
        """What is no table is the checker's to refuse."""
        for key, value in (("link", 5), ("job", 5), ("job", [5])):
            with self.assertRaises(UsageError):
                scenario.parse(GOOD | {key: value}, "", Overrides({"mtu": 9000}, {"flows": 2}))


class Meaning(unittest.TestCase):
    """What the figures of a scenario come to."""

    def test_defaults(self) -> None:
        item = scenario.parse(GOOD, "stem")
        self.assertEqual((item.name, item.link.limit, item.needs), ("stem", 1024 * 1024, ()))
        # a list of names is a table for each
        alike = GOOD | {"job": [GOOD["job"][0] | {"name": ["a", "b"]}]}
        self.assertEqual(scenario.parse(alike, "").jobs, item.jobs)

    def test_load(self) -> None:
        # 10 MB at 1 Gb/s * 1448/1514 take 83.65 ms of 183.65, twice.
        item = scenario.parse(GOOD, "test")
        self.assertAlmostEqual(item.load, 2 * 83.646 / 183.646, places=4)
        self.assertAlmostEqual(parsed("link.mtu", 9000).load, 2 * 80.590 / 180.590, places=4)
        slower = item.scaled(0.2)
        self.assertAlmostEqual(slower.load, item.load)
        self.assertEqual(slower.link.limit, round(1024 * 1024 * 0.2))
        self.assertEqual(slower.jobs[1].phase_bytes, 2_000_000)

    def test_unshaped(self) -> None:
        """No link, no time on it; a limit is of no queue."""
        item = parsed("link.rate", "none")
        self.assertEqual((item.link.shaped, item.load), (False, None))
        self.assertEqual(item.jobs[0].period_ms(item.link.rate), 100.0)

    def test_paths_of_the_link(self) -> None:
        """A job has one for each, and all of them have the rate together."""
        document = changed("link", EIGHT)
        document["job"] = [GOOD["job"][0] | {"flows": 16}]
        item = scenario.parse(document, "test")
        self.assertEqual(item.link.one_path.rate, 250e6)
        self.assertAlmostEqual(item.jobs[0].wire_ms(item.link.rate), 41.823, places=3)

    def test_needs(self) -> None:
        for more, needs in (
            ({"delay": "50us"}, ()),
            ({"delay": "51us"}, ("netem",)),
            ({"loss": 0.001}, ("loss",)),
            ({"queue": "red-ecn"}, ("red",)),
            ({"queue": "policer"}, ("policer",)),
            ({"queue": "prio"}, ("prio",)),
            ({"coalesce": "30us"}, ("coalesce",)),
            ({"jitter": "1ms"}, ("netem",)),
            ({"delay": "1ms", "reorder": 0.01}, ("netem",)),
            ({"change": [{"at_ms": 5, "delay": "1ms"}]}, ("netem",)),
        ):
            self.assertEqual(parsed("link", FAST | more).needs, needs, more)

    def test_limit_bdp(self) -> None:
        for values, limit in (
            ({"limit_bdp": 0.5, "delay": "5ms"}, 625_000),
            ({"limit_bdp": 0.5, "rtt": "2ms"}, 125_000),
            ({"limit_bdp": 1}, 12_500),
        ):
            self.assertEqual(parsed("link", FAST | values).link.limit, limit, values)

    def test_changes(self) -> None:
        changes = [{"at_ms": 1000, "rate": "500mbit"}, {"at_ms": 3000, "delay": "1ms"}]
        item = parsed("link.change", changes).link
        half = item.after(item.changes[0])
        self.assertEqual((half.rate, half.delay), (0.5e9, 0.0))
        for seconds, bits in ((0.5, 0.5e9), (1.0, 1e9), (2.0, 1.5e9), (4.0, 2.5e9)):
            self.assertAlmostEqual(item.capacity_bits(seconds), bits)
        self.assertEqual(item.scaled(0.2).changes[0].rate, 0.1e9)

    def test_netem(self) -> None:
        item = parsed("link", FAST | {"delay": "5ms", "loss": 0.001, "reorder": 0.01}).link
        self.assertEqual(
            topology._netem(item, (0.0, 0.002)),
            "netem limit 100000 delay 5000us loss 0.100000% reorder 1.000000% slot 0us 2000us",
        )

    def test_connect_late(self) -> None:
        document = changed("job.0.connect_late", True)
        document["job"][0]["start_ms"] = 500.0
        late, early = scenario.parse(document, "").jobs
        self.assertIn("--connect-ms 500.0", " ".join(cluster._shape(late)))
        self.assertNotIn("--connect-ms", cluster._shape(early))
        # alone there is no queue to be born in
        self.assertEqual(schedule.shape(late), schedule.shape(early))

    def test_crossing(self) -> None:
        for pattern, crossing in (("ring", 20e6), ("all-to-all", 10e6 * 4 / 3)):
            document = changed("job.0.pattern", pattern)
            document["job"][0]["workers"] = 4
            job = scenario.parse(document, "").jobs[0]
            self.assertAlmostEqual(job.crossing_bytes(), crossing)

    def test_conversation(self) -> None:
        """Always the same requests, of the means that are asked for; one in a hundred is large."""
        made = conversation.requests(300_000, 50.0)
        gaps, nbytes = zip(*made, strict=True)
        self.assertEqual(made, conversation.requests(300_000, 50.0))
        self.assertAlmostEqual(fmean(gaps), 50.0)
        self.assertAlmostEqual(fmean(nbytes) / 300_000, 1.0, places=3)
        self.assertGreater(max(nbytes), 7 * fmean(nbytes))
        self.assertGreaterEqual(min(size for _, size in conversation.requests(100, 1.0)), 100)

    def test_classes(self) -> None:
        """Flows of a class are jobs where a carrier knows of jobs."""
        kv = scenario.load(SHIPPED / "classes.toml").flows[0]
        for cc, known in (("mlcc", True), ("mlcc:neutral", False), ("cubic", False)):
            self.assertEqual(runner.is_job(cc, kv), known, cc)
        self.assertFalse(runner.is_job("mlcc", replace(kv, job_class="")))

    def test_shipped(self) -> None:
        for path in SHIPPED.glob("*.toml"):
            with self.subTest(path.stem):
                self.assertEqual(scenario.load(path).name, path.stem)

    def test_sizes(self) -> None:
        """Of cross traffic: the published means."""
        for name, mean in (("websearch", 1.7e6), ("storage", 41e3), ("hadoop", 122e3)):
            found = sizes.mean_bytes(sizes.SIZES[name])
            self.assertAlmostEqual(found / mean, 1, delta=0.05, msg=name)


class Words(unittest.TestCase):
    """Of the command line, instead of a scenario's."""

    def test_congestion_controls(self) -> None:
        for cc, profile, hints, led in (
            ("mlcc", "", False, False),
            ("mlcc+hints", "", True, False),
            ("mlcc:mltcp+hints", "mltcp", True, False),
            ("mlcc:mltcp+led", "mltcp", False, True),
        ):
            found = carrier.profile_of(cc), carrier.is_announced(cc), carrier.is_led(cc)
            self.assertEqual((carrier.is_mlcc(cc), *found), (True, profile, hints, led))
        self.assertFalse(carrier.is_mlcc("mlccx") or carrier.is_mlcc("cubic"))

    def test_seeds(self) -> None:
        for words, found in (
            ([], range(1, 2)),
            (["--seeds", "3-4"], range(3, 5)),
            (["--seed", "0"], range(1)),
            (["--repeat", "3"], range(1, 4)),
            (["--seed", "5", "--repeat", "2"], range(5, 7)),
        ):
            parsed_words = cli.parser().parse_args(["run", "two-equal", *words])
            self.assertEqual(options.settled_seeds(parsed_words), found)
        both = cli.parser().parse_args(["run", "two-equal", "--seeds", "1-2", "--seed", "3"])
        with self.assertRaisesRegex(UsageError, "--seeds: not together with --seed"):
            options.settled_seeds(both)

    def test_instead(self) -> None:
        self.assertEqual(told(), scenario.load(SHIPPED / "two-equal.toml"))
        item = told("--rate", "4gbit", "--mtu", "9000", "--offloads", "off")
        self.assertEqual((item.link.rate, item.link.mtu, item.link.offloads), (4e9, 9000, False))
        self.assertTrue(told("--offloads", "on").link.offloads)
        self.assertEqual(told("--coalesce", "30us").link.coalesce, 30e-6)
        self.assertEqual({job.flows for job in told("--flows", "8", name="mixed-flows").jobs}, {8})


def on_link(**more: Any) -> link.Link:
    """A link of 1 Gb/s, and more."""
    return link.parse(FAST | more)


def features_of(item: link.Link, device: str) -> str:
    """What the lines of sh set for a device."""
    lines = [line for line in offloads.tuning(item) if f"{device})" in line or "  *)" in line]
    return (lines or offloads.tuning(item))[0].split("'")[1]


class Offloads(unittest.TestCase):
    """Who has which, and what makes frames."""

    def test_default(self) -> None:
        self.assertTrue(on_link(limit="128KiB").offloads)
        # one hand-over does not fit twice
        self.assertFalse(on_link(limit="100KiB").offloads)
        self.assertTrue(on_link(limit="100KiB", offloads=True).offloads)
        self.assertFalse(link.parse({"rate": "60mbit"}, offloads=False).offloads)

    def test_gso_bytes(self) -> None:
        self.assertEqual(on_link().gso_bytes, 65_536)
        self.assertEqual(on_link().scaled(0.2).gso_bytes, 13_107)
        self.assertEqual(on_link(offloads=False, mtu=9000).gso_bytes, 18_100)

    def test_by_hosts(self) -> None:
        """Where BPF looks at packets before the queue has them."""
        for red, queue, there in (
            (True, "red-ecn", False),
            (False, "red-ecn", True),
            (False, "policer", True),
            (False, "droptail", False),
        ):
            with mock.patch.object(features, "has_qdisc", return_value=red):
                item = on_link(queue=queue)
                self.assertEqual(offloads.cut_by_hosts(item), there)
                self.assertFalse(offloads.cut_by_hosts(replace(item, offloads=False)))
                tso = "tso off" if there else "tso on"
                self.assertIn(tso, features_of(item, "eth*"))

    def test_joined(self) -> None:
        """At the end of the link, but for frames that are yet to be lost."""
        self.assertIn("tso off gso on gro on", features_of(on_link(), "core*"))
        self.assertIn("gro off", features_of(on_link(loss=0.01), "core*"))
        # moderated, a hop later
        self.assertIn("gro on", features_of(on_link(loss=0.01, coalesce="30us"), "core*"))
        self.assertIn("gro off", features_of(on_link(), "h0p0"))
        self.assertIn("gro off", features_of(on_link(offloads=False), "core*"))

    def test_burst(self) -> None:
        """Half a millisecond of the rate, and never less than a few frames."""
        self.assertIn("mtu 9100", offloads.cutter(on_link(mtu=9000)))
        for rate, mtu, burst in ((1e9, 1500, 62_500), (1e6, 1500, 5_000), (1e6, 9000, 27_000)):
            self.assertEqual(bottleneck.burst(rate, mtu), burst)
