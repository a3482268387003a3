// SPDX-License-Identifier: Apache-2.0
// assay-uses: cupti
// What does it cost to be recorded: a range, a launch, a whole batch; and is anything lost of a
// million kernels?
// Predicts: a range idle below 1 ns and recorded near 100 ns, of which two reads of the clock are
// half; a launch 0.6 us more with kernels and runtime calls, which is CUPTI's own cost; a
// batch of the experiment within 1.05x, since its launches hide behind its kernels; nothing lost.

#include "support/result.hpp"

#include <assay/core/units.hpp>
#include <assay/cupti/recorder.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/measure/compare_variants.hpp>
#include <assay/measure/experiment.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/pool/pool.hpp>
#include <assay/rig.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/null_cast.cuh>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::kernel {

template <class T>
__global__ void untold(T) {}

}  // namespace assay::kernel

namespace {

using namespace assay;
using namespace assay::literals;
using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}
double median(std::vector<double> const& values) { return stats::summarise(values).median; }

// Hides a value from the optimiser.
void keep(int value) { asm volatile("" : : "r"(value) : "memory"); }

constexpr int few = 50'000;    // some 4 MB of ranges
constexpr int many = 400'000;  // some 32 MB

/// Nanoseconds of `body(i)`, the median of `repetitions` loops.
template <class Body>
double nanoseconds(int repetitions, bool recorded, Body const& body, int loops = few) {
  std::vector<double> each;
  for (int r = 0; r < repetitions; ++r) {
    if (recorded) { range_log::start(); }
    auto const begin = clock_type::now();
    for (int i = 0; i < loops; ++i) { body(i); }
    each.push_back(seconds_since(begin) / loops * 1e9);
    if (recorded && range_log::stop().dropped != 0) { throw std::runtime_error("ranges dropped"); }
  }
  return median(each);
}

void ranges(int repetitions, report::document& figures) {
  auto const own = [](int i) {
    nvtx_range const here{"a range of the library", category::gpu, 4096};
    keep(i);
  };
  auto const nvtx = [](int i) {
    nvtxRangePushA("a range of other code");
    keep(i);
    nvtxRangePop();
  };
  own(0);
  double const empty = nanoseconds(repetitions, false, keep);
  double const clock =
      nanoseconds(repetitions, false, [](int) { keep(static_cast<int>(system_clock_ns())); });
  double const idle = nanoseconds(repetitions, false, own);
  double const nvtx_idle = nanoseconds(repetitions, false, nvtx);
  double const recorded = nanoseconds(repetitions, true, own);
  double const nvtx_recorded = nanoseconds(repetitions, true, nvtx);
  double const recorded_many = nanoseconds(std::min(repetitions, 9), true, own, many);
  figures["range_ns"] = {{"empty_loop", empty},
                         {"clock_read", clock},
                         {"idle", idle},
                         {"nvtx_push_pop_idle", nvtx_idle},
                         {"recorded", recorded},
                         {"nvtx_push_pop_recorded", nvtx_recorded},
                         {"recorded_beyond_what_is_prepared", recorded_many}};
  std::printf(
      "range: idle %.2f ns, recorded %.1f ns; nvtxRangePush and Pop: idle %.2f ns, recorded %.1f "
      "ns; empty loop %.2f ns, one read of the clock %.1f ns; %d ranges at once %.1f ns\n",
      idle, recorded, nvtx_idle, nvtx_recorded, empty, clock, many, recorded_many);
}

/// Host seconds of each of as many launches as the device takes without making the host wait.
double launch_seconds(stream const& on) {
  constexpr int launches = 800;  // its queue holds 1024
  auto const begin = clock_type::now();
  for (int i = 0; i < launches; ++i) { kernel::launch(kernel::untold<int>, 1, 1, 0, on, i); }
  auto const taken = seconds_since(begin) / launches;
  on.synchronize();
  return taken;
}

struct mode {
  char const* name;
  std::optional<trace::recorder_options> options;
  std::vector<double> seconds{};
  std::vector<double> starting{};
  std::vector<double> stopping{};
};

void launches(on::device place, int repetitions, report::document& figures) {
  stream const on{place};
  trace::recorder_options kernels{.copies = false,
                                  .memsets = false,
                                  .runtime_calls = false,
                                  .synchronizations = false,
                                  .memory = false,
                                  .overheads = false,
                                  .ranges = false};
  auto both = kernels;
  both.runtime_calls = true;
  trace::recorder_options with_driver;
  with_driver.driver_calls = true;

  (void)launch_seconds(on);
  std::vector<double> before;
  for (int r = 0; r < repetitions; ++r) { before.push_back(launch_seconds(on)); }
  std::vector<mode> modes{{"off", std::nullopt},
                          {"kernels", kernels},
                          {"kernels_and_runtime_calls", both},
                          {"all_by_default", trace::recorder_options{}},
                          {"and_driver_calls", with_driver}};
  std::uint64_t lost = 0;
  for (int r = 0; r < repetitions; ++r) {
    for (auto& each : modes) {
      if (!each.options) {
        (void)launch_seconds(on);
        each.seconds.push_back(launch_seconds(on));
        continue;
      }
      trace::recorder tracer{*each.options};
      auto const begin = clock_type::now();
      tracer.start();
      each.starting.push_back(seconds_since(begin));
      if (tracer.status().what != trace::recorder_status::kind::recording) {
        throw std::runtime_error("not recorded: " + tracer.status().text);
      }
      (void)launch_seconds(on);  // the first ones under a tracer make it ready
      each.seconds.push_back(launch_seconds(on));
      auto const end = clock_type::now();
      auto const made = tracer.stop();
      each.stopping.push_back(seconds_since(end));
      lost += made.lost.dropped + made.lost.zero_stamped + made.lost.out_of_window +
              (1600 - std::min<std::size_t>(1600, made.kernels.size()));
    }
  }
  std::vector<double> after;
  for (int r = 0; r < repetitions; ++r) { after.push_back(launch_seconds(on)); }

  auto& out = figures["launch_us"];
  double const off = median(modes[0].seconds);
  for (auto const& each : modes) {
    out[each.name] = median(each.seconds) * 1e6;
    if (!each.options) {
      std::printf("launch: %.3f us, not recorded\n", off * 1e6);
      continue;
    }
    out[std::string{"added_by_"} + each.name] = (median(each.seconds) - off) * 1e6;
    std::printf("launch: %.3f us, %.3f more: %s (start %.1f ms, stop %.1f ms)\n",
                median(each.seconds) * 1e6, (median(each.seconds) - off) * 1e6, each.name,
                median(each.starting) * 1e3, median(each.stopping) * 1e3);
  }
  out["before_any_recording"] = median(before) * 1e6;
  out["after_all_recordings"] = median(after) * 1e6;
  figures["start_ms"] = median(modes[3].starting) * 1e3;
  figures["stop_ms"] = median(modes[3].stopping) * 1e3;
  figures["launches_lost"] = lost;
  std::printf("launch: %.3f us before any recording, %.3f us after all; records lost: %llu\n",
              median(before) * 1e6, median(after) * 1e6, static_cast<unsigned long long>(lost));
}

/// When a batch is recorded.
enum class traced { never, now, just_before };

/// A pipeline's rig with cells that are recorded, or that follow a recording. Each is preceded by
/// an untimed batch, so that all variants come to their cell alike.
template <class Pipeline>
class traced_subject final : public measure::subject {
 public:
  traced_subject(Pipeline const& what, traced when) : inner_(what), when_(when) {}

  void warm(int buffer_set, int count) override { inner_.warm(buffer_set, count); }
  measure::cell time(int buffer_set, int count) override {
    if (when_ == traced::never) {
      inner_.warm(buffer_set, 1);
      return inner_.time(buffer_set, count);
    }
    trace::recorder tracer;
    tracer.start();
    if (tracer.status().what != trace::recorder_status::kind::recording) {
      throw std::runtime_error("not recorded: " + tracer.status().text);
    }
    inner_.warm(buffer_set, 1);
    if (when_ == traced::just_before) {
      (void)tracer.stop();
      inner_.warm(buffer_set, 1);
      return inner_.time(buffer_set, count);
    }
    auto const timed = inner_.time(buffer_set, count);
    auto const made = tracer.stop();
    if (made.kernels.empty() || made.lost.dropped + made.lost.zero_stamped != 0) {
      throw std::runtime_error("the recording lost records");
    }
    return timed;
  }
  std::optional<std::string> verify(int buffer_set) override { return inner_.verify(buffer_set); }
  measure::checks checked() const override { return inner_.checked(); }

 private:
  measure::pipeline_subject inner_;
  traced when_;
};

void batches(on::device place, bool quick, report::document& figures) {
  pipeline const what{workloads::null_cast<std::int32_t>{}, place, mr::pool{10_GiB},
                      submit::concurrent{.threads = 4, .items = quick ? 17 : 100}};
  using pipeline_type = std::remove_const_t<decltype(what)>;
  std::vector<std::pair<std::string, traced>> const moments{
      {"untraced", traced::never}, {"traced", traced::now}, {"after a trace", traced::just_before}};
  std::vector<measure::variant> variants;
  std::vector<std::string> labels;
  for (auto const& [name, when] : moments) {
    measure::variant made;
    made.label = name;
    made.axes = {{"trace", name}};
    made.build = [what, when](measure::epoch const&) {
      return std::unique_ptr<measure::subject>{new traced_subject<pipeline_type>{what, when}};
    };
    variants.push_back(std::move(made));
    labels.push_back(name);
  }
  measure::options chosen;
  chosen.max_epochs = 8;
  auto const found = measure::compare_variants(variants, measure::against_first(labels), chosen);
  if (!found.failure.empty()) { throw std::runtime_error(found.failure); }
  auto& out = figures["batch"];
  for (auto const& each : found.findings) {
    if (each.on != measure::clock::wall) { continue; }
    out[each.contrast_name] = {{"ratio", each.effect.ratio},
                               {"low", each.effect.low},
                               {"high", each.effect.high},
                               {"verdict", std::string{to_string(each.outcome)}},
                               {"noise", each.noise}};
    std::printf("batch: %s: %.4fx [%.4f, %.4f] %s\n", each.contrast_name.c_str(), each.effect.ratio,
                each.effect.low, each.effect.high, std::string{to_string(each.outcome)}.c_str());
  }
  out["untraced_seconds"] = found.variants[0].on(measure::clock::wall).median;
  out["epochs"] = found.epochs;
  out["seconds"] = found.seconds;
}

void a_million(on::device place, int count, report::document& figures) {
  stream const on{place};
  double launching = 0;
  double stopping = 0;
  trace::recorder tracer;
  tracer.start();
  auto const begin = clock_type::now();
  for (int i = 0; i < count; ++i) { kernel::launch(kernel::untold<int>, 1, 1, 0, on, i); }
  on.synchronize();
  launching = seconds_since(begin);
  auto const end = clock_type::now();
  auto const made = tracer.stop();
  stopping = seconds_since(end);
  auto const missing =
      static_cast<std::int64_t>(count) - static_cast<std::int64_t>(made.kernels.size());
  auto const calls = std::count_if(made.calls.begin(), made.calls.end(), [&](auto const& call) {
    return made.strings[call.name].substr(0, 16) == "cudaLaunchKernel";
  });
  report::document notes;
  for (auto const& [key, value] : made.notes) { notes[key] = value; }
  figures["million"] = {{"launched", count},
                        {"kernels_missing", missing},
                        {"calls_missing", count - calls},
                        {"dropped", made.lost.dropped},
                        {"zero_stamped", made.lost.zero_stamped},
                        {"out_of_window", made.lost.out_of_window},
                        {"unmatched", made.lost.unmatched},
                        {"seconds_launching", launching},
                        {"seconds_stopping", stopping},
                        {"notes", notes}};
  std::printf(
      "%d kernels in %.2f s, stopped in %.2f s: %lld missing, %llu dropped, %llu untimed, "
      "%llu out of the window, %llu unmatched\n",
      count, launching, stopping, static_cast<long long>(missing),
      static_cast<unsigned long long>(made.lost.dropped),
      static_cast<unsigned long long>(made.lost.zero_stamped),
      static_cast<unsigned long long>(made.lost.out_of_window),
      static_cast<unsigned long long>(made.lost.unmatched));
  for (auto const& [key, value] : made.notes) {
    std::printf("  %s: %s\n", key.c_str(), value.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(argc, argv, "trace_cost",
                        [](benchmark::options const& chosen, report::document& figures) {
                          bool const quick = chosen.quick;
                          ranges(quick ? 9 : 51, figures);
                          launches(chosen.place, quick ? 7 : 31, figures);
                          a_million(chosen.place, quick ? 100'000 : 1'000'000, figures);
                          batches(chosen.place, quick, figures);
                        });
}
