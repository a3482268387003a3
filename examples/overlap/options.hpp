// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of the overlap experiment, and its half on the CPU.
#pragma once

#include "overlap.hpp"

#include <assay/cli/parse.hpp>
#include <assay/cli/variants.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/vector_add.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace assay::examples {

/// The options of the experiment.
class overlap_options {
 public:
  void add_to(CLI::App& app) {
    app.add_option("--bytes", given_.sizes,
                   "sizes each way; traces are of the largest (default 1MiB,4MiB,16MiB,64MiB; "
                   "1MiB,4MiB with --quick)")
        ->delimiter(',');
    app.add_option("--flops", given_.flops, "arithmetic for each element of 4 bytes")
        ->capture_default_str();
  }

  /// The parameters. Throws `std::invalid_argument` for values that are not possible.
  overlap_parameters read(bool quick) const {
    auto of = given_;
    if (of.sizes.empty()) { of.sizes = {"1MiB", "4MiB"}; }
    if (given_.sizes.empty() && !quick) { of.sizes.insert(of.sizes.end(), {"16MiB", "64MiB"}); }
    for (auto const& each : of.sizes) {
      auto const size = cli::value_of("--bytes", [&] { return cli::parse_bytes(each); });
      cli::require_between("--bytes", size, std::size_t{1} << 20U, std::size_t{16} << 30U);
    }
    std::ranges::sort(of.sizes, {}, cli::parse_bytes);
    cli::require_between("--flops", of.flops, 0, 1 << 24);
    if (of.flops % 2 != 0) {
      throw std::invalid_argument("--flops " + std::to_string(of.flops) +
                                  ": it must be even, as each step multiplies and adds");
    }
    return of;
  }

 private:
  overlap_parameters given_;
};

/// The half on the CPU, at the largest size: the same sum by one thread, by all, and by twice as
/// many.
inline std::optional<measure::comparison> overlap_on_host(overlap_parameters const& given,
                                                          cli::options const& chosen) {
  int const all = std::max(2, host::all_threads());
  // Two inputs and an output: together as much as goes each way over a link, twice.
  auto const bytes = cli::parse_bytes(given.sizes.back());
  auto const elements = static_cast<std::int64_t>(bytes / sizeof(float));
  pipeline const control{workloads::vector_add<float>{.elements = elements}, on::host{1},
                         submit::sequential{.items = 4}};
  auto measuring = chosen.measuring_on(control.place);
  measuring.title = "Adding two arrays on the CPU: by one thread, by all, by twice as many";
  return cli::list_or_compare(
      chosen,
      cli::variants_of(control, control.with(on::host{all}), control.with(on::host{2 * all})),
      measuring);
}

}  // namespace assay::examples
