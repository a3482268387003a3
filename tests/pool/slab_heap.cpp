// SPDX-License-Identifier: Apache-2.0
// The pool's two heaps: small blocks live in slabs, and what they leave whole goes back.
#include "catch.hpp"

#include <assay/core/units.hpp>
#include <assay/pool/slab_heap.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::literals;
using mr::order_point;
using mr::slab_heap;

namespace {

using points = std::vector<order_point>;
constexpr std::uintptr_t base = std::uintptr_t{1} << 40U;

/// A heap that takes whatever fits, and notes after what.
struct bench {
  explicit bench(bool joined = true) : heap(joined) {}
  std::uintptr_t take(std::size_t bytes) {
    auto const any = [](auto const&) { return true; };
    return heap.take(bytes, 32, any, [&](auto const& range) { after = range.after; });
  }
  slab_heap heap;
  std::vector<order_point> after;
};

}  // namespace

TEST_CASE("small blocks share slabs, and leave the space between large ones whole") {
  bool const joined = GENERATE(true, false);
  bench at{joined};
  at.heap.large().add(base, 256_MiB, joined ? 2_MiB : 256_MiB);
  std::vector<std::pair<std::uintptr_t, std::size_t>> small;
  std::vector<std::uintptr_t> large;
  for (int i = 0; i < 20; ++i) {
    large.push_back(at.take(2_MiB));
    small.emplace_back(at.take(4_KiB), 4_KiB);
    small.emplace_back(at.take(slab_heap::small_bytes), slab_heap::small_bytes);
  }
  for (auto const each : large) { at.heap.give(each, 2_MiB, {}); }
  CHECK(at.heap.large().free_bytes() == 250_MiB);  // three slabs hold all small blocks
  CHECK(at.heap.free_bytes() == 256_MiB - 20 * (4_KiB + slab_heap::small_bytes));
  for (auto const& [address, bytes] : small) { at.heap.give(address, bytes, {}); }
  CHECK(at.heap.reclaim() == 6_MiB);
  CHECK(at.heap.large().largest_range() == 256_MiB);
  CHECK(at.heap.lost_bytes() == 0);
}

TEST_CASE("a slab takes its order along, from the large blocks and back to them") {
  bench at;
  at.heap.large().add(base, 8_MiB, 2_MiB);
  auto const whole = at.take(8_MiB);
  at.heap.give(whole, 8_MiB, {{3, 7}});
  auto const first = at.take(4_KiB);
  CHECK(at.after == std::vector<order_point>{{3, 7}});
  at.after.clear();
  auto const second = at.take(4_KiB);
  CHECK(at.after == std::vector<order_point>{{3, 7}});
  at.heap.give(first, 4_KiB, {{3, 9}});
  at.heap.give(second, 4_KiB, {{5, 1}});
  CHECK(at.heap.reclaim() == 2_MiB);
  CHECK(at.take(8_MiB) == base);
  CHECK(at.after == std::vector<order_point>{{3, 9}, {5, 1}});
}

TEST_CASE("what slabs have not used is to be had for large blocks") {
  bool const joined = GENERATE(true, false);
  bench at{joined};
  CHECK(at.heap.add(base, 8_MiB, 2_MiB, 4_KiB) == base);
  CHECK(at.take(7_MiB) == 0);
  auto const unused = 2_MiB - slab_heap::slab_piece_bytes;
  CHECK(at.heap.reclaim() == (joined ? unused : 0));
  CHECK((at.take(7_MiB) != 0) == joined);
}

TEST_CASE("a slab gives its free pieces up when asked") {
  constexpr auto piece = slab_heap::slab_piece_bytes;
  bench at;
  CHECK(at.heap.add(base, 2_MiB, 2_MiB, piece) == base);
  for (std::size_t at_bytes = 2_MiB; at_bytes > piece; at_bytes -= piece) {
    CHECK(at.take(piece) == base + at_bytes - piece);
  }
  for (std::size_t const run : {1, 4}) {
    for (std::size_t i = 0; i < run; ++i) { at.heap.give(base + (4 * run + i) * piece, piece, {}); }
  }
  at.heap.give(base + piece, piece / 2, {});
  CHECK(at.heap.large().free_bytes() == 0);
  CHECK(at.heap.reclaim() == 5 * piece);
  CHECK(at.heap.large().free_bytes() == 5 * piece);
  CHECK(at.heap.reclaim() == 0);
}

TEST_CASE("what is to fill a range comes from its front, little of it from its end") {
  bench at;
  at.heap.large().add(base, 128_MiB, 2_MiB);
  auto const little = at.take(4_MiB);
  CHECK(little == base + 124_MiB);
  CHECK(at.take(64_MiB) == base);
  CHECK(at.take(64_MiB) == 0);
  at.heap.give(little, 4_MiB, {});
  CHECK(at.take(64_MiB) == base + 64_MiB);
}

TEST_CASE("a slab is a page, and a block where there is no room for a slab") {
  bench at;
  CHECK(at.heap.add(base, 2_MiB, 2_MiB, 256) == base);
  CHECK(at.heap.free_bytes() == 2_MiB - 256);
  at.heap.give(base, 256, {});
  CHECK(at.heap.reclaim() == 2_MiB);
  CHECK(at.heap.large().largest_range() == 2_MiB);
  auto const most = at.take(2_MiB - 256);
  auto const last = at.take(256);
  CHECK(last != 0);
  CHECK(at.take(256) == 0);
  at.heap.give(last, 256, {});
  at.heap.give(most, 2_MiB - 256, {});
  CHECK(at.heap.reclaim() == 256);
  CHECK(at.heap.large().largest_range() == 2_MiB);
}

TEST_CASE("chunks are taken out of a free range by pieces, and blocks cut to an alignment") {
  mr::range_heap heap{true};
  heap.add(base, 16_MiB, 2_MiB);
  auto const low = heap.take(heap.around(base), 15_MiB);  // [1, 16)
  CHECK(low == base + 1_MiB);
  heap.insert(low, 15_MiB, {});
  auto const aligned = heap.take(heap.around(base), 5_MiB, 2_MiB);  // [10, 15)
  CHECK(aligned == base + 10_MiB);
  CHECK(heap.free_bytes() == 11_MiB);
  auto const in = heap.around(base);
  CHECK(heap.free_chunks(in).bytes == 10_MiB);
  auto const some = heap.free_chunks(in, 3_MiB, 16_MiB);  // as many as make up 3 MiB
  CHECK(some.address == base);
  CHECK(some.bytes == 4_MiB);
  CHECK(heap.free_chunks(in, 16_MiB, 3_MiB).bytes == 2_MiB);  // at most 3 MiB
  CHECK(heap.chunk_ranges().size() == 1);                     // the last MiB holds no chunk
  heap.remove(in, some);
  CHECK(heap.free_bytes() == 7_MiB);
  CHECK(heap.chunk_bytes() == 12_MiB);
  CHECK(heap.around(base) == heap.none());
  CHECK(heap.take(heap.around(base + 4_MiB), 6_MiB) == base + 4_MiB);
}

TEST_CASE("of free chunks the larger one behind is taken out where all are too many") {
  mr::range_heap heap{true};
  heap.add(base, 6_MiB, 2_MiB);
  heap.add(base + 6_MiB, 8_MiB, 8_MiB);
  auto const in = heap.around(base);
  CHECK(heap.free_chunks(in, 14_MiB, 8_MiB).address == base + 6_MiB);
  CHECK(heap.free_chunks(in, 14_MiB, 8_MiB).bytes == 8_MiB);
  CHECK(heap.free_chunks(in, 14_MiB, 7_MiB).bytes == 6_MiB);
  CHECK(heap.free_chunks(in).bytes == 14_MiB);
}

TEST_CASE("a range that comes back joins both neighbours, and waits for all that they wait for") {
  mr::range_heap heap{true};
  heap.add(base, 8_MiB, 8_MiB);
  auto const all = heap.take_front(heap.around(base), 8_MiB);
  heap.insert(all, 2_MiB, points{{0, 5}});
  heap.insert(all + 4_MiB, 4_MiB, points{{0, 3}, {1, 7}});
  heap.insert(all + 2_MiB, 1_MiB, points{{0, 4}});  // joins the low one
  CHECK(heap.around(all)->bytes == 3_MiB);
  heap.insert(all + 3_MiB, 1_MiB, points{{2, 1}});  // joins both
  auto const in = heap.around(all);
  CHECK(in->bytes == 8_MiB);
  CHECK(heap.largest_range() == 8_MiB);
  CHECK(heap.free_bytes() == 8_MiB);
  CHECK(in->after == std::vector<mr::order_point>{{0, 5}, {2, 1}, {1, 7}});
  // From the front, the middle and the end: the rest keeps what must precede it.
  CHECK(heap.take_front(in, 1_MiB) == all);
  CHECK(heap.take(heap.around(all + 1_MiB), 1_MiB) == all + 7_MiB);
  CHECK(heap.take(heap.around(all + 1_MiB), 1_MiB, 4_MiB) == all + 4_MiB);
  CHECK(heap.around(all + 1_MiB)->bytes == 3_MiB);
  CHECK(heap.around(all + 5_MiB)->bytes == 2_MiB);
  CHECK(heap.around(all + 5_MiB)->after.size() == 3);
  CHECK(heap.free_bytes() == 5_MiB);
  heap.insert(all, 1_MiB, points{{3, 2}});  // joins the high one
  CHECK(heap.around(all)->bytes == 4_MiB);
  CHECK(heap.around(all)->after.size() == 4);
}

TEST_CASE("of random ranges the heap finds the smallest that fits, and the lowest of these") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  constexpr std::size_t all_bytes = 64_MiB;
  mr::range_heap heap{true};
  heap.add(base, all_bytes, all_bytes);
  std::map<std::uintptr_t, std::size_t> free{{base, all_bytes}};  // a list, searched from its begin
  std::vector<mr::chunk_run> live;
  auto const fit = [&](std::size_t bytes) {
    auto best = free.end();
    for (auto at = free.begin(); at != free.end(); ++at) {
      if (at->second >= bytes && (best == free.end() || at->second < best->second)) { best = at; }
    }
    return best;
  };
  auto const any = [](auto const&) { return true; };
  for (int i = 0; i < 5'000; ++i) {
    auto const bytes = 256 * (1 + random() % (std::size_t{16} << random() % 10));
    auto const found = heap.find(bytes, 10'000, any);
    auto const best = fit(bytes);
    REQUIRE((found == heap.none()) == (best == free.end()));
    if (best != free.end()) { REQUIRE(found->address == best->first); }
    // The range at the end of the memory is the only one with room behind it.
    auto const last = free.empty() ? free.end() : std::prev(free.end());
    bool const extends = last != free.end() && last->first + last->second == base + all_bytes &&
                         last->second < bytes;
    auto const extended = heap.extensible(bytes, 10'000, any);
    REQUIRE((extended != heap.none()) == extends);
    int tried = 0;
    (void)heap.find(256, 3, [&](auto const&) { return ++tried, false; });
    REQUIRE(tried == static_cast<int>(std::min<std::size_t>(free.size(), 3)));
    if (best != free.end() && (live.empty() || random() % 2 == 0)) {
      live.push_back({heap.take(found, bytes), bytes});
      best->second -= bytes;
      if (best->second == 0) { free.erase(best); }
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      auto const gone = live.back();
      live.pop_back();
      heap.insert(gone.address, gone.bytes, {});
      auto at = free.emplace(gone.address, gone.bytes).first;
      if (auto const next = std::next(at);
          next != free.end() && at->first + at->second == next->first) {
        at->second += next->second;
        free.erase(next);
      }
      if (at != free.begin() && std::prev(at)->first + std::prev(at)->second == at->first) {
        std::prev(at)->second += at->second;
        free.erase(at);
      }
    }
    std::size_t largest = 0;
    for (auto const& [address, size] : free) { largest = std::max(largest, size); }
    REQUIRE(heap.largest_range() == largest);
  }
}
