// SPDX-License-Identifier: Apache-2.0
/// @file
/// `world`: the ranks of a job that a launcher started, and how they exchange bytes.
#pragma once

#include <assay/world/lobby.hpp>
#include <assay/world/membership.hpp>
#include <assay/world/star.hpp>
#include <assay/world/transport.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// All ranks of a job. A rank is one process.
///
/// All ranks make the same calls in the same order, each from one thread at a time. A call in which
/// a rank is missing, ends or fails throws `world_error`: the same text on all ranks, within twice
/// the limit. Then the world is of no more use. Copies share one world.
class world {
 public:
  /// Gathers the bytes of all ranks, by rank, on each rank or on rank 0 alone.
  using gather_function = std::function<std::vector<std::string>(std::string_view)>;

  /// A world of this process alone.
  static world alone() {
    return over(0, 1, 0, [](std::string_view own) { return std::vector{std::string{own}}; });
  }

  /// The world of torchrun, Slurm, Open MPI or MPICH, by their variables; `alone()` without them.
  /// `ASSAY_RENDEZVOUS=host:port` says where the ranks meet, `ASSAY_TOKEN` what tells the job from
  /// others. Blocks until all ranks have come. Throws `std::invalid_argument` for variables that
  /// are missing or wrong.
  static world from_environment(std::chrono::duration<double> limit = membership{}.limit) {
    auto of = detail::membership_from([](char const* name) { return std::getenv(name); });
    of.limit = limit;
    return meet(of);
  }

  /// A world over connections of another kind.
  world(membership of, std::shared_ptr<detail::transport> to)
      : of_(std::move(of)), to_(std::move(to)) {}

  /// The world of a launcher that is known to the caller. Blocks until all ranks have come.
  static world meet(membership const& of) {
    require_place(of);
    if (!(of.limit.count() > 0 && of.limit.count() <= 1e6)) {
      throw std::invalid_argument("the limit of a world is " + std::to_string(of.limit.count()) +
                                  " s: it must be above 0 and at most 1e6");
    }
    if (of.token.find('\n') != of.token.npos) {
      throw std::invalid_argument("the token of a world has a line break");
    }
    if (of.ranks == 1) { return alone(); }
    if (of.host.empty() || of.port < 1 || of.port > 65535) {
      throw std::invalid_argument("rank 0 of " + std::to_string(of.ranks) + " ranks at '" +
                                  of.host + ":" + std::to_string(of.port) +
                                  "': name its host, and a port from 1 to 65535");
    }
    return world{of, std::make_shared<detail::star>(of, detail::meet(of))};
  }

  /// A world over MPI_Allgather, a store, or any other function that gathers. The function has its
  /// own limits and errors.
  static world over(int rank, int ranks, int local_rank, gather_function all) {
    membership const of{.rank = rank, .ranks = ranks, .local_rank = local_rank};
    require_place(of);
    return world{of, std::make_shared<gathering>(rank, ranks, std::move(all))};
  }

  int rank() const noexcept { return of_.rank; }
  int ranks() const noexcept { return of_.ranks; }
  int local_rank() const noexcept { return of_.local_rank; }
  /// The limit of a call; of a world over a function that gathers, 120 s, whatever that function
  /// does.
  std::chrono::duration<double> limit() const noexcept { return of_.limit; }

  /// Returns the bytes of all ranks, by rank, on rank 0. The others get nothing and need not wait.
  /// Where a rank is missing, `before` of rank 0 begins the text that all ranks throw.
  std::vector<std::string> gather(std::string_view own, std::string_view before = {}) const {
    auto all = to_->gather(detail::verb::gather, own, before);
    if (rank() != 0) { all.clear(); }
    return all;
  }

  /// Returns the bytes of rank 0. The bytes of other ranks are not sent.
  std::string broadcast(std::string_view of_rank_0 = {}) const {
    return to_->broadcast(detail::verb::broadcast, of_rank_0);
  }

  /// Blocks until all ranks have come.
  void barrier() const {
    (void)to_->gather(detail::verb::barrier, {}, {});
    (void)to_->broadcast(detail::verb::barrier, {});
  }

  /// Says that this rank gives up: the current or next call of every rank throws this text.
  void abandon(std::string const& why) const noexcept {
    to_->abandon("rank " + std::to_string(rank()) + ": " + why);
  }

 private:
  static void require_place(membership const& of) {
    if (of.ranks >= 1 && of.rank >= 0 && of.rank < of.ranks) { return; }
    throw std::invalid_argument("rank " + std::to_string(of.rank) + " of " +
                                std::to_string(of.ranks) + " ranks: ranks count from 0");
  }

  /// A function of the caller in place of connections. Each call is one gathering; the first
  /// character says whether the rank goes on.
  class gathering final : public detail::transport {
   public:
    gathering(int rank, int ranks, gather_function all)
        : rank_(rank), ranks_(ranks), all_(std::move(all)) {}

    std::vector<std::string> gather(detail::verb, std::string_view bytes,
                                    std::string_view) override {
      if (!failure_.empty()) { throw world_error(failure_); }
      auto got = all_('.' + std::string{bytes});
      if (got.size() != static_cast<std::size_t>(ranks_)) {
        throw world_error("the gather function of a world of " + std::to_string(ranks_) +
                          " ranks returned " + std::to_string(got.size()) + " texts");
      }
      for (auto& each : got) {
        if (each.starts_with('!')) { throw world_error(failure_ = each.substr(1)); }
        each.erase(0, 1);
      }
      return got;
    }
    std::string broadcast(detail::verb which, std::string_view bytes) override {
      return std::move(gather(which, rank_ == 0 ? bytes : std::string_view{}, {})[0]);
    }
    void abandon(std::string const& why) noexcept override {
      if (!failure_.empty()) { return; }
      try {
        failure_ = why;
        (void)all_('!' + why);
      } catch (...) {}  // the others have the limits of the function
    }

   private:
    int rank_, ranks_;
    gather_function all_;
    std::string failure_;
  };

  membership of_;
  std::shared_ptr<detail::transport> to_;
};

}  // namespace assay
