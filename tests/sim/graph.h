// SPDX-License-Identifier: GPL-2.0
/*
 * Topologies, as graphs: hosts, switches, links, and for each switch the links of all shortest
 * paths to a host.  Both fabrics, RDMA's and TCP's, are built from these.
 *
 *	dumbbell	hosts - S === S - hosts		one bottleneck, and a host on
 *			either side of it in turn
 *	leaf-spine	each leaf has hosts below and a link to each spine; the links up are so slow
 *			that hosts could send "oversubscription" times what these carry
 *	fat-tree	of k-port switches (Al-Fares et al., SIGCOMM '08): k pods of k/2 edge and
 *			k/2 aggregation switches, (k/2)^2 core switches, k^3/4 hosts; all links
 *			alike
 *	Clos		of three layers: access switches, which may have any number of hosts below,
 *			with a link to each aggregation switch of their pod, and those with one to
 *			each core switch.  An access switch's links up have what a full one's hosts
 *			could send, over "oversubscription"; those to the cores carry all of that.
 *	BCube		of two levels (Guo et al., SIGCOMM '09): n^2 hosts with two ports each, one
 *			to the switch of those with the same first digit, one to that of those with
 *			the same second one.  Hosts forward; so each is two nodes here, itself and
 *			a switch, with a link between them that both ports' rates fit into.
 */
#ifndef MLCC_SIM_GRAPH_H
#define MLCC_SIM_GRAPH_H

#include <cstdint>
#include <map>
#include <vector>

namespace sim {

struct Edge {
	unsigned a, b;
	double bps;
};

struct Graph {
	unsigned hosts = 0;			/* are nodes 0 .. hosts - 1 */
	unsigned nodes = 0;
	std::vector<Edge> edges;
};

Graph dumbbell(unsigned pairs, double host_bps, double bps);
Graph leaf_spine(unsigned leaves, unsigned spines, unsigned hosts, double bps,
		 double oversubscription);
Graph fat_tree(unsigned k, double bps);
/* @pods: of each the hosts below its access switches */
Graph clos(const std::vector<std::vector<unsigned>> &pods, unsigned aggregation, unsigned cores,
	   double bps, double oversubscription);
Graph bcube(unsigned n, double bps);

/* For each node, the edges on shortest paths to one host. */
struct Routes {
	std::vector<std::vector<unsigned>> edges;	/* by node */
	std::vector<unsigned> hops;			/* links from a node to that host */
	std::vector<double> bps;			/* of the slowest of them, on one path */
};

class Router {
public:
	/* @g outlives it */
	explicit Router(const Graph &g);
	const Routes &to(unsigned host);

	/* One of the shortest, by a hash.  Of each edge 2 e, or 2 e + 1 where it goes from b to a. */
	std::vector<unsigned> path(unsigned from, unsigned to, uint64_t hash);

private:
	Routes search(unsigned host) const;

	const Graph &m_graph;
	std::vector<std::vector<unsigned>> m_edges;	/* of each node */
	std::map<unsigned, Routes> m_known;		/* by host */
};

/* The far end of an edge. */
inline unsigned other(const Edge &e, unsigned node)
{
	return e.a == node ? e.b : e.a;
}

/* A number without a pattern, for ECMP and seeds (the finaliser of SplitMix64). */
inline uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

} /* namespace sim */

#endif /* MLCC_SIM_GRAPH_H */
