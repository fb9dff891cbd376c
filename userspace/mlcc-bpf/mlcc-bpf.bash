# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Completion of mlcc-bpf.

_mlcc_bpf()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=""

	case $previous in
	--profile) words="interleave hotnets22 mltcp" ;;
	--set) words="floor= slope= hold= shape= restart= base=" ;;
	--mark-mask | --phase-bytes) ;;
	--class) words="training latency background" ;;
	*)
		case $COMP_CWORD:${COMP_WORDS[1]}:${COMP_WORDS[2]:-} in
		1:*) words="load upgrade unload job show --help --version" ;;
		*:load:* | *:upgrade:*) words="--profile --mark-mask --set" ;;
		2:job:*) words="set del" ;;
		[4-9]:job:set | 1?:job:set) words="--profile --phase-bytes --class" ;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _mlcc_bpf mlcc-bpf
