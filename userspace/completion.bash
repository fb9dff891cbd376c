# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Completion of mlcc-ctl, mlcc-dcqcn, mlcc-bpf and mlcc-pcc, each of which has this file under its name.
# Verbs and options are those of --help, jobs, devices and knobs those that there are.

# _mlcc_values KEY COMMAND...: the values of a key in what a command prints as JSON
_mlcc_values()
{
	local key=$1
	shift

	"$@" 2>/dev/null | grep -o "\"$key\":\"\\?[^\",}]*" | sed "s/\"$key\":\"\\?//"
}

# _mlcc_things PROGRAM:VERB:FIRST: what the verb is for, once it has a first word, or not
_mlcc_things()
{
	case $1 in
	mlcc-pcc:*) ls /sys/class/infiniband 2>/dev/null ;;
	mlcc-*::) "${1%%:*}" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' | grep -v '^mlcc-' ;;
	mlcc-ctl:hint:?*) echo start end ;;
	mlcc-ctl:del-job:* | mlcc-ctl:show:* | mlcc-ctl:explain:* | mlcc-ctl:hint:* | mlcc-ctl:measure:*)
		_mlcc_values id mlcc-ctl -j show
		;;
	mlcc-ctl:profile:*) echo list show set; _mlcc_values name mlcc-ctl -j profile ;;
	mlcc-dcqcn:lead:?*) compgen -A hostname ;;
	mlcc-dcqcn:lead: | mlcc-dcqcn:follow:?*) _mlcc_values name mlcc-ctl -j show ;;
	mlcc-dcqcn:show:?*) _mlcc_values name mlcc-dcqcn -j show "${1##*:}" ;;
	mlcc-dcqcn:set:?*) _mlcc_values name mlcc-dcqcn -j show "${1##*:}" | sed 's/$/=/' ;;
	mlcc-dcqcn:show:) _mlcc_values name mlcc-dcqcn -j show --backends ;&
	mlcc-dcqcn:*) _mlcc_values rdma mlcc-dcqcn -j show ;;
	mlcc-bpf:job:) echo set del ;;
	esac
}

_mlcc()
{
	local program=${1##*/} current=$2 previous=$3 verb="" first="" before="" word words

	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $before:$word in
		--socket:* | --sysroot:* | *:-*) ;;
		*) [ -n "$verb" ] && first=${first:-$word} || verb=$word ;;
		esac
		before=$word
	done
	case $previous in
	--algorithm) words="ring tree all-to-all ps ps-shared" ;;
	--base) words="reno cubic" ;;
	--class) words="training latency background" ;;
	--drive) words="ai time" ;;
	--model) words="$(mlcc-ctl set-job --model list 2>/dev/null | cut -d ' ' -f 1) list" ;;
	--owner) words="$(compgen -u) $(compgen -g -P :)" ;;
	--peer) words=$(compgen -A hostname) ;;
	--precision) words="fp32 tf32 fp16 bf16 fp8 int8" ;;
	--profile) words="interleave hotnets22 mltcp $(_mlcc_values name mlcc-ctl -j profile)" ;;
	--progress) words="job port" ;;
	--restart) words="base queue" ;;
	--set) words="floor= slope= hold= shape= restart= base=" ;;
	--weight) words="min mean" ;;
	--cgroup | --from | --metrics | --plot | --record | --socket | --sysroot)
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	*)
		[ "$program:$verb" != mlcc-dcqcn:set ] || compopt -o nospace 2>/dev/null
		words="$(_mlcc_things "$program:$verb:$first") --version
			$("$program" ${verb:+"$verb"} --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*')"
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current" | sort -u)
}

complete -F _mlcc mlcc-ctl mlcc-dcqcn mlcc-bpf mlcc-pcc
