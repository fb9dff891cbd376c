# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Completion of mlcc-pcc; devices are those that the kernel has.

_mlcc_pcc()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=""

	case $previous in
	-t | --threads) ;;
	*) words="$(ls /sys/class/infiniband 2>/dev/null) --threads --json --help --version" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _mlcc_pcc mlcc-pcc
