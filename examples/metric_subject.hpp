// SPDX-License-Identifier: Apache-2.0
/// @file
/// `metric_subject`: a command that prints the numbers to compare.
#pragma once

#include "command_subject.hpp"

#include <assay/measure/subject.hpp>
#include <assay/stats/number_text.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
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

/// What a command prints on its standard output.
inline std::string output_of(command const& of) {
  int const file = ::memfd_create("output", MFD_CLOEXEC);
  if (file < 0) { throw std::system_error(errno, std::generic_category(), "no memory file"); }
  std::unique_ptr<int const, void (*)(int const*)> const owned{
      &file, [](int const* old) { ::close(*old); }};
  of.run(file);
  std::string all;
  std::array<char, 1 << 16> piece{};
  for (::ssize_t got = 0;
       (got = ::pread(file, piece.data(), piece.size(), static_cast<::off_t>(all.size()))) > 0;) {
    all.append(piece.data(), static_cast<std::size_t>(got));
  }
  return all;
}

/// One run of a command, whose numbers are the times of its epoch. Runs are the repetitions: the
/// numbers of one run share a start, a placement and a state of the machine.
class metric_subject final : public measure::subject {
 public:
  /// Runs the command.
  metric_subject(command const& of, metric read) : read_(std::move(read)) {
    try {
      seconds_ = read_.seconds_in(output_of(of));
    } catch (std::runtime_error const& cause) {
      std::string const why = cause.what();
      throw std::runtime_error(why.starts_with("it ") ? "the command '" + of.text() + "': " + why
                                                      : why);
    }
  }

  void warm(int, int) override {}

  measure::cell time(int, int) override {
    measure::cell timed;
    timed[measure::clock::wall] = std::accumulate(seconds_.begin(), seconds_.end(), 0.0) /
                                  static_cast<double>(seconds_.size());
    timed.launches = seconds_;
    return timed;
  }

  /// A command has no known answer.
  std::optional<std::string> verify(int) override { return {}; }

  std::vector<std::string> caveats() const override { return {read_.describe()}; }

 private:
  metric read_;
  std::vector<double> seconds_;
};

/// A command that prints its numbers, as a variant.
inline measure::variant metric_variant(std::string label, command of, metric read) {
  measure::variant made;
  made.axes = {{"command", label}};
  made.label = std::move(label);
  made.renews_code = true;
  made.build = [of = std::move(of), read = std::move(read)](
                   measure::epoch const&) -> std::unique_ptr<measure::subject> {
    return std::make_unique<metric_subject>(of, read);
  };
  return made;
}

}  // namespace assay::examples
