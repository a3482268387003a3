// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to world.hpp: how the ranks of a job meet, and strangers are kept out.
///
/// Rank 0 says `assay-world VERSION` to whoever connects. The visitor says `assay-world VERSION
/// RANK RANKS TOKEN`. These two lines are the same in all versions. When all ranks have come, rank
/// 0 tells each that it is welcome, or why the job cannot begin.
#pragma once

#include <assay/stats/number_text.hpp>
#include <assay/world/connection.hpp>
#include <assay/world/membership.hpp>
#include <assay/world/transport.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace assay::detail {

/// All ranks of a job have the same. Every change of a message raises it.
inline constexpr int world_version = 1;
inline constexpr auto world_greeting = "assay-world";

inline std::string address_of(membership const& of) {
  bool const six = of.host.find(':') != of.host.npos;
  return (six ? "[" + of.host + "]" : of.host) + ":" + std::to_string(of.port);
}

/// Rank 0 and a rank that comes find another program at the address: both say so alike.
[[noreturn]] inline void throw_taken(membership const& of) {
  throw world_error(address_of(of) +
                    " is taken by another job or program: name another port by ASSAY_RENDEZVOUS");
}

/// Rank 0 while it waits for the others.
class lobby {
 public:
  explicit lobby(membership const& of)
      : of_(of), come_(static_cast<std::size_t>(of.ranks)), until_(after(of.limit)) {
    try {
      doors_ = listen_at(of.host, of.port);
    } catch (std::system_error const& cause) {
      if (cause.code().value() == EADDRINUSE) { throw_taken(of); }
      throw_closed(cause.code().message());
    } catch (std::exception const& cause) { throw_closed(cause.what()); }
  }

  /// The connections of all other ranks. Throws `world_error`, and tells those who came, where the
  /// job cannot begin.
  std::vector<std::unique_ptr<connection>> welcome_all() {
    while (arrived_ < of_.ranks - 1) {
      if (!admit()) { break; }
    }
    if (arrived_ < of_.ranks - 1 && failure_.empty()) {
      std::vector<int> missing;
      for (int rank = 1; rank < of_.ranks; ++rank) {
        if (!at(rank)) { missing.push_back(rank); }
      }
      failure_ = names_of(missing) + " of " + std::to_string(of_.ranks) + " did not come to " +
                 address_of(of_) + " within " + stats::number_text(of_.limit.count()) + " s";
    }
    auto const kind = failure_.empty() ? verb::welcome : verb::error;
    auto const told = message{kind, 0, failure_}.encoded();
    auto const until = after(of_.limit);
    for (auto const* all : {&come_, &refused_}) {
      for (auto const& each : *all) {
        if (each) { (void)each->send(told, until); }
      }
    }
    if (!failure_.empty()) { throw world_error(failure_); }
    return std::move(come_);
  }

 private:
  using people = std::vector<std::unique_ptr<connection>>;

  [[noreturn]] void throw_closed(std::string const& why) const {
    throw world_error("rank 0 cannot listen at " + address_of(of_) + ": " + why +
                      ": name its host, and a free port there, by ASSAY_RENDEZVOUS");
  }

  std::unique_ptr<connection>& at(int rank) { return come_[static_cast<std::size_t>(rank)]; }

  /// Waits for the next sign of life at the doors or of visitors; false when the limit has passed.
  /// A visitor that says nothing holds nobody up.
  bool admit() {
    std::vector<::pollfd> asked;
    for (auto const* all : {&doors_, &visitors_}) {
      for (auto const& each : *all) { asked.push_back({each->descriptor(), POLLIN, 0}); }
    }
    if (!ready_before(asked, until_)) { return false; }
    people stay;
    for (std::size_t i = 0; i < visitors_.size(); ++i) {
      auto& each = visitors_[i];
      bool const silent = asked[doors_.size() + i].revents == 0;
      if (silent || (each->read_more() && !has_been_heard(each))) {
        stay.push_back(std::move(each));
      }
    }
    visitors_ = std::move(stay);
    for (std::size_t i = 0; i < doors_.size(); ++i) {
      if (asked[i].revents != 0) { open(doors_[i]->descriptor()); }
    }
    return true;
  }

  void open(int door) {
    int const made = ::accept4(door, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (made < 0) {
      if (errno == EMFILE || errno == ENFILE) {
        throw world_error("rank 0 has no descriptor for another rank: raise ulimit -n");
      }
      return;  // the visitor has gone
    }
    visitors_.push_back(std::make_unique<connection>(made));
    (void)visitors_.back()->send(
        std::string{world_greeting} + ' ' + std::to_string(world_version) + '\n', until_);
  }

  /// Whether a visitor has said who it is, or is seen to be no rank.
  bool has_been_heard(std::unique_ptr<connection>& visitor) {
    constexpr std::size_t longest_line = 4096;
    auto const line = visitor->take_line();
    if (!line) { return visitor->waiting() > longest_line; }
    std::istringstream words{*line};
    std::string greeting, token;
    int version = 0, rank = 0, ranks = 0;
    if (!(words >> greeting >> version >> rank >> ranks) || greeting != world_greeting) {
      return true;
    }
    std::getline(words.ignore(1), token);
    if (token != of_.token) {
      (void)visitor->send(message{verb::refused}.encoded(), until_);
      return true;
    }
    ++arrived_;
    auto const name = "rank " + std::to_string(rank);
    if (version != world_version) {
      object(name + " speaks version " + std::to_string(version) +
             " of the protocol, rank 0 version " + std::to_string(world_version) +
             ": build all ranks with the same assay");
    } else if (ranks != of_.ranks) {
      object(name + " is one of " + std::to_string(ranks) + " ranks, rank 0 one of " +
             std::to_string(of_.ranks));
    } else if (rank < 1 || rank >= of_.ranks || at(rank)) {
      object("two processes say that they are " + name);
    } else {
      at(rank) = std::move(visitor);
      return true;
    }
    refused_.push_back(std::move(visitor));
    return true;
  }

  void object(std::string const& why) {
    if (failure_.empty()) { failure_ = why; }
  }

  membership of_;
  people doors_, visitors_, refused_;
  people come_;  ///< by rank
  deadline until_;
  int arrived_ = 0;
  std::string failure_;
};

/// The connection to rank 0, once rank 0 lets this rank in.
inline std::unique_ptr<connection> enter(membership const& of) {
  auto const until = after(of.limit);
  auto const hello = std::string{world_greeting} + ' ' + std::to_string(world_version) + ' ' +
                     std::to_string(of.rank) + ' ' + std::to_string(of.ranks) + ' ' + of.token +
                     '\n';
  std::string why = "nothing listens there";
  for (; std::chrono::steady_clock::now() < until;
       std::this_thread::sleep_for(std::chrono::milliseconds{10})) {
    std::unique_ptr<connection> to;
    try {
      to = connect_to(of.host, of.port, until);
    } catch (std::exception const& cause) { why = cause.what(); }  // names may come to be known
    if (!to) { continue; }
    auto const greeting = to->receive([](connection& by) { return by.take_line(); }, until);
    if (!greeting && !to->was_late()) { continue; }  // rank 0 of an earlier job closed its door
    if (!greeting || !greeting->starts_with(std::string{world_greeting} + ' ')) { throw_taken(of); }
    auto got =
        to->send(hello, until) == connection::end::done
            ? to->receive([](connection& by) { return by.take_message(); }, after(2 * of.limit))
            : std::nullopt;
    if (!got) {
      throw world_error(to->was_late() ? "rank 0 did not begin within " +
                                             stats::number_text(2 * of.limit.count()) + " s"
                                       : "rank 0 has ended, or its connection");
    }
    if (got->kind == verb::refused) { throw_taken(of); }
    if (got->kind == verb::error) { throw world_error(got->bytes); }
    return to;
  }
  throw world_error("rank " + std::to_string(of.rank) + " found no rank 0 at " + address_of(of) +
                    " within " + stats::number_text(of.limit.count()) + " s: " + why);
}

/// Rank 0's connections by rank, or one to rank 0. All ranks have come when this returns.
inline std::vector<std::unique_ptr<connection>> meet(membership const& of) {
  if (of.rank == 0) { return lobby{of}.welcome_all(); }
  std::vector<std::unique_ptr<connection>> links;
  links.push_back(enter(of));
  return links;
}

}  // namespace assay::detail
