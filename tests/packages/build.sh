#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# build.sh TREE [twice]: the Debian packages beside TREE, twice with the same result if that is wanted;
# in a root file system with nothing in it (tests/bare --packages).

set -eu
export DEBIAN_FRONTEND=noninteractive

cd "$1"
apt-get -qq update
apt-get -qq install --no-install-recommends build-essential lintian >/dev/null
apt-get -qq build-dep --no-install-recommends ./ >/dev/null

build()
{
	dpkg-buildpackage -b -us -uc >"$1" 2>&1 || { tail -n 40 "$1"; exit 1; }
	(cd .. && sha256sum ./*.deb)
}

build /tmp/first >/tmp/sums
if [ "${2-}" = twice ]; then
	build /tmp/second | diff /tmp/sums - || { echo "the second build has another result"; exit 1; }
fi
ls -l ../*.deb
dpkg-deb --info ../mlcc_*.deb postinst | grep 'dh_action .*mlccd\.socket' &&
	{ echo "an upgrade makes the socket anew"; exit 1; }
lintian --fail-on error,warning ../*.changes
