// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options that all experiments share, as values and as options of a comparison.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/core/place.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>

#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::cli {

/// The lines of a report that an experiment prints by default.
inline constexpr std::size_t screen_lines = 60;

/// The end of a run: its files, what is printed after the report, and the first output that failed.
struct afterwards {
  run_files files;
  std::string text;
  std::exception_ptr failure;

  /// Calls `write`, and keeps its failure unless there is an earlier one.
  template <class Write>
  void keep_failure(Write const& write) {
    try {
      write();
    } catch (std::exception const&) {
      if (!failure) { failure = std::current_exception(); }
    }
  }
  /// Prints the text unless `quiet`, and throws the failure.
  void end(std::ostream& out, bool quiet) const {
    if (!quiet) { out << text; }
    if (failure) { std::rethrow_exception(failure); }
  }
};

namespace detail {

inline std::sig_atomic_t volatile interrupted = 0;
inline bool was_interrupted() { return interrupted != 0; }

inline double monotonic_seconds() noexcept {
  ::timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // a handler of signals may call it
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
inline double volatile interrupted_at = 0;
inline constexpr unsigned seconds_to_end = 10;

/// Turns Ctrl-C, `kill` or a closing terminal into the end of the comparison, with its report. A
/// second one ends the process, but not within 0.1 s: `timeout` sends its signal twice.
inline void on_interrupt(int number) {
  auto const now = monotonic_seconds();
  if (interrupted != 0 && now > interrupted_at + 0.1) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  if (interrupted == 0) { interrupted_at = now; }
  interrupted = 1;
  // Nobody may be there for a second one, as where CI ends a program whose kernel never ends.
  if (number != SIGINT) { ::alarm(seconds_to_end); }
}

/// Installs the handler, and puts back what was there at the end of its life. A closing terminal
/// and SIGTERM that are ignored, as under `nohup` and by `trap '' TERM`, stay so.
class interrupt_guard {
 public:
  interrupt_guard() {
    interrupted = 0;
    for (auto& [number, before] : replaced_) {
      before = std::signal(number, on_interrupt);
      // Shells ignore SIGINT for their background jobs, which nobody has asked for.
      if (before == SIG_IGN && number != SIGINT) { std::signal(number, SIG_IGN); }
    }
  }
  interrupt_guard(interrupt_guard const&) = delete;
  interrupt_guard& operator=(interrupt_guard const&) = delete;
  ~interrupt_guard() {
    for (auto const& [number, before] : replaced_) {
      std::signal(number, before == SIG_ERR ? SIG_DFL : before);
    }
    if (interrupted != 0) { ::alarm(0); }
  }

 private:
  struct replaced {
    int number;
    void (*before)(int) = SIG_DFL;
  };
  replaced replaced_[3] = {{SIGINT}, {SIGTERM}, {SIGHUP}};
};

}  // namespace detail

/// The options of a command line; members hold the defaults of options that it does not name.
struct options {
  /// The options of the comparison. The program sets its own on top, such as the title.
  measure::options measuring{
      .max_seconds = 60, .clock = measure::clock::wall, .cancelled = detail::was_interrupted};
  bool quick = false;  ///< smaller and shorter, to see that it works

  /// The paths of files, by the options that ask for them, such as "--json".
  std::map<std::string, std::filesystem::path, std::less<>> files;
  std::vector<std::string> fail_if;
  int device = 0;
  bool device_named = false;  ///< true with --device: a missing device is then an error
  bool host = false;          ///< the host half, also where there is a GPU
  bool list = false;          ///< name the variants and do nothing else
  bool full = false;          ///< print the whole report, and not `screen_lines` of it
  bool quiet = false;

  machine::environment where;  ///< host, compiler, commit and command line, for the report
  /// Sets the time limit in the progress line, where an experiment has several comparisons.
  std::function<void(double seconds)> say_limit = [](double) {};
  std::shared_ptr<afterwards> later = std::make_shared<afterwards>();

  /// The options of a comparison on one place. Throws `std::invalid_argument` for a clock that the
  /// place lacks, and for a device where the host is the place.
  measure::options measuring_on(on::device) const { return measuring; }
  measure::options measuring_on(on::host) const {
    if (measuring.clock == measure::clock::gpu) {
      throw std::invalid_argument("--clock gpu: this runs on the host, which has wall and submit");
    }
    if (device_named) {
      throw std::invalid_argument("--device: this runs on the host; leave the option out");
    }
    return measuring;
  }
};

}  // namespace assay::cli
