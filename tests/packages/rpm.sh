#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# packaging/mlcc.spec, by Debian's rpm: its packages have the files that Debian's have, go into a root
# file system and out of it, and their scripts do what Debian's do.  This machine keeps nothing of it.

# shellcheck disable=SC2317  # ktap_check calls functions by name

repo=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/selftests/lib/lib.sh
. "$repo/tests/selftests/lib/lib.sh"

units=/usr/lib/systemd/system
enabled="mlcc-carrier.service mlcc-observe.service mlccd.service mlccd.socket"
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$repo/debian/changelog")
out=$(mktemp -d)
defer rm -rf "$out"
root=$out/root
mkdir "$root"

# What Fedora defines, and Debian does not or otherwise. systemd's scripts only say that they ran.
fedora=(
	--define "_docdir_fmt %%{NAME}"
	--define "_unitdir $units"
	--define "_sysusersdir /usr/lib/sysusers.d"
	--define "python3_sitelib /usr/lib/python3/dist-packages"
	--define "systemd_post() systemctl preset %*"
	--define "systemd_preun() systemctl preun %*"
	--define "systemd_postun_with_restart() systemctl restart %*"
)

version_is_debians()
{
	grep -qx "Version:[[:blank:]]*$version" "$repo/packaging/mlcc.spec" || { echo "Debian's is $version"; false; }
}

quietly()
{
	"$@" >"$out/log" 2>&1 || { tail -n 40 "$out/log"; return 1; }
}

are_built()
{
	local archive=$out/mlcc-$version.tar.gz

	# the name of a link is changed, not what it points to
	git -C "$repo" -c safe.directory="$repo" ls-files -z --cached --others --exclude-standard |
		tar -C "$repo" --null -T - --ignore-failed-read --warning=no-failed-read \
			--transform "s|^|mlcc-$version/|S" -czf "$archive" || return
	quietly rpmbuild -tb --nodeps --noclean --define "_topdir $out/rpm" --define "_smp_mflags -j1" \
		"${fedora[@]}" "$archive"
}

# Debian's packages, as folders, of what rpmbuild has built
are_debians_too()
{
	cd "$debian/.." && quietly debian/rules install units="$units"
}

# Debian's name, or its beginning up to a colon, as Fedora has it
renamed()
{
	sed -E 's/^(lib[^:]*)0(:|$)/\1\2/; s/^(lib[^:]*-dev)(:|$)/\1el\2/'
}

packages_are_debians()
{
	diff <(sed -n 's/^Package: //p; s/^Description: //p' "$repo/debian/control" | paste -d: - - |
		renamed | tr '[:upper:]' '[:lower:]' | sort) \
		<(rpm -qp --queryformat '%{NAME}:%{SUMMARY}\n' "${rpms[@]}" | tr '[:upper:]' '[:lower:]' | sort)
}

# Only Debian has a folder for examples, changelogs, copyrights, and what its tools leave; only Fedora
# lib64, licences and build-ids. Either may compress.
files_are_debians()
{
	diff <(cd "$debian/$1" && find . -not -type d -not -path './DEBIAN/*' |
		sed 's|^\.||; s|\.gz$||; s|^\(/usr/share/doc/mlcc/\)examples/|\1|' |
		grep -vE '^/usr/share/(doc/[^/]*/(changelog|copyright)$|lintian/|python3/)' | sort) \
		<(rpm -qp --queryformat '[%{FILEMODES:perms} %{FILENAMES}\n]' \
			"$out"/rpm/RPMS/*/"$(renamed <<<"$1")-$version"-*.rpm |
			sed -n '/^d/d; s/^[^ ]* //; s|\.gz$||; s|^/usr/lib64/|/usr/lib/|; p' |
			grep -vE '^/usr/(share/licenses|lib/\.build-id)/' | sort)
}

# recipes of launchers, which are documentation, are in Python
needs_no_python()
{
	! rpm -qp --requires "$out"/rpm/RPMS/*/mlcc-"$version"-*.rpm | grep python
}

in_root()
{
	rpm --root "$root" --dbpath /db --nodeps "$@"
}

come_and_go()
{
	local installed

	mapfile -t installed < <(rpm -qp --queryformat '%{NAME}\n' "${rpms[@]}")
	in_root --noscripts -i "${rpms[@]}" && in_root -V "${installed[@]}" &&
		in_root --noscripts -e "${installed[@]}" &&
		! find "$root" -not -type d -not -path "$root/db/*" | grep .
}

# Tools that only write down how they were called are found before those of the packages. The shell is
# no busybox: that has an rmmod of its own, and the kernel is this machine's.
make_tools()
{
	local tool

	mkdir -p "$root/bin" && cp -L "$(type -P dash)" "$root/bin/sh" &&
		ldd "$root/bin/sh" | grep -o '/[^ ]*' | xargs cp -L --parents -t "$root" || return
	for tool in dkms mlccd mlcc-bpf rmmod systemctl; do
		printf '#!/bin/sh\necho "%s $*" >>/said\n' "$tool" >"$root/bin/$tool"
		chmod 755 "$root/bin/$tool"
	done
}

# said LINE...: what was called since the last time, in this order
said()
{
	diff <(printf '%s\n' "$@") "$root/said" && rm "$root/said"
}

starts_nothing()
{
	make_tools && in_root -i "$mlcc" && ! cat "$root/said" 2>/dev/null && in_root -i "$dkms" &&
		said "dkms install mlcc/$version"
}

# with a carrier in the kernel from now on; rpm takes the same version for an upgrade, too
is_upgraded()
{
	mkdir -p "$root/sys/fs/bpf/mlcc/slots" "$root/sys/module/tcp_mlcc"
	echo "# an administrator's line" >>"$root/etc/mlcc/mlccd.conf"
	in_root -U --force "$mlcc" &&
		said "mlcc-bpf upgrade" "systemctl preun $enabled" "systemctl restart mlcc-observe.service mlccd.service" &&
		grep -q administrator "$root/etc/mlcc/mlccd.conf" && in_root -U --force "$dkms" &&
		said "dkms remove mlcc/$version --all" "dkms install mlcc/$version"
}

takes_all_away()
{
	in_root -e mlcc &&
		said "systemctl preun $enabled" "mlccd --unload" "mlcc-bpf unload" \
			"systemctl restart mlcc-observe.service mlccd.service" &&
		grep -q administrator "$root/etc/mlcc/mlccd.conf.rpmsave" && in_root -e mlcc-dkms &&
		said "rmmod tcp_mlcc" "dkms remove mlcc/$version --all"
}

main()
{
	local package packages

	require_root
	require_command rpmbuild dh_install
	ktap_start
	ktap_check "the version is Debian's" version_is_debians
	ktap_check "packages are built" are_built
	rpms=("$out"/rpm/RPMS/*/*.rpm)
	mlcc=$(echo "$out"/rpm/RPMS/*/mlcc-"$version"-*.rpm)
	dkms=$(echo "$out"/rpm/RPMS/*/mlcc-dkms-"$version"-*.rpm)
	debian=$(find "$out/rpm/BUILD" -type d -name debian -prune)
	ktap_check "Debian's are built" are_debians_too
	ktap_check "names and summaries" packages_are_debians
	mapfile -t packages < <(sed -n 's/^Package: //p' "$repo/debian/control")
	for package in "${packages[@]}"; do
		ktap_check "files of $package" files_are_debians "$package"
	done
	ktap_check "what mlcc needs" needs_no_python
	ktap_check "all come and go" come_and_go
	ktap_check "installing starts nothing" starts_nothing
	ktap_check "an upgrade keeps carrier and configuration" is_upgraded
	ktap_check "removing takes carriers and jobs away" takes_all_away
	ktap_finish
}

main
