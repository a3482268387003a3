// SPDX-License-Identifier: Apache-2.0
/// @file
/// `command_subject`: a whole command, which one launch starts and waits for.
#pragma once

#include <assay/cli/options.hpp>
#include <assay/core/child_process.hpp>
#include <assay/measure/subject.hpp>
#include <assay/stats/number_text.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace assay::examples {

/// A command: the first word is the program.
struct command {
  std::vector<std::string> words;
  std::chrono::duration<double> timeout = std::chrono::seconds{60};

  std::string text() const {
    std::string all;
    for (auto const& each : words) { all += (all.empty() ? "" : " ") + each; }
    return all;
  }

  /// Runs the command to its end and returns the time of it. Its standard output goes to a
  /// descriptor, or to /dev/null for -1. Throws where it fails, takes longer than the timeout, or
  /// leaves processes behind, which are killed.
  std::chrono::duration<double> run(int output = -1) const {
    auto const begin = std::chrono::steady_clock::now();
    child_process running{words,
                          child_setup{.output = output, .quiet_error = true, .adopts = true}};
    auto const end = end_of(running);
    if (!end && cli::detail::was_interrupted()) {
      throw std::runtime_error("interrupted while the command '" + text() + "' ran");
    }
    if (!end) {
      throw std::runtime_error("the command '" + text() + "' did not end within " +
                               stats::number_text(timeout.count()) +
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

 private:
  /// Nothing where the command takes longer than the timeout, and after Ctrl-C.
  std::optional<process_end> end_of(child_process& running) const {
    constexpr std::chrono::duration<double> look = std::chrono::milliseconds{200};
    auto left = timeout;
    while (left > look && !cli::detail::was_interrupted()) {
      if (auto const end = running.wait_for(look)) { return end; }
      left -= look;
    }
    return running.wait_for(cli::detail::was_interrupted() ? left.zero() : left);
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

/// A command that is timed as a whole, on the wall clock.
class command_subject final : public measure::subject {
 public:
  explicit command_subject(command of) : command_(std::move(of)) {}

  void warm(int, int launches) override {
    for (int i = 0; i < launches; ++i) { command_.run(); }
  }

  measure::cell time(int, int launches) override {
    std::chrono::duration<double> total{0};
    for (int i = 0; i < launches; ++i) { total += command_.run(); }
    measure::cell timed;
    timed[measure::clock::wall] = total.count() / launches;
    return timed;
  }

  /// Runs the command once. A command has no known answer, but a failure throws.
  std::optional<std::string> verify(int) override {
    command_.run();
    return {};
  }

 private:
  command command_;
};

/// A whole command as a variant. A command that fails ends the comparison with its name.
inline measure::variant command_variant(std::string label, command of) {
  measure::variant made;
  made.axes = {{"command", label}};
  made.label = std::move(label);
  made.build = [of = std::move(of)](measure::epoch const&) -> std::unique_ptr<measure::subject> {
    return std::make_unique<command_subject>(of);
  };
  return made;
}

}  // namespace assay::examples
