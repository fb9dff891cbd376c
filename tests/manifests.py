#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The Kubernetes manifests against the schemas of the API servers that they are for. Prints TAP.

Nothing is asked over the network: kubernetes-validate carries the schemas. Where it is not
installed (make deps), all is skipped.
"""

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import kubernetes_validate
    import yaml
except ImportError as error:
    print(f"1..0 # SKIP {error}: make deps")
    sys.exit(4)

FOLDER = Path(__file__).resolve().parents[1] / "userspace" / "launchers" / "kubernetes"
BASE = FOLDER / "base"
VERSIONS = ("1.28", "1.32", "1.37")

Document = dict[str, Any]


def documents(path: Path) -> list[Document]:
    """Of one file."""
    return list(yaml.safe_load_all(path.read_text()))


def kustomization() -> Document:
    return documents(BASE / "kustomization.yaml")[0]


def all_documents() -> list[Document]:
    """As kustomize would send them."""
    return [one for name in kustomization()["resources"] for one in documents(BASE / name)]


def find(kind: str) -> Document:
    return next(one for one in all_documents() if one["kind"] == kind)


def is_valid(document: Document, version: str) -> bool:
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        print(f"# {document['kind']}, Kubernetes {version}: {error.message}")
        return False
    return True


def valid(version: str) -> bool:
    """Unknown fields are errors, too."""
    pods = documents(FOLDER / "example-pod.yaml")
    return all([is_valid(one, version) for one in all_documents() + pods])


def broken_is_refused() -> bool:
    """The check itself: a field that is none, and a value of the wrong type."""
    unknown, wrong = copy.deepcopy(find("DaemonSet")), copy.deepcopy(find("DaemonSet"))
    unknown["spec"]["template"]["spec"]["hostPids"] = True
    wrong["spec"]["template"]["spec"]["hostPID"] = "yes"
    return not is_valid(unknown, VERSIONS[-1]) and not is_valid(wrong, VERSIONS[-1])


def complete() -> bool:
    """Each file of the base is named, and all is in its namespace."""
    names = {path.name for path in BASE.glob("*.yaml")} - {"kustomization.yaml"}
    spaces = {one["metadata"].get("namespace", "mlcc-system") for one in all_documents()}
    return names == set(kustomization()["resources"]) and spaces == {
        kustomization()["namespace"],
    }


def rules_are_minimal() -> bool:
    verbs = ["get", "list", "watch"]
    return find("ClusterRole")["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": verbs}
    ]


def nothing_is_privileged() -> bool:
    """Every capability is one that is asked for by name, and only mlccd's are many."""
    spec = find("DaemonSet")["spec"]["template"]["spec"]
    allowed = {
        "carrier": {"BPF", "PERFMON", "NET_ADMIN"},
        "mlccd": {"BPF", "PERFMON", "NET_ADMIN", "SYS_ADMIN", "SYS_PTRACE"},
        "agent": {"NET_ADMIN"},
    }
    for container in spec["initContainers"] + spec["containers"]:
        context = container["securityContext"]
        if (
            context.get("privileged")
            or context["allowPrivilegeEscalation"]
            or not context["readOnlyRootFilesystem"]
            or context["capabilities"]["drop"] != ["ALL"]
            or set(context["capabilities"]["add"]) != allowed[container["name"]]
        ):
            print(f"# container {container['name']}")
            return False
    return True


def only_the_agent_has_the_token() -> bool:
    spec = find("DaemonSet")["spec"]["template"]["spec"]
    holders = [
        container["name"]
        for container in spec["initContainers"] + spec["containers"]
        if any(mount["name"] == "token" for mount in container["volumeMounts"])
    ]
    return spec["automountServiceAccountToken"] is False and holders == ["agent"]


def checks() -> list[tuple[str, Callable[[], bool]]]:
    versions = [(f"valid for Kubernetes {one}", lambda one=one: valid(one)) for one in VERSIONS]
    return [
        *versions,
        ("what is broken is refused", broken_is_refused),
        ("the base names all its files", complete),
        ("the agent may read pods, and nothing else", rules_are_minimal),
        ("nothing is privileged", nothing_is_privileged),
        ("only the agent has a token", only_the_agent_has_the_token),
    ]


def main() -> int:
    print("TAP version 13")
    failed = 0
    for number, (name, check) in enumerate(checks(), 1):
        good = check()
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} {name}")
    print(f"1..{len(checks())}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
