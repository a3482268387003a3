// SPDX-License-Identifier: Apache-2.0
// How often does a comparison of an all-reduce with itself find a difference? The engines run the
// same code between two GPUs, or between two ranks that share one. They are made anew for each
// epoch, as experiments do, or kept from the first epoch to the last, each behind other memory.
// Predicts: at most 5 % of the comparisons with renewed engines, most of those with kept engines.
// Found on one H200: kept engines of two_shot differed in a quarter of the comparisons, by up to
// 1.7 %. Those of ll_push, which was removed later, differed in two thirds. At the same addresses
// in every comparison, two_shot differed in 5 of 100. FIFO algorithms are left out: with all SMs
// taken twice over, their epochs scatter so much that a verdict takes 3.4 s.

#include "support/result.hpp"
#include "support/trials.hpp"

#include "../examples/ranks/reduction_work.cuh"

#include <assay/measure/compare_variants.hpp>
#include <assay/measure/factorial.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace assay;
using namespace assay::benchmark;

using engine_type = examples::sum_function;

/// An operation that is compared with itself.
struct reduction_case {
  comm::algorithm how;
  std::size_t bytes;
  int operations;  ///< of one launch, which is to take some hundred microseconds
};

/// The lifetime of compared engines: kept through all epochs, or renewed for each.
enum class lifetime { kept, renewed };

class self_comparison {
 public:
  self_comparison(comm::peers const& peers, reduction_case const& what)
      : peers_(peers), what_(what), watch_(examples::watch_of(peers)) {
    options_.how = what.how;
  }

  report::document compare_often(lifetime engines, int trials) {
    auto const name =
        std::string{to_string(what_.how)} + (engines == lifetime::kept ? ", kept" : ", renewed");
    std::vector<trial> all;
    for (int i = 0; i < trials; ++i) {
      all.push_back(compare(engines));
      if ((i + 1) % 20 == 0) {
        std::fprintf(stderr, "%s: %d of %d\n", name.c_str(), i + 1, trials);
      }
    }
    return false_alarms_of(name, all);
  }

  std::string describe() const { return comm::all_reduce{peers_, options_}.describe(); }

 private:
  trial compare(lifetime engines) {
    examples::epoch_arrays arrays{peers_, what_.bytes / sizeof(float)};
    std::vector<std::string> const labels{"control", "variant"};
    std::vector<measure::variant> variants;
    for (auto const& label : labels) {
      std::function<engine_type()> engine_of_epoch = [this] { return engine(); };
      if (engines == lifetime::kept) {
        engine_of_epoch = [one = engine_somewhere()] { return one; };
      }
      variants.push_back(
          {label, {{"engine", label}}, [this, &arrays, engine_of_epoch](measure::epoch const& now) {
             return std::make_unique<examples::collective_subject>(
                 arrays.work(engine_of_epoch(), what_.operations, now));
           }});
    }
    measure::options chosen;
    chosen.clock = measure::clock::gpu;
    return trial_of(measure::compare_variants(variants, measure::against_first(labels),
                                              measure::watched(chosen, watch_)));
  }

  engine_type engine() const {
    return examples::engine_function<copy::regular<>>(peers_, options_);
  }

  /// An engine behind up to 64 MiB of other memory, which lives as long as the engine.
  engine_type engine_somewhere() {
    auto const before =
        std::make_shared<examples::rank_memory>(peers_.devices(), 1 + random_() % (64U << 20U));
    return [before, here = engine()](auto&&... operation) {
      here(std::forward<decltype(operation)>(operation)...);
    };
  }

  comm::peers const& peers_;
  reduction_case what_;
  comm::all_reduce_options options_;
  measure::environment_watch watch_;
  std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  // Ranks that share a device wait for each other's kernels, which must not queue behind them.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  return benchmark::run(
      argc, argv, "collective_false_alarms",
      [](benchmark::options const& chosen, report::document& figures) {
        auto const peers =
            device_count() > 1 ? comm::peers::first(2) : comm::peers::on_one(chosen.place, 2);
        constexpr reduction_case cases[] = {
            {comm::algorithm::two_shot, std::size_t{1} << 20U, 20},
            {comm::algorithm::lamport_push, std::size_t{16} << 10U, 40}};
        for (auto const& each : cases) {
          self_comparison itself{peers, each};
          auto& found = figures[std::string{to_string(each.how)}];
          found["engine"] = itself.describe();
          found["bytes"] = each.bytes;
          found["kept"] = itself.compare_often(lifetime::kept, chosen.quick ? 3 : 50);
          chosen.save(figures);
          found["renewed"] = itself.compare_often(lifetime::renewed, chosen.quick ? 3 : 200);
          chosen.save(figures);
        }
      });
}
