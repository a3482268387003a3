// SPDX-License-Identifier: Apache-2.0
/// @file
/// `watch`: a command that may take long, with its output in a file, and an end on Ctrl-C.
#pragma once

#include <assay/cli/options.hpp>
#include <assay/core/child_process.hpp>
#include <assay/report/format.hpp>

#include <signal.h>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// Ctrl-C. The state of the bisection is on the disk.
class interrupted : public std::runtime_error {
 public:
  interrupted() : std::runtime_error("interrupted: the same command goes on from here") {}
};

struct watched_command {
  std::vector<std::string> words;
  std::string output;   ///< a file for both outputs
  std::string doing{};  ///< told every half minute; empty: nothing is told
};

/// Runs a command to its end. Throws `interrupted` on Ctrl-C, after the command has ended too.
inline process_end watch(watched_command const& of) {
  using std::chrono::steady_clock;
  std::vector<std::string> words{"/bin/sh", "-c", "out=$1; shift; exec \"$@\" > \"$out\" 2>&1",
                                 "sh", of.output};
  words.insert(words.end(), of.words.begin(), of.words.end());
  child_process running{words};
  auto const begin = steady_clock::now();
  for (auto told = begin;;) {
    if (auto const end = running.wait_for(std::chrono::milliseconds{200})) { return *end; }
    auto const now = steady_clock::now();
    if (cli::detail::was_interrupted()) {
      ::kill(running.pid(), SIGINT);  // assay_compare ends its own children
      running.wait_for(std::chrono::seconds{5});
      throw interrupted{};
    }
    std::chrono::duration<double> const spent = now - begin;
    if (!of.doing.empty() && now - told >= std::chrono::seconds{30}) {
      told = now;
      std::cerr << "  " << of.doing << ", " << report::duration(spent.count()) << std::endl;
    }
  }
}

}  // namespace assay::examples
