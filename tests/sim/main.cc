// SPDX-License-Identifier: GPL-2.0
/*
 * mlcc-sim: one run of one scenario under one congestion control.  tests/sim/run writes what it
 * reads (settings.h) and reads what it writes: a JSON object.
 *
 *	exit status 0: it has run; 1: not to the end; 2: settings that are wrong, in one line
 */
#include <ctime>
#include <iostream>

#include <ns3/rng-seed-manager.h>

#include "graph.h"
#include "host.h"
#include "jobs.h"
#include "net.h"
#include "settings.h"
#include "tcp.h"
#include "tcpcore.h"

namespace sim {

constexpr unsigned HOSTS_MAX = 1 << 16;
constexpr unsigned PORTS_MAX = 1 << 14;	/* of UDP that RoCEv2 sends from: 49152 to 65535 */
constexpr int64_t STREAMS = 1 << 16;	/* of random numbers for each job: a host has one */

/* Of each access switch: its pod, in order, and its hosts. */
static std::vector<std::vector<unsigned>> pods_of(const Settings &s)
{
	std::vector<double> rows = s.rows("pods", 2);
	std::vector<std::vector<unsigned>> pods;

	for (size_t i = 0; i < rows.size(); i += 2) {
		if (rows[i] == pods.size())
			pods.emplace_back();
		if (rows[i] + 1 != pods.size() || !(rows[i + 1] >= 1 && rows[i + 1] <= 1024))
			throw std::runtime_error("pods: out of order, or of range");
		pods.back().push_back(rows[i + 1]);
	}
	return pods;
}

static Graph graph_of(const Settings &s)
{
	std::string kind = s.text("topology");
	double bps = s.number("rate_bps", 1e6, 1e13);

	if (kind == "dumbbell")
		return dumbbell(s.whole("pairs", 1, HOSTS_MAX),
				s.number("host_rate_bps", 1e6, 1e13), bps);
	if (kind == "leaf-spine")
		return leaf_spine(s.whole("leaves", 1, 1024), s.whole("spines", 1, 1024),
				  s.whole("hosts", 1, 1024), bps,
				  s.number("oversubscription", .01, 1000));
	if (kind == "fat-tree")
		return fat_tree(s.whole("k", 4, 64) / 2 * 2, bps);
	if (kind == "clos")
		return clos(pods_of(s), s.whole("aggregation", 1, 1024), s.whole("cores", 1, 1024),
			    bps, s.number("oversubscription", .01, 1000));
	if (kind == "bcube")
		return bcube(s.whole("n", 2, 64), bps);
	throw std::runtime_error("topology: there is no '" + kind + "'");
}

static struct nic_setup setup_of(const Settings &s, double bps)
{
	/* the pointers last as long as the program */
	static std::string variant, profile;

	variant = s.text("variant");
	profile = s.text("cc");
	if (profile == "dcqcn")
		profile.clear();
	else if (!nic_profile(profile.c_str()))
		throw std::runtime_error("cc: '" + profile + "' is neither dcqcn nor a profile");
	if (!nic_variant(variant.c_str()))
		throw std::runtime_error("variant: there is no DCQCN '" + variant + "'");
	return { variant.c_str(), profile.c_str(), (uint32_t)(bps / 1e3),
		 (uint32_t)s.number("timer_ns", 0, 1e9) };
}

static RdmaParam rdma_of(const Settings &s)
{
	RdmaParam c = {};

	/* flows go by their port's rate */
	c.bps = s.number(s.text("topology") == "dumbbell" ? "host_rate_bps" : "rate_bps", 2e6,
			 2e12);
	c.setup = setup_of(s, c.bps);
	c.payload = s.whole("payload", 64, 65536);
	c.header = s.whole("header", 0, 1024);
	c.window = s.whole("window", 0, 1u << 31);
	c.rto = s.number("rto_s", 1e-6, 10) * PS_PER_S;
	c.delay = s.number("delay_s", 0, 1) * PS_PER_S;
	c.buffer = s.number("buffer", 1e3, 1e12);
	c.kmin = s.number("kmin", 0, 1e12);
	c.kmax = s.number("kmax", 1, 1e12);
	c.pmax = s.number("pmax", 0, 1);
	c.pfc = s.whole("pfc", 0, 1);
	c.tmdml = s.whole("tmdml", 0, 1);
	c.led = s.whole("led", 0, 1);
	c.detail = s.whole("detail", 0, 1);
	c.ports = s.whole("ports", 1, PORTS_MAX);
	c.qps = s.whole("qps", 1, 128);
	c.seed = s.whole("seed", 1, 1u << 31);
	return c;
}

static TcpParam tcp_of(const Settings &s)
{
	TcpParam c = {};

	c.cc = s.text("cc");
	if (c.cc != "cubic" && c.cc != "reno" && c.cc != "dctcp" && !tcp_profile(c.cc.c_str()))
		throw std::runtime_error("cc: '" + c.cc + "' is neither cubic, reno, dctcp "
					 "nor a profile");
	c.ecn = s.whole("ecn", 0, 1);
	c.mss = s.whole("mss", 500, 9000);
	c.limit = s.whole("limit", 10000, 1u << 31);
	c.mark = s.whole("mark", 1, 1u << 31);
	c.delay = s.number("delay_s", 0, 1) * PS_PER_S;
	c.seed = s.whole("seed", 1, 1u << 31);
	return c;
}

/* What hosts are beyond their sockets. */
static HostParam host_of(const Settings &s)
{
	HostParam c = { tcp_of(s), {}, {}, {}, {} };

	c.tso = s.whole("tso", 0, 1 << 20);
	c.gro = s.whole("gro", 0, 1);
	c.window = s.whole("window", 10000, 1u << 31);
	c.coalesce = s.number("coalesce_s", 0, .01) * PS_PER_S;
	return c;
}

static std::unique_ptr<Fabric> fabric_of(const Settings &s, const Graph &g)
{
	if (s.text("transport") == "tcp" && s.text("stack") == "host")
		return std::make_unique<HostNet>(g, host_of(s));
	if (s.text("transport") == "tcp" && s.text("stack") == "ns3")
		return std::make_unique<TcpNet>(g, tcp_of(s));
	if (s.text("transport") == "rdma")
		return std::make_unique<RdmaNet>(g, rdma_of(s));
	throw std::runtime_error("transport: neither rdma nor tcp");
}

/* Of each: seconds that it computes, bytes, whether it overlaps. */
static std::vector<JobStep> steps_of(const Settings &s)
{
	std::vector<double> rows = s.rows("steps", 3);
	std::vector<JobStep> steps;

	for (size_t i = 0; i < rows.size(); i += 3) {
		steps.push_back({ rows[i], rows[i + 1], rows[i + 2] != 0 });
		if (!(rows[i] >= 0 && rows[i] <= 1e4 && rows[i + 1] >= 0 && rows[i + 1] <= 1e15))
			throw std::runtime_error("steps: out of range");
	}
	return steps;
}

static JobParam job_of(const Settings &s, const Graph &g, double delay_s, unsigned index)
{
	JobParam j = {};

	j.name = s.text("job");
	j.kind = s.text("workload");
	j.hosts = s.list("hosts", g.hosts);
	j.start_s = s.number("start_s", 0, 1e4);
	j.stream = (1 + index) * STREAMS;
	if (j.kind == "background") {
		j.per_s = s.number("per_s", 0, 1e9);
		j.senders = s.whole("senders", 1, j.hosts.size());
		j.sizes = s.table("sizes");
		j.graph = &g;
		j.delay_s = delay_s;
		return j;
	}
	j.rails = s.whole("job_rails", 1, 64);
	if (j.hosts.size() % j.rails || j.hosts.size() < 2 * j.rails)
		throw std::runtime_error("hosts: not two nodes or more");
	j.flows = s.whole("flows", 1, 128);
	j.steps = steps_of(s);
	j.noise = s.number("noise", 0, 1);
	j.lognormal = s.number("lognormal", 0, 10);
	/* 0: for ever, and nobody waits for it */
	j.iterations = s.whole("iterations", 0, 1000000);
	j.timer_ns = s.whole("job_timer_ns", 0, 1000000000);
	j.leaves = s.whole("leaves", 0, 1);
	return j;
}

struct Run {
	std::vector<std::unique_ptr<Job>> jobs;
	unsigned working = 0;
};

/* "only": the number of a job that is to be alone, with its noise; -1: all */
static void add_jobs(Run &run, const Settings &s, const Graph &g, Fabric &fabric)
{
	double only = s.number("only", -1, 1e6), delay_s = s.number("delay_s", 0, 1);

	for (unsigned i = 0; i < s.jobs.size(); i++) {
		JobParam p = job_of(s.jobs[i], g, delay_s, i);

		if (only >= 0 && only != i)
			continue;
		run.jobs.push_back(make_job(p, fabric));
		run.working += p.iterations > 0;
		run.jobs.back()->on_over = [&run] {
			if (!--run.working)
				ns3::Simulator::Stop();
		};
	}
}

/* Of each: seconds when it came, that it took, that it would take alone; bytes. */
static void print_flows(const Job &job)
{
	const char *comma = "";
	unsigned open = 0;

	std::cout << ", \"flows\": [";
	for (const FlowTime &f : job.flows) {
		Ps took = f.took < 0 ? Clock::now() - f.began : f.took;

		open += f.took < 0;
		std::cout << comma << "[" << f.began / PS_PER_S << ", " << took / PS_PER_S << ", "
			  << f.alone_s << ", " << f.bytes << "]";
		comma = ", ";
	}
	std::cout << "], \"open\": " << open;
}

static void print_times(const char *name, const std::vector<double> &times)
{
	const char *comma = "";

	std::cout << ", \"" << name << "\": [";
	for (double t : times) {
		std::cout << comma << t;
		comma = ", ";
	}
	std::cout << "]";
}

static void print_job(const Job &job)
{
	std::cout << "{\"name\": \"" << job.param.name << "\", \"delivered\": " << job.delivered()
		  << ", \"phases\": " << job.phases;
	print_times("iterations_s", job.iterations_s);
	print_times("communication_s", job.communication_s);
	if (job.param.kind == "background")
		print_flows(job);
	std::cout << "}";
}

static void print(const Run &run, const Fabric &fabric, double cpu)
{
	const char *comma = "";

	std::cout.precision(9);
	std::cout << "{\"jobs\": [";
	for (const auto &job : run.jobs) {
		std::cout << comma;
		print_job(*job);
		comma = ", ";
	}
	std::cout << "], \"network\": {";
	fabric.report(std::cout);
	std::cout << "}, \"simulated_s\": " << Clock::now() / PS_PER_S << ", \"cpu_s\": " << cpu
		  << ", \"over\": " << (run.working ? "false" : "true") << "}\n";
}

static int simulate(const Settings &s)
{
	Graph g = graph_of(s);
	std::unique_ptr<Fabric> fabric;
	std::clock_t began;
	Run run;

	ns3::RngSeedManager::SetSeed(1);
	ns3::RngSeedManager::SetRun(s.whole("seed", 1, 1u << 31));
	/* ns-3's timers are taken back all the time, which that scheduler is slow at */
	Clock::start(s.text("transport") == "tcp" && s.text("stack") == "ns3" ?
			     "ns3::MapScheduler" : "ns3::PriorityQueueScheduler");
	fabric = fabric_of(s, g);
	add_jobs(run, s, g, *fabric);
	ns3::Simulator::Stop(ns3::Seconds(s.number("stop_s", 1e-6, 1e5)));
	s.all_used();

	began = std::clock();
	ns3::Simulator::Run();
	print(run, *fabric, (double)(std::clock() - began) / CLOCKS_PER_SEC);
	return run.working > 0;
}

} /* namespace sim */

int main()
{
	try {
		return sim::simulate(sim::Settings::read(std::cin));
	} catch (const std::exception &error) {
		std::cerr << "mlcc-sim: " << error.what() << '\n';
		return 2;
	}
}
