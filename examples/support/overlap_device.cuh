// SPDX-License-Identifier: Apache-2.0
/// @file
/// The device half of the overlap experiment: ceilings, every transfer at every size, the sweep,
/// and verdicts between neighbours.
#pragma once

#include "explaining.hpp"
#include "link_stamps.hpp"
#include "overlap.hpp"
#include "overlap_files.hpp"
#include "overlap_timeline.hpp"

#include <assay/machine/link_ceilings.hpp>
#include <assay/machine/transfer_trial.hpp>
#include <assay/measure/experiment.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/memory/pool.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/overlapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>
#include <assay/workload/iterated_map.cuh>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::examples {

/// Calls `visit` with each transfer that the experiment is about.
template <class Visit>
void each_transfer(Visit const& visit) {
  visit(transfer::overlapped{});
  visit(transfer::pinned{});
  visit(transfer::mapped{});
  visit(transfer::staged{});
  visit(transfer::pageable{});
}

/// Host arrays of either kind, instruments and device memory for all sizes: made once.
class overlap_bench {
 public:
  using work_type = workloads::iterated_map<float>;

  overlap_bench(on::device place, overlap_parameters const& given)
      : place_(place),
        given_(given),
        locked_in_(most(given), transfer::host_memory::page_locked),
        locked_out_(most(given), transfer::host_memory::page_locked),
        pageable_in_(most(given), transfer::host_memory::pageable),
        pageable_out_(most(given), transfer::host_memory::pageable),
        trial_(place, 2 * given.max_bytes() + (std::size_t{1} << 20U)),
        memory_(mr::pool{2 * given.max_bytes() + (std::size_t{64} << 20U)}.open(place)),
        chunk_seconds_(transfer::link_costs_of(place).copy_overhead_seconds) {
    work_type source;
    source.elements = static_cast<std::int64_t>(most(given));
    for (auto const* each : {&locked_in_, &pageable_in_}) {
      workloads::fill_input(source, 0, each->get());
    }
    for (auto const* each : {&locked_out_, &pageable_out_}) {  // touches the pages
      workloads::poison_elements(each->get(), source.elements);
    }
  }

  /// Every transfer at one size, measured in turn.
  std::vector<overlap_row> rows(std::size_t bytes) {
    std::vector<contender> all;
    each_transfer([&](auto const& how) { all.push_back(make(how, bytes)); });
    std::vector<machine::transfer_bound> bounds;
    for (int i = 0; i < given_.repetitions; ++i) {
      for (auto& each : all) { each.seconds.push_back(each.run()); }
      bounds.push_back(trial_.bound(job(bytes, transfer::host_memory::page_locked)));
    }
    auto const bound = machine::median_of(bounds);
    std::vector<overlap_row> rows;
    for (auto& each : all) {
      auto const time = stats::summarise(each.seconds);
      auto row = each.row();
      row.bytes = static_cast<double>(bytes);
      row.seconds = time.median;
      row.min_seconds = time.min;
      row.max_seconds = time.max;
      row.link_seconds = bound.link_seconds;
      row.kernel_seconds = bound.kernel_seconds;
      row.serial_seconds = bound.serial_seconds();
      row.chunk_seconds = chunk_seconds_;
      rows.push_back(std::move(row));
    }
    return rows;
  }

  /// Why there is no timeline beside the events; empty where there is.
  std::string const& no_timeline() const noexcept { return no_timeline_; }

  /// Every choice of chunks and streams at one size.
  std::vector<sweep_cell> sweep(std::size_t bytes) {
    auto const what = job(bytes, transfer::host_memory::page_locked);
    std::vector<sweep_cell> cells;
    std::vector<double> bounds;
    for (int chunks = 1; chunks <= 256; chunks *= 2) {
      for (int const streams : {1, 2, 3, 4, 6}) {
        if (streams > chunks) { continue; }
        transfer::overlapped const how{.chunks = chunks, .streams = streams};
        auto engine = how.open(place_, memory_);
        (void)trial_.run(engine, what);
        std::vector<double> seconds;
        for (int i = 0; i < given_.repetitions; ++i) {
          seconds.push_back(trial_.run(engine, what).gpu);
        }
        bounds.push_back(trial_.bound(what).seconds());
        cells.push_back(
            {static_cast<double>(bytes), chunks, streams, stats::summarise(seconds).median, 0});
      }
    }
    auto const bound = stats::summarise(bounds).median;
    for (auto& each : cells) { each.bound_seconds = bound; }
    return cells;
  }

 private:
  struct contender {
    std::function<double()> run;       ///< once; seconds
    std::function<overlap_row()> row;  ///< all but the times
    std::vector<double> seconds;
  };

  static std::size_t most(overlap_parameters const& given) {
    return given.max_bytes() / sizeof(float);
  }

  work_type work(std::size_t bytes, transfer::host_memory kind) const {
    auto const elements = static_cast<std::int64_t>(bytes / sizeof(float));
    bool const locked = kind == transfer::host_memory::page_locked;
    auto const& in = locked ? locked_in_ : pageable_in_;
    auto const& out = locked ? locked_out_ : pageable_out_;
    work_type made;
    made.flops_per_element = given_.flops;
    made.data = workloads::arrays_view<float, 1>{{in.get()}, elements, out.get()};
    return made;
  }
  transfer::job<workloads::element_compute<work_type>> job(std::size_t bytes,
                                                           transfer::host_memory kind) const {
    auto const what = work(bytes, kind);
    return workloads::job_of(what, place_, what.data->inputs, what.data->output);
  }

  /// Opens a transfer and checks its result.
  template <class Policy>
  contender make(Policy const& how, std::size_t bytes) {
    auto engine = std::make_shared<decltype(how.open(place_, memory_))>(how.open(place_, memory_));
    auto const what = job(bytes, Policy::wants);
    auto const checked = work(bytes, Policy::wants);
    auto* const out = checked.data->output;
    workloads::poison_elements(out, checked.count());
    (void)trial_.run(*engine, what);
    if (auto const wrong = workloads::check_elements(checked, out, 0, checked.count())) {
      throw std::runtime_error(describe(how) + " computed a wrong answer: " + *wrong);
    }
    constexpr bool picks = std::is_same_v<Policy, transfer::overlapped>;
    return {[this, engine, what] { return trial_.run(*engine, what).gpu; },
            [this, engine, what, how] {
              overlap_row row;
              row.transfer = std::string{Policy::name};
              measure_overlap(row, how, what);
              if constexpr (picks) {
                row.chunks = engine->plan().chunks.size();
                row.predicted_seconds = engine->plan().seconds;
                row.why = engine->plan().why;
              }
              return row;
            },
            {}};
  }

  /// The overlap fraction into `row`, from events in runs of their own, and from the timeline of
  /// one of these where there is one; nothing where nothing is copied.
  template <class Policy, class Job>
  void measure_overlap(overlap_row& row, Policy const& how, Job const& what) {
    if constexpr (!std::is_same_v<Policy, transfer::mapped>) {
      trace::link_stamps stamps{place_};
      auto engine = trace::open_stamped(how, place_, memory_, stamps);
      auto const marked = trace::stamped(what, stamps);
      auto const once = [&] {
        stamps.restart(trial_.where());
        (void)trial_.run(engine, marked);
      };
      once();
      row.overlap = trace::overlap_of(stamps.spans()).fraction();
      auto const seen = timeline_of(stamps, trial_.where(), place_.id, once);
      if (!seen.found) {
        no_timeline_ = seen.why;
        return;
      }
      row.timeline_overlap = seen.by_trace.fraction();
      row.traced_overlap = seen.by_events.fraction();
    }
  }

  on::device place_;
  overlap_parameters const& given_;
  workloads::host_array<float> locked_in_, locked_out_, pageable_in_, pageable_out_;
  machine::transfer_trial trial_;
  mr::pool_resource memory_;
  double chunk_seconds_;
  std::string no_timeline_;
};

/// Verdicts: each transfer against the next faster one, as pipelines of the same workload. A batch
/// is one job: a hundred of those that pin or pass pageable memory would take minutes.
inline measure::comparison compare_neighbours(on::device place, overlap_parameters const& given,
                                              cli::options const& chosen,
                                              cli::explaining const& explain,
                                              std::vector<overlap_row> const& rows) {
  struct entrant {
    double seconds = 0;
    std::string label;
    std::function<void(measure::experiment&, cli::explaining::variant_list&)> add;
  };
  std::vector<entrant> entrants;
  each_transfer([&](auto const& how) {
    auto const elements = static_cast<std::int64_t>(given.compare_bytes() / sizeof(float));
    pipeline const made{
        workloads::iterated_map<float>{.elements = elements, .flops_per_element = given.flops},
        place, mr::pool{2 * given.compare_bytes() + (std::size_t{64} << 20U)}, how,
        submit::sequential{.items = 1}};
    auto const label = std::string{how.name};
    auto const row = std::find_if(rows.begin(), rows.end(), [&](overlap_row const& each) {
      return each.transfer == label &&
             each.bytes >= static_cast<double>(std::min(given.compare_bytes(), given.max_bytes()));
    });
    entrants.push_back(
        {row == rows.end() ? 0 : row->seconds, label, [made, label](auto& all, auto& traced) {
           all.add(made, label);
           traced.add(made, label);
         }});
  });
  std::sort(entrants.begin(), entrants.end(),
            [](entrant const& a, entrant const& b) { return a.seconds < b.seconds; });
  measure::experiment all;
  auto traced = explain.variants();
  std::vector<measure::contrast> contrasts;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    entrants[i].add(all, traced);
    if (i == 0) { continue; }
    measure::contrast one{entrants[i].label + " against " + entrants[i - 1].label,
                          measure::contrast::kind::difference,
                          std::vector<double>(entrants.size(), 0.0)};
    one.weights[i - 1] = -1;
    one.weights[i] = 1;
    contrasts.push_back(std::move(one));
  }
  auto options = chosen.measuring();
  options.title = "How shall " + report::byte_size(static_cast<double>(given.compare_bytes())) +
                  " cross the link each way? Each transfer against the next faster one";
  auto found = all.run(contrasts, options);
  for (std::size_t i = 1; i < entrants.size(); ++i) { traced.explain(chosen, found, i - 1, i); }
  return found;
}

/// The findings in the rows and in the sweep, as answers of the report.
inline std::vector<measure::answer> overlap_answers(overlap_findings const& found) {
  measure::answer shares{"How near does transfer::overlapped come to the bound?", {}};
  measure::answer picks{"What was picked, and what would have been the best?", {}};
  for (auto const& row : found.rows) {
    if (row.transfer != transfer::overlapped::name) { continue; }
    shares.lines.push_back(report::byte_size(row.bytes) +
                           " each way: " + report::percent(row.share(), 1) + " of the bound (" +
                           report::duration(row.seconds) + "), overlap " +
                           report::percent(row.overlap, 0) + "; what limits it: " + limit_of(row));
    auto const* const best = best_cell(found.sweep, row.bytes);
    if (best == nullptr) { continue; }
    picks.lines.push_back(report::byte_size(row.bytes) + " each way: " + row.why);
    picks.lines.push_back("The fastest of the sweep: " + std::to_string(best->chunks) +
                          " chunks, " + std::to_string(best->streams) + " streams, " +
                          report::duration(best->seconds) +
                          "; picked: " + report::duration(row.seconds));
  }
  return {shares,
          picks,
          overlap_agreement(found.rows, found.no_timeline),
          {"From what size on does what pay for pageable memory?",
           break_even_lines(found.rows, found.pin)}};
}

/// Runs the whole experiment on a device.
inline std::optional<measure::comparison> overlap_on_device(overlap_parameters const& given,
                                                            cli::options const& chosen,
                                                            cli::explaining const& explain) {
  if (chosen.list) {
    each_transfer([](auto const& how) { std::cout << how.name << '\n'; });
    return {};
  }
  for (auto const& path : overlap_outputs(chosen)) { assay::require_writable(path); }
  on::device const place{chosen.device};
  require_device(place);
  check(cudaSetDevice(place.id));
  auto const say = [&](int step, int of, std::string const& what) {
    if (chosen.progress) { (*chosen.progress)(step, of, what); }
  };
  machine::link_options link;
  link.bytes = std::min(link.bytes, given.max_bytes());
  link.repetitions = given.repetitions;
  link.progress = [&](std::string_view what) { say(0, 1, "ceilings: " + std::string{what}); };
  auto const ceilings = machine::link_ceilings_of(place, link);
  overlap_findings found;
  found.ceilings = ceilings;
  found.pin = {ceilings.register_seconds_per_gib + ceilings.unregister_seconds_per_gib,
               ceilings.allocate_seconds_per_gib + ceilings.free_seconds_per_gib};
  if (!chosen.quiet) { print_ceilings(std::cout, ceilings); }
  {
    say(0, 1, "host buffers");
    overlap_bench bench{place, given};
    auto const sizes = given.sizes();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      say(static_cast<int>(i), static_cast<int>(sizes.size()),
          "every transfer, " + report::byte_size(static_cast<double>(sizes[i])) + " each way");
      auto rows = bench.rows(sizes[i]);
      found.rows.insert(found.rows.end(), rows.begin(), rows.end());
    }
    found.no_timeline = bench.no_timeline();
    for (auto const bytes : given.sweep_bytes()) {
      say(0, 1, "chunks x streams, " + report::byte_size(static_cast<double>(bytes)));
      auto cells = bench.sweep(bytes);
      found.sweep.insert(found.sweep.end(), cells.begin(), cells.end());
    }
  }
  if (!chosen.quiet) {
    print_rows(std::cout, found.rows);
    for (auto const bytes : given.sweep_bytes()) {
      std::cout << "\nShare of the bound by chunks and streams, "
                << report::byte_size(static_cast<double>(bytes)) << " each way\n";
      print_sweep(std::cout, found.sweep, static_cast<double>(bytes));
    }
    std::cout << '\n';
  }
  write_overlap(chosen, found);
  auto result = compare_neighbours(place, given, chosen, explain, found.rows);
  result.answers = overlap_answers(found);
  return result;
}

}  // namespace assay::examples
