#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Cases of module_netlink.sh that are about messages, and what other tests ask and say.

module_netlink.py cases            those that need only the module: "ok NAME" or "not ok NAME"
module_netlink.py mask | unprivileged | own_namespace    others, for which the caller prepares
module_netlink.py ask COMMAND [NAME=VALUE...]
module_netlink.py listen           a line of JSON for each event, until killed
module_netlink.py most             as many jobs as this namespace may have; says how many
module_netlink.py hear ID PROGRESS SECONDS
"""

import contextlib
import ctypes
import json
import os
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "netlink"))

import errno as E  # noqa: E402

from genl import DUMP, Genl, Refused, raw_attribute  # noqa: E402
from mlcc import (  # noqa: E402
    ANSWER,
    ATTR_ANSWER,
    ATTR_JOB,
    ATTR_PROFILE,
    CMD,
    COMMANDS,
    JOB,
    PROFILE,
    WIDE,
    all_jobs,
    answer_nest,
    get_job,
    job_call,
    job_nest,
    job_of,
    profile_nest,
    profiles,
)

CLONE_NEWNET = 0x40000000
PHASE_BYTES_MAX = (1 << 48) - 1
RULES_MAX = 16384
OTHERS_MAX = 12288
NETNS_MAX = 1024
USERS_MAX = 8192
GONE_S = 600
JOB_TAKES = ("NAME", "PROFILE", "PHASE_BYTES", "CLASS")
TOUCHING = ("JOB_NEW", "JOB_SET", "JOB_DEL", "PHASE_START", "PHASE_END")


def refused(errno: int, call: Callable[[], object], text: bool = True) -> None:
    try:
        call()
    except Refused as why:
        assert why.errno == errno, f"{why}, not {os.strerror(errno)}"
        assert why.text or not text, f"{why}"
    else:
        raise AssertionError("was not refused")


def case_the_longest_job_is_taken_and_one_that_is_gone_is_not_there() -> None:
    """The rest of it libmlcc does, in module.sh."""
    with Genl() as nl:
        name = "bert/7:a@b+c-d._" + "x" * 47
        said = {"ID": 65535, "NAME": name, "PROFILE": "mltcp", "PHASE_BYTES": PHASE_BYTES_MAX}
        job_call(nl, "JOB_NEW", **said)
        assert all_jobs(nl) == [said | {"FLOWS": 0}], all_jobs(nl)
        job_call(nl, "JOB_DEL", ID=65535)
        for command in ("JOB_GET", "JOB_DEL", "PHASE_START", "PHASE_END"):
            refused(E.ENOENT, lambda c=command: job_call(nl, c, ID=65535))
        assert all_jobs(nl) == []


def case_classes_are_set_got_and_refused() -> None:
    with Genl() as nl:
        for name in ("latency", "background"):
            job_call(nl, "JOB_SET", ID=5, CLASS=name)
            assert get_job(nl, 5) == {"ID": 5, "CLASS": name, "PHASE_BYTES": 0, "FLOWS": 0}
            both = {"CLASS": name, "PHASE_BYTES": 1}
            refused(E.EINVAL, lambda said=both: job_call(nl, "JOB_SET", ID=5, **said))
            assert get_job(nl, 5)["CLASS"] == name, "what was refused has changed it"
        job_call(nl, "JOB_SET", ID=5, CLASS="training", PHASE_BYTES=7)
        assert get_job(nl, 5) == {"ID": 5, "PHASE_BYTES": 7, "FLOWS": 0}, get_job(nl, 5)
        job_call(nl, "JOB_DEL", ID=5)


def case_profiles_are_got_and_set() -> None:
    with Genl() as nl:
        before = profiles(nl)
        assert list(before) == ["interleave", "hotnets22", "mltcp"]
        assert before["interleave"].get("DEFAULT") and not before["mltcp"].get("DEFAULT")
        changed = {"NAME": "mltcp", "SHAPE": 3, "BASE": "cubic", "RESTART": "base"}
        nl.call(CMD["PROFILE_SET"], profile_nest(**changed, FLOOR=4096, HOLD=64512, DEFAULT=True))
        after = profiles(nl)
        expected = before["mltcp"] | changed | {"FLOOR": 4096, "HOLD": 64512, "DEFAULT": True}
        assert after["mltcp"] == expected, after
        assert not after["interleave"].get("DEFAULT")
        for one in before.values():
            nl.call(CMD["PROFILE_SET"], profile_nest(**one))
        assert profiles(nl) == before


### What is wrong with a message: (what, command, body, errno)

Wrong = tuple[str, str, bytes, int]
# the least and the most of a number, and its size; the length of a text
NUMBERS = {
    "ID": (1, 65535, 4),
    "PHASE_BYTES": (0, PHASE_BYTES_MAX, 8),
    "FLOOR": (4096, 2097152, 4),
    "SLOPE": (0, 2097152, 4),
    "HOLD": (0, 64512, 4),
    "SHAPE": (1, 4, 4),
}
TEXTS = {"NAME": 63, "PROFILE": 15, "CLASS": 15, "BASE": 15, "RESTART": 15}


def nest(kind: int, *attributes: bytes) -> bytes:
    return raw_attribute(kind | 0x8000, b"".join(attributes))


def u32(kind: int, value: int) -> bytes:
    return raw_attribute(kind, struct.pack("=I", value))


def wrong_numbers(kind: int, least: int, most: int, size: int) -> Iterator[tuple[bytes, int]]:
    for payload in (b"", b"\1\0", b"\1" + b"\0" * (2 * size - 1)):
        yield raw_attribute(kind, payload), E.EINVAL
    for value in {least - 1, most + 1, (1 << 8 * size) - 1} - {-1}:
        yield raw_attribute(kind, value.to_bytes(size, "little")), E.ERANGE
    yield raw_attribute(kind, most.to_bytes(size, "little")) * 2, E.EINVAL


def wrong_texts(key: str, kind: int, most: int) -> Iterator[tuple[bytes, int]]:
    for value in (b"", b"x" * (most + 1) + b"\0", b"x" * 60000 + b"\0", b"abc", b"abc\0def\0"):
        yield raw_attribute(kind, value), E.EINVAL
    yield raw_attribute(kind, b"mltcp\0") * 2, E.EINVAL
    words = [b"nonsense", b""]
    if key == "NAME":
        letters = [b" ", b'"', "ä".encode(), b"\xff\xfe", b"\x7f"]
        letters += [bytes([n]) for n in range(1, 32)]
        words = [b"", *(b"a" + letter + b"b" for letter in letters)]
    for word in words:
        yield raw_attribute(kind, word + b"\0"), E.ENOENT if key == "PROFILE" else E.EINVAL


def wrong_values(
    command: str, kind: int, names: dict[str, int], keys: Iterable[str], good: bytes
) -> Iterator[Wrong]:
    for key in keys:
        number = names[key]
        texts, numbers = TEXTS.get(key), NUMBERS.get(key, (0, 0, 0))
        wrongs = wrong_texts(key, number, texts) if texts else wrong_numbers(number, *numbers)
        for body, error in wrongs:
            before = b"" if key == "ID" else good
            yield f"{key} {body[:20]!r}", command, nest(kind, before, body), error


def wrong_nests(command: str, kind: int, names: dict[str, int], good: bytes) -> Iterator[Wrong]:
    """What every command refuses."""
    other = job_nest(ID=1) if kind == ATTR_PROFILE else profile_nest(NAME="mltcp")
    fine = nest(kind, good)
    for what, body in (
        ("nest missing", b""),
        ("empty nest", nest(kind)),
        ("nest twice", fine * 2),
        ("nest that is none", raw_attribute(kind, good)),
        ("other nest", other),
        ("both nests", fine + other),
        ("unknown nest", fine + nest(9)),
        ("bytes after the end", fine + b"\1\0\0"),
        ("no kind", nest(kind, good, u32(0, 1))),
        ("unknown attribute", nest(kind, good, u32(max(names.values()) + 1, 1))),
        ("longer than the nest", nest(kind, good, raw_attribute(1, b"\1\0\0\0", 200))),
        ("shorter than its head", nest(kind, good, raw_attribute(1, b"", 2))),
    ):
        yield what, command, body, E.EINVAL


def wrong_jobs(command: str, takes: Sequence[str]) -> Iterator[Wrong]:
    good = u32(JOB["ID"], 77)
    yield from wrong_nests(command, ATTR_JOB, JOB, good)
    yield from wrong_values(command, ATTR_JOB, JOB, ("ID", *takes), good)
    values = {"NAME": b"a\0", "PROFILE": b"mltcp\0", "CLASS": b"latency\0", "PAD": b""}
    for name, number in JOB.items():
        if name not in ("UNSPEC", "ID", *takes):
            value = values.get(name, b"\1" + b"\0" * (7 if name in WIDE else 3))
            body = nest(ATTR_JOB, good, raw_attribute(number, value))
            yield f"{name} is not for it", command, body, E.EINVAL


def wrong_messages() -> Iterator[Wrong]:
    for command in (*TOUCHING, "JOB_GET"):
        takes = {"PHASE_START": ["PHASE_BYTES"], "JOB_NEW": JOB_TAKES, "JOB_SET": JOB_TAKES}
        yield from wrong_jobs(command, takes.get(command, []))
    name = raw_attribute(PROFILE["NAME"], b"mltcp\0")
    for command in ("PROFILE_SET", "PROFILE_GET"):
        yield from wrong_nests(command, ATTR_PROFILE, PROFILE, name)
        yield "name twice", command, nest(ATTR_PROFILE, name, name), E.EINVAL
        yield "unknown profile", command, profile_nest(NAME="nonsense"), E.ENOENT
    yield "not for it", "PROFILE_GET", profile_nest(NAME="mltcp", SHAPE=1), E.EINVAL
    # the first would be fine alone: nothing of it may stay
    fine = name + raw_attribute(PROFILE["DEFAULT"], b"")
    keys = [key for key in PROFILE if key not in ("UNSPEC", "NAME", "DEFAULT")]
    yield from wrong_values("PROFILE_SET", ATTR_PROFILE, PROFILE, keys, fine)
    body = nest(ATTR_PROFILE, name, u32(PROFILE["DEFAULT"], 1))
    yield "DEFAULT with a value", "PROFILE_SET", body, E.ERANGE
    answer = u32(ANSWER["ID"], 77)
    yield from wrong_nests("JOB_HEAR", ATTR_ANSWER, ANSWER, answer)
    yield from wrong_values("JOB_HEAR", ATTR_ANSWER, ANSWER, ["ID"], answer)
    for body in (raw_attribute(ANSWER["PROGRESS"], b"\1" * 8), u32(ANSWER["GAP_US"], 1) * 2):
        yield f"{body!r}", "JOB_HEAR", nest(ATTR_ANSWER, answer, body), E.EINVAL
    yield "no id", "JOB_HEAR", nest(ATTR_ANSWER, u32(ANSWER["PROGRESS"], 1)), E.EINVAL


def case_what_is_wrong_is_refused_explained_and_changes_nothing() -> None:
    failures = []
    with Genl() as nl:
        job_call(nl, "JOB_SET", ID=77, NAME="before", PROFILE="mltcp", PHASE_BYTES=7)
        before = all_jobs(nl), profiles(nl)
        for what, command, body, errno in wrong_messages():
            try:
                refused(errno, lambda c=command, b=body: nl.call(CMD[c], b))
            except AssertionError as why:
                failures.append(f"{command}, {what}: {why}")
        assert (all_jobs(nl), profiles(nl)) == before, "something has changed"
        job_call(nl, "JOB_DEL", ID=77)
    assert not failures, "\n".join(failures)


def case_what_a_leader_answers_is_for_a_job_that_is_set() -> None:
    """Whatever it says: what makes no sense is no progress (rxe_common.sh has flows that hear)."""
    with Genl() as nl:
        refused(E.ENOENT, lambda: nl.call(CMD["JOB_HEAR"], answer_nest(ID=5)))
        job_call(nl, "JOB_SET", ID=5)
        for value in (0, 1, 65536, 65537, 0xFFFFFFFF):
            said = {"PROGRESS": value, "BEST_US": value, "GAP_US": value, "AGE_US": value}
            nl.call(CMD["JOB_HEAR"], answer_nest(ID=5, **said))
        nl.call(CMD["JOB_HEAR"], answer_nest(ID=5))
        assert get_job(nl, 5) == {"ID": 5, "PHASE_BYTES": 0, "FLOWS": 0}, get_job(nl, 5)
        job_call(nl, "JOB_DEL", ID=5)


def case_unknown_commands_and_flags_are_refused() -> None:
    """Unknown commands and heads; these the core refuses, some without a text."""
    with Genl() as nl:
        for name, number in (*CMD.items(), ("nonsense", 99), ("nonsense", 255)):
            if name == "UNSPEC" or name.endswith("_NTF") or name == "nonsense":
                refused(E.EOPNOTSUPP, lambda n=number: nl.call(n, job_nest(ID=1)), text=False)
        for name in TOUCHING:
            refused(E.EOPNOTSUPP, lambda n=name: nl.call(CMD[n], flags=DUMP), text=False)
        dumps = {"JOB_GET": job_nest(ID=1), "PROFILE_GET": profile_nest(NAME="mltcp")}
        for name, body in dumps.items():
            # older kernels give whoever starts a dump no room for a text
            refused(E.EINVAL, lambda n=name, b=body: nl.call(CMD[n], b, DUMP), text=False)
            refused(E.EINVAL, lambda n=name: nl.call(CMD[n], nest(3), DUMP))
        refused(E.EINVAL, lambda: nl.call(CMD["JOB_SET"], job_nest(ID=1), reserved=1))
        assert all_jobs(nl) == []


def mask() -> None:
    """Ids that the mask of the mark has no room for; the caller has set it to 0xff0."""
    with Genl() as nl:
        job_call(nl, "JOB_SET", ID=255)
        refused(E.ERANGE, lambda: job_call(nl, "JOB_SET", ID=256))
        job_call(nl, "JOB_DEL", ID=255)


def unprivileged() -> None:
    """Without CAP_NET_ADMIN; the caller has set job 3."""
    with Genl() as nl:
        refused(E.EPERM, lambda: all_jobs(nl), text=False)
        refused(E.EPERM, lambda: get_job(nl, 3), text=False)
        with contextlib.suppress(PermissionError):
            nl.join("events")
            raise AssertionError("hears of the jobs of others")
        before = profiles(nl)
        for command in TOUCHING:
            refused(E.EPERM, lambda c=command: job_call(nl, c, ID=3), text=False)
        refused(E.EPERM, lambda: nl.call(CMD["JOB_HEAR"], answer_nest(ID=3)), text=False)
        refused(
            E.EPERM,
            lambda: nl.call(CMD["PROFILE_SET"], profile_nest(NAME="mltcp", SHAPE=2)),
            text=False,
        )
        assert profiles(nl) == before


def own_namespace() -> None:
    """An ordinary user's own namespaces: free to do as it likes there, and no further."""
    with Genl() as nl:
        assert all_jobs(nl) == [], "sees the jobs of others"
        refused(E.ENOENT, lambda: get_job(nl, 3))
        job_call(nl, "JOB_SET", ID=3, NAME="mine")
        assert get_job(nl, 3)["NAME"] == "mine"
        refused(E.EPERM, lambda: nl.call(CMD["PROFILE_SET"], profile_nest(NAME="mltcp")))
        call_all(nl, "JOB_SET", ({"ID": n} for n in range(1, USERS_MAX // 2 + 1)))
        refused(E.EDQUOT, lambda: job_call(nl, "JOB_SET", ID=USERS_MAX // 2 + 1))
        job_call(nl, "JOB_SET", ID=3, NAME="replaced")
        assert len(all_jobs(nl)) == USERS_MAX // 2


def call_all(nl: Genl, command: str, jobs: Iterable[dict[str, int | str]]) -> None:
    nl.call_all(CMD[command], [job_nest(**job) for job in jobs])


def case_all_16384_jobs_are_set_listed_and_deleted() -> None:
    with Genl() as nl:
        said = [{"ID": n * 6, "NAME": f"job-{n}"} for n in range(10000, 0, -1)]
        call_all(nl, "JOB_NEW", said)
        rest = {"PHASE_BYTES": 0, "FLOWS": 0}
        assert all_jobs(nl) == [one | rest for one in reversed(said)]
        others = [{"ID": n} for n in range(1, 65536) if n % 6]
        more = RULES_MAX - len(said)
        call_all(nl, "JOB_NEW", others[:more])
        refused(E.ENOSPC, lambda: job_call(nl, "JOB_NEW", ID=int(others[more]["ID"])))
        job_call(nl, "JOB_SET", ID=6, NAME="replaced")
        jobs = all_jobs(nl)
        assert len(jobs) == RULES_MAX
        call_all(nl, "JOB_DEL", ({"ID": job["ID"]} for job in jobs))
        assert all_jobs(nl) == []


def leave_namespace() -> None:
    """For a new network namespace; the old one goes with its last socket, a little later."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())


def case_other_namespaces_leave_the_initial_one_room() -> None:
    """Namespaces other than the initial one together leave it room."""
    with Genl() as initial, contextlib.ExitStack() as stack:
        others = []
        for _ in range(OTHERS_MAX // NETNS_MAX + 1):
            leave_namespace()
            others.append(stack.enter_context(Genl()))
        *full, last = others
        for nl in full:
            call_all(nl, "JOB_NEW", ({"ID": n} for n in range(1, NETNS_MAX + 1)))
        refused(E.ENOSPC, lambda: job_call(last, "JOB_SET", ID=1))
        job_call(full[0], "JOB_SET", ID=1, NAME="replaced")
        call_all(initial, "JOB_NEW", ({"ID": n} for n in range(1, RULES_MAX - OTHERS_MAX + 1)))
        refused(E.ENOSPC, lambda: job_call(initial, "JOB_SET", ID=RULES_MAX))
        job_call(initial, "JOB_DEL", ID=1)
        refused(E.ENOSPC, lambda: job_call(last, "JOB_SET", ID=1))
        job_call(full[0], "JOB_DEL", ID=1)
        job_call(last, "JOB_SET", ID=1)
        call_all(initial, "JOB_DEL", ({"ID": job["ID"]} for job in all_jobs(initial)))


def case_namespaces_take_their_jobs_along() -> None:
    """They take their jobs along: more in all than a host may have, if they did not."""
    end = time.monotonic() + GONE_S
    for _ in range(RULES_MAX // NETNS_MAX + 1):
        leave_namespace()
        with Genl() as nl:
            for number in range(1, NETNS_MAX + 1):
                while not has_room(nl, number):
                    assert time.monotonic() < end, "jobs of namespaces that are gone take the room"
                    time.sleep(0.1)


def has_room(nl: Genl, number: int) -> bool:
    try:
        job_call(nl, "JOB_NEW", ID=number)
    except Refused as why:
        assert why.errno == E.ENOSPC, f"{why}"
        return False
    return True


def case_a_dump_is_whole_while_jobs_change() -> None:
    """Jobs that are there all the time are shown once, whatever others do meanwhile."""
    with Genl() as nl, Genl() as other:
        call_all(nl, "JOB_SET", ({"ID": n, "NAME": "x" * 63} for n in range(2, 2001, 2)))
        sequence = nl.send(CMD["JOB_GET"], flags=DUMP)
        seen: list[int] = []
        turn = 0
        while True:
            messages = [m for m in nl.receive() if m.sequence == sequence]
            seen += [int(job_of(m.body)["ID"]) for m in messages if m.kind == nl.family]
            if any(m.kind != nl.family for m in messages):
                break
            turn += 1
            job_call(other, "JOB_SET", ID=turn * 2 + 1)
            job_call(other, "JOB_SET", ID=turn * 2)
        assert turn > 2, f"{turn} turns: nothing has changed meanwhile"
        assert [n for n in seen if n % 2 == 0] == list(range(2, 2001, 2)), seen
        call_all(nl, "JOB_DEL", ({"ID": job["ID"]} for job in all_jobs(nl)))


def case_sets_and_deletions_are_told() -> None:
    with Genl() as nl, Genl() as ear:
        ear.join("events")
        job_call(nl, "JOB_SET", ID=9, NAME="told", PHASE_BYTES=3)
        refused(E.EEXIST, lambda: job_call(nl, "JOB_NEW", ID=9))
        job_call(nl, "JOB_GET", ID=9)
        job_call(nl, "JOB_DEL", ID=9)
        heard = [(COMMANDS[m.command], job_of(m.body)) for m in ear.events(1)]
        said = {"ID": 9, "NAME": "told"}
        assert heard == [
            ("JOB_SET_NTF", said | {"PHASE_BYTES": 3, "FLOWS": 0}),
            ("JOB_DEL_NTF", said),
        ], heard


def most() -> None:
    had = 0
    with Genl() as nl, contextlib.suppress(Refused):
        for had in range(RULES_MAX):  # noqa: B007
            job_call(nl, "JOB_NEW", ID=had + 1)
    print(had)


def listen() -> None:
    with Genl() as nl:
        nl.join("events")
        print(json.dumps({"event": "LISTENING"}), flush=True)
        for message in nl.events(1 << 20):
            event = {"event": COMMANDS[message.command], **job_of(message.body)}
            print(json.dumps(event), flush=True)


def hear(number: str, progress: str, seconds: str) -> None:
    """Answers as a job's leader does."""
    end = time.monotonic() + float(seconds)
    with Genl() as nl:
        while time.monotonic() < end:
            answer = answer_nest(ID=int(number), PROGRESS=int(progress), BEST_US=1000000)
            nl.call(CMD["JOB_HEAR"], answer)
            time.sleep(0.01)


def ask(command: str, *words: str) -> None:
    pairs = (word.split("=", 1) for word in words)
    values = {name: value if name in ("NAME", "PROFILE") else int(value) for name, value in pairs}
    with Genl() as nl:
        for job in job_call(nl, command, **values):
            print(json.dumps(job))


def failure(call: Callable[..., None], *words: str) -> str:
    """What is wrong, or nothing."""
    try:
        call(*words)
    except Refused as why:
        return f"refused: {why}"
    except AssertionError as why:
        line = why.__traceback__.tb_next.tb_lineno if why.__traceback__.tb_next else 0
        return f"{call.__name__}, line {line}: {why}"
    return ""


def cases() -> None:
    """Each in a process of its own, as some leave their namespace."""
    for name, case in list(globals().items()):
        if not name.startswith("case_"):
            continue
        child = os.fork()
        if not child:
            if said := failure(case):
                print(said, flush=True)
            os._exit(bool(said))
        _, status = os.waitpid(child, 0)
        title = name.removeprefix("case_").replace("_", " ")
        print(f"{'not ok' if status else 'ok'} {title}", flush=True)


def main(words: list[str]) -> int:
    known = (ask, cases, hear, listen, mask, most, own_namespace, unprivileged)
    said = failure({call.__name__: call for call in known}[words[0]], *words[1:])
    if said:
        print(said)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
