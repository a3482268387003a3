// SPDX-License-Identifier: Apache-2.0
/// @file
/// Traces built by hand for the tests: a builder, and a trace with something in every field.
#pragma once

#include <assay/trace/model.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace assay::test::golden {

using namespace assay::trace;  // all rows of the model

inline constexpr thread_key main_thread{100, 100};
inline constexpr thread_key second_thread{100, 101};

/// Where work of `launch` and its like runs.
struct on_stream {
  std::int32_t device = 0;
  std::uint32_t stream = 7;
  std::uint32_t context = 1;
};

/// Makes a trace row by row. Rows come back by reference, to be changed; valid until the next one.
class builder {
 public:
  model trace;

  string_id text(std::string_view of) { return trace.strings.intern(of); }

  /// Adds one call; its correlation is the next free number unless it is given.
  api_call& call(std::string_view name, span when, thread_key who = main_thread,
                 std::uint32_t correlation = 0) {
    auto& row = trace.calls.emplace_back();
    row.when = when;
    row.thread = who;
    row.name = text(name);
    row.layer = name.starts_with("cuda") ? api::runtime
                : name.starts_with("cu") ? api::driver
                                         : api::os;
    row.correlation = correlation != 0 ? correlation : ++correlation_;
    return row;
  }
  std::uint32_t last_correlation() const { return correlation_; }

  /// Adds a kernel without the call that launched it (correlation 0), or of a known call.
  kernel_run& kernel(std::string_view name, span when, on_stream at = {},
                     std::uint32_t correlation = 0, thread_key who = main_thread) {
    auto& row = trace.kernels.emplace_back();
    row.when = when;
    row.where = place(at, correlation, who);
    row.name = text(name);
    row.grid = {1, 1, 1};
    row.block = {32, 1, 1};
    return row;
  }
  /// Adds a kernel and the `cudaLaunchKernel` that launched it.
  kernel_run& launch(std::string_view name, span asked, span ran, on_stream at = {},
                     thread_key who = main_thread) {
    auto const correlation = call("cudaLaunchKernel_v7000", asked, who).correlation;
    return kernel(name, ran, at, correlation, who);
  }
  /// Adds a node of a graph, whose launch has this correlation.
  kernel_run& node(std::string_view name, span when, std::uint32_t correlation,
                   std::uint64_t node_id, on_stream at = {}, thread_key who = main_thread) {
    auto& row = kernel(name, when, at, correlation, who);
    row.where.graph_node = node_id;
    row.graph = 1;
    return row;
  }

  memory_copy& copy(copy_kind kind, std::uint64_t bytes, span when, on_stream at = {},
                    std::uint32_t correlation = 0, thread_key who = main_thread) {
    auto& row = trace.copies.emplace_back();
    row.when = when;
    row.where = place(at, correlation, who);
    row.bytes = bytes;
    row.kind = kind;
    row.from = kind == copy_kind::host_to_device ? memory_kind::pinned : memory_kind::device;
    row.to = kind == copy_kind::device_to_host ? memory_kind::pinned : memory_kind::device;
    return row;
  }
  /// Adds a copy and the `cudaMemcpyAsync` that asked for it.
  memory_copy& launch_copy(copy_kind kind, std::uint64_t bytes, span asked, span ran,
                           on_stream at = {}, thread_key who = main_thread) {
    auto const correlation = call("cudaMemcpyAsync_v3020", asked, who).correlation;
    return copy(kind, bytes, ran, at, correlation, who);
  }
  memset_operation& set(std::uint64_t bytes, span when, on_stream at = {},
                        std::uint32_t correlation = 0, thread_key who = main_thread) {
    auto& row = trace.memsets.emplace_back();
    row.when = when;
    row.where = place(at, correlation, who);
    row.bytes = bytes;
    row.kind = memory_kind::device;
    return row;
  }
  graph_launch& whole_graph(span when, on_stream at = {}, std::uint32_t correlation = 0,
                            thread_key who = main_thread) {
    auto& row = trace.graph_launches.emplace_back();
    row.when = when;
    row.where = place(at, correlation, who);
    row.graph = 1;
    row.executable = 2;
    return row;
  }
  synchronization& sync(sync_kind kind, span when, on_stream at = {}, std::uint32_t correlation = 0,
                        thread_key who = main_thread) {
    auto& row = trace.synchronizations.emplace_back();
    row.when = when;
    row.where = place(at, correlation, who);
    row.kind = kind;
    return row;
  }

  range_record& range(std::string_view name, span when, thread_key who = main_thread,
                      std::string_view domain = {}, range_style style = range_style::push_pop) {
    auto& row = trace.ranges.emplace_back();
    row.when = when;
    row.thread = row.end_thread = who;
    row.domain = text(domain);
    row.name = text(name);
    row.style = style;
    return row;
  }
  range_record& mark(std::string_view name, std::int64_t at, thread_key who = main_thread,
                     std::string_view domain = {}) {
    return range(name, {at, at}, who, domain, range_style::mark);
  }
  /// Adds a range that nobody ended: it ends with the trace.
  range_record& unended(std::string_view name, std::int64_t begin, thread_key who = main_thread,
                        std::string_view domain = {}) {
    auto& row = range(name, {begin, trace.window.end}, who, domain);
    row.ended = false;
    return row;
  }

  memory_event& allocation(std::uint64_t address, std::uint64_t bytes, std::int64_t at,
                           on_stream where = {}, thread_key who = main_thread) {
    auto& row = trace.memory.emplace_back();
    row.at = at;
    row.where = place(where, 0, who);
    row.thread = who;
    row.kind = memory_kind::device;
    row.address = address;
    row.bytes = bytes;
    return row;
  }
  memory_event& release(std::uint64_t address, std::uint64_t bytes, std::int64_t at,
                        on_stream where = {}, thread_key who = main_thread) {
    auto& row = allocation(address, bytes, at, where, who);
    row.operation = memory_operation::release;
    return row;
  }
  overhead& cost(std::string_view name, span when, thread_key who = main_thread) {
    return trace.overheads.emplace_back(overhead{when, who, text(name), 0});
  }
  device_description& device(std::int32_t id, std::string name = "NVIDIA H200") {
    auto& row = trace.devices.emplace_back();
    row.id = id;
    row.name = std::move(name);
    row.memory_bytes = 150'754'820'096;
    row.l2_bytes = 62'914'560;
    row.memory_bytes_per_second = 4'800'000'000'000;
    row.clock_hertz = 1'980'000'000;
    row.sm_count = 132;
    row.compute_major = 9;
    row.max_threads_per_sm = 2048;
    row.max_threads_per_block = 1024;
    row.registers_per_sm = 65536;
    row.shared_bytes_per_sm = 233472;
    return row;
  }
  void thread_is_called(thread_key who, std::string_view name) {
    trace.threads.push_back({who, text(name)});
  }

 private:
  static device_place place(on_stream at, std::uint32_t correlation, thread_key who) {
    return {.device = at.device,
            .context = at.context,
            .stream = at.stream,
            .correlation = correlation,
            .process = who.process};
  }

  std::uint32_t correlation_ = 0;
};

/// A demangled name of about `bytes` characters, as templates make them.
inline std::string long_name(std::size_t bytes = 4000) {
  std::string name = "void outer<";
  while (name.size() + 2 < bytes) { name += "std::pair<int, "; }
  return name + ">(int *)";
}

/// Something in every table and every field, each field with a value of its own; two processes,
/// two devices, three threads, names that are hard to write down.
inline model everything() {
  builder b;
  b.trace.epoch_ns = 1'765'008'149'091'427'284;
  b.trace.host = "node \"7\"";
  b.trace.window = {-5, 1'000'000};
  b.trace.source = "by \"hand\" 1.0";
  b.trace.notes = {{"clock", "realtime"}, {"empty", ""}, {"clock", "twice\n\\"}};
  b.device(0);
  b.device(1, "a \"B\" \\ C").compute_minor = 3;
  b.device(5, "unknown") = {.id = 5, .name = "unknown"};
  b.thread_is_called(main_thread, "main");
  b.thread_is_called({200, 7}, "worker \"7\"\t\x01\x7f");

  auto& first =
      b.launch("void scale<float>(float*, \"x\\y\")", {1000, 1800}, {2500, 9000}, {0, 7, 1});
  first.short_name = b.text("scale");
  first.mangled_name = b.text("_Z5scaleIfEvPf");
  first.where.green_context = 3;
  first.grid = {4, 5, 6};
  first.block = {128, 2, 1};
  first.cluster = {2, 1, 1};
  first.registers_per_thread = 40;
  first.static_shared_bytes = 1024;
  first.dynamic_shared_bytes = 49152;
  first.local_bytes_per_thread = 16;
  b.launch(long_name(), {2000, 2400}, {8000, 8000}, {1, 13, 2}, second_thread);  // zero-length
  b.launch("overlaps the first", {2500, 2600}, {8500, 12'345}, {0, 7, 1});
  auto const graph = b.call("cudaGraphLaunch_v10000", {3000, 3500}).correlation;
  b.node("node one", {13'000, 14'000}, graph, 0x1'0000'0001);
  b.node("node two", {14'000, 15'001}, graph, 0xffff'ffff'ffff'fff0);
  b.kernel("nobody launched this", {16'000, 16'001}, {0, 9, 1}, 4'000'000'000);
  b.launch("\xce\xb1\xe2\x82\xac\xf0\x9d\x84\x9e", {3600, 3700}, {17'000, 18'000}, {0, 7, 1},
           {200, 7});  // characters of two, three and four bytes

  b.launch_copy(copy_kind::host_to_device, 1 << 20, {4000, 4100}, {20'000, 30'000});
  auto& peer =
      b.launch_copy(copy_kind::peer_to_peer, 0xffff'ffff'ff, {4200, 4300}, {25'000, 31'000});
  peer.from_device = 0;
  peer.to_device = 1;
  auto& migrated = b.copy(copy_kind::unified_device_to_device, 0, {31'000, 31'000});
  migrated.from = memory_kind::managed;
  migrated.address = 0x7f11'0000'0000;
  b.trace.host_faults = {{30'500, 100, 0x7f11'0000'0000, 0x55d0'1234}, {30'600, 200, 1, 2}};
  b.trace.device_faults = {{30'700, 100, 1, 0xffff'ffff'ffff'f000, 17}};
  auto& filled = b.set(4096, {32'000, 33'000}, {1, 13, 2},
                       b.call("cuMemsetD32Async", {4400, 4500}).correlation);
  filled.value = 0xdeadbeef;
  filled.where.graph_node = 77;
  b.whole_graph({34'000, 36'000}, {}, b.call("cuGraphLaunch", {4600, 4700}).correlation);

  auto& failed = b.call("cudaMalloc_v3020", {4800, 5000}, second_thread);
  failed.result = 2;
  b.call("pthread_mutex_lock", {5100, 5200}, second_thread).result = -1;
  b.call("cuCtxSynchronize", {37'000, 40'000});
  b.sync(sync_kind::context, {37'100, 39'900}, {0, 0xffff'ffff, 1}, b.last_correlation()).event =
      0xffff'ffff;
  b.sync(sync_kind::stream_wait, {100, 200}).event = 12;
  b.sync(sync_kind::event, {300, 300});

  auto& outer = b.range("step \"1\"", {500, 60'000}, main_thread, "assay");
  outer.category = 4;
  outer.argb = 0xff112233;
  outer.payload = 0xffff'ffff'ffff'ffff;
  b.range("forward", {600, 4'000});
  b.range("crosses", {3'900, 70'000}, main_thread, "assay", range_style::start_end).end_thread =
      second_thread;
  b.range("", {700, 700}, second_thread);
  b.mark("here", 800, second_thread, "other \"domain\"");
  b.unended("for ever", 900, {200, 7});

  auto& block = b.allocation(0x7f00'0000'0000, 1 << 20, 950, {1, 13, 2}, second_thread);
  block.where.correlation = 99;
  block.pool = 0x7e00'0000'0000;
  block.pool_used_bytes = 1 << 20;
  block.pool_reserved_bytes = 1 << 25;
  b.release(0xffff'ffff'ffff'ff00, 1 << 20, 45'000);
  b.cost("Buffer flush (Profiler)", {50'000, 51'000}).correlation = 5;
  b.cost("Lazy function loading (CUDA)", {1'100, 1'200}, second_thread);
  b.trace.lost = {1, 2, 3, 4, 5};
  return b.trace;
}

/// A trace of about `rows` rows a table, random but possible: what rows hold fits the files.
inline model random_model(std::uint64_t seed, std::size_t rows = 40) {
  std::mt19937_64 random{seed};
  auto const below = [&](std::uint64_t limit) { return random() % limit; };
  builder b;
  b.trace.epoch_ns = static_cast<std::int64_t>(below(2'000'000'000'000'000'000));
  b.trace.window = {0, 1'000'000'000};
  b.trace.source = "random";
  auto const name = [&] {
    std::string text;
    for (auto length = below(30); length > 0; --length) {
      text += static_cast<char>(below(4) == 0 ? below(128) : 'a' + below(26));
    }
    return text;
  };
  auto const when = [&] {
    auto const begin = static_cast<std::int64_t>(below(999'000'000));
    return span{begin, begin + static_cast<std::int64_t>(below(4) == 0 ? 0 : below(1'000'000))};
  };
  auto const who = [&] {
    return thread_key{static_cast<std::uint32_t>(1 + below(3)),
                      static_cast<std::uint32_t>(1 + below(5))};
  };
  auto const at = [&] {
    return on_stream{static_cast<std::int32_t>(below(3)), static_cast<std::uint32_t>(below(20)),
                     static_cast<std::uint32_t>(1 + below(3))};
  };
  static constexpr std::string_view functions[] = {"cudaLaunchKernel_v7000", "cuLaunchKernel",
                                                   "poll", "cudaMalloc_v3020", "cuGraphLaunch"};
  for (std::size_t i = 0; i < rows; ++i) {
    auto const thread = who();
    auto const correlation = b.call(functions[below(5)], when(), thread).correlation;
    auto& run = b.kernel(name(), when(), at(), below(4) == 0 ? 0 : correlation, thread);
    run.grid = {static_cast<std::uint32_t>(below(1U << 31U)), 1,
                static_cast<std::uint32_t>(below(9))};
    run.short_name = static_cast<string_id>(below(b.trace.strings.size()));
    run.dynamic_shared_bytes = static_cast<std::uint32_t>(below(1U << 18U));
    run.static_shared_bytes = static_cast<std::uint32_t>(below(1U << 16U));
    run.graph = static_cast<std::uint32_t>(below(3));
    run.where.graph_node = below(2) * random();
    auto& moved = b.copy(static_cast<copy_kind>(below(14)), random() >> 1U, when(), at(),
                         correlation, thread);
    moved.from = static_cast<memory_kind>(below(8));
    moved.address = below(2) * random();
    b.trace.host_faults.push_back(
        {static_cast<std::int64_t>(below(1'000'000)), 1, random(), below(9)});
    b.trace.device_faults.push_back(
        {static_cast<std::int64_t>(below(1'000'000)), 2, 1, random(), below(99)});
    b.set(below(1U << 30U), when(), at()).value = static_cast<std::uint32_t>(random());
    b.sync(static_cast<sync_kind>(below(5)), when(), at()).event =
        static_cast<std::uint32_t>(below(99));
    auto& open = b.range(name(), when(), thread, below(2) == 0 ? "" : "domain",
                         static_cast<range_style>(below(2)));
    open.payload = below(2) * random();
    open.argb = static_cast<std::uint32_t>(random());
    b.mark(name(), static_cast<std::int64_t>(below(1'000'000)), who());
    b.allocation(random(), below(1U << 30U), static_cast<std::int64_t>(below(1'000'000)), at(),
                 who());
    b.cost(name(), when(), who());
  }
  return b.trace;
}

/// A trace as `read_nsys` gives it back: the schema keeps the calls of the system apart.
inline model as_read(model of) {
  std::stable_partition(of.calls.begin(), of.calls.end(),
                        [](api_call const& each) { return each.layer != api::os; });
  return of;
}

}  // namespace assay::test::golden
