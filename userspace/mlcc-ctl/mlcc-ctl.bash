# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Completion of mlcc-ctl; jobs and profiles are those that mlccd knows.

# _mlcc_ctl_names KEY WORD...: the values of a key in what the verb prints as JSON
_mlcc_ctl_names()
{
	local key=$1
	shift

	mlcc-ctl -j "$@" 2>/dev/null | grep -o "\"$key\":\"\\?[^\",}]*" |
		sed "s/\"$key\":\"\\?//"
}

_mlcc_ctl()
{
	local verbs="set-job del-job show watch observe measure explain hint profile status doctor undo run help"
	local common="--json --dry-run --socket --help"
	local job="--name --profile --phase-bytes --model --parameters --workers --algorithm
		--precision --period --priority --owner --skip --class"
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local verb="" at=1 words=""

	while [ "$at" -lt "$COMP_CWORD" ]; do
		case ${COMP_WORDS[at]} in
		--socket) at=$((at + 1)) ;;
		-*) ;;
		*) verb=${COMP_WORDS[at]}; break ;;
		esac
		at=$((at + 1))
	done

	case $previous in
	--profile) words=$(_mlcc_ctl_names name profile) ;;
	--class) words="training latency background" ;;
	--algorithm) words="ring tree all-to-all ps ps-shared" ;;
	--precision) words="fp32 tf32 fp16 bf16 fp8 int8" ;;
	--model) words="$(mlcc-ctl set-job --model list 2>/dev/null | cut -d ' ' -f 1) list" ;;
	--base) words="reno cubic" ;;
	--peer) words=$(compgen -A hostname) ;;
	--owner) words="$(compgen -u) $(compgen -g -P :)" ;;
	--restart) words="base queue" ;;
	--cgroup | --socket | --sysroot | --metrics | --plot | --record | --from)
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	*)
		case $verb in
		"") words="$verbs $common --version" ;;
		set-job) words="--cgroup --pid --container --self --id --new --limited $job $common" ;;
		run) words="--strict --any-name --dscp --paths --verbose $job $common --" ;;
		del-job) words="$(_mlcc_ctl_names id show) $common" ;;
		show | explain) words="$(_mlcc_ctl_names id show) --self $common" ;;
		hint)
			words="$(_mlcc_ctl_names id show) start end $common"
			;;
		profile)
			words="list show set $(_mlcc_ctl_names name profile) --floor --slope --hold
				--shape --base --restart --default $common"
			;;
		watch) words="--interval --count $common" ;;
		measure) words="$(_mlcc_ctl_names id show) --all --alternate $common" ;;
		observe) words="--for --cgroup --all --skip --interval --metrics --plot --record --from $common" ;;
		doctor) words="--fix --sysroot --peer --peer-listen $common" ;;
		help) words=$verbs ;;
		*) words=$common ;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _mlcc_ctl mlcc-ctl
