# SPDX-License-Identifier: GPL-2.0
"""A /sys whose files answer as the drivers' do: a FUSE file system in a process of its own.

Plain files take every write and never go away under an open directory; only a file system can
refuse a value, keep it back, round it, or lose its files in the middle of something.

What it is to be is a tree of nodes (below).  A test changes it while it is mounted, through the
file /.control: a line of JSON is a command, and reading it gives what has been written to all the
others since the last time, as pairs of path and text.
"""

import errno
import json
import multiprocessing
import os
import stat
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

CONTROL = "/.control"


@dataclass
class Knob:
    """A file with a number.

    kind is the driver: "plain" (kstrtou32), "mlx5" (of at most 11 bytes), "ofed" (sscanf whose
    failure is ignored), "configfs" (shown as 0x), "configfs-apply" (hexadecimal in any case, kept
    until 1 is written to apply), "parameter" (of a module, only to be read).
    """

    kind: str
    value: int
    sets: str | None = None  # "name=value" of a neighbour that a write changes, too
    mode: int = 0o600


Tree = dict[str, Any]  # a path of /sys to a Knob, to a text ("..."), or to a link ("->...")


def taken(knob: Knob, text: str) -> int:
    """What the value is after a write, as the driver has it."""
    if knob.kind == "parameter":
        raise OSError(errno.EACCES, "no store function")
    if knob.kind == "configfs-apply":
        return int(text, 16) & 0xFF
    if knob.kind == "mlx5" and len(text) > 11:
        raise OSError(errno.EINVAL, "longer than the buffer")
    try:
        return int(text.strip(), 10 if knob.kind == "ofed" else 0)
    except ValueError:
        if knob.kind == "ofed":
            return 0xDEAD  # what was on the driver's stack
        raise OSError(errno.EINVAL, "no number") from None


class Sys:
    """The tree, the faults, and the log of writes; knows nothing of FUSE."""

    def __init__(self, tree: Tree) -> None:
        self.defaults = tree
        self.do_anew()

    def do_anew(self) -> None:
        """As it was when it was mounted."""
        self.tree: Tree = {path: copy(node) for path, node in self.defaults.items()}
        self.gone: list[str] = []
        self.errors: dict[str, dict[str, int]] = {"open": {}, "read": {}, "write": {}}
        self.stuck: set[str] = set()
        self.steps: dict[str, int] = {}
        self.kept: dict[str, int] = {}
        self.log: list[tuple[str, str]] = []

    def command(self, words: dict[str, Any]) -> None:
        getattr(self, "do_" + words.pop("do"))(**words)

    def do_remove(self, prefix: str) -> None:
        self.gone.append(prefix)

    def do_return(self, prefix: str, reset: bool) -> None:
        """The files are back; after a reset of the device with its defaults."""
        self.gone.remove(prefix)
        for path, node in self.defaults.items():
            if reset and path.startswith(prefix):
                self.tree[path] = copy(node)
                self.kept.pop(path, None)

    def do_fail(self, on: str, prefix: str, code: int) -> None:
        """code 0: no longer."""
        self.errors[on].pop(prefix, None)
        if code:
            self.errors[on][prefix] = code

    def do_stuck(self, path: str) -> None:
        """Takes writes, and does nothing."""
        self.stuck.add(path)

    def do_round(self, path: str, step: int) -> None:
        """The hardware has only multiples of step."""
        self.steps[path] = step

    def do_set(self, path: str, value: int) -> None:
        """Somebody else writes."""
        self.tree[path].value = value
        self.kept.pop(path, None)

    def do_text(self, path: str, text: str) -> None:
        self.tree[path] = text

    def is_gone(self, path: str) -> bool:
        return any(path.startswith(prefix) for prefix in self.gone)

    def check(self, on: str, path: str) -> None:
        if self.is_gone(path):
            raise OSError(errno.ENOENT, path)
        for prefix, code in self.errors[on].items():
            if path.startswith(prefix):
                raise OSError(code, path)

    def names(self, folder: str) -> list[str]:
        base = folder.rstrip("/") + "/"
        found = {p[len(base) :].split("/")[0] for p in self.tree if p.startswith(base)}
        return sorted(name for name in found if not self.is_gone(base + name))

    def is_folder(self, path: str) -> bool:
        base = path.rstrip("/") + "/"
        return path == "/" or (
            not self.is_gone(path) and any(p.startswith(base) for p in self.tree)
        )

    def text(self, path: str) -> str:
        self.check("read", path)
        node = self.tree[path]
        if isinstance(node, str):
            return node
        value = self.kept.get(path, node.value)
        return f"{value:#x}\n" if node.kind.startswith("configfs") else f"{value}\n"

    def write(self, path: str, text: str) -> None:
        self.check("write", path)
        self.log.append((path, text))
        node = self.tree[path]
        if isinstance(node, str):
            self.apply(path)
        else:
            self.change(path, node, text)

    def change(self, path: str, knob: Knob, text: str) -> None:
        value = taken(knob, text)
        value -= value % self.steps.get(path, 1)
        if path in self.stuck:
            return
        if knob.kind == "configfs-apply":
            self.kept[path] = value
            return
        knob.value = value
        if knob.sets:
            name, _, other = knob.sets.partition("=")
            self.tree[str(Path(path).with_name(name))].value = int(other)

    def apply(self, path: str) -> None:
        folder = str(Path(path).parent)
        for kept in [p for p in self.kept if str(Path(p).parent) == folder]:
            self.tree[kept].value = self.kept.pop(kept)


def copy(node: Knob | str) -> Knob | str:
    return node if isinstance(node, str) else replace(node)


def operations(sys_tree: Sys) -> Any:
    """What FUSE asks, answered from the tree."""
    import fusepy

    class Operations(fusepy.Operations):
        def __call__(self, op: str, *words: Any) -> Any:
            try:
                return getattr(self, op)(*words)
            except OSError as error:
                raise fusepy.FuseOSError(error.errno) from error

        def getattr(self, path: str, handle: Any = None) -> dict[str, int]:
            node = sys_tree.tree.get(path)
            if path == CONTROL:
                mode = stat.S_IFREG | 0o600
            elif sys_tree.is_gone(path):
                raise OSError(errno.ENOENT, path)
            elif isinstance(node, Knob):
                mode = stat.S_IFREG | node.mode
            elif isinstance(node, str):
                mode = stat.S_IFLNK | 0o777 if node.startswith("->") else stat.S_IFREG | 0o644
            elif sys_tree.is_folder(path):
                mode = stat.S_IFDIR | 0o755
            else:
                raise OSError(errno.ENOENT, path)
            return {"st_mode": mode, "st_nlink": 1, "st_size": 4096}

        def readdir(self, path: str, handle: int) -> list[str]:
            return [".", "..", *sys_tree.names(path)]

        def readlink(self, path: str) -> str:
            return sys_tree.tree[path].removeprefix("->")

        def open(self, path: str, flags: int) -> int:
            if path != CONTROL:
                sys_tree.check("open", path)
            return 0

        def read(self, path: str, size: int, offset: int, handle: int) -> bytes:
            if path != CONTROL:
                return sys_tree.text(path).encode()[offset : offset + size]
            text = json.dumps(sys_tree.log).encode()
            if offset + size >= len(text):
                sys_tree.log.clear()
            return text[offset : offset + size]

        def write(self, path: str, data: bytes, offset: int, handle: int) -> int:
            if path == CONTROL:
                sys_tree.command(json.loads(data))
            else:
                sys_tree.write(path, data.decode())
            return len(data)

        def truncate(self, path: str, length: int, handle: Any = None) -> int:
            return 0

        use_ns = True

    return Operations()


class Mounted:
    """A tree, mounted by a process of its own."""

    def __init__(self, where: Path, tree: Tree) -> None:
        self.where = where
        self.process = multiprocessing.get_context("fork").Process(target=serve, args=(where, tree))
        self.process.start()
        for _ in range(500):
            if (where / CONTROL[1:]).exists():
                return
            time.sleep(0.01)
        raise RuntimeError("the file system is not mounted")

    def do(self, what: str, **words: Any) -> None:
        with open(self.where / CONTROL[1:], "w") as control:
            control.write(json.dumps({"do": what, **words}))

    def writes(self) -> list[tuple[str, str]]:
        return [tuple(pair) for pair in json.loads((self.where / CONTROL[1:]).read_text())]

    def read(self, path: str) -> int:
        """In one piece: a second read(2) could be of another value."""
        file = os.open(self.where / path[1:], os.O_RDONLY)
        try:
            return int(os.read(file, 64), 0)
        finally:
            os.close(file)

    def close(self) -> None:
        subprocess.run(["umount", "-l", str(self.where)], check=False)
        self.process.join(10)
        self.process.kill()
        self.process.join()


def serve(where: Path, tree: Tree) -> None:
    import fusepy

    fusepy.FUSE(
        operations(Sys(tree)),
        str(where),
        foreground=True,
        allow_other=True,  # whom mlccd reads requests as asks for what was opened for it
        nothreads=True,
        direct_io=True,
        attr_timeout=0,
        entry_timeout=0,
        negative_timeout=0,
        use_ino=False,
        default_permissions=False,
        fsname=f"mlcc-fake-{os.getpid()}",
    )
