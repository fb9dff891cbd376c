# SPDX-License-Identifier: GPL-2.0
"""The carriers that put the congestion control "mlcc" into the kernel.

Both look the same from here: load with a profile, tell it about jobs, unload.
The lab owns what it loads and nothing else: where "mlcc" is already there, an
operator has loaded it, and the lab refuses to touch it.
"""

import re
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType

from genl import Genl, Refused
from mlcc import job_call

from . import features, shell
from .errors import LabError, SkipError

REPOSITORY = Path(__file__).resolve().parents[3]
# where the build puts them in a tree
LOADER = Path("build") / "userspace" / "mlcc-bpf" / "mlcc-bpf"
MLCCD = Path("build") / "userspace" / "mlccd" / "mlccd"
MARK_MASK = "0xffff"
# "mlcc:neutral" looks at bits that no job of the lab has: sockets that belong to no job.
NEUTRAL = "neutral"
NEUTRAL_MASK = "0xffff0000"
HINTS = "+hints"
LED = "+led"
# The module stays busy until the last of the run's sockets is freed.
UNLOAD_TRIES = 50
UNLOAD_PAUSE_S = 0.1


def is_mlcc(cc: str) -> bool:
    """True for "mlcc" and "mlcc:PROFILE", with and without "+hints" or "+led"."""
    return re.split("[:+]", cc)[0] == "mlcc"


def profile_of(cc: str) -> str:
    """PROFILE out of "mlcc:PROFILE", else the empty string."""
    return cc.removesuffix(HINTS).removesuffix(LED).partition(":")[2]


def is_announced(cc: str) -> bool:
    """Whether all jobs announce their phases, whatever the scenario says."""
    return cc.endswith(HINTS)


def is_led(cc: str) -> bool:
    """Whether jobs of several hosts have a leader that tells them their progress."""
    return cc.endswith(LED)


class Carrier(ABC):
    """One carrier, loaded for the length of a `with` block."""

    name = ""
    mlccd = REPOSITORY / MLCCD  # the one that goes with it

    def __init__(self) -> None:
        self.profile = ""
        self.mark_mask = MARK_MASK

    def profiled(self, profile: str) -> "Carrier":
        """Choose the profile that the next load uses."""
        self.mark_mask = NEUTRAL_MASK if profile == NEUTRAL else MARK_MASK
        self.profile = "" if profile == NEUTRAL else profile
        return self

    def __enter__(self) -> "Carrier":
        refuse_if_loaded()
        self.load()
        if "mlcc" not in features.available_ccs():
            self._unload_patiently()
            raise LabError(f"carrier {self.name}: loaded, but there is no congestion control mlcc")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            self._unload_patiently()
        except LabError:
            if error is None:
                raise

    def _unload_patiently(self) -> None:
        for _ in range(UNLOAD_TRIES - 1):
            try:
                self.unload()
                break
            except LabError:
                time.sleep(UNLOAD_PAUSE_S)
        else:
            self.unload()
        self._wait_until_gone()

    def _wait_until_gone(self) -> None:
        """The kernel lets go of a struct_ops link from a work queue, a moment after its pin."""
        for _ in range(UNLOAD_TRIES):
            if "mlcc" not in features.available_ccs():
                return
            time.sleep(UNLOAD_PAUSE_S)
        raise LabError(f"carrier {self.name}: unloaded, but mlcc is still there")

    @abstractmethod
    def load(self) -> None:
        """Put the congestion control into the kernel."""

    @abstractmethod
    def unload(self) -> None:
        """Take it out again."""

    @abstractmethod
    def set_job(self, job: int, profile: str, job_class: str = "") -> None:
        """Announce a job; its id is the mark of its sockets."""


class BpfCarrier(Carrier):
    """struct_ops: for kernels that cannot load modules."""

    name = "bpf"
    tool = REPOSITORY / LOADER

    def __init__(self, tree: Path | None = None) -> None:
        """tree: another build's."""
        super().__init__()
        if tree:
            self.tool, self.mlccd = tree / LOADER, tree / MLCCD

    def load(self) -> None:
        command = [str(self.tool), "load", "--mark-mask", self.mark_mask]
        shell.run(command + (["--profile", self.profile] if self.profile else []))

    def unload(self) -> None:
        shell.run([str(self.tool), "unload"])

    def set_job(self, job: int, profile: str, job_class: str = "") -> None:
        command = [str(self.tool), "job", "set", str(job)]
        if profile:
            command += ["--profile", profile]
        if job_class:
            command += ["--class", job_class]
        shell.run(command)


class ModuleCarrier(Carrier):
    """tcp_mlcc.ko: the one of this tree, else the one that is installed for this kernel."""

    name = "module"
    object = REPOSITORY / "tcp_mlcc" / "tcp_mlcc.ko"

    def load(self) -> None:
        how = ["insmod", str(self.object)] if self.object.exists() else ["modprobe", "tcp_mlcc"]
        command = [*how, f"mark_mask={self.mark_mask}"]
        shell.run(command + ([f"profile={self.profile}"] if self.profile else []))

    def unload(self) -> None:
        shell.run(["rmmod", "tcp_mlcc"])

    @classmethod
    def there(cls) -> bool:
        """Whether there is a module to load."""
        return cls.object.exists() or shell.attempt(["modinfo", "tcp_mlcc"]).returncode == 0

    def set_job(self, job: int, profile: str, job_class: str = "") -> None:
        said: dict[str, int | str] = {"ID": job}
        if profile:
            said["PROFILE"] = profile
        if job_class:
            said["CLASS"] = job_class
        try:
            with Genl() as family:
                job_call(family, "JOB_SET", **said)
        except (OSError, Refused) as error:
            raise LabError(f"job {job}: {error}") from None


def refuse_if_loaded() -> None:
    """An operator's carrier is not ours to tear down."""
    if "mlcc" in features.available_ccs():
        raise LabError("a carrier is already loaded; unload it first, the lab brings its own")


def choose(wanted: str | None) -> Carrier:
    """The carrier asked for; by default the module where it loads, else BPF."""
    if wanted != "bpf" and (wanted == "module" or _module_loads()):
        if not ModuleCarrier.there():
            raise SkipError(f"{ModuleCarrier.object.name}: not built; run make at the top")
        return ModuleCarrier()
    if not BpfCarrier.tool.exists():
        raise SkipError("no carrier: neither tcp_mlcc.ko nor mlcc-bpf is usable here")
    return BpfCarrier()


def _module_loads() -> bool:
    if not Path("/proc/modules").exists() or not ModuleCarrier.there():
        return False
    refuse_if_loaded()
    try:
        with ModuleCarrier():
            return True
    except LabError:
        return False
