# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Completion of mlcc-plan.

_mlcc_plan()
{
	local verbs="check solve place draw classes apply profile"
	local model="--strict --tolerance"
	local search="--precision --limit --seed"
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local verb="" word words=""

	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		-*) ;;
		*) verb=$word; break ;;
		esac
	done

	case $previous in
	--precision) words="exact 1 2 5 10" ;;
	--tolerance | --limit | --seed | --count | --name | --guard | --dscp) return ;;
	--seconds | --hosts | --model-bytes | --workers) return ;;
	--algorithm) words="ring tree parameter-server all-to-all" ;;
	--interface)
		words=$(find /sys/class/net /sys/class/infiniband -mindepth 1 -printf '%f ' 2>/dev/null)
		;;
	--classes) words="2 3 4 8" ;;
	--trace | --pcap | --socket) ;;
	*)
		case $verb in
		"") words="$verbs --json --help --version" ;;
		check) words="$model --json --help" ;;
		solve | place | draw) words="$model $search --json --help" ;;
		classes) words="--count --json --help" ;;
		apply) words="--dry-run --guard --here --best --as-is --no-shifts --classes --dscp
			--clear --socket $model $search --json --help" ;;
		profile) words="--interface --seconds --pcap --hosts --trace --mlccd --name --socket
			--model-bytes --workers --algorithm --json --help" ;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
	[ -z "$verb" ] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
}

complete -o filenames -F _mlcc_plan mlcc-plan
