// SPDX-License-Identifier: Apache-2.0
// assay-uses: sqlite

#include "catch.hpp"
#include "trace/files.hpp"
#include "trace/golden.hpp"

#include <assay/nsys/sqlite.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::trace;
using assay::test::folder;

namespace {

/// Process 1234 and thread 1235 of it, as nsys packs them.
constexpr auto thread_number = "281474976710656 + 1234 * 16777216 + 1235";
constexpr auto process_number = "281474976710656 + 1234 * 16777216";

/// Makes an export by a script, in which THREAD and PROCESS stand for the numbers above.
void make(std::filesystem::path const& file, std::string script) {
  for (auto const& [word, number] :
       {std::pair{"THREAD", thread_number}, {"PROCESS", process_number}}) {
    for (std::size_t at = 0; (at = script.find(word, at)) != std::string::npos;) {
      script.replace(at, std::string_view{word}.size(), std::string{"("} + number + ")");
    }
  }
  std::filesystem::remove(file);
  sqlite3* opened = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &opened) == SQLITE_OK);
  char* error = nullptr;
  sqlite3_exec(opened, script.c_str(), nullptr, nullptr, &error);
  INFO((error == nullptr ? "" : error));
  REQUIRE(error == nullptr);
  sqlite3_close(opened);
}

model read(std::string const& script) {
  folder const here;
  make(here / "t.sqlite", script);
  auto result = read_nsys(here / "t.sqlite");
  CHECK(here.entries() == 1);  // nothing was written beside it
  return result;
}

std::string why(std::string const& script) {
  folder const here;
  make(here / "t.sqlite", script);
  auto const text = test::message_of([&] { (void)read_nsys(here / "t.sqlite"); });
  CHECK_THAT(text, test::contains("cannot read " + (here / "t.sqlite").string() + ": "));
  return text;
}

constexpr auto strings = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (3, 'void k<int>(int *)'), (4, 'k'), (5, '_Z1kIiEvPi'),
  (6, 'cudaLaunchKernel_v7000'), (7, 'cuMemcpyHtoDAsync_v2'), (8, 'registered'), (9, 'main'),
  (10, 'Buffer flush'), (11, 'poll'), (-5, 'negative'), (9000000000, 'far');
)";

constexpr auto ranges_table = R"(
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
  rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
  endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,
  int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL);
)";

}  // namespace

TEST_CASE("an export of schema 3.25 is read") {
  auto const trace = read(std::string{strings} + ranges_table + R"(
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'NVIDIA Nsight Systems'),
  ('EXPORT_PRODUCT_VERSION', '2026.2.1.210'), ('EXPORT_SCHEMA_VERSION', '3.25.0');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1774187249263735400, '', '', 1);
CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER, startTime INTEGER, stopTime INTEGER);
INSERT INTO ANALYSIS_DETAILS VALUES (1, 5000, 900, 5900);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, l2CacheSize INTEGER,
  totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, cuDevice INTEGER,
  threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, computeMajor INTEGER, computeMinor INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'Display', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
  (1, 1, 'NVIDIA One', 64, 1000, 2000, 3000, 76, 0, 32, 48, 8, 9),
  (1, 2, 'NVIDIA Two', 64, 1000, 2000, 3000, 76, 1, 32, 48, 8, 9);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (2, 0, 1234), (2, 0, 99), (1, 1, 1234);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
  mangledName INTEGER, launchType INTEGER, registersPerThread INTEGER, gridX INTEGER,
  gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
  staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER,
  graphNodeId INTEGER, graphId INTEGER, clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER,
  tensorSizeMinusOneElements TEXT NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
  (100, 250, 1, 2, 3, 13, 41, PROCESS, 3, 4, 5, 1, 40, 7, 8, 9, 128, 2, 1, 16, 32, 48, 4294967298, 6, 2, 1, 1, '[]'),
  (300, 300, 0, 1, NULL, 7, 4000000000, PROCESS, 3, 4, NULL, 1, 40, 7, 8, 9, 128, 2, 1, 16, 32, 48, NULL, NULL, NULL, NULL, NULL, '[]');
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, THREAD, 41, 6, 0, NULL),
  (30, 40, 1, THREAD, 42, 7, 709, NULL);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  nameId INTEGER, returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER);
INSERT INTO OSRT_API VALUES (5, 9, 27, THREAD, 11, 1, NULL, 0),
  (2, 4, 31, THREAD, 11, NULL, NULL, NULL), (6, 7, 32, THREAD, 11, NULL, NULL, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER,
  globalPid INTEGER, bytes INTEGER, copyKind INTEGER, deprecatedSrcId INTEGER, srcKind INTEGER,
  dstKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
  (400, 500, 0, 1, 0, 7, 42, PROCESS, 4096, 10, NULL, 1, 2, 0, 1, NULL),
  (400, 500, 0, 1, 0, 7, 42, PROCESS, -1, 99, NULL, NULL, 99, NULL, NULL, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (600, 700, 0, 1, 7, 42, PROCESS, 5, 6);
CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start INTEGER, end INTEGER, eventClass INTEGER,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER, overheadType INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (1, 2, 103, THREAD, 41, 10, 6);
CREATE TABLE PROFILER_OVERHEAD (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, overheadType INTEGER);
INSERT INTO PROFILER_OVERHEAD VALUES (3, 4, THREAD, -5, 1), (5, 6, THREAD, 9000000000, 1);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER,
  contextId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER,
  correlationId INTEGER, streamId INTEGER, localMemoryPoolAddress INTEGER,
  localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (800, PROCESS, 0, 1, 77, 512, 2, 1, 42, 7, 5, 1024, 512);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (9, 20, THREAD);
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId, color, int64Value) VALUES
  (0, NULL, 75, 'mine', THREAD, NULL, 4, NULL, NULL),
  (11, 60, 59, 'spoken', THREAD, NULL, 0, -16711936, -2),
  (12, 50, 60, NULL, THREAD, 8, 4, NULL, NULL),
  (13, NULL, 34, 'moment', THREAD, NULL, 9, NULL, NULL),
  (14, NULL, 59, 'open', THREAD, NULL, 4, NULL, NULL),
  (15, NULL, 33, 'a category', THREAD, NULL, 4, NULL, NULL);
UPDATE NVTX_EVENTS SET endGlobalTid = THREAD + 1 WHERE eventType = 60;
)");
  auto const text = [&](string_id number) { return std::string{trace.strings[number]}; };
  thread_key const thread{1234, 1235};
  CHECK(trace.source == "NVIDIA Nsight Systems 2026.2.1.210, schema 3.25.0");
  CHECK(trace.epoch_ns == 1774187249263735400);
  CHECK((trace.window == span{0, 5000}));
  REQUIRE(trace.devices.size() == 2);
  CHECK(trace.devices[0].id == 1);
  CHECK(trace.devices[0].name == "NVIDIA One");
  CHECK(trace.devices[0].max_threads_per_sm == 48 * 32);
  CHECK(trace.devices[1].id == 0);
  CHECK(trace.devices[1].name == "NVIDIA Two");
  REQUIRE(trace.kernels.size() == 2);
  auto const& run = trace.kernels[0];
  CHECK((run.when == span{100, 250}));
  CHECK((run.where == device_place{1, 2, 3, 13, 41, 1234, 4294967298}));
  CHECK(text(run.name) == "void k<int>(int *)");
  CHECK(text(run.short_name) == "k");
  CHECK(text(run.mangled_name) == "_Z1kIiEvPi");
  CHECK((run.grid == dimensions{7, 8, 9}));
  CHECK((run.block == dimensions{128, 2, 1}));
  CHECK((run.cluster == dimensions{2, 1, 1}));
  CHECK(run.registers_per_thread == 40);
  CHECK(run.static_shared_bytes == 16);
  CHECK(run.dynamic_shared_bytes == 32);
  CHECK(run.local_bytes_per_thread == 48);
  CHECK(run.graph == 6);
  CHECK(trace.kernels[1].where.correlation == 4'000'000'000);
  REQUIRE(trace.calls.size() == 3);
  CHECK(trace.calls[0].layer == api::runtime);
  CHECK(text(trace.calls[0].name) == "cudaLaunchKernel_v7000");
  CHECK((trace.calls[0].thread == thread));
  CHECK(trace.calls[1].layer == api::driver);
  CHECK(trace.calls[1].result == 709);
  CHECK(trace.calls[2].layer == api::os);
  CHECK(text(trace.calls[2].name) == "poll");
  REQUIRE(trace.copies.size() == 2);
  CHECK(trace.copies[0].kind == copy_kind::peer_to_peer);
  CHECK(trace.copies[0].from == memory_kind::pinned);
  CHECK(trace.copies[0].to == memory_kind::device);
  CHECK(trace.copies[0].from_device == 0);
  CHECK(trace.copies[0].to_device == 1);
  CHECK(trace.copies[1].kind == copy_kind::unknown);
  CHECK(trace.copies[1].from == memory_kind::unknown);
  CHECK(trace.copies[1].to == memory_kind::unknown);
  CHECK(trace.copies[1].bytes == 0);
  CHECK(trace.copies[1].from_device == -1);
  REQUIRE(trace.graph_launches.size() == 1);
  CHECK(trace.graph_launches[0].executable == 6);
  REQUIRE(trace.overheads.size() == 3);
  CHECK(text(trace.overheads[0].name) == "Buffer flush");
  CHECK(text(trace.overheads[1].name) == "negative");
  CHECK(text(trace.overheads[2].name) == "far");
  REQUIRE(trace.memory.size() == 1);
  CHECK(trace.memory[0].operation == memory_operation::release);
  CHECK(trace.memory[0].pool_reserved_bytes == 1024);
  CHECK(trace.memory[0].pool_used_bytes == 512);
  CHECK(trace.memory[0].where.process == 1234);
  REQUIRE(trace.threads.size() == 1);
  CHECK((trace.threads[0].thread == thread));
  REQUIRE(trace.ranges.size() == 4);
  CHECK(text(trace.ranges[0].name) == "spoken");
  CHECK(trace.ranges[0].domain == 0);
  CHECK(trace.ranges[0].argb == 0xff00ff00);
  CHECK(trace.ranges[0].payload == 0xffff'ffff'ffff'fffe);
  CHECK((trace.ranges[0].end_thread == thread));
  CHECK(text(trace.ranges[1].name) == "registered");
  CHECK(text(trace.ranges[1].domain) == "mine");
  CHECK(trace.ranges[1].style == range_style::start_end);
  CHECK((trace.ranges[1].end_thread == thread_key{1234, 1236}));
  CHECK(trace.ranges[2].style == range_style::mark);
  CHECK((trace.ranges[2].when == span{13, 13}));
  CHECK(text(trace.ranges[2].domain) == "domain 9");
  CHECK_FALSE(trace.ranges[3].ended);
  CHECK((trace.ranges[3].when == span{14, 5000}));
  CHECK(trace.lost.unmatched == 1);  // correlation 4,000,000,000
  CHECK(trace.lost.unnamed == 1);    // domain 9
}

TEST_CASE("an export of schema 2.9 is read, which has fewer columns") {
  auto const trace = read(std::string{strings} + R"(
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '2.9.1');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER,
  gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
  staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
  (100, 250, 0, 1, 7, 41, PROCESS, 3, 4, 40, 7, 8, 9, 128, 2, 1, 16, 32, 48);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (300, 350, 0, 1, 7, 42, PROCESS, 255, 64);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, THREAD, 41, 6, 0);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, smCount INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'old', 80), (1, 1, 'a display', 0);
)");
  REQUIRE(trace.kernels.size() == 1);
  CHECK((trace.kernels[0].where == device_place{0, 1, 0, 7, 41, 1234, 0}));
  CHECK((trace.kernels[0].cluster == dimensions{}));
  CHECK(trace.kernels[0].mangled_name == 0);
  REQUIRE(trace.memsets.size() == 1);
  CHECK(trace.memsets[0].kind == memory_kind::unknown);
  CHECK(trace.memsets[0].bytes == 64);
  CHECK(trace.memsets[0].value == 255);
  CHECK(trace.epoch_ns == 0);
  CHECK((trace.window == span{10, 350}));
  REQUIRE(trace.devices.size() == 1);
  CHECK(trace.devices[0].warp_size == 32);
  CHECK(trace.source == "an export of nsys, schema 2.9.1");
}

TEST_CASE("an export from before the metadata table is read, names and numbers in words too") {
  auto const trace = read(R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start TEXT, end TEXT, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, shortName TEXT, gridX REAL);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('100', '250', 0, 7, NULL, 'in words', 3.0),
  ('300', '301', 0, 7, 1, NULL, 'none');
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, nameId TEXT);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 'cudaFree_v3020'), (3, 4, 'cuInit'), (5, 6, NULL);
)");
  REQUIRE(trace.kernels.size() == 2);
  CHECK(trace.strings[trace.kernels[0].name] == "in words");
  CHECK(trace.kernels[0].name == trace.kernels[0].short_name);
  CHECK((trace.kernels[0].when == span{100, 250}));
  CHECK(trace.kernels[0].grid[0] == 3);
  CHECK(trace.kernels[1].name == 0);
  REQUIRE(trace.calls.size() == 3);
  CHECK(trace.calls[0].layer == api::runtime);
  CHECK(trace.calls[1].layer == api::driver);
  CHECK((trace.calls[0].thread == thread_key{}));
  CHECK(trace.source == "an export of nsys");
  CHECK(trace.devices.empty());
}

TEST_CASE("the communicator of NCCL's extended payloads is the payload of their ranges") {
  auto const trace = read(std::string{strings} + ranges_table + R"(
ALTER TABLE NVTX_EVENTS ADD COLUMN jsonTextId INTEGER;
ALTER TABLE NVTX_EVENTS ADD COLUMN jsonText TEXT;
INSERT INTO StringIds VALUES (700, '{"NCCL communicator ID":7}');
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, uint64Value, jsonTextId, jsonText) VALUES
  (1, 9, 59, 'ncclAllReduce', THREAD, 0, NULL, NULL,
   '{"Message size [bytes]":64,"NCCL communicator ID":18446744073709551615,"Reduction operation":"Sum"}'),
  (2, 9, 59, 'ncclAllReduce', THREAD, 0, NULL, NULL, '{"NCCL communicator ID": "1,234,567"}'),
  (3, 9, 59, 'ncclAllReduce', THREAD, 0, NULL, 700, NULL),
  (4, 9, 59, 'other', THREAD, 0, 5, NULL, '{"NCCL communicator ID":6}'),
  (5, 9, 59, 'other', THREAD, 0, NULL, NULL, '{"NCCL communicator ID":'),
  (6, 9, 59, 'other', THREAD, 0, NULL, NULL, '{"size":6}');
)");
  std::vector<std::uint64_t> payloads;
  for (auto const& each : trace.ranges) { payloads.push_back(each.payload); }
  CHECK(payloads == std::vector<std::uint64_t>{0xffff'ffff'ffff'ffff, 1'234'567, 7, 5, 0, 0});
}

TEST_CASE("ranges whose begin and end are rows of their own are matched") {
  auto const trace = read(std::string{strings} + ranges_table + R"(
INSERT INTO NVTX_EVENTS (start, eventType, text, rangeId, globalTid, domainId) VALUES
  (50, 36, NULL, NULL, THREAD, 0),      -- rows in no order: this closes 'inner'
  (10, 35, 'outer', NULL, THREAD, 0),
  (20, 35, 'inner', NULL, THREAD, 0),
  (30, 35, 'other domain', NULL, THREAD, 2),
  (60, 36, NULL, NULL, THREAD, 0),      -- 'outer'
  (70, 36, NULL, NULL, THREAD, 0),      -- nothing is open
  (40, 36, NULL, NULL, THREAD, 2),
  (15, 37, 'started', 7, THREAD, 0),
  (90, 38, NULL, 7, THREAD + 1, 0),
  (91, 38, NULL, 8, THREAD, 0),         -- never started
  (95, 37, 'unended', 9, THREAD, 0),
  (97, 67, NULL, NULL, THREAD, 0),      -- of the text form, nothing open
  (1, 39, 'by NVTX', NULL, THREAD, 0);
CREATE TABLE ANALYSIS_DETAILS (duration INTEGER);
INSERT INTO ANALYSIS_DETAILS VALUES (1000);
)");
  REQUIRE(trace.ranges.size() == 5);
  auto const check = [&](std::size_t row, std::string_view name, span when, range_style style,
                         bool ended) {
    INFO(name);
    CHECK(trace.strings[trace.ranges[row].name] == name);
    CHECK((trace.ranges[row].when == when));
    CHECK(trace.ranges[row].style == style);
    CHECK(trace.ranges[row].ended == ended);
  };
  check(0, "outer", {10, 60}, range_style::push_pop, true);
  check(1, "started", {15, 90}, range_style::start_end, true);
  check(2, "inner", {20, 50}, range_style::push_pop, true);
  check(3, "other domain", {30, 40}, range_style::push_pop, true);
  check(4, "unended", {95, 1000}, range_style::start_end, false);
  CHECK((trace.ranges[1].end_thread == thread_key{1234, 1236}));
  REQUIRE(trace.notes.size() == 1);
  CHECK(trace.notes[0].second == "3");
  REQUIRE(trace.threads.size() == 1);
  CHECK(trace.strings[trace.threads[0].name] == "by NVTX");
}

TEST_CASE("event types go by their names where the export tells them") {
  auto const trace = read(std::string{strings} + ranges_table + R"(
CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (59, 'Something', ''), (159, 'NvtxPushPopRange', ''),
  (175, 'NvtxDomainCreate', '');
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) VALUES
  (1, 2, 59, 'no range', THREAD, 0), (3, 4, 159, 'range', THREAD, 5), (5, NULL, 175, 'late', THREAD, 5);
)");
  REQUIRE(trace.ranges.size() == 1);
  CHECK(trace.strings[trace.ranges[0].name] == "range");
  CHECK(trace.strings[trace.ranges[0].domain] == "late");
}

TEST_CASE("page faults and migrations of unified memory are read") {
  auto const trace = read(std::string{strings} + R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, bytes INTEGER,
  copyKind INTEGER, virtualAddress INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 0, 4096, 11, 4352), (20, 30, 0, 8, 1, NULL);
CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER, globalPid INTEGER, address INTEGER,
  CpuInstruction INTEGER);
INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (12, PROCESS, 4352, 77);
CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER, end INTEGER, globalPid INTEGER,
  deviceId INTEGER, address INTEGER, numberOfPageFaults INTEGER);
INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (13, 15, PROCESS, 1, 4352, 3);
)");
  REQUIRE(trace.copies.size() == 2);
  CHECK(trace.copies[0].address == 4352);
  CHECK(trace.copies[1].address == 0);
  CHECK((trace.host_faults == std::vector{host_page_fault{12, 1234, 4352, 77}}));
  CHECK((trace.device_faults == std::vector{device_page_faults{13, 1234, 1, 4352, 3}}));
  CHECK(trace.lost.unmatched == 1);  // no call asks for a page to migrate
}

TEST_CASE("what has no time, an impossible one or an unknown name is counted") {
  auto const trace = read(std::string{strings} + R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 0, 0, THREAD, 1, 6, 0), (5, 4, 0, THREAD, 2, 6, 0),
  (-9223372036854775808, 9223372036854775807, 0, THREAD, 3, 6, 0), (7, 8, 0, THREAD, 4, 12345, 0);
)");
  CHECK(trace.calls.size() == 1);
  CHECK(trace.lost.zero_stamped == 1);
  CHECK(trace.lost.out_of_window == 2);
  CHECK(trace.lost.unnamed == 1);
}

TEST_CASE("a time that is missing, NULL or no number is no time") {
  auto const calls = [](std::string const& columns, std::string const& values) {
    return read(std::string{strings} + "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (" + columns +
                ", nameId INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES " + values +
                "; CREATE TABLE OSRT_API (start INTEGER, end INTEGER, nameId INTEGER); "
                "INSERT INTO OSRT_API VALUES (5, 9, 11);");
  };
  for (auto const& trace :
       {calls("end INTEGER", "(8, 6)"), calls("start INTEGER, end INTEGER", "(NULL, 8, 6)"),
        calls("start INTEGER, end INTEGER", "('soon', 8, 6)"),
        calls("start INTEGER, end INTEGER", "(x'31', 8, 6)"),
        calls("start INTEGER, end INTEGER", "(-8, NULL, 6)")}) {
    REQUIRE(trace.calls.size() == 1);
    CHECK(trace.calls[0].layer == api::os);
    CHECK(trace.lost.zero_stamped == 1);
    CHECK(trace.lost.out_of_window == 0);
    CHECK((trace.window == span{5, 9}));
  }
  auto const ranges = read(std::string{strings} + ranges_table +
                           "DROP TABLE NVTX_EVENTS; CREATE TABLE NVTX_EVENTS (start, end, "
                           "eventType, text); INSERT INTO NVTX_EVENTS VALUES (NULL, 9, 59, 'r');");
  CHECK(ranges.ranges.empty());
  CHECK(ranges.lost.zero_stamped == 1);
}

TEST_CASE("devices of exports of early 2021 have names") {
  auto const trace = read(std::string{strings} + R"(
CREATE TABLE TARGET_INFO_CUDA_GPU (deviceId INTEGER, name TEXT, numMultiprocessors INTEGER,
  numThreadsPerWarp INTEGER, maxWarpsPerMultiprocessor INTEGER, computeCapabilityMajor INTEGER);
INSERT INTO TARGET_INFO_CUDA_GPU VALUES (1, 'an A100', 108, 32, 64, 8);
)");
  REQUIRE(trace.devices.size() == 1);
  CHECK(trace.devices[0].id == 1);
  CHECK(trace.devices[0].name == "an A100");
  CHECK(trace.devices[0].sm_count == 108);
  CHECK(trace.devices[0].max_threads_per_sm == 2048);
  CHECK(trace.devices[0].compute_major == 8);
}

TEST_CASE("devices are those of the machine where processes number them differently") {
  // Process 1234 sees GPU 3 alone, process 1 sees GPUs 2 and 3, and nothing tells of process 9.
  auto const trace = read(std::string{strings} + R"(
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, cuDevice INTEGER, smCount INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (2, 'two', 0, 132), (3, 'three', 1, 132);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 1234), (2, 0, 1), (3, 1, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
  globalPid INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, PROCESS), (1, 2, 0, 16777216),
  (1, 2, 1, 16777216), (1, 2, 0, 9 * 16777216), (1, 2, 1, 9 * 16777216);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
  globalPid INTEGER, copyKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 16777216, 10, 0, 1),
  (1, 2, 0, PROCESS, 1, NULL, NULL);
)");
  std::vector<std::int32_t> devices;
  for (auto const& each : trace.kernels) { devices.push_back(each.where.device); }
  CHECK(devices == std::vector<std::int32_t>{3, 2, 3, 4, 5});
  CHECK(trace.copies[0].where.device == 2);
  CHECK(trace.copies[0].from_device == 2);
  CHECK(trace.copies[0].to_device == 3);
  CHECK(trace.copies[1].where.device == 3);
  CHECK(trace.copies[1].to_device == -1);
  REQUIRE(trace.devices.size() == 2);
  CHECK(trace.devices[0].id == 2);
  CHECK(trace.devices[1].name == "three");
}

TEST_CASE("processes that use one number, without a table of what it means, are noted") {
  auto const notes = [](std::string const& gpus, std::string const& visible) {
    auto const trace = read(std::string{strings} + R"(
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, cuDevice INTEGER, smCount INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES )" +
                            gpus + R"(;
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
)" + visible + R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
  globalPid INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, PROCESS), (1, 2, 0, 16777216);
)");
    return trace.notes;
  };
  auto const two = std::string{"(0, 'a', 0, 132), (1, 'b', 1, 132)"};
  auto const insert = std::string{"INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES "};
  REQUIRE(notes(two, "").size() == 1);
  CHECK(notes(two, "")[0].second ==
        "which GPU each of 2 processes calls device 0 is not told, and they count as one");
  CHECK(notes(two, insert + "(0, 0, 1234);").size() == 1);
  CHECK(notes(two, insert + "(0, 0, 1234), (0, 0, 1);").empty());
  CHECK(notes("(0, 'a', 0, 132)", "").empty());  // there is no other GPU
}

TEST_CASE("parts of one GPU are devices, and a GPU with two names is one") {
  auto const devices = [](std::string const& visible) {
    auto const trace = read(std::string{strings} + R"(
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES )" +
                            visible + R"(;
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
  globalPid INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, PROCESS), (1, 2, 0, 16777216);
)");
    return std::pair{trace.kernels[0].where.device, trace.kernels[1].where.device};
  };
  CHECK(devices("(5, 0, 1234, 'MIG-a'), (5, 0, 1, 'MIG-b')") == std::pair{5, 6});
  CHECK(devices("(5, 0, 1234, 'GPU-a'), (5, 0, 1, NULL)") == std::pair{0, 0});
  CHECK(devices("(5, 0, 1234, NULL), (4, 0, 1, NULL), (5, 1, 1, NULL)") == std::pair{5, 4});
}

TEST_CASE("a table of a newer schema is named, and not passed over") {
  auto const trace = read(std::string{strings} +
                          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V3 (start, end);"
                          "CREATE TABLE NVTX_EVENTS_V2 (start, end);"
                          "CREATE TABLE OSRT_CALLCHAINS (id);");
  std::vector<std::string> names;
  for (auto const& [name, text] : trace.notes) { names.push_back(name); }
  CHECK(names ==
        std::vector<std::string>{"table CUPTI_ACTIVITY_KIND_KERNEL_V3", "table NVTX_EVENTS_V2"});
}

TEST_CASE("a table whose times have new names is named, with the column that it lacks") {
  auto const trace = read(std::string{strings} +
                          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (startNs, end, deviceId);"
                          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0);"
                          "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, stop);"
                          "CREATE TABLE NVTX_EVENTS (begin, end, text);");
  std::vector<std::pair<std::string, std::string>> const expected{
      {"table CUPTI_ACTIVITY_KIND_KERNEL", "not read, since it has no column start"},
      {"table CUPTI_ACTIVITY_KIND_RUNTIME", "not read, since it has no column end"},
      {"table NVTX_EVENTS", "not read, since it has no column start"}};
  CHECK(trace.notes == expected);
  CHECK(trace.kernels.empty());
  CHECK(trace.lost.zero_stamped == 1);  // the kernel
}

TEST_CASE("changes in a log beside the file are not passed over") {
  folder const here;
  auto const said = [&](std::string const& beside, std::string const& text) {
    write_nsys(test::golden::everything(), here / "t.sqlite");
    test::put(here / ("t.sqlite" + beside).c_str(), text);
    auto const message = test::message_of([&] { (void)read_nsys(here / "t.sqlite"); });
    std::filesystem::remove(here / ("t.sqlite" + beside).c_str());
    return message;
  };
  CHECK_THAT(said("-wal", "frames"), test::contains("changes to it are in ") &&
                                         test::contains("t.sqlite-wal: let sqlite3 open"));
  CHECK_THAT(said("-journal", "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 pages"),
             test::contains("t.sqlite-journal"));
  // What SQLite leaves behind when it is done: an empty log, or a journal without a head.
  test::put(here / "t.sqlite-wal", "");
  test::put(here / "t.sqlite-journal", std::string(512, '\0'));
  write_nsys(test::golden::everything(), here / "t.sqlite");
  CHECK(read_nsys(here / "t.sqlite") == test::golden::as_read(test::golden::everything()));
}

TEST_CASE("times since 1970 are moved to the session's start") {
  auto const trace = read(std::string{strings} + R"(
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', 'true');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1774187249263735400);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, nameId INTEGER);
INSERT INTO OSRT_API VALUES (1774187249263735500, 1774187249263735600, 11);
)");
  REQUIRE(trace.calls.size() == 1);
  CHECK((trace.calls[0].when == span{100, 200}));
}

TEST_CASE("strings that are not UTF-8 are repaired, so that it shows") {
  auto const trace = read(R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, CAST(x'636166e9' AS TEXT)), (2, CAST(x'eda080' AS TEXT)), (3, x'6100ff');
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, nameId INTEGER);
INSERT INTO OSRT_API VALUES (1, 2, 1), (3, 4, 2), (5, 6, 3);
)");
  CHECK(trace.strings[trace.calls.at(0).name] == "caf\xef\xbf\xbd");
  CHECK(trace.strings[trace.calls.at(1).name] == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(trace.strings[trace.calls.at(2).name] == std::string_view{"a\0\xef\xbf\xbd", 5});
}

TEST_CASE("an empty export is an empty trace") {
  CHECK(read(strings).calls.empty());
  auto const trace = read("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)");
  CHECK(trace.strings.size() == 1);
  CHECK((trace.window == span{}));
}

TEST_CASE("databases of others are refused, and never run") {
  CHECK_THAT(why("CREATE TABLE customers (name TEXT)"), test::contains("it is no export of nsys"));
  CHECK_THAT(why("PRAGMA user_version = 1"), test::contains("it has no tables"));
  // A view that never ends has the name of a table; it is not looked at.
  CHECK_THAT(
      why("CREATE VIEW StringIds AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 "
          "FROM n) SELECT id, id AS value FROM n; CREATE TABLE other (a)"),
      test::contains("it is no export of nsys"));
  // Columns that would be computed are as good as missing.
  CHECK(read("CREATE TABLE StringIds (id, value AS (zeroblob(100000000)) VIRTUAL);"
             "INSERT INTO StringIds (id) VALUES (1)")
            .strings.size() == 1);
}

TEST_CASE("a row that is larger than the limit is refused") {
  CHECK_THAT(
      why(std::string{strings} + "INSERT INTO StringIds VALUES (77, hex(zeroblob(34000000)))"),
      test::contains("table StringIds: a row is larger than the limit"));
}

TEST_CASE("files that are no databases are refused by name, with the reason") {
  folder const here;
  auto const said = [&](std::filesystem::path const& file) {
    auto const text = test::message_of([&] { (void)read_nsys(file); });
    CHECK_THAT(text, test::contains("cannot read " + file.string()));
    return text;
  };
  CHECK_THAT(said(here / "missing"), test::contains("No such file or directory"));
  CHECK_THAT(said("/tmp"), test::contains("it is not a regular file"));
  CHECK_THAT(said("/dev/zero"), test::contains("it is not a regular file"));
  test::put(here / "empty", "");
  CHECK_THAT(said(here / "empty"), test::contains("it has no tables"));
  test::put(here / "text", "not a database, but long enough to be one, if that were all it took\n");
  CHECK_THAT(said(here / "text"), test::contains("file is not a database"));
  CHECK_THAT(said(here / "text"), test::contains("nsys export --type sqlite REPORT.nsys-rep"));
  test::put(here / "json", "{\"traceEvents\": []}");
  CHECK_THAT(said(here / "json"),
             test::contains("it is JSON, not an export of nsys; `nsys export"));

  // Names that mean something in a URI.
  write_nsys(test::golden::everything(), here / "a?mode=rw#b%41 c\xc3\xa9.sqlite");
  CHECK(read_nsys(here / "a?mode=rw#b%41 c\xc3\xa9.sqlite") ==
        test::golden::as_read(test::golden::everything()));

  auto const whole = [&] {
    write_nsys(test::golden::random_model(5, 300), here / "whole");
    return test::content(here / "whole");
  }();
  for (std::size_t const part : {1, 3, 5, 7, 9}) {
    test::put(here / "part", std::string_view{whole}.substr(0, whole.size() * part / 10));
    said(here / "part");
  }
  for (std::size_t const left : {1, 100, 4095}) {  // of the last page
    test::put(here / "part", std::string_view{whole}.substr(0, whole.size() - 4096 + left));
    CHECK_THAT(said(here / "part"), test::contains("it is cut off: it has "));
  }
  auto broken = whole;
  for (std::size_t at = 4096; at < broken.size(); at += 4096) {
    broken.replace(at, 64, 64, '\x7f');
  }
  test::put(here / "broken", broken);
  CHECK_THAT(said(here / "broken"), test::contains("malformed"));
}
