#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# image.sh DIR SUITE MIRROR: the image that userspace/launchers/kubernetes/image/build makes of the
# packages in DIR, on this machine: what is said of it, and whether its programs run.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
kubernetes=$here/../../userspace/launchers/kubernetes
build=$kubernetes/image/build
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail()
{
	echo "$*"
	exit 1
}

# refused STATUS WORDS...: with one line, and no file
refused()
{
	wanted=$1 status=0
	shift
	"$build" "$@" >"$out/said" 2>&1 || status=$?
	[ "$status $(wc -l <"$out/said")" = "$wanted 1" ] || fail "build $*: $status, $(cat "$out/said")"
	[ ! -e "$out/none" ] || fail "build $*: has left a file"
}

mkdir "$out/empty" "$out/oci"
refused 2 "$1"
refused 2 --nonsense "$1" "$out/none"
refused 1 "$out/empty" "$out/none" "$2"
"$build" --help | grep -q "^usage: build" || fail "build does not explain itself"

"$build" "$1" "$out/mlcc.tar" "$2" "$3" 2>&1
tar -x -C "$out/oci" -f "$out/mlcc.tar"
version=$(dpkg-deb -f "$1"/mlcc_*.deb Version)
grep -q "newTag: \"$version\"" "$kubernetes/base/kustomization.yaml" || fail "base/ wants another tag"
python3 - "$out/oci" "$version" >"$out/path" <<'END'
import json, pathlib, sys

root, version = pathlib.Path(sys.argv[1]), sys.argv[2]
blob = lambda digest: json.loads((root / "blobs" / digest.replace(":", "/")).read_text())
(image,) = json.loads((root / "index.json").read_text())["manifests"]
assert image["annotations"]["org.opencontainers.image.ref.name"] == f"mlcc:{version}", image
manifest = blob(image["digest"])
config = blob(manifest["config"]["digest"])
assert len(manifest["layers"]) == 1 and config["os"] == "linux", config
run = config["config"]
assert run["Cmd"] == ["mlccd"] and not run.get("Entrypoint"), run
title, label = (run["Labels"][f"org.opencontainers.image.{name}"] for name in ("title", "version"))
assert (title, label) == ("mlcc", version), run
(path,) = run["Env"]
print(path)
END
umoci unpack --image "$out/oci:mlcc:$version" "$out/unpacked"
root=$out/unpacked/rootfs
# shellcheck disable=SC2016  # the image's own shell expands it
env -i "$(cat "$out/path")" chroot "$root" sh -exc '
	for program in mlccd mlcc-ctl mlcc-agent mlcc-bpf; do
		"$program" --help
	done
	echo mlcc | grep -qw mlcc' >"$out/help" || fail "it does not run in the image"
[ -z "$(ls "$root/tmp")" ] || fail "what is temporary is left in the image"
