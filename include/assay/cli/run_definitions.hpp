// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to run.hpp: the definitions of its functions.
#pragma once

#include <assay/cli/gate.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/cli/options.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/cli/run.hpp>
#include <assay/cli/shared_options.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/progress.hpp>

#include <CLI/CLI.hpp>
#include <concepts>
#include <functional>
#include <iostream>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

namespace assay::cli {

namespace detail {

/// The reason for which a comparison failed.
inline std::string why_failed(measure::comparison const& all) {
  if (!all.failure.empty()) { return all.failure; }
  for (auto const& each : all.findings) {
    if (each.primary) { return each.reason; }
  }
  return "the comparison ended without a finding";
}

}  // namespace detail

ASSAY_INLINE int run(int argc, char const* const* argv, program const& about,
                     std::function<void(CLI::App&)> const& configure,
                     std::function<std::optional<measure::comparison>(options const&)> const& body,
                     std::ostream& out, std::ostream& err) {
  CLI::App app{about.description};
  std::optional<shared_options> shared;
  auto const declare = [&] {
    shared.emplace(app);
    configure(app);
  };
  auto const measured = [&]() -> int {
    auto chosen = shared->read();
    chosen.where = machine::host_environment(about.commit, machine::command_line(argc, argv));
    bool const shown = !chosen.quiet && &err == &std::cerr;
    report::progress_line progress{err, shown ? report::stderr_form() : report::progress_form::none,
                                   chosen.measuring.max_seconds};
    chosen.measuring.progress = std::ref(progress);
    chosen.say_limit = [&](double seconds) { progress.limit(seconds); };
    detail::interrupt_guard const guard;
    auto found = body(std::as_const(chosen));
    progress.finish();
    if (!found) {
      chosen.later->end(out, chosen.quiet);
      return ok;
    }
    machine::fill_unknown(found->where, chosen.where);
    write_outputs(chosen, *found, out);
    if (has_failed(*found)) { err << "error: " << detail::why_failed(*found) << '\n'; }
    return judge(*found, chosen.fail_if);
  };
  return guarded(app, argc, argv, measured, out, err, declare);
}

ASSAY_INLINE int run(
    int argc, char const* const* argv, program const& about,
    std::function<void(CLI::App&)> const& configure,
    std::function<std::optional<measure::comparison>(options const&)> const& body) {
  return run(argc, argv, about, configure, body, std::cout, std::cerr);
}

template <class T>
void add_option(CLI::App& to, std::string const& name, T& value, std::string const& help) {
  to.option_defaults()->always_capture_default();
  if constexpr (std::same_as<T, bool>) {
    to.add_flag(name, value, help);
  } else {
    to.add_option(name, value, help);
  }
}

}  // namespace assay::cli
