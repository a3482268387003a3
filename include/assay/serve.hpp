// SPDX-License-Identifier: Apache-2.0
/// @file
/// `assay::serve`: lets assay_compare compare a program with another build, or with another
/// program.
#pragma once

#include <assay/measure/callables.hpp>
#include <assay/measure/subject.hpp>

#include <concepts>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// One piece of work that a program offers for comparison, under a name.
struct served_case {
  std::string name;
  measure::variant work;                          ///< without use of its label and axes
  measure::clock decides = measure::clock::wall;  ///< unless `assay_compare --clock` is given

  served_case(std::string called, measure::variant does,
              measure::clock decided_by = measure::clock::wall)
      : name(std::move(called)), work(std::move(does)), decides(decided_by) {}

  /// A callable of any kind that `compare` takes. No device is used until the work is built.
  template <class F>
  requires(!std::convertible_to<F, measure::variant>)
  served_case(std::string called, F callable)
      : name(called),
        work(measure::callable_variant(std::move(called), std::move(callable))),
        decides(measure::detail::supported_place<measure::detail::on_stream<F>()>().default_clock) {
  }
};

/// Offers the cases for comparison and returns the exit code of the program:
/// `int main(int argc, char** argv) { return assay::serve(argc, argv, {{"sum", ...}}); }`
///
/// `assay_compare ./old ./new` starts the program and drives it over a socket, so the program may
/// print. A user who starts the program gets its help, or one verified run by `--case NAME`. The
/// exit code is 0 when done, 1 for a wrong answer, 2 for bad input and 4 for a failure.
int serve(int argc, char const* const* argv, std::vector<served_case> const& cases);

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/serve/serve_definitions.hpp>
#endif
