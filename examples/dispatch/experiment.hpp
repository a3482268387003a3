// SPDX-License-Identifier: Apache-2.0
/// @file
/// `dispatch_experiment`: the program that measures tasks on the host and on a device, and reports
/// crossovers and regrets. Needs the CUDA toolkit, CLI11 and nlohmann_json.
#pragma once

#include "../offload/dispatch_page.hpp"
#include "../offload/study.hpp"
#include "../offload/study_json.hpp"
#include "../offload/study_text.hpp"
#include "options.hpp"
#include "product_shape.hpp"

#include <assay/arrays/setup.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/cli/outputs.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/core/device.hpp>
#include <assay/dispatch/device.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/report/json.hpp>
#include <assay/report/table.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace assay::examples {

/// A task that the experiment can make at any size. A peer runs only if it is named. With
/// `--quick` sizes end at `largest_quick`. A task that not all host places serve has a function
/// `serves(on::host)`.
template <class T>
concept experiment_task = dispatch::task<T> && requires(setup& arrays, std::size_t size) {
  { T::is_peer } -> std::convertible_to<bool>;
  { T::largest } -> std::convertible_to<std::size_t>;
  { T::largest_quick } -> std::convertible_to<std::size_t>;
  { T::facts_at(size, memory_type{}) } -> std::same_as<dispatch::facts>;
  { T::make(arrays, size) } -> std::same_as<T>;
};

/// A task with the edge of a square product as its size; it can be made in other shapes.
template <class T>
concept product_task = requires(setup& arrays, product_shape const& of) {
  { T::make_shape(arrays, of) } -> std::same_as<T>;
};

template <class Tasks>
struct dispatch_experiment;

/// The experiment for a list of tasks.
template <experiment_task... T>
struct dispatch_experiment<std::tuple<T...>> {
  std::string about;   ///< the first line of `--help`
  std::string commit;  ///< of the program
  std::string blas;    ///< the library of products, in words
  std::function<dispatch::traced_values(std::function<void()> const& call)> trace{};

  /// Reads the command line, runs, prints and writes. Returns the exit code.
  int main(int argc, char** argv) const {
    CLI::App app{about};
    dispatch_options const options{app, names(true), names(false)};
    return cli::guarded(
        app, argc, argv, [&] { return run(options.read(), machine::command_line(argc, argv)); },
        std::cout, std::cerr);
  }

  /// The names of all tasks, perhaps without peers.
  static std::vector<std::string> names(bool peers) {
    std::vector<std::string> all;
    ((peers || !T::is_peer ? all.emplace_back(T::name) : all.emplace_back()), ...);
    std::erase(all, std::string{});
    return all;
  }

 private:
  int run(dispatch_parameters const& given, std::string const& command_line) const {
    bool const on_device = !given.host && (given.device_named || device_count() > 0);
    if (!on_device && !given.host) { std::cerr << "no GPU: host paths alone are measured\n"; }
    if (on_device) { require_device(on::device{given.device}); }
    auto where = machine::host_environment(commit, command_line);
    if (on_device) { where.device = device_in_words(on::device{given.device}); }
    std::vector<dispatch_study> all;
    std::vector<std::string> failures;  // a task that fails leaves the results of the others
    std::exception_ptr latest;
    auto const attempt = [&]<class U>(std::type_identity<U>) {
      if (std::ranges::count(given.tasks, U::name) == 0) { return; }
      try {
        all.push_back(study<U>(given, on_device));
      } catch (std::exception const& cause) {
        latest = std::current_exception();
        failures.push_back(std::string{U::name} + " failed: " + cause.what());
      }
    };
    (attempt(std::type_identity<T>{}), ...);
    if (all.empty()) { std::rethrow_exception(latest); }
    write(given, where, all, failures);
    for (auto const& each : failures) { std::cerr << "error: " << each << '\n'; }
    for (auto const& each : all) {
      for (auto const& path : each.of.paths()) {
        if (!path.wrong.empty()) { return cli::wrong_answer; }
      }
    }
    return failures.empty() ? cli::ok : cli::failed;
  }

  template <class U>
  dispatch_study study(dispatch_parameters const& given, bool on_device) const {
    dispatch::size_range const sizes{
        1, std::min(given.largest, given.quick ? U::largest_quick : U::largest)};
    auto const paths = given.paths<U>(on_device);
    study_options<U> options{.calibrated = {.sizes = sizes,
                                            .budget_seconds = given.budget_seconds,
                                            .make = U::make,
                                            .seed = given.seed},
                             .facts_at = U::facts_at,
                             .calls = given.calls,
                             .training = given.training,
                             .bisects = given.bisects,
                             .traced = given.traced,
                             .trace = trace};
    if constexpr (product_task<U>) {
      options.sweep_to = std::min(given.sweep, sizes.last);
      options.make_other = [random = stats::random_source{given.seed}](setup& arrays,
                                                                       std::size_t edge) mutable {
        return U::make_shape(arrays, product_shape::drawn(edge, random));
      };
      if (on_device) {  // SCILIB-Accel, on all threads
        options.rules.push_back(
            {"cbrt(m n k) > 500", {501, paths[paths.size() - 2], paths.back()}});
      }
    }
    options.say = [&](std::string const& what) {
      if (!given.quiet) { std::cerr << U::name << ": " << what << std::endl; }
    };
    return study_dispatch<U>(paths, options);
  }

  void write(dispatch_parameters const& given, machine::environment const& where,
             std::vector<dispatch_study> const& all,
             std::vector<std::string> const& failures) const {
    report::document json{{"schema", "assay.dispatch.1"},
                          {"where", report::to_json(where)},
                          {"blas", blas},
                          {"seed", given.seed},
                          {"failures", failures}};
    std::ostringstream text;
    text << (where.device.empty() ? "" : where.device + "\n") << where.host_cpu << ", "
         << where.host_threads << " threads; seed " << given.seed << "\nBLAS: " << blas << '\n';
    for (auto const& each : all) {
      text << '\n' << each.of.task() << '\n';
      crossovers(text, each);
      offload_thresholds(text, each);
      regrets(text, each);
      prediction_errors(text, each);
      json["tasks"].push_back(to_json(each));
      if (given.csv.empty()) { continue; }
      std::ostringstream rows;
      csv::timed_calls(rows, each);
      write_atomically(cli::beside(given.csv, each.of.task()), rows.str());
    }
    if (all.size() > 1) {
      text << "\nall tasks\n";
      totals(text, all);
    }
    if (!given.json.empty()) { write_atomically(given.json, json.dump(1) + '\n'); }
    if (!given.html.empty()) { write_atomically(given.html, dispatch_page(json)); }
    if (!given.svg.empty()) { write_atomically(given.svg, crossover_svg(json)); }
    if (!given.quiet) {
      std::cout << (given.full
                        ? text.str()
                        : report::excerpt(text.str(), cli::screen_lines, "--full", {"all tasks"}));
    }
  }
};

}  // namespace assay::examples
