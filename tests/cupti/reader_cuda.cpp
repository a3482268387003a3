// assay-uses: cupti

// SPDX-License-Identifier: Apache-2.0
// Records made by hand, as CUPTI would write them.
#include <assay/cupti/reader.hpp>

#include "catch.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

using namespace assay::trace;

namespace {

constexpr std::int64_t epoch = 1'700'000'000'000'000'000;

template <class Record>
Record blank(CUpti_ActivityKind kind) {
  Record made{};
  made.kind = kind;
  return made;
}
template <class Record>
Record timed(CUpti_ActivityKind kind, std::int64_t begin, std::int64_t end) {
  auto made = blank<Record>(kind);
  made.start = static_cast<std::uint64_t>(epoch + begin);
  made.end = static_cast<std::uint64_t>(epoch + end);
  return made;
}
template <class Record>
CUpti_Activity const& any(Record const& record) {
  return reinterpret_cast<CUpti_Activity const&>(record);
}

char const* call_name(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id == 211) { return "cudaLaunchKernel_v7000"; }
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id == 211) { return "cuMemAlloc_v2"; }
  return nullptr;
}

cupti_reader reader(std::size_t most_rows = 1000) { return {epoch, call_name, most_rows}; }

cupti::kernel kernel(std::int64_t begin, std::int64_t end, std::uint32_t correlation = 1) {
  auto made = timed<cupti::kernel>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, begin, end);
  made.correlationId = correlation;
  made.name = "_ZN3app5scaleIfEEvPT_i";
  return made;
}
cupti::call call(std::int64_t begin, std::int64_t end, std::uint32_t correlation = 1) {
  auto made = timed<cupti::call>(CUPTI_ACTIVITY_KIND_RUNTIME, begin, end);
  made.cbid = 211;
  made.processId = static_cast<std::uint32_t>(::getpid());
  made.threadId = 77;
  made.correlationId = correlation;
  return made;
}
constexpr span window{0, 1'000'000};

}  // namespace

TEST_CASE("A kernel's record becomes a row, with every field in its place") {
  auto from = kernel(100, 350, 9);
  from.deviceId = 1;
  from.contextId = 2;
  from.streamId = 13;
  from.gridX = 3;
  from.gridY = 4;
  from.gridZ = 5;
  from.blockX = 128;
  from.blockY = 2;
  from.blockZ = 1;
  from.clusterX = 2;
  from.clusterY = 1;
  from.clusterZ = 1;
  from.registersPerThread = 40;
  from.staticSharedMemory = 1024;
  from.dynamicSharedMemory = 2048;
  from.localMemoryPerThread = 16;
  from.graphNodeId = (std::uint64_t{7} << 32U) | 3;
  from.graphId = 7;
  auto in = reader();
  in.read(any(call(90, 95, 9)));
  in.read(any(from));
  auto const made = in.finish(window, window.end, true);
  REQUIRE(made.kernels.size() == 1);
  auto const& row = made.kernels[0];
  CHECK(row.when == span{100, 350});
  CHECK(row.where.device == 1);
  CHECK(row.where.context == 2);
  CHECK(row.where.stream == 13);
  CHECK(row.where.correlation == 9);
  CHECK(row.where.process == static_cast<std::uint32_t>(::getpid()));
  CHECK(row.where.graph_node == ((std::uint64_t{7} << 32U) | 3));
  CHECK(made.strings[row.name] == "void app::scale<float>(float*, int)");
  CHECK(made.strings[row.short_name] == "scale");
  CHECK(made.strings[row.mangled_name] == "_ZN3app5scaleIfEEvPT_i");
  CHECK(row.grid == dimensions{3, 4, 5});
  CHECK(row.block == dimensions{128, 2, 1});
  CHECK(row.cluster == dimensions{2, 1, 1});
  CHECK(row.registers_per_thread == 40);
  CHECK(row.static_shared_bytes == 1024);
  CHECK(row.dynamic_shared_bytes == 2048);
  CHECK(row.local_bytes_per_thread == 16);
  CHECK(row.graph == 7);
  CHECK(made.lost == losses{});
  CHECK(made.epoch_ns == epoch);
  CHECK(made.window == window);
}

TEST_CASE("Copies and sets keep their kinds, and memory kinds are renumbered") {
  auto copy = timed<cupti::copy>(CUPTI_ACTIVITY_KIND_MEMCPY, 10, 20);
  copy.bytes = 4096;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.graphNodeId = 5;
  auto peer = timed<cupti::peer_copy>(CUPTI_ACTIVITY_KIND_MEMCPY2, 20, 40);
  peer.bytes = 8;
  peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peer.srcKind = peer.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  peer.srcDeviceId = 2;
  peer.dstDeviceId = 3;
  auto set = timed<cupti::memset>(CUPTI_ACTIVITY_KIND_MEMSET, 40, 50);
  set.bytes = 100;
  set.value = 0xAB;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
  auto odd = copy;
  odd.copyKind = 200;
  odd.srcKind = 99;
  auto in = reader();
  in.read(any(copy));
  in.read(any(peer));
  in.read(any(set));
  in.read(any(odd));
  auto const made = in.finish(window, window.end, false);
  REQUIRE(made.copies.size() == 3);
  CHECK(made.copies[0].kind == copy_kind::device_to_host);
  CHECK(made.copies[0].bytes == 4096);
  CHECK(made.copies[0].from == memory_kind::device);
  CHECK(made.copies[0].to == memory_kind::pinned);
  CHECK(made.copies[0].from_device == -1);
  CHECK(made.copies[0].where.graph_node == 5);
  CHECK(made.copies[1].kind == copy_kind::peer_to_peer);
  CHECK(made.copies[1].from_device == 2);
  CHECK(made.copies[1].to_device == 3);
  CHECK(made.copies[2].kind == copy_kind::unknown);
  CHECK(made.copies[2].from == memory_kind::unknown);
  REQUIRE(made.memsets.size() == 1);
  CHECK(made.memsets[0].value == 0xAB);
  CHECK(made.memsets[0].bytes == 100);
  CHECK(made.memsets[0].kind == memory_kind::managed);
  // All eight, by the two headers' numbers.
  CHECK(memory_kind_of(CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN) == memory_kind::unknown);
  CHECK(memory_kind_of(CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE) == memory_kind::pageable);
  CHECK(memory_kind_of(CUPTI_ACTIVITY_MEMORY_KIND_ARRAY) == memory_kind::array);
  CHECK(memory_kind_of(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC) == memory_kind::device_static);
  CHECK(memory_kind_of(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC) == memory_kind::managed_static);
}

TEST_CASE("Calls have the names of their layer, once each") {
  auto driver = call(5, 6, 2);
  driver.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  driver.returnValue = 2;
  auto unknown = call(7, 8, 3);
  unknown.cbid = 4711;
  auto in = reader();
  in.read(any(call(1, 2, 1)));
  in.read(any(driver));
  in.read(any(unknown));
  in.read(any(unknown));
  auto const made = in.finish(window, window.end, true);
  REQUIRE(made.calls.size() == 4);
  CHECK(made.strings[made.calls[0].name] == "cudaLaunchKernel_v7000");
  CHECK(made.calls[0].layer == api::runtime);
  CHECK(made.calls[0].thread.thread == 77);
  CHECK(made.strings[made.calls[1].name] == "cuMemAlloc_v2");
  CHECK(made.calls[1].layer == api::driver);
  CHECK(made.calls[1].result == 2);
  CHECK(made.lost.unnamed == 2);
}

TEST_CASE("Records without time, outside the window, without name or call are counted") {
  auto nameless = kernel(10, 20);
  nameless.name = nullptr;
  auto in = reader();
  in.read(any(call(1, 2, 1)));
  in.read(any(nameless));
  auto untimed = kernel(0, 0);
  untimed.start = untimed.end = 0;
  in.read(any(untimed));
  auto unfinished = call(100, 200, 5);
  unfinished.end = 0;
  in.read(any(unfinished));
  in.read(any(kernel(-10'000'000, -9'000'000)));       // long before
  in.read(any(kernel(-50'000, -40'000)));              // a device's clock
  in.read(any(kernel(900'000, 1'500'000)));            // ran on after the stop
  in.read(any(kernel(2'000'000'000, 2'000'000'001)));  // long after
  in.read(any(kernel(-5'000'000, 5'000)));             // reaches into it
  in.read(any(kernel(30, 40, 1234)));                  // without a call
  in.read(any(call(1'200'000, 1'300'000, 6)));         // of the stop itself
  auto flush = timed<cupti::overhead>(CUPTI_ACTIVITY_KIND_OVERHEAD, 1'200'000, 1'300'000);
  in.read(any(flush));
  auto const made = in.finish(window, 1'600'000, true);
  CHECK(made.kernels.size() == 5);
  CHECK(made.calls.size() == 1);
  CHECK(made.overheads.empty());
  CHECK(made.lost.unnamed == 1);
  CHECK(made.lost.zero_stamped == 2);
  CHECK(made.lost.out_of_window == 2);
  CHECK(made.lost.unmatched == 1);
  CHECK(made.lost.dropped == 0);
  CHECK(made.window == span{0, 1'500'000});  // with the end of what it asked for
}

TEST_CASE("Without all calls nothing is said to be unmatched") {
  auto in = reader();
  in.read(any(kernel(10, 20)));
  CHECK(in.finish(window, window.end, false).lost.unmatched == 0);
}

TEST_CASE("Synchronisations learn their device from the context's record, whenever it comes") {
  auto sync = timed<cupti::sync>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 10, 20);
  sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  sync.contextId = 4;
  sync.streamId = 21;
  sync.cudaEventId = 6;
  sync.correlationId = 8;
  auto whole = sync;
  whole.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  whole.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  whole.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  auto green_kernel = kernel(10, 20);
  green_kernel.contextId = 5;
  auto context = blank<cupti::context>(CUPTI_ACTIVITY_KIND_CONTEXT);
  context.contextId = 4;
  context.deviceId = 3;
  auto green = context;
  green.contextId = 5;
  green.parentContextId = 4;
  green.isGreenContext = 1;
  auto in = reader();
  in.read(any(sync));
  in.read(any(whole));
  in.read(any(green_kernel));
  in.read(any(context));
  in.read(any(green));
  auto const made = in.finish(window, window.end, false);
  REQUIRE(made.synchronizations.size() == 2);
  CHECK(made.synchronizations[0].kind == sync_kind::stream_wait);
  CHECK(made.synchronizations[0].where.device == 3);
  CHECK(made.synchronizations[0].where.stream == 21);
  CHECK(made.synchronizations[0].event == 6);
  CHECK(made.synchronizations[1].kind == sync_kind::context);
  CHECK(made.synchronizations[1].where.stream == 0);
  CHECK(made.synchronizations[1].event == 0);
  CHECK(made.kernels[0].where.context == 4);
  CHECK(made.kernels[0].where.green_context == 5);
}

TEST_CASE("Allocations tell their pool and the thread that asked") {
  auto from = blank<cupti::memory>(CUPTI_ACTIVITY_KIND_MEMORY2);
  from.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  from.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  from.correlationId = 1;
  from.address = 0x7000;
  from.bytes = 512;
  from.timestamp = static_cast<std::uint64_t>(epoch + 50);
  from.isAsync = 1;
  from.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  from.memoryPoolConfig.address = 0x9000;
  from.memoryPoolConfig.pool.size = 1 << 20;
  from.memoryPoolConfig.utilizedSize = 600;
  auto freed = from;
  freed.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  freed.isAsync = 0;
  freed.correlationId = 99;
  auto stray = from;
  stray.timestamp = 0;
  auto in = reader();
  in.read(any(from));
  in.read(any(freed));
  in.read(any(stray));
  in.read(any(call(40, 60, 1)));
  auto const made = in.finish(window, window.end, true);
  REQUIRE(made.memory.size() == 2);
  auto const& row = made.memory[0];
  CHECK(row.at == 50);
  CHECK(row.operation == memory_operation::allocate);
  CHECK(row.kind == memory_kind::device);
  CHECK(row.address == 0x7000);
  CHECK(row.bytes == 512);
  CHECK(row.pool == 0x9000);
  CHECK(row.pool_reserved_bytes == 1 << 20);
  CHECK(row.pool_used_bytes == 600);
  CHECK(row.thread.thread == 77);
  CHECK(made.memory[1].operation == memory_operation::release);
  CHECK(made.memory[1].pool == 0);
  CHECK(made.memory[1].thread == thread_key{});
  CHECK(made.lost.zero_stamped == 1);
}

TEST_CASE("Overheads and devices become rows; what records own is freed") {
  auto overhead = timed<cupti::overhead>(CUPTI_ACTIVITY_KIND_OVERHEAD, 5, 6);
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.processId = 1;
  overhead.objectId.pt.threadId = 2;
  overhead.overheadData = std::malloc(16);  // the leak sanitizer watches
  auto device = blank<cupti::device>(CUPTI_ACTIVITY_KIND_DEVICE);
  device.id = 1;
  device.name = ::strdup("NVIDIA H200");
  device.globalMemorySize = 150'000'000'000;
  device.globalMemoryBandwidth = 4'900'000'000;  // kB/s
  device.coreClockRate = 1'980'000;              // kHz
  device.numMultiprocessors = 132;
  device.maxWarpsPerMultiprocessor = 64;
  device.numThreadsPerWarp = 32;
  device.computeCapabilityMajor = 9;
  auto twice = device;
  twice.name = ::strdup("NVIDIA H200");
  auto lost = overhead;
  lost.overheadData = std::malloc(16);
  auto in = reader();
  in.read(any(overhead));
  in.read(any(device));
  in.read(any(twice));
  in.drop(any(lost));
  auto const made = in.finish(window, window.end, false);
  REQUIRE(made.overheads.size() == 1);
  CHECK(made.strings[made.overheads[0].name] == "Command Buffer Full");
  CHECK(made.overheads[0].thread == thread_key{1, 2});
  REQUIRE(made.devices.size() == 1);
  CHECK(made.devices[0].name == "NVIDIA H200");
  CHECK(made.devices[0].memory_bytes_per_second == 4'900'000'000'000);
  CHECK(made.devices[0].clock_hertz == 1'980'000'000);
  CHECK(made.devices[0].max_threads_per_sm == 2048);
  CHECK(made.lost.dropped == 1);
}

TEST_CASE("Rows beyond the limit are dropped and counted") {
  auto in = reader(3);
  for (int i = 0; i < 5; ++i) { in.read(any(kernel(10, 20))); }
  in.drop(10);
  auto const made = in.finish(window, window.end, false);
  CHECK(made.kernels.size() == 3);
  CHECK(made.lost.dropped == 12);
}

TEST_CASE("A name that changes behind its pointer is read again") {
  std::vector<char> place(64);
  std::strcpy(place.data(), "first");
  auto from = kernel(10, 20);
  from.name = place.data();
  auto in = reader();
  in.read(any(from));
  std::strcpy(place.data(), "second");
  in.read(any(from));
  auto const made = in.finish(window, window.end, false);
  CHECK(made.strings[made.kernels[0].name] == "first");
  CHECK(made.strings[made.kernels[1].name] == "second");
}
