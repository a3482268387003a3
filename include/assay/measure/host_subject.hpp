// SPDX-License-Identifier: Apache-2.0
/// @file
/// `host_subject`: work on the host.
#pragma once

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/sampled.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/callables/callable.hpp>
#include <assay/core/lost_processor_time.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/machine/file_lines.hpp>
#include <assay/measure/subject.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

/// Tells of results of which samples are checked: how many elements, and what a check misses.
inline std::vector<std::string> sample_notes(setup const& made) {
  auto const all = made.declared();
  std::vector<std::string> notes;
  for (auto const& each : all) {
    arrays::detail::sample_plan const plan{each.elements, each.rows, each.sample};
    if (each.sample == 0 || each.sample >= plan.count) { continue; }
    notes.push_back(each.name + " is checked by samples: a check looks at " +
                    std::to_string(each.sample) + " of " + std::to_string(plan.count) +
                    " elements, and misses " + std::to_string(plan.seldom_missed()) +
                    " wrong ones with a chance of at most 1 %");
  }
  return notes;
}

/// True if this process has loaded the CUDA driver, as a first call of CUDA does.
inline bool has_loaded_cuda() {
  for (auto const& line : machine::file_lines("/proc/self/maps")) {
    if (line.find("/libcuda.so") != line.npos) { return true; }
  }
  return false;
}

/// The error of an array that work on the host should write. A kernel cannot write there, and its
/// error is not seen unless the work asks for it.
inline std::string host_error(std::string wrong, bool uses_cuda) {
  if (uses_cuda && wrong.find("was never written") != wrong.npos) {
    wrong +=
        "; arrays of void() work are in host memory: work that launches kernels on them is "
        "void(cudaStream_t)";
  }
  return wrong;
}

/// One buffer set: its arrays, and the work that reads and writes them.
struct buffer_set {
  std::unique_ptr<setup> arrays;
  callables::work work;
};

/// What all host subjects of one comparison share, because all are timed in one way.
struct call_session {
  bool restores = false;  ///< some work changes its input, so each call is timed by itself
  int watched = 0;        ///< timed regions
  int unclear = 0;        ///< those in which a call waited or another thread of the process ran

  /// True if calls wait, or use other threads: more than one region in 50, and more than one.
  bool waits() const noexcept { return unclear > 1 + watched / 50; }
};

/// Calls work on the calling thread. `wall` is the mean time of the calls of a cell.
///
/// Time in which the system ran other programs on this thread's processor is taken off, until
/// calls of the comparison are seen to wait or to use other threads. Then it is taken off nobody.
/// Cells of few calls time each by itself. So do all cells where some work changes its input: the
/// first content is restored before each call, outside the timed region.
class host_subject final : public subject {
 public:
  host_subject(epoch const& now, std::string const& label, callables::work_factory const& make,
               std::shared_ptr<call_session> session)
      : session_(std::move(session)), arrive_(now.arrive) {
    for (int i = 0; i < 2; ++i) {
      auto& set = sets_[static_cast<std::size_t>(i)];
      set.arrays = std::make_unique<setup>(
          std::make_unique<arrays::host_array_store>(placement_seed(now, label, i)),
          value_seed(now));
      set.work = make(*set.arrays);
      session_->restores = session_->restores || set.arrays->has_state();
    }
    auto nothing = [] {};
    auto const type =
        callables::detail::work_type<callables::callable_kind::host_call, decltype(nothing)>();
    empty_ = {callables::detail::placed(type, &nothing, sets_[0].arrays->draw_place()), type.call};
  }

  void warm(int buffer_set, int launches) override {
    nvtx_range const scope{"warm", category::measurement};
    auto const& set = of(buffer_set);
    for (int i = 0; i < launches; ++i) {
      set.arrays->restore();
      set.work(nullptr);
    }
  }

  cell time(int buffer_set, int launches) override {
    nvtx_range const scope{"cell", category::measurement};
    auto const& set = of(buffer_set);
    if (arrive_) { arrive_(); }
    return timed(set.work, set.arrays.get(), launches);
  }

  std::optional<cell> time_empty(int launches) override {
    for (int i = 0; i < 2; ++i) { empty_(nullptr); }  // as before other cells
    return timed(empty_, nullptr, launches);
  }

  std::optional<std::string> verify(int buffer_set) override {
    nvtx_range const scope{"verify", category::measurement};
    auto const& set = of(buffer_set);
    set.arrays->poison();
    set.arrays->restore();
    set.work(nullptr);
    auto wrong = set.arrays->verify();
    if (wrong) { *wrong = host_error(std::move(*wrong), has_loaded_cuda()); }
    return wrong;
  }

  double bytes() const override { return sets_[0].arrays->bytes(); }
  double flops() const override { return sets_[0].arrays->flops(); }
  checks checked() const override { return checks_of(*sets_[0].arrays); }
  std::vector<std::string> caveats() const override { return sample_notes(*sets_[0].arrays); }

 private:
  using steady_clock = std::chrono::steady_clock;
  static constexpr int few_calls = 20;  // of 50 us and more, where two reads of the clock are 0.1 %

  static double seconds_since(steady_clock::time_point begin) {
    return std::chrono::duration<double>(steady_clock::now() - begin).count();
  }

  double without_lost(double seconds, lost_processor_time const& watch) const {
    auto const lost = watch.seconds();
    ++session_->watched;
    session_->unclear += lost ? 0 : 1;
    return !lost || session_->waits() ? seconds : std::max(1e-9, seconds - *lost);
  }

  /// `arrays` may be null.
  cell timed(callables::work const& called, setup* arrays, int calls) const {
    cell mean;
    double sum = 0;
    if (session_->restores || calls <= few_calls) {
      for (int i = 0; i < calls; ++i) {
        if (arrays != nullptr) { arrays->restore(); }
        lost_processor_time const watch;
        auto const begin = steady_clock::now();
        called(nullptr);
        double const taken = without_lost(seconds_since(begin), watch);
        sum += taken;
        if (calls <= few_calls) { mean.launches.push_back(taken); }
      }
    } else {
      lost_processor_time const watch;
      auto const begin = steady_clock::now();
      for (int i = 0; i < calls; ++i) { called(nullptr); }
      sum = without_lost(seconds_since(begin), watch);
    }
    mean[clock::wall] = sum / calls;
    return mean;
  }

  measure::buffer_set const& of(int number) const {
    return sets_[static_cast<std::size_t>(number)];
  }

  std::shared_ptr<call_session> session_;
  std::function<void()> arrive_;
  std::array<measure::buffer_set, 2> sets_;
  callables::work empty_;
};

}  // namespace assay::measure
