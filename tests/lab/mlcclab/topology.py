# SPDX-License-Identifier: GPL-2.0
"""The emulated cluster: a dumbbell of network namespaces.

    h0 ──┐                                         ┌── h3 (right-hand workers)
    h1 ──┤ left ══ bottleneck queue ═ [wire] ══ right
    h2 ──┘                                         (receivers live here)

Every sending host has its own namespace and its own veth link (one per path).
Those that only receive share the right router's: a hop less costs a third less
CPU, and a receiver needs no link of its own. Both ends of the middle link carry
the same queue, so that it is full duplex; the wire namespace exists only where
netem has to delay, lose or reorder packets: behind the queue, so that the queue holds
only packets that really wait. Where the link has no rate there is no bottleneck: both
routers are one namespace, a hop from each host, where the receivers live.

Two things make the emulation honest, both verified by measurement:
  * The queue counts frames of 1514 bytes (9014 with jumbo frames), so that goodput
    is rate * 1448 / 1514. What makes frames of what senders hand over: offloads.py.
    Without offloads they hand over two frames at most, and nobody joins them again.
  * Receive packet steering pins every device to one CPU. Otherwise packets
    that one CPU and then another take out of the queue overtake each other,
    and TCP sees losses that no queue made.
"""

from dataclasses import dataclass

from . import features, machine, offloads, rdma, shell, wire
from .bottleneck import Bottleneck, LinkCounters, tc
from .link import FREE_DELAY_S, Link

PREFIX = "mlcc-lab-"
# netem must never be the queue that drops: 100000 frames are 1.2 s at 1 Gb/s.
NETEM_LIMIT = 100_000
# 10.16.0.0 is the first path of the hosts on the left, 10.17.0.0 the second, ...
LEFT_SUBNET = 16
FIRST_TABLE = 200
# What one connection may have between its socket and the router, in frames. A veth
# link is infinitely fast: without a bound a whole window arrives at once, and the
# kernel's backlog (1000 packets for all devices of a CPU) drops it before the
# bottleneck ever sees it. All connections together stay well below that. Super-packets
# count as one there: what they need is the kernel's own bound.
LOCAL_BYTES_ALL = 400 * 1514
LOCAL_BYTES_MAX = 128 * 1024
LOCAL_BYTES_MIN = 8 * 1024

SYSCTLS = {
    "net.ipv4.ip_forward": "1",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_rmem": "4096 131072 16777216",
    "net.ipv4.tcp_wmem": "4096 65536 16777216",
}


@dataclass(frozen=True)
class Host:
    """A namespace at the edge, with one address per path."""

    namespace: str
    addresses: tuple[str, ...]
    device: rdma.Device | None = None


class Topology:
    """Builds the cluster; a context manager that always takes it down."""

    def __init__(
        self, link: Link, tag: str, connections: int, driver: rdma.Driver | None = None
    ) -> None:
        """driver: every host gets one of its devices."""
        self.link = link
        self.driver = driver
        self.tag = tag
        ecn = "1" if link.queue == "red-ecn" else "2"
        self.settings = {**SYSCTLS, "net.ipv4.tcp_ecn": ecn}
        if not link.offloads or offloads.cut_by_hosts(link):
            share = LOCAL_BYTES_ALL // max(1, connections)
            share = max(LOCAL_BYTES_MIN, min(LOCAL_BYTES_MAX, share))
            self.settings["net.ipv4.tcp_limit_output_bytes"] = str(share)
        self.namespaces: list[str] = []
        self.hosts = 0
        self.left = self.right = ""
        self.receivers = self.wire = self.sink = ""
        self.bottlenecks: list[Bottleneck] = []
        self.now = link  # with the changes of a run

    def __enter__(self) -> "Topology":
        try:
            self._build_middle()
        except BaseException:
            self.destroy()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()

    def destroy(self) -> None:
        """Remove every namespace; their links go with them."""
        while self.namespaces:
            shell.attempt(["ip", "netns", "del", self.namespaces.pop()])

    def add_host(self, side: str) -> Host:
        """Attach a host to the left or to the right router."""
        index, self.hosts = self.hosts, self.hosts + 1
        namespace = self._namespace(f"h{index}")
        router = self.left if side == "left" else self.right
        base = LEFT_SUBNET if side == "left" else 128
        addresses = []
        for number in range(self.link.paths):
            subnet = f"10.{base + number}.{index}"
            device = f"h{index}p{number}"
            self._veth(router, device, f"{subnet}.1", namespace, f"eth{number}", f"{subnet}.2")
            self._source_route(namespace, number, subnet)
            addresses.append(f"{subnet}.2")
        self._tune(namespace)
        device = self.driver.add(namespace, "eth0") if self.driver else None
        return Host(namespace, tuple(addresses), device)

    def receiver(self) -> Host:
        """Where everything listens that never sends."""
        return Host(self.sink or self.right, (self.receivers,))

    def seal(self) -> None:
        """Tune the routers once all their devices exist."""
        for namespace in self.namespaces:
            if not namespace.startswith(f"{PREFIX}{self.tag}-h"):
                self._tune(namespace)

    def counters(self) -> LinkCounters:
        """Read the bottleneck's counters."""
        if not self.link.shaped:
            return LinkCounters(0, 0, 0)
        read = [each.counters() for each in self.bottlenecks if each.router == self.left]
        return LinkCounters(
            sum(each.bytes for each in read),
            sum(each.drops for each in read),
            sum(each.marks for each in read),
        )

    def change(self, link: Link) -> None:
        """The same link with another rate or delay: what waits in queues stays there."""
        if link.rate != self.now.rate:
            for bottleneck in self.bottlenecks:
                bottleneck.change_rate(link.one_path.rate)
        if link.delay != self.now.delay:
            self._shape_wire(link, "change")
        self.now = link

    def _namespace(self, name: str) -> str:
        namespace = f"{PREFIX}{self.tag}-{name}"
        shell.run(["ip", "netns", "add", namespace])
        self.namespaces.append(namespace)
        shell.run(["ip", "-n", namespace, "link", "set", "lo", "up"])
        return namespace

    def _veth(self, ns_a: str, dev_a: str, addr_a: str, ns_b: str, dev_b: str, addr_b: str) -> None:
        mtu = str(self.link.mtu)
        shell.run(
            ["ip", "link", "add", dev_a, "mtu", mtu, "netns", ns_a]
            + ["type", "veth", "peer", "name", dev_b, "mtu", mtu, "netns", ns_b]
        )
        for namespace, device, address in ((ns_a, dev_a, addr_a), (ns_b, dev_b, addr_b)):
            script = f"addr add {address}/30 dev {device}\n"
            script += (
                f"link set {device} gso_max_size {self.link.gso_bytes}\nlink set {device} up\n"
            )
            shell.run(["ip", "-n", namespace, "-batch", "-"], script)

    def _build_hub(self) -> None:
        """No bottleneck: the hosts' links end where the receivers are."""
        self.left = self.right = hub = self._namespace("middle")
        self.receivers = "10.0.0.2"
        shell.run(["ip", "-n", hub, "addr", "add", f"{self.receivers}/32", "dev", "lo"])

    def _build_middle(self) -> None:
        if not self.link.shaped:
            self._build_hub()
            return
        self.left, self.right = self._namespace("left"), self._namespace("right")
        netem_loses = self.link.loss > 0 and features.has_qdisc("netem")
        if self.link.wired or netem_loses:
            self._build_wire()
            gateways = ("10.0.0.2", "10.0.1.1")
            self.receivers = "10.0.1.2"
        else:
            self._veth(self.left, "core", "10.0.0.1", self.right, "core", "10.0.0.2")
            gateways = ("10.0.0.2", "10.0.0.1")
            self.receivers = "10.0.0.2"
        for number in range(1, self.link.paths):
            self._build_beside(number)
        for router, gateway in zip((self.left, self.right), gateways, strict=True):
            shell.run(["ip", "-n", router, "route", "add", "default", "via", gateway])
            for device in ["core", *(f"core{number}" for number in range(1, self.link.paths))]:
                queue = Bottleneck(self.link.one_path, router, device, bool(self.driver))
                self.bottlenecks.append(queue)
            if self.driver:
                self.driver.add(router, "core")
            if self.link.loss and not netem_loses:
                wire.loser(router, "core", self.link.loss)
        if self.link.coalesce:
            self._moderate()

    def _build_beside(self, number: int) -> None:
        """One more bottleneck, for all hosts' paths of that number, as their addresses say."""
        device, left, right = f"core{number}", f"10.1.{number}.1", f"10.1.{number}.2"
        self._veth(self.left, device, left, self.right, device, right)
        subnet, table = f"10.{LEFT_SUBNET + number}.0.0/16", FIRST_TABLE + number
        there = f"route add default via {right} dev {device} table {table}\n"
        there += f"rule add from {subnet} lookup {table}\n"
        shell.run(["ip", "-n", self.left, "-batch", "-"], there)
        shell.run(["ip", "-n", self.right, "route", "add", subnet, "via", left, "dev", device])

    def _build_wire(self) -> None:
        self.wire = middle = self._namespace("wire")
        self._veth(self.left, "core", "10.0.0.1", middle, "left", "10.0.0.2")
        self._veth(middle, "right", "10.0.1.1", self.right, "core", "10.0.1.2")
        routes = "route add 10.16.0.0/12 via 10.0.0.1\nroute add 10.128.0.0/12 via 10.0.1.2\n"
        shell.run(["ip", "-n", middle, "-batch", "-"], routes)
        self._shape_wire(self.link, "add")

    def _moderate(self) -> None:
        """Take packets in at the ends of the link as by moderated interrupts.

        The receivers move a hop further, so that what came at once is joined there. What timers are
        late by on this machine is taken off.
        """
        wait = self.link.coalesce
        flush_ns = max(1000, round((wait - machine.timer_lateness_s(wait)) * 1e9))
        for router in (self.left, self.right):
            wire.moderate(router, "core", flush_ns)
        self.sink = sink = self._namespace("sink")
        self._veth(self.right, "sink", "10.0.2.1", sink, "eth0", "10.0.2.2")
        shell.run(["ip", "-n", sink, "route", "add", "default", "via", "10.0.2.1"])
        if self.wire:
            shell.run(["ip", "-n", self.wire, "route", "add", "10.0.2.0/30", "via", "10.0.1.2"])
        self.receivers = "10.0.2.2"

    def _shape_wire(self, link: Link, verb: str) -> None:
        """Each device does it to what it sends: "left" to ACKs, as a rule."""
        slots = {"right": (0.0, link.jitter), "left": (0.0, link.jitter)}
        if link.ack_slot:
            slots["left"] = (link.ack_slot, link.ack_slot)
        for device, slot in slots.items():
            tc(self.wire, device, "root", _netem(link, slot), verb)

    def _source_route(self, namespace: str, number: int, subnet: str) -> None:
        default = f"route add default via {subnet}.1 dev eth{number}"
        script = f"{default}\n"
        if number:
            table = 100 + number
            script = f"{default} table {table}\nrule add from {subnet}.2 lookup {table}\n"
        shell.run(["ip", "-n", namespace, "-batch", "-"], script)

    def _tune(self, namespace: str) -> None:
        """Sysctls, offloads and steering of one namespace, in one process."""
        mask = machine.network_cpu_mask()
        lines = [f"echo '{v}' > /proc/sys/{k.replace('.', '/')}" for k, v in self.settings.items()]
        lines += [
            "for dev in /sys/class/net/*; do",
            '  name=${dev##*/}; [ "$name" = lo ] && continue',
            *offloads.tuning(self.link),
            f'  for queue in "$dev"/queues/rx-*/rps_cpus; do echo {mask} > "$queue"; done',
            "done",
        ]
        shell.run(["ip", "netns", "exec", namespace, "sh", "-e"], "\n".join(lines) + "\n")


def _netem(link: Link, slot: tuple[float, float]) -> str:
    """Packets leave in slots that are between so far apart, and in order but for reorder."""
    words = [f"netem limit {NETEM_LIMIT}"]
    if link.delay > FREE_DELAY_S:
        words.append(f"delay {link.delay * 1e6:.0f}us")
    if link.loss:
        words.append(f"loss {link.loss * 100:.6f}%")
    if link.reorder:
        words.append(f"reorder {link.reorder * 100:.6f}%")
    if max(slot):
        words.append("slot {:.0f}us {:.0f}us".format(*(end * 1e6 for end in slot)))
    return " ".join(words)


def remove_stale() -> None:
    """Take down what a killed lab left. Only for the holder of the lab's lock."""
    for line in shell.run(["ip", "netns", "list"]).splitlines():
        name = line.split()[0] if line.split() else ""
        if name.startswith(PREFIX):
            shell.attempt(["ip", "netns", "del", name])
