// SPDX-License-Identifier: Apache-2.0
/// @file
/// A bad network between a rank and rank 0: it delays, cuts, stalls, splits and joins what passes.
#pragma once

#include <assay/stats/random_source.hpp>
#include <assay/world/connection.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace assay::benchmark {

/// What a relay does with bytes.
struct mischief {
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

  enum class pass { at_once, late, in_pieces, together } how = pass::at_once;
  std::size_t cut_after = never;    ///< bytes to rank 0; then both connections end
  std::size_t stall_after = never;  ///< bytes to rank 0; then nothing passes that way
  /// Bytes to the rank: the same for the other way.
  std::size_t cut_back_after = never, stall_back_after = never;
};

/// Lets one rank through to rank 0. Ends when both have closed, or where it cuts.
class relay {
 public:
  /// Listens from now on.
  relay(std::string const& host, int port, mischief what)
      : what_(what), doors_(detail::listen_at(host, port)) {}

  /// Connects the next visitor with rank 0, and passes bytes on.
  void run(std::string const& host, int port) {
    auto const until = detail::after(std::chrono::seconds{60});
    std::vector<::pollfd> door{{doors_[0]->descriptor(), POLLIN, 0}};
    if (!detail::ready_before(door, until)) { throw std::runtime_error("nobody came to a relay"); }
    int const made = ::accept4(door[0].fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    ends_[0] = std::make_unique<detail::connection>(made);
    while (!ends_[1]) { ends_[1] = detail::connect_to(host, port, until); }
    doors_.clear();
    ways_[0].limit(what_.cut_after, what_.stall_after);
    ways_[1].limit(what_.cut_back_after, what_.stall_back_after);
    while (ends_[0] || ends_[1]) {
      if (!step(until)) { return; }
    }
  }

 private:
  struct way {
    std::size_t left = mischief::never;  ///< bytes that pass still
    bool cuts = false;                   ///< what happens then
    std::string kept{};

    void limit(std::size_t cut, std::size_t stall) {
      left = std::min(cut, stall);
      cuts = cut < stall;
    }
  };

  /// Passes on what comes next; false where the relay cuts.
  bool step(detail::deadline until) {
    std::vector<::pollfd> asked;
    for (auto const& end : ends_) { asked.push_back({end ? end->descriptor() : -1, POLLIN, 0}); }
    auto const pause = detail::after(std::chrono::milliseconds{5});
    bool const keeps = !ways_[0].kept.empty() || !ways_[1].kept.empty();
    if (!detail::ready_before(asked, keeps ? pause : until)) {
      if (!keeps) { throw std::runtime_error("nothing came to a relay"); }
      return flush(0, until) && flush(1, until);
    }
    for (std::size_t from = 0; from < 2; ++from) {
      if (asked[from].revents == 0) { continue; }
      std::array<char, 1 << 16> piece;
      auto const got = ::recv(asked[from].fd, piece.data(), piece.size(), 0);
      if (got > 0) {
        ways_[from].kept.append(piece.data(), static_cast<std::size_t>(got));
        if (what_.how == mischief::pass::together && ways_[from].kept.size() < 1'000'000) {
          continue;
        }
        if (!flush(from, until)) { return false; }
      } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        if (!flush(from, until)) { return false; }
        // A network that stalls tells the other side nothing.
        bool const stalls = what_.stall_after != mischief::never;
        ends_[from].reset();
        if (!stalls) { ends_[1 - from].reset(); }
      }
    }
    return true;
  }

  /// Sends what is kept one way, as far as it passes; false where the relay cuts.
  bool flush(std::size_t from, detail::deadline until) {
    auto& of = ways_[from];
    auto& to = ends_[1 - from];
    std::string_view bytes{of.kept};
    bytes = bytes.substr(0, of.left);
    if (of.left != mischief::never) { of.left -= bytes.size(); }
    while (!bytes.empty() && to) {
      auto const size = std::min(bytes.size(), next_size());
      if (to->send(bytes.substr(0, size), until) != detail::connection::end::done) { to.reset(); }
      bytes.remove_prefix(size);
    }
    of.kept.clear();
    return of.left > 0 || !of.cuts;
  }

  /// The size of the next piece. The first ones are small: they cut greetings and headers.
  std::size_t next_size() {
    if (what_.how == mischief::pass::late) {
      std::this_thread::sleep_for(std::chrono::milliseconds{3});
    }
    if (what_.how != mischief::pass::in_pieces) { return mischief::never; }
    return 1 + random_.below(++pieces_ % 4096 < 2048 ? 5 : 40'000);
  }

  mischief what_;
  std::vector<std::unique_ptr<detail::connection>> doors_;
  std::array<std::unique_ptr<detail::connection>, 2> ends_;  ///< to the rank, to rank 0
  std::array<way, 2> ways_;                                  ///< by where bytes come from
  stats::random_source random_{51};
  std::size_t pieces_ = 0;
};

}  // namespace assay::benchmark
