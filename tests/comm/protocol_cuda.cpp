// SPDX-License-Identifier: Apache-2.0
/// @file
/// A model of one channel of lamport_push and two_shot by the rules of comm/protocol.hpp. In every
/// interleaving of a few ranks and operations, no vec16 is lost or read twice, and no rank waits
/// for ever. comm/fifo_protocol_cuda.cpp has the model of the FIFO algorithms.

#include "catch.hpp"

#include <assay/comm/protocol.hpp>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace assay::comm;

namespace {

constexpr int most_ranks = 3;
constexpr unsigned most_buffers = 4;
constexpr unsigned most_vecs = 2;
constexpr int no_data = -1;

enum class step : unsigned char { send, clear, receive };

/// A step of a rank in one operation, for each of its peers and vec16s.
struct action {
  step what;
  int peer;
  unsigned vec;
};

/// The state of all ranks of a model.
struct state {
  std::array<unsigned char, most_ranks> operation{};
  std::array<unsigned char, most_ranks> position{};
  /// The content of a rank's buffer from a source: the epoch that wrote each vec16, or `no_data`.
  using vecs = std::array<signed char, most_vecs>;
  std::array<std::array<std::array<vecs, most_buffers>, most_ranks>, most_ranks> slot{};
  auto operator<=>(state const&) const = default;
};

struct rules {
  unsigned buffers;
  unsigned cleared_after;  ///< operation k clears the buffer of k - cleared_after
};

/// Explores all interleavings of `ranks` ranks that each do operations of so many vecs; returns
/// what went wrong.
class explorer {
 public:
  explorer(rules of, int ranks, std::vector<unsigned> vecs)
      : rules_(of), ranks_(ranks), vecs_(std::move(vecs)) {}
  explorer(rules of, int ranks, int operations)
      : explorer(of, ranks, std::vector<unsigned>(static_cast<std::size_t>(operations), 1)) {}

  std::string run() {
    state first;
    for (auto& rank : first.slot) {
      for (auto& source : rank) {
        for (auto& buffer : source) { buffer.fill(no_data); }
      }
    }
    std::vector<state> open{first};
    seen_.insert(first);
    while (!open.empty() && wrong_.empty()) {
      auto const now = open.back();
      open.pop_back();
      int moved = 0;
      bool all_done = true;
      for (int rank = 0; rank < ranks_; ++rank) {
        auto const r = static_cast<std::size_t>(rank);
        if (now.operation[r] == vecs_.size()) { continue; }
        all_done = false;
        auto next = now;
        if (!advance(next, rank)) { continue; }
        ++moved;
        if (seen_.insert(next).second) { open.push_back(next); }
      }
      if (moved == 0 && !all_done && wrong_.empty()) { wrong_ = "deadlock"; }
    }
    return wrong_;
  }
  std::size_t states() const { return seen_.size(); }

 private:
  /// The order within a kernel: all sends, all clears, all receipts.
  std::vector<action> program(int rank, unsigned epoch) const {
    std::vector<action> all;
    for (auto const what : {step::send, step::clear, step::receive}) {
      auto vecs = vecs_of(epoch);
      if (what == step::clear) {
        vecs = epoch > rules_.cleared_after ? vecs_of(epoch - rules_.cleared_after) : 0;
      }
      for (int peer = 0; peer < ranks_; ++peer) {
        for (unsigned vec = 0; peer != rank && vec < vecs; ++vec) {
          all.push_back({what, peer, vec});
        }
      }
    }
    return all;
  }

  unsigned vecs_of(unsigned epoch) const { return vecs_[epoch - 1]; }
  unsigned buffer_of(unsigned epoch) const { return epoch % rules_.buffers; }

  /// Does the next action of a rank; false where it has to wait.
  bool advance(state& now, int rank) {
    auto const r = static_cast<std::size_t>(rank);
    auto const epoch = static_cast<unsigned>(now.operation[r]) + 1;
    auto const all = program(rank, epoch);
    auto const [what, peer, vec] = all[now.position[r]];
    auto const p = static_cast<std::size_t>(peer);
    if (what == step::send) {
      auto& there = now.slot[p][r][buffer_of(epoch)][vec];
      // Overwriting what the peer has not read yet loses it.
      if (there != no_data && now.operation[p] < there) { wrong_ = "data were overwritten"; }
      if (there != no_data) { wrong_ = "a buffer was not clear"; }
      there = static_cast<signed char>(epoch);
    } else if (what == step::clear) {
      auto const to_clear =
          (epoch % rules_.buffers + rules_.buffers - rules_.cleared_after) % rules_.buffers;
      auto& there = now.slot[r][p][to_clear][vec];
      if (there != no_data && static_cast<unsigned>(there) >= epoch) {
        wrong_ = "data were cleared before it was read";
      }
      there = no_data;
    } else {
      auto const there = now.slot[r][p][buffer_of(epoch)][vec];
      if (there == no_data) { return false; }
      if (there != static_cast<signed char>(epoch)) { wrong_ = "another operation's was read"; }
    }
    if (++now.position[r] == all.size()) {
      now.position[r] = 0;
      ++now.operation[r];
    }
    return true;
  }

  rules rules_;
  int ranks_;
  std::vector<unsigned> vecs_;  ///< of each operation
  std::set<state> seen_;
  std::string wrong_;
};

}  // namespace

TEST_CASE("three buffers, cleared one operation later, are enough for bare data", "[comm]") {
  for (int const ranks : {2, 3}) {
    explorer model{{protocol::lamport_buffers, protocol::cleared_after}, ranks, ranks == 2 ? 8 : 4};
    CHECK(model.run() == "");
    CHECK(model.states() > 50);
  }
}

TEST_CASE("three buffers are enough as messages change their size", "[comm]") {
  rules const of{protocol::lamport_buffers, protocol::cleared_after};
  CHECK(explorer(of, 2, {1, 2, 1, 1, 2, 2, 1, 2}).run() == "");
  CHECK(explorer(of, 3, {2, 1, 2}).run() == "");
}

TEST_CASE("two buffers are not, nor another order of clearing", "[comm]") {
  CHECK(explorer({2, 1}, 2, 5).run() != "");
  CHECK(explorer({3, 2}, 2, 6).run() != "");
  CHECK(explorer({3, 3}, 2, 6).run() != "");
}

namespace {

/// Ranks that meet twice in each operation by flags that only grow, and use the buffers in between.
struct meeting_state {
  std::array<unsigned char, most_ranks> phase{};  ///< steps done
  std::array<unsigned char, most_ranks> heard{};  ///< peers found to be there in this handshake
  std::array<std::array<unsigned, most_ranks>, most_ranks> flag{};
  auto operator<=>(meeting_state const&) const = default;
};

/// Explores; `start` is what the flags and counts begin with.
std::string explore_meetings(int ranks, unsigned operations, unsigned start) {
  meeting_state first;
  for (auto& each : first.flag) { each.fill(start); }
  std::set<meeting_state> seen{first};
  std::vector<meeting_state> open{first};
  auto const ends = operations * protocol::barriers * 2;  // raise, then wait, for each
  while (!open.empty()) {
    auto const now = open.back();
    open.pop_back();
    bool moved = false;
    bool done = true;
    for (int rank = 0; rank < ranks; ++rank) {
      auto const r = static_cast<std::size_t>(rank);
      auto const phase = now.phase[r];
      if (phase == ends) { continue; }
      done = false;
      auto const wanted = start + 1 + phase / 2;
      auto next = now;
      if (phase % 2 == 0) {  // raise all flags
        for (int peer = 0; peer < ranks; ++peer) {
          next.flag[static_cast<std::size_t>(peer)][r] = wanted;
        }
        ++next.phase[r];
        next.heard[r] = 0;
      } else {
        auto const p = now.heard[r];
        auto const value = now.flag[r][p];
        if (!protocol::plausible(value, wanted)) { return "a flag that cannot be"; }
        if (!protocol::reached(value, wanted)) { continue; }
        if (++next.heard[r] == ranks) {
          next.heard[r] = 0;
          ++next.phase[r];
        }
      }
      moved = true;
      // Whoever is between the handshakes of an operation uses all buffers: then every rank must
      // have begun that operation, and none have ended it.
      for (int user = 0; user < ranks; ++user) {
        auto const at = next.phase[static_cast<std::size_t>(user)];
        if (at % 4 != 2) { continue; }
        for (int owner = 0; owner < ranks; ++owner) {
          auto const other = next.phase[static_cast<std::size_t>(owner)];
          if (other < at / 4 * 4 + 1 || other >= at / 4 * 4 + 4) { return "a buffer not lent"; }
        }
      }
      if (seen.insert(next).second) { open.push_back(next); }
    }
    if (!moved && !done) { return "deadlock"; }
  }
  return "";
}

}  // namespace

TEST_CASE("between its two handshakes a rank has the use of all buffers, also as flags wrap",
          "[comm]") {
  for (unsigned const start : {0U, 0xFFFFFFFCU, 0x7FFFFFFDU}) {
    CHECK(explore_meetings(2, 5, start) == "");
    CHECK(explore_meetings(3, 3, start) == "");
  }
}

TEST_CASE("epochs keep their turns as they wrap, and none is what scratch is made of", "[comm]") {
  unsigned epoch = 0xFFFFFFF0U;
  for (int i = 0; i < 40; ++i) {
    auto const next = protocol::next_epoch(epoch);
    CHECK(next != 0);
    CHECK(protocol::lamport_buffer(next) ==
          (protocol::lamport_buffer(epoch) + 1) % protocol::lamport_buffers);
    CHECK(protocol::buffer_to_clear(next) == protocol::lamport_buffer(epoch));
    epoch = next;
  }
  CHECK(epoch < 100);
}

TEST_CASE("each renewal is in time for numbers of 32 bits", "[comm]") {
  constexpr auto period = protocol::renewal_period;
  // A number written just after one renewal waits for the next renewal. One renewal may be lost,
  // and the number is then read by operations of up to a period.
  CHECK(4 * std::uint64_t{period} < std::uint64_t{1} << 31U);
  for (unsigned k = 0; k < 16; ++k) {
    auto const end = (k + 1) * period;
    INFO("up to " << end);
    CHECK(protocol::renews(end - 3, end + 2));
    CHECK(protocol::renews(end - 1, end));
    CHECK_FALSE(protocol::renews(end - 3, end - 1));
    CHECK_FALSE(protocol::renews(end, end + period - 1));
  }
}

TEST_CASE("a flag far off is no peer's", "[comm]") {
  CHECK(protocol::plausible(4, 5));
  CHECK(protocol::plausible(5, 5));
  CHECK(protocol::plausible(6, 5));
  CHECK_FALSE(protocol::plausible(3, 5));
  CHECK_FALSE(protocol::plausible(7, 5));
  CHECK_FALSE(protocol::plausible(0xDEADBEEF, 5));
}

TEST_CASE("what stands is no later than the last and not older than renewals let it be", "[comm]") {
  constexpr auto oldest = 4 * protocol::renewal_period - 1;
  for (unsigned const last : {0U, 5U, oldest, 0x80000000U, 0xFFFFFFFFU}) {
    INFO("last " << last);
    CHECK(protocol::can_stand(last, last));
    CHECK(protocol::can_stand(last - 1, last));
    CHECK(protocol::can_stand(last - oldest, last));
    CHECK_FALSE(protocol::can_stand(last + 1, last));
    CHECK_FALSE(protocol::can_stand(last - oldest - 1, last));
  }
}
