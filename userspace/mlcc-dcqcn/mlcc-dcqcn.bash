# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Completion of mlcc-dcqcn; devices and knobs are those that it finds.

# _mlcc_dcqcn_show KEY WORD...: the values of a key in what "show" prints as JSON
_mlcc_dcqcn_show()
{
	local key=$1
	shift

	mlcc-dcqcn -j show "$@" 2>/dev/null | grep -o "\"$key\":\"[^\"]*" | sed "s/\"$key\":\"//"
}

_mlcc_dcqcn_jobs()
{
	mlcc-ctl -j show 2>/dev/null | grep -o '"name":"[^"]*' | sed 's/"name":"//'
}

_mlcc_dcqcn()
{
	local verbs="show set follow lead restore help"
	local common="--json --dry-run --sysroot --help"
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local verb="" device="" at=1 words=""

	# a colon is a word of its own to bash: [BACK END:]NAME is completed without the first part
	while [ "$at" -lt "$COMP_CWORD" ]; do
		case ${COMP_WORDS[at]} in
		--sysroot | --drive | --base | --cap | --profile | --cadence | --hysteresis | \
			--budget | --weight | --progress | --phase-bytes | --here | --port) at=$((at + 1)) ;;
		-*) ;;
		*)
			if [ -z "$verb" ]; then
				verb=${COMP_WORDS[at]}
			else
				device=${device:-${COMP_WORDS[at]}}
			fi
			;;
		esac
		at=$((at + 1))
	done

	case $previous in
	--drive) words="ai time" ;;
	--profile) words="hotnets22 mltcp interleave" ;;
	--weight) words="min mean" ;;
	--progress) words="job port" ;;
	--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$current")
		return
		;;
	*)
		case $verb:$device in
		:) words="$verbs $common --version" ;;
		show:) words="$(_mlcc_dcqcn_show rdma) $(_mlcc_dcqcn_show name --backends) --backends" ;;
		set:) words=$(_mlcc_dcqcn_show rdma) ;;
		restore:) words="$(_mlcc_dcqcn_show rdma) --force" ;;
		follow:) words=$(_mlcc_dcqcn_show rdma) ;;
		lead:) words=$(_mlcc_dcqcn_jobs) ;;
		lead:*) words="$(compgen -A hostname) --here --port --cadence" ;;
		show:*) words=$(_mlcc_dcqcn_show name "$device") ;;
		set:*)
			words=$(_mlcc_dcqcn_show name "$device" | sed 's/$/=/')
			compopt -o nospace 2>/dev/null
			;;
		follow:*)
			words="$(_mlcc_dcqcn_jobs) --drive --base --cap --profile --cadence
				--hysteresis --budget --alone --weight --wait --progress --phase-bytes"
			;;
		help:*) words=$verbs ;;
		esac
		words="$words $common"
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _mlcc_dcqcn mlcc-dcqcn
