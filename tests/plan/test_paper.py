# SPDX-License-Identifier: GPL-2.0
"""The examples of Congestion Control in Machine Learning Clusters (HotNets'22), section 2 and 3."""

import unittest

from common import Json, answer, job, on_one_link

# Table 1: jobs by iteration time under fair and unfair sharing, and whether the paper calls the
# group fully compatible. It gives no arcs, so they are inferred here: a job's period is the smaller
# of the two times, as neither can be less than that of the job alone, and its phase what the other
# time has more, the part of the iteration that the other jobs were in the way of.
TABLE_1 = (
    ((("BERT", 183, 157), ("VGG19", 297, 315)), False),
    ((("DLRM-a", 1301, 1001), ("DLRM-b", 1300, 1019)), True),
    ((("BERT", 320, 216), ("VGG19", 494, 466), ("WideResNet", 466, 505)), False),
    ((("WideResNet", 295, 273), ("VGG16", 294, 274)), True),
    ((("VGG19", 389, 329), ("VGG16", 389, 329), ("ResNet50", 167, 165)), True),
)


def inferred(name: str, fair: int, unfair: int) -> Json:
    """The job behind a line of Table 1."""
    period, phase = min(fair, unfair), abs(fair - unfair)
    return job(name, period, (period - phase, phase))


class Paper(unittest.TestCase):
    """What the paper says comes out."""

    def test_vgg16_pair(self) -> None:
        """Figure 3: 255 ms, the first 141 ms are compute; figure 4: two of them are compatible."""
        pair = on_one_link(job("a", 255, (141, 114)), job("b", 255, (141, 114)))
        found = answer(pair)
        self.assertTrue(found["compatible"])
        self.assertEqual(found["score_mean"], 1)
        a, b = (one["shift_ms"] for one in found["jobs"])
        self.assertTrue(114 <= (b - a) % 255 <= 141)

    def test_three_of_them(self) -> None:
        """Three times 114 ms do not fit into 255 ms; what is over is over, and that is proven."""
        found = answer(on_one_link(*(job(name, 255, (141, 114)) for name in "abc")))
        self.assertIs(found["compatible"], False)
        self.assertTrue(found["proven"])
        self.assertAlmostEqual(found["score_mean"], 1 - (3 * 114 - 255) / 255)

    def test_unified_circle(self) -> None:
        """Figure 5: 40 ms and 60 ms on 120 units, and a rotation by 30 degrees.

        The figure's arcs are not in the text. Arcs of 10 ms that begin together collide as in 5c,
        and fit after 30 degrees, modulo the 20 ms in which both periods repeat, as in 5d.
        """
        pair = on_one_link(job("J1", 40, (0, 10)), job("J2", 60, (0, 10), fixed=True))
        for precision in (72, None):
            found = answer(pair, steps=precision)
            self.assertTrue(found["compatible"])
            self.assertEqual(found["components"][0]["perimeter_ms"], 120)
            self.assertEqual(found["links"][0]["perimeters_ms"], [120])
            self.assertEqual(found["jobs"][0]["rotation_deg"] % 60, 30)

    def test_unified_circle_without_room(self) -> None:
        """Within any 20 ms both jobs want the link once, so 10 ms and a bit are too much."""
        pair = on_one_link(job("J1", 40, (0, 10.5)), job("J2", 60, (0, 10)))
        for precision in (72, None):
            found = answer(pair, steps=precision)
            self.assertIs(found["compatible"], False)
            self.assertTrue(found["proven"])
            self.assertAlmostEqual(found["score_mean"], 1 - 0.5 / 120)

    def test_table_1(self) -> None:
        for rows, compatible in TABLE_1:
            found = answer(on_one_link(*(inferred(*row) for row in rows)), strict=True)
            self.assertIs(found["compatible"], compatible, rows)

    def test_table_1_needs_the_tolerance(self) -> None:
        """1001 ms and 1019 ms never stay interleaved by themselves; the drift says so."""
        pair = on_one_link(*(inferred(*row) for row in TABLE_1[1][0]))
        self.assertIs(answer(pair, strict=True, tolerance=0.0)["compatible"], False)
        drifts = [one.get("drift") for one in answer(pair, strict=True)["jobs"]]
        self.assertEqual(drifts[0]["us_per_iteration"] // 1000, 18)
        self.assertFalse(drifts[0]["holds"])
