#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The Slurm recipe under a real Slurm of one node: slurmctld, slurmd, srun and sbatch, with mlccd and
# what carries mlcc here. Slurm wants the control groups to be of version 2 only and works below their
# root, so this is for virtual machines: `tests/vm/vm run 6.12 -- tests/selftests/slurm.sh`.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; setup_* set variables by name

# shellcheck source=tests/selftests/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tests/selftests/mlccd_common.sh
. "$(dirname "$0")/mlccd_common.sh"

plugin=$repo/build/userspace/slurm/mlcc_spank.so

unload_quietly()
{
	unload_mlccd 2>/dev/null
	return 0
}

# The recipe as Documentation/launchers.md has it, with an mlcc-ctl that finds this mlccd.
install_recipe()
{
	printf '#!/bin/sh\nexec sleep 600\n' >"$out/sleeps" && chmod +x "$out/sleeps" &&
		mkdir "$out/recipe" && cp "$repo"/userspace/launchers/slurm/*.sh "$out/recipe" &&
		install_ctl || return
	cat >"$out/recipe/mlcc-slurm.conf" <<-END
		PATH=$out/bin:\$PATH
		MLCC_STATE=$out/recipe-state
	END
}

write_slurm_conf()
{
	cat >"$out/slurm.conf" <<-END
		ClusterName=mlcc-test
		SlurmctldHost=node1(192.0.2.1)
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=$out/munge/socket
		CredType=cred/munge
		StateSaveLocation=$out/ctld
		SlurmdSpoolDir=$out/slurmd
		SlurmctldPidFile=$out/ctld.pid
		SlurmdPidFile=$out/slurmd.pid
		SlurmctldLogFile=$out/ctld.log
		SlurmdLogFile=$out/slurmd.log
		ProctrackType=proctrack/cgroup
		TaskPlugin=task/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		MpiDefault=none
		PlugStackConfig=$out/plugstack.conf
		SlurmdParameters=config_overrides
		NodeName=node1 NodeAddr=192.0.2.1 CPUs=2 State=UNKNOWN
		PartitionName=test Nodes=node1 Default=YES State=UP
		Prolog=$out/recipe/prolog.sh
		Epilog=$out/recipe/epilog.sh
		TaskProlog=$out/recipe/task-prolog.sh
		PrologFlags=Alloc
		SlurmdTimeout=300
		MessageTimeout=60
		PrologEpilogTimeout=120
	END
	[ ! -e "$plugin" ] || echo "required $plugin $out/recipe/prolog.sh" >"$out/plugstack.conf"
	printf 'CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n' >"$out/cgroup.conf"
}

end_slurm()
{
	pkill -F "$out/slurmd.pid" && pkill -F "$out/ctld.pid"
	pkill -F "$out/munge/pid"
	return 0
}

start_slurm()
{
	# systemd's work
	mkdir -p "$cgroups/system.slice" || return
	mkdir "$out/munge" "$out/ctld" "$out/slurmd" && chmod 755 "$out/munge" || return
	hostname node1 && ip link set lo up && echo "192.0.2.1 node1" >>/etc/hosts || return
	# with nothing but lo the resolver takes the machine for one without IPv4
	ip link add slurm0 type veth peer name slurm1 && defer ip link del slurm0 &&
		ip addr add 192.0.2.1/24 dev slurm0 && ip link set slurm0 up &&
		ip link set slurm1 up || return
	(umask 077 && head -c 1024 /dev/urandom >"$out/munge/key") || return
	write_slurm_conf
	export SLURM_CONF=$out/slurm.conf
	defer end_slurm
	munged --force --socket="$out/munge/socket" --key-file="$out/munge/key" \
		--pid-file="$out/munge/pid" --log-file="$out/munge/log" \
		--seed-file="$out/munge/seed" {carrier_lock}>&- &&
		slurmctld {carrier_lock}>&- && slurmd {carrier_lock}>&- &&
		slowwait - prints idle sinfo -h -o %T 2>/dev/null
}

# What a task finds: its job's name, its place, and what a connection of its own gets.
task='
import os, socket
l = socket.create_server(("127.0.0.1", 0))
s = socket.create_connection(l.getsockname())
cc = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
cgroup = open("/proc/self/cgroup").read().split("/job_")[-1].split("/")[0].strip()
print(os.environ.get("MLCC_JOB_ID", "none"), cgroup, cc,
      s.getsockopt(socket.SOL_SOCKET, 36) > 0)
'

# run COMMENT: a job of one task; sets id to its number, said to what it printed, told to what we did
run()
{
	# shellcheck disable=SC2016  # the job expands it
	said=$(timeout 300 srun ${1:+"--comment=$1"} sh -c \
		'echo "$SLURM_JOB_ID" && exec "$@"' sh "$python" -c "$task" 2>"$out/srun.log") ||
		{ cat "$out/srun.log"; tail -n 20 "$out/slurmd.log"; return 1; }
	told=$(grep '^mlcc-slurm: ' <<<"$said")
	said=$(grep -v '^mlcc-slurm: ' <<<"$said")
	id=${said%%$'\n'*}
	said=${said#*$'\n'}
}

a_job_that_asks_is_one_of_mlcc()
{
	run mlcc || return
	[ "$said" = "slurm-$id $id mlcc True" ] || { echo "said: $said"; return 1; }
	slowwait - prints "[]" ctl -j show || { ctl show; return 1; }
}

other_jobs_are_left_alone()
{
	run "" || return
	[[ $said == "none $id "*" False" && $said$told != *mlcc* ]] || { echo "said: $said"; return 1; }
}

jobs_are()
{
	[ "$(ctl -j show | json "sorted((j['phase_bytes'], j['profile'], j['class']) for j in d)")" = \
		"[$1]" ]
}

# batch JOBS SBATCH'S ARGUMENTS...: what is left of one that fails would be in the way of others
batch()
{
	local id status wanted=$1
	shift

	id=$(sbatch --parsable --output=/dev/null "$@" "$out/sleeps") || return
	slowwait - jobs_are "$wanted"
	status=$?
	[ "$status" -eq 0 ] || { ctl -j show; tail -n 20 "$out/slurmd.log"; }
	scancel "$id"
	slowwait - prints "[]" ctl -j show && return "$status"
}

# The module names no profile that nobody has chosen.
a_batch_job_is_set_as_its_comment_says()
{
	batch "(250000000, 'interleave', 'training')" \
		--comment=mlcc:phase-bytes=250MB,profile=interleave &&
		batch "(0, '', 'background')" --comment=mlcc:class=background
}

# As slurmctld keeps it: the parts would need a node each.
parts_have_their_own()
{
	[ "$(grep -aoE 'MLCC_(CLASS=[lt][a-z]*|PATHS=2)' "$out/ctld/job_state" | sort | paste -sd ' ')" = \
		"MLCC_CLASS=latency MLCC_CLASS=training MLCC_PATHS=2" ]
}

# Of tasks of their own, of an array, and of a heterogeneous job's parts.
options_say_class_and_paths()
{
	local said id

	[ -e "$plugin" ] || { echo "the plugin is not built: no libslurm-dev"; return "$KSFT_SKIP"; }
	# shellcheck disable=SC2016  # the job expands it
	said=$(timeout 300 srun --mlcc-class=background --mlcc-paths=8 --comment=mlcc:class=training sh -c \
		'echo $MLCC_CLASS $MLCC_PATHS $NCCL_IB_QPS_PER_CONNECTION' 2>"$out/srun.log")
	[ "$said" = "background 8 8" ] || { echo "said: $said"; cat "$out/srun.log"; return 1; }
	slowwait - prints "[]" ctl -j show && batch "(0, '', 'background')" --mlcc-class=background &&
		batch "(0, '', 'background'), (0, '', 'background')" --array=1-2 --mlcc-class=background &&
		id=$(sbatch --parsable --hold --mlcc-class=latency : --hold --mlcc-class=training \
			--mlcc-paths=2 "$out/sleeps") &&
		slowwait - parts_have_their_own && scancel "$id" || return
	! srun --mlcc-class=greedy true 2>"$out/srun.log" && grep -q "training, latency or" "$out/srun.log" &&
		! srun --mlcc-paths=129 true 2>"$out/srun.log" && grep -q "from 1 to 128" "$out/srun.log"
}

# From the option to the first packet; one that may not have its class runs without, with one line.
an_option_reaches_the_wire()
{
	local said

	[ -e "$plugin" ] || { echo "the plugin is not built: no libslurm-dev"; return "$KSFT_SKIP"; }
	said=$(PATH=$out/bin:$PATH timeout 300 srun --mlcc-class=background "$python" -c "$wire")
	[ "$said" = "1 1 background" ] || { echo "said: $said"; return 1; }
	said=$(PATH=$out/bin:$PATH MLCC_CLASS=background timeout 300 srun "$python" -c "$wire")
	[ "$said" = "1 1 background" ] || { echo "said: $said"; return 1; }
	said=$(PATH=$out/bin:$PATH timeout 300 srun --mlcc-class=latency "$python" -c "$wire")
	[[ $said == "mlcc-slurm: "*"latency-class = no"*"without mlcc"$'\n'"0 0 none" ]] ||
		{ echo "said: $said"; return 1; }
	# a step beside another one of its job, which lasts as long as any step does
	# shellcheck disable=SC2016  # the job expands it
	said=$(PATH=$out/bin:$PATH timeout 300 salloc --mlcc-class=training sh -c 'srun --overlap sleep 600 &
		srun --overlap "$@"; for class in background latency; do srun --overlap --mlcc-class=$class "$@"; done
		kill $!; wait' sh "$python" -c "$wire" 2>"$out/srun.log")
	[[ $said == "0 0 training"$'\n'"1 1 background"$'\n'"mlcc-slurm: "*" may not "*$'\n'"0 0 training" ]] ||
		{ echo "said: $said"; cat "$out/srun.log"; return 1; }
}

a_wrong_comment_drains_no_node()
{
	run "mlcc:profile=greedy" || return
	[[ $said == "none $id "*" False" && $told == *profile*"without mlcc" ]] ||
		{ echo "said: $said, told: $told"; return 1; }
	slowwait - prints idle sinfo -h -o %T 2>/dev/null || { sinfo -R; return 1; }
}

without_mlccd_jobs_run()
{
	stop "$daemon"
	run mlcc || return
	[[ $said == "none $id "*" False" && $told == *"without mlcc" ]] || { echo "said: $said"; return 1; }
	slowwait - prints idle sinfo -h -o %T 2>/dev/null || { sinfo -R; return 1; }
}

main()
{
	ktap_start
	require_guest slurmctld slurmd munged srun salloc sbatch scancel sinfo hostname ip
	require_cgroup2
	setup_out
	chmod 755 "$out"
	require_free_carrier
	modprobe tcp_mlcc && defer slowwait - rmmod tcp_mlcc || exit 1
	defer unload_quietly
	keep_loopback && printf '[limits]\npriority-classes = 8\n' >>"$config"
	if ! install_recipe || ! start_slurm || ! start_daemon; then
		tail -n 20 "$out"/*.log "$out/log"
		echo "Bail out! Slurm does not start"
		exit 1
	fi
	defer stop "$daemon"
	each ktap_check a_job_that_asks_is_one_of_mlcc other_jobs_are_left_alone \
		a_batch_job_is_set_as_its_comment_says options_say_class_and_paths \
		an_option_reaches_the_wire a_wrong_comment_drains_no_node without_mlccd_jobs_run
	ktap_finish
}

main
