// SPDX-License-Identifier: Apache-2.0
/// @file
/// Time stamps round every copy and kernel of a transfer, by events: a timeline without CUPTI.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/trace/stage_overlap.hpp>
#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/engine.hpp>
#include <assay/transfer/overlapped.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace assay::trace {

/// Events round what is enqueued on any stream of a device. A cheap handle: copies share the
/// stamps. Threads may stamp at once.
class link_stamps {
 public:
  explicit link_stamps(on::device place) : state_(std::make_shared<state>(place)) {}

  /// Forgets all stamps; `origin` is what later ones are counted from.
  void restart(::cuda::stream_ref origin) {
    std::lock_guard const lock{state_->guard};
    state_->all.clear();
    state_->origin.record(origin);
  }

  /// Calls `enqueue()` between two events of `stream`, for stage 0, 1 or 2.
  template <class Enqueue>
  void round(std::size_t stage, ::cuda::stream_ref stream, Enqueue const& enqueue) const {
    auto* const each = [&] {
      std::lock_guard const lock{state_->guard};
      return &state_->all.emplace_back(stage);
    }();
    each->begin.record(stream);
    enqueue();
    each->end.record(stream);
  }

  /// What was stamped, in nanoseconds from the origin; all of it must be over.
  stage_spans spans() const {
    std::lock_guard const lock{state_->guard};
    stage_spans found;
    auto const since = [&](event const& mark) {
      return std::llround(1e9 * mark.seconds_since(state_->origin));
    };
    for (auto const& each : state_->all) {
      found[each.stage].push_back({since(each.begin), since(each.end)});
    }
    return found;
  }

 private:
  struct stamp {
    explicit stamp(std::size_t which) : stage(which) {}
    std::size_t stage;
    event begin{event::kind::timed};
    event end{event::kind::timed};
  };
  static event event_on(on::device place) {
    device_guard const guard{place};
    return event{event::kind::timed};
  }

  struct state {
    explicit state(on::device place) : origin(event_on(place)) {}
    event origin;
    std::deque<stamp> all;  // a deque, since threads keep pointers to what they stamp
    std::mutex guard;
  };

  std::shared_ptr<state> state_;
};

/// The link of a device, with stamps round its copies. They cost each copy two events, so what is
/// timed otherwise should run without them.
class stamping_link : public transfer::cuda_link {
 public:
  stamping_link(on::device place, link_stamps stamps)
      : cuda_link(place), stamps_(std::move(stamps)) {}

  void copy(stream_type on, void* to, void const* from, std::size_t bytes) const {
    cudaPointerAttributes about{};
    check(cudaPointerGetAttributes(&about, to));
    std::size_t const stage = about.type == cudaMemoryTypeDevice ? 0 : 2;
    stamps_.round(stage, on, [&] { cuda_link::copy(on, to, from, bytes); });
  }

 private:
  link_stamps stamps_;
};

/// A job's computation with stamps round it.
template <class Compute>
struct stamped_compute {
  Compute compute;
  link_stamps stamps;

  void operator()(::cuda::stream_ref stream, transfer::chunk const& part) const {
    stamps.round(1, stream, [&] { compute(stream, part); });
  }
};

/// The same job, with stamps round each call of its `compute`.
template <class Compute>
transfer::job<stamped_compute<Compute>> stamped(transfer::job<Compute> const& what,
                                                link_stamps const& stamps) {
  return {what.elements, what.granularity,       what.inputs,
          what.outputs,  {what.compute, stamps}, what.compute_seconds};
}

/// What a policy opens, over a link with stamps.
template <class Policy, class Memory>
auto open_stamped(Policy const& how, on::device place, Memory memory, link_stamps const& stamps) {
  stamping_link link{place, stamps};
  if constexpr (std::same_as<Policy, transfer::overlapped>) {
    how.validate();
    auto terms = how.terms;
    if (!terms && how.picks()) { terms = transfer::link_terms_of(place); }
    return transfer::overlapped_engine<stamping_link, Memory>{how, terms, std::move(link),
                                                              std::move(memory)};
  } else if constexpr (requires { how.bounce(); }) {
    return transfer::engine<Policy, stamping_link, Memory>{how, std::move(link), std::move(memory),
                                                           how.bounce()};
  } else {
    return transfer::engine<Policy, stamping_link, Memory>{how, std::move(link), std::move(memory)};
  }
}

}  // namespace assay::trace
