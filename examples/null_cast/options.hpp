// SPDX-License-Identifier: Apache-2.0
/// @file
/// The options of the null_cast experiment, and its half on the CPU.
#pragma once

#include "null_cast.hpp"

#include <assay/cli/run.hpp>
#include <assay/workload/null_cast.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace assay::examples {

/// The options of the experiment.
class null_cast_options {
 public:
  /// Without a `gpu` the options that only a GPU can serve are left out.
  void add_to(CLI::App& app, bool gpu = true) {
    cli::add_option(app, "--rows", rows_,
                    "rows of the column (default 2684354, on the host 671088)");
    cli::add_option(app, "--null-fraction", given_.null_fraction, "share of nulls, 0 to 1");
    cli::add_option(app, "--type", given_.type, "of the column: int32, int64 or float");
    cli::add_option(app, "--threads", given_.threads, "host threads that submit");
    cli::add_option(app, "--items", items_,
                    "items of a thread in a batch (default 100, on the host 2; --quick: 10, 1)");
    cli::add_option(app, "--sync-per-item", given_.sync_per_item,
                    "wait for each item, as libraries do whose calls block");
    if (gpu) { cli::add_option(app, "--pool", pool_, "initial size of the pool on a GPU"); }
    cli::add_option(app, "--variant", variant_,
                    "run this variant alone, for a profiler; see --list");
    cli::add_option(app, "--batches", batches_, "how many batches of it (default 10)");
  }

  /// The parameters. Throws `std::invalid_argument` for values that are not possible. The default
  /// for the host has fewer rows and items: two cores take some 20 s for 12 epochs.
  null_cast_parameters read(bool host, bool quick) const {
    auto of = given_;
    of.rows = rows_.value_or(host ? of.rows / 4 : of.rows);
    of.items = items_.value_or(host ? (quick ? 1 : 2) : (quick ? 10 : 100));
    of.pool_bytes = cli::value_of("--pool", [&] { return cli::parse_bytes(pool_); });
    cli::require_between("--rows", of.rows, std::int64_t{1}, std::int64_t{1} << 40);
    cli::require_between("--null-fraction", of.null_fraction, 0.0, 1.0);
    cli::choose("--type", "type", of.type, {"int32", "int64", "float"});
    cli::require_count("--threads", of.threads);
    cli::require_count("--items", of.items);
    cli::require_count("--batches", batches_.value_or(1));
    if (batches_ && variant_.empty()) {
      throw std::invalid_argument("--batches " + std::to_string(*batches_) +
                                  ": it counts the batches of one variant; name it by --variant");
    }
    return of;
  }

  /// Runs the variant that is to run alone, and returns it; null where all are compared or listed.
  trace::variant_runs const* run_alone(cli::variants const& all, cli::options const& chosen) const {
    if (chosen.list || variant_.empty()) { return nullptr; }
    return &cli::run_alone(all, variant_, batches_.value_or(10));
  }

 private:
  null_cast_parameters given_;
  std::optional<std::int64_t> rows_;
  std::optional<int> items_, batches_;
  std::string pool_ = "10GiB", variant_;
};

/// The half on the CPU: three passes or one, submitted at once or under one mutex.
inline std::optional<measure::comparison> null_cast_on_host(null_cast_options const& asked,
                                                            cli::options const& chosen) {
  auto measuring = chosen.measuring_on(on::host{1});
  measuring.title =
      "CAST(COALESCE(x, 0) AS DOUBLE) on the CPU: three passes or one, submitted how?";
  auto const given = asked.read(true, chosen.quick);
  auto const all = given.with_type([&]<class T>(T) {
    auto const passes = workloads::null_cast<T>{given.rows, given.null_fraction};
    pipeline const control{passes, on::host{1}, given.concurrent()};
    return cross(given, control, std::pair{std::string{"three-passes"}, passes},
                 std::pair{std::string{"fused"},
                           workloads::null_cast_fused<T>{given.rows, given.null_fraction}});
  });
  if (asked.run_alone(all, chosen) != nullptr) { return {}; }
  return cli::list_or_compare(chosen, all, measuring);
}

}  // namespace assay::examples
