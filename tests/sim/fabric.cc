// SPDX-License-Identifier: GPL-2.0
/* Profiles; connections of several flows. */
#include "fabric.h"

#include <algorithm>

namespace sim {

const struct mlcc_profile *profile_named(const std::string &name)
{
	static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
	static const char *const names[] = MLCC_PROFILE_NAMES;

	for (unsigned i = 0; i < MLCC_PROFILE_COUNT; i++)
		if (name == names[i])
			return &profiles[i];
	return nullptr;
}

Connection::Connection(const std::vector<Channel *> &flows)
	: m_flows(flows), m_arrived(flows.size())
{
	for (unsigned i = 0; i < flows.size(); i++)
		flows[i]->on_message = [this, i] { arrived(i); };
}

/* A byte more of a message that is too short for all of them. */
void Connection::send(uint64_t bytes)
{
	for (unsigned i = 0; i < m_flows.size(); i++)
		m_flows[i]->send(std::max<uint64_t>(1, (bytes + i) / m_flows.size()));
}

uint64_t Connection::delivered() const
{
	uint64_t sum = 0;

	for (const Channel *flow : m_flows)
		sum += flow->delivered();
	return sum;
}

void Connection::arrived(unsigned index)
{
	m_arrived[index]++;
	if (*std::min_element(m_arrived.begin(), m_arrived.end()) > m_messages) {
		m_messages++;
		if (on_message)
			on_message();
	}
}

Channel *Fabric::connect(unsigned from, unsigned to, Host *sender, Host *receiver)
{
	std::vector<Channel *> flows;

	for (unsigned n = sender ? sender->flows : 1; n; n--)
		flows.push_back(flow(from, to, sender, receiver));
	if (flows.size() == 1)
		return flows[0];
	m_connections.push_back(std::make_unique<Connection>(flows));
	return m_connections.back().get();
}

} /* namespace sim */
