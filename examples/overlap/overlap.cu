// SPDX-License-Identifier: Apache-2.0
#include "../workloads/iterated_map.cuh"
#include "overlap.hpp"
#include "report.hpp"
#include "transfer_trial.hpp"

#include <assay/core/device.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/pool/pool.hpp>
#include <assay/report/format.hpp>
#include <assay/stats/summary.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace assay::examples {

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

/// Device memory for all sizes, made once, and host arrays of either kind for each size.
class bench {
 public:
  using work_type = workloads::iterated_map<float>;

  bench(overlap_parameters const& given, on::device place, cli::tracing const& by)
      : given_(given),
        place_(place),
        by_(by),
        trial_(place, 2 * given.max_bytes + mebibyte),
        memory_(mr::pool{2 * given.max_bytes + 64 * mebibyte}.open(place)),
        chunk_seconds_(transfer::link_costs_of(place).copy_overhead_seconds) {}

  /// Every transfer at one size, measured in turn.
  std::vector<overlap_row> rows(std::size_t bytes) {
    work_type const work{.elements = static_cast<std::int64_t>(bytes / sizeof(float)),
                         .flops_per_element = given_.flops};
    auto locked = host_arrays<transfer::host_memory::page_locked>(work);
    auto pageable = host_arrays<transfer::host_memory::pageable>(work);
    std::vector<contender> all;
    each_transfer([&]<class Policy>(Policy const& how) {
      constexpr bool is_locked = Policy::wants == transfer::host_memory::page_locked;
      all.push_back(make(how, work, is_locked ? locked : pageable));
    });
    std::vector<examples::transfer_bound> bounds;
    for (int i = 0; i < given_.repetitions; ++i) {
      for (auto& each : all) { each.seconds.push_back(each.run()); }
      bounds.push_back(trial_.bound(job(work, locked)));
    }
    auto const bound = examples::median_of(bounds);
    std::vector<overlap_row> rows;
    for (auto& each : all) {
      auto row = each.row();
      row.bytes = static_cast<double>(bytes);
      row.seconds = stats::summarise(each.seconds).median;
      row.link_seconds = bound.link_seconds;
      row.kernel_seconds = bound.kernel_seconds;
      row.serial_seconds = bound.serial_seconds();
      row.chunk_seconds = chunk_seconds_;
      if (by_.record != nullptr) {
        row.overlap = overlap_share(by_.record([&] { each.run(); }), place_.id);
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  struct contender {
    std::function<double()> run;       ///< once; seconds
    std::function<overlap_row()> row;  ///< all but the times
    std::vector<double> seconds;
  };

  using arrays_type = workloads::prepared<on::device, work_type>;

  /// An input and an output in host memory of one kind.
  template <transfer::host_memory Kind>
  arrays_type host_arrays(work_type const& work) const {
    return {place_, work, 1, std::make_shared<workloads::link_array_store<Kind>>()};
  }

  transfer::job<workloads::element_compute<work_type>> job(work_type const& work,
                                                           arrays_type const& with) const {
    return workloads::job_of(work, place_, with.arrays(0).inputs, with.arrays(0).output);
  }

  /// Opens a transfer and checks its result.
  template <class Policy>
  contender make(Policy const& how, work_type const& work, arrays_type& with) {
    auto engine = std::make_shared<decltype(how.open(place_, memory_))>(how.open(place_, memory_));
    auto const what = job(work, with);
    with.poison();
    (void)trial_.run(*engine, what);
    if (auto const wrong = with.verify()) {
      throw std::runtime_error(describe(how) + " computed a wrong answer: " + *wrong);
    }
    return {[this, engine, what] { return trial_.run(*engine, what).gpu; },
            [engine] {
              overlap_row row;
              row.transfer = std::string{Policy::name};
              if constexpr (std::is_same_v<Policy, transfer::overlapped>) {
                row.chunks = engine->plan().chunks.size();
                row.why = engine->plan().why;
              }
              return row;
            },
            {}};
  }

  overlap_parameters const& given_;
  on::device place_;
  cli::tracing by_;
  examples::transfer_trial trial_;
  mr::pool_resource memory_;
  double chunk_seconds_;
};

}  // namespace

std::vector<overlap_row> overlap_rows(overlap_parameters const& given, on::device place,
                                      cli::tracing const& by, cli::options const& chosen) {
  check(cudaSetDevice(place.id));
  bench all{given, place, by};
  std::vector<overlap_row> rows;
  for (std::size_t bytes = mebibyte; bytes <= given.max_bytes; bytes *= 2) {
    chosen.say(0, 1, "every transfer, " + report::byte_size(static_cast<double>(bytes)));
    auto more = all.rows(bytes);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

cli::variants overlap_variants(overlap_parameters const& given, on::device place,
                               std::vector<overlap_row> const& rows) {
  struct entrant {
    double seconds = 0;
    std::function<void(cli::variants&)> add;
  };
  std::vector<entrant> entrants;
  workloads::iterated_map<float> const work{
      .elements = static_cast<std::int64_t>(given.compare_bytes / sizeof(float)),
      .flops_per_element = given.flops};
  auto const least = static_cast<double>(std::min(given.compare_bytes, given.max_bytes));
  each_transfer([&](auto const& how) {
    pipeline const made{work, place, mr::pool{2 * given.compare_bytes + 64 * mebibyte}, how,
                        submit::sequential{.items = 1}};
    auto const row = std::find_if(rows.begin(), rows.end(), [&](overlap_row const& each) {
      return each.transfer == how.name && each.bytes >= least;
    });
    entrants.push_back(
        {row == rows.end() ? 0 : row->seconds,
         [made, name = std::string{how.name}](cli::variants& to) { to.add(made, name); }});
  });
  std::ranges::sort(entrants, {}, &entrant::seconds);
  cli::variants all;
  for (auto const& each : entrants) { each.add(all); }
  return all;
}

}  // namespace assay::examples
