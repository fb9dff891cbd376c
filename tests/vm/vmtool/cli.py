# SPDX-License-Identifier: GPL-2.0
"""The command line of tests/vm/vm."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from . import build, cache, checkpatch, debug, fetch, guest, rxe
from .util import EXIT_USAGE, VmError, say

_EPILOG = """\
exit status of `vm run`: that of COMMAND; 4 the machine cannot do it (the reason is printed);
70 the kernel complained (WARNING, BUG, Oops, KASAN: the lines are printed); 71 the guest died;
72 QEMU made the kernel complain: run it again; 124 --timeout. The cache is $MLCC_CACHE, else
$XDG_CACHE_HOME/mlcc, else ~/.cache/mlcc."""

_RXE = """\
The module's path is printed. To load it, and to go back:
  rmmod rdma_rxe; modprobe -a ib_uverbs udp_tunnel ip6_udp_tunnel; insmod PATH
  rmmod rdma_rxe; modprobe rdma_rxe"""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _kernels(name: str) -> list[cache.Kernel]:
    return [cache.find(each) for each in (cache.SUITES if name == "all" else [name])]


def _fetch(args: argparse.Namespace) -> int:
    for kernel in _kernels(args.kernel):
        get = debug.fetch if kernel.debug else fetch.fetch
        get(kernel, args.force, args.allow_stale)
    return 0


def _build(args: argparse.Namespace) -> int:
    for kernel in _kernels(args.kernel):
        build.build(kernel, cache.repository(), args.words)
    return 0


def _sparse(args: argparse.Namespace) -> int:
    tree = cache.repository()
    return max(build.sparse(kernel, tree, args.words) for kernel in _kernels(args.kernel))


def _checkpatch(args: argparse.Namespace) -> int:
    return checkpatch.checkpatch(cache.repository(), args.words, args.allow_stale)


def _run(args: argparse.Namespace) -> int:
    if not args.command:
        raise VmError("no command: vm run KERNEL [options] -- COMMAND...", EXIT_USAGE)
    if args.cpus is None:
        args.cpus = 1 if args.counted else 2
    if args.counted and args.cpus != 1:
        raise VmError(f"--cpus {args.cpus}: a counted clock goes with one CPU", EXIT_USAGE)
    writable = [path.absolute() for path in args.rw]
    options = guest.Options(args.cpus, args.counted, args.timeout, writable)
    return guest.run(cache.find(args.kernel), options, args.command)


def _add_stale(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-stale",
        action="store_true",
        default=os.environ.get("MLCC_ALLOW_STALE") == "1",
        help="take a mirror whose index is past its date (a frozen one); signatures stay checked\n"
        "(also: MLCC_ALLOW_STALE=1 in the environment)",
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "vm", description=__doc__, epilog=_EPILOG, formatter_class=argparse.RawTextHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    names = ", ".join(cache.KERNELS)
    which = f"{names}; all: {', '.join(cache.SUITES)}"

    verb = verbs.add_parser("fetch", help="get a kernel, its headers and its compiler, or build it")
    verb.add_argument("kernel", help=which)
    verb.add_argument("--force", action="store_true", help="again, though it is there")
    _add_stale(verb)
    verb.set_defaults(handler=_fetch)

    for name, handler, text in (
        ("build", _build, "build the module for a kernel"),
        ("sparse", _sparse, "check the module with sparse"),
    ):
        verb = verbs.add_parser(name, help=text)
        verb.add_argument("kernel", help=which)
        verb.add_argument("words", nargs="*", metavar="VAR=VALUE", help="for make")
        verb.set_defaults(handler=handler)

    verb = verbs.add_parser("checkpatch", help="checkpatch.pl --strict over the kernel code")
    _add_stale(verb)
    verb.add_argument("words", nargs="*", metavar="FILE", help="default: all of it")
    verb.set_defaults(handler=_checkpatch)

    verb = verbs.add_parser(
        "rxe",
        help="build soft-RoCE with DCQCN for a kernel",
        epilog=_RXE,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    verb.add_argument("kernel", help=names)
    verb.add_argument("words", nargs="*", metavar="VAR=VALUE", help="for make, such as W=1")
    verb.add_argument("--stock", action="store_true", help="without the patches, as rdma_rxe_stock")
    verb.add_argument("--each", action="store_true", help="build after each patch")
    verb.add_argument("--output", type=Path, metavar="DIR", help="default: build/rxe/KERNEL")
    _add_stale(verb)
    verb.set_defaults(handler=rxe.build_driver)

    usage = "vm run [options] KERNEL -- COMMAND..."
    verb = verbs.add_parser("run", help="run a command under a kernel", usage=usage)
    verb.add_argument("kernel", help=names)
    verb.add_argument("--cpus", type=int, metavar="N", help="default: 2")
    verb.add_argument(
        "--counted",
        action="store_true",
        help="one CPU, and a clock that counts its instructions: times that\n"
        "another load on this machine does not change",
    )
    verb.add_argument("--timeout", type=float, default=900, metavar="S", help="default: 900")
    verb.add_argument(
        "--rw", type=Path, action="append", default=[], metavar="DIR", help="writable, too"
    )
    verb.set_defaults(handler=_run)

    return parser


class Interrupted(Exception):
    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def _interrupt(signum: int, _frame: FrameType | None) -> None:
    # A second signal must not disturb the unwinding.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(signum)


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    # Apart from the rest: argparse would look for options of ours in the command.
    words = list(argv)
    split = words.index("--") if "--" in words else len(words)
    parser = _parser()
    args = parser.parse_args(words[:split])
    args.command = words[split + 1 :]
    if args.command and args.verb != "run":
        parser.error(f"vm {args.verb} takes no command")
    return args


def main(argv: Sequence[str]) -> int:
    args = _parse(argv)
    # Signals unwind the stack, so that guests are stopped and temporary directories removed.
    for each in _SIGNALS:
        signal.signal(each, _interrupt)
    try:
        status: int = args.handler(args)
    except VmError as error:
        say(str(error))
        return error.status
    except Interrupted as interrupted:
        return 128 + interrupted.signum
    except BrokenPipeError:
        # Whoever read our output has gone. Python would complain once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return status
