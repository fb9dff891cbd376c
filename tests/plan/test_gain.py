# SPDX-License-Identifier: GPL-2.0
"""What mlcc would save: observations whose answer is known."""

import copy
import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from common import Json, program


def in_step(alone: int, names: str = "ab", iterations: int = 40) -> Json:
    """Jobs that take alone % of 100 ms for a phase, all at once under a fair share."""
    comm = 1000 * alone * len(names)
    starts = [10**15 + i * (1000 * (100 - alone) + comm) for i in range(iterations)]
    rows = [{"start_us": start, "comm_us": comm, "bytes": 10**7} for start in starts]
    jobs = [{"name": name, "first": "network", "iterations": rows} for name in names]
    pairs = [{"job": names[0], "with": name, "device": "eth0"} for name in names[1:]]
    return {"seconds": 9.0, "jobs": jobs, "overlaps": pairs}


def told(*seen: Json) -> list[Json]:
    """What mlcc-plan says of each job."""
    with TemporaryDirectory() as folder:
        files = [Path(folder, str(number)) for number in range(len(seen))]
        for file, one in zip(files, seen, strict=True):
            file.write_text(json.dumps(one))
        result = program("-j", "gain", *map(str, files))
    assert not result.returncode and not result.stderr, result.stderr
    return json.loads(result.stdout)["jobs"]


class Known(unittest.TestCase):
    """Jobs whose iterations under mlcc follow from their phases."""

    def check(self, observed: float, mlcc: float, *seen: Json) -> None:
        for job in told(*seen):
            self.assertEqual((job["iteration_ms"], job["alone_ms"]), (observed, 100))
            self.assertAlmostEqual(job["mlcc_ms"], mlcc, delta=1)
            self.assertAlmostEqual(job["saved"], 1 - mlcc / observed, delta=0.01)
            low, high = job["interval"]
            self.assertTrue(low < job["saved"] < high)
            self.assertEqual(job["verdict"] == "saves", observed > 100)

    def test_one_file(self) -> None:
        self.check(144, 100, in_step(44))  # they fit
        self.check(165, 130, in_step(65))  # and take turns
        self.check(100, 100, in_step(44, "a"))  # alone

    def test_several_files_are_one_link(self) -> None:
        one, other = in_step(44), in_step(44)
        del one["jobs"][1], other["jobs"][0]
        one["overlaps"] = other["overlaps"] = []
        self.check(144, 100, one, other)

    def test_a_job_of_several_hosts_is_one(self) -> None:
        few = in_step(44, "a", iterations=5)
        self.check(144, 100, few, in_step(44), few)

    def test_who_never_sends_at_once_shares_no_link(self) -> None:
        for job in told({**in_step(44), "overlaps": []}):
            self.assertEqual((job["mlcc_ms"], job["verdict"]), (144, "no certain difference"))

    def test_a_person_reads_it(self) -> None:
        result = program("gain", stdin=json.dumps(in_step(44)))
        self.assertRegex(result.stdout, r"(?m)^b +144.0 +100.0 +100.\d +30.\d  2\d.\d to 3\d.\d$")


class TooLittle(unittest.TestCase):
    """No figures of what was hardly seen."""

    def test_few_iterations(self) -> None:
        result = program("gain", stdin=json.dumps(in_step(44, iterations=10)))
        self.assertRegex(result.stdout, r"(?m)^b +cannot tell: 9 iterations .* not 10$")

    def test_beside_a_job_without_phases(self) -> None:
        seen = in_step(44)
        seen["jobs"][1]["iterations"] = []
        self.assertEqual([job["verdict"] for job in told(seen)], ["cannot tell"] * 2)

    def test_too_much_to_simulate(self) -> None:
        seen, quick = in_step(44), in_step(44, "q")["jobs"][0]["iterations"]
        quick = [{**row, "start_us": i, "comm_us": 1} for i, row in enumerate(quick)]
        seen["jobs"][1]["iterations"] = quick
        self.assertRegex(told(seen)[0]["why"], "too much")


class Refused(unittest.TestCase):
    """One line, and status 1."""

    def test_broken(self) -> None:
        good = in_step(44)
        for place, key, value, word in (
            (("jobs", 0), "name", "a\x1b", "name"),
            (("jobs", 1), "name", "a", "twice"),
            (("jobs", 0), "iterations", {}, "list"),
            (("jobs", 0, "iterations", 1), "start_us", 10**400, "start_us"),
            (("jobs", 0, "iterations", 1), "comm_us", 10**6, "before"),
            (("overlaps", 0), "with", None, "with"),
            ((), "jobs", [5], "object"),
        ):
            bad = at = copy.deepcopy(good)
            for step in place:
                at = at[step]
            at[key] = value
            self.refused(json.dumps(bad), word)
        self.refused('{"jobs": []}', "overlaps")

    def refused(self, text: str, word: str) -> None:
        result = program("gain", stdin=text)
        self.assertEqual((result.returncode, result.stdout), (1, ""), text[:80])
        self.assertRegex(result.stderr, rf"^mlcc-plan: .*{word}.*\n$")


if __name__ == "__main__":
    unittest.main()
