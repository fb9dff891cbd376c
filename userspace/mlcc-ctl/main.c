// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* mlcc-ctl: says to mlccd what a training job is.  A table of verbs, and how each is used. */
#include "../common/client.h"
#include "ctl.h"

#define JOB_HELP \
	"  --name NAME        letters, digits and ._:/@+-; del-job, show and hint take it, too\n" \
	"  --class CLASS      training (default); latency: somebody waits for its transfers;\n" \
	"                     background: it takes what others leave\n" \
	"  --profile NAME     constants of the rule; 'mlcc-ctl profile' lists them\n" \
	"  --phase-bytes N    what this host sends in one iteration, such as 250M\n" \
	"                     (left out: learnt from what is sent)\n" \
	"  --model NAME       computes --phase-bytes; '--model list' prints the models\n" \
	"  --parameters N     the same for any other model, such as 340M or 7B\n" \
	"    --workers N      with both: how many workers exchange gradients\n" \
	"    --algorithm A    ring (default), tree, all-to-all, ps, ps-shared\n" \
	"    --precision P    fp32 (default), tf32, fp16, bf16, fp8, int8\n" \
	"  --period T         an iteration without contention, such as 250ms: watch shows\n" \
	"                     the slowdown against it\n" \
	"  --priority N       writes progress into DSCP, in N classes (2 to 8); latency has the\n" \
	"                     highest DSCP, background the lowest, whatever N is\n" \
	"  --skip LIST        connections of the cgroup that are not the job's, with commas: ports,\n" \
	"                     such as 2049 or 6000-6100, the peer's addresses, such as 10.9.0.0/16,\n" \
	"                     and lo, what stays on the host (the default); none: all are the job's\n" \
	"  --owner WHO        USER or :GROUP, by name or number, whose processes may see the job\n" \
	"                     and announce its phases, and nothing else (root)\n"

static const struct verb verbs[] = {
	{ "set-job", verb_set_job, "says what a job is, and which cgroup is its",
	  "usage: mlcc-ctl set-job (--cgroup PATH | --pid PID | --container NAME | --self | --id N)\n"
	  "                        [OPTION...]\n"
	  "\n"
	  "Sets a job as a whole: what is left out gets its default.  The cgroup decides which\n"
	  "sockets are the job's; there is one job for a cgroup.\n"
	  "\n"
	  "  --cgroup PATH      below the cgroup file system, such as system.slice/train.service\n"
	  "  --pid PID          the cgroup that process is in\n"
	  "  --container NAME   that of a container, by name or id: docker, podman, nerdctl, crictl\n"
	  "  --self             the cgroup that this command is in\n"
	  "  --id N             the job's number (root); alone: sockets with this mark are the job's\n"
	  "  --new              refuse if the job exists\n"
	  "  --limited          (root) only what mlccd.conf lets users have\n"
	  JOB_HELP
	  "\n"
	  "  mlcc-ctl set-job --self --name bert --model bert-large --workers 4\n"
	  "  mlcc-ctl set-job --cgroup system.slice/train.service --phase-bytes 250M\n" },
	{ "del-job", verb_del_job, "ends a job; its flows go on as their base algorithm",
	  "usage: mlcc-ctl del-job JOB\n\nJOB is an id or a name.\n" },
	{ "show", verb_show, "lists jobs, or all that is known of one",
	  "usage: mlcc-ctl show [JOB | --self]\n\n"
	  "--self: the job whose cgroup this command is in.\n"
	  "PROGRESS - : neutral, the job is treated as its base algorithm does.  D_PHASE is what\n"
	  "progress is measured against, in bytes; ITER the last iteration, start to start.\n"
	  "Below a job: what is known of it on an RDMA device, queue pairs of soft-RoCE, or the knob\n"
	  "that 'mlcc-dcqcn follow' drives.\n" },
	{ "watch", verb_watch, "shows the jobs again and again",
	  "usage: mlcc-ctl watch [--interval T] [--count N]\n\n"
	  "SLOWDOWN is the last iteration over the job's --period.  Default: every 1s, until Ctrl-C.\n" },
	{ "observe", verb_observe, "whether jobs wait for the network, and for what else",
	  "usage: mlcc-ctl observe [OPTION...]\n"
	  "       mlcc-ctl observe --from FILE [OPTION...]\n"
	  "\n"
	  "Changes nothing, and needs neither root, nor mlccd, nor a carrier.  Reads what the kernel\n"
	  "counts of the TCP sockets of this network namespace, and shows what the time of each cgroup\n"
	  "goes to, and which of them send at once: every 5s and at the end, by --for or Ctrl-C.\n"
	  "\n"
	  "  --for T            how long\n"
	  "  --cgroup PATH      only this one, as one job, for root in its network namespace\n"
	  "  --all              also those that have sent less than 1 MB\n"
	  "  --skip LIST        what is storage: ports and peers, as for set-job; lo: peers on this\n"
	  "                     host are left out (default: lo,443,988,2049,3260,4420)\n"
	  "  --interval T       between two looks, 10ms; more if that took over 0.5 % of a CPU\n"
	  "  --metrics FILE     OpenMetrics, with each table, for node_exporter\n"
	  "  --plot FILE.svg    the last iterations as bars, coloured by cause\n"
	  "  --record FILE      all that is read, 1 GB at most\n"
	  "  --from FILE        the same verdict of that, anywhere, or of ss in a loop:\n"
	  "                     while sleep 0.01; do date +%s.%N; ss -tinH --cgroup; done >FILE\n"
	  "\n"
	  "ITER, COMM, BEST: last iteration, its communication, the shortest one.  The causes:\n"
	  "COMP computes; NET full windows behind a queue, or marks; LOSS time-outs, retransmissions;\n"
	  "RECV the receiver does not read; SEND own program or send buffer; PEER others were late;\n"
	  "POLI a token bucket drops, or more than an instance's allowance (ENA); PATH only slower paths\n"
	  "still send; STOR storage; ? no evidence.\n"
	  "Looks more than 30 ms apart do not tell losses, nor a queue from another in short phases.\n"
	  "A job's time counts from when its phases are learnt, four iterations or so.\n" },
	{ "explain", verb_explain, "why a job is as fast, or as slow, as it is",
	  "usage: mlcc-ctl explain JOB | --self\n\n"
	  "A line for each question: does it send, are its phases known and announced, what would it\n"
	  "take alone, who else sends from this host, what is lost.  Exit status 1 if something is\n"
	  "wrong.\n" },
	{ "measure", verb_measure, "whether mlcc helps jobs: with and without it, in turns",
	  "usage: mlcc-ctl measure (JOB | --all) [--alternate T]\n"
	  "\n"
	  "In turns of T (default 5m) the job's flows, or those of all jobs (root), go by mlcc and by\n"
	  "their base algorithm alone; bytes a second are compared, as observe counts them.  Ends by\n"
	  "itself after 6 to 24 pairs of turns: it helps, it harms (exit status 1), or there is no\n"
	  "difference of more than 1 %.  By Ctrl-C, and however it ends, jobs are as they were set;\n"
	  "Ctrl-C prints what is known.  Others on this host that send have a ratio, too.\n"
	  "\n"
	  "Turns follow the clock: started on all hosts of a cluster, with --all and one T, it measures\n"
	  "the cluster.  One job alone may gain nothing, as others make way for it.\n" },
	{ "hint", verb_hint, "says that a phase begins or ends",
	  "usage: mlcc-ctl hint JOB start [BYTES]\n"
	  "       mlcc-ctl hint JOB end\n\n"
	  "For scripts and trials; programs use the ring (Documentation/mlccd-protocol.md).\n"
	  "Without BYTES the phase has as many as the last one.\n" },
	{ "profile", verb_profile, "lists, shows and changes the constants of the rule",
	  "usage: mlcc-ctl profile [list]\n"
	  "       mlcc-ctl profile show NAME\n"
	  "       mlcc-ctl profile set NAME [--floor F] [--slope F] [--hold F] [--shape N]\n"
	  "                                 [--base reno|cubic] [--restart base|queue] [--default]\n\n"
	  "What is not given stays.  With progress p of a phase, increase is multiplied by\n"
	  "floor + slope p^shape, decrease by 1 - hold p^shape.  Changing needs root.\n" },
	{ "status", verb_status, "what mlccd has and what it has counted",
	  "usage: mlcc-ctl status\n" },
	{ "doctor", verb_doctor, "what works, what does not, and what to do about it",
	  "usage: mlcc-ctl doctor [--fix] [--sysroot DIR]\n"
	  "       mlcc-ctl doctor --peer HOST | --peer-listen\n\n"
	  "Needs neither mlccd nor root.  Exit status 1 if something fails.\n"
	  "Of each RDMA device: its driver, what mlcc-dcqcn can do with it, and who follows.\n"
	  "\n"
	  "  --fix              mounts the bpf file system, loads a carrier and starts mlccd.socket, if\n"
	  "                     they are missing (root); enable units for the next boot\n"
	  "  --sysroot DIR      where /sys and /run of RDMA devices are, such as the host's root\n"
	  "                     inside of a container\n"
	  "  --peer HOST        only: which DSCPs the network changes, to HOST and back, where\n"
	  "                     'mlcc-ctl doctor --peer-listen' answers on UDP port 4793\n" },
	{ "undo", verb_undo, "takes back all that mlcc has changed on this host",
	  "usage: mlcc-ctl undo\n\n"
	  "For root, also while jobs run: their connections get back what they had.  Stops and disables\n"
	  "mlccd, deletes its jobs, unloads tagger and carrier, and has mlcc-dcqcn restore the NICs.\n"
	  "Exit status 1 if something is left.  Programs stay installed.\n" },
	{ "run", verb_run, "runs a command as a job of its own",
	  "usage: mlcc-ctl run [OPTION...] -- COMMAND [ARGUMENT...]\n"
	  "\n"
	  "Makes a cgroup, sets the job for it, and becomes the command.  At the command's end job\n"
	  "and cgroup go, and what the command has left running in it.\n"
	  "The command always runs: without mlccd, or a cgroup, without a job, with a warning.\n"
	  "Only mistakes are refused: a wrong option, or a name that another job has.\n"
	  "\n"
	  "  --strict           without a job, the command is not run\n"
	  "  --any-name         if another job has the name, this one has none\n"
	  "  --dscp N           0 to 63: of all TCP packets of the job, and, unless they are set,\n"
	  "                     4 x N in NCCL_IB_TC and UCX_IB_TRAFFIC_CLASS, for RDMA's\n"
	  "  --paths N          1 to 128 queue pairs, or up to 64 sockets, for each connection of NCCL,\n"
	  "                     so that they spread over the network's paths (by NCCL's variables,\n"
	  "                     unless they are set)\n"
	  "  -v, --verbose      says what is set in the command's environment\n"
	  JOB_HELP
	  "\n"
	  "  mlcc-ctl run --name bert --model bert-large --workers 4 -- torchrun train.py\n"
	  "\n"
	  "Exit status: the command's; 2 usage, 125 no job with --strict, 126 the command cannot be\n"
	  "run, 127 there is none.\n" },
};

const struct program program = {
	.name = "mlcc-ctl", .version = "0.1",
	.head =
		"usage: mlcc-ctl [-j] [--dry-run] [--socket PATH] VERB ...\n\n"
		"Tells mlccd which training job is which, so that jobs on one network take turns.\n\n",
	.tail =
		"\n"
		"'mlcc-ctl VERB --help' explains one.  The shortest way to a job:\n\n"
		"  mlcc-ctl run -- COMMAND\n\n"
		"Exit status: 0 done, 1 failed or refused, 2 usage, 3 mlccd does not answer;\n"
		"run: its command's.\n",
	.common =
		"\n"
		"  -j, --json         for programs\n"
		"  --dry-run          only checks and says what would be done\n"
		"  --socket PATH      mlccd's, instead of " CLIENT_SOCKET "\n",
	.place = "socket",
	.verbs = verbs, .count = sizeof(verbs) / sizeof(*verbs),
};

int main(int argc, char **argv)
{
	return program_main(argc, argv);
}
