# SPDX-License-Identifier: GPL-2.0
"""Jobs over NCCL's network plugin interface, `transport = "net"` and `"net-verbs"`.

The plugin is the lab's own over TCP, or over verbs and the kernel's own soft-RoCE; MLCC_NET_CHAIN
names another one. Under "mlcc" the shim libnccl-net-mlcc goes before it.
"""

import os

from . import carrier
from .burst import BINARY
from .errors import SkipError

PLUGINS = {
    "net": BINARY.with_name("libnccl-net-sockets.so"),
    "net-verbs": BINARY.with_name("libnccl-net-verbs.so"),
}
SHIM = carrier.REPOSITORY / "build" / "userspace" / "nccl-net" / "libnccl-net-mlcc.so"


def check() -> None:
    """The shim is this transport's carrier: nothing is loaded into the kernel."""
    if not SHIM.exists():
        raise SkipError(f"{SHIM.name}: not built; run make at the top")


def environment(transport: str, cc: str, device: str) -> dict[str, str] | None:
    """What a job's processes are started with; None: as the lab itself.

    device: of RDMA, for plugins that see those of all namespaces; "": none.
    """
    if transport not in PLUGINS:
        return None
    plugin = os.environ.get("MLCC_NET_CHAIN", str(PLUGINS[transport]))
    environment = {**os.environ, "NCCL_NET_PLUGIN": plugin}
    if carrier.is_mlcc(cc):
        environment |= {"NCCL_NET_PLUGIN": str(SHIM), "MLCC_NET_CHAIN": plugin}
    if device:
        environment["NCCL_IB_HCA"] = f"={device}"
    return environment
