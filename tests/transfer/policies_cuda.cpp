// SPDX-License-Identifier: Apache-2.0
/// @file
/// All transfers on a fake device that runs as late and as strangely as it may: right to the bit,
/// clean after every failure.

#include "catch.hpp"
#include "memory/limited.hpp"
#include "transfer/fake_link.hpp"
#include "transfer/jobs.hpp"

#include <assay/memory/concepts.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/overlapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace assay;
using test::fake_device;
using test::fake_link;
using test::fake_memory;
using test::fake_stream;

using kinds = std::array<memory_type, 4>;
constexpr kinds all_pageable{};
constexpr kinds all_locked{memory_type::page_locked, memory_type::page_locked,
                           memory_type::page_locked, memory_type::page_locked};
constexpr kinds mixed{memory_type::pageable, memory_type::page_locked, memory_type::managed,
                      memory_type::pageable};
constexpr kinds mixed_other{memory_type::page_locked, memory_type::pageable, memory_type::pageable,
                            memory_type::managed};

/// A slow link, on which several chunks pay for small jobs, too.
constexpr transfer::link_costs slow_link{0.8e8, 1e-6};

/// The arrays of one job in host memory at odd addresses, with guards round the outputs.
class host_data {
 public:
  host_data(fake_device& device, std::int64_t count, kinds held, std::uint64_t seed)
      : device_(device), count_(count) {
    for (std::size_t i = 0; i < 4; ++i) {
      auto const bytes = static_cast<std::size_t>(count) * test::widths[i];
      stores_[i].assign(bytes + 2 * guard, std::byte{0x55});
      if (held[i] != memory_type::pageable) {
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

  /// The first error in the outputs, or nothing.
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
transfer::staging small_staging() { return {3, 4096}; }

template <class Policy, class Memory = fake_memory>
auto engine_on(fake_device& device, Policy how, Memory memory) {
  return transfer::engine<Policy, fake_link, Memory>{how, fake_link{device}, memory,
                                                     small_staging()};
}
template <class Memory = fake_memory>
auto engine_on(fake_device& device, transfer::overlapped how, Memory memory) {
  return transfer::engine<transfer::overlap_planner, fake_link, Memory>{
      transfer::overlap_planner{how, slow_link}, fake_link{device}, memory, small_staging()};
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
  require_right(transfer::mapped{}, all_locked);
  require_right(transfer::staged{}, all_locked);
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
  for (auto const kind : {memory_type::pageable, memory_type::page_locked}) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = 0; i < count; ++i) { values[i] = static_cast<std::uint32_t>(i); }
    if (kind == memory_type::page_locked) { device.hold(values.data(), count * 4, kind); }
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
  device.hold(made.data(), 4000, memory_type::page_locked);
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
  for (auto const& text : {refused(transfer::pinned{}), refused(transfer::mapped{})}) {
    CHECK_THAT(text, test::contains("input 1 is in pageable memory"));
    CHECK_THAT(text, test::contains("transfer::staged"));
  }
  device.hold(data.at(2), 800, memory_type::device);
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
  for (double const seconds : {-1e-3, 1.0 / 0.0, 0.0 / 0.0}) {
    CHECK_THAT(refused([&](auto& job) { job.compute_seconds = seconds; }),
               test::contains("compute_seconds is ") && test::contains("0 (not known)"));
  }
  CHECK_THAT(refused([](auto& job) { job.inputs[1].data = nullptr; }),
             test::contains("input 1 of 10 elements of 2 bytes has no address"));
  CHECK_THAT(refused([](auto& job) { job.outputs[0].element_bytes = 0; }),
             test::contains("output 0"));
  auto const first = [](auto& job) { return static_cast<std::byte*>(job.outputs[0].data); };
  CHECK_THAT(refused([&](auto& job) { job.inputs[1] = {first(job) + 1, 2}; }),
             test::contains("output 0 overlaps input 1: an output may be the same array as"));
  CHECK_THAT(refused([&](auto& job) { job.inputs[0] = {first(job), 1}; }),
             test::contains("output 0 overlaps input 0"));
  CHECK_THAT(refused([&](auto& job) { job.outputs.push_back(job.outputs[0]); }),
             test::contains("overlaps output"));
  CHECK_THAT(test::message_of([&] { engine_on(device, transfer::overlapped{-1, 0}); }),
             test::contains("chunks is -1"));
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
  run(transfer::staged{}, all_pageable);
  run(transfer::overlapped{8, 3}, all_locked);
  run(transfer::overlapped{8, 3}, all_pageable);
  run(transfer::overlapped{8, 1}, mixed);
}

TEST_CASE("a stager whose threads cannot all be started says so, and ends those that run",
          "[transfer]") {
  fake_device device{1};
  std::size_t pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  auto const used = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  // Room for a few stacks of 2 to 8 MB.
  rlimit const small{used + (std::size_t{64} << 20U), before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &small) == 0);
  auto const told = test::message_of(
      [&] { transfer::stager{fake_link{device}, {.threads = 500, .buffer_bytes = 4096}}; });
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  CHECK_THAT(told, test::contains("cannot start 500 threads: "));
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
  run(transfer::overlapped{8, 3}, all_locked, 5, "5 (elements 5000 to 6000)");
  run(transfer::overlapped{8, 3}, all_pageable, 5, "5 (elements 5000 to 6000)");
}

TEST_CASE("an allocation that fails leaves nothing behind", "[transfer]") {
  auto const run = [](auto how) {
    fake_device device{8};
    host_data data{device, 5000, all_locked, 1};
    test::limited_resource<fake_memory> memory{fake_memory{&device}, 1U << 30U, 1};
    auto engine = engine_on(device, how, memory);
    CHECK_THROWS_AS(engine.run(device.caller(), job_of(data, 5000, 1)), mr::out_of_memory);
    CHECK(device.live_bytes == 0);
    engine.run(device.caller(), job_of(data, 5000, 1));
    device.synchronize(device.caller());
    CHECK(data.wrong(1) == "");
  };
  run(transfer::pinned{});
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
  CHECK_THAT(refused(transfer::staged{}, pageable), blocks);
  CHECK_THAT(refused(transfer::overlapped{}, pageable), blocks);
  CHECK(device.copies == 0);
  for (auto const& text : {refused(transfer::pinned{}, locked), refused(transfer::mapped{}, locked),
                           refused(transfer::overlapped{}, locked)}) {
    CHECK(text == "nothing was thrown");
  }
  CHECK(device.waits_of_host == 0);
}

TEST_CASE("a plan says what was picked, and stays", "[transfer]") {
  fake_device device{11};
  constexpr std::int64_t count = 20'001;
  host_data data{device, count, all_locked, 1};
  auto engine = engine_on(device, transfer::overlapped{});
  auto const run = [&](double compute_seconds) {
    auto what = job_of(data, count, 1);
    what.compute_seconds = compute_seconds;
    engine.run(device.caller(), what);
    device.synchronize(device.caller());
    return engine.plan();
  };
  CHECK(engine.plan().chunks.empty());
  auto const first = run(0);
  CHECK(first.chunks.size() > 3);
  CHECK_THAT(first.why, test::contains("the link to the host limits"));  // 9 bytes out, 6 in
  CHECK(run(0) == first);
  auto const heavy = run(50e-3);
  CHECK_THAT(heavy.why, test::contains("the kernel limits"));
  CHECK_THAT(heavy.why, test::contains("(50 ms;"));
  CHECK(run(0) == first);
  CHECK(run(50e-3) == heavy);

  auto asked = engine_on(device, transfer::overlapped{10, 3});
  asked.run(device.caller(), job_of(data, count, 1));
  device.synchronize(device.caller());
  CHECK(asked.plan().chunks.size() == 10);
  CHECK(asked.plan().slots == 3);

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

TEST_CASE("a job without arrays has its kernel alone", "[transfer]") {
  fake_device device{16};
  int calls = 0;
  auto const count = [&](fake_stream, transfer::chunk const&) { ++calls; };
  auto engine = engine_on(device, transfer::overlapped{});
  engine.run(device.caller(), transfer::job{.elements = 1000, .compute = count});
  CHECK(calls == 1);
}

TEST_CASE("a block of more elements than a job has is the whole job", "[transfer]") {
  fake_device device{17};
  for (int const chunks : {0, 8}) {
    int calls = 0;
    auto const count = [&](fake_stream, transfer::chunk const& part) {
      calls += part.count == 1000;
    };
    auto engine = engine_on(device, transfer::overlapped{.chunks = chunks});
    engine.run(device.caller(),
               transfer::job{.elements = 1000,
                             .granularity = std::numeric_limits<std::int64_t>::max(),
                             .compute = count});
    CHECK(calls == 1);
  }
}

TEST_CASE("chunks have room in half of the free memory, or are smaller", "[transfer]") {
  fake_device device{14};
  constexpr std::int64_t count = 20'001;  // of 15 bytes
  host_data data{device, count, all_locked, 1};
  auto const plan_within = [&](double bytes) {
    device.free_bytes = bytes;
    auto engine = engine_on(device, transfer::overlapped{});
    engine.run(device.caller(), job_of(data, count, 1));
    device.synchronize(device.caller());
    CHECK(data.wrong(1) == "");
    return engine.plan();
  };
  CHECK(plan_within(1e9).slots == 6);
  auto const poor = plan_within(20'000);
  CHECK(poor.slots * std::ranges::max(poor.chunks) * 15 <= 10'000);
  CHECK_THROWS_WITH(plan_within(100), test::contains("no cut of 20001 elements"));
}

namespace {

/// Memory that tells how much of the device it holds for later jobs.
struct holding_memory : fake_memory {
  std::uint64_t held_bytes = 0;
  mr::statistics stats() const {
    mr::statistics made;
    made.live_bytes = 1000;
    made.reserved_bytes = made.live_bytes + held_bytes;
    return made;
  }
};

/// Has no room for more live bytes than `*budget`, and says so as `whose` resources do.
struct shrinking_memory : fake_memory {
  enum class library { ours, rmm, cccl };
  long const* budget = nullptr;
  library whose = library::ours;
  void* allocate(fake_stream on, std::size_t bytes, std::size_t alignment) const {
    if (device->live_bytes + static_cast<long>(bytes) > *budget) {
      if (whose == library::rmm) { throw std::bad_alloc{}; }
      if (whose == library::cccl) {
        throw std::runtime_error("cudaError 2: the memory has shrunk");
      }
      throw mr::out_of_memory("the memory has shrunk");
    }
    return fake_memory::allocate(on, bytes, alignment);
  }
};

}  // namespace

TEST_CASE("a remembered plan that no longer has room is made anew", "[transfer]") {
  using enum shrinking_memory::library;
  auto const whose = GENERATE(ours, rmm, cccl);
  fake_device device{15};
  constexpr std::int64_t count = 20'001;  // of 15 bytes
  host_data data{device, count, all_locked, 1};
  long budget = 1'000'000'000;
  auto engine =
      engine_on(device, transfer::overlapped{}, shrinking_memory{{&device}, &budget, whose});
  auto const what = job_of(data, count, 1);
  auto const run = [&] {
    data.poison();
    engine.run(device.caller(), what);
    device.synchronize(device.caller());
    CHECK(data.wrong(1) == "");
  };
  run();
  CHECK(engine.plan().slots * std::ranges::max(engine.plan().chunks) * 15 > 20'000);
  budget = 20'000;
  device.free_bytes = 20'000;
  run();
  CHECK(engine.plan().slots * std::ranges::max(engine.plan().chunks) * 15 <= 10'050);
  budget = 0;
  CHECK_THROWS(run());
  CHECK(device.live_bytes == 0);
}

TEST_CASE("a plan goes by the memory that is free when it is made", "[transfer]") {
  fake_device device{15};
  constexpr std::int64_t count = 20'001;  // of 15 bytes
  host_data data{device, count, all_locked, 1};
  host_data other{device, count - 1, all_locked, 2};
  auto engine = engine_on(device, transfer::overlapped{});
  auto const slot_bytes = [&](transfer::job<fake_compute> const& what) {
    engine.run(device.caller(), what);
    device.synchronize(device.caller());
    return engine.plan().slots * std::ranges::max(engine.plan().chunks) * 15;
  };
  device.free_bytes = 20'000;
  auto const first = job_of(data, count, 1);
  CHECK(slot_bytes(first) <= 10'000);
  device.free_bytes = 1e9;
  CHECK(slot_bytes(first) <= 10'000);  // the plan is known
  CHECK(slot_bytes(job_of(other, count - 1, 1)) > 10'000);

  // In a capture the device is not asked.
  device.free_bytes = 100;
  device.captured = true;
  host_data third{device, count - 2, all_locked, 3};
  CHECK(slot_bytes(job_of(third, count - 2, 1)) > 10'000);
  device.captured = false;

  // The room that the resource holds is free, too.
  auto held = engine_on(device, transfer::overlapped{}, holding_memory{{&device}, 20'000});
  held.run(device.caller(), first);
  device.synchronize(device.caller());
  CHECK(held.plan().slots * std::ranges::max(held.plan().chunks) * 15 <= 10'050);
  CHECK(held.plan().slots * std::ranges::max(held.plan().chunks) * 15 > 2'000);
}

TEST_CASE("a job that is one of many forgotten is planned again", "[transfer]") {
  fake_device device{12};
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

TEST_CASE("jobs in unequal chunks are right with any number of slots", "[transfer]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  fake_device device{seed};
  transfer::schedule_executor<fake_link, fake_memory> executor{
      fake_link{device}, fake_memory{&device}, small_staging()};
  std::vector<std::vector<std::int64_t>> const cuts{
      {4099}, {4000, 99}, {1, 8, 90, 1000, 3000}, {900, 800, 700, 600, 500, 400, 199}};
  for (auto const& cut : cuts) {
    for (auto const held : {all_locked, all_pageable, mixed}) {
      for (int const slots : {1, 2, 6}) {
        auto const plan = transfer::compile(cut, slots, true, true);
        for (int i = 0; i < 3; ++i) {
          host_data data{device, plan.first.back(), held, seed + static_cast<std::uint64_t>(i)};
          auto const what = job_of(data, plan.first.back(), 1);
          executor.run(device.caller(), what, transfer::arrays_of(executor.link(), what), true,
                       plan);
          device.synchronize(device.caller());
          INFO(cut.size() << " chunks, " << slots << " slots");
          REQUIRE(data.wrong(1) == "");
        }
      }
    }
  }
}
