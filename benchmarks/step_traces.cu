// SPDX-License-Identifier: Apache-2.0
// assay-uses: cupti
// Can traces of separate runs be trusted step by step? Pairs of equal runs and pairs whose variant
// has one kernel that does 2 % more, each run recorded by itself; and the least time of a step
// without waits for the host, as a trace predicts it, beside the time of the same step as a graph.
// Predicts: a difference in at most 3 of 20 equal pairs, the slower kernel in 20 of 20, and a graph
// that takes at least what the trace predicts and at most 1.3 times that, as a graph pays some 1 us
// a kernel.

#include "../examples/device_array.hpp"
#include "support/known_kernels.cuh"
#include "support/result.hpp"
#include "support/trials.hpp"

#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/cupti/recorder.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/nsys/step_instances.hpp>
#include <assay/nsys/what_if.hpp>
#include <assay/profile/step_words.hpp>
#include <assay/stats/summary.hpp>
#include <assay/submit/graph.hpp>
#include <assay/trace/step_difference.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::benchmark {
namespace {

constexpr char const* step_range = "step";
constexpr int warm_ups = 3;

/// Copies and chains of multiply-adds in turn, as products and norms follow each other in a
/// training.
class training {
 public:
  explicit training(on::device place)
      : on_(place),
        from_(count),
        to_(count),
        copy_(kernel::resident_shape(copying, place, 256)),
        chain_(kernel::resident_shape(multiplying, place, 256)) {
    check(cudaMemset(from_.get(), 0, count * sizeof(float)));
  }

  /// `longer`: of the chains, as a part of their usual length.
  void step(double longer) const {
    nvtx_range const here{step_range, category::gpu};
    for (int layer = 0; layer < 6; ++layer) {
      kernel::launch(copying, copy_, 0, on_, from_.get(), to_.get(), std::int64_t{count});
      kernel::launch(multiplying, chain_, 0, on_, 0.5F,
                     static_cast<int>(chain_steps * (1 + longer)), to_.get());
    }
    on_.synchronize();
  }

 private:
  static constexpr auto copying = &kernel::known_copy<float>;
  static constexpr auto multiplying = &kernel::known_fma_chain<float>;
  static constexpr std::size_t count = std::size_t{1} << 24U;
  static constexpr int chain_steps = 4000;

  stream on_;
  examples::device_array<float> from_, to_;
  kernel::launch_shape copy_, chain_;
};

trace::model recorded(std::function<void()> const& run) {
  trace::recorder tracer;
  tracer.start();
  if (tracer.status().what != trace::recorder_status::kind::recording) {
    throw std::runtime_error("not recorded: " + tracer.status().text);
  }
  run();
  auto made = tracer.stop();
  if (made.lost.dropped + made.lost.zero_stamped != 0) {
    throw std::runtime_error("the recording lost records");
  }
  return made;
}

trace::step_instances steps_of(trace::model const& of) {
  return trace::instances_without(of, {.range = step_range}, warm_ups, 200);
}

std::vector<trace::step_record> records_of(training const& work, int steps, double longer) {
  auto const of = recorded([&] {
    for (int step = 0; step < steps + warm_ups; ++step) { work.step(longer); }
  });
  auto const found = steps_of(of);
  if (found.rows.size() != static_cast<std::size_t>(steps)) {
    throw std::runtime_error(std::to_string(found.rows.size()) + " steps of " +
                             std::to_string(steps) + " were recorded");
  }
  std::vector<trace::step_record> made;
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    made.push_back(trace::step_of(found.rows[i], of.ranges[found.ranges[i]].when));
  }
  return made;
}

report::document document_of(trace::step_change const& of) {
  return {{"ns", of.of.delta.estimate},
          {"low", finite(of.of.delta.low)},
          {"high", finite(of.of.delta.high)},
          {"factor", finite(of.factor.estimate)}};
}

/// What one pair of runs says. A pair of equal runs is false where the report tells any difference.
struct pair_answer {
  bool range, work, part, chain;
  report::document row;
};

pair_answer compared(training const& work, double longer) {
  auto const control = records_of(work, 30, 0);
  auto const variant = records_of(work, 40, longer);
  auto const found = trace::unpaired_difference(control, variant);
  pair_answer said{trace::beyond_runs(found.range, found),
                   trace::beyond_runs(found.work, found),
                   false,
                   false,
                   {}};
  said.row = {{"range", document_of(found.range)},
              {"work", document_of(found.work)},
              {"widening", found.range.widening},
              {"named", report::document::array()}};
  for (auto const* list : {&found.parts, &found.calls}) {
    for (auto const& each : *list) {
      if (!profile::detail::is_named(each, found)) { continue; }
      auto row = document_of(each);
      row["name"] = each.of.name;
      said.row["named"].push_back(std::move(row));
      said.part = true;
      said.chain = said.chain || (each.of.name.find("known_fma_chain") != std::string::npos &&
                                  each.of.delta.low > 0);
    }
  }
  return said;
}

void pairs(on::device place, int count, report::document& figures) {
  training const work{place};
  work.step(0);
  (void)records_of(work, 5, 0);  // the first recording of a process makes CUPTI ready
  int false_range = 0, false_work = 0, false_parts = 0, false_any = 0, found = 0;
  for (int pair = 0; pair < count; ++pair) {
    auto equal = compared(work, 0);
    false_range += equal.range ? 1 : 0;
    false_work += equal.work ? 1 : 0;
    false_parts += equal.part ? 1 : 0;
    false_any += equal.range || equal.work || equal.part ? 1 : 0;
    auto slower = compared(work, 0.02);
    found += slower.chain ? 1 : 0;
    figures["equal"].push_back(std::move(equal.row));
    figures["slower"].push_back(std::move(slower.row));
  }
  figures["pairs"] = count;
  figures["false"] = {
      {"range", false_range}, {"work", false_work}, {"parts", false_parts}, {"any", false_any}};
  figures["slower_kernel_found"] = found;
  std::printf(
      "%d pairs of equal runs: a difference of the range in %d, of the work in %d, of parts in "
      "%d, of any in %d\n%d pairs with a kernel of 2 %% more: it is named in %d\n",
      count, false_range, false_work, false_parts, false_any, count, found);
}

/// A step of kernels so short that launches take longer.
class short_kernels {
 public:
  short_kernels(on::device place, std::int64_t cycles) : on_(place), cycles_(cycles) {}
  void enqueue() const {
    for (int i = 0; i < kernels; ++i) { kernel::launch(spinning, 1, 32, 0, on_, cycles_); }
  }
  void step() const {
    nvtx_range const here{step_range, category::gpu};
    enqueue();
    on_.synchronize();
  }
  /// Microseconds of a step as a graph, the median.
  double graph_us() const {
    auto const graph = [&] {
      submit::stream_capture capture{on_};
      enqueue();
      return capture.end();
    }();
    graph.upload(on_);
    std::array<event, 2> marks{event{event::kind::timed}, event{event::kind::timed}};
    std::vector<double> us;
    for (int i = 0; i < 50; ++i) {
      marks[0].record(on_);
      graph.launch(on_);
      marks[1].record(on_);
      on_.synchronize();
      us.push_back(marks[1].seconds_since(marks[0]) * 1e6);
    }
    return stats::summarise(us).median;
  }

  static constexpr int kernels = 100;

 private:
  static constexpr auto spinning = &kernel::known_spin<std::int64_t>;
  stream on_;
  std::int64_t cycles_;
};

void predictions(on::device place, report::document& figures) {
  for (std::int64_t const cycles : {0, 2'000, 4'000, 8'000, 16'000}) {
    short_kernels const work{place, cycles};
    work.step();
    auto const of = recorded([&] {
      for (int step = 0; step < 20 + warm_ups; ++step) { work.step(); }
    });
    std::vector<double> as_recorded, predicted;
    for (auto const& each : steps_of(of).rows) {
      auto const bounds = trace::bounds_of(each);
      if (!bounds) { throw std::runtime_error("a step without work was recorded"); }
      as_recorded.push_back(static_cast<double>(bounds->recorded_ns) * 1e-3);
      predicted.push_back(static_cast<double>(bounds->without_host_ns) * 1e-3);
    }
    auto const recorded_us = stats::summarise(as_recorded).median;
    auto const predicted_us = stats::summarise(predicted).median;
    auto const graph_us = work.graph_us();
    figures.push_back({{"kernels", short_kernels::kernels},
                       {"cycles", cycles},
                       {"recorded_us", recorded_us},
                       {"predicted_us", predicted_us},
                       {"graph_us", graph_us}});
    std::printf(
        "%d kernels: recorded %.1f us, at least %.1f us without waits for the host, as a graph "
        "%.1f us, %.2f times that\n",
        short_kernels::kernels, recorded_us, predicted_us, graph_us, graph_us / predicted_us);
  }
}

}  // namespace
}  // namespace assay::benchmark

int main(int argc, char** argv) {
  return assay::benchmark::run(
      argc, argv, "step_traces",
      [](assay::benchmark::options const& chosen, assay::report::document& figures) {
        assay::benchmark::pairs(chosen.place, chosen.quick ? 2 : 20, figures["pairs_of_runs"]);
        assay::benchmark::predictions(chosen.place, figures["what_if"]);
      });
}
