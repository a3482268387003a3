// SPDX-License-Identifier: Apache-2.0
/// @file
/// Every interleaving of a few ranks and operations: no packet is lost, none is read twice, no rank
/// waits for ever. A model of one block's channel, by the rules of comm/protocol.hpp.

#include "catch.hpp"

#include <assay/comm/protocol.hpp>

#include <array>
#include <numeric>
#include <set>
#include <string>
#include <vector>

using namespace assay::comm;

namespace {

constexpr int most_ranks = 3;
constexpr unsigned most_buffers = 4;
constexpr int no_data = -1;

enum class step : unsigned char { send, clear, receive };

/// What a rank does in one operation, for each of its peers.
struct action {
  step what;
  int peer;
};

/// Ranks of a model: `Rules` says which buffer an epoch has, whether buffers are cleared, and what
/// a reader takes for data of its operation.
struct state {
  std::array<unsigned char, most_ranks> operation{};
  std::array<unsigned char, most_ranks> position{};
  /// What stands in `buffer` of a rank for a source: the epoch it was written in, or `no_data`.
  std::array<std::array<std::array<signed char, most_buffers>, most_ranks>, most_ranks> slot{};
  auto operator<=>(state const&) const = default;
};

struct rules {
  unsigned buffers;
  unsigned cleared_after;  ///< 0: readers know the epoch by itself
};

/// Explores all interleavings of `ranks` ranks that each do `operations`; returns what went wrong.
class explorer {
 public:
  explorer(rules of, int ranks, int operations)
      : rules_(of), ranks_(ranks), operations_(operations) {}

  std::string run() {
    state first;
    for (auto& rank : first.slot) {
      for (auto& source : rank) { source.fill(no_data); }
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
        if (now.operation[r] == operations_) { continue; }
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
  std::vector<action> program(int rank) const {
    std::vector<action> all;
    for (auto const what : {step::send, step::clear, step::receive}) {
      if (what == step::clear && rules_.cleared_after == 0) { continue; }
      for (int peer = 0; peer < ranks_; ++peer) {
        if (peer != rank) { all.push_back({what, peer}); }
      }
    }
    return all;
  }

  unsigned buffer_of(unsigned epoch) const { return epoch % rules_.buffers; }

  /// Does the next action of a rank; false where it has to wait.
  bool advance(state& now, int rank) {
    auto const r = static_cast<std::size_t>(rank);
    auto const epoch = static_cast<unsigned>(now.operation[r]) + 1;
    auto const all = program(rank);
    auto const [what, peer] = all[now.position[r]];
    auto const p = static_cast<std::size_t>(peer);
    if (what == step::send) {
      auto& there = now.slot[p][r][buffer_of(epoch)];
      // Overwriting what the peer has not read yet loses it.
      if (there != no_data && now.operation[p] < there) { wrong_ = "a packet was overwritten"; }
      if (rules_.cleared_after != 0 && there != no_data) { wrong_ = "a buffer was not clear"; }
      there = static_cast<signed char>(epoch);
    } else if (what == step::clear) {
      auto const to_clear =
          (epoch % rules_.buffers + rules_.buffers - rules_.cleared_after) % rules_.buffers;
      auto& there = now.slot[r][p][to_clear];
      if (there != no_data && static_cast<unsigned>(there) >= epoch) {
        wrong_ = "a packet was cleared before it was read";
      }
      there = no_data;
    } else {
      auto const there = now.slot[r][p][buffer_of(epoch)];
      bool const by_epoch = rules_.cleared_after == 0;
      if (by_epoch ? there != static_cast<signed char>(epoch) : there == no_data) { return false; }
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
  int operations_;
  std::set<state> seen_;
  std::string wrong_;
};

}  // namespace

TEST_CASE("two buffers are enough for packets that carry their epoch", "[comm]") {
  for (int const ranks : {2, 3}) {
    explorer model{{protocol::ll_buffers, 0}, ranks, ranks == 2 ? 7 : 4};
    CHECK(model.run() == "");
    CHECK(model.states() > 50);
  }
}

TEST_CASE("one buffer is not", "[comm]") {
  explorer model{{1, 0}, 2, 4};
  CHECK(model.run() != "");
}

TEST_CASE("three buffers, cleared one operation later, are enough for bare data", "[comm]") {
  for (int const ranks : {2, 3}) {
    explorer model{{protocol::lamport_buffers, protocol::cleared_after}, ranks, ranks == 2 ? 8 : 4};
    CHECK(model.run() == "");
    CHECK(model.states() > 50);
  }
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
  auto const ends = operations * protocol::handshakes * 2;  // raise, then wait, for each
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

namespace {

constexpr int most_warps = 2;
template <class Count>
using of_warps = std::array<std::array<Count, most_warps>, most_ranks>;

/// Explores all orders of moves from `first`, by ranks that run so many operations: `move(state,
/// rank, which)` makes one of `moves` moves, and says whether the rank could. Returns "deadlock",
/// or what a move put into `wrong`, or nothing.
template <class State, class Move>
std::string explore_operations(std::set<State>& seen, std::size_t ranks, std::size_t operations,
                               std::size_t moves, std::string& wrong, Move const& move) {
  State const first{};
  seen = {first};
  std::vector<State> open{first};
  while (!open.empty() && wrong.empty()) {
    auto const now = open.back();
    open.pop_back();
    bool moved = false;
    bool done = true;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (now.operation[r] == operations) { continue; }
      done = false;
      for (std::size_t which = 0; which < moves; ++which) {
        auto next = now;
        if (!move(next, r, which)) { continue; }
        moved = true;
        if (seen.insert(next).second) { open.push_back(next); }
      }
    }
    if (!moved && !done && wrong.empty()) { wrong = "deadlock"; }
  }
  return wrong;
}

/// An operation of a ring: its items, and the blocks of each kind; a reducer has one group.
struct ring_operation {
  unsigned items, senders, reducers;
};

constexpr int none = -1;
constexpr unsigned most_slots = 8;

/// The item whose tile or sum stands in each slot of a rank from another, of all operations, and
/// one more; 0: the slot is clear.
using slots_of_ranks =
    std::array<std::array<std::array<unsigned char, most_slots>, most_ranks>, most_ranks>;

/// Ranks that send items by ticket and reduce what has come.
struct ring_model {
  std::array<unsigned char, most_ranks> operation{};
  std::array<unsigned char, most_ranks> taken{};  ///< tickets of this operation
  of_warps<signed char> held{};                   ///< item of each sender, less one; 0: none
  of_warps<unsigned char> unflagged{};            ///< item of each sender whose flag is to come, so
  of_warps<unsigned char> reduced{};              ///< items of each reducer
  of_warps<unsigned char> awaits_sums{};          ///< each reducer of its next item
  std::array<std::array<unsigned char, most_ranks>, most_ranks> flag{};    ///< at a rank, of each
  std::array<std::array<unsigned char, most_slots>, most_ranks> loaded{};  ///< item, and one more
  std::array<unsigned char, most_ranks> told{};  ///< periods, and one for the begin
  slots_of_ranks tile{};
  slots_of_ranks sum{};
  auto operator<=>(ring_model const&) const = default;
};

/// Explores operations by the rules of a plan; `Rules` changes them, to see that they are needed.
struct ring_rules {
  unsigned room = 4;
  bool two_shot = false;
  unsigned free_after = 0;  ///< slots taken for clear too early
  bool rounds_slots = true;
  bool heeds_grid = true;
  bool tells_at_begin = true;
  std::set<std::size_t> in_place = {};  ///< ranks that overwrite what they send
  bool awaits_loaded = true;
  bool heeds_itself = true;   ///< in place: waits for its own reducers
  bool flags_before = false;  ///< in place: flags what is loaded before it may be sent
};

class ring_explorer {
 public:
  ring_explorer(ring_rules of, std::size_t ranks) : rules_(of), ranks_(ranks) {}

  std::string run(std::vector<ring_operation> const& all) {
    operations_ = all;
    return explore_operations(seen_, ranks_, all.size(), 3 * most_warps, wrong_,
                              [this](ring_model& next, std::size_t r, std::size_t which) {
                                if (!advance(next, r, which % most_warps, which / most_warps)) {
                                  return false;
                                }
                                end_operation(next, r);
                                return true;
                              });
  }
  std::size_t states() const { return seen_.size(); }

 private:
  protocol::ring_plan plan(ring_operation const& of) const {
    auto made = protocol::plan_ring(of.items, 1, rules_.room, of.senders, of.reducers);
    if (!rules_.rounds_slots) { made.slots = rules_.room; }
    return made;
  }
  unsigned slots(ring_operation const& of) const { return plan(of).slots; }
  /// Where an item of this operation goes: on from where the last one ended.
  unsigned slot_of(ring_model const& now, std::size_t r, unsigned item) const {
    unsigned first = 0;
    for (std::size_t k = 0; k < now.operation[r]; ++k) {
      first = (first + operations_[k].items) % slots(operations_[k]);
    }
    return (first + item) % slots(operations_[now.operation[r]]);
  }
  unsigned before(ring_model const& now, std::size_t r) const {
    unsigned sum = 0;
    for (std::size_t k = 0; k < now.operation[r]; ++k) { sum += operations_[k].items; }
    return sum;
  }

  bool advance(ring_model& now, std::size_t r, std::size_t w, std::size_t what) {
    auto const& of = operations_[now.operation[r]];
    if (what == 0) { return w < of.senders && send(now, r, w, of); }
    if (what == 1) { return w < of.reducers && reduce(now, r, w, of); }
    return w == 0 && tell(now, r, of);
  }

  /// Takes an item, sends the one that it holds, or says in place that it has loaded it.
  bool send(ring_model& now, std::size_t r, std::size_t w, ring_operation const& of) {
    auto& held = now.held[r][w];
    auto& unflagged = now.unflagged[r][w];
    auto const begun = before(now, r);
    if (unflagged != 0 && (held == 0 || rules_.flags_before)) {
      auto const item = unflagged - 1U;
      now.loaded[r][slot_of(now, r, item)] = static_cast<unsigned char>(begun + item + 1);
      unflagged = 0;
      return true;
    }
    if (held == 0) {
      if (now.taken[r] == of.items) { return false; }
      held = static_cast<signed char>(++now.taken[r]);
      if (in_place(r)) { unflagged = now.taken[r]; }
      return true;
    }
    auto const item = static_cast<unsigned>(held) - 1;
    auto const number = begun + item;
    if (!may_send(now, r, number)) { return false; }
    put(now.tile, r, slot_of(now, r, item), number, "a tile was overwritten");
    held = 0;
    return true;
  }
  bool in_place(std::size_t r) const { return rules_.in_place.contains(r); }

  bool may_send(ring_model const& now, std::size_t r, unsigned number) const {
    auto const& of = operations_[now.operation[r]];
    return protocol::reached(cleared(now, r, of, before(now, r)) + rules_.free_after,
                             number + 1 - slots(of));
  }
  /// What who sends may take for cleared.
  unsigned cleared(ring_model const& now, std::size_t r, ring_operation const& of,
                   unsigned begun) const {
    unsigned least = begun + of.items;
    for (std::size_t p = 0; p < ranks_; ++p) {
      if (p == r && !(in_place(r) && rules_.heeds_itself)) { continue; }
      least = std::min<unsigned>(least, now.flag[r][p]);
    }
    bool const other_grid =
        now.operation[r] > 0 && operations_[now.operation[r] - 1U].reducers != of.reducers;
    if (rules_.heeds_grid && other_grid && least < begun) { return begun - slots(of); }
    return least;
  }

  /// Reduces a tile; of two shots sends the sum, and in another move takes those of the others.
  bool reduce(ring_model& now, std::size_t r, std::size_t w, ring_operation const& of) {
    auto const item = static_cast<unsigned>(now.reduced[r][w] * of.reducers + w);
    if (item >= of.items) { return false; }
    auto const number = before(now, r) + item;
    auto const at = slot_of(now, r, item);
    auto& awaits_sums = now.awaits_sums[r][w];
    bool const sends = rules_.two_shot && awaits_sums == 0;
    if (sends && !may_send(now, r, number)) { return false; }
    if (in_place(r) && rules_.awaits_loaded && now.loaded[r][at] != number + 1) { return false; }
    if (!take(awaits_sums != 0 ? now.sum : now.tile, r, at, number)) { return false; }
    if (in_place(r) && !is_loaded(now, r, item)) { wrong_ = "an input was overwritten"; }
    if (sends) {
      awaits_sums = 1;
      put(now.sum, r, at, number, "a sum was overwritten");
    } else {
      awaits_sums = 0;
      ++now.reduced[r][w];
    }
    return true;
  }

  /// At the latest when it is sent, or flagged.
  bool is_loaded(ring_model const& now, std::size_t r, unsigned item) const {
    for (std::size_t w = 0; w < most_warps; ++w) {
      auto const held = static_cast<unsigned>(now.held[r][w]);
      if (held == item + 1 && now.unflagged[r][w] != 0) { return false; }
    }
    return item < now.taken[r];
  }

  /// Into a slot of all others.
  void put(slots_of_ranks& slots, std::size_t r, unsigned at, unsigned number,
           char const* if_there) {
    for (std::size_t p = 0; p < ranks_; ++p) {
      if (p == r) { continue; }
      if (slots[p][r][at] != 0) { wrong_ = if_there; }
      slots[p][r][at] = static_cast<unsigned char>(number + 1);
    }
  }
  /// From all others, once all are there.
  bool take(slots_of_ranks& slots, std::size_t r, unsigned at, unsigned number) {
    for (std::size_t p = 0; p < ranks_; ++p) {
      if (p == r) { continue; }
      if (slots[r][p][at] == 0) { return false; }
      if (slots[r][p][at] != number + 1) { wrong_ = "another item was read"; }
    }
    for (std::size_t p = 0; p < ranks_; ++p) { slots[r][p][at] = 0; }
    return true;
  }

  bool tell(ring_model& now, std::size_t r, ring_operation const& of) const {
    auto const of_plan = plan(of);
    unsigned const k = now.told[r];
    auto const cleared = k * of_plan.period;
    if (k > of_plan.periods) { return false; }
    for (std::size_t w = 0; w < of.reducers; ++w) {
      if (now.reduced[r][w] * of.reducers < cleared) { return false; }
    }
    ++now.told[r];
    if (k == 0 && !rules_.tells_at_begin) { return true; }
    for (std::size_t p = 0; p < ranks_; ++p) {
      now.flag[p][r] = static_cast<unsigned char>(before(now, r) + cleared);
    }
    return true;
  }

  void end_operation(ring_model& now, std::size_t r) const {
    auto const& of = operations_[now.operation[r]];
    unsigned reduced = 0;
    for (std::size_t w = 0; w < most_warps; ++w) {
      if (now.held[r][w] != 0 || now.unflagged[r][w] != 0) { return; }
      if (w >= of.reducers) { continue; }
      reduced += now.reduced[r][w];
    }
    if (now.taken[r] != of.items || reduced != of.items) { return; }
    if (now.told[r] <= plan(of).periods) { return; }
    ++now.operation[r];
    now.taken[r] = 0;
    now.reduced[r].fill(0);
    now.told[r] = 0;
  }

  ring_rules rules_;
  std::size_t ranks_;
  std::vector<ring_operation> operations_;
  std::set<ring_model> seen_;
  std::string wrong_;
};

}  // namespace

TEST_CASE("items by ticket lose nothing, within an operation and from one to the next", "[comm]") {
  for (bool const two_shot : {false, true}) {
    INFO((two_shot ? "two shots" : "all to all"));
    ring_explorer one_each{{.room = 4, .two_shot = two_shot}, 2};
    CHECK(one_each.run({{1, 1, 1}, {9, 1, 1}, {3, 1, 1}}) == "");
    CHECK(one_each.states() > 500);
    ring_explorer two_senders{{.room = 4, .two_shot = two_shot}, 2};
    CHECK(two_senders.run({{6, 2, 1}, {1, 2, 1}}) == "");
    CHECK(two_senders.states() > 1000);
    ring_explorer two_reducers{{.room = 4, .two_shot = two_shot}, 2};
    CHECK(two_reducers.run({{7, 1, 2}, {2, 1, 2}}) == "");
    CHECK(two_reducers.states() > 1000);
    ring_explorer more_room{{.room = 8, .two_shot = two_shot}, 2};
    CHECK(more_room.run({{9, 1, 2}}) == "");
    CHECK(more_room.states() > 1000);
    ring_explorer three_ranks{{.room = 2, .two_shot = two_shot}, 3};
    CHECK(three_ranks.run({{3, 1, 1}, {1, 1, 1}}) == "");
    CHECK(three_ranks.states() > 1000);
  }
}

TEST_CASE("items by ticket lose nothing in place, whoever else is", "[comm]") {
  for (auto const& in_place : {std::set<std::size_t>{0}, std::set<std::size_t>{0, 1}}) {
    INFO(in_place.size() << " ranks in place");
    ring_rules const rules{.room = 4, .in_place = in_place};
    CHECK(ring_explorer(rules, 2).run({{9, 1, 1}, {3, 1, 1}}) == "");
    CHECK(ring_explorer(rules, 2).run({{6, 2, 1}, {1, 2, 1}}) == "");
    CHECK(ring_explorer(rules, 2).run({{7, 1, 2}, {2, 1, 2}}) == "");
    CHECK(ring_explorer(rules, 2).run({{2, 1, 1}, {5, 1, 2}, {1, 1, 1}}) == "");
    ring_rules const of_three{.room = 2, .in_place = in_place};
    CHECK(ring_explorer(of_three, 3).run({{3, 1, 1}, {1, 1, 1}}) == "");
    auto const run = [&](ring_rules other, std::vector<ring_operation> const& all) {
      other.in_place = in_place;
      return ring_explorer(other, 2).run(all);
    };
    CHECK(run({.room = 4, .awaits_loaded = false}, {{9, 1, 1}}) == "an input was overwritten");
    CHECK(run({.room = 4, .heeds_itself = false}, {{9, 2, 1}}) == "deadlock");
    CHECK(run({.room = 4, .flags_before = true}, {{9, 1, 1}}) == "deadlock");
  }
}

TEST_CASE("items by ticket lose nothing as the grid changes", "[comm]") {
  for (unsigned const room : {4U, 5U}) {
    for (bool const two_shot : {false, true}) {
      ring_rules const rules{.room = room, .two_shot = two_shot};
      CHECK(ring_explorer(rules, 2).run({{6, 1, 2}, {3, 1, 1}}) == "");
      CHECK(ring_explorer(rules, 2).run({{2, 1, 1}, {5, 1, 2}, {1, 1, 1}}) == "");
    }
  }
}

TEST_CASE("each of the rules for items by ticket is needed", "[comm]") {
  for (bool const two_shot : {false, true}) {
    INFO((two_shot ? "two shots" : "all to all"));
    auto const run = [&](ring_rules rules, std::vector<ring_operation> const& all) {
      rules.two_shot = two_shot;
      return ring_explorer(rules, 2).run(all);
    };
    CHECK(run({.room = 4, .free_after = 1}, {{9, 1, 1}}) == "a tile was overwritten");
    CHECK(run({.room = 4, .tells_at_begin = false}, {{2, 1, 1}, {2, 1, 1}, {2, 1, 1}}) ==
          "deadlock");
    // As many slots as are reduced at once, of which half are not told of.
    CHECK(run({.room = 2}, {{9, 1, 2}}) == "deadlock");
  }
  // These hold between two shots by themselves: sums keep the ranks' reducers together.
  CHECK(ring_explorer({.room = 5, .rounds_slots = false}, 2).run({{7, 1, 2}}) ==
        "another item was read");
  CHECK(ring_explorer({.room = 5, .heeds_grid = false}, 2).run({{6, 1, 2}, {3, 1, 1}}) ==
        "a tile was overwritten");
}

TEST_CASE("a plan's periods fit into the slots, and few are open at a time", "[comm]") {
  for (unsigned const room : {8U, 24U, 104U, 1716U, 6864U}) {
    for (unsigned at_once = 4; at_once <= room / 2; at_once += 4) {
      for (unsigned const tiles : {1U, room / 2, room, room + 1, 10 * room + 3}) {
        auto const plan = protocol::plan_ring(tiles, 1, room, 1, at_once);
        INFO(tiles << " tiles, room for " << room << ", " << at_once << " at once");
        REQUIRE(plan.slots <= room);
        REQUIRE(plan.slots % at_once == 0);
        REQUIRE(plan.period % at_once == 0);
        REQUIRE(plan.period <= plan.slots / 2);
        REQUIRE(plan.slots / plan.period + 2 <= protocol::ring_open_periods);
        // Told of within the operation: all that the last tile needs, and never its last half.
        REQUIRE(plan.periods * plan.period + plan.slots >= tiles);
        REQUIRE((plan.periods == 0 || plan.periods * plan.period + plan.slots / 2 < tiles));
      }
    }
  }
}

TEST_CASE("epochs keep their turns as they wrap, and none is what scratch is made of", "[comm]") {
  unsigned epoch = 0xFFFFFFF0U;
  for (int i = 0; i < 40; ++i) {
    auto const next = protocol::next_epoch(epoch);
    CHECK(next != 0);
    CHECK(protocol::ll_buffer(next) == (protocol::ll_buffer(epoch) + 1) % protocol::ll_buffers);
    CHECK(protocol::lamport_buffer(next) ==
          (protocol::lamport_buffer(epoch) + 1) % protocol::lamport_buffers);
    CHECK(protocol::buffer_to_clear(next) == protocol::lamport_buffer(epoch));
    epoch = next;
  }
  CHECK(epoch < 100);
}

TEST_CASE("a flag far off is no peer's", "[comm]") {
  CHECK(protocol::plausible(4, 5));
  CHECK(protocol::plausible(5, 5));
  CHECK(protocol::plausible(6, 5));
  CHECK_FALSE(protocol::plausible(3, 5));
  CHECK_FALSE(protocol::plausible(7, 5));
  CHECK_FALSE(protocol::plausible(0xDEADBEEF, 5));
}
