// SPDX-License-Identifier: Apache-2.0
/// @file
/// `command_subject`: a whole command, which one launch starts and waits for.
#pragma once

#include <assay/core/child_process.hpp>
#include <assay/measure/subject.hpp>
#include <assay/stats/number_text.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// A command that is timed as a whole, on the wall clock. Its output goes to /dev/null. A command
/// that leaves processes behind is refused, and they are killed.
class command_subject final : public measure::subject {
 public:
  command_subject(std::vector<std::string> command, std::chrono::duration<double> timeout)
      : command_(std::move(command)), timeout_(timeout) {}

  void warm(int, int launches) override {
    for (int i = 0; i < launches; ++i) { run_once(); }
  }

  measure::cell time(int, int launches) override {
    std::chrono::duration<double> total{0};
    for (int i = 0; i < launches; ++i) { total += run_once(); }
    measure::cell timed;
    timed[measure::clock::wall] = total.count() / launches;
    return timed;
  }

  /// Runs the command once. A command has no known answer, but a failure throws.
  std::optional<std::string> verify(int) override {
    run_once();
    return {};
  }

 private:
  std::chrono::duration<double> run_once() const {
    auto const begin = std::chrono::steady_clock::now();
    child_process running{command_, child_setup{.quiet_error = true, .adopts = true}};
    auto const end = running.wait_for(timeout_);
    if (!end) {
      throw std::runtime_error("the command '" + text() + "' did not end within " +
                               stats::number_text(timeout_.count()) +
                               " s and was killed; allow it a longer timeout");
    }
    if (!end->success()) {
      throw std::runtime_error("the command '" + text() + "' " + end->text() +
                               "; run it alone to see its output");
    }
    if (end->left_behind > 0) {
      throw std::runtime_error(
          "the command '" + text() + "' leaves " + std::to_string(end->left_behind) +
          (end->left_behind == 1 ? " process" : " processes") +
          " behind, whose work would not be timed: add 'wait' at its end, or leave out '&' (sh "
          "reads '&>' as '&')");
    }
    return running.ended_at() - begin;
  }

  std::string text() const {
    std::string all;
    for (auto const& each : command_) { all += (all.empty() ? "" : " ") + each; }
    return all;
  }

  std::vector<std::string> command_;
  std::chrono::duration<double> timeout_;
};

/// A whole command as a variant; the first word is the program. A command that fails or takes
/// longer than the timeout ends the comparison with its name.
inline measure::variant command_variant(
    std::string label, std::vector<std::string> command,
    std::chrono::duration<double> timeout = std::chrono::seconds{60}) {
  measure::variant made;
  made.axes = {{"command", label}};
  made.label = std::move(label);
  made.build = [command = std::move(command),
                timeout](measure::epoch const&) -> std::unique_ptr<measure::subject> {
    return std::make_unique<command_subject>(command, timeout);
  };
  return made;
}

}  // namespace assay::examples
