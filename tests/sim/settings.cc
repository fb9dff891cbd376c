// SPDX-License-Identifier: GPL-2.0
/* "key value" lines: settings.h. */
#include "settings.h"

#include <cmath>
#include <sstream>

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
		if (!to.emplace(key, value).second)
			throw std::runtime_error(key + ": twice");
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

double Settings::number(const std::string &key, double low, double high) const
{
	std::string value = text(key);
	size_t end = 0;
	double number = NAN;

	try {
		number = std::stod(value, &end);
	} catch (const std::exception &) {
	}
	if (value.empty() || end != value.size() || !(number >= low && number <= high)) {
		std::ostringstream why;

		why << key << ": '" << value << "': a number from " << low << " to " << high << " is wanted";
		throw std::runtime_error(why.str());
	}
	return number;
}

unsigned Settings::whole(const std::string &key, unsigned low, unsigned high) const
{
	double value = number(key, low, high);

	if (value != std::floor(value))
		throw std::runtime_error(key + ": not a whole number");
	return value;
}

std::vector<unsigned> Settings::list(const std::string &key, unsigned below) const
{
	std::istringstream words(text(key));
	std::vector<unsigned> found;

	for (unsigned n; words >> n; found.push_back(n))
		if (n >= below)
			throw std::runtime_error(key + ": there is no host " + std::to_string(n));
	if (!words.eof() || found.size() < 2)
		throw std::runtime_error(key + ": not a list of two hosts or more");
	return found;
}

std::vector<double> Settings::rows(const std::string &key, unsigned columns) const
{
	std::istringstream words(text(key));
	std::vector<double> found;

	for (double n; words >> n;)
		found.push_back(n);
	if (!words.eof() || found.empty() || found.size() % columns)
		throw std::runtime_error(key + ": not rows of " + std::to_string(columns) +
					 " numbers");
	return found;
}

std::vector<double> Settings::table(const std::string &key) const
{
	std::vector<double> found = rows(key, 2);

	for (size_t i = 2; i < found.size(); i++)
		if (found[i] <= found[i - 2])
			throw std::runtime_error(key + ": does not rise");
	if (found.size() < 4)
		throw std::runtime_error(key + ": not a table of two rows or more");
	return found;
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
