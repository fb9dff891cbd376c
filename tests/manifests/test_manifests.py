# SPDX-License-Identifier: GPL-2.0
"""The Kubernetes manifests against the schemas of the API servers that they are for.

Nothing is asked over the network: kubernetes-validate carries the schemas. Where it is not
installed (make deps), all is skipped. It has none of the Prometheus operator's: of the PodMonitor
is checked that it finds the port. The overlay is built by kubectl, where there is one.
"""

import copy
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

try:
    import kubernetes_validate
    import yaml
except ImportError as error:
    raise unittest.SkipTest(f"{error}: make deps") from error

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "userspace" / "launchers" / "kubernetes"
BASE = FOLDER / "base"
METRICS = FOLDER / "metrics"
MLCCD = ROOT / "build" / "userspace" / "mlccd" / "mlccd"
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


def mlccd_of(daemons: Document) -> Document:
    containers = daemons["spec"]["template"]["spec"]["containers"]
    return next(one for one in containers if one["name"] == "mlccd")


def overlay() -> dict[str, Document]:
    """By kind, as kubectl would send it."""
    kubectl = shutil.which("kubectl")
    if not kubectl:
        raise unittest.SkipTest("no kubectl here")
    command = [kubectl, "kustomize", str(FOLDER / "overlay")]
    done = subprocess.run(command, capture_output=True, text=True)
    if 'unknown field "components"' in done.stderr:
        raise unittest.SkipTest("this kubectl knows no components")
    if done.returncode:
        print(f"# {done.stderr.strip()}")
    return {one["kind"]: one for one in yaml.safe_load_all(done.stdout)}


class Manifests(unittest.TestCase):
    def check(self, some: list[Document]) -> None:
        """Unknown fields are errors, too."""
        for one in some:
            for version in VERSIONS:
                with self.subTest(one["kind"], version=version):
                    kubernetes_validate.validate(one, version, strict=True)

    def check_port(self, monitor: Document, daemons: Document, config: Document) -> None:
        """Prometheus looks for the pods by a label, and for the port by its name."""
        labels = daemons["spec"]["template"]["metadata"]["labels"]
        selector = monitor["spec"]["selector"]["matchLabels"]
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        ports = {one["name"]: one["containerPort"] for one in mlccd_of(daemons)["ports"]}
        told = re.findall(r"^metrics-port = (\d+)$", config["data"]["mlccd.conf"], re.MULTILINE)
        self.assertEqual(monitor["metadata"]["namespace"], daemons["metadata"]["namespace"])
        self.assertTrue(selector and selector.items() <= labels.items())
        self.assertEqual([str(ports[endpoint["port"]])], told)

    def test_they_are_valid(self) -> None:
        names = (FOLDER / "example-pod.yaml", METRICS / "config.yaml")
        self.check(all_documents() + [one for name in names for one in documents(name)])

    def test_each_file_of_the_base_is_named_and_in_its_namespace(self) -> None:
        names = {path.name for path in BASE.glob("*.yaml")} - {"kustomization.yaml"}
        spaces = {one["metadata"].get("namespace", "mlcc-system") for one in all_documents()}
        self.assertEqual(names, set(kustomization()["resources"]))
        self.assertEqual(spaces, {kustomization()["namespace"]})

    def test_the_agent_may_read_pods_and_nothing_else(self) -> None:
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
        self.assertEqual(find("ClusterRole")["rules"], [rule])

    def test_nothing_is_privileged(self) -> None:
        """Every capability is asked for by name, only mlccd's are many; one has a token."""
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
            with self.subTest(container["name"]):
                self.assertFalse(context.get("privileged") or context["allowPrivilegeEscalation"])
                self.assertTrue(context["readOnlyRootFilesystem"])
                self.assertEqual(context["capabilities"]["drop"], ["ALL"])
                self.assertEqual(set(context["capabilities"]["add"]), allowed[container["name"]])
                mounts = {mount["name"] for mount in container["volumeMounts"]}
                self.assertEqual("token" in mounts, container["name"] == "agent")
        self.assertFalse(spec["automountServiceAccountToken"])

    def test_a_busy_mlccd_is_not_killed(self) -> None:
        """mlcc-ctl gives up first, and that many times."""
        probe = mlccd_of(find("DaemonSet"))["livenessProbe"]
        self.assertEqual(probe["exec"]["command"], ["mlcc-ctl", "status"])
        self.assertGreater(probe["timeoutSeconds"], 10)
        self.assertGreaterEqual(probe["failureThreshold"] * probe["periodSeconds"], 120)

    def test_the_component_opens_the_port_that_it_names(self) -> None:
        (component,) = documents(METRICS / "kustomization.yaml")
        named = component["resources"] + [patch["path"] for patch in component["patches"]]
        (monitor,), (config,), (patch,) = (
            documents(METRICS / f"{name}.yaml") for name in ("podmonitor", "config", "daemonset")
        )
        daemons = copy.deepcopy(find("DaemonSet"))
        mlccd_of(daemons)["ports"] = mlccd_of(patch)["ports"]
        names = {path.name for path in METRICS.glob("*.yaml")} - {"kustomization.yaml"}
        self.assertEqual(names, set(named))
        self.check_port(monitor, daemons, config)

    @unittest.skipUnless(MLCCD.exists(), "mlccd is not built: make userspace")
    def test_mlccd_takes_its_configuration(self) -> None:
        """That of the base, of the component and of the overlay."""
        maps = [find("ConfigMap"), *documents(METRICS / "config.yaml")]
        (site,) = documents(FOLDER / "overlay" / "kustomization.yaml")
        texts = [one["data"]["mlccd.conf"] for one in maps]
        texts += [
            change["value"]
            for patch in site["patches"]
            for change in yaml.safe_load(patch["patch"])
            if change["path"] == "/data/mlccd.conf"
        ]
        self.assertEqual(len(texts), 3)
        for text in texts:
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(text)
                file.flush()
                subprocess.run([MLCCD, "--check", "--config", file.name], check=True)

    def test_kubectl_builds_the_overlay(self) -> None:
        """Image, nodes, port and mlccd.conf are what it says."""
        all_kinds = overlay()
        monitor = all_kinds.pop("PodMonitor")
        daemons, config = all_kinds["DaemonSet"], all_kinds["ConfigMap"]
        spec = daemons["spec"]["template"]["spec"]
        images = {one["image"] for one in spec["initContainers"] + spec["containers"]}
        self.check(list(all_kinds.values()))
        self.check_port(monitor, daemons, config)
        self.assertEqual(images, {"registry.example.com/mlcc:0.1"})
        self.assertIn("nvidia.com/gpu.present", spec["nodeSelector"])
        self.assertIn("skip = lo, 2049", config["data"]["mlccd.conf"])

    def test_cdi_gives_the_socket_of_the_example(self) -> None:
        """The folder that has the socket and nothing else: the next mlccd's is found, too."""
        (spec,) = documents(FOLDER.parent / "cdi" / "mlcc.yaml")
        (pod,) = documents(FOLDER / "example-pod.yaml")
        (device,) = spec["devices"]
        (mount,) = device["containerEdits"]["mounts"]
        (path,) = pod["spec"]["containers"][0]["volumeMounts"]
        (volume,) = pod["spec"]["volumes"]
        self.assertEqual(f"{spec['kind']}={device['name']}", "mlcc.dev/socket=mlccd")
        self.assertEqual(mount["hostPath"], volume["hostPath"]["path"])
        self.assertEqual(mount["hostPath"], "/run/mlcc/socket")
        self.assertEqual(mount["containerPath"], path["mountPath"])
        self.assertEqual(mount["containerPath"], "/run/mlcc")
        self.assertTrue(path["readOnly"] and {"bind", "ro"} <= set(mount["options"]))
