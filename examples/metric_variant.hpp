// SPDX-License-Identifier: Apache-2.0
/// @file
/// `metric_variant`: a command that prints the numbers to compare.
#pragma once

#include "command_subject.hpp"
#include "recorded_subject.hpp"

#include <assay/measure/subject.hpp>
#include <assay/stats/number_text.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// How numbers are read from what a command prints.
struct metric {
  std::string pattern;            ///< a regular expression with one group, which is the number
  double unit_seconds = 1;        ///< a number of 1 is so many seconds
  bool higher_is_better = false;  ///< a rate: its inverse is taken as a time
  int skipped = 0;                ///< so many numbers at the start of each run warm up

  /// The expression. Throws `std::invalid_argument` for one that is none, or has not one group.
  std::regex expression() const {
    try {
      std::regex made{pattern};
      if (made.mark_count() == 1) { return made; }
    } catch (std::regex_error const& cause) {
      throw std::invalid_argument("'" + pattern + "' is no regular expression: " + cause.what());
    }
    throw std::invalid_argument("'" + pattern + "' needs one group, the number: step_ms=([0-9.]+)");
  }

  /// The times in seconds that a command printed, without those that warm up. A line may have
  /// several, and a carriage return ends a line as well. Throws `std::runtime_error` where there is
  /// none, or one that is no positive number.
  std::vector<double> seconds_in(std::string output) const {
    auto const wanted = expression();
    std::vector<double> found;
    std::ranges::replace(output, '\r', '\n');
    std::istringstream lines{std::move(output)};
    for (std::string line; std::getline(lines, line);) {
      // std::regex calls itself for each character that '.*' takes, until the stack is full. A
      // group '(.*)' takes a number, which is short.
      auto const dots = pattern.find(".*");
      if (line.size() > 4000 && dots != pattern.npos && (dots == 0 || pattern[dots - 1] != '(')) {
        throw std::runtime_error("it printed a line of " + std::to_string(line.size()) +
                                 " characters, too long for '.*' in '" + pattern +
                                 "': leave '.*' out, or print shorter lines");
      }
      for (std::sregex_iterator each{line.begin(), line.end(), wanted}, end; each != end; ++each) {
        auto const text = (*each)[1].str();
        double value = 0;
        auto const* const last = text.data() + text.size();
        auto const [stop, error] = std::from_chars(text.data(), last, value);
        bool const is_number = error == std::errc{} && stop == last && value > 0;
        if (!is_number || value > 1e300) {
          throw std::runtime_error("it printed '" + text + "' for '" + pattern +
                                   "', which is no positive number");
        }
        found.push_back(unit_seconds * (higher_is_better ? 1 / value : value));
      }
    }
    auto const skip = static_cast<std::size_t>(skipped);
    if (found.size() <= skip) {
      throw std::runtime_error("it printed " + std::to_string(found.size()) + " numbers for '" +
                               pattern + "'" +
                               (skip == 0 ? "" : ", and " + std::to_string(skip) + " warm up"));
    }
    found.erase(found.begin(), found.begin() + skipped);
    return found;
  }

  /// The sentence for the report.
  std::string describe() const {
    return "times are " + std::string{higher_is_better ? "1 / " : ""} +
           "numbers that each run prints for '" + pattern +
           "'; a cell is the mean of those of one run" +
           (skipped == 0 ? "" : ", without the first " + std::to_string(skipped));
  }
};

/// A command that prints its numbers, as a variant.
inline measure::variant metric_variant(std::string label, command const& of, metric const& read) {
  auto const run = [=](measure::epoch const&) {
    measure::cell timed;
    try {
      timed.launches = read.seconds_in(output_of(of));
    } catch (std::runtime_error const& cause) {
      std::string const why = cause.what();
      throw std::runtime_error(why.starts_with("it ") ? "the command '" + of.text() + "': " + why
                                                      : why);
    }
    timed[measure::clock::wall] =
        std::accumulate(timed.launches.begin(), timed.launches.end(), 0.0) /
        static_cast<double>(timed.launches.size());
    return timed;
  };
  return recorded_variant("command", std::move(label), read.describe(), run);
}

}  // namespace assay::examples
