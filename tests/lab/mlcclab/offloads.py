# SPDX-License-Identifier: GPL-2.0
"""Segmentation offloads: what a sender hands over at once, and where it becomes frames.

TCP hands over up to 64 KB at once, and a NIC makes frames of it. So a switch sees a burst of
frames, and drops or marks frames; the NIC at the other end joins them again (GRO). Here the token
bucket of the bottleneck makes the frames, at the door of its queue: it has segmented what is larger
than the `mtu` of its peak rate, and each frame counts, and is dropped, by itself. So it is one
packet still on the hop from the sender to there.

What looks at packets before the queue does (the marks and the policer of wire.bpf.c) must find
frames, too: there the hosts make them, in software.

A veth link joins frames only where its other end is without TSO; it takes them in by NAPI then.
"""

from . import features
from .link import Link

# A second bucket of the token bucket, which segments what its burst cannot hold. It is so fast that
# nothing ever waits for it.
CUTTER_RATE = 2_000_000_000_000
# What VLAN tags and the like may add.
SPARE = 86
SET = 'ethtool -K "$name" $features >/dev/null'


def cut_by_hosts(link: Link) -> bool:
    """Whether frames have to be frames before they come to the queue."""
    marks = link.queue == "red-ecn" and not features.has_qdisc("red")
    return link.offloads and (marks or link.queue == "policer")


def cutter(link: Link) -> str:
    """Words for a token bucket that makes frames."""
    return f"peakrate {CUTTER_RATE}bit mtu {link.frame + SPARE}" if link.offloads else ""


def tuning(link: Link) -> list[str]:
    """Lines of sh that set the offloads of the device $name."""
    if not link.offloads:
        return ["features='tso on gso on gro off'", SET]
    hosts_tso = "off" if cut_by_hosts(link) else "on"
    # Random loss by BPF comes after GRO, and is to lose frames. Where the end of the link waits
    # with its packets, GRO would, too, and join more than one interrupt brings: it is a hop later.
    core_gro = "off" if link.loss and not link.coalesce else "on"
    return [
        "case $name in",
        f"  eth*) features='tso {hosts_tso} gso on gro on';;",
        f"  core*) features='tso off gso on gro {core_gro}';;",
        # netem's, and before receivers that have a namespace
        "  left | right | sink) features='tso off gso on gro off';;",
        "  *) features='tso on gso on gro off';;",
        "esac",
        SET,
    ]
