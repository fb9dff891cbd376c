// SPDX-License-Identifier: GPL-2.0
/* Topologies: graph.h says which. */
#include "graph.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <deque>

namespace sim {

static void link(Graph &g, unsigned a, unsigned b, double bps)
{
	g.edges.push_back({ a, b, bps });
}

Graph dumbbell(unsigned pairs, double host_bps, double bps)
{
	Graph g;
	unsigned left = 2 * pairs, right = left + 1;

	g.hosts = 2 * pairs;
	g.nodes = g.hosts + 2;
	/* a pair's hosts stand next to each other, so that jobs may take several pairs */
	for (unsigned h = 0; h < g.hosts; h++)
		link(g, h, h % 2 ? right : left, host_bps);
	link(g, left, right, bps);
	return g;
}

Graph fat_tree(unsigned k, double bps)
{
	unsigned half = k / 2, per_layer = k * half;
	unsigned edge, aggregation, core;
	Graph g;

	g.hosts = k * half * half;
	edge = g.hosts;
	aggregation = edge + per_layer;
	core = aggregation + per_layer;
	g.nodes = core + half * half;
	for (unsigned h = 0; h < g.hosts; h++)
		link(g, h, edge + h / half, bps);
	for (unsigned i = 0; i < per_layer; i++) {
		for (unsigned j = 0; j < half; j++) {
			link(g, edge + i, aggregation + i / half * half + j, bps);
			link(g, aggregation + i, core + i % half * half + j, bps);
		}
	}
	return g;
}

Graph clos(const std::vector<std::vector<unsigned>> &pods, unsigned aggregation, unsigned cores,
	   double bps, double oversubscription)
{
	unsigned racks = 0, full = 0, rack, above, core, host = 0;
	double up;
	Graph g;

	for (const auto &pod : pods) {
		racks += pod.size();
		for (unsigned hosts : pod) {
			g.hosts += hosts;
			full = std::max(full, hosts);
		}
	}
	up = full * bps / aggregation / oversubscription;
	rack = g.hosts;
	above = rack + racks;
	core = above + pods.size() * aggregation;
	g.nodes = core + cores;
	for (const auto &pod : pods) {
		for (unsigned hosts : pod) {
			while (hosts--)
				link(g, host++, rack, bps);
			for (unsigned i = 0; i < aggregation; i++)
				link(g, rack, above + i, up);
			rack++;
		}
		for (unsigned i = 0; i < aggregation; i++, above++)
			for (unsigned j = 0; j < cores; j++)
				link(g, above, core + j, pod.size() * up / cores);
	}
	return g;
}

/* One pod, with nothing above its second layer. */
Graph leaf_spine(unsigned leaves, unsigned spines, unsigned hosts, double bps,
		 double oversubscription)
{
	return clos({ std::vector<unsigned>(leaves, hosts) }, spines, 0, bps, oversubscription);
}

Graph bcube(unsigned n, double bps)
{
	unsigned forward = n * n, level = forward + n * n;
	Graph g;

	g.hosts = n * n;
	g.nodes = level + 2 * n;
	for (unsigned h = 0; h < g.hosts; h++) {
		link(g, h, forward + h, 2 * bps);
		link(g, forward + h, level + h / n, bps);
		link(g, forward + h, level + n + h % n, bps);
	}
	return g;
}

Router::Router(const Graph &g) : m_graph(g), m_edges(g.nodes)
{
	for (unsigned e = 0; e < g.edges.size(); e++) {
		m_edges[g.edges[e].a].push_back(e);
		m_edges[g.edges[e].b].push_back(e);
	}
}

const Routes &Router::to(unsigned host)
{
	auto known = m_known.find(host);

	if (known == m_known.end())
		known = m_known.emplace(host, search(host)).first;
	return known->second;
}

std::vector<unsigned> Router::path(unsigned from, unsigned to_host, uint64_t hash)
{
	const Routes &routes = to(to_host);
	std::vector<unsigned> found;

	for (unsigned node = from; node != to_host;) {
		const auto &ways = routes.edges[node];
		unsigned e = ways[mix(hash ^ (uint64_t)node << 32) % ways.size()];

		found.push_back(2 * e + (m_graph.edges[e].b == node));
		node = other(m_graph.edges[e], node);
	}
	return found;
}

/* Breadth first, from the host outwards; no host is on the way to another. */
Routes Router::search(unsigned host) const
{
	Routes r = { std::vector<std::vector<unsigned>>(m_graph.nodes),
		     std::vector<unsigned>(m_graph.nodes, UINT_MAX),
		     std::vector<double>(m_graph.nodes, INFINITY) };
	std::deque<unsigned> due = { host };

	r.hops[host] = 0;
	for (; !due.empty(); due.pop_front()) {
		unsigned node = due.front();

		if (node < m_graph.hosts && node != host)
			continue;
		for (unsigned e : m_edges[node]) {
			unsigned next = other(m_graph.edges[e], node);

			if (r.hops[next] == UINT_MAX) {
				r.hops[next] = r.hops[node] + 1;
				r.bps[next] = std::min(r.bps[node], m_graph.edges[e].bps);
				due.push_back(next);
			}
			if (r.hops[next] == r.hops[node] + 1)
				r.edges[next].push_back(e);
		}
	}
	return r;
}

} /* namespace sim */
