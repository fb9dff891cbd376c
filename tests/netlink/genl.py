# SPDX-License-Identifier: GPL-2.0
"""Generic netlink by hand, so that messages can be wrong in every way.

An attribute is a pair (type, payload); a payload is bytes, an int (u32), a str (with its NUL), or a
list of attributes (a nest).
"""

import contextlib
import os
import socket
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import family as spec

NETLINK_GENERIC = 16
SOL_NETLINK = 270
ADD_MEMBERSHIP, CAP_ACK, EXT_ACK = 1, 10, 11
REQUEST, MULTI, ACK, DUMP = 0x1, 0x2, 0x4, 0x300
ACK_TLVS, CAPPED = 0x200, 0x100
ERROR, DONE = 2, 3
NESTED, TYPE_MASK = 0x8000, 0x3FFF
GENL_ID_CTRL, CTRL_GETFAMILY = 16, 3
ATTR_FAMILY_ID, ATTR_FAMILY_NAME, ATTR_MCAST_GROUPS = 1, 2, 7
ATTR_GRP_NAME, ATTR_GRP_ID = 1, 2
EXTACK_MSG = 1

Payload = "bytes | int | str | list[Attr]"
Attr = tuple[int, Payload]


class Refused(Exception):
    """The kernel's error number, with the text of its extended ACK."""

    def __init__(self, errno: int, text: str) -> None:
        super().__init__(f"{os.strerror(errno)}: {text or 'no text'}")
        self.errno = errno
        self.text = text


@dataclass(frozen=True)
class Message:
    kind: int
    flags: int
    sequence: int
    body: bytes

    @property
    def command(self) -> int:
        return self.body[0]


def raw_attribute(kind: int, payload: bytes, length: int | None = None) -> bytes:
    """With a length that may be a lie."""
    said = 4 + len(payload) if length is None else length
    return struct.pack("=HH", said, kind) + payload + b"\0" * (-len(payload) % 4)


def encode(attributes: Iterable[Attr]) -> bytes:
    out = b""
    for kind, payload in attributes:
        if isinstance(payload, list):
            out += raw_attribute(kind | NESTED, encode(payload))
        elif isinstance(payload, str):
            out += raw_attribute(kind, payload.encode() + b"\0")
        elif isinstance(payload, int):
            out += raw_attribute(kind, struct.pack("=I", payload))
        else:
            out += raw_attribute(kind, payload)
    return out


def decode(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            break
        found[kind & TYPE_MASK] = data[4:length]
        data = data[length + (-length % 4) :]
    return found


def _messages(data: bytes) -> Iterator[Message]:
    while len(data) >= 16:
        length, kind, flags, sequence = struct.unpack_from("=IHHI", data)
        yield Message(kind, flags, sequence, data[16:length])
        data = data[length + (-length % 4) :]


class Genl:
    """A socket of the family; `with` closes it."""

    def __init__(self, family: str = spec.NAME) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.setsockopt(SOL_NETLINK, EXT_ACK, 1)
        self.socket.setsockopt(SOL_NETLINK, CAP_ACK, 1)
        self.socket.bind((0, 0))
        self.sequence = 0
        self.family = GENL_ID_CTRL
        (reply,) = self.call(CTRL_GETFAMILY, encode([(ATTR_FAMILY_NAME, family)]))
        about = decode(reply[4:])
        (self.family,) = struct.unpack("=H", about[ATTR_FAMILY_ID])
        self.groups = dict(self._groups(about.get(ATTR_MCAST_GROUPS, b"")))

    def __enter__(self) -> "Genl":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    @staticmethod
    def _groups(data: bytes) -> Iterator[tuple[str, int]]:
        for group in decode(data).values():
            attributes = decode(group)
            name = attributes[ATTR_GRP_NAME].rstrip(b"\0").decode()
            yield name, struct.unpack("=I", attributes[ATTR_GRP_ID])[0]

    def _message(self, command: int, body: bytes, flags: int, reserved: int = 0) -> bytes:
        self.sequence += 1
        body = struct.pack("=BBH", command, 1, reserved) + body
        head = struct.pack("=IHHII", 16 + len(body), self.family, REQUEST | flags, self.sequence, 0)
        return head + body

    def send(self, command: int, body: bytes = b"", flags: int = ACK, reserved: int = 0) -> int:
        self.socket.send(self._message(command, body, flags, reserved))
        return self.sequence

    def call_all(self, command: int, bodies: Sequence[bytes], at_once: int = 200) -> None:
        """Requests that have no replies, many in one send; raises the first refusal."""
        for i in range(0, len(bodies), at_once):
            *others, last = bodies[i : i + at_once]
            first = self.sequence + 1
            quiet = b"".join(self._message(command, body, 0) for body in others)
            self.socket.send(quiet + self._message(command, last, ACK))
            self._replies(first)

    def receive(self) -> Iterator[Message]:
        yield from _messages(self.socket.recv(1 << 20))

    def call(self, command: int, body: bytes = b"", flags: int = ACK, **more: int) -> list[bytes]:
        """Bodies of the replies; raises Refused."""
        return self._replies(self.send(command, body, flags, **more))

    def _replies(self, first: int) -> list[bytes]:
        """To the requests from that one on, until the last one is done."""
        replies: list[bytes] = []
        while True:
            for message in self.receive():
                if message.sequence < first:
                    continue
                if message.kind not in (ERROR, DONE):
                    replies.append(message.body)
                    continue
                self._check(message)
                if message.sequence == self.sequence:
                    return replies

    @staticmethod
    def _check(message: Message) -> None:
        (error,) = struct.unpack_from("=i", message.body)
        if not error:
            return
        skip = 4 if message.kind == DONE else 20
        tlvs = decode(message.body[skip:]) if message.flags & ACK_TLVS else {}
        raise Refused(-error, tlvs.get(EXTACK_MSG, b"").rstrip(b"\0").decode())

    def join(self, group: str) -> None:
        self.socket.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, self.groups[group])

    def events(self, timeout: float) -> Iterator[Message]:
        """Until nothing has come for that many seconds."""
        self.socket.settimeout(timeout)
        with contextlib.suppress(TimeoutError):
            while True:
                for message in self.receive():
                    if message.kind == self.family and message.sequence == 0:
                        yield message
