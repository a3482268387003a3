// SPDX-License-Identifier: Apache-2.0
/// @file
/// The failures of an all-reduce with bounded waits.
#pragma once

#include <assay/core/requirements.hpp>

#include <stdexcept>
#include <string>

namespace assay::comm {

/// The failures of an operation. Kernels find the first three.
enum class failure_kind : int {
  none,
  timed_out,     ///< a wait for a peer, or for blocks of the same rank, did not end in time
  corrupted,     ///< a counter that no peer can have written
  disagreement,  ///< different arguments on the ranks
  call_failed,   ///< the call of a rank threw, and other ranks wait for the rank
  aborted,       ///< by `abort()`
};

/// A failure as a kernel leaves it in host memory; `kind` is written last.
struct failure {
  int kind = 0;
  int peer = 0;
  unsigned block = 0;
  unsigned epoch = 0;
};

/// A failure or an abort of `all_reduce`. Until `reset`, the results are worthless of all
/// operations that had not ended and of all later ones.
class all_reduce_error : public std::runtime_error {
 public:
  all_reduce_error(int rank, failure const& what, double timeout_seconds)
      : std::runtime_error("all_reduce: rank " + std::to_string(rank) + " " +
                           in_words(rank, what, timeout_seconds) + " (block " +
                           std::to_string(what.block) + ", epoch " + std::to_string(what.epoch) +
                           "); reset() makes the engine usable again"),
        rank_(rank),
        what_(what) {}

  /// The call of a rank threw, and other ranks wait for the rank.
  all_reduce_error(int rank, std::string const& why)
      : std::runtime_error("all_reduce: the call of rank " + std::to_string(rank) +
                           " failed, and other ranks wait for it; reset() makes the engine usable "
                           "again. The call: " +
                           why),
        rank_(rank),
        what_{static_cast<int>(failure_kind::call_failed), rank} {}
  /// `abort()` was called.
  all_reduce_error()
      : std::runtime_error("all_reduce was aborted; reset() makes the engine usable again"),
        rank_(-1),
        what_{static_cast<int>(failure_kind::aborted), -1} {}

  /// The rank that failed, or -1 where `abort()` was called.
  int rank() const noexcept { return rank_; }
  int peer() const noexcept { return what_.peer; }
  unsigned block() const noexcept { return what_.block; }
  unsigned epoch() const noexcept { return what_.epoch; }
  failure_kind kind() const noexcept { return static_cast<failure_kind>(what_.kind); }

 private:
  static std::string in_words(int rank, failure const& what, double timeout_seconds) {
    bool const own = what.peer == rank;
    auto const peer = own ? "its own blocks" : "rank " + std::to_string(what.peer);
    switch (static_cast<failure_kind>(what.kind)) {
      case failure_kind::timed_out:
        return "waited " + std::string{own ? "at least " : ""} + std::to_string(timeout_seconds) +
               " s for " + peer + ": " +
               (own ? "some could not start, other ranks keep them waiting, or what they wrote "
                      "was overwritten"
                    : "it was not asked for the operation, or could not start");
      case failure_kind::corrupted:
        return "found a flag of " + peer + " that " + (own ? "they" : peer) +
               " cannot have written";
      case failure_kind::disagreement:
        return "and " + peer +
               " were asked for different operations: count, type, reduction and placement must "
               "be the same for all ranks";
      default:
        return "did not fail";
    }
  }

  int rank_;
  failure what_;
};

}  // namespace assay::comm
