// SPDX-License-Identifier: Apache-2.0
// Which bounce buffers carry pageable memory fastest: how many threads, how large? One direction at
// a time over every choice, beside its limits (the pinned link, a copy on the host by as many
// threads) and the driver's own staging.
// Predicts: as many threads as the memory needs, and buffers that fit the caches.

#include "support/link_ceilings.hpp"
#include "support/result.hpp"
#include "support/transfer_trial.hpp"

#include <assay/core/units.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/pool/pool.hpp>
#include <assay/stats/summary.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace assay;
using namespace assay::literals;
using benchmark::probe_memory;

/// Nothing to compute: the job is its copies.
struct nothing {
  void operator()(::cuda::stream_ref, transfer::chunk const&) const {}
};

struct bench {
  on::device place;
  std::size_t bytes;
  probe_memory pageable{probe_memory::kind::pageable, bytes};
  probe_memory locked{probe_memory::kind::page_locked, bytes};
  benchmark::transfer_trial trial{place, bytes + 1_MiB};
  mr::pool_resource memory = mr::pool{bytes + 64_MiB}.open(place);

  transfer::job<nothing> job(probe_memory const& of, bool to_device) const {
    transfer::job<nothing> made;
    made.elements = static_cast<std::int64_t>(bytes);
    if (to_device) { made.inputs.push_back({of.get(), 1}); }
    if (!to_device) { made.outputs.push_back({of.get(), 1}); }
    return made;
  }

  /// Bytes per second on the wall, the median of some runs after one.
  template <class Policy>
  double rate(Policy const& how, probe_memory const& of, bool to_device, int repetitions) {
    auto engine = how.open(place, memory);
    std::vector<double> seconds;
    for (int i = 0; i < repetitions + 1; ++i) {
      auto const once = trial.run(engine, job(of, to_device)).wall;
      if (i > 0) { seconds.push_back(once); }
    }
    return static_cast<double>(bytes) / stats::summarise(seconds).median;
  }
};

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(argc, argv, "staging", [](auto const& chosen, report::document& figures) {
    bench with{chosen.place, chosen.quick ? 64_MiB : 256_MiB};
    int const repetitions = chosen.quick ? 2 : 5;
    for (bool const to_device : {true, false}) {
      std::string const way = to_device ? "to_device" : "to_host";
      auto const plain = with.rate(transfer::pageable{}, with.pageable, to_device, repetitions);
      auto const link = with.rate(transfer::pinned{}, with.locked, to_device, repetitions);
      std::printf("%s: pageable %.1f GB/s, pinned %.1f GB/s\n", way.c_str(), plain * 1e-9,
                  link * 1e-9);
      for (int const threads : {4, 8, 12, 16}) {
        if (threads > host::all_threads()) { continue; }
        auto* const to = to_device ? with.locked.get() : with.pageable.get();
        auto const* const from = to_device ? with.pageable.get() : with.locked.get();
        std::vector<double> copies;
        for (int i = 0; i < repetitions; ++i) {
          copies.push_back(benchmark::host_seconds(
              [&] { benchmark::parallel_copy(threads, to, from, with.bytes); }));
        }
        auto const host = static_cast<double>(with.bytes) / stats::summarise(copies).median;
        for (std::size_t const buffer : {256_KiB, 1_MiB, 4_MiB}) {
          transfer::staged const how{threads, buffer};
          auto const rate = with.rate(how, with.pageable, to_device, repetitions);
          figures["rows"].push_back(report::document{{"direction", way},
                                                     {"threads", threads},
                                                     {"buffer_bytes", buffer},
                                                     {"bytes", with.bytes},
                                                     {"bytes_per_second", rate},
                                                     {"pageable_bytes_per_second", plain},
                                                     {"pinned_bytes_per_second", link},
                                                     {"host_copy_bytes_per_second", host}});
          std::printf(
              "  %2d threads, %4zu KiB: %5.1f GB/s, %5.1f %% of the limit (host copy %.1f), %.2fx "
              "pageable\n",
              threads, buffer >> 10U, rate * 1e-9, 100 * rate / std::min(link, host), host * 1e-9,
              rate / plain);
          std::fflush(stdout);
        }
      }
    }
  });
}
