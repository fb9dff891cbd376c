#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The launcher recipes, with an mlcc-ctl that only writes down what it is told, and can be made to
# fail, to hang, or to be absent.  No carrier and no mlccd are needed; ranks are put into cgroups of
# the test's own where it may make some.

# shellcheck disable=SC2317  # main calls the cases by name
# shellcheck disable=SC2016  # what must not be expanded, or by somebody else

here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
# shellcheck source=tests/selftests/lib/lib.sh
. "$here/lib/lib.sh"

launchers=$repo/userspace/launchers

# What a user's environment may hold: words, quotes, commands, control characters.
hostile=(
	'two words'
	$'line\nfeed'
	$'\e[31mred\a'
	"'; touch \"\$out/pwned\"; '"
	'"; touch "$out/pwned"; "'
	'$(touch "$out/pwned")'
	'`touch "$out/pwned"`'
	'--strict'
	'-'
	'../../etc'
	'*'
	'7'
	'ä€𝄞'
	"$(printf 'x%.0s' {1..300})"
)

### What stands in for others

# The verbs that $FAKE_FAIL or $FAKE_HANG name do so.  "run" is as the real one's: with $FAKE_CGROUP
# the command gets a cgroup of its own, which is killed with what is left in it.
make_ctl()
{
	mkdir "$out/bin"
	cat >"$out/bin/mlcc-ctl" <<-'END'
		#!/bin/bash
		[ "$1" != -j ] || { echo "$FAKE_SHOW"; exit; }
		printf '%s\n' "${*@Q}" >>"$FAKE_LOG"
		verb=$1
		[ "$2" != --dry-run ] || verb=dry-run
		[[ " $FAKE_HANG " != *" $verb "* ]] || { echo $$ >>"$out/hung"; exec sleep 3000; }
		[[ " $FAKE_FAIL " != *" $verb "* ]] || { echo "mlcc-ctl: refused" >&2; exit 1; }
		[ "$verb" = run ] || exit 0
		while [ "$1" != -- ]; do
			[ "$1" != --dscp ] || export NCCL_IB_TC=$(($2 * 4)) UCX_IB_TRAFFIC_CLASS=$(($2 * 4))
			[ "$1" != --paths ] || export NCCL_IB_QPS_PER_CONNECTION=$2 NCCL_IB_SPLIT_DATA_ON_QPS=1 \
				NCCL_NSOCKS_PERTHREAD=$2 NCCL_SOCKET_NTHREADS=1
			shift
		done
		shift
		[ -n "$FAKE_CGROUP" ] || exec "$@"
		cgroup=$FAKE_CGROUP/run-$$
		mkdir "$cgroup" || exit 125
		( echo "$BASHPID" >"$cgroup/cgroup.procs" && exec "$@" )
		status=$?
		echo "'del-job' '$$'" >>"$FAKE_LOG"
		if [ "$(wc -l <"$cgroup/cgroup.procs")" -gt 0 ]; then
			echo killed >>"$FAKE_LOG"
			echo 1 >"$cgroup/cgroup.kill"
		fi
		until rmdir "$cgroup"; do sleep 0.1; done
		exit "$status"
	END
	# what is trained: writes down its words, its environment, and where it is
	cat >"$out/bin/train" <<-'END'
		#!/bin/bash
		{
			printf 'args %s\n' "${*@Q}"
			printf 'name %s\n' "${MLCC_JOB_ID-}"
			printf 'class %s\n' "${NCCL_IB_TC-none} ${UCX_IB_TRAFFIC_CLASS-none}"
			printf 'pairs %s\n' "${NCCL_IB_QPS_PER_CONNECTION-none} ${NCCL_IB_SPLIT_DATA_ON_QPS-none}"
			printf 'sockets %s\n' "${NCCL_NSOCKS_PERTHREAD-none} ${NCCL_SOCKET_NTHREADS-none}"
			printf 'cgroup %s\n' "$(sed -n 's/^0:://p' /proc/self/cgroup)"
		} >"$out/trained.$$"
		[ -z "$TRAIN_S" ] || sleep "$TRAIN_S"
		exit "${TRAIN_STATUS:-0}"
	END
	# starts its ranks as torchrun does: as its own children
	cat >"$out/bin/torchrun" <<-'END'
		#!/bin/bash
		train "$@" & train & train &
		train
		status=$?
		wait
		exit "$status"
	END
	chmod +x "$out/bin/"*
}

# Whatever hangs does so until here.
end_hung()
{
	local pid

	[ -e "$out/hung" ] || return 0
	while read -r pid; do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != sleep ] || kill "$pid"
	done <"$out/hung"
	rm "$out/hung"
}

# What a case that failed has left running must not write into the next one's log.
end_ranks()
{
	[ -n "$cgroup" ] && ! cgroup_is_empty || return 0
	find "$cgroup" -mindepth 1 -type d -exec sh -c 'echo 1 >"$1/cgroup.kill"' - {} \;
	slowwait - cgroup_is_empty
}

# Each case begins with nothing written.
fresh()
{
	end_hung
	end_ranks
	rm -rf "$out"/trained.* "$out/tmp" "$out/log" "$out/pwned"
	mkdir "$out/tmp"
	: >"$out/log"
	unset FAKE_FAIL FAKE_HANG FAKE_CGROUP TRAIN_STATUS TRAIN_S
	unset MLCC_JOB_ID MLCC_JOB_SET MLCC_STRICT MLCC_CLASS MLCC_PROFILE MLCC_PHASE_BYTES MLCC_MODEL
	unset MLCC_DSCP NCCL_IB_TC UCX_IB_TRAFFIC_CLASS
	unset MLCC_PATHS NCCL_IB_QPS_PER_CONNECTION NCCL_IB_SPLIT_DATA_ON_QPS
	unset NCCL_NSOCKS_PERTHREAD NCCL_SOCKET_NTHREADS
	unset MLCC_WORKERS MLCC_ALGORITHM TORCHELASTIC_RUN_ID SLURM_JOB_ID PMIX_NAMESPACE
	export MLCC_TIMEOUT_S=2 TMPDIR=$out/tmp FAKE_LOG=$out/log
}

# A PATH on which there is everything but mlcc-ctl.
without_ctl()
{
	mkdir -p "$out/bare"
	ln -sf "$out/bin/train" "$out/bin/torchrun" "$out/bare/"
	PATH=$out/bare:${PATH#"$out/bin:"} "$@"
}

same()
{
	[ "$1" = "$2" ] || { printf 'is:     %s\nwanted: %s\n' "$1" "$2"; return 1; }
}

# status WANTED COMMAND...
status()
{
	local wanted=$1 is
	shift

	"$@"
	is=$?
	[ "$is" -eq "$wanted" ] || { echo "status $is, wanted $wanted: $*"; return 1; }
}

# How often the log has a line that matches.
count()
{
	grep -cE -- "$1" "$out/log"
}

# made WORD: how many files of that name processes have made
made()
{
	find "$out" -maxdepth 1 -name "$1.*" | wc -l
}

# field NAME: of what was trained, each value once
field()
{
	cat "$out"/trained.* | sed -n "s/^$1 //p" | sort -u
}

name_told()
{
	sed -n "s/^'run' '--name' '\([^']*\)'.*/\1/p" "$out/log"
}

# A name that mlccd takes, that is neither an id nor an option.
is_safe()
{
	[[ "$1" =~ ^[A-Za-z0-9._:@+-]{1,63}$ && "$1" =~ [^0-9] && "$1" != -* ]] ||
		{ printf 'unsafe name: %q\n' "$1"; return 1; }
}

nothing_was_run()
{
	[ ! -e "$out/pwned" ] || { echo "what a name held was run"; return 1; }
}

### mlcc-run

run_passes_its_options()
{
	fresh
	MLCC_JOB_ID=bert MLCC_CLASS=training MLCC_PROFILE=interleave MLCC_PHASE_BYTES=5 \
		mlcc-run train || return
	same "$(tail -n 1 "$out/log")" "'run' '--name' 'bert' '--any-name' '--class' 'training' \
'--profile' 'interleave' '--phase-bytes' '5' '--' 'train'" || return
	fresh
	MLCC_JOB_ID=bert MLCC_MODEL=resnet50 MLCC_WORKERS=4 MLCC_ALGORITHM=ring MLCC_DSCP=32 \
		MLCC_PATHS=8 MLCC_STRICT=1 mlcc-run train || return
	same "$(tail -n 1 "$out/log")" "'run' '--name' 'bert' '--any-name' '--strict' '--dscp' '32' \
'--paths' '8' '--model' 'resnet50' '--workers' '4' '--algorithm' 'ring' '--' 'train'"
}

run_knows_its_own_options()
{
	fresh
	mlcc-run --help | grep -q '^ *MLCC_STRICT=1 ' || { mlcc-run --help; return 1; }
	status 2 mlcc-run --strict train 2>/dev/null && status 2 mlcc-run -- 2>/dev/null &&
		status 2 mlcc-mpi --strict train 2>/dev/null && status 2 mlcc-mpi -- 2>/dev/null || return
	same "$(cat "$out/log")$(made trained)" 0 || return
	mlcc-run -- train && prints 1 made trained || return
	MLCC_JOB_SET=1 mlcc-mpi -- train && prints 2 made trained
}

# makes_safe [NAME=VALUE] COMMAND...: it is told a name that mlccd takes, and nothing of it was run
makes_safe()
{
	fresh
	env "$@" || return
	is_safe "$(name_told)" && nothing_was_run
}

names_are_made_safe()
{
	local name

	for name in "${hostile[@]}" ''; do
		makes_safe MLCC_JOB_ID="$name" mlcc-run train && is_safe "$(field name)" &&
			makes_safe TORCHELASTIC_RUN_ID="$name" mlcc-torchrun train.py &&
			makes_safe mlcc-torchrun --rdzv-id "$name" train.py || return
	done
}

run_keeps_words_apart()
{
	local word

	fresh
	for word in "${hostile[@]}"; do
		: >"$out/log"
		MLCC_PHASE_BYTES=$word MLCC_PROFILE=$word MLCC_JOB_ID=a mlcc-run train || return
		same "$(tr '\n' ' ' <"$out/log" | sed "s/.*'run' '--name'/'run' '--name'/")" \
			"$(tr '\n' ' ' <<<"'run' '--name' 'a' '--any-name' '--profile' ${word@Q} '--phase-bytes' ${word@Q} '--' 'train'")" ||
			return
	done
	fresh
	mlcc-run train "${hostile[@]}" '' || return
	same "$(sed '/^name /,$d' "$out"/trained.*)" "args $(set -- "${hostile[@]}" ''; echo "${*@Q}")" &&
		nothing_was_run
}

run_passes_the_status_on()
{
	fresh
	TRAIN_STATUS=37 status 37 mlcc-run train && status 137 mlcc-run sh -c 'kill -KILL $$'
}

# The launcher sees one process, from the script to what is trained: signals are that one's.
run_becomes_the_command()
{
	fresh
	mlcc-run sh -c 'echo $$ >"$out/ready"' &
	wait "$!" && same "$(<"$out/ready")" "$!"
}

# trains_without COMMAND...: with a warning, and its own exit status
trains_without()
{
	TRAIN_STATUS=5 status 5 "$@" 2>"$out/warned" || return
	more_than 0 made trained || { echo "not trained"; return 1; }
	prints 1 grep -c 'without mlcc' "$out/warned" && same "$(wc -l <"$out/warned")" 1
}

# refuses COMMAND...: where strict
refuses()
{
	MLCC_STRICT=1 status 125 "$@" 2>/dev/null || return
	prints 0 made trained
}

# whatever CHECK: what is trained has a job in none of these cases
whatever()
{
	fresh; FAKE_FAIL=status "$1" mlcc-run train || return
	fresh; FAKE_FAIL=dry-run "$1" mlcc-run train || return
	fresh; FAKE_HANG=status "$1" mlcc-run train || return
	fresh; FAKE_FAIL=status "$1" mlcc-torchrun train.py || return
	fresh; "$1" without_ctl mlcc-run train
}

it_trains_whatever_mlcc_does()
{
	whatever trains_without || return
	fresh; MLCC_TIMEOUT_S=soon trains_without mlcc-run train || return
	# not even mlcc-run is there
	fresh
	mkdir -p "$out/alone"
	cp "$launchers/mlcc-torchrun" "$out/alone/"
	PATH=$out/bin:/usr/bin:/bin TRAIN_STATUS=5 status 5 "$out/alone/mlcc-torchrun" 2>/dev/null
}

it_refuses_where_strict()
{
	whatever refuses
}

run_does_not_set_a_job_twice()
{
	fresh
	mlcc-run mlcc-run mlcc-run train || return
	prints 1 count "^'run' '--name'" || return
	fresh
	MLCC_JOB_SET=1 mlcc-run train && prints "" cat "$out/log"
}

### mlcc-torchrun

# takes NAME [VARIABLE=VALUE...] ARGUMENTS...: which name mlcc-torchrun takes of all
takes()
{
	local wanted=$1 words=()
	shift

	while [[ ${1-} == [A-Z]*=* ]]; do
		words+=("$1")
		shift
	done
	fresh
	env "${words[@]}" mlcc-torchrun "$@" >/dev/null && same "$(name_told)" "$wanted"
}

torchrun_takes_the_run_id()
{
	local pet=PET_RDZV_ID=kubeflow elastic=TORCHELASTIC_RUN_ID=elastic

	takes torchrun-77 "$pet" --rdzv-id 77 train.py &&
		takes torchrun-a_b --nnodes 2 --rdzv_id=a/b train.py --rdzv-id no &&
		takes torchrun-elastic "$elastic" train.py &&
		takes torchrun-kubeflow "$pet" "$elastic" train.py &&
		takes mine MLCC_JOB_ID=mine --rdzv-id 77 train.py || return
	fresh
	mlcc-torchrun train.py >/dev/null && is_safe "$(name_told)"
}

torchrun_is_one_job()
{
	fresh
	mlcc-torchrun --nproc-per-node 4 --rdzv-id 1 train.py "a  b" || return
	prints 4 made trained || return
	prints 1 count "^'run' '--name'" || return
	field args | grep -qF "'--nproc-per-node' '4' '--rdzv-id' '1' 'train.py' 'a  b'"
}

### mlcc-mpi

# An own cgroup, in which the test and all that it starts is from now on.
setup_cgroup()
{
	local mount own

	mount=$(cgroup2_mount)
	own=$(sed -n 's/^0:://p' /proc/self/cgroup)
	[ "$(id -u)" -eq 0 ] && [ -n "$mount" ] || return
	cgroup=$mount${own%/}/mlcc-test-$$
	mkdir "$cgroup" 2>/dev/null || return
	defer leave_cgroup "$mount$own"
	echo $$ >"$cgroup/cgroup.procs"
}

cgroup_is_empty()
{
	[ -z "$(find "$cgroup" -mindepth 1 -type d)" ]
}

leave_cgroup()
{
	echo $$ >"$1/cgroup.procs"
	echo 1 >"$cgroup/cgroup.kill"
	find "$cgroup" -mindepth 1 -depth -type d -exec rmdir {} +
	slowwait - rmdir "$cgroup" 2>/dev/null
}

# mpi IMPLEMENTATION ARGUMENTS...: in the foreground, as "timeout" would otherwise pass each signal on
# twice, to mpirun and to its process group; and Open MPI takes a second TERM as "leave the ranks"
mpi()
{
	local kind=$1
	shift

	if [ "$kind" = mpirun.openmpi ]; then
		timeout --foreground 30 mpirun.openmpi --allow-run-as-root --oversubscribe "$@" >>"$out/mpi" 2>&1
	else
		timeout --foreground 30 mpirun.mpich "$@" >>"$out/mpi" 2>&1
	fi
}

# The holder may take a moment after the last rank.
all_is_gone()
{
	slowwait - cgroup_is_empty || { echo "a cgroup is left"; return 1; }
	[ -z "$(find "$out/tmp" -name 'mlcc-mpi-*')" ] || { echo "a directory is left"; return 1; }
	! count '^killed' || { echo "ranks were killed with their cgroup"; return 1; }
}

mpi_is_one_job()
{
	fresh
	export FAKE_CGROUP=$cgroup
	TRAIN_S=0.3 TRAIN_STATUS=3 MLCC_PHASE_BYTES=5 status 3 mpi "$1" -np 4 mlcc-mpi train "a  b" || return
	prints 4 made trained && same "$(field args)" "'a  b'" &&
		same "$(field class) $(field pairs)" "none none none none" &&
		prints 1 count "^'run' '--name' 'mpi-.*'--phase-bytes' '5'" || return
	# all in one place, and that is the job's
	[[ "$(field cgroup)" =~ ^[^[:space:]]*/run-[0-9]+$ ]] || { field cgroup; return 1; }
	all_is_gone && prints 1 count "^'del-job'"
}

# All ranks ask for it, and one that has chosen another keeps that.
mpi_gives_rdma_its_class_and_paths()
{
	fresh
	export FAKE_CGROUP=$cgroup MLCC_DSCP=32 MLCC_PATHS=8
	mpi "$1" -np 2 mlcc-mpi train || return
	same "$(field class) $(field pairs) $(field sockets)" "128 128 8 1 8 1" && all_is_gone || return
	rm "$out"/trained.*
	mpi "$1" -np 2 env NCCL_IB_TC=96 NCCL_IB_SPLIT_DATA_ON_QPS=0 mlcc-mpi train || return
	same "$(field class) $(field pairs)" "96 128 8 0" && all_is_gone
}

# Ranks that end before others have come must not end the job under them.
mpi_survives_short_ranks()
{
	fresh
	export FAKE_CGROUP=$cgroup
	mpi "$1" -np 2 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || sleep 1
exec mlcc-mpi train' || return
	prints 2 made trained && all_is_gone && prints 1 count "^'run' '--name'"
}

# Nor is a name taken as it is.
mpi_jobs_do_not_mix()
{
	local pid

	fresh
	export FAKE_CGROUP=$cgroup TRAIN_S=2
	MLCC_JOB_ID=one mpi "$1" -np 2 mlcc-mpi train &
	pid=$!
	# two launchers that begin at once may be in each other's way, which is not what is looked at here
	if ! slowwait 20 grep -q "'--name' 'one'" "$out/log" || ! MLCC_JOB_ID=${hostile[5]} mpi "$1" -np 2 mlcc-mpi train; then
		tail -n 20 "$out/mpi"
		return 1
	fi
	status 0 wait "$pid" && prints 4 made trained && same "$(field name | wc -l)" 2 &&
		same "$(name_told | sort)" "$(field name)" && same "$(field cgroup | wc -l)" 2 &&
		is_safe "$(name_told | tail -n 1)" && nothing_was_run && all_is_gone
}

# mpirun passes TERM to its ranks.
mpi_passes_signals_on()
{
	local pid

	fresh
	rm -f "$out"/ready.* "$out"/got.*
	# time enough for a rank to handle a signal on a busy machine
	export FAKE_CGROUP=$cgroup OMPI_MCA_odls_base_sigkill_timeout=8
	mpi "$1" -np 2 mlcc-mpi bash -c 'trap ": >\"$out/got.$$\"; exit 0" TERM; : >"$out/ready.$$"
		for ((i = 0; i < 200; i++)); do sleep 0.1; done' &
	pid=$!
	slowwait - prints 2 made ready || return
	# "timeout" passes it on
	pkill -TERM -P "$pid" timeout || { echo "no mpirun below $pid"; return 1; }
	wait "$pid"
	prints 2 made got && all_is_gone
}

mpi_trains_whatever_mlcc_does()
{
	local mode

	for mode in FAKE_FAIL=status FAKE_FAIL=run FAKE_HANG=status FAKE_HANG=run; do
		fresh
		export "${mode?}" MLCC_TIMEOUT_S=1
		: >"$out/mpi"
		mpi "$1" -np 3 mlcc-mpi train || { echo "failed with $mode"; return 1; }
		prints 3 made trained || return
		[[ $mode == *HANG* ]] || same "$(grep -c mlcc "$out/mpi") $(grep -c 'refused.*without' "$out/mpi")" "1 1" ||
			{ cat "$out/mpi"; return 1; }
	done
	fresh
	MLCC_TIMEOUT_S=1 without_ctl mpi "$1" -np 3 mlcc-mpi train && prints 3 made trained || return
	fresh
	FAKE_FAIL=run MLCC_TIMEOUT_S=1 MLCC_STRICT=1 status 125 mpi "$1" -np 3 mlcc-mpi train && prints 0 made trained
}

# Somebody else has made our directory before us: they could send ranks anywhere.
mpi_takes_nobodys_directory()
{
	[ "$(id -u)" -eq 0 ] || { echo "needs root"; return "$KSFT_SKIP"; }
	fresh
	MLCC_TIMEOUT_S=20 FAKE_FAIL=run mlcc-mpi true 2>/dev/null
	set -- "$out/tmp"/mlcc-mpi-*
	[ -d "$1" ] || { echo "no directory was made"; return 1; }
	rm "$1/failed"
	echo "$cgroup" >"$1/cgroup"
	chown nobody "$1"
	trains_without mlcc-mpi train || return
	grep -q 'no directory of our own' "$out/warned"
}

# mpi_cases KIND: each with this implementation
mpi_cases()
{
	local how

	for how in mpi_is_one_job mpi_gives_rdma_its_class_and_paths mpi_survives_short_ranks mpi_jobs_do_not_mix \
		mpi_passes_signals_on mpi_trains_whatever_mlcc_does; do
		if [ -z "$cgroup" ] || ! type -P "$1" >/dev/null; then
			ktap_skip "$1: $how" "needs root, cgroup v2 and $1"
		else
			ktap_check "$1: ${how//_/ }" "$how" "$1"
		fi
	done
}

### Slurm

# As slurmd runs them: with an environment of its own, and no search path.
slurm()
{
	local script=$1
	shift

	env -i out="$out" SLURMD_NODENAME=node1 "$@" "$out/slurm/$script.sh"
}

fresh_slurm()
{
	fresh
	rm -rf "$out/slurm" "$out/state" "$out/scope"
	cp -r "$launchers/slurm" "$out/slurm"
	mkdir "$out/scope"
	# what follows are further lines of the site's file
	{
		echo "PATH=$out/bin:$PATH MLCC_STATE=$out/state MLCC_SCOPE=$out/scope MLCC_TIMEOUT_S=1"
		echo "export FAKE_LOG=$out/log"
		printf '%s\n' "$@"
	} >"$out/slurm/mlcc-slurm.conf"
}

# sets ID FOLDER OPTIONS [NAME=VALUE...]: the job, which is in that folder of the scope
sets()
{
	: >"$out/log"
	slurm prolog SLURM_JOB_ID="$1" "${@:4}" && same "$(<"$out/log")" \
		"'set-job' '--limited' '--name' 'slurm-$1' '--cgroup' '$out/scope/$2'$3"
}

prolog_sets_the_job()
{
	fresh_slurm
	sets 12 job_12 "" SLURM_JOB_COMMENT=mlcc || return
	[ -d "$out/scope/job_12" ] || { echo "no cgroup"; return 1; }
	sets 13 job_13 " '--profile' 'interleave' '--phase-bytes' '250000000'" \
		SLURM_JOB_COMMENT=mlcc:phase-bytes=250000000,profile=interleave &&
		sets 14 job_14 " '--owner' '65534' '--class' 'background'" SLURM_JOB_UID=65534 \
			SLURM_JOB_COMMENT=mlcc:class=latency SPANK_MLCC_PATHS=4 SPANK_MLCC_CLASS=background && same "$(sed -n 2p "$out/state/14")" 4
}

# sluid FOLDER [NAME=VALUE...]: where the job of SLUID sEKNKTV3WPV500 is set
sluid()
{
	sets 12 "$1" "" SLURM_JOB_COMMENT=mlcc SLURM_JOB_SLUID=sEKNKTV3WPV500 "${@:2}" &&
		slurm epilog SLURM_JOB_ID=12 && prints "" ls "$out/scope"
}

# From 26.05 on slurmstepd names the job's cgroup by it; the variable is older.
prolog_takes_slurms_name()
{
	local release

	fresh_slurm
	sluid sEKNKTV3WPV500 || return
	for release in "slurm-wlm 22.05.8" "slurm 25.11.1" "slurm-wlm 25.11.4" "slurm 26.05.0" "slurm-wlm 27.05.2"; do
		printf '#!/bin/sh\necho %s\n' "$release" >"$out/bin/slurmd"
		chmod +x "$out/bin/slurmd"
		case $release in
		*" 25."*) sluid job_12 ;;
		*) sluid sEKNKTV3WPV500 ;;
		esac || return
	done
	mkdir "$out/conf"
	echo ' cgroupJobIdPaths = YES' >"$out/conf/cgroup.conf"
	sluid job_12 SLURM_CONF="$out/conf/slurm.conf" || return
	rm -r "$out/bin/slurmd" "$out/conf"
	# one that is no name; and where there is a folder already
	sets 12 job_12 "" SLURM_JOB_COMMENT=mlcc SLURM_JOB_SLUID=../job_13 && mkdir "$out/scope/job_14" &&
		sets 14 job_14 "" SLURM_JOB_COMMENT=mlcc SLURM_JOB_SLUID=sEKNKTV3WPV500
}

prolog_leaves_other_jobs_alone()
{
	local comment

	fresh_slurm
	for comment in '' 'a comment' mlccx 'not mlcc'; do
		slurm prolog SLURM_JOB_ID=12 SLURM_JOB_COMMENT="$comment" || return
	done
	slurm prolog SLURM_JOB_ID=12 || return
	prints "" cat "$out/log" || return
	fresh_slurm MLCC_ALL=1
	slurm prolog SLURM_JOB_ID=12 && prints 1 count "^'set-job'"
}

# A user's mistake must not take a node out of service, not even where mlcc is strict.
prolog_refuses_wrong_comments()
{
	local comment

	fresh_slurm MLCC_STRICT=1
	for comment in mlcc:phase-bytes={0,-1,1e9,99999999999999999,,01,"1 2",'$(touch "$out/pwned")'} \
		mlcc:{class,profile}={,'*',"interleave x",--strict,Latency} mlcc:what=ever "mlcc:," \
		mlcc:paths={0,-1,08,129,1000,,x,'8 9'} \
		"${hostile[@]/#/mlcc:}"; do
		slurm prolog SLURM_JOB_ID=12 SLURM_JOB_COMMENT="$comment" 2>/dev/null ||
			{ echo "drains the node: $comment"; return 1; }
		slurm prolog SLURM_JOB_ID=12 SPANK_MLCC_CLASS="$comment" 2>/dev/null || return
		prints "" cat "$out/log" || return
	done
	# what there is, and what users may have, others say
	fresh_slurm MLCC_STRICT=1 "export FAKE_FAIL=set-job"
	for comment in mlcc:{phase-bytes=999T,class=latency,profile=greedy} \
		"${hostile[@]/#/mlcc:class=}"; do
		slurm prolog SLURM_JOB_ID=12 SLURM_JOB_COMMENT="$comment" 2>"$out/warned" ||
			{ echo "drains the node: $comment"; return 1; }
		same "$(wc -l <"$out/warned")" 1 && grep -q 'without mlcc' "$out/warned" || return
		[ ! -s "$out/log" ] || grep -q '(mlcc-ctl: refused)' "$out/warned" || return
		same "print $(<"$out/warned")" "$(slurm task-prolog SLURM_JOB_ID=12)" &&
			same "" "$(slurm task-prolog SLURM_JOB_ID=12 SLURM_PROCID=1)" || return
		: >"$out/log"
	done
	slurm epilog SLURM_JOB_ID=12
	nothing_was_run && prints "" ls "$out/scope" && prints "" ls "$out/state"
}

slurm_scripts_take_only_numbers()
{
	local id script

	fresh_slurm MLCC_ALL=1
	for script in prolog epilog task-prolog; do
		for id in '' '../../12' "${hostile[@]:0:11}"; do
			same "$(slurm "$script" SLURM_JOB_ID="$id" 2>/dev/null)" "" || return
		done
	done
	nothing_was_run && prints "" cat "$out/log" && prints "" ls "$out/scope"
}

prolog_drains_the_node_where_strict_only()
{
	local mode

	for mode in "export FAKE_FAIL=set-job" "export FAKE_HANG=set-job" "rm -f $out/bin/mlcc-ctl" \
		"MLCC_SCOPE=$out/none" "MLCC_STATE=/proc/none"; do
		fresh_slurm "$mode"
		cp "$out/bin/mlcc-ctl" "$out/ctl.kept"
		status 0 slurm prolog SLURM_JOB_ID=12 SLURM_JOB_COMMENT=mlcc 2>"$out/warned" || return
		cp "$out/ctl.kept" "$out/bin/mlcc-ctl"
		grep -q 'without mlcc' "$out/warned" || { echo "no warning: $mode"; return 1; }
		same "$(ls "$out/scope")$(slurm task-prolog SLURM_JOB_ID=12 | grep -v ^print)" "" || return
	done
	fresh_slurm MLCC_STRICT=1 "export FAKE_FAIL=set-job"
	status 1 slurm prolog SLURM_JOB_ID=12 SLURM_JOB_COMMENT=mlcc 2>/dev/null && prints "" ls "$out/scope"
}

# By the loader, of whose own libraries the one that cannot be loaded is empty.
verbs_are_named_where_they_load()
{
	local line="export NCCL_IBVERBS_LIB=libmlcc-ibverbs.so" built=$repo/build/userspace/ibverbs

	: >"$out/tmp/libmlcc-ibverbs.so"
	same "$(slurm task-prolog SLURM_JOB_ID=14 LD_LIBRARY_PATH="$out/tmp" | grep VERBS)" "" || return
	[ ! -e "$built" ] ||
		same "$(slurm task-prolog SLURM_JOB_ID=14 LD_LIBRARY_PATH="$built" | grep VERBS)" "$line"
}

task_prolog_exports()
{
	fresh_slurm
	slurm prolog SLURM_JOB_ID=12 SLURM_JOB_COMMENT=mlcc || return
	same "$(slurm task-prolog SLURM_JOB_ID=12 2>"$out/warned")" "print $(<"$out/warned")" || return
	grep -q 'without mlcc' "$out/warned" || return
	mkdir "$out/scope/job_12/step_0"
	same "$(slurm task-prolog SLURM_JOB_ID=12)" \
		$'export MLCC_JOB_ID=slurm-12\nexport MLCC_JOB_SET=1' || return
	same "$(slurm task-prolog SLURM_JOB_ID=13)" "" || return
	slurm prolog SLURM_JOB_ID=14 SLURM_JOB_COMMENT=mlcc:paths=128 || return
	mkdir "$out/scope/job_14/step_0"
	same "$(slurm task-prolog SLURM_JOB_ID=14 NCCL_IBVERBS_LIB=own | tail -n +3)" \
		"$(printf 'export NCCL_%s\n' IB_QPS_PER_CONNECTION=128 IB_SPLIT_DATA_ON_QPS=1 \
		NSOCKS_PERTHREAD=64 SOCKET_NTHREADS=1)" || return
	verbs_are_named_where_they_load || return
	same "$(slurm task-prolog SLURM_JOB_ID=14 NCCL_IB_QPS_PER_CONNECTION=4 2>"$out/warned")" \
		$'export MLCC_JOB_ID=slurm-14\nexport MLCC_JOB_SET=1' || return
	grep -q 'no paths=128' "$out/warned" || return
	fresh_slurm "export FAKE_SHOW='[{\"id\":1,\"dscp\":34,\"flows\":0}]'"
	slurm prolog SLURM_JOB_ID=15 SPANK_MLCC_CLASS=latency || return
	mkdir "$out/scope/job_15/step_0"
	same "$(slurm task-prolog SLURM_JOB_ID=15 | tail -n 2)" \
		$'export NCCL_IB_TC=136\nexport UCX_IB_TRAFFIC_CLASS=136' || return
	same "$(slurm task-prolog SLURM_JOB_ID=15 NCCL_IB_TC=8 | tail -n +3)" \
		'export UCX_IB_TRAFFIC_CLASS=136'
}

# step CLASS SHOWN: what mlcc-ctl is told of job 12's step 3, whose tasks say CLASS, where its job is SHOWN
step()
{
	: >"$out/log"
	# shellcheck disable=SC2030  # a process of the step's cgroup
	(echo "$BASHPID" >"$cgroup/step_3/user/cgroup.procs" && exec env -i out="$out" SLURM_JOB_ID=12 \
		SLURM_JOB_UID=65534 SPANK_MLCC_CLASS="$1" FAKE_SHOW="$2" "$out/slurm/prolog.sh" --step) 2>"$out/warned"
	cat "$out/log"
}

a_step_has_its_own_class()
{
	local background='[{"id":3,"name":"slurm-12.3","class":"background","dscp":1,"flows":0}]'

	[ -n "$cgroup" ] || { echo "needs root and cgroup v2"; return "$KSFT_SKIP"; }
	fresh_slurm
	mkdir -p "$cgroup/step_3/user"
	same "$(step background '"class":"training"')" "'set-job' '--limited' '--name' 'slurm-12.3' '--cgroup' \
'${cgroup#"$(cgroup2_mount)"/}/step_3' '--owner' '65534' '--class' 'background'" &&
		same "$(step background "$background")$(step '' '')$(step '--strict' '')" "" &&
		prints "" cat "$out/warned" || return
	fresh_slurm "export FAKE_FAIL=set-job"
	step latency '' && grep -q '(mlcc-ctl: refused)' "$out/warned" || return
	fresh_slurm "export FAKE_SHOW='$background'"
	same "$(slurm task-prolog SLURM_JOB_ID=12 MLCC_CLASS=background)" "$(printf 'export %s\n' \
		MLCC_JOB_ID=slurm-12.3 MLCC_JOB_SET=1 NCCL_IB_TC=4 UCX_IB_TRAFFIC_CLASS=4)" &&
		same "$(slurm task-prolog SLURM_JOB_ID=12 MLCC_CLASS=latency)" "" || return
	mkdir -p "$out/state" "$out/scope/job_12/step_0"
	echo "$out/scope/job_12" >"$out/state/12"
	slurm task-prolog SLURM_JOB_ID=12 MLCC_CLASS=latency | prints 1 grep -c '^print .* may not'
}

# And never fails.
epilog_deletes_the_job()
{
	local mode

	for mode in FAIL HANG NOT; do
		fresh_slurm MLCC_STRICT=1 "export FAKE_$mode=del-job"
		slurm prolog SLURM_JOB_ID=12 SLURM_JOB_COMMENT=mlcc && : >"$out/log" &&
			slurm epilog SLURM_JOB_ID=12 2>"$out/warned" || return
		same "$(<"$out/log")" "'del-job' 'slurm-12'" && prints "" ls "$out/state" || return
		[ "$mode" = NOT ] || grep -q del-job "$out/warned" || return
	done
	: >"$out/log"
	prints "" ls "$out/scope" && slurm epilog SLURM_JOB_ID=12 && prints "" cat "$out/log"
}

main()
{
	local kind

	ktap_start
	out=$(mktemp -d) || exit
	export out
	chmod 755 "$out"
	defer rm -rf "$out"
	defer end_hung
	make_ctl
	PATH=$out/bin:$launchers:$PATH
	cgroup=
	setup_cgroup

	each ktap_check run_passes_its_options run_knows_its_own_options names_are_made_safe \
		run_keeps_words_apart run_passes_the_status_on run_becomes_the_command \
		it_trains_whatever_mlcc_does it_refuses_where_strict run_does_not_set_a_job_twice \
		torchrun_takes_the_run_id torchrun_is_one_job
	for kind in mpirun.openmpi mpirun.mpich; do
		mpi_cases "$kind"
	done
	each ktap_check a_step_has_its_own_class mpi_takes_nobodys_directory prolog_sets_the_job prolog_takes_slurms_name \
		prolog_leaves_other_jobs_alone prolog_refuses_wrong_comments \
		slurm_scripts_take_only_numbers prolog_drains_the_node_where_strict_only task_prolog_exports \
		epilog_deletes_the_job
	ktap_finish
}

main
