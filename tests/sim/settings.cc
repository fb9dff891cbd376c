// SPDX-License-Identifier: GPL-2.0
/* "key value" lines: settings.h. */
#include "settings.h"

#include <sstream>
#include <stdexcept>

namespace sim {

Settings Settings::read(std::istream &in)
{
	std::string line;
	Settings all;

	while (std::getline(in, line)) {
		size_t blank = line.find(' ');
		std::string key = line.substr(0, blank);
		std::string value = blank == line.npos ? "" : line.substr(blank + 1);

		if (key == "job")
			all.jobs.emplace_back();
		auto &to = all.jobs.empty() ? all.m_values : all.jobs.back().m_values;
		to.emplace(key, value);
	}
	return all;
}

std::string Settings::text(const std::string &key) const
{
	auto found = m_values.find(key);

	if (found == m_values.end())
		throw std::runtime_error(key + ": missing");
	m_used.insert(key);
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

double Settings::number(const std::string &key) const
{
	return numbers(key).front();
}

void Settings::all_used() const
{
	for (const auto &entry : m_values)
		if (!m_used.count(entry.first))
			throw std::runtime_error(entry.first + ": unknown key");
	for (const Settings &job : jobs)
		job.all_used();
}

} /* namespace sim */
