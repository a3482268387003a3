// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options that all experiments share, as values and as options of a comparison.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/core/place.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>

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

/// Turns the first Ctrl-C into the end of the comparison, with its report. It also removes the
/// handler, so that the second Ctrl-C ends the process.
inline void on_interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

/// Installs the handler for Ctrl-C, and removes it at the end of its life.
class interrupt_guard {
 public:
  interrupt_guard() {
    interrupted = 0;
    std::signal(SIGINT, on_interrupt);
  }
  interrupt_guard(interrupt_guard const&) = delete;
  interrupt_guard& operator=(interrupt_guard const&) = delete;
  ~interrupt_guard() { std::signal(SIGINT, SIG_DFL); }
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
