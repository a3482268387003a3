// SPDX-License-Identifier: Apache-2.0
/// @file
/// `host_subject`: work on the host.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/measure/callables.hpp>
#include <assay/measure/subject.hpp>
#include <assay/stats/random_source.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace assay::measure {

/// The seed of all values: one for both setups of a subject and for all variants of an epoch.
inline std::uint64_t value_seed(epoch const& now) { return stats::derive_seed(now.seed, 2); }
/// The seed of the places in memory: another one for each subject and buffer set.
inline std::uint64_t placement_seed(epoch const& now, std::string const& label, int buffer_set) {
  auto const own = std::hash<std::string>{}(label) + static_cast<std::size_t>(now.instance);
  return stats::derive_seed(stats::derive_seed(now.seed, own),
                            static_cast<std::uint64_t>(buffer_set));
}

/// How many of the arrays that hold results have an expectation.
inline checks checks_of(setup const& made) {
  bool some = false;
  bool all = true;
  for (auto const& each : made.declared()) {
    if (!each.is_result()) { continue; }
    some = some || each.expected;
    all = all && each.expected;
  }
  return !some ? checks::none : all ? checks::all : checks::part;
}

/// One buffer set: its arrays, and the work that reads and writes them.
template <class Signature>
struct buffer_set {
  std::unique_ptr<setup> arrays;
  std::function<Signature> work;
};

/// Calls work on the calling thread. `wall` is the mean time of the calls of a cell.
class host_subject final : public subject {
 public:
  host_subject(epoch const& now, std::string const& label, work_factory<void()> const& make) {
    for (int i = 0; i < 2; ++i) {
      auto& set = sets_[static_cast<std::size_t>(i)];
      set.arrays = std::make_unique<setup>(
          std::make_unique<arrays::host_array_store>(placement_seed(now, label, i)),
          value_seed(now));
      set.work = make(*set.arrays);
    }
  }

  void warm(int buffer_set, int launches) override {
    nvtx_range const scope{"warm", category::measurement};
    of(buffer_set).arrays->restore();
    call(of(buffer_set).work, launches);
  }

  cell time(int buffer_set, int launches) override {
    nvtx_range const scope{"cell", category::measurement};
    auto const begin = std::chrono::steady_clock::now();
    call(of(buffer_set).work, launches);
    std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - begin;
    cell mean;
    mean[clock::wall] = taken.count() / launches;
    return mean;
  }

  std::optional<std::string> verify(int buffer_set) override {
    nvtx_range const scope{"verify", category::measurement};
    auto const& set = of(buffer_set);
    set.arrays->poison();
    set.arrays->restore();
    set.work();
    return set.arrays->verify();
  }

  double bytes() const override { return sets_[0].arrays->bytes(); }
  double flops() const override { return sets_[0].arrays->flops(); }
  checks checked() const override { return checks_of(*sets_[0].arrays); }

 private:
  static void call(std::function<void()> const& work, int times) {
    for (int i = 0; i < times; ++i) { work(); }
  }
  measure::buffer_set<void()> const& of(int number) const {
    return sets_[static_cast<std::size_t>(number)];
  }

  std::array<measure::buffer_set<void()>, 2> sets_;
};

}  // namespace assay::measure
