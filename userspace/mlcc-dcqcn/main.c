// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mlcc-dcqcn: sets DCQCN's parameters of RDMA NICs, and lets a job's progress drive them.
 *
 * For NICs whose DCQCN is fixed in hardware.  They have one set of parameters for a port or a
 * device, so R_AI (1 + D_sent/D_phase) can be had only where one job owns that.  A table of verbs,
 * and how each is used.
 */
#include <signal.h>

#include "cli.h"

static const struct verb verbs[] = {
	{ "show", show_devices, "devices, and what their knobs have and may have",
	  "usage: mlcc-dcqcn show [DEVICE [KNOB...]]\n"
	  "       mlcc-dcqcn show BACK-END\n"
	  "       mlcc-dcqcn show --backends\n"
	  "\n"
	  "DEVICE is what 'show' prints, a PCI address, or the name of an RDMA or network device;\n"
	  "BACK-END:NAME where that is not enough.  SAVED is what restore would put back, DEFAULT\n"
	  "what the vendor has published (- : nothing), DRIVE what follow can do with a knob.\n"
	  "mlxconfig is asked only if it is named, as it takes seconds.\n" },
	{ "set", verb_set, "sets knobs, all of them or none",
	  "usage: mlcc-dcqcn set DEVICE KNOB=VALUE...\n"
	  "\n"
	  "Saves what was there, checks ranges (most drivers do not), writes, reads back.\n"
	  "\n"
	  "  mlcc-dcqcn set mlx5_0 rp_ai_rate=20 rp_time_reset=100\n" },
	{ "follow", verb_follow, "lets a job's progress drive R_AI or T, until SIGTERM",
	  "usage: mlcc-dcqcn follow DEVICE[,DEVICE...] JOB [OPTION...]\n"
	  "\n"
	  "With progress p of the job's phase, R_AI becomes R_AI grow(p), or T becomes T / grow(p);\n"
	  "hotnets22 has grow(p) = 1 + p.  The knob is the port's or the device's, not the job's:\n"
	  "refused while the carrier knows other jobs on this host.  SIGTERM puts back what was\n"
	  "there; after kill -9 the next follow or restore does.\n"
	  "\n"
	  "  --drive WHAT       time (default, where there is one), ai, or a knob's name\n"
	  "  --base N           the knob's value at gain 1 (default: what it has)\n"
	  "  --cap F            the largest gain, 1 to 16 (default 2)\n"
	  "  --profile NAME     hotnets22 (default), mltcp, interleave\n"
	  "  --cadence T        how often progress is looked at: 1ms to 1s (default 10ms)\n"
	  "  --hysteresis F     smaller changes of the gain are not written (default 0.25)\n"
	  "  --budget N         writes a second, 1 to 1000 (default 200; 100 for bnxt-configfs, 5 for\n"
	  "                     ionic)\n"
	  "  --alone            says that no other job uses this port\n"
	  "  --weight HOW       with several jobs: min, the smallest of their gains, or mean\n"
	  "  --wait             begins although there is no such job yet, or others are there\n"
	  "  --progress FROM    job (default): what its processes count, as with NCCL's plugin, else\n"
	  "                     the carrier's, which sees no RDMA; port: the port's transmit counter,\n"
	  "                     with --alone also without a job\n"
	  "    --phase-bytes N  what the job sends in a phase (default: learnt)\n"
	  "\n"
	  "  mlcc-dcqcn follow mlx5_0,mlx5_1 bert\n"
	  "  mlcc-dcqcn follow mlx5_0 --progress port --alone --phase-bytes 250M\n" },
	{ "lead", verb_lead, "one progress for a job of several hosts, until SIGTERM or its end",
	  "usage: mlcc-dcqcn lead JOB LEADER HOST... [--here HOST] [--port N] [--cadence T]\n"
	  "\n"
	  "For soft-RoCE.  On each host of the job, with the same words: the names or addresses of all\n"
	  "of them, 2 to 256.  Each millisecond they report what the job has sent, and the first one\n"
	  "says how far it is; without its word the job is plain DCQCN until its queue pairs are gone.\n"
	  "They speak UDP, from and to one port of root's, and hear nobody else.\n"
	  "\n"
	  "  --here HOST        which of them this is (default: the one with an address of this\n"
	  "                     host); speaks from that address\n"
	  "  --port N           1 to 1023 (default 793), another one for each job\n"
	  "  --cadence T        instead of each millisecond, for slow hosts: 1ms to 16ms\n"
	  "\n"
	  "  mlcc-dcqcn lead bert node1 node2 node3 node4\n" },
	{ "restore", verb_restore, "puts back what was there before set and follow",
	  "usage: mlcc-dcqcn restore [--force] [DEVICE...]\n"
	  "\n"
	  "Without a device: all that have been changed.  A knob that has a value which this\n"
	  "program has not written (the device was reset, or somebody has set it) is left as it is.\n"
	  "\n"
	  "  --force            writes all the same\n" },
};

const struct program program = {
	.name = "mlcc-dcqcn", .version = "0.1",
	.head =
		"usage: mlcc-dcqcn [-j] [--dry-run] [--sysroot DIR] VERB ...\n\n"
		"Sets DCQCN's parameters of RDMA NICs.  They are a port's or a device's, never a job's.\n\n",
	.tail =
		"\n"
		"'mlcc-dcqcn VERB --help' explains one.\n\n"
		"Exit status: 0 done, 1 failed or refused, 2 usage, 3 no such device.\n",
	.common =
		"\n"
		"  -j, --json         for programs\n"
		"  --dry-run          only checks and says what would be done\n"
		"  --sysroot DIR      DIR instead of /, such as the host's root inside of a container\n",
	.place = "sysroot",
	.verbs = verbs, .count = sizeof(verbs) / sizeof(*verbs),
};

int main(int argc, char **argv)
{
	/* who reads what is printed may go: knobs are put back all the same */
	signal(SIGPIPE, SIG_IGN);
	/* ignored, there is no status of a child */
	signal(SIGCHLD, SIG_DFL);
	return program_main(argc, argv);
}
