# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Completion of mlcc-plan: what --help lists, of the verb if there is one.

_mlcc_plan()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local verb="" word words=""

	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		-*) ;;
		*) verb=$word; break ;;
		esac
	done
	case $previous in
	--interface)
		words=$(find /sys/class/net /sys/class/infiniband -mindepth 1 -printf '%f ' 2>/dev/null)
		;;
	*)
		[ -n "$verb" ] || words="check solve place draw classes apply profile gain"
		words+=" $("${COMP_WORDS[0]}" ${verb:+"$verb"} --help 2>/dev/null |
			grep -o -- '--[a-z-]*[a-z]' | sort -u)"
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
	[ -z "$verb" ] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
}

complete -o filenames -F _mlcc_plan mlcc-plan
