# SPDX-License-Identifier: GPL-2.0
"""Fake trees: names of each vendor's driver, manners as in Documentation/rdma.md.

No device has been looked at for them.  Values are made up, but for those that tests begin with.
"""

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fake_sys import Knob, Tree

PCI = "0000:03:00.0"

MLX5 = (
    "rp_ai_rate rp_hai_rate rp_time_reset rp_byte_reset rp_threshold rp_max_rate rp_min_rate"
    " rp_min_dec_fac rp_gd rp_dce_tcp_g rp_dce_tcp_rtt rp_rate_reduce_monitor_period"
    " rp_initial_alpha_value rp_rate_to_set_on_first_cnp rp_clamp_tgt_rate rp_clamp_tgt_rate_ati"
)
OFED = (
    "rpg_ai_rate rpg_hai_rate rpg_time_reset rpg_byte_reset rpg_threshold rpg_max_rate rpg_min_rate"
    " rpg_min_dec_fac rpg_gd dce_tcp_g dce_tcp_rtt rate_reduce_monitor_period initial_alpha_value"
    " rate_to_set_on_first_cnp clamp_tgt_rate clamp_tgt_rate_after_time_inc"
)


class Values(NamedTuple):
    """Of the knob that is set and followed; bad is out of its range."""

    default: int
    good: int
    bad: int
    most: int = 0


@dataclass
class Vendor:
    """A device, and what the tests of every back end do with it."""

    device: str  # its back end and its name
    folder: str  # its files are below, or what its tool asks for; "": neither
    knob: str
    values: Values
    tree: Tree
    drive: str | None = None  # None: nothing to follow
    scope: str = "device"
    aliases: tuple[str, ...] = ()
    file: str = ""  # the knob's, if it has another name

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.file or self.knob}"

    def make_tools(self, root: Path) -> None:
        """Programs below the root; most vendors have none."""


def classes(tree: Tree, ibdev: str, netdev: str) -> Tree:
    """The RDMA and the network device on the function."""
    tree[f"/class/infiniband/{ibdev}/device"] = f"->../../../{PCI}"
    tree[f"/class/infiniband/{ibdev}/ports/1/counters/port_xmit_data"] = "0\n"
    tree[f"/class/net/{netdev}/device"] = f"->../../../{PCI}"
    tree["/kernel/security/lockdown"] = "[none] integrity confidentiality\n"
    return tree


def knobs(kind: str, folder: str, names: str, *, mode: int = 0o600, **values: int) -> Tree:
    """Files with a 1 in each that is not named with another value."""
    return {
        f"{folder}/{name}": Knob(kind, values.get(name, 1), mode=mode) for name in names.split()
    }


def mlx5() -> Vendor:
    folder = f"/kernel/debug/mlx5/{PCI}/cc_params"
    names = f"{MLX5} np_min_time_between_cnps np_cnp_dscp np_cnp_prio_mode"
    tree = knobs("mlx5", folder, names, rp_ai_rate=5, rp_time_reset=300)
    tree[f"{folder}/np_cnp_prio"] = Knob("mlx5", 6, sets="np_cnp_prio_mode=0")
    values, tree = Values(5, good=20, bad=0, most=10), classes(tree, "mlx5_0", "eth0")
    aliases = ("mlx5_0", "eth0")
    return Vendor(f"mlx5:{PCI}", folder, "rp_ai_rate", values, tree, "ai", "port", aliases)


def rxe() -> Vendor:
    folder = "/kernel/debug/rxe/rxe0/cc_params"
    names = f"{MLX5} rp_enable np_enable np_min_time_between_cnps np_cnp_dscp"
    tree = knobs("mlx5", folder, names, rp_time_reset=2000, rp_enable=0, np_enable=0)
    tree["/class/infiniband/rxe0/ports/1/counters/port_xmit_data"] = "0\n"
    tree["/kernel/debug/rxe/rxe0/qps"] = "no folder of knobs\n"
    values = Values(2000, good=5000, bad=1_000_001, most=1000)
    return Vendor("rxe:rxe0", folder, "rp_time_reset", values, tree, "time")


def ofed() -> Vendor:
    folder = "/class/net/eth0/ecn"
    priorities = " ".join(f"enable/{priority}" for priority in range(8))
    tree = knobs("ofed", f"{folder}/roce_rp", f"{OFED} {priorities}", mode=0o644, rpg_ai_rate=5)
    names = f"min_time_between_cnps cnp_dscp cnp_802p_prio {priorities}"
    tree |= knobs("ofed", f"{folder}/roce_np", names)
    values, tree = Values(5, good=40, bad=1_600_001, most=10), classes(tree, "mlx5_0", "eth0")
    vendor = Vendor("ofed:eth0", folder, "rpg_ai_rate", values, tree, "ai", "port")
    vendor.aliases, vendor.file = ("mlx5_0", PCI), "roce_rp/rpg_ai_rate"
    return vendor


def ofed_params() -> Vendor:
    """The releases that have one folder more."""
    vendor = ofed()
    vendor.tree = {
        path.replace("/roce_rp/rpg_", "/roce_rp/params/rpg_"): node
        for path, node in vendor.tree.items()
    }
    vendor.file = "roce_rp/params/rpg_ai_rate"
    return vendor


def hns() -> Vendor:
    folder = f"/kernel/debug/hns_roce/{PCI}/dcqcn_cc_param"
    tree = knobs("plain", folder, "ai f tkp tmp alp max_speed g al cnp_time ashift", ai=100)
    values, tree = Values(100, good=150, bad=65536, most=200), classes(tree, "hns_0", "eth0")
    return Vendor(f"hns:{PCI}", folder, "ai", values, tree, "ai", aliases=("hns_0",))


def bnxt() -> Vendor:
    folder = f"/kernel/debug/bnxt_re/{PCI}/cc_config"
    names = (
        "enable_cc run_avg_weight_g num_phase_per_state init_cr init_tr tos_ecn tos_dscp"
        " alt_vlan_pcp alt_vlan_dscp rtt cc_mode tcp_cp inactivity_cp"
    )
    tree = knobs("plain", folder, names, mode=0o400, init_cr=200)
    values, tree = Values(200, good=300, bad=65536), classes(tree, "bnxt_re0", "eth0")
    return Vendor(f"bnxt:{PCI}", folder, "init_cr", values, tree, aliases=("bnxt_re0",))


def bnxt_configfs(kind: str = "configfs") -> Vendor:
    """configfs is not in /sys/class, but it is in /sys: /sys/kernel/config."""
    folder, knob = "/kernel/config/bnxt_re/bnxt_re0/ports/1/cc", "ai_rate_incr"
    names = (
        f"{knob} ecn_enable cc_mode g init_cr init_tr inact_th min_time_bet_cnp cnp_dscp cnp_prio"
    )
    tree = knobs(kind, folder, names, ai_rate_incr=10)
    tree[f"{folder}/apply"] = "0\n"
    values, tree = Values(10, good=16, bad=256, most=20), classes(tree, "bnxt_re0", "eth0")
    return Vendor("bnxt-configfs:bnxt_re0", folder, knob, values, tree, knob, "port", (PCI,))


def bnxt_configfs_old() -> Vendor:
    return bnxt_configfs("configfs-apply")


def irdma() -> Vendor:
    folder = "/module/irdma/parameters"
    names = "cc_cfg_valid rai_factor hai_factor T B F min_dec_factor min_rate rreduce_mperiod"
    names = " ".join(f"dcqcn_{name}" for name in names.split())
    tree = knobs("parameter", folder, names, mode=0o444, dcqcn_T=0x37)
    return Vendor("irdma:irdma", folder, "dcqcn_T", Values(55, 60, 65536), tree, scope="driver")


NICCTL = """#!/bin/sh
# What AMD's program prints and takes, as far as it is published.
state={state}
[ -e "$state/ai-rate" ] || {{ echo "ERROR - NIC not found"; exit 1; }}
value() {{ read -r v <"$state/$1"; printf '  %-40s : %s\\n' "$2" "$v"; }}
show() {{
	echo "NIC : 42424650-4c32-3531-3230-303443000000 ({pci})"
	echo "-----------------------------------------------------"
	echo
	echo "  Lif id                                   : 43000070-0100-0000-4242-04908130a7a0"
	echo "  ROCE device                              : ionic_0"
	echo "  DCQCN profile id                         : 1"
	echo "  Status                                   : Enabled"
	value ai-rate "Rate increase in AI phase"
	value rate-increase-byte-count "Rate increase byte count"
	value alpha-update-g "Alpha update G value"
	value alpha-update-interval "Alpha update interval"
	value hai-rate "Rate increase in HAI phase"
	value initial-alpha-value "Initial alpha value"
	value rate-reduce-monitor-period "Rate reduce monitor period"
	value rate-increase-threshold "Rate increase threshold"
	value rate-increase-interval "Rate increase interval"
	value token-bucket-size "Token bucket size"
	value cnp-dscp "DSCP value used for CNP"
}}
verb=$1
[ "$2" = dcqcn ] || {{ echo "ERROR - Invalid input"; exit 1; }}
shift 2
while [ $# -gt 0 ]; do
	case $1 in
	-r) [ "$2" = ionic_0 ] || {{ echo "ERROR - Invalid device"; exit 1; }} ;;
	-i) [ "$2" = 1 ] || {{ echo "ERROR - Invalid profile"; exit 1; }} ;;
	--*)
		[ "$verb" = update ] && [ -e "$state/${{1#--}}" ] || {{ echo "ERROR - Invalid"; exit 1; }}
		echo "$2" >"$state/${{1#--}}"
		;;
	esac
	shift 2
done
[ "$verb" != show ] || show
"""


class Ionic(Vendor):
    def make_tools(self, root: Path) -> None:
        install(root, "nicctl", NICCTL.format(state=f"{root}/sys{self.folder}", pci=PCI))


def ionic() -> Vendor:
    """What the program asks the NIC for is in files, as drivers' is."""
    names = (
        "ai-rate hai-rate rate-increase-interval rate-increase-byte-count rate-increase-threshold"
        " rate-reduce-monitor-period alpha-update-interval alpha-update-g initial-alpha-value"
        " token-bucket-size cnp-dscp"
    )
    tree = knobs("plain", "/nicctl", names, **{"ai-rate": 160})
    values, tree = Values(160, good=200, bad=65536, most=320), classes(tree, "ionic_0", "eth0")
    device, aliases = "ionic:ionic_0/1", (PCI, "eth0")
    return Ionic(device, "/nicctl", "ai-rate", values, tree, "ai", "profile", aliases)


MLXCONFIG = """#!/bin/sh
[ "$1" = -d ] && [ "$2" = {pci} ] && [ "$3" = query ] || {{ echo "-E- Failed"; exit 3; }}
cat <<END

Device #1:
----------

Device type:    ConnectX7
Device:         {pci}

Configurations:                              Next Boot
         CLAMP_TGT_RATE_AFTER_TIME_INC_P1            True(1)
         CLAMP_TGT_RATE_P1                           False(0)
         RPG_TIME_RESET_P1                           300
         RPG_AI_RATE_P1                              7
         RPG_AI_RATE_P2                              5
         RPG_HAI_RATE_P1                             50
END
"""


class MlxConfig(Vendor):
    def make_tools(self, root: Path) -> None:
        install(root, "mlxconfig", MLXCONFIG.format(pci=PCI))


def mlxconfig() -> Vendor:
    tree = classes({f"/bus/pci/devices/{PCI}/vendor": "0x15b3\n"}, "mlx5_0", "eth0")
    values = Values(7, good=20, bad=0)
    return MlxConfig(f"mlxconfig:{PCI}/P1", "", "RPG_AI_RATE", values, tree, scope="port")


def install(root: Path, name: str, text: str) -> None:
    path = root / "usr" / "sbin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(stat.S_IRWXU)
