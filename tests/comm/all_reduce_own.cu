// SPDX-License-Identifier: Apache-2.0
// assay-test-timeout: 1200
/// @file
/// All-reduces where each rank names its own buffers alone: right whatever the alignment and
/// placement of the others', and what needs all buffers is refused by name. Not under a sanitizer,
/// where ranks do not run side by side.

#include "comm/world.cuh"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstddef>
#include <vector>

using namespace assay;
using comm::algorithm;
using comm::reduction;
using test::contains;

static_assert(comm::collective<comm::rank_of<comm::all_reduce>>);
static_assert(comm::collective<comm::rank_of<comm::all_reduce>, __nv_bfloat16>);

namespace {

template <class T>
void enqueue_own(test::world<T>& all, comm::rank_buffers<T> const& at, std::size_t count,
                 reduction what) {
  for (int rank = 0; rank < all.ranks(); ++rank) {
    auto const r = static_cast<std::size_t>(rank);
    all.engine.rank(rank).enqueue(all.streams[r], at.in[r], at.out[r], count, what);
  }
}

/// Buffers of which each rank's begin elsewhere, and of which every other rank's are in place.
template <class T>
comm::rank_buffers<T> mixed(test::world<T> const& all, std::size_t late) {
  comm::rank_buffers<T> made;
  for (int rank = 0; rank < all.ranks(); ++rank) {
    auto const r = static_cast<std::size_t>(rank);
    auto const at = all.buffers(late * r, late * (r + 1) % 5, rank % 2 == 1);
    made.in[r] = at.in[r];
    made.out[r] = at.out[r];
  }
  return made;
}

template <class T>
void require_right(algorithm how, int ranks, std::vector<std::size_t> const& counts) {
  auto seed = test::fresh_seed();
  for (auto const count : counts) {
    test::world<T> all{ranks, count, test::checked_options(how)};
    for (auto const what : test::all_reductions) {
      for (std::size_t const late : {0U, 1U, 3U}) {
        auto const at = mixed(all, late);
        INFO(std::string{comm::to_string(how)}
             << ": " << ranks << " ranks, " << count << " elements of " << sizeof(T) << " bytes, "
             << std::string{comm::to_string(what)} << ", " << late << " late, seed " << ++seed);
        all.fill(at, count, seed);
        enqueue_own(all, at, count, what);
        all.synchronize();
        REQUIRE(all.wrong(at, count, what) == "");
      }
    }
  }
}

template <class T>
void require_every_algorithm() {
  for (auto const how :
       {algorithm::lamport_push, algorithm::fifo_one_shot, algorithm::fifo_two_shot}) {
    for (int const ranks : {2, 3, 4, 8}) {
      if (test::has_code<T>(how, ranks)) { require_right<T>(how, ranks, {1, 7, 1001, 65'539}); }
    }
  }
}

}  // namespace

TEST_CASE("own buffers are enough for pushes and FIFOs", "[comm]") {
  if (test::small()) { return; }
  require_every_algorithm<float>();
  require_every_algorithm<__nv_bfloat16>();
  require_every_algorithm<__nv_fp8_e5m2>();
}

TEST_CASE("own buffers are enough for messages of every size", "[comm]") {
  if (test::small()) { return; }
  for (int const ranks : {2, 4}) {
    require_right<float>(algorithm::automatic, ranks, {1, 100'003, 1'000'003, 4'000'003});
  }
}

TEST_CASE("own buffers and all ranks' buffers take turns", "[comm]") {
  if (test::small()) { return; }
  auto const seed = test::fresh_seed();
  constexpr std::size_t count = 300'007;
  for (auto const how : {algorithm::automatic, algorithm::fifo_one_shot}) {
    test::world<float> all{2, count, test::checked_options(how)};
    auto const at = all.buffers(3, 3, false);
    for (unsigned turn = 0; turn < 6; ++turn) {
      INFO(std::string{comm::to_string(how)} << ", turn " << turn << ", seed " << seed);
      all.fill(at, count, seed + turn);
      if (turn % 2 == 0) {
        all.enqueue(at, count, reduction::sum);
      } else {
        enqueue_own(all, at, count, reduction::sum);
      }
      all.synchronize();
      CHECK(all.wrong(at, count, reduction::sum) == "");
    }
  }
}

TEST_CASE("a rank that calls with all buffers beside one with its own is told so", "[comm]") {
  if (test::small()) { return; }
  auto options = test::checked_options(algorithm::lamport_push);
  options.timeout_seconds = 0.3;
  test::world<float> all{2, 1000, options};
  auto const at = all.buffers(1, 1, false);
  all.fill(at, 1000, 1);
  all.engine.enqueue(0, all.streams[0], at, 1000, reduction::sum);
  all.engine.enqueue(1, all.streams[1], at.in[1], at.out[1], 1000, reduction::sum);
  for (auto const& on : all.streams) { check(cudaStreamSynchronize(on.get())); }
  CHECK_THAT(test::message_of([&] { all.synchronize(); }), contains("different operations"));
}

TEST_CASE("what own buffers are not enough for is refused by name", "[comm]") {
  auto const refused = [](algorithm how, int ranks, std::size_t count, auto element) {
    using type = decltype(element);
    auto options = test::checked_options(how);
    options.scratch_bytes = 4096;
    test::world<type> all{ranks, count, options};
    auto const at = all.buffers(0, 0, false);
    return test::message_of(
        [&] { all.engine.enqueue(0, all.streams[0], at.in[0], at.out[0], count, reduction::sum); });
  };
  CHECK_THAT(refused(algorithm::two_shot, 2, 10, float{}),
             contains("two_shot uses those of all ranks"));
  CHECK_THAT(refused(algorithm::pull, 2, 10, float{}), contains("pull uses those of all ranks"));
  CHECK_THAT(refused(algorithm::lamport_push, 2, 2000, float{}), contains("raise scratch_bytes"));
  CHECK_THAT(refused(algorithm::automatic, 8, 2000, float{}),
             contains("8000 bytes with one rank's own buffers") && contains("no FIFO slots"));
  CHECK_THAT(refused(algorithm::automatic, 2, 10, double{}), contains("take two_shot"));
  CHECK_THAT(refused(algorithm::automatic, 2, 10, std::int32_t{}), contains("take two_shot"));
}

TEST_CASE("own buffers that cannot be are refused by rank and role", "[comm]") {
  test::world<float> all{2, 1000, test::checked_options()};
  auto const at = all.buffers(0, 0, false);
  auto const refused = [&](float const* in, float* out) {
    return test::message_of(
        [&] { all.engine.enqueue(1, all.streams[1], in, out, 1000, reduction::sum); });
  };
  CHECK_THAT(refused(nullptr, at.out[1]),
             contains("the input of rank 1 (4000 bytes) is a null pointer"));
  CHECK_THAT(refused(at.in[1], const_cast<float*>(at.in[1]) + 8), contains("of rank 1 overlap"));
}

TEST_CASE("one rank's end knows its place, and there is none of a rank too many", "[comm]") {
  test::world<float> all{2, 100, test::checked_options()};
  auto const end = all.engine.rank(1);
  CHECK(end.rank() == 1);
  CHECK(end.ranks() == 2);
  CHECK(end.device() == all.engine.device(1));
  CHECK_THROWS(all.engine.rank(2));
}
