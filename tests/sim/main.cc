// SPDX-License-Identifier: GPL-2.0
/*
 * mlcc-sim: one run of one scenario under one congestion control.  tests/sim/run writes what it
 * reads and reads what it writes: a JSON object.
 *
 * It reads "key value" lines; those from "job NAME" on are of that job.  All have to be there.
 * People write TOML, which has defaults, and where values that are wrong are refused
 * (mlccsim/scenario.py).
 *
 *	exit status 0: it has run; 1: not to the end; 2: settings that are wrong, in one line
 */
#include <algorithm>
#include <cmath>
#include <ctime>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

#include <ns3/rng-seed-manager.h>

#include "graph.h"
#include "host.h"
#include "jobs.h"
#include "net.h"
#include "../dcqcn/variants.h"

namespace sim {

constexpr uint32_t MBPS = 1000;		/* in kb/s */
constexpr int64_t STREAMS = 1 << 16;	/* of random numbers for each job: a host has one */

/* What is wrong throws std::runtime_error. */
class Settings {
public:
	static Settings read(std::istream &in);

	const std::string &text(const std::string &key) const;
	std::vector<double> numbers(const std::string &key) const;
	double number(const std::string &key) const { return numbers(key).front(); }

	std::vector<Settings> jobs;

private:
	std::map<std::string, std::string> m_values;
};

Settings Settings::read(std::istream &in)
{
	std::string line;
	Settings all;

	while (std::getline(in, line)) {
		size_t blank = line.find(' ');
		std::string key = line.substr(0, blank);

		if (key == "job")
			all.jobs.emplace_back();
		auto &to = all.jobs.empty() ? all.m_values : all.jobs.back().m_values;
		to.emplace(key, blank == line.npos ? "" : line.substr(blank + 1));
	}
	return all;
}

const std::string &Settings::text(const std::string &key) const
{
	auto found = m_values.find(key);

	if (found == m_values.end())
		throw std::runtime_error(key + ": missing");
	return found->second;
}

std::vector<double> Settings::numbers(const std::string &key) const
{
	std::istringstream words(text(key));
	std::vector<double> found;

	for (double n; words >> n;)
		found.push_back(n);
	if (!words.eof() || found.empty())
		throw std::runtime_error(key + ": not numbers");
	return found;
}

/* Of each access switch: its pod, in order, and its hosts. */
static std::vector<std::vector<unsigned>> pods_of(const Settings &s)
{
	std::vector<double> rows = s.numbers("pods");
	std::vector<std::vector<unsigned>> pods;

	for (size_t i = 0; i < rows.size(); i += 2) {
		pods.resize(rows[i] + 1);
		pods.back().push_back(rows[i + 1]);
	}
	return pods;
}

static Graph graph_of(const Settings &s)
{
	std::string kind = s.text("kind");
	double bps = s.number("rate");

	if (kind == "dumbbell")
		return dumbbell(s.number("pairs"), bps, s.number("bottleneck"));
	if (kind == "leaf-spine")
		return leaf_spine(s.number("leaves"), s.number("spines"), s.number("hosts"), bps,
				  s.number("oversubscription"));
	if (kind == "fat-tree")
		return fat_tree(s.number("k"), bps);
	if (kind == "clos")
		return clos(pods_of(s), s.number("aggregation"), s.number("cores"), bps,
			    s.number("oversubscription"));
	return bcube(s.number("n"), bps);
}

static enum dcqcn_variant variant_of(const Settings &s)
{
	static const char *const names[] = DCQCN_VARIANT_NAMES;

	return (enum dcqcn_variant)(std::find(names, std::end(names), s.text("variant")) - names);
}

static uint32_t ns(double seconds)
{
	return std::llround(seconds * 1e9);
}

static RdmaParam rdma_of(const Settings &s)
{
	enum dcqcn_variant variant = variant_of(s);
	RdmaParam c = {};

	/* flows go by their port's rate */
	c.bps = s.number("rate");
	dcqcn_param_init(&c.rp, variant, c.bps / 1e3, MBPS);
	if (s.number("timer"))
		c.rp.time_ns = ns(s.number("timer"));
	c.np.interval = mlcc_np_interval(variant, &c.rp);
	c.np.every = MLCC_TMDML_EVERY;
	c.np.spare = MLCC_TMDML_SPARE;
	c.profile = profile_named(s.text("cc"));
	c.payload = s.number("payload");
	c.header = s.number("header");
	c.window = s.number("window");
	c.rto = s.number("rto") * PS_PER_S;
	c.delay = s.number("delay") * PS_PER_S;
	c.buffer = s.number("buffer");
	c.kmin = s.number("kmin");
	c.kmax = s.number("kmax");
	c.pmax = s.number("pmax");
	c.pfc = s.number("pfc");
	c.tmdml = s.number("tmdml");
	c.led = s.number("led");
	c.detail = s.number("detail");
	c.ports = s.number("ports");
	c.qps = s.number("qps");
	c.seed = s.number("seed");
	return c;
}

static HostParam host_of(const Settings &s)
{
	HostParam c = {};

	c.cc = s.text("cc");
	c.ecn = s.text("queue") == "ecn";
	c.mss = s.number("mss");
	c.limit = s.number("limit");
	c.mark = s.number("mark");
	c.delay = s.number("delay") * PS_PER_S;
	c.seed = s.number("seed");
	c.tso = s.number("tso");
	c.gro = s.number("gro");
	c.window = s.number("window");
	c.coalesce = s.number("coalesce") * PS_PER_S;
	c.rto_min = s.number("rto_min") * PS_PER_S;
	return c;
}

static std::unique_ptr<Fabric> fabric_of(const Settings &s, const Graph &g)
{
	if (s.text("transport") == "rdma")
		return std::make_unique<RdmaNet>(g, rdma_of(s));
	return std::make_unique<HostNet>(g, host_of(s));
}

/* Of each: seconds that it computes, bytes, whether it overlaps. */
static std::vector<JobStep> steps_of(const Settings &s)
{
	std::vector<double> rows = s.numbers("steps");
	std::vector<JobStep> steps;

	for (size_t i = 0; i < rows.size(); i += 3)
		steps.push_back({ rows[i], rows[i + 1], rows[i + 2] != 0 });
	return steps;
}

static JobParam job_of(const Settings &s, double delay_s, unsigned index)
{
	std::vector<double> hosts = s.numbers("hosts");
	JobParam j = {};

	j.name = s.text("job");
	j.kind = s.text("workload");
	j.hosts.assign(hosts.begin(), hosts.end());
	j.start_s = s.number("start");
	j.stream = (1 + index) * STREAMS;
	if (j.kind == "background") {
		j.per_s = s.number("per_s");
		j.senders = s.number("senders");
		j.sizes = s.numbers("sizes");
		j.delay_s = delay_s;
		return j;
	}
	j.rails = s.number("rails");
	j.flows = s.number("flows");
	j.steps = steps_of(s);
	j.noise = s.number("noise");
	j.lognormal = s.number("lognormal");
	/* 0: for ever, and nobody waits for it */
	j.iterations = s.number("iterations");
	j.timer_ns = ns(s.number("job_timer"));
	j.leaves = s.number("leaves");
	return j;
}

struct Run {
	std::vector<std::unique_ptr<Job>> jobs;
	unsigned working = 0;
};

/* "only": the number of a job that is to be alone, with its noise; -1: all */
static void add_jobs(Run &run, const Settings &s, Fabric &fabric)
{
	double only = s.number("only"), delay_s = s.number("delay");

	for (unsigned i = 0; i < s.jobs.size(); i++) {
		JobParam p = job_of(s.jobs[i], delay_s, i);

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
	std::cout << ", \"flows\": ";
	list(std::cout, job.flows, [](const FlowTime &f) {
		Ps took = f.took < 0 ? Clock::now() - f.began : f.took;

		std::cout << "[" << f.began / PS_PER_S << ", " << took / PS_PER_S << ", "
			  << f.alone_s << ", " << f.bytes << "]";
	});
}

static void print_times(const char *name, const std::vector<double> &times)
{
	std::cout << ", \"" << name << "\": ";
	list(std::cout, times, [](double t) { std::cout << t; });
}

static void print_job(const std::unique_ptr<Job> &which)
{
	const Job &job = *which;

	std::cout << "{\"name\": \"" << job.param.name << "\", \"delivered\": " << job.delivered();
	print_times("iterations_s", job.iterations_s);
	print_times("communication_s", job.communication_s);
	if (job.param.kind == "background")
		print_flows(job);
	std::cout << "}";
}

static void print(const Run &run, const Fabric &fabric, double cpu)
{
	std::cout.precision(9);
	std::cout << "{\"jobs\": ";
	list(std::cout, run.jobs, print_job);
	std::cout << ", \"network\": {";
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
	ns3::RngSeedManager::SetRun(s.number("seed"));
	Clock::start();
	fabric = fabric_of(s, g);
	add_jobs(run, s, *fabric);
	ns3::Simulator::Stop(ns3::Seconds(s.number("stop")));

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
