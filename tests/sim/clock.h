// SPDX-License-Identifier: GPL-2.0
/*
 * ns-3's scheduler without its price.  A model's object owns its events, one for each thing that
 * can happen to it, and schedules the same one again and again: nothing is allocated, nothing
 * copied.
 *
 * Time is in picoseconds, as a byte takes 20 of them at 400 Gb/s; 63 bits of them are 106 days.
 */
#ifndef MLCC_SIM_CLOCK_H
#define MLCC_SIM_CLOCK_H

#include <ns3/event-impl.h>
#include <ns3/nstime.h>
#include <ns3/simulator.h>
#include <ns3/simulator-impl.h>

namespace sim {

using Ps = int64_t;

constexpr Ps NS = 1000;
constexpr double PS_PER_S = 1e12;

class Clock {
public:
	/* Before the first event. */
	static void start();

	static Ps now() { return impl->Now().GetTimeStep(); }

	static uint64_t now_ns() { return now() / NS; }

	/* As phase trackers have it: from a second on, for 0 would stand for "never". */
	static uint64_t tracker_us() { return now() / (1000 * NS) + 1000000; }

	/* @event may be pending already; then it happens twice. */
	static void at(Ps when, ns3::EventImpl &event)
	{
		event.Ref();
		impl->Schedule(ns3::Time(when - now()), &event);
	}

private:
	static inline ns3::SimulatorImpl *impl;
};

/* Calls a method of its owner; lives as long as that. */
template <typename T, void (T::*Call)()>
class Event : public ns3::EventImpl {
public:
	explicit Event(T *owner) : m_owner(owner) {}

	void at(Ps when)
	{
		m_pending = true;
		Clock::at(when, *this);
	}

	/* Of one that is never pending twice. */
	bool pending() const { return m_pending; }

private:
	void Notify() override
	{
		m_pending = false;
		(m_owner->*Call)();
	}

	T *m_owner;
	bool m_pending = false;
};

} /* namespace sim */

#endif /* MLCC_SIM_CLOCK_H */
