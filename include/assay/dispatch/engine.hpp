// SPDX-License-Identifier: Apache-2.0
/// @file
/// `engine`: runs a task on the path that a chooser picks.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/thread_value.hpp>
#include <assay/dispatch/choose.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/file.hpp>
#include <assay/dispatch/task.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::dispatch {

/// The path of one call, and what was predicted for each path.
struct decision {
  std::size_t chosen = 0;
  std::vector<prediction> predictions;
  std::string forced_by{};  ///< the chooser, unless it picks the least predicted time

  path const& where() const { return predictions.at(chosen).where; }
  /// `host{4}: 41 us [39, 44]; device{0} 63 us [60, 66], of it 38 us to the device (pageable)`.
  std::string describe() const;
};

std::ostream& operator<<(std::ostream& out, decision const& of);

namespace detail {

decision decision_of(costs const& of, std::size_t chosen, facts const& known, load_now const& load,
                     std::string const& forced_by);
[[noreturn]] void refuse_task(costs const& of, std::string_view task);
[[noreturn]] void refuse_library(costs const& of, std::string_view here);
void require_host_paths(costs const& of);

/// The number of the engine that the calling thread called last.
inline std::uint64_t& latest_engine() {
  thread_local std::uint64_t number = 0;
  return number;
}

/// The part of all engines: the costs, the bound chooser, and the latest call of each thread.
template <class Pick>
class deciding_engine {
 public:
  /// The decision of the calling thread's latest call. Throws `std::logic_error` if that call was
  /// one of another engine.
  decision last() const {
    auto const& mine = of_this_thread();
    if (latest_engine() != number_) {
      throw std::logic_error("last(): this thread's latest call was not of this engine");
    }
    return decision_of(*costs_, mine.chosen, mine.known, mine.load, forced_by_);
  }

 protected:
  /// `bind(costs)` makes the function by which the policy chooses.
  template <class Bind, chooser C>
  deciding_engine(costs of, Bind const& bind, C const& policy)
      : costs_(std::make_unique<costs const>(std::move(of))), pick_(bind(*costs_)) {
    bool const is_model = C::name == choose::by_model::name || C::name.starts_with("load::");
    if (!is_model) { forced_by_ = describe(policy); }
  }

  costs const& known_costs() const noexcept { return *costs_; }

  template <task T>
  void require_task() const {
    if (T::name != costs_->task()) { refuse_task(*costs_, T::name); }
    if constexpr (has_library<T>) {
      std::string_view const here = T::library();
      if (here != costs_->measured().library) { refuse_library(*costs_, here); }
    }
  }
  /// Chooses the path of a call on a stream, and keeps the choice for `last`. Throws
  /// `std::invalid_argument` for a path that computes wrong results, which a chooser of a user may
  /// name.
  path const& decide(facts const& known, std::size_t stream = 0) const {
    auto& mine = of_this_thread();
    latest_engine() = number_;
    mine.known = known;
    if constexpr (heeds_load) {
      mine.load = pick_.board().read(stream);
      mine.chosen = costs_->best(known, mine.load);
    } else {
      mine.chosen = pick_(known);
    }
    auto const& chosen = costs_->paths().at(mine.chosen);
    if (!chosen.wrong.empty()) { choose::detail::refuse_wrong(*costs_, mine.chosen); }
    return chosen.where;
  }
  /// True while own work on a stream is predicted to run.
  bool has_work(std::size_t stream) const noexcept {
    if constexpr (heeds_load) { return pick_.board().own.left(stream).stream > 0; }
    return false;
  }
  /// This thread's latest decision was for a device, and its work comes now.
  void note_begun(std::size_t stream) const noexcept {
    if constexpr (heeds_load) {
      auto const& mine = of_this_thread();
      pick_.board().own.begun(stream, costs_->seconds(mine.chosen, mine.known, mine.load));
    }
  }
  void note_finished(std::size_t stream) const noexcept {
    if constexpr (heeds_load) { pick_.board().own.finished(stream); }
  }

 private:
  /// True of `load::own_queue` and of `load::watched`.
  static constexpr bool heeds_load = requires(Pick const& pick) { pick.board(); };

  struct latest {
    facts known;
    std::size_t chosen = 0;
    load_now load{};
  };
  static latest& of_this_thread() {
    return assay::detail::thread_value([] { return latest{}; });
  }
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> made{0};
    return ++made;
  }

  std::unique_ptr<costs const> costs_;
  Pick pick_;
  std::string forced_by_;
  std::uint64_t number_ = next_number();
};

template <chooser C>
using bound_chooser = decltype(std::declval<C const&>().bound(std::declval<costs const&>()));

}  // namespace detail

/// The memory of an engine that runs host paths alone.
struct no_device_memory {};

/// Runs calls of one task on host paths. Several threads may call one engine at the same time. With
/// a memory resource as second argument it runs device paths too: see <assay/dispatch/device.hpp>.
/// The chooser may heed load: see <assay/dispatch/load.hpp>.
template <chooser C = choose::by_model, class Memory = no_device_memory>
class engine : public detail::deciding_engine<detail::bound_chooser<C>> {
  using base = detail::deciding_engine<detail::bound_chooser<C>>;

 public:
  static_assert(std::is_same_v<Memory, no_device_memory>,
                "an engine with device memory needs <assay/dispatch/device.hpp>");

  /// Throws `std::invalid_argument` if the costs lack a path that the policy names, or if they have
  /// a path on a device.
  explicit engine(costs of, C policy = {})
      : base(std::move(of), [&](costs const& all) { return policy.bound(all); }, policy) {
    detail::require_host_paths(this->known_costs());
  }

  /// Runs the call and returns when it is complete. Throws `std::invalid_argument` for a task of
  /// another name or library, and for counts that `require_work` refuses. Exceptions of the task
  /// pass through.
  template <task T>
  void operator()(T const& call) const {
    this->template require_task<T>();
    auto const& where = this->decide(facts_of(call));
    nvtx_range const scope{"call on host", category::cpu};
    run_on_host(call, *where.host());
  }
};

}  // namespace assay::dispatch

#ifndef ASSAY_DECLARED
#include <assay/dispatch/engine_definitions.hpp>
#endif
