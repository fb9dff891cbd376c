// SPDX-License-Identifier: GPL-2.0
/*
 * What mlcc-sim is told on its standard input: "key value" lines; those from "job NAME" on are of
 * that job.  All have to be there, and nothing else: people write TOML (tests/sim/run), which has
 * defaults.
 */
#ifndef MLCC_SIM_SETTINGS_H
#define MLCC_SIM_SETTINGS_H

#include <istream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace sim {

class Settings {
public:
	/* Throws std::runtime_error, as all of these do. */
	static Settings read(std::istream &in);

	std::string text(const std::string &key) const;
	double number(const std::string &key, double low, double high) const;
	unsigned whole(const std::string &key, unsigned low, unsigned high) const;
	std::vector<unsigned> list(const std::string &key, unsigned below) const;
	std::vector<double> rows(const std::string &key, unsigned columns) const;
	std::vector<double> table(const std::string &key) const;	/* rows of two that rise */

	/* Complains of a key that nobody has asked for. */
	void all_used() const;

	std::vector<Settings> jobs;

private:
	std::map<std::string, std::string> m_values;
	mutable std::set<std::string> m_used;
};

} /* namespace sim */

#endif /* MLCC_SIM_SETTINGS_H */
