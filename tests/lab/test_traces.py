# SPDX-License-Identifier: GPL-2.0
"""Layer traces: the steps they come to, and how long these take alone."""

import unittest
from typing import Any

from mlcclab import traces
from mlcclab.traces import Step

GOOD: dict[str, Any] = {
    "about": "two layers, of which the second comes twice",
    "source": "made by hand",
    "block": [
        {"layer": [{"forward": {"us": 15, "all_gather": 40}, "weights": {"us": 5}}]},
        {
            "times": 2,
            "layer": [
                {
                    "forward": {"us": 20},
                    "inputs": {"us": 5, "all_reduce": 10},
                    "weights": {"us": 15, "reduce_scatter": 60},
                }
            ],
        },
    ],
}


class Meaning(unittest.TestCase):
    """On examples small enough to check by hand."""

    def test_steps(self) -> None:
        """100 us, and 40 + 2 * (60 + 2 * 10) bytes."""
        backward = [Step(0.15, 0.3, True), Step(0.05, 0.1, False)]
        expected = [Step(0.15, 0.2, False), Step(0.55, 0.3, True), *backward[1:], *backward]
        steps = traces.parse(GOOD)
        # the last layer's weights come behind all of the forward pass; the first one's send nothing
        expected.append(Step(0.05, 0.0, False))
        self.assertEqual([step.overlaps for step in steps], [step.overlaps for step in expected])
        for step, by_hand in zip(steps, expected, strict=True):
            self.assertAlmostEqual(step.compute, by_hand.compute)
            self.assertAlmostEqual(step.send, by_hand.send)

    def test_alone(self) -> None:
        half = 0.5
        for steps, compute, send, period in (
            # all but the last step's is hidden
            ((Step(half, half, True), Step(half, half, True)), 8.0, 2.0, 9.0),
            # the link is the bottleneck from the first step on
            ((Step(half, half, True), Step(half, half, True)), 2.0, 8.0, 9.0),
            # who waits also waits for what was sent before
            ((Step(half, half, True), Step(0.0, half, False), Step(half, 0.0, True)), 2, 4, 6),
            ((Step(half, 1.0, True), Step(half, 0.0, True)), 8.0, 1.0, 8.0),
        ):
            self.assertAlmostEqual(traces.alone(steps, compute, send), period)

    def test_compute_time_for_a_period(self) -> None:
        for name in traces.NAMES:
            for duty in (0.1, 0.5, 0.9):
                steps = traces.load(name)
                compute = traces.compute_for(steps, 300.0, 300.0 * duty)
                with self.subTest(name, duty=duty):
                    self.assertAlmostEqual(traces.alone(steps, compute, 300.0 * duty), 300.0)
            self.assertEqual(sum(traces.shared(steps, 10_000_019)), 10_000_019)

    def test_begins_behind_the_longest_silence(self) -> None:
        wait, late = Step(0.3, 0.5, False), Step(0.4, 0.5, True)
        end = Step(0.3, 0.0, False)
        # 60 - 20 / 2 ms or 60 - 80 / 2 before the first bytes, 40 before the others
        for send, steps in ((20.0, (wait, late, end)), (80.0, (late, end, wait))):
            self.assertEqual(traces.rotated((wait, late, end), 100.0, send), steps)
            for rotated in ((wait, late, end), (late, end, wait)):
                self.assertAlmostEqual(
                    traces.alone(rotated, 100.0, send), traces.alone(steps, 100.0, send)
                )
        # a step that computes while others send is not torn from them
        hides = (Step(0.1, 0.5, True), Step(0.9, 0.5, False))
        self.assertEqual(traces.rotated(hides, 100.0, 10.0), hides)
