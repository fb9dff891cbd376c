# SPDX-License-Identifier: GPL-2.0
"""Two small models in the style of the usual ones, and something for them to learn.

Many parameters and little to compute: as a share of an iteration, communication is as in a cluster
of accelerators. Neither has buffers, which DDP would broadcast in every forward pass.
"""

import torch
from torch import Tensor, nn

CLASSES = 10
SAMPLES = 16
BATCH = 2
CHANNELS, SIDE, BLOCKS = 64, 4, 8
WIDTH, TOKENS, LAYERS, HEADS = 128, 8, 3, 4
VOCABULARY = 64


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(2):
            layers += [
                nn.ReLU(),
                nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False),
                nn.GroupNorm(8, CHANNELS),
            ]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


class Transformer(nn.Module):
    """An encoder over a few tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encoder(self.embedding(x)).mean(1))


def resnet() -> nn.Module:
    """A residual network on small pictures."""
    blocks = [Block() for _ in range(BLOCKS)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(CHANNELS, CLASSES)]
    return nn.Sequential(nn.Conv2d(3, CHANNELS, 3, padding=1), *blocks, *head)


def build(name: str) -> nn.Module:
    """By the name that the job has."""
    return {"resnet": resnet, "transformer": Transformer}[name]()


def samples(name: str, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """All that a rank ever sees: pictures or sentences, with random labels to learn by heart."""
    labels = torch.randint(CLASSES, (SAMPLES,), generator=generator)
    if name == "resnet":
        return torch.randn(SAMPLES, 3, SIDE, SIDE, generator=generator), labels
    return torch.randint(VOCABULARY, (SAMPLES, TOKENS), generator=generator), labels


def gradient_bytes(model: nn.Module) -> int:
    """What an all-reduce of all gradients has."""
    return sum(p.numel() * p.element_size() for p in model.parameters())
