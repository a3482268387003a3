// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to dispatch. `device_engine`: an engine of host and device paths over any link.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/dispatch/device_call.hpp>
#include <assay/dispatch/engine.hpp>

#include <stdexcept>
#include <utility>

namespace assay::dispatch {

/// Binds the chooser of an engine with a device. Choosers that watch the device have an overload.
template <class Link, chooser C>
auto bound_on(Link const&, C const& policy, costs const& of) {
  return policy.bound(of);
}

namespace detail {

template <class Link, chooser C>
using chooser_bound_on = decltype(bound_on(std::declval<Link const&>(), std::declval<C const&>(),
                                           std::declval<costs const&>()));

}  // namespace detail

/// Runs calls of one task on host and device paths. Several threads may call one engine at the same
/// time, each with a stream of its own.
template <chooser C, class Link, class Memory>
class device_engine : public detail::deciding_engine<detail::chooser_bound_on<Link, C>> {
  using base = detail::deciding_engine<detail::chooser_bound_on<Link, C>>;

 public:
  using stream_type = typename Link::stream_type;

  device_engine(costs of, Link link, Memory memory, C const& policy)
      : base(
            std::move(of), [&](costs const& all) { return bound_on(link, policy, all); }, policy),
        link_(std::move(link)),
        memory_(std::move(memory)) {}

  /// Runs the call in the order of the stream.
  ///
  /// On a host path the call waits for the stream and is complete when it returns. On a device path
  /// it is enqueued, and the arrays must stay until the stream has passed. The call then blocks
  /// only for arrays in pageable memory. A call with empty arrays alone does nothing on a device
  /// path.
  ///
  /// Throws `std::invalid_argument` for a task of another name or library, and for counts that
  /// `require_work` refuses. Throws the same for a path that the task cannot run on, and for arrays
  /// in device memory that the path cannot use. Exceptions of the task pass through; the stream is
  /// then drained.
  template <task T>
  void operator()(stream_type stream, T const& call) const {
    this->template require_task<T>();
    auto const known = facts_of(call, link_);
    auto const number = link_.number(stream);
    // Predicted ends are late where predictions are, and each call would add to that.
    if (this->has_work(number) && link_.idle(stream)) { this->note_finished(number); }
    auto const& where = this->decide(known, number);
    require_reach(T::name, where, known);
    if (where.host() != nullptr) {
      nvtx_range const scope{"call on host", category::cpu};
      link_.synchronize(stream);
      this->note_finished(number);
      run_on_host(call, *where.host());
    } else if constexpr (has_device_run<T>) {
      nvtx_range const scope{"call on device", category::gpu};
      this->note_begun(number);
      enqueue_or_note(call, known, stream);
    } else {
      throw std::invalid_argument(no_device_run(T::name, where));
    }
  }

 private:
  template <task T>
  void enqueue_or_note(T const& call, facts const& known, stream_type stream) const {
    try {
      enqueue(call, known, link_, stream, memory_);
    } catch (...) {
      this->note_finished(link_.number(stream));  // the stream is drained
      throw;
    }
  }

  Link link_;
  Memory mutable memory_;
};

}  // namespace assay::dispatch
