// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// A model of fifo_one_shot and fifo_two_shot by the rules of comm/protocol.hpp. In every
/// interleaving of a few ranks, no tile is lost, none is read twice, and no rank waits for ever.

#include "catch.hpp"

#include <assay/comm/protocol.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

using namespace assay::comm;

namespace {

constexpr int most_ranks = 3;
constexpr int most_warps = 2;
template <class Count>
using of_warps = std::array<std::array<Count, most_warps>, most_ranks>;

/// An operation of a ring: its items, and the blocks of each kind; a reducer has one group.
struct fifo_operation {
  unsigned items, senders, reducers;
  bool all_apart = false;  ///< none is in place
};

constexpr int none = -1;
constexpr unsigned most_slots = 8;

/// The item whose tile or sum stands in each slot of a rank from another, of all operations, and
/// one more; 0: the slot is clear.
using slots_of_ranks =
    std::array<std::array<std::array<unsigned char, most_slots>, most_ranks>, most_ranks>;

/// Ranks that send items by ticket and reduce what has come.
struct fifo_model {
  std::array<unsigned char, most_ranks> operation{};
  std::array<unsigned char, most_ranks> taken{};  ///< tickets of this operation
  of_warps<signed char> held{};                   ///< item of each sender, less one; 0: none
  of_warps<unsigned char> unflagged{};            ///< item of each sender whose flag is to come, so
  of_warps<unsigned char> reduced{};              ///< items of each reducer
  of_warps<unsigned char> awaits_sums{};          ///< each reducer of its next item
  of_warps<unsigned char> updates{};              ///< periods of each reducer; its first: and begun
  of_warps<unsigned char> block_consumed{};       ///< number up to where each reducer has cleared
  std::array<std::array<unsigned char, most_ranks>, most_ranks> flag{};    ///< at a rank, of each
  std::array<std::array<unsigned char, most_slots>, most_ranks> loaded{};  ///< number, and one more
  std::array<bool, most_ranks> renewed{};
  slots_of_ranks tile{};
  slots_of_ranks sum{};
};

/// The digests of states that were seen, in a table of which at most half is filled. Of some
/// millions of states two with one digest are as likely as 1 in 10^6, and the states are the same
/// in each run.
class seen_states {
 public:
  /// False for a state that is there already.
  bool insert(fifo_model const& model) {
    static_assert(std::has_unique_object_representations_v<fifo_model>);
    std::string_view const bytes{reinterpret_cast<char const*>(&model), sizeof model};
    if (!place(std::hash<std::string_view>{}(bytes) | 1U)) { return false; }
    if (++size_ * 2 > table_.size()) {
      auto const old = std::exchange(table_, std::vector<std::size_t>(4 * table_.size()));
      for (auto const each : old) {
        if (each != 0) { place(each); }
      }
    }
    return true;
  }
  std::size_t size() const { return size_; }

 private:
  bool place(std::size_t digest) {
    auto at = digest / 2 % table_.size();
    while (table_[at] != 0 && table_[at] != digest) { at = (at + 1) % table_.size(); }
    return std::exchange(table_[at], digest) == 0;
  }
  std::vector<std::size_t> table_ = std::vector<std::size_t>(1024);
  std::size_t size_ = 0;
};

/// Explores operations by the rules of a plan; `Rules` changes them, to see that they are needed.
struct fifo_rules {
  unsigned room = 4;
  bool two_shot = false;
  unsigned free_after = 0;  ///< slots taken for clear too early
  bool rounds_slots = true;
  bool checks_grid = true;
  bool publishes_at_begin = true;
  std::set<std::size_t> in_place = {};  ///< ranks that overwrite their input
  bool awaits_loaded = true;
  bool waits_for_self = true;        ///< in place: waits for its own reducers
  bool flags_before_credit = false;  ///< in place: flags what is loaded before it may be sent
  /// Item numbers wrap after so many, a power of two.
  unsigned numbers = 256;
  unsigned renewal_period = 0;  ///< 0: nothing is renewed
  bool renews_used_flags = false;
  bool renews_early = false;  ///< before all has been updates
};

/// Explores all orders of the ranks' moves. The result is an error, "deadlock", or nothing.
class fifo_explorer {
 public:
  fifo_explorer(fifo_rules of, std::size_t ranks) : rules_(of), ranks_(ranks) {}

  std::string run(std::vector<fifo_operation> const& all) {
    operations_ = all;
    seen_ = {};
    seen_.insert(fifo_model{});
    std::vector<fifo_model> open{fifo_model{}};
    while (!open.empty() && wrong_.empty()) {
      auto const now = open.back();
      open.pop_back();
      bool moved = false;
      bool done = true;
      for (std::size_t r = 0; r < ranks_; ++r) {
        if (now.operation[r] == operations_.size()) { continue; }
        done = false;
        for (auto const what : {move::send, move::reduce, move::publish, move::renew}) {
          for (std::size_t w = 0; w < most_warps; ++w) {
            auto next = now;
            if (!advance(next, r, w, what)) { continue; }
            end_operation(next, r);
            moved = true;
            if (seen_.insert(next)) { open.push_back(next); }
          }
        }
      }
      if (!moved && !done && wrong_.empty()) { wrong_ = "deadlock"; }
    }
    return wrong_;
  }
  std::size_t states() const { return seen_.size(); }

 private:
  protocol::fifo_plan plan(fifo_operation const& of) const {
    auto made = protocol::plan_fifo(of.items, 1, rules_.room, of.senders, of.reducers);
    if (!rules_.rounds_slots) { made.slots = rules_.room; }
    return made;
  }
  unsigned slots(fifo_operation const& of) const { return plan(of).slots; }
  /// The slot of an item; operations continue where the last one ended.
  unsigned slot_of(fifo_model const& now, std::size_t r, unsigned item) const {
    unsigned first = 0;
    for (std::size_t k = 0; k < now.operation[r]; ++k) {
      first = (first + operations_[k].items) % slots(operations_[k]);
    }
    return (first + item) % slots(operations_[now.operation[r]]);
  }
  unsigned before(fifo_model const& now, std::size_t r) const {
    unsigned sum = 0;
    for (std::size_t k = 0; k < now.operation[r]; ++k) { sum += operations_[k].items; }
    return sum;
  }

  enum class move { send, reduce, publish, renew };

  bool advance(fifo_model& now, std::size_t r, std::size_t w, move what) {
    auto const& of = operations_[now.operation[r]];
    if (what == move::send) { return w < of.senders && send(now, r, w, of); }
    if (what == move::reduce) { return w < of.reducers && reduce(now, r, w, of); }
    if (what == move::publish) { return w < of.reducers && publish(now, r, w, of); }
    return w == 0 && renew(now, r, of);
  }

  unsigned char in_flags(unsigned number) const {
    return static_cast<unsigned char>(number % rules_.numbers);
  }
  /// By how much a flag is ahead of a number, as far as flags can say.
  int ahead(unsigned flag, unsigned number) const {
    auto const by = static_cast<int>((flag - number) % rules_.numbers);
    auto const half = static_cast<int>(rules_.numbers / 2);
    return by < half ? by : by - 2 * half;
  }

  /// Takes an item, sends the item that it holds, or in place flags the item as loaded.
  bool send(fifo_model& now, std::size_t r, std::size_t w, fifo_operation const& of) {
    auto& held = now.held[r][w];
    auto& unflagged = now.unflagged[r][w];
    auto const begun = before(now, r);
    if (unflagged != 0 && (held == 0 || rules_.flags_before_credit)) {
      auto const item = unflagged - 1U;
      now.loaded[r][slot_of(now, r, item)] = in_flags(begun + item + 1);
      unflagged = 0;
      return true;
    }
    if (held == 0) {
      if (now.taken[r] == of.items) { return false; }
      held = static_cast<signed char>(++now.taken[r]);
      if (in_place(now, r)) { unflagged = now.taken[r]; }
      return true;
    }
    auto const item = static_cast<unsigned>(held) - 1;
    auto const number = begun + item;
    if (!may_send(now, r, item)) { return false; }
    put(now.tile, r, slot_of(now, r, item), number, "a tile was overwritten");
    held = 0;
    return true;
  }
  bool in_place(fifo_model const& now, std::size_t r) const {
    return !operations_[now.operation[r]].all_apart && rules_.in_place.contains(r);
  }

  bool may_send(fifo_model const& now, std::size_t r, unsigned item) const {
    auto const& of = operations_[now.operation[r]];
    auto const free = cleared(now, r, of) + static_cast<int>(slots(of) + rules_.free_after);
    return static_cast<int>(item) < free;
  }
  /// Items of this operation that a sender knows to be consumed; negative: items of earlier ones.
  int cleared(fifo_model const& now, std::size_t r, fifo_operation const& of) const {
    auto least = static_cast<int>(of.items);
    for (std::size_t p = 0; p < ranks_; ++p) {
      if (p == r && !(in_place(now, r) && rules_.waits_for_self)) { continue; }
      least = std::min(least, ahead(now.flag[r][p], before(now, r)));
    }
    bool const other_grid =
        now.operation[r] > 0 && operations_[now.operation[r] - 1U].reducers != of.reducers;
    if (rules_.checks_grid && other_grid && least < 0) { return -static_cast<int>(slots(of)); }
    return least;
  }

  /// Reduces a tile. In two shots, sends the sum, and takes the other ranks' sums in another move.
  bool reduce(fifo_model& now, std::size_t r, std::size_t w, fifo_operation const& of) {
    auto const item = static_cast<unsigned>(now.reduced[r][w] * of.reducers + w);
    if (item >= of.items) { return false; }
    auto const number = before(now, r) + item;
    auto const at = slot_of(now, r, item);
    auto& awaits_sums = now.awaits_sums[r][w];
    bool const sends = rules_.two_shot && awaits_sums == 0;
    if (sends && !may_send(now, r, item)) { return false; }
    bool const overwrites = in_place(now, r);
    if (overwrites && rules_.awaits_loaded && now.loaded[r][at] != in_flags(number + 1)) {
      return false;
    }
    if (!take(awaits_sums != 0 ? now.sum : now.tile, r, at, number)) { return false; }
    if (overwrites && !is_loaded(now, r, item)) { wrong_ = "an input was overwritten"; }
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
  bool is_loaded(fifo_model const& now, std::size_t r, unsigned item) const {
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

  /// Counts the consumed items of a reducer; the first reducer publishes the count of all.
  bool publish(fifo_model& now, std::size_t r, std::size_t w, fifo_operation const& of) const {
    auto const of_plan = plan(of);
    unsigned const k = now.updates[r][w] + (w == 0 ? 0U : 1U);
    if (k > of_plan.periods) { return false; }
    auto const items = k * of_plan.period;
    auto const cleared = before(now, r) + items;
    if (now.reduced[r][w] * of.reducers < items) { return false; }
    if (w == 0 && k > 0) {
      for (std::size_t other = 1; other < of.reducers; ++other) {
        if (ahead(now.block_consumed[r][other], cleared) < 0) { return false; }
      }
    }
    ++now.updates[r][w];
    if (w > 0) {
      now.block_consumed[r][w] = in_flags(cleared);
    } else if (k > 0 || rules_.publishes_at_begin) {
      for (std::size_t p = 0; p < ranks_; ++p) { now.flag[p][r] = in_flags(cleared); }
    }
    return true;
  }

  /// True where numbers of the operation pass a multiple of the renewal period.
  bool renews(fifo_model const& now, std::size_t r, fifo_operation const& of) const {
    if (rules_.renewal_period == 0) { return false; }
    auto const begun = before(now, r);
    return begun / rules_.renewal_period != (begun + of.items) / rules_.renewal_period;
  }
  /// When all has been updates, sets what reducers block_consumed, and the flags that are not used.
  bool renew(fifo_model& now, std::size_t r, fifo_operation const& of) const {
    if (now.renewed[r] || !renews(now, r, of)) { return false; }
    if (now.updates[r][0] <= plan(of).periods && !rules_.renews_early) { return false; }
    now.renewed[r] = true;
    auto const number = in_flags(before(now, r));
    now.block_consumed[r].fill(number);
    std::set<unsigned> used;
    for (unsigned item = 0; item < of.items; ++item) { used.insert(slot_of(now, r, item)); }
    bool const flags = in_place(now, r) && !rules_.renews_used_flags;
    for (unsigned at = 0; at < most_slots; ++at) {
      if (!flags || !used.contains(at)) { now.loaded[r][at] = number; }
    }
    return true;
  }

  void end_operation(fifo_model& now, std::size_t r) const {
    auto const& of = operations_[now.operation[r]];
    unsigned reduced = 0;
    for (std::size_t w = 0; w < most_warps; ++w) {
      if (now.held[r][w] != 0 || now.unflagged[r][w] != 0) { return; }
      if (w >= of.reducers) { continue; }
      reduced += now.reduced[r][w];
    }
    if (now.taken[r] != of.items || reduced != of.items) { return; }
    for (std::size_t w = 0; w < of.reducers; ++w) {
      if (now.updates[r][w] + (w == 0 ? 0U : 1U) <= plan(of).periods) { return; }
    }
    if (renews(now, r, of) && !now.renewed[r]) { return; }
    ++now.operation[r];
    now.taken[r] = 0;
    now.reduced[r].fill(0);
    now.updates[r].fill(0);
    now.renewed[r] = false;
  }

  fifo_rules rules_;
  std::size_t ranks_;
  std::vector<fifo_operation> operations_;
  seen_states seen_;
  std::string wrong_;
};

}  // namespace

TEST_CASE("items by ticket lose nothing, within an operation and from one to the next", "[comm]") {
  for (bool const two_shot : {false, true}) {
    INFO((two_shot ? "two shots" : "all to all"));
    fifo_explorer one_each{{.room = 4, .two_shot = two_shot}, 2};
    CHECK(one_each.run({{1, 1, 1}, {9, 1, 1}, {3, 1, 1}}) == "");
    CHECK(one_each.states() > 500);
    fifo_explorer two_senders{{.room = 4, .two_shot = two_shot}, 2};
    CHECK(two_senders.run({{6, 2, 1}, {1, 2, 1}}) == "");
    CHECK(two_senders.states() > 1000);
    fifo_explorer two_reducers{{.room = 4, .two_shot = two_shot}, 2};
    CHECK(two_reducers.run({{7, 1, 2}, {2, 1, 2}}) == "");
    CHECK(two_reducers.states() > 1000);
    fifo_explorer more_room{{.room = 8, .two_shot = two_shot}, 2};
    CHECK(more_room.run({{9, 1, 2}}) == "");
    CHECK(more_room.states() > 1000);
    fifo_explorer three_ranks{{.room = 2, .two_shot = two_shot}, 3};
    CHECK(three_ranks.run({{3, 1, 1}, {1, 1, 1}}) == "");
    CHECK(three_ranks.states() > 1000);
  }
}

TEST_CASE("items by ticket lose nothing in place, whoever else is", "[comm]") {
  for (auto const& in_place : {std::set<std::size_t>{0}, std::set<std::size_t>{0, 1}}) {
    INFO(in_place.size() << " ranks in place");
    fifo_rules const rules{.room = 4, .in_place = in_place};
    CHECK(fifo_explorer(rules, 2).run({{9, 1, 1}, {3, 1, 1}}) == "");
    CHECK(fifo_explorer(rules, 2).run({{6, 2, 1}, {1, 2, 1}}) == "");
    CHECK(fifo_explorer(rules, 2).run({{7, 1, 2}, {2, 1, 2}}) == "");
    CHECK(fifo_explorer(rules, 2).run({{2, 1, 1}, {5, 1, 2}, {1, 1, 1}}) == "");
    fifo_rules const of_three{.room = 2, .in_place = in_place};
    CHECK(fifo_explorer(of_three, 3).run({{3, 1, 1}, {1, 1, 1}}) == "");
    auto const run = [&](fifo_rules other, std::vector<fifo_operation> const& all) {
      other.in_place = in_place;
      return fifo_explorer(other, 2).run(all);
    };
    CHECK(run({.room = 4, .awaits_loaded = false}, {{9, 1, 1}}) == "an input was overwritten");
    CHECK(run({.room = 4, .waits_for_self = false}, {{9, 2, 1}}) == "deadlock");
    CHECK(run({.room = 4, .flags_before_credit = true}, {{9, 1, 1}}) == "deadlock");
  }
}

TEST_CASE("items by ticket lose nothing as the grid changes", "[comm]") {
  for (unsigned const room : {4U, 5U}) {
    for (bool const two_shot : {false, true}) {
      fifo_rules const rules{.room = room, .two_shot = two_shot};
      CHECK(fifo_explorer(rules, 2).run({{6, 1, 2}, {3, 1, 1}}) == "");
      CHECK(fifo_explorer(rules, 2).run({{2, 1, 1}, {5, 1, 2}, {1, 1, 1}}) == "");
    }
  }
}

TEST_CASE("each of the rules for items by ticket is needed", "[comm]") {
  for (bool const two_shot : {false, true}) {
    INFO((two_shot ? "two shots" : "all to all"));
    auto const run = [&](fifo_rules rules, std::vector<fifo_operation> const& all) {
      rules.two_shot = two_shot;
      return fifo_explorer(rules, 2).run(all);
    };
    CHECK(run({.room = 4, .free_after = 1}, {{9, 1, 1}}) == "a tile was overwritten");
    CHECK(run({.room = 4, .publishes_at_begin = false}, {{2, 1, 1}, {2, 1, 1}, {2, 1, 1}}) ==
          "deadlock");
    // As many slots as are reduced at once: half of them have no update.
    CHECK(run({.room = 2}, {{9, 1, 2}}) == "deadlock");
  }
  // Two shots do not need these rules: sums keep the ranks' reducers together.
  CHECK(fifo_explorer({.room = 5, .rounds_slots = false}, 2).run({{7, 1, 2}}) ==
        "another item was read");
  CHECK(fifo_explorer({.room = 5, .checks_grid = false}, 2).run({{6, 1, 2}, {3, 1, 1}}) ==
        "a tile was overwritten");
}

TEST_CASE("numbers of items come again, and what stands for long is not taken for new", "[comm]") {
  auto const run = [](fifo_rules rules, std::vector<fifo_operation> const& all) {
    rules.numbers = 16;
    return fifo_explorer(rules, 2).run(all);
  };
  // A flag in place, and 16 items later, all others apart, the same slot in place.
  std::vector<fifo_operation> const in_place_again{
      {1, 1, 1},       {3, 1, 1, true}, {3, 1, 1, true}, {3, 1, 1, true},
      {3, 1, 1, true}, {3, 1, 1, true}, {1, 1, 1}};
  fifo_rules rules{.in_place = {0}};
  CHECK(run(rules, in_place_again) == "an input was overwritten");
  rules.renewal_period = 4;
  CHECK(run(rules, in_place_again) == "");
  // In place as the numbers are renewed, which must not touch the flags that it uses.
  std::vector<fifo_operation> const in_place{{3, 1, 1}, {3, 1, 1}, {1, 1, 1}};
  CHECK(run(rules, in_place) == "");
  rules.renews_used_flags = true;
  CHECK(run(rules, in_place) == "deadlock");

  // Two reducers note a period, and from 8 items later on their notes look like later ones.
  for (bool const two_shot : {false, true}) {
    INFO((two_shot ? "two shots" : "all to all"));
    std::vector<fifo_operation> const periods_again{
        {5, 1, 2}, {2, 1, 2}, {2, 1, 2}, {2, 1, 2}, {7, 1, 2}};
    fifo_rules of_periods{.two_shot = two_shot};
    CHECK(run(of_periods, periods_again) == "a tile was overwritten");
    of_periods.renewal_period = 4;
    CHECK(run(of_periods, periods_again) == "");
    of_periods.renews_early = true;
    CHECK(run(of_periods, {{5, 1, 2}}) == "deadlock");
  }
}

TEST_CASE("a plan's periods fit into the slots, and few are open at a time", "[comm]") {
  for (unsigned const room : {8U, 24U, 104U, 1716U, 6864U}) {
    for (unsigned at_once = 4; at_once <= room / 2; at_once += 4) {
      for (unsigned const tiles : {1U, room / 2, room, room + 1, 10 * room + 3}) {
        auto const plan = protocol::plan_fifo(tiles, 1, room, 1, at_once);
        INFO(tiles << " tiles, room for " << room << ", " << at_once << " at once");
        REQUIRE(plan.slots <= room);
        REQUIRE(plan.slots % at_once == 0);
        REQUIRE(plan.period % at_once == 0);
        REQUIRE(plan.period <= plan.slots / 2);
        REQUIRE(plan.slots / plan.period + 2 <= protocol::fifo_open_periods);
        // Told of within the operation: all that the last tile needs, and never its last half.
        REQUIRE(plan.periods * plan.period + plan.slots >= tiles);
        REQUIRE((plan.periods == 0 || plan.periods * plan.period + plan.slots / 2 < tiles));
      }
    }
  }
}
