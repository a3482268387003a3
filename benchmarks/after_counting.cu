// SPDX-License-Identifier: Apache-2.0
// assay-uses: cupti
// Are batches slower after hardware counters were read in the process, and until when? Batches of
// null_cast from a pool, by four threads, before and after each step: batches of another allocator,
// a trace, CUPTI's profiler interface, counting, the interface's end, and counting again.
// Predicts: batches take longer while the interface is initialised, and as long as before once it
// is not.

#include "support/result.hpp"

#include <assay/core/units.hpp>
#include <assay/cupti/counters.hpp>
#include <assay/cupti/recorder.hpp>
#include <assay/cupti/variant_runs.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/memory/async.hpp>
#include <assay/pool/pool.hpp>
#include <assay/stats/summary.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/null_cast.cuh>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace assay;
using namespace assay::literals;

double seconds_of(std::function<void()> const& what) {
  auto const begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Times batches of one variant between the steps.
class steps {
 public:
  steps(trace::variant_runs runs, int batches, report::document& figures)
      : runs_(std::move(runs)), batches_(batches), figures_(figures), kept_(runs_.open()) {
    figures_["steps"] = report::document::array();
    std::printf("%-50s %10s %14s %14s\n", "after", "step, ms", "batch, ms", "opened anew");
  }

  /// Does a step, then times batches of what has been open all the time, and of what opens now.
  void after(std::string const& name, std::function<void()> const& what) {
    auto const step = seconds_of(what);
    auto const open = median(kept_);
    auto const anew = median(runs_.open());
    figures_["steps"].push_back(
        {{"after", name}, {"step_s", step}, {"batch_s", open}, {"opened_anew_s", anew}});
    std::printf("%-50s %10.1f %14.3f %14.3f\n", name.c_str(), step * 1e3, open * 1e3, anew * 1e3);
    std::fflush(stdout);
  }

  void trace_one() {
    (void)trace::record_warm({}, [&] { (void)kept_(); });
  }
  void count_batch() const { count(kept_, trace::counter_scope::range); }
  void count_kernels() const { count(runs_.open_item(), trace::counter_scope::kernel); }
  void count(std::function<double()> const& run, trace::counter_scope scope) const {
    trace::counters reader{{.place = runs_.device, .scope = scope}};
    auto const got = reader.measure([&] { (void)run(); });
    if (!got.status) { throw std::runtime_error(got.status.line()); }
  }

 private:
  double median(std::function<double()> const& run) const {
    std::vector<double> seconds;
    constexpr int warm_up = 2;
    for (int i = 0; i < warm_up; ++i) { (void)run(); }
    for (int i = 0; i < batches_; ++i) { seconds.push_back(run()); }
    return stats::summarise(seconds).median;
  }

  trace::variant_runs runs_;
  int batches_;
  report::document& figures_;
  std::function<double()> kept_;
};

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(
      argc, argv, "after_counting",
      [](benchmark::options const& chosen, report::document& figures) {
        pipeline const pooled{workloads::null_cast<std::int32_t>{.rows = 100'000}, mr::pool{1_GiB},
                              submit::concurrent{.threads = 4, .items = 100}, chosen.place};
        steps all{trace::runs_of(pooled, "mr::pool"), chosen.quick ? 5 : 41, figures};
        std::optional<trace::profiler_hold> hold;
        auto const begin = [&] { hold.emplace(trace::cupti_api::load()); };
        auto const end = [&] { hold.reset(); };
        all.after("nothing", [] {});
        all.after("nothing, once more", [] {});
        auto const other = trace::runs_of(pooled.with(mr::async{}), "mr::async");
        all.after("batches of mr::async", [&] {
          auto const run = other.open();
          for (int i = 0; i < 3; ++i) { (void)run(); }
        });
        all.after("a trace", [&] { all.trace_one(); });
        all.after("profiler interface initialised", begin);
        all.after("a batch counted, interface kept", [&] { all.count_batch(); });
        all.after("its kernels counted, interface kept", [&] { all.count_kernels(); });
        all.after("a batch of mr::async counted, interface kept",
                  [&] { all.count(other.open(), trace::counter_scope::range); });
        all.after("a trace, interface kept", [&] { all.trace_one(); });
        all.after("interface deinitialised", end);
        all.after("a batch counted, and deinitialised", [&] { all.count_batch(); });
        all.after("its kernels counted, and deinitialised", [&] { all.count_kernels(); });
        all.after("a batch of mr::async counted, and deinitialised",
                  [&] { all.count(other.open(), trace::counter_scope::range); });
        all.after("profiler interface initialised again", begin);
        all.after("a batch counted, interface kept again", [&] { all.count_batch(); });
        all.after("interface deinitialised again", end);
        all.after("a trace again", [&] { all.trace_one(); });
      });
}
