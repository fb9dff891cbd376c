// SPDX-License-Identifier: GPL-2.0
/*
 * What mlcc-sim is told on its standard input: "key value" lines; those from "job NAME" on are of
 * that job.  All have to be there, and nothing else.  People write TOML, which has defaults, and
 * where values that are wrong are refused (mlccsim/scenario.py).
 */
#ifndef MLCC_SIM_SETTINGS_H
#define MLCC_SIM_SETTINGS_H

#include <istream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sim {

class Settings {
public:
	/* Throws std::runtime_error, as all of these do. */
	static Settings read(std::istream &in);

	std::string text(const std::string &key) const;
	double number(const std::string &key) const;
	std::vector<double> numbers(const std::string &key) const;

	/* Complains of a key that nobody has asked for. */
	void all_used() const;

	std::vector<Settings> jobs;

private:
	std::map<std::string, std::string> m_values;
	mutable std::set<std::string> m_used;
};

} /* namespace sim */

#endif /* MLCC_SIM_SETTINGS_H */
