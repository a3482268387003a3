// SPDX-License-Identifier: Apache-2.0
// How often does a comparison of an all-reduce with itself say "different"? Two engines of the same
// code between two GPUs, or two ranks that share one: both made anew for each epoch, as experiments
// have them, and, to show why, both kept from the first epoch to the last.
// Predicts: of renewed ones at most 5 % of the comparisons; of kept ones most, as engines of the
// same code differ by 1 to 2 % with where their memory lies.

#include "support/result.hpp"
#include "support/trials.hpp"

#include "../examples/support/strategy_variants.cuh"

#include <assay/measure/factorial.hpp>
#include <assay/measure/procedure.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace assay;
using namespace assay::benchmark;

constexpr std::size_t bytes = std::size_t{1} << 20U;
constexpr int operations = 20;  ///< of one launch
using engine_type = examples::enqueue_function<float>;

class self_comparison {
 public:
  explicit self_comparison(comm::peers const& peers)
      : peers_(peers), team_(peers.devices()), watch_(examples::watch_of(peers)) {
    options_.how = comm::algorithm::two_shot;
  }

  std::string describe() const { return comm::all_reduce{peers_, options_}.describe(); }

  /// With `kept`, each variant has one engine for all epochs.
  trial compare(bool kept) {
    examples::epoch_arrays arrays{team_, bytes / sizeof(float)};
    std::vector<std::string> const labels{"control", "variant"};
    std::vector<measure::variant> variants;
    for (auto const& label : labels) {
      std::function<engine_type()> make = [this] { return engine(); };
      if (kept) {
        make = [one = engine()] { return one; };
      }
      variants.push_back(measure::collective_variant(
          label, {{"engine", label}}, [this, &arrays, make](measure::epoch const& now) {
            return examples::work_of(make(), peers_, operations, bytes / sizeof(float),
                                     arrays.of(now));
          }));
    }
    measure::options chosen;
    chosen.primary = measure::clock::gpu;
    return trial_of(
        measure::run(variants, measure::against_first(labels), measure::watched(chosen, watch_)));
  }

  report::document compare_often(std::string const& name, int trials, bool kept) {
    std::vector<trial> all;
    for (int i = 0; i < trials; ++i) {
      all.push_back(compare(kept));
      if ((i + 1) % 20 == 0) {
        std::fprintf(stderr, "%s: %d of %d\n", name.c_str(), i + 1, trials);
      }
    }
    return false_alarms_of(name, all);
  }

 private:
  engine_type engine() const {
    return examples::engine_function<copy::regular<>>(peers_, options_);
  }

  comm::peers const& peers_;
  comm::all_reduce_options options_;
  comm::rank_team team_;
  measure::environment_watch watch_;
};

}  // namespace

int main(int argc, char** argv) {
  // Ranks that share a device wait for each other's kernels, which must not queue behind them.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  return benchmark::run(
      argc, argv, "collective_false_alarms", [](options const& chosen, report::document& figures) {
        auto const peers =
            device_count() > 1 ? comm::peers::first(2) : comm::peers::on_one(chosen.place, 2);
        self_comparison both{peers};
        figures["engine"] = both.describe();
        figures["bytes"] = bytes;
        figures["kept"] = both.compare_often("kept", chosen.quick ? 3 : 100, true);
        chosen.save(figures);
        figures["renewed"] = both.compare_often("renewed", chosen.quick ? 5 : 500, false);
      });
}
