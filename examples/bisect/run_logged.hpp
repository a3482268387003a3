// SPDX-License-Identifier: Apache-2.0
/// @file
/// `run_logged`: a command that may take long, with its output in a file, and an end on Ctrl-C.
#pragma once

#include <assay/cli/options.hpp>
#include <assay/core/child_process.hpp>

#include <signal.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::examples {

/// Runs a command to its end; `output` is a file for both of its outputs. Throws on Ctrl-C, after
/// the command has ended too.
inline process_end run_logged(std::vector<std::string> const& words, std::string const& output) {
  std::vector<std::string> all{"/bin/sh", "-c", "out=$1; shift; exec \"$@\" > \"$out\" 2>&1", "sh",
                               output};
  all.insert(all.end(), words.begin(), words.end());
  child_process running{all};
  while (true) {
    auto const end = running.wait_for(std::chrono::milliseconds{200});
    if (cli::detail::was_interrupted()) { break; }  // the end may be that of the same signal
    if (end) { return *end; }
  }
  ::kill(running.pid(), SIGINT);  // assay_compare ends its own children
  running.wait_for(std::chrono::seconds{5});
  throw std::runtime_error("interrupted: the same command goes on from here");
}

}  // namespace assay::examples
