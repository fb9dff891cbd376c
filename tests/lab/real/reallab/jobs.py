# SPDX-License-Identifier: GPL-2.0
"""What there is to run: sets of jobs, their sizes and their times."""

from dataclasses import dataclass

from mlcclab import units

# What the ranks refuse to differ from: bytes of gradients, in 32-bit floats.
GRADIENT_BYTES = {"resnet": 2_377_256, "transformer": 2_417_192, "allreduce": 2_400_000}
RATE = 2e8  # of the link, bit/s
TORCH_MODELS = ("resnet", "transformer")


@dataclass(frozen=True)
class Job:
    """Two ranks, left and right of the bottleneck, that reduce gradients after each compute."""

    name: str
    model: str
    compute_ms: float
    seed: int

    @property
    def bytes(self) -> int:
        """What each of two ranks sends in an all-reduce, and gets at the same time."""
        return GRADIENT_BYTES[self.model]

    @property
    def comm_ms(self) -> float:
        """How long that occupies the link, in each direction."""
        return units.wire_ms(self.bytes, RATE)


@dataclass(frozen=True)
class JobSet:
    """Jobs that run together; each communicates for the same share of its iteration."""

    name: str
    models: tuple[str, ...]
    share: float
    about: str

    def jobs(self) -> list[Job]:
        """All have one period, set by the largest of them."""
        comm = [units.wire_ms(GRADIENT_BYTES[model], RATE) for model in self.models]
        period = max(comm) / self.share
        return [
            Job(f"{model}{number}", model, round(period - comm_ms, 3), number)
            for number, (model, comm_ms) in enumerate(zip(self.models, comm, strict=True), 1)
        ]


SETS = {
    item.name: item
    for item in (
        JobSet("ddp-2", ("resnet", "transformer"), 0.42, "two DDP jobs over Gloo"),
        JobSet("ddp-3", ("resnet", "transformer", "resnet"), 0.3, "three DDP jobs over Gloo"),
        JobSet("mpi-2", ("allreduce", "allreduce"), 0.45, "two Open MPI all-reduce loops"),
    )
}
