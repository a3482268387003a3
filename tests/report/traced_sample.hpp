// SPDX-License-Identifier: Apache-2.0
/// @file
/// A comparison with traced batches of both variants, made of batches with a known difference.
#pragma once

#include "report/sample.hpp"
#include "trace/golden.hpp"

#include <assay/report/explanation.hpp>
#include <assay/report/traced.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/explanation.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

namespace assay::test {

/// A batch of two streams and two threads. The slow one waits for a mutex before each item, and
/// copies once more. Both begin with a call that
/// takes as long in both.
inline trace::model traced_batch(bool slow, int items, std::mt19937_64& random) {
  using namespace golden;
  std::normal_distribution<double> normal{1, 0.02};
  auto const about = [&](double ns) { return std::llround(ns * normal(random)); };
  builder b;
  std::int64_t host = 0, device[2] = {0, 0};
  auto const settings = about(2'000);
  b.call("cudaFuncSetAttribute_v9000", {0, settings});
  host += settings + 100;
  for (int i = 0; i < items; ++i) {
    auto const thread = i % 2 == 0 ? main_thread : second_thread;
    on_stream const stream{0, static_cast<std::uint32_t>(7 + i % 2)};
    auto& free_at = device[i % 2];
    auto const begin = host;
    if (slow) {
      auto const wait = about(12'000);
      b.range("wait for the mutex", {host, host + wait}, thread, "assay");
      host += wait;
    }
    b.call("cudaMallocAsync_v11020", {host, host + 300}, thread);
    host += 400;
    for (auto const* name : {"cast(int const*, float*)", "copy_if_else<256, 4>(int const*)"}) {
      auto const starts = std::max(host + 1'000, free_at);
      free_at = starts + about(2'000);
      b.launch(name, {host, host + 300}, {starts, free_at}, stream, thread);
      host += 500;
    }
    for (int copy = 0; copy < (slow ? 2 : 1); ++copy) {
      auto const starts = std::max(host + 900, free_at);
      free_at = starts + about(2'000);
      b.launch_copy(copy_kind::device_to_host, 65'536, {host, host + 300}, {starts, free_at},
                    stream, thread);
      host += 500;
    }
    b.range("item", {begin, host}, thread, "assay");
  }
  auto const end = std::max(device[0], device[1]);
  b.call("cudaDeviceSynchronize_v3020", {host, end + 500});
  return b.trace;
}

/// The explanation of the slow variant against the fast one, from as many pairs of batches.
inline trace::explanation traced_explanation(int pairs, int items = 20) {
  std::mt19937_64 random{42};
  trace::variant_evidence fast, slow;
  fast.label = "one stream a thread";
  slow.label = "one mutex";
  for (int i = 0; i < pairs; ++i) {
    fast.trace = traced_batch(false, items, random);
    slow.trace = traced_batch(true, items, random);
    fast.batches.push_back(trace::breakdown_of({fast.trace}));
    slow.batches.push_back(trace::breakdown_of({slow.trace}));
  }
  fast.seconds = 3e-6 * items;
  slow.seconds = 14e-6 * items;
  return trace::explain_traces(std::move(fast), std::move(slow),
                               {11e3 * items, 10.5e3 * items, 11.5e3 * items, "the comparison"});
}

/// A comparison of these two variants, with reasons and their traced record.
inline measure::comparison traced_comparison(int pairs = 12, int items = 20) {
  auto all = sample();
  all.title = "one stream a thread, or one mutex?";
  all.variants.resize(2);
  all.variants[0].label = "one stream a thread";
  all.variants[1].label = "one mutex";
  for (auto& each : all.variants) {
    each.flops = 2e10;
    each.cells = {};
  }
  all.ceilings.push_back({"FMA", 6.1e13, measure::ceiling::unit::flops});
  all.findings = {found("one mutex", measure::verdict::slower, {1.2, 1.15, 1.25}, {-1, 1})};
  auto const why = traced_explanation(pairs, items);
  all.reasons = {report::reason(why)};
  all.traced = {report::traced_record(why, 0, 1, "run.one-stream.json", "run.one-mutex.json")};
  return all;
}

}  // namespace assay::test
