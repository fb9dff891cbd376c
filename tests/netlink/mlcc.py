# SPDX-License-Identifier: GPL-2.0
"""Jobs and profiles through the netlink family, as plain dictionaries."""

import struct

from family import TEXT, WIDE, numbers
from genl import DUMP, Attr, Genl, decode, encode

CMD, ATTR = numbers("mlcc_genl_cmd"), numbers("mlcc_genl_attr")
JOB, PROFILE = numbers("mlcc_job_attr"), numbers("mlcc_profile_attr")
ANSWER = numbers("mlcc_answer_attr")
COMMANDS = {number: name for name, number in CMD.items()}
ATTR_JOB, ATTR_PROFILE, ATTR_ANSWER = ATTR["JOB"], ATTR["PROFILE"], ATTR["ANSWER"]

Values = dict[str, "int | str | bool"]


def attributes(names: dict[str, int], values: Values) -> list[Attr]:
    made: list[Attr] = []
    for name, value in values.items():
        if value is True:
            made.append((names[name], b""))
        elif name in WIDE:
            made.append((names[name], struct.pack("=Q", int(value))))
        else:
            made.append((names[name], str(value) if name in TEXT else int(value)))
    return made


def job_nest(**values: int | str) -> bytes:
    return encode([(ATTR_JOB, attributes(JOB, values))])


def profile_nest(**values: int | str | bool) -> bytes:
    return encode([(ATTR_PROFILE, attributes(PROFILE, values))])


def answer_nest(**values: int) -> bytes:
    return encode([(ATTR_ANSWER, attributes(ANSWER, values))])


def parse(names: dict[str, int], data: bytes) -> Values:
    by_number = {number: name for name, number in names.items()}
    found: Values = {}
    for number, payload in decode(data).items():
        name = by_number[number]
        if name in ("PAD", "UNSPEC"):
            continue
        if name in TEXT:
            found[name] = payload.rstrip(b"\0").decode()
        elif not payload:
            found[name] = True
        else:
            found[name] = int.from_bytes(payload, "little")
    return found


def job_of(body: bytes) -> Values:
    return parse(JOB, decode(body[4:])[ATTR_JOB])


def profile_of(body: bytes) -> Values:
    return parse(PROFILE, decode(body[4:])[ATTR_PROFILE])


def job_call(nl: Genl, command: str, **values: int | str) -> list[Values]:
    return [job_of(body) for body in nl.call(CMD[command], job_nest(**values))]


def get_job(nl: Genl, number: int) -> Values:
    (job,) = job_call(nl, "JOB_GET", ID=number)
    return job


def all_jobs(nl: Genl) -> list[Values]:
    return [job_of(body) for body in nl.call(CMD["JOB_GET"], flags=DUMP)]


def profiles(nl: Genl) -> dict[str, Values]:
    found = [profile_of(body) for body in nl.call(CMD["PROFILE_GET"], flags=DUMP)]
    return {str(one["NAME"]): one for one in found}
