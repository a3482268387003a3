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
    app.add_option("--max-bytes", max_,
                   "largest size each way, from 1MiB by doubling (default 4GiB; 16MiB with "
                   "--quick)");
    app.add_option("--compare-bytes", compare_,
                   "size each way at which verdicts are given (default 64MiB; 4MiB with --quick)");
    app.add_option("--flops", given_.flops, "arithmetic for each element of 4 bytes")
        ->capture_default_str();
  }

  /// The parameters. Throws `std::invalid_argument` for values that are not possible.
  overlap_parameters read(bool quick) const {
    auto of = given_;
    of.max_bytes = bytes("--max-bytes", max_, quick ? "16MiB" : "4GiB");
    of.compare_bytes = bytes("--compare-bytes", compare_, quick ? "4MiB" : "64MiB");
    if (quick) { of.repetitions = 3; }
    cli::require_between("--flops", of.flops, 0, 1 << 24);
    if (of.flops % 2 != 0) {
      throw std::invalid_argument("--flops " + std::to_string(of.flops) +
                                  ": it must be even, as each step multiplies and adds");
    }
    return of;
  }

 private:
  static std::size_t bytes(char const* option, std::string const& given, char const* otherwise) {
    auto const size =
        cli::value_of(option, [&] { return cli::parse_bytes(given.empty() ? otherwise : given); });
    cli::require_between(option, size, std::size_t{1} << 20U, std::size_t{16} << 30U);
    return size;
  }

  overlap_parameters given_;
  std::string max_, compare_;
};

/// The half on the CPU: the same sum by one thread, by all, and by twice as many.
inline std::optional<measure::comparison> overlap_on_host(overlap_parameters const& given,
                                                          cli::options const& chosen) {
  int const all = std::max(2, host::all_threads());
  // Two inputs and an output: together as much as goes each way over a link, twice.
  auto const elements = static_cast<std::int64_t>(given.compare_bytes / sizeof(float));
  pipeline const control{workloads::vector_add<float>{.elements = elements}, on::host{1},
                         submit::sequential{.items = 4}};
  auto measuring = chosen.measuring(control.place);
  measuring.title = "Adding two arrays on the CPU: by one thread, by all, by twice as many";
  return cli::list_or_compare(
      chosen,
      cli::variants_of(control, control.with(on::host{all}), control.with(on::host{2 * all})),
      measuring);
}

}  // namespace assay::examples
