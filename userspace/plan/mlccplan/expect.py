# SPDX-License-Identifier: BSD-2-Clause
"""What an iteration of data-parallel training should send, by model, workers and algorithm.

    M bytes of gradients, n workers    all hosts together    a worker
    ring, all-to-all, tree             2 (n-1) M             2 (n-1)/n M
    parameter-server                   2 n M                 M

Ring: Salamy, Network Requirements for Distributed Machine Learning Training in the Cloud (MIT,
2022), equation 3.1; Patarasuk and Yuan (JPDC 69(2), 2009) prove that no all-reduce sends less.
All-to-all: every worker sends a shard to each other one, then its reduced shard. Tree: M up and M
down each of n-1 edges; a worker's share is the mean, that of NCCL's two trees. Servers, which are
no workers: M from and M to each worker. Zerwas et al. measured 5.7 bytes per byte of model
on 4 hosts together, where 2 (n-1) is 6.
"""

from dataclasses import dataclass

ALGORITHMS = ("ring", "tree", "parameter-server", "all-to-all")


@dataclass(frozen=True)
class Step:
    """One iteration of data-parallel training."""

    algorithm: str
    model_bytes: float
    workers: int

    @property
    def in_all(self) -> float:
        pairs = self.workers if self.algorithm == "parameter-server" else self.workers - 1
        return 2 * pairs * self.model_bytes

    @property
    def of_a_worker(self) -> float:
        if self.algorithm == "parameter-server":
            return self.model_bytes
        return self.in_all / self.workers
