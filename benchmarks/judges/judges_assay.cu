// SPDX-License-Identifier: Apache-2.0
// What does assay say of the pairs that judges.py gives to all judges? Both callables are
// factories, which get new memory in each epoch. `default` is a comparison without options but
// those; `sign` is one with run_until_sign, since 0.3 % lies inside the margin of 1 %, where the
// default may stop.
// --truth measures the slow-down apart: cells of a millisecond in random order on 16 pairs of
// arrays. The stream is held until a cell is in it, because the host takes about 3 us a launch.

#include "../support/calibration.cuh"
#include "../support/result.hpp"
#include "../support/trials.hpp"
#include "judged.h"

#include <assay/core/owned_memory.hpp>
#include <assay/machine/stream_latch.cuh>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::benchmark {
namespace {

int kind_of(std::string const& name) {
  for (int i = 0; i < judged_count(); ++i) {
    if (name == judged_name(i)) { return i; }
  }
  throw std::invalid_argument("--kind " + name + ": there is no such kind of work");
}

void launch(int kind, double extra, std::array<void*, 3> const& arrays, cudaStream_t on) {
  int const code = judged_launch(kind, extra, arrays[0], arrays[1], arrays[2], on);
  if (code == -1) { throw std::runtime_error("cuBLAS refuses the product"); }
  check(static_cast<cudaError_t>(code));
}

work_maker work_of(int kind, double extra) {
  return [=](setup& make) -> enqueue_function {
    constexpr uniform<std::uint16_t> bits{0x3F00, 0x3FFF};  // bfloat16 values from 0.5 to 2
    auto const words = [=](int which) { return judged_bytes(kind, which) / sizeof(std::uint16_t); };
    auto const input = make.random<std::uint16_t>(words(0), bits);
    auto const output = make.output<std::uint16_t>(words(1));
    auto const temporary = make.scratch<std::uint16_t>(words(2));
    std::array<void*, 3> const arrays{input.data(), output.data(), temporary.data()};
    return [=](cudaStream_t on) { launch(kind, extra, arrays, on); };
  };
}

/// The slow-down on one set of arrays, by cells of the same number of launches.
double slow_down_on(on::device place, int kind, double extra, std::mt19937_64& random) {
  stream const where{place};
  std::vector<device_block> blocks;
  std::array<void*, 3> arrays{};
  for (int i = 0; i < 3; ++i) {
    auto const bytes = judged_bytes(kind, i);
    arrays[static_cast<std::size_t>(i)] = blocks.emplace_back(place, bytes).get();
    check(static_cast<cudaError_t>(judged_fill(blocks.back().get(), bytes, where.get())));
  }
  event begin{event::kind::timed};
  event end{event::kind::timed};
  machine::stream_latch<> latch;
  auto const cell = [&](double more, int launches) {
    latch.hold(where);
    for (int i = 0; i < 2; ++i) { launch(kind, more, arrays, where.get()); }
    begin.record(where);
    for (int i = 0; i < launches; ++i) { launch(kind, more, arrays, where.get()); }
    end.record(where);
    latch.open();
    where.synchronize();
    latch.check_held();
    return end.seconds_since(begin);
  };
  for (double const more : {0.0, extra}) {  // loads the kernels, which no held stream may
    launch(kind, more, arrays, where.get());
    where.synchronize();
  }
  cell(0, 20);
  auto const launches = static_cast<int>(std::ceil(1e-3 / (cell(0, 20) / 20)));
  std::array<double, 2> seconds{};
  for (int round = 0; round < 10; ++round) {
    std::array<std::size_t, 4> order{0, 0, 1, 1};
    std::ranges::shuffle(order, random);
    for (auto const which : order) { seconds[which] += cell(which == 0 ? 0 : extra, launches); }
  }
  return seconds[1] / seconds[0] - 1;
}

trial judged(on::device place, int kind, double extra, bool until_sign) {
  measure::options chosen{.place = place};
  chosen.run_until_sign = until_sign;
  auto const begin = std::chrono::steady_clock::now();
  auto row = trial_of(compare("old", work_of(kind, 0), "new", work_of(kind, extra), chosen));
  std::chrono::duration<double> const all = std::chrono::steady_clock::now() - begin;
  row["call_seconds"] = all.count();
  row["how"] = until_sign ? "sign" : "default";
  return row;
}

}  // namespace
}  // namespace assay::benchmark

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::benchmark;
  std::string name;
  double extra = 0;
  int count = 1;
  bool truth = false;
  return benchmark::run(
      argc, argv, "judges_assay",
      [&](benchmark::options const& chosen, report::document& figures) {
        int const kind = kind_of(name);
        figures["rows"] = report::document::array();
        for (int i = 0; i < count; ++i) {
          for (bool const until_sign : {false, true}) {
            if (until_sign && i > 0) { continue; }  // of equal work it takes all epochs
            figures["rows"].push_back(judged(chosen.place, kind, extra, until_sign));
            std::printf("%s\n", figures["rows"].back().dump().c_str());
          }
        }
        if (!truth) { return; }
        std::mt19937_64 random{std::random_device{}()};
        for (int i = 0; i < 16; ++i) {
          figures["truth"].push_back(slow_down_on(chosen.place, kind, extra, random));
        }
      },
      {{"--kind", "NAME", "of judged.cu", [&](std::string const& text) { name = text; }},
       {"--extra", "X", "0.01 for 1 % more work",
        [&](std::string const& text) { extra = std::stod(text); }},
       {"--count", "N", "comparisons by default, beside one until a sign (1)",
        [&](std::string const& text) { count = std::stoi(text); }},
       {"--truth", "", "measures the slow-down apart", [&](std::string const&) { truth = true; }}});
}
