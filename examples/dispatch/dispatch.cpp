// SPDX-License-Identifier: Apache-2.0
// Does a GPU pay, from which size on, and for data in which memory? Vector addition, reduction and
// matrix products are calibrated on host threads and on a GPU. Prints the crossovers, and what the
// decisions of the model and of its rivals cost on sizes that were held out.
// Predicts for one H200 with 16 cores: over pageable memory the GPU never adds or reduces vectors
// faster, since each byte crosses the link and is used once. Products of matrices on the GPU pay
// from 200 rows on. From 350 rows on they pay in page-locked memory, and from 900 in pageable.
//
// assay-uses: cli
// assay-test-args: --quick --tasks vector_add,reduction --largest 20000 --budget 3 --trace 2

#include "../tracing/tracing.hpp"
#include "options.hpp"
#include "tasks.hpp"

#include <matmul.hpp>  // of blas/ or of no_blas/

#include <assay/cli/traced_calls.hpp>
#include <assay/core/device.hpp>
#include <assay/dispatch/device.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/measure/regret.hpp>
#include <assay/page/crossover_chart.hpp>
#include <assay/report/dispatch_study.hpp>
#include <assay/report/dispatch_study_json.hpp>
#include <assay/report/json.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

using namespace assay;

namespace {

using all_tasks = decltype(std::tuple_cat(
    std::tuple<examples::vector_add, examples::reduction<examples::reducer::one_pass>,
               examples::reduction<examples::reducer::cub>>{},
    examples::matmul_tasks{}));

/// Calls `body` with the type of each task.
template <class Body>
void each_task(Body const& body) {
  [&]<class... T>(std::type_identity<std::tuple<T...>>) {
    (body(std::type_identity<T>{}), ...);
  }(std::type_identity<all_tasks>{});
}

std::vector<std::string> names(bool peers) {
  std::vector<std::string> all;
  each_task([&]<class T>(std::type_identity<T>) {
    if (peers || !T::is_peer) { all.emplace_back(T::name); }
  });
  return all;
}

/// The paths of a task, those on the host first.
template <class T>
std::vector<dispatch::path> paths_of(examples::dispatch_parameters const& given, bool on_device) {
  std::vector<dispatch::path> all;
  for (int const threads : given.threads) {
    if (T::serves(on::host{threads})) { all.emplace_back(on::host{threads}); }
  }
  if (all.empty()) { all.emplace_back(on::host{1}); }
  if (on_device) { all.emplace_back(on::device{given.device}); }
  return all;
}

template <class T>
measure::dispatch_study study(examples::dispatch_parameters const& given, bool on_device) {
  dispatch::size_range const sizes{
      1, std::min(given.largest, given.quick ? T::largest_quick : T::largest)};
  auto const paths = paths_of<T>(given, on_device);
  measure::study_options<T> options{.calibrated = {.sizes = sizes,
                                                   .budget_seconds = given.budget_seconds,
                                                   .make = T::make,
                                                   .seed = given.seed},
                                    .facts_at = T::facts_at,
                                    .calls = given.calls,
                                    .training = given.training,
                                    .bisects = given.bisects,
                                    .traced = given.traced,
                                    .trace = cli::traced_calls(examples::tracing())};
  if constexpr (T::is_product) {
    options.sweep_to = std::min(given.sweep, sizes.last);
    options.make_other = [random = stats::random_source{given.seed}](setup& arrays,
                                                                     std::size_t edge) mutable {
      return T::make_shape(arrays, examples::product_shape::drawn(edge, random));
    };
    if (on_device) {  // SCILIB-Accel, on all threads
      auto const host = std::ranges::find_if(
          paths.rbegin(), paths.rend(), [](auto const& each) { return each.host() != nullptr; });
      options.rules.push_back({"cbrt(m n k) > 500", {501, *host, paths.back()}});
    }
  }
  options.say = [&](std::string const& what) {
    if (!given.quiet) { std::cerr << T::name << ": " << what << std::endl; }
  };
  return measure::study_dispatch<T>(paths, options);
}

int run(examples::dispatch_parameters const& given, std::string const& command_line) {
  bool const on_device = !given.host && (given.device_named || device_count() > 0);
  if (!on_device && !given.host) { std::cerr << "no GPU: host paths alone are measured\n"; }
  if (on_device) { require_device(on::device{given.device}); }
  auto where = machine::host_environment(ASSAY_COMMIT, command_line);
  if (on_device) { where.device = device_in_words(on::device{given.device}); }
  std::vector<measure::dispatch_study> all;
  std::vector<std::string> failures;  // a task that fails leaves the results of the others
  std::exception_ptr latest;
  each_task([&]<class T>(std::type_identity<T>) {
    if (std::ranges::count(given.tasks, T::name) == 0) { return; }
    try {
      all.push_back(study<T>(given, on_device));
    } catch (std::exception const& cause) {
      latest = std::current_exception();
      failures.push_back(std::string{T::name} + " failed: " + cause.what());
    }
  });
  if (all.empty()) { std::rethrow_exception(latest); }

  report::document json{{"schema", "assay.dispatch.1"},
                        {"where", report::to_json(where)},
                        {"blas", examples::host_blas::in_words()},
                        {"seed", given.seed},
                        {"failures", failures}};
  std::ostringstream text;
  text << (on_device ? where.device + "\n" : "") << where.host_cpu << ", " << where.host_threads
       << " threads; seed " << given.seed << "\nBLAS: " << examples::host_blas::in_words() << '\n';
  bool wrong = false;
  for (auto const& each : all) {
    text << '\n' << each.of.task() << '\n';
    report::crossovers(text, each);
    report::offload_thresholds(text, each);
    report::regrets(text, each);
    report::prediction_errors(text, each);
    json["tasks"].push_back(report::to_json(each));
    for (auto const& path : each.of.paths()) { wrong = wrong || !path.wrong.empty(); }
    if (given.csv.empty()) { continue; }
    std::ostringstream rows;
    report::csv::timed_calls(rows, each);
    write_atomically(cli::beside(given.csv, each.of.task()), rows.str());
  }
  if (all.size() > 1) {
    text << "\nall tasks\n";
    report::totals(text, all);
  }
  if (!given.json.empty()) { write_atomically(given.json, json.dump(1) + '\n'); }
  if (!given.svg.empty()) { write_atomically(given.svg, report::crossover_svg(all)); }
  if (!given.quiet) { std::cout << text.str(); }
  for (auto const& each : failures) { std::cerr << "error: " << each << '\n'; }
  if (wrong) { return cli::wrong_answer; }
  return failures.empty() ? cli::ok : cli::failed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Does a GPU pay, from which size on, and for data in which memory?"};
  examples::dispatch_options const options{app, names(true), names(false)};
  return cli::guarded(
      app, argc, argv, [&] { return run(options.read(), machine::command_line(argc, argv)); },
      std::cout, std::cerr);
}
