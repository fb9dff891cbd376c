// SPDX-License-Identifier: GPL-2.0
/* What jobs see of a network: channels between hosts that carry messages. */
#ifndef MLCC_SIM_FABRIC_H
#define MLCC_SIM_FABRIC_H

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "clock.h"
#include "graph.h"
#include "../../include/mlcc/profiles.h"

namespace sim {

/* One of mlcc's, for either carrier; NULL: there is none. */
const struct mlcc_profile *profile_named(const std::string &name);

/* A JSON array; @print: of one of its elements. */
template <typename Range, typename Print>
void list(std::ostream &out, const Range &range, Print print)
{
	const char *comma = "";

	out << "[";
	for (const auto &one : range) {
		out << comma;
		print(one);
		comma = ", ";
	}
	out << "]";
}

/* A connection in one direction. */
class Channel {
public:
	virtual ~Channel() = default;

	/* One message more.  on_message is called when all of it is there. */
	virtual void send(uint64_t bytes) = 0;

	virtual uint64_t delivered() const = 0;		/* bytes, in order */

	std::function<void()> on_message;
};

/* A job on one host: what its flows there share of the congestion control. */
class Host {
public:
	explicit Host(unsigned n) : flows(n) {}
	virtual ~Host() = default;

	const unsigned flows;		/* of a connection */
};

/* Several flows that each carry a part of every message. */
class Connection : public Channel {
public:
	explicit Connection(const std::vector<Channel *> &flows);

	void send(uint64_t bytes) override;
	uint64_t delivered() const override;

private:
	void arrived(unsigned index);

	const std::vector<Channel *> m_flows;
	std::vector<uint64_t> m_arrived;	/* messages, of each */
	uint64_t m_messages = 0;		/* that are complete */
};

class Job;

class Fabric {
public:
	/* @g outlives it */
	explicit Fabric(const Graph &g) : router(g) {}
	virtual ~Fabric() = default;

	/* Of @job, on one host.  Belongs to the fabric, as channels do. */
	virtual Host *host(const Job *job) = 0;

	/* @sender, @receiver: their job there; NULL: of no job, so under plain DCQCN or CUBIC. */
	Channel *connect(unsigned from, unsigned to, Host *sender, Host *receiver);

	/* Members of a JSON object. */
	virtual void report(std::ostream &out) const = 0;

	Router router;

protected:
	std::vector<std::unique_ptr<Host>> m_hosts;	/* of jobs */

private:
	/* One of a connection's, which outlives that. */
	virtual Channel *flow(unsigned from, unsigned to, Host *sender, Host *receiver) = 0;

	std::vector<std::unique_ptr<Connection>> m_connections;
};

} /* namespace sim */

#endif /* MLCC_SIM_FABRIC_H */
