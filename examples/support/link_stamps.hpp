// SPDX-License-Identifier: Apache-2.0
/// @file
/// Time stamps round every copy and kernel of a transfer, by events: a timeline without CUPTI.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/engine.hpp>
#include <assay/transfer/overlapped.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "stage_overlap.hpp"

namespace assay::trace {

/// Events round operations on any stream of a device. A cheap handle: copies share the stamps.
/// Threads may stamp at once.
///
/// An event passes when its stream gets to it, some microseconds before a copy behind it moves
/// bytes or a kernel runs: `spans` subtracts the time between events round an empty operation. In a
/// busy pipeline this time varies by 2 to 5 us, so chunks should take 0.3 ms and more. With chunks
/// of 75 us the overlap fraction came out 0.03 to 0.05 too high on an H200.
class link_stamps {
 public:
  explicit link_stamps(on::device place) : state_(std::make_shared<state>(place)) {
    calibrate(stream{place});
  }

  /// Measures the time between events round an empty copy or kernel. The constructor calls it; call
  /// it again once a tracer adds to this time. Waits for `where`, which should be idle.
  void calibrate(stream const& where) {
    std::lock_guard const lock{state_->guard};
    auto& of = *state_;
    auto const copied = [&](void* to, void const* from) {
      return of.overhead(where, [&, to, from] { of.link.copy(where, to, from, 64); });
    };
    of.overhead_ns = {
        copied(of.near.get(), of.far.get()),
        // The driver sets memory by a kernel of its own.
        of.overhead(
            where,
            [&] { check(cudaMemsetAsync(of.near.get(), 0, state::set_bytes, where.get())); }),
        copied(of.far.get(), of.near.get())};
  }

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

  /// The stamped operations, in nanoseconds from the origin; all must be over. Copies are the times
  /// of their engines (`engine_spans`), and kernels come without their launches.
  stage_spans spans() const {
    std::lock_guard const lock{state_->guard};
    stage_spans found;
    auto const since = [&](event const& mark) {
      return std::llround(1e9 * mark.seconds_since(state_->origin));
    };
    for (auto const& each : state_->all) {
      found[each.stage].push_back({since(each.begin), since(each.end)});
    }
    for (std::size_t const stage : {0, 2}) {
      found[stage] = engine_spans(std::move(found[stage]), state_->overhead_ns[stage]);
    }
    for (auto& each : found[1]) {
      each.begin = std::min(each.end, each.begin + state_->overhead_ns[1]);
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
  struct state {
    explicit state(on::device place)
        : link(place),
          origin(link.make_event(event::kind::timed)),
          begin(link.make_event(event::kind::timed)),
          end(link.make_event(event::kind::timed)),
          far(link.page_locked(bytes)),
          near(place, bytes) {}

    /// Nanoseconds between events round what `enqueue()` does, where all are enqueued before their
    /// stream gets to them, as in a job.
    template <class Enqueue>
    std::int64_t overhead(stream const& where, Enqueue const& enqueue) {
      double fastest = 1e9;
      for (int i = 0; i < 6; ++i) {
        for (int k = 0; k < 4; ++k) {  // some 0.1 ms
          link.copy(where, near.get(), far.get(), bytes);
        }
        begin.record(where);
        enqueue();
        end.record(where);
        where.synchronize();
        fastest = std::min(fastest, end.seconds_since(begin));
      }
      return std::llround(1e9 * fastest);
    }

    static constexpr std::size_t bytes = std::size_t{2} << 20U;
    static constexpr std::size_t set_bytes = 4096;
    transfer::cuda_link link;
    event origin, begin, end;
    transfer::page_locked_block far;
    transfer::device_block near;
    std::array<std::int64_t, 3> overhead_ns{};
    std::deque<stamp> all;  // a deque, since threads keep pointers to their stamps
    std::mutex guard;
  };

  std::shared_ptr<state> state_;
};

/// The link of a device, with stamps round its copies. Each copy costs two events more, so other
/// measurements should run without stamps.
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

/// Opens a policy's engine over a link with stamps.
template <class Policy, class Memory>
auto open_stamped(Policy const& how, on::device place, Memory memory, link_stamps const& stamps) {
  stamping_link link{place, stamps};
  if constexpr (std::same_as<Policy, transfer::overlapped>) {
    how.validate();
    auto costs = how.costs;
    if (!costs && how.picks()) { costs = transfer::link_costs_of(place); }
    return transfer::overlapped_engine<stamping_link, Memory>{how, costs, std::move(link),
                                                              std::move(memory)};
  } else if constexpr (requires { how.bounce(); }) {
    return transfer::engine<Policy, stamping_link, Memory>{how, std::move(link), std::move(memory),
                                                           how.bounce()};
  } else {
    return transfer::engine<Policy, stamping_link, Memory>{how, std::move(link), std::move(memory)};
  }
}

}  // namespace assay::trace
