#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The Kubernetes manifests against the schemas of the API servers that they are for. Prints TAP.

Nothing is asked over the network: kubernetes-validate carries the schemas. Where it is not
installed (make deps), all is skipped. It has none of the Prometheus operator's: of the PodMonitor
is checked that it finds the port. The overlay is built by kubectl, where there is one.
"""

import copy
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import kubernetes_validate
    import yaml
except ImportError as error:
    print(f"1..0 # SKIP {error}: make deps")
    sys.exit(4)

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "userspace" / "launchers" / "kubernetes"
BASE = FOLDER / "base"
METRICS = FOLDER / "metrics"
MLCCD = ROOT / "build" / "userspace" / "mlccd" / "mlccd"
VERSIONS = ("1.28", "1.32", "1.37")

Document = dict[str, Any]


class SkippedError(Exception):
    """What this machine cannot check, and why."""


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


def mlccd_of(daemons: Document) -> Document:
    containers = daemons["spec"]["template"]["spec"]["containers"]
    return next(one for one in containers if one["name"] == "mlccd")


def is_valid(document: Document, version: str) -> bool:
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        print(f"# {document['kind']}, Kubernetes {version}: {error.message}")
        return False
    return True


def valid(version: str) -> bool:
    """Unknown fields are errors, too."""
    names = (FOLDER / "example-pod.yaml", METRICS / "config.yaml")
    others = [one for name in names for one in documents(name)]
    return all([is_valid(one, version) for one in all_documents() + others])


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
        "mlccd": {
            *("BPF", "PERFMON", "NET_ADMIN", "SYS_ADMIN", "SYS_PTRACE"),
            *("SETUID", "SETGID", "CHOWN"),
        },
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


def port_is_found(monitor: Document, daemons: Document, config: Document) -> bool:
    """Prometheus looks for the pods by a label, and for the port by its name."""
    template = daemons["spec"]["template"]
    labels = template["metadata"]["labels"]
    selector = monitor["spec"]["selector"]["matchLabels"]
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    ports = {one["name"]: one["containerPort"] for one in mlccd_of(daemons)["ports"]}
    told = re.findall(r"^metrics-port = (\d+)$", config["data"]["mlccd.conf"], re.MULTILINE)
    return (
        monitor["metadata"]["namespace"] == daemons["metadata"]["namespace"]
        and bool(selector)
        and selector.items() <= labels.items()
        and [str(ports[endpoint["port"]])] == told
    )


def component_opens_the_port() -> bool:
    (component,) = documents(METRICS / "kustomization.yaml")
    named = component["resources"] + [patch["path"] for patch in component["patches"]]
    (monitor,), (config,), (patch,) = (
        documents(METRICS / name) for name in ("podmonitor.yaml", "config.yaml", "daemonset.yaml")
    )
    daemons = copy.deepcopy(find("DaemonSet"))
    mlccd_of(daemons)["ports"] = mlccd_of(patch)["ports"]
    names = {path.name for path in METRICS.glob("*.yaml")} - {"kustomization.yaml"}
    return names == set(named) and port_is_found(monitor, daemons, config)


def overlay() -> dict[str, Document]:
    """By kind, as kubectl would send it."""
    kubectl = shutil.which("kubectl")
    if not kubectl:
        raise SkippedError("no kubectl here")
    command = [kubectl, "kustomize", str(FOLDER / "overlay")]
    done = subprocess.run(command, capture_output=True, text=True)
    if 'unknown field "components"' in done.stderr:
        raise SkippedError("this kubectl knows no components")
    if done.returncode:
        print(f"# {done.stderr.strip()}")
    return {one["kind"]: one for one in yaml.safe_load_all(done.stdout)}


def overlay_is_built() -> bool:
    """Image, nodes, port and mlccd.conf are what it says."""
    all_kinds = overlay()
    if not all_kinds:
        return False
    monitor = all_kinds.pop("PodMonitor")
    daemons, config = all_kinds["DaemonSet"], all_kinds["ConfigMap"]
    spec = daemons["spec"]["template"]["spec"]
    images = {one["image"] for one in spec["initContainers"] + spec["containers"]}
    return (
        all([is_valid(one, version) for one in all_kinds.values() for version in VERSIONS])
        and port_is_found(monitor, daemons, config)
        and images == {"registry.example.com/mlcc:0.1"}
        and "nvidia.com/gpu.present" in spec["nodeSelector"]
        and "skip = lo, 2049" in config["data"]["mlccd.conf"]
    )


def mlccd_takes_its_configuration() -> bool:
    """That of the base, of the component and of the overlay."""
    if not MLCCD.exists():
        raise SkippedError("mlccd is not built: make userspace")
    maps = [find("ConfigMap"), *documents(METRICS / "config.yaml")]
    (site,) = documents(FOLDER / "overlay" / "kustomization.yaml")
    texts = [one["data"]["mlccd.conf"] for one in maps]
    texts += [
        change["value"]
        for patch in site["patches"]
        for change in yaml.safe_load(patch["patch"])
        if change["path"] == "/data/mlccd.conf"
    ]
    with tempfile.NamedTemporaryFile("w") as file:
        for text in texts:
            file.seek(0)
            file.truncate()
            file.write(text)
            file.flush()
            if subprocess.run([MLCCD, "--check", "--config", file.name]).returncode:
                return False
    return len(texts) == 3


def liveness_is_patient() -> bool:
    """A busy mlccd is not killed: mlcc-ctl gives up first, and that many times."""
    probe = mlccd_of(find("DaemonSet"))["livenessProbe"]
    return (
        probe["exec"]["command"] == ["mlcc-ctl", "status"]
        and probe["timeoutSeconds"] > 10
        and probe["failureThreshold"] * probe["periodSeconds"] >= 120
    )


def cdi_gives_the_socket() -> bool:
    """The folder that has the socket and nothing else, so that the next mlccd's is found, too."""
    (spec,) = documents(FOLDER.parent / "cdi" / "mlcc.yaml")
    (pod,) = documents(FOLDER / "example-pod.yaml")
    (device,) = spec["devices"]
    (mount,) = device["containerEdits"]["mounts"]
    (path,) = pod["spec"]["containers"][0]["volumeMounts"]
    (volume,) = pod["spec"]["volumes"]
    return (
        f"{spec['kind']}={device['name']}" == "mlcc.dev/socket=mlccd"
        and mount["hostPath"] == volume["hostPath"]["path"] == "/run/mlcc/socket"
        and mount["containerPath"] == path["mountPath"] == "/run/mlcc"
        and path["readOnly"]
        and {"bind", "ro"} <= set(mount["options"])
    )


def checks() -> list[tuple[str, Callable[[], bool]]]:
    versions = [(f"valid for Kubernetes {one}", lambda one=one: valid(one)) for one in VERSIONS]
    return [
        *versions,
        ("what is broken is refused", broken_is_refused),
        ("the base names all its files", complete),
        ("the agent may read pods, and nothing else", rules_are_minimal),
        ("nothing is privileged", nothing_is_privileged),
        ("only the agent has a token", only_the_agent_has_the_token),
        ("a busy mlccd is not killed", liveness_is_patient),
        ("the component opens the port that it names", component_opens_the_port),
        ("mlccd takes its configuration", mlccd_takes_its_configuration),
        ("kubectl builds the overlay", overlay_is_built),
        ("CDI gives the socket of the example", cdi_gives_the_socket),
    ]


def main() -> int:
    print("TAP version 13")
    failed = 0
    for number, (name, check) in enumerate(checks(), 1):
        try:
            good, skip = check(), ""
        except SkippedError as reason:
            good, skip = True, f" # SKIP {reason}"
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} {name}{skip}")
    print(f"1..{len(checks())}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
