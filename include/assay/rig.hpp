// SPDX-License-Identifier: Apache-2.0
/// @file
/// `rig`: a pipeline made real.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/pipeline.hpp>
#include <assay/submit/concepts.hpp>
#include <assay/workload/concepts.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {

namespace detail {

/// Opens the transfer of one lane: an engine of its own where the pipeline crosses the link.
template <bool CrossesLink, class Transfer, class Place, class Resource>
auto open_transfer([[maybe_unused]] Transfer const& how, [[maybe_unused]] Place place,
                   [[maybe_unused]] Resource const& memory) {
  if constexpr (CrossesLink) {
    return how.open(place, memory);
  } else {
    return no_transfer{};
  }
}

/// The lane of a pipeline's items. `Resource` is the memory resource that the policy opened.
template <class Pipeline, class Resource>
using lane_of = lane<decltype(Pipeline::place),
                     typename place_traits<decltype(Pipeline::place)>::stream_type, Resource,
                     decltype(detail::open_transfer<Pipeline::crosses_link>(
                         std::declval<Pipeline const&>().transfer,
                         std::declval<Pipeline const&>().place, std::declval<Resource const&>())),
                     decltype(Pipeline::copy)>;

/// The memory, streams and lanes of rigs, whatever their workloads and submission modes are.
template <class Lane>
class rig_lanes {
 public:
  using place_type = typename Lane::place_type;
  using resource_type = typename Lane::memory_type;

  template <bool CrossesLink, class Transfer>
  [[gnu::noinline, gnu::cold]] rig_lanes(std::bool_constant<CrossesLink>, place_type place,
                                         int count, resource_type memory, Transfer const& how,
                                         typename Lane::copy_type copy)
      : memory_(std::move(memory)) {
    nvtx_range const scope{"rig", category::cpu};
    for (int i = 0; i < count; ++i) {
      streams_.push_back(place_traits<place_type>::make_stream(place));
      lanes_.push_back(Lane{place, streams_.back(), memory_, i,
                            detail::open_transfer<CrossesLink>(how, place, memory_), copy});
    }
  }
  rig_lanes(rig_lanes const&) = delete;
  rig_lanes& operator=(rig_lanes const&) = delete;
  /// Tells the memory resource that its streams end, also if the rig's constructor throws. A
  /// resource that outlives the rig must not take a later stream for one of these.
  [[gnu::noinline]] ~rig_lanes() {
    if constexpr (requires(Lane& each) { each.memory.release(each.stream); }) {
      for (auto& each : lanes_) {
        try {
          each.memory.release(each.stream);
        } catch (...) {  // only a lost device refuses, and then the blocks are lost with it
        }
      }
    }
  }

  resource_type const& memory() const noexcept { return memory_; }
  std::vector<Lane>& all() noexcept { return lanes_; }
  std::vector<Lane> const& all() const noexcept { return lanes_; }

 private:
  resource_type memory_;
  std::vector<typename place_traits<place_type>::owned_stream> streams_;
  std::vector<Lane> lanes_;
};

}  // namespace detail

/// Two equal sets of the buffers of a workload. A comparison swaps the sets between variants, so
/// that the place of a buffer cannot be mistaken for the effect of a policy.
template <class State>
using buffer_sets = std::array<State, 2>;

/// A pipeline made real: streams, threads, memory and resident inputs, ready to run batches.
///
/// The constructor opens the memory policy, makes a stream and a transfer's engine for each lane,
/// and starts the threads of the submission mode. It prepares two buffer sets, or takes the sets of
/// another rig. Exceptions of each step pass through. Items see the resource that the policy opened
/// as `lane.memory`. One thread at a time uses a rig.
template <class Pipeline>
class rig {
 public:
  using place_type = decltype(Pipeline::place);
  using resource_type = resource_of<decltype(Pipeline::memory), place_type>;
  using lane_type = detail::lane_of<Pipeline, resource_type>;
  using work_type = decltype(Pipeline::work);
  using submit_type = decltype(Pipeline::submit);
  static_assert(
      workload_on<work_type, lane_type>,
      "this workload cannot run at this place: there is no run_on(lane, work, arrays) for "
      "its lanes; for a device include the workload's .cuh");
  using state_type = prepared_state<work_type, lane_type>;

  /// The memory of a rig. Throws what refuses the place.
  static resource_type open(Pipeline const& what) {
    place_traits<place_type>::require(what.place);
    if constexpr (Pipeline::copies_tiles) {
      copy::require_capability(what.copy, place_traits<place_type>::capability(what.place),
                               what.place.describe());
      if constexpr (requires { require_on(what.place, what.work, what.copy); }) {
        require_on(what.place, what.work, what.copy);
      }
    }
    return what.memory.open(what.place);
  }

  explicit rig(Pipeline what) : rig(what, open(what)) {}

  /// The same with a resource that the caller made.
  rig(Pipeline what, resource_type memory)
      : rig(std::move(what), std::move(memory), [](auto const& make) { return make(); }) {}

  /// The same with the buffer sets that `sets_from(make)` returns. They come from `make()`, or from
  /// a rig with the same workload, place, number of lanes and kind of host memory.
  template <class SetsFrom>
  rig(Pipeline what, resource_type memory, SetsFrom&& sets_from)
      : pipeline_(std::move(what)),
        lanes_(std::bool_constant<Pipeline::crosses_link>{}, pipeline_.place,
               pipeline_.submit.lanes(), std::move(memory), pipeline_.transfer, pipeline_.copy),
        runner_(pipeline_.submit.open(lanes_.all())) {
    nvtx_range const scope{"buffers of a rig", category::cpu};
    // The runner comes before the buffers, since it refuses impossible counts of threads and items.
    buffer_sets_ = std::forward<SetsFrom>(sets_from)([&] {
      auto prepare = [&] {
        return workloads::prepare(pipeline_.work, lanes_.all().front(), pipeline_.submit.lanes());
      };
      return std::shared_ptr<buffer_sets<state_type>>{
          new buffer_sets<state_type>{prepare(), prepare()}};
    });
  }

  rig(rig const&) = delete;
  rig& operator=(rig const&) = delete;

  /// Runs one batch in a buffer set and blocks until every lane has drained.
  submit::batch_times run(int buffer_set = 0) { return run(buffer_set, submit::no_probe{}); }

  /// The same, watched by `probe` (see `submit::no_probe`).
  template <class Probe>
  submit::batch_times run(int buffer_set, Probe&& probe) {
    return run_items(buffer_set, std::forward<Probe>(probe),
                     [this](lane_type& where, auto& state, int) {
                       workloads::enqueue(pipeline_.work, where, state);
                     });
  }

  /// The same, each item submitted by `enqueue(lane, state, number)` instead of the workload.
  template <class Probe, class Enqueue>
  submit::batch_times run_items(int buffer_set, Probe&& probe, Enqueue&& enqueue) {
    auto const set = static_cast<std::size_t>(buffer_set);
    auto& state = buffer_sets_->at(set);
    restore(state);
    return runner_.run([&](lane_type& where, int number) { enqueue(where, state, number); }, set,
                       probe);
  }

  /// Runs one batch over poisoned outputs, and says which output is wrong, if any. Each lane runs
  /// one item only where items change their own inputs.
  mismatch verify(int buffer_set = 0) {
    nvtx_range const scope{"verify", category::measurement};
    auto& state = buffer_sets_->at(static_cast<std::size_t>(buffer_set));
    workloads::poison(pipeline_.work, state);
    if (workloads::has_state(state)) {
      run_once(state);
    } else {
      run(buffer_set);
    }
    return workloads::verify(pipeline_.work, state);
  }

  /// True if items change arrays that they read. Each batch starts from the first content, and the
  /// second item of a lane has what the first one left.
  bool changes_inputs() const { return workloads::has_state(buffer_sets_->front()); }
  /// False if the workload declares an array of results without an expectation.
  bool checks_all() const {
    auto const& state = buffer_sets_->front();
    if constexpr (requires { state.checks_all(); }) { return state.checks_all(); }
    return true;
  }

  Pipeline const& what() const noexcept { return pipeline_; }
  resource_type const& memory() const noexcept { return lanes_.memory(); }
  std::vector<lane_type> const& lanes() const noexcept { return lanes_.all(); }

 private:
  using runner_type =
      decltype(std::declval<submit_type const&>().open(std::declval<std::vector<lane_type>>()));

  /// Gives a state that items change its first content again, so that all batches do the same work.
  static void restore(state_type& state) {
    if constexpr (requires { state.restore(); }) {
      if (state.has_state()) { state.restore(); }
    }
  }

  void run_once(state_type& state) {
    restore(state);
    stream_traits<typename lane_type::stream_type>::bind_thread(pipeline_.place);
    for (auto& each : lanes_.all()) {
      workloads::enqueue(pipeline_.work, each, state);
      each.synchronize();
    }
  }

  Pipeline pipeline_;
  detail::rig_lanes<lane_type> lanes_;
  std::shared_ptr<buffer_sets<state_type>> buffer_sets_;
  runner_type runner_;  // last: threads end before the members that they use
};

}  // namespace assay
