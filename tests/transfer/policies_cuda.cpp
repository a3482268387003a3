// SPDX-License-Identifier: Apache-2.0
/// @file
/// All transfers on a fake device that runs as late and as strangely as it may: right to the bit,
/// clean after every failure.

#include "catch.hpp"
#include "transfer/fake_link.hpp"
#include "transfer/jobs.hpp"

#include <assay/memory/limited.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/overlapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/registered.hpp>
#include <assay/transfer/staged.hpp>
#include <assay/transfer/textbook.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace assay;
using test::fake_device;
using test::fake_link;
using test::fake_memory;
using test::fake_stream;

using kinds = std::array<host_kind, 4>;
constexpr kinds all_pageable{};
constexpr kinds all_locked{host_kind::page_locked, host_kind::page_locked, host_kind::page_locked,
                           host_kind::page_locked};
constexpr kinds mixed{host_kind::pageable, host_kind::page_locked, host_kind::managed,
                      host_kind::pageable};
constexpr kinds mixed_other{host_kind::page_locked, host_kind::pageable, host_kind::pageable,
                            host_kind::managed};

/// Some links whose terms make plans of several chunks worth it.
transfer::overlap_terms slow_link() { return {1e8, 1e8, 0.8e8, 0.8e8, 0, 1e-6, 1e-6, 1e-6, 1e-6}; }

/// The arrays of one job in host memory at odd addresses, with guards round the outputs.
class host_data {
 public:
  host_data(fake_device& device, std::int64_t count, kinds held, std::uint64_t seed)
      : device_(device), count_(count) {
    for (std::size_t i = 0; i < 4; ++i) {
      auto const bytes = static_cast<std::size_t>(count) * test::widths[i];
      stores_[i].assign(bytes + 2 * guard, std::byte{0x55});
      if (held[i] != host_kind::pageable) {
        device.hold(at(i), std::max<std::size_t>(bytes, 1), held[i]);
      }
      if (i < 2) { test::fill_random(at(i), bytes, seed + i); }
    }
    a_ = stores_[0];
    b_ = stores_[1];
  }
  host_data(host_data const&) = delete;
  host_data& operator=(host_data const&) = delete;
  ~host_data() {
    for (std::size_t i = 0; i < 4; ++i) { device_.forget(at(i)); }
  }

  std::byte* at(std::size_t array) { return stores_[array].data() + guard; }

  /// What is wrong with the outputs, or nothing.
  std::string wrong(std::int64_t granularity) {
    auto found = test::wrong_outputs(count_, granularity, a_.data() + guard, b_.data() + guard,
                                     at(2), at(3));
    for (std::size_t i = 2; i < 4 && found.empty(); ++i) {
      for (std::size_t j = 0; j < guard; ++j) {
        if (stores_[i][j] != std::byte{0x55} ||
            stores_[i][stores_[i].size() - 1 - j] != std::byte{0x55}) {
          found = "output " + std::to_string(i - 2) + " is written outside";
        }
      }
    }
    return found;
  }
  void poison() {
    for (std::size_t i = 2; i < 4; ++i) {
      std::memset(at(i), 0x7F, static_cast<std::size_t>(count_) * test::widths[i]);
    }
  }
  void overwrite_inputs() {
    for (std::size_t i = 0; i < 2; ++i) {
      std::memset(at(i), 0, static_cast<std::size_t>(count_) * test::widths[i]);
    }
  }

 private:
  static constexpr std::size_t guard = 5;  // odd, so that nothing is aligned
  fake_device& device_;
  std::int64_t count_;
  std::array<std::vector<std::byte>, 4> stores_;
  std::vector<std::byte> a_, b_;
};

/// Enqueues the work of a chunk; throws at chunk `fails_at`.
struct fake_compute {
  std::int64_t granularity = 1;
  int fails_at = -1;
  void operator()(fake_stream on, transfer::chunk const& part) const {
    if (part.number == fails_at) { throw std::runtime_error("the kernel refuses"); }
    auto const* a = part.inputs[0];
    auto const* b = part.inputs[1];
    auto* const out0 = part.outputs[0];
    auto* const out1 = part.outputs[1];
    on.device->launch(on, [=, count = part.count, block = granularity] {
      test::block_work(count, block, a, b, out0, out1);
    });
  }
};

transfer::job<fake_compute> job_of(host_data& data, std::int64_t count, std::int64_t granularity,
                                   int fails_at = -1) {
  return {.elements = count,
          .granularity = granularity,
          .inputs = {{data.at(0), test::widths[0]}, {data.at(1), test::widths[1]}},
          .outputs = {{data.at(2), test::widths[2]}, {data.at(3), test::widths[3]}},
          .compute = {granularity, fails_at}};
}

/// Few threads and small buffers, so that small jobs need several of each.
transfer::staging small_staging() { return {3, 4, 4096, true}; }

template <class Policy, class Memory = fake_memory>
auto engine_on(fake_device& device, Policy how, Memory memory) {
  return transfer::engine<Policy, fake_link, Memory>{how, fake_link{device}, memory,
                                                     small_staging()};
}
template <class Memory = fake_memory>
auto engine_on(fake_device& device, transfer::overlapped how, Memory memory) {
  how.bounce = small_staging();
  return transfer::overlapped_engine<fake_link, Memory>{how, slow_link(), fake_link{device},
                                                        memory};
}
template <class Policy>
auto engine_on(fake_device& device, Policy how) {
  return engine_on(device, how, fake_memory{&device});
}

/// Runs every size through an engine, twice each.
template <class Policy>
void require_right(Policy how, kinds held) {
  auto const seed = test::fresh_seed();
  fake_device device{seed};
  auto engine = engine_on(device, how);
  for (std::int64_t const granularity : {1, 7, 64}) {
    for (std::int64_t const count : {0, 1, 2, 63, 64, 65, 1000, 4099, 20'001}) {
      INFO(describe(how) << ", seed " << seed << ", " << count << " elements in blocks of "
                         << granularity);
      host_data data{device, count, held, seed};
      for (int i = 0; i < 2; ++i) {
        data.poison();
        engine.run(device.caller(), job_of(data, count, granularity));
        device.synchronize(device.caller());
        REQUIRE(data.wrong(granularity) == "");
        REQUIRE(device.idle());  // the caller's stream comes after all others
        REQUIRE(device.live_bytes == 0);
      }
    }
  }
  CHECK(device.pinned == 0);
}

std::string message_with_cause(std::exception const& error) {
  std::string text = error.what();
  try {
    std::rethrow_if_nested(error);
  } catch (std::exception const& cause) { text += " <- " + message_with_cause(cause); }
  return text;
}

}  // namespace

TEST_CASE("every transfer of page-locked data is right", "[transfer]") {
  require_right(transfer::pageable{}, all_locked);
  require_right(transfer::pinned{}, all_locked);
  require_right(transfer::registered{}, all_locked);
  require_right(transfer::mapped{}, all_locked);
  require_right(transfer::staged{}, all_locked);
  for (int const streams : {1, 2, 4, 100}) {
    require_right(transfer::textbook{streams}, all_locked);
  }
  require_right(transfer::overlapped{}, all_locked);
  for (int const chunks : {0, 1, 2, 5, 16}) {
    for (int const streams : {0, 1, 2, 3, 30}) {
      require_right(transfer::overlapped{chunks, streams}, all_locked);
    }
  }
}

TEST_CASE("pageable and mixed data are right where they are taken", "[transfer]") {
  for (auto const& held : {all_pageable, mixed, mixed_other}) {
    require_right(transfer::pageable{}, held);
    require_right(transfer::registered{}, held);
    require_right(transfer::staged{}, held);
    require_right(transfer::overlapped{}, held);
    require_right(transfer::overlapped{5, 1}, held);
    require_right(transfer::overlapped{7, 2}, held);
    require_right(transfer::overlapped{9, 4}, held);
  }
}

TEST_CASE("page-locked data never holds the host up", "[transfer]") {
  fake_device device{1};
  constexpr std::int64_t count = 20'001;
  host_data data{device, count, all_locked, 2};
  auto const run = [&](auto how) {
    auto engine = engine_on(device, how);
    engine.run(device.caller(), job_of(data, count, 1));
    device.synchronize(device.caller());
    CHECK(device.waits_of_host == 0);
  };
  run(transfer::pinned{});
  run(transfer::mapped{});
  run(transfer::registered{});
  run(transfer::textbook{});
  run(transfer::overlapped{});
  run(transfer::overlapped{16, 2});
}

TEST_CASE("staged data is the caller's again on return, and never copied by the driver",
          "[transfer]") {
  auto const run = [](auto how) {
    auto const seed = test::fresh_seed();
    INFO(describe(how) << ", seed " << seed);
    fake_device device{seed};
    constexpr std::int64_t count = 20'001;
    host_data data{device, count, all_pageable, seed};
    auto engine = engine_on(device, how);
    engine.run(device.caller(), job_of(data, count, 7));
    CHECK(data.wrong(7) == "");  // without waiting for the stream
    data.overwrite_inputs();
    device.synchronize(device.caller());
    CHECK(data.wrong(7) == "");
    CHECK(device.pageable_copies == 0);
  };
  run(transfer::staged{});
  run(transfer::overlapped{});
  run(transfer::overlapped{9, 2});
}

TEST_CASE("an output may be an input of the same width", "[transfer]") {
  fake_device device{3};
  constexpr std::size_t count = 5003;
  for (auto const kind : {host_kind::pageable, host_kind::page_locked}) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = 0; i < count; ++i) { values[i] = static_cast<std::uint32_t>(i); }
    if (kind == host_kind::page_locked) { device.hold(values.data(), count * 4, kind); }
    auto const twice = [](fake_stream on, transfer::chunk const& part) {
      on.device->launch(on, [from = part.input<std::uint32_t>(0),
                             to = part.output<std::uint32_t>(0), many = part.count] {
        for (std::int64_t i = 0; i < many; ++i) { to[i] = 2 * from[i]; }
      });
    };
    transfer::job const work{.elements = count,
                             .inputs = {{values.data(), 4}},
                             .outputs = {{values.data(), 4}},
                             .compute = twice};
    auto engine = engine_on(device, transfer::overlapped{11, 2});
    engine.run(device.caller(), work);
    device.synchronize(device.caller());
    for (std::size_t i = 0; i < count; ++i) { REQUIRE(values[i] == 2 * i); }
    device.forget(values.data());
  }
}

TEST_CASE("jobs without inputs, or without outputs, are jobs", "[transfer]") {
  fake_device device{4};
  std::vector<int> made(1000, -1);
  device.hold(made.data(), 4000, host_kind::page_locked);
  auto const iota = [](fake_stream on, transfer::chunk const& part) {
    on.device->launch(on, [to = part.output<int>(0), first = part.first, many = part.count] {
      for (std::int64_t i = 0; i < many; ++i) { to[i] = static_cast<int>(first + i); }
    });
  };
  auto maker = engine_on(device, transfer::overlapped{6, 3});
  maker.run(device.caller(),
            transfer::job{.elements = 1000, .outputs = {{made.data(), 4}}, .compute = iota});
  device.synchronize(device.caller());
  for (int i = 0; i < 1000; ++i) { REQUIRE(made[static_cast<std::size_t>(i)] == i); }

  long sum = 0;
  auto const add = [&sum](fake_stream on, transfer::chunk const& part) {
    on.device->launch(on, [&sum, from = part.input<int>(0), many = part.count] {
      for (std::int64_t i = 0; i < many; ++i) { sum += from[i]; }
    });
  };
  auto taker = engine_on(device, transfer::overlapped{6, 3});
  taker.run(device.caller(),
            transfer::job{.elements = 1000, .inputs = {{made.data(), 4}}, .compute = add});
  device.synchronize(device.caller());
  CHECK(sum == 499'500);
}

TEST_CASE("memory of the wrong kind is refused by name, with the remedy", "[transfer]") {
  fake_device device{5};
  host_data data{device, 100, mixed_other, 1};  // the second input is pageable
  auto const job = job_of(data, 100, 1);
  auto const refused = [&](auto how) {
    auto engine = engine_on(device, how);
    return test::message_of([&] { engine.run(device.caller(), job); });
  };
  for (auto const& text :
       {refused(transfer::pinned{}), refused(transfer::textbook{}), refused(transfer::mapped{})}) {
    CHECK_THAT(text, test::contains("input 1 is in pageable memory"));
    CHECK_THAT(text, test::contains("transfer::staged"));
  }
  device.hold(data.at(2), 800, host_kind::device);
  CHECK_THAT(refused(transfer::pageable{}), test::contains("output 0 is in device memory"));
  CHECK(device.copies == 0);
}

TEST_CASE("jobs that make no sense are refused by name", "[transfer]") {
  fake_device device{6};
  host_data data{device, 10, all_locked, 1};
  auto engine = engine_on(device, transfer::pinned{});
  auto const refused = [&](auto const& change) {
    auto job = job_of(data, 10, 1);
    change(job);
    return test::message_of([&] { engine.run(device.caller(), job); });
  };
  CHECK_THAT(refused([](auto& job) { job.elements = -1; }), test::contains("-1 elements"));
  CHECK_THAT(refused([](auto& job) { job.granularity = 0; }), test::contains("blocks of 0"));
  CHECK_THAT(refused([](auto& job) { job.inputs[1].data = nullptr; }),
             test::contains("input 1 of 10 elements of 2 bytes has no address"));
  CHECK_THAT(refused([](auto& job) { job.outputs[0].element_bytes = 0; }),
             test::contains("output 0"));
  CHECK_THAT(test::message_of([&] { engine_on(device, transfer::overlapped{-1, 0}); }),
             test::contains("chunks is -1"));
  CHECK_THAT(test::message_of([] { transfer::textbook{0}.validate(); }),
             test::contains("streams is 0"));
  CHECK_THAT(test::message_of([] { transfer::staged{.threads = -2}.bounce().resolved(); }),
             test::contains("-2 threads"));
  CHECK_THAT(test::message_of([] { transfer::staged{.buffer_bytes = 1}.bounce().resolved(); }),
             test::contains("buffer_bytes is 1"));
}

TEST_CASE("a copy that fails is named, leaves nothing behind, and the engine goes on",
          "[transfer]") {
  auto const run = [](auto how, kinds held) {
    auto const seed = test::fresh_seed();
    constexpr std::int64_t count = 20'001;
    int failed = 0;
    for (int at = 1; at < 40; at += 3) {
      INFO(describe(how) << ", seed " << seed << ", copy " << at);
      fake_device device{seed};
      host_data data{device, count, held, seed};
      auto engine = engine_on(device, how);
      device.fail_copy_at = at;
      try {
        engine.run(device.caller(), job_of(data, count, 1));
      } catch (transfer::chunk_error const& error) {
        ++failed;
        CHECK_THAT(message_with_cause(error), test::contains("the copy fails as asked for"));
        CHECK_THAT(error.what(), test::contains("copy to the"));
        CHECK(error.first() >= 0);
        CHECK(error.first() + error.count() <= count);
        CHECK(device.live_bytes == 0);
        CHECK(device.pinned == 0);
      }
      device.fail_copy_at = 0;
      device.synchronize(device.caller());
      REQUIRE(device.idle());
      data.poison();
      engine.run(device.caller(), job_of(data, count, 1));
      device.synchronize(device.caller());
      REQUIRE(data.wrong(1) == "");
    }
    CHECK(failed >= 2);
  };
  run(transfer::pageable{}, all_pageable);
  run(transfer::pinned{}, all_locked);
  run(transfer::registered{}, all_pageable);
  run(transfer::textbook{}, all_locked);
  run(transfer::staged{}, all_pageable);
  run(transfer::overlapped{8, 3}, all_locked);
  run(transfer::overlapped{8, 3}, all_pageable);
  run(transfer::overlapped{8, 1}, mixed);
}

TEST_CASE("a computation that throws names its chunk", "[transfer]") {
  auto const run = [](auto how, kinds held, int at, std::string const& says) {
    fake_device device{7};
    host_data data{device, 8000, held, 1};
    auto engine = engine_on(device, how);
    auto const text =
        test::message_of([&] { engine.run(device.caller(), job_of(data, 8000, 1, at)); });
    CHECK(text == "the computation of chunk " + says + " failed: the kernel refuses");
    CHECK(device.live_bytes == 0);
    device.synchronize(device.caller());
    CHECK(device.idle());
    engine.run(device.caller(), job_of(data, 8000, 1));
    device.synchronize(device.caller());
    CHECK(data.wrong(1) == "");
  };
  run(transfer::pinned{}, all_locked, 0, "0 (elements 0 to 8000)");
  run(transfer::mapped{}, all_locked, 0, "0 (elements 0 to 8000)");
  run(transfer::staged{}, all_pageable, 0, "0 (elements 0 to 8000)");
  run(transfer::textbook{4}, all_locked, 3, "3 (elements 6000 to 8000)");
  run(transfer::overlapped{8, 3}, all_locked, 5, "5 (elements 5000 to 6000)");
  run(transfer::overlapped{8, 3}, all_pageable, 5, "5 (elements 5000 to 6000)");
}

TEST_CASE("an allocation that fails leaves nothing behind", "[transfer]") {
  auto const run = [](auto how) {
    for (std::uint64_t at = 1; at <= 4; ++at) {
      fake_device device{8};
      host_data data{device, 5000, all_locked, 1};
      mr::limited_resource<fake_memory> memory{fake_memory{&device}, 1U << 30U, at};
      auto engine = engine_on(device, how, memory);
      CHECK_THROWS_AS(engine.run(device.caller(), job_of(data, 5000, 1)), mr::out_of_memory);
      CHECK(device.live_bytes == 0);
      engine.run(device.caller(), job_of(data, 5000, 1));
      device.synchronize(device.caller());
      CHECK(data.wrong(1) == "");
    }
  };
  run(transfer::pinned{});
  run(transfer::textbook{});
  run(transfer::overlapped{8, 3});
}

TEST_CASE("what blocks the host refuses a capture, and the rest does not", "[transfer]") {
  fake_device device{9};
  constexpr std::int64_t count = 5000;
  host_data pageable{device, count, all_pageable, 1};
  host_data locked{device, count, all_locked, 1};
  device.captured = true;
  auto const refused = [&](auto how, host_data& data) {
    auto engine = engine_on(device, how);
    return test::message_of([&] { engine.run(device.caller(), job_of(data, count, 1)); });
  };
  auto const blocks = test::contains("cannot be captured into a graph");
  CHECK_THAT(refused(transfer::pageable{}, pageable), blocks);
  CHECK_THAT(refused(transfer::registered{}, pageable), blocks);
  CHECK_THAT(refused(transfer::staged{}, pageable), blocks);
  CHECK_THAT(refused(transfer::overlapped{}, pageable), blocks);
  CHECK(device.copies == 0);
  CHECK(device.pins == 0);
  for (auto const& text :
       {refused(transfer::pinned{}, locked), refused(transfer::mapped{}, locked),
        refused(transfer::textbook{}, locked), refused(transfer::overlapped{}, locked)}) {
    CHECK(text == "nothing was thrown");
  }
  CHECK(device.waits_of_host == 0);
}

TEST_CASE("arrays that share a page are registered as one range", "[transfer]") {
  fake_device device{10};
  std::vector<std::byte> store(3 * 4096);
  auto* const page = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(store.data()) + 4095) / 4096 * 4096);
  auto const nothing = [](fake_stream, transfer::chunk const&) {};
  auto engine = engine_on(device, transfer::registered{});
  auto const pins = [&](std::byte* second) {
    device.pins = 0;
    transfer::job const work{
        .elements = 100, .inputs = {{page, 1}}, .outputs = {{second, 1}}, .compute = nothing};
    engine.run(device.caller(), work);
    CHECK(device.pinned == 0);
    CHECK(device.idle());  // it has waited
    return device.pins.load();
  };
  CHECK(pins(page + 200) == 1);
  CHECK(pins(page) == 1);
  CHECK(pins(page + 4096) == 2);
}

TEST_CASE("jobs that run at once share the pages that they register", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  fake_device device{seed};
  constexpr std::int64_t count = 9001;
  // Three arrays of different ends: the same, one within another, one across the end of another.
  std::vector<int> shared(3 * count);
  std::iota(shared.begin(), shared.end(), 0);
  std::array<std::size_t, 6> const from{0, 0, 1000, 3 * count / 2, count, 2 * count};
  std::array<std::vector<int>, 6> doubled;
  std::vector<std::string> wrong(from.size());
  {
    std::vector<std::jthread> crew;
    for (std::size_t t = 0; t < from.size(); ++t) {
      doubled[t].resize(count);
      crew.emplace_back([&, t] {
        auto const mine = device.make_stream();
        auto engine = engine_on(device, transfer::registered{});
        auto const twice = [](fake_stream on, transfer::chunk const& part) {
          on.device->launch(
              on, [in = part.input<int>(0), out = part.output<int>(0), many = part.count] {
                for (std::int64_t i = 0; i < many; ++i) { out[i] = 2 * in[i]; }
              });
        };
        for (std::int64_t i = 0; i < 40 && wrong[t].empty(); ++i) {
          auto const many = count - (t == 2 ? 2000 : 13 * i);
          try {
            engine.run(mine, transfer::job{.elements = many,
                                           .inputs = {{shared.data() + from[t], 4}},
                                           .outputs = {{doubled[t].data(), 4}},
                                           .compute = twice});
          } catch (std::exception const& error) { wrong[t] = error.what(); }
          for (std::int64_t k = 0; k < many && wrong[t].empty(); ++k) {
            auto const at = static_cast<std::size_t>(k);
            if (doubled[t][at] != 2 * shared[from[t] + at]) { wrong[t] = "a wrong element"; }
          }
        }
      });
    }
  }
  for (auto const& each : wrong) { CHECK(each == ""); }
  CHECK(device.pinned == 0);
  CHECK(device.bad_unpins == 0);
  CHECK(device.unpinned_under_copies == 0);
}

TEST_CASE("pages are released by their last user, and those of others by nobody", "[transfer]") {
  fake_device device{13};
  fake_link const link{device};
  auto& all = transfer::page_registry::of_process();
  std::vector<std::byte> store(8 * 4096);
  auto* const first = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(store.data()) + 4095) / 4096 * 4096);
  auto const array = [&](std::size_t from) {
    return std::vector<transfer::host_array>{{first + from, 1}};
  };
  auto const whole = all.acquire(link, array(0), 3 * 4096);
  auto const part = all.acquire(link, array(4096 + 7), 100);
  CHECK(device.pins == 1);
  CHECK(part == whole);
  all.release(link, whole);
  CHECK(device.pinned == 1);
  {
    // Across the end of what is still used: waits for its release.
    std::atomic<bool> there = false;
    std::jthread const other{[&] {
      auto const across = all.acquire(link, array(2 * 4096), 2 * 4096);
      there = true;
      all.release(link, across);
    }};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(there);
    all.release(link, part);
  }
  CHECK(device.pins == 2);
  CHECK(device.pinned == 0);

  auto* const theirs = first + 6 * 4096;
  device.pin(theirs, 4096);  // by somebody else
  auto const none = all.acquire(link, array(6 * 4096), 4096);
  CHECK(none.empty());
  // Two arrays, of which the second cannot be locked: the first is released again.
  std::vector<transfer::host_array> two{{first, 1}, {first + 5 * 4096, 1}};
  CHECK_THROWS_WITH(all.acquire(link, two, 4097), test::contains("page-locked already"));
  CHECK(device.pins == 3);
  CHECK(device.pinned == 0);
  device.unpin(theirs);
  auto const again = all.acquire(link, two, 4097);
  CHECK(again.size() == 2);
  all.release(link, again);
  // The second array's first page is the last one of the first array.
  two[1].data = first + 4200;
  auto const merged = all.acquire(link, two, 4097);
  REQUIRE(merged.size() == 1);
  CHECK(merged[0].end - merged[0].begin == 3 * 4096);
  all.release(link, merged);
  CHECK(device.pinned == 0);
  CHECK(device.bad_unpins == 0);
}

TEST_CASE("a plan says what was picked, and learns what the kernel takes", "[transfer]") {
  fake_device device{11};
  constexpr std::int64_t count = 20'001;
  host_data data{device, count, all_locked, 1};
  auto engine = engine_on(device, transfer::overlapped{});
  auto const run = [&] {
    engine.run(device.caller(), job_of(data, count, 1));
    device.synchronize(device.caller());
    return engine.plan();
  };
  CHECK(engine.plan().chunks.empty());
  auto const first = run();
  CHECK(first.chunks.size() > 3);
  CHECK_THAT(first.why, test::contains("the link to the host limits"));  // 9 bytes out, 6 in
  CHECK(run() == first);  // its events have not passed
  device.kernel_seconds = 10e-3;
  auto const second = run();
  CHECK_THAT(second.why, test::contains("the kernel limits"));
  CHECK(second.bound_seconds > 2 * first.bound_seconds);
  CHECK(second.bound_seconds < 20e-3);  // many chunks ended in 10 ms, though one took as long
  for (int i = 0; i < 10; ++i) {
    device.kernel_seconds = (i % 2 == 0 ? 1e-3 : 20e-3);
    run();
  }
  auto const settled = run();
  for (int i = 0; i < 4; ++i) {
    device.kernel_seconds = (i % 2 == 0 ? 1e-3 : 20e-3);
    CHECK(run() == settled);  // it does not follow for ever
  }

  auto given = job_of(data, count, 1);
  given.compute_seconds = 50e-3;
  engine.run(device.caller(), given);
  CHECK_THAT(engine.plan().why, test::contains("the kernel limits"));
  device.synchronize(device.caller());

  auto asked = engine_on(device, transfer::overlapped{10, 3});
  asked.run(device.caller(), job_of(data, count, 1));
  device.synchronize(device.caller());
  CHECK(asked.plan().chunks.size() == 10);
  CHECK(asked.plan().slots == 3);
  CHECK(asked.plan().seconds > 0);

  auto many = engine_on(device, transfer::overlapped{3, 30});
  many.run(device.caller(), job_of(data, count, 1));
  device.synchronize(device.caller());
  CHECK(many.plan().slots == 3);  // no room on the device that no chunk uses

  // Chunks of large jobs begin at pages, of small ones anywhere.
  host_data large{device, 1'000'003, all_locked, 1};
  many.run(device.caller(), job_of(large, 1'000'003, 3));
  device.synchronize(device.caller());
  CHECK(large.wrong(3) == "");
  CHECK(many.plan().chunks[0] % (3 * 4096) == 0);
  CHECK(asked.plan().chunks[0] % 4096 != 0);
}

TEST_CASE("chunks have room in half of the device, or are smaller", "[transfer]") {
  fake_device device{14};
  constexpr std::int64_t count = 20'001;  // of 15 bytes
  host_data data{device, count, all_locked, 1};
  auto const plan_within = [&](double bytes) {
    device.bytes = bytes;
    auto engine = engine_on(device, transfer::overlapped{});
    engine.run(device.caller(), job_of(data, count, 1));
    device.synchronize(device.caller());
    CHECK(data.wrong(1) == "");
    return engine.plan();
  };
  CHECK(plan_within(1e9).slots == 6);
  auto const poor = plan_within(20'000);
  CHECK(poor.slots * poor.largest_chunk() * 15 <= 10'000);
  CHECK_THROWS_WITH(plan_within(100), test::contains("no cut of 20001 elements"));
}

TEST_CASE("a job that is one of many forgotten is planned again", "[transfer]") {
  fake_device device{12};
  device.kernel_seconds = 1e-3;
  auto engine = engine_on(device, transfer::overlapped{});
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t count = 1000; count < 1040; ++count) {
      host_data data{device, count, all_locked, 1};
      engine.run(device.caller(), job_of(data, count, 1));
      device.synchronize(device.caller());
      REQUIRE(data.wrong(1) == "");
    }
  }
}

TEST_CASE("threads with an engine each do not disturb each other", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  fake_device device{seed};
  std::vector<std::string> wrong(4);
  {
    std::vector<std::jthread> crew;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      crew.emplace_back([&, t] {
        constexpr std::int64_t count = 9001;
        auto const mine = device.make_stream();
        auto const held = t % 2 == 0 ? all_pageable : mixed;
        host_data data{device, count, held, seed + t};
        auto engine = engine_on(device, transfer::overlapped{6, 2});
        for (int i = 0; i < 4; ++i) {
          data.poison();
          engine.run(mine, job_of(data, count, 1));
          device.synchronize(mine);
          if (wrong[t].empty()) { wrong[t] = data.wrong(1); }
        }
      });
    }
  }
  for (auto const& each : wrong) { CHECK(each == ""); }
  CHECK(device.live_bytes == 0);
}

TEST_CASE("policies say what they are", "[transfer]") {
  CHECK(describe(transfer::pinned{}) == "transfer::pinned");
  CHECK(describe(transfer::staged{}) == "transfer::staged");
  CHECK(describe(transfer::staged{.threads = 6, .buffer_bytes = 8192}) ==
        "transfer::staged{threads=6, buffer_bytes=8192}");
  CHECK(describe(transfer::textbook{}) == "transfer::textbook{streams=4}");
  CHECK(describe(transfer::overlapped{}) == "transfer::overlapped");
  CHECK(describe(transfer::overlapped{.chunks = 8, .streams = 3}) ==
        "transfer::overlapped{chunks=8, streams=3}");
  CHECK(describe(transfer::overlapped{.streams = 3, .terms = slow_link()}) ==
        "transfer::overlapped{streams=3, caller's terms}");
}

TEST_CASE("however chunks are dealt, and in whatever ramps, jobs are right", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  fake_device device{seed};
  transfer::courier<fake_link, fake_memory> carrier{fake_link{device}, fake_memory{&device},
                                                    small_staging()};
  for (auto const how : {transfer::deal::in_one_queue, transfer::deal::by_engine,
                         transfer::deal::led_by_caller, transfer::deal::by_chunk}) {
    for (auto const held : {all_locked, all_pageable, mixed}) {
      for (int const slots : {1, 2, 6}) {
        auto const by = transfer::route_of(
            {transfer::ramped_chunks(4099, 1, 13, {12, 1.2, 0, 1}), slots, how}, true, true);
        for (int i = 0; i < 3; ++i) {
          host_data data{device, 4099, held, seed + static_cast<std::uint64_t>(i)};
          auto const what = job_of(data, 4099, 1);
          carrier.run(device.caller(), what, transfer::arrays_of(carrier.link(), what), true, by);
          device.synchronize(device.caller());
          INFO("deal " << static_cast<int>(how) << ", " << slots << " slots");
          REQUIRE(data.wrong(1) == "");
        }
      }
    }
  }
}

TEST_CASE("trials run each plan of the short list as often as asked, then one stays",
          "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  fake_device device{seed};
  constexpr std::int64_t count = 20'001;
  auto engine = engine_on(device, transfer::overlapped{.trials = 2});
  auto const run = [&] {
    host_data data{device, count, all_locked, seed};
    engine.run(device.caller(), job_of(data, count, 1));
    device.synchronize(device.caller());
    REQUIRE(data.wrong(1) == "");
    return engine.plan();
  };
  CHECK_FALSE(engine.settled());
  auto const first = run();
  CHECK_FALSE(engine.settled());  // events that have not passed are not waited for
  device.kernel_seconds = 1e-9;   // what every pair of events shows
  std::vector<transfer::overlap_plan> seen;
  int runs = 0;
  while (!engine.settled() && runs < 50) {
    seen.push_back(run());
    ++runs;
  }
  CHECK(runs >= 3 + 2 * 3);
  CHECK(runs <= 3 + 2 * 5);
  CHECK(std::any_of(seen.begin(), seen.end(),
                    [&](auto const& each) { return each.chunks != first.chunks; }));
  auto const settled = run();
  CHECK(settled.chunks == first.chunks);  // all were alike, so the model's word counts
  CHECK_THAT(settled.why, test::contains("plans that were measured"));
  for (int i = 0; i < 70; ++i) { CHECK(run() == settled); }

  // A capture takes what is known, and is no trial.
  auto other = engine_on(device, transfer::overlapped{.trials = 2});
  device.captured = true;
  host_data data{device, count, all_locked, seed};
  for (int i = 0; i < 5; ++i) {
    other.run(device.caller(), job_of(data, count, 1));
    device.synchronize(device.caller());
    CHECK(other.plan().chunks == first.chunks);
  }
  CHECK_FALSE(other.settled());

  CHECK(describe(transfer::overlapped{.trials = 3}) == "transfer::overlapped{trials=3}");
  CHECK_THROWS_WITH(engine_on(device, transfer::overlapped{.trials = -1}),
                    test::contains("trials is -1"));
  CHECK_THROWS_WITH(engine_on(device, transfer::overlapped{.chunks = 4, .trials = 2}),
                    test::contains("there is one plan"));
}
