// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to world.hpp: all ranks of a job, each connected with rank 0.
#pragma once

#include <assay/stats/number_text.hpp>
#include <assay/world/connection.hpp>
#include <assay/world/membership.hpp>
#include <assay/world/transport.hpp>

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::detail {

/// A TCP connection between rank 0 and each other rank.
///
/// Rank 0 sees the first failure, tells all ranks, and all throw the same text. The other ranks
/// wait twice the limit, as rank 0 may come to a call as late as the limit and then wait as long.
class star final : public transport {
 public:
  /// Over the connections that `meet` makes.
  star(membership of, std::vector<std::unique_ptr<connection>> links)
      : of_(std::move(of)), links_(std::move(links)) {}

  std::vector<std::string> gather(verb which, std::string_view bytes,
                                  std::string_view before) override {
    begin();
    before_ = before;
    if (of_.rank != 0) {
      auto const how =
          links_[0]->send(message{which, number_, std::string{bytes}}.encoded(), patience());
      if (how != connection::end::done) { lost(0, which, how == connection::end::late); }
      return {};
    }
    std::vector<std::string> all(links_.size());
    all[0] = bytes;
    std::vector<int> missing(links_.size() - 1);
    std::iota(missing.begin(), missing.end(), 1);
    for (auto const until = after(of_.limit);; wait(missing, which, until)) {
      std::erase_if(missing, [&](int rank) {
        auto got = link(rank).take_message();
        if (!got) { return false; }
        accept(rank, which, *got);
        all[static_cast<std::size_t>(rank)] = std::move(got->bytes);
        return true;
      });
      if (missing.empty()) { return all; }
    }
  }

  std::string broadcast(verb which, std::string_view bytes) override {
    begin();
    if (of_.rank != 0) {
      auto got = links_[0]->receive([](connection& by) { return by.take_message(); }, patience());
      if (!got) { lost(0, which, links_[0]->was_late()); }
      accept(0, which, *got);
      return std::move(got->bytes);
    }
    auto const all = message{which, number_, std::string{bytes}}.encoded();
    auto const until = after(of_.limit);
    for (int rank = 1; rank < of_.ranks; ++rank) {
      auto const how = link(rank).send(all, until);
      if (how != connection::end::done) { lost(rank, which, how == connection::end::late); }
    }
    return std::string{bytes};
  }

  void abandon(std::string const& why) noexcept override {
    if (!failure_.empty()) { return; }
    try {
      failure_ = why;
      auto const told = message{verb::error, number_, why}.encoded();
      auto const until = after(std::chrono::seconds{1});
      for (auto const& each : links_) {
        if (each) { (void)each->send(told, until); }
      }
      // A process that ends with unread messages resets its connections: what it sent has to
      // arrive before.
      for (auto const& each : links_) {
        if (each) { each->wait_until_sent(until); }
      }
    } catch (...) {}  // no memory for the text: the others see the connection end
  }

 private:
  connection& link(int rank) { return *links_[static_cast<std::size_t>(rank)]; }
  deadline patience() const { return after(2 * of_.limit); }

  void begin() {
    if (!failure_.empty()) { throw world_error(failure_); }
    before_.clear();
    ++number_;
  }

  [[noreturn]] void fail(std::string const& why) {
    abandon(before_ + why);
    throw world_error(failure_);
  }

  /// Throws what another rank said. Rank 0 tells it to all, and the others have it from rank 0.
  [[noreturn]] void pass_on(std::string const& why) {
    if (of_.rank == 0) { fail(why); }
    failure_ = why;
    throw world_error(failure_);
  }

  /// Reads from ranks that have not sent a whole message yet.
  void wait(std::vector<int> const& missing, verb which, deadline until) {
    std::vector<::pollfd> asked;
    for (int const rank : missing) { asked.push_back({link(rank).descriptor(), POLLIN, 0}); }
    if (!ready_before(asked, until)) {
      fail(names_of(missing) + " did not come to " + to_string(which) + " within " +
           stats::number_text(of_.limit.count()) + " s");
    }
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (asked[i].revents != 0 && !link(missing[i]).read_more()) {
        lost(missing[i], which, false);
      }
    }
  }

  /// Throws unless a rank's message belongs to the call that this rank is in. Rank 0 may have seen
  /// another failure before, so the others wait for what rank 0 says.
  void accept(int rank, verb which, message const& got) {
    if (got.kind == verb::error) { pass_on(got.bytes); }
    if (got.kind == which && got.number == number_) { return; }
    auto const call = [](int by, verb kind, std::uint32_t number) {
      return "rank " + std::to_string(by) + " called " + to_string(kind) + " (call " +
             std::to_string(number) + ")";
    };
    abandon(call(rank, got.kind, got.number) + " where " + call(of_.rank, which, number_) +
            ": all ranks make the same calls in the same order");
    if (of_.rank != 0) { read_last_words(*links_[0], patience()); }
    throw world_error(failure_);
  }

  /// Reads until the other end closes, or says why all ends; then passes that on.
  void read_last_words(connection& from, deadline until) {
    while (auto const got = from.receive([](connection& by) { return by.take_message(); }, until)) {
      if (got->kind == verb::error) { pass_on(got->bytes); }
    }
  }

  /// Throws that a connection has ended, or what its rank had to say before.
  [[noreturn]] void lost(int rank, verb which, bool late) {
    auto const name = "rank " + std::to_string(rank);
    if (late) {
      fail(name + " did not answer in " + to_string(which) + " within " +
           stats::number_text((of_.rank == 0 ? 1 : 2) * of_.limit.count()) + " s");
    }
    auto& from = links_[static_cast<std::size_t>(rank)];
    read_last_words(*from, after(std::chrono::seconds{1}));
    bool const cut = from->waiting() > 0;
    from.reset();
    fail(name + (cut ? " has ended in the middle of a message" : " has ended, or its connection"));
  }

  membership of_;
  std::vector<std::unique_ptr<connection>> links_;  ///< by rank; a rank but 0 has that to rank 0
  std::uint32_t number_ = 0;                        ///< of the call
  std::string before_;                              ///< what a failure of this call is told behind
  std::string failure_;
};

}  // namespace assay::detail
