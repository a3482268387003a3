// SPDX-License-Identifier: Apache-2.0
/// @file
/// `engine`: what a transfer policy opens, unless it keeps more from job to job.
#pragma once

#include <assay/transfer/courier.hpp>

#include <memory>
#include <utility>

namespace assay::transfer {

/// Runs jobs as `Policy` has them carried: `policy.carry(courier, stream, job, arrays)`, after
/// `policy.expect(courier)` at opening if it has that. A copyable handle; used by one thread at a
/// time.
template <class Policy, class Link, class Memory>
class engine {
 public:
  using stream_type = typename Link::stream_type;
  static constexpr auto wants = Policy::wants;
  static constexpr bool blocks_host = Policy::blocks_host;
  static constexpr bool capturable = Policy::capturable;

  engine(Policy how, Link link, Memory memory, staging bounce = {})
      : state_(
            std::make_shared<state>(std::move(how), std::move(link), std::move(memory), bounce)) {}

  /// See `transfer_policy`.
  template <class Compute>
  void run(stream_type stream, job<Compute> const& what) {
    range const scope{Policy::name.data(), category::transfer,
                      static_cast<std::uint64_t>(what.elements)};
    auto const arrays = arrays_of(state_->carrier.link(), what);
    if (what.elements > 0) { state_->how.carry(state_->carrier, stream, what, arrays); }
  }

  bool operator==(engine const&) const = default;

 private:
  struct state {
    state(Policy policy, Link link, Memory memory, staging bounce)
        : how(std::move(policy)), carrier(std::move(link), std::move(memory), bounce) {
      if constexpr (requires { how.expect(carrier); }) { how.expect(carrier); }
    }
    Policy how;
    courier<Link, Memory> carrier;
  };
  std::shared_ptr<state> state_;
};

}  // namespace assay::transfer
