// SPDX-License-Identifier: Apache-2.0
#include <assay/cupti/record_buffers.hpp>

#include "catch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

using assay::trace::buffer_limits;
using assay::trace::record_buffers;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t size = 2 * record_buffers::overflow_bytes;

bool zero(std::uint8_t const* data, std::size_t bytes) {
  return std::all_of(data, data + bytes, [](std::uint8_t each) { return each == 0; });
}

}  // namespace

TEST_CASE("Buffers are zero, also when they are used again") {
  record_buffers buffers{{.buffer_bytes = size, .most_bytes = 4 * size, .ready = 1}};
  buffers.open();
  for (int round = 0; round < 5; ++round) {
    std::size_t bytes = 0;
    auto* const data = buffers.request(bytes);
    REQUIRE(data != nullptr);
    REQUIRE(bytes == size);
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 8 == 0);
    REQUIRE(zero(data, bytes));
    std::memset(data, 0xff, bytes);
    buffers.complete(data, bytes, 100);
    auto const back = buffers.next(1s);
    REQUIRE(back);
    CHECK(back->data == data);
    CHECK(back->valid == 100);
    CHECK_FALSE(back->dropped());
    buffers.recycle(*back);
  }
  CHECK(buffers.counts().requested == 5);
  CHECK(buffers.counts().overflowed == 0);
}

TEST_CASE("Beyond the limit requests get small buffers, are counted, and memory stays bounded") {
  record_buffers buffers{{.buffer_bytes = size, .most_bytes = 3 * size, .ready = 2}};
  buffers.open();
  std::vector<record_buffers::filled> out;
  for (int i = 0; i < 10; ++i) {
    std::size_t bytes = 0;
    auto* const data = buffers.request(bytes);
    REQUIRE(data != nullptr);
    out.push_back({data, bytes, bytes});
  }
  CHECK(std::count_if(out.begin(), out.end(), [](auto& each) { return each.dropped(); }) == 7);
  CHECK(buffers.counts().overflowed == 7);
  CHECK(buffers.counts().peak_bytes == 3 * size);
  for (auto const& each : out) { buffers.complete(each.data, each.size, each.valid); }
  buffers.close();
  int whole = 0;
  int dropped = 0;
  while (auto const back = buffers.next(1s)) {
    REQUIRE(back->data != nullptr);
    ++(back->dropped() ? dropped : whole);
    buffers.recycle(*back);
  }
  CHECK(whole == 3);
  CHECK(dropped == 7);
  // What came back serves again.
  buffers.open();
  std::size_t bytes = 0;
  auto* const again = buffers.request(bytes);
  CHECK(bytes == size);
  CHECK(zero(again, bytes));
  buffers.complete(again, bytes, 0);
}

TEST_CASE("A buffer of an earlier session comes back into the next") {
  record_buffers buffers{{.buffer_bytes = size, .most_bytes = size, .ready = 0}};
  buffers.open();
  std::size_t bytes = 0;
  auto* const old = buffers.request(bytes);
  buffers.open();
  buffers.complete(old, bytes, 8);
  auto const back = buffers.next(1s);
  REQUIRE(back);
  CHECK(back->size == size);
  buffers.recycle(*back);
  auto* const next = buffers.request(bytes);  // now that the old one no longer counts
  CHECK(bytes == size);
  buffers.complete(next, bytes, 0);
}

TEST_CASE("The reader gives up waiting, and ends when the session does") {
  record_buffers buffers{{.buffer_bytes = size, .most_bytes = 2 * size, .ready = 1}};
  buffers.open();
  auto const nothing = buffers.next(1ms);
  REQUIRE(nothing);
  CHECK(nothing->data == nullptr);
  std::thread closer{[&] {
    std::this_thread::sleep_for(5ms);
    buffers.close();
  }};
  CHECK_FALSE(buffers.next(60s));
  closer.join();
}

TEST_CASE("Many writers and a reader lose nothing and double nothing") {
  record_buffers buffers{{.buffer_bytes = size, .most_bytes = 6 * size, .ready = 2}};
  buffers.open();
  constexpr int threads = 4;
  constexpr std::uint64_t each = 500;
  std::atomic<std::uint64_t> dropped{0};
  std::vector<std::thread> writers;
  for (std::uint64_t t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < each; ++i) {
        std::size_t bytes = 0;
        auto* const data = buffers.request(bytes);
        std::uint64_t const value = t * each + i + 1;
        std::uint64_t found = 0;
        std::memcpy(&found, data, sizeof found);
        if (found != 0) { std::abort(); }
        std::memcpy(data, &value, sizeof value);
        if (bytes == record_buffers::overflow_bytes) { ++dropped; }
        buffers.complete(data, bytes, sizeof value);
      }
    });
  }
  std::uint64_t sum = 0;
  std::uint64_t count = 0;
  std::thread reader{[&] {
    while (auto const back = buffers.next(1s)) {
      if (back->data == nullptr) { continue; }
      std::uint64_t value = 0;
      std::memcpy(&value, back->data, sizeof value);
      sum += value;
      ++count;
      buffers.recycle(*back);
    }
  }};
  for (auto& writer : writers) { writer.join(); }
  buffers.close();
  reader.join();
  CHECK(count == threads * each);
  CHECK(sum == threads * each * (threads * each + 1) / 2);
  CHECK(buffers.counts().overflowed == dropped);
}
