// SPDX-License-Identifier: Apache-2.0
/// @file
/// `engine`: runs the jobs of a transfer policy.
#pragma once

#include <assay/transfer/schedule_executor.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace assay::transfer {

/// Runs jobs by `policy.execute(executor, stream, job, arrays)`. A copyable handle; used by one
/// thread at a time. A policy may have `prepare(executor)`, and a plan of the last job.
template <class Policy, class Link, class Memory>
class engine {
 public:
  using stream_type = typename Link::stream_type;
  static constexpr auto wants = Policy::wants;
  static constexpr bool blocks_host = Policy::blocks_host;
  static constexpr bool capturable = Policy::capturable;

  engine(Policy how, Link link, Memory memory, staging bounce = {})
      : state_(std::make_shared<state>(
            state{std::move(how), {std::move(link), std::move(memory), bounce}})) {
    if constexpr (requires { state_->how.prepare(state_->executor); }) {
      state_->how.prepare(state_->executor);
    }
  }

  /// See `transfer_policy`.
  template <class Compute>
  void run(stream_type stream, job<Compute> const& what) {
    nvtx_range const scope{Policy::name.data(), category::transfer,
                           static_cast<std::uint64_t>(what.elements)};
    auto const arrays = arrays_of(state_->executor.link(), what);
    if (what.elements > 0) { state_->how.execute(state_->executor, stream, what, arrays); }
  }

  auto const& plan() const noexcept
  requires requires(Policy const& how) { how.plan(); }
  {
    return state_->how.plan();
  }

  bool operator==(engine const&) const = default;

 private:
  struct state {
    Policy how;
    schedule_executor<Link, Memory> executor;
  };
  std::shared_ptr<state> state_;
};

}  // namespace assay::transfer
