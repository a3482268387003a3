// SPDX-License-Identifier: Apache-2.0
// assay-uses: sqlite

#include "catch.hpp"
#include "trace/files.hpp"
#include "trace/golden.hpp"

#include <assay/nsys/sqlite.hpp>
#include <assay/nsys/sqlite_database.hpp>
#include <assay/nsys/sqlite_rows.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

using namespace assay;
using namespace assay::trace;
using assay::test::folder;
namespace golden = assay::test::golden;

namespace {

/// What a query says, a row a string, its columns apart by `|`.
std::vector<std::string> ask(std::filesystem::path const& file, std::string const& sql) {
  sqlite3* opened = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &opened) == SQLITE_OK);
  std::vector<std::string> rows;
  char* error = nullptr;
  sqlite3_exec(
      opened, sql.c_str(),
      [](void* to, int count, char** values, char**) {
        std::string row;
        for (int i = 0; i < count; ++i) {
          row.append(i > 0 ? "|" : "").append(values[i] == nullptr ? "NULL" : values[i]);
        }
        static_cast<std::vector<std::string>*>(to)->push_back(row);
        return 0;
      },
      &rows, &error);
  INFO(sql << ": " << (error == nullptr ? "" : error));
  CHECK(error == nullptr);
  sqlite3_close(opened);
  return rows;
}

}  // namespace

TEST_CASE("a trace comes back from SQLite as it was") {
  folder const here;
  for (auto const& before : {model{}, golden::everything()}) {
    write_nsys(before, here / "t.sqlite");
    auto const after = read_nsys(here / "t.sqlite");
    test::check_same(golden::as_read(before), after);
    CHECK(here.entries() == 1);
  }
}

TEST_CASE("random traces come back from SQLite as they were") {
  folder const here;
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::uint64_t i = 0; i < 40; ++i) {
    auto const before = golden::random_model(seed + i);
    write_nsys(before, here / "t.sqlite");
    test::check_same(golden::as_read(before), read_nsys(here / "t.sqlite"));
  }
}

TEST_CASE("usual queries work on what is written") {
  folder const here;
  golden::builder b;
  b.trace.epoch_ns = 1'765'008'149'091'427'284;
  b.device(0);
  b.launch("scale", {0, 10}, {20, 50}).short_name = b.text("sc");
  b.launch("scale", {30, 40}, {60, 65});
  b.launch("other", {50, 60}, {70, 71}, {0, 8, 1}, golden::second_thread);
  b.launch_copy(copy_kind::host_to_device, 1000, {80, 85}, {90, 190});
  b.range("step", {0, 45}, golden::main_thread, "assay").payload = 12;
  b.mark("here", 5);
  b.call("poll", {1, 2});
  write_nsys(b.trace, here / "t.sqlite");
  auto const query = [&](std::string const& sql) { return ask(here / "t.sqlite", sql); };
  using rows = std::vector<std::string>;
  CHECK(query("SELECT name, COUNT(*), SUM(end-start) FROM CUPTI_ACTIVITY_KIND_KERNEL "
              "GROUP BY name ORDER BY 3 DESC") == rows{"scale|2|35", "other|1|1"});
  CHECK(query("SELECT s.value, COUNT(*), SUM(k.end-k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
              "JOIN StringIds s ON s.id = k.demangledName GROUP BY 1 ORDER BY 1") ==
        rows{"other|1|1", "scale|2|35"});
  CHECK(query("SELECT s.value, k.start - r.end, r.globalTid / 0x1000000 % 0x1000000, "
              "r.globalTid % 0x1000000 FROM CUPTI_ACTIVITY_KIND_KERNEL k "
              "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId "
              "AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000 "
              "JOIN StringIds s ON s.id = r.nameId ORDER BY k.start") ==
        rows{"cudaLaunchKernel_v7000|10|100|100", "cudaLaunchKernel_v7000|20|100|100",
             "cudaLaunchKernel_v7000|10|100|101"});
  CHECK(query("SELECT COALESCE(text, (SELECT value FROM StringIds WHERE id = textId)), end - start "
              "FROM NVTX_EVENTS WHERE eventType = 59") == rows{"step|45"});
  CHECK(query("SELECT e.label, m.bytes, s.label, d.label FROM CUPTI_ACTIVITY_KIND_MEMCPY m "
              "JOIN ENUM_CUDA_MEMCPY_OPER e ON e.id = m.copyKind "
              "JOIN ENUM_CUDA_MEM_KIND s ON s.id = m.srcKind "
              "JOIN ENUM_CUDA_MEM_KIND d ON d.id = m.dstKind") ==
        rows{"Host-to-Device|1000|Pinned|Device"});
  CHECK(query("SELECT name FROM ENUM_NSYS_EVENT_TYPE e JOIN NVTX_EVENTS n ON n.eventType = e.id "
              "ORDER BY n.eventId") == rows{"NvtxDomainCreate", "NvtxPushPopRange", "NvtxMark"});
  CHECK(query("SELECT text, domainId FROM NVTX_EVENTS WHERE eventType = 75") == rows{"assay|1"});
  CHECK(query("SELECT name, smCount FROM TARGET_INFO_GPU") == rows{"NVIDIA H200|132"});
  CHECK(query("SELECT s.value FROM OSRT_API o JOIN StringIds s ON s.id = o.nameId") ==
        rows{"poll"});
  CHECK(query("SELECT utcTime FROM TARGET_INFO_SESSION_START_TIME") == rows{"2025-12-06T08:02:29"});
  CHECK(query("SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'") ==
        rows{"3.30.1"});
  CHECK(query("PRAGMA integrity_check") == rows{"ok"});
}

TEST_CASE("what a reader of rows throws reaches its caller, and other errors stay SQLite's") {
  folder const here;
  model two;
  two.kernels.resize(2);
  write_nsys(two, here / "two.sqlite");
  export_tables tables{here / "two.sqlite"};
  int seen = 0;
  auto const read = [&](std::string const& table) {
    tables.each_row(table, {"start", "no such column"}, [&](statement& row) {
      CHECK(row.integer() == 0);
      CHECK(row.skip_null());
      if (++seen == 2) { throw std::length_error("enough"); }
    });
  };
  CHECK_THROWS_AS(read("CUPTI_ACTIVITY_KIND_KERNEL"), std::length_error);
  CHECK(seen == 2);
  read("no such table");
  CHECK(seen == 2);
  auto file = database::open(here / "two.sqlite");
  auto rows = file.prepare("SELECT assay_row(?, abs(-9223372036854775808))", "a sum");
  CHECK_THROWS_AS(rows.each_row([] {}), database_error);
}

TEST_CASE("a trace that cannot be written leaves the old file") {
  folder const here;
  golden::builder b;
  b.call("cudaFree", {0, 1}, {1U << 24U, 1});
  write_atomically(here / "t.sqlite", "old");
  CHECK_THAT(test::message_of([&] { write_nsys(b.trace, here / "t.sqlite"); }),
             test::contains("thread 1 of process 16777216"));
  CHECK(test::content(here / "t.sqlite") == "old");
  CHECK_THAT(test::message_of([&] { write_nsys({}, here / "no/t.sqlite"); }),
             test::contains("no/t.sqlite: its folder"));
  CHECK_THAT(test::message_of([&] { write_nsys({}, "/dev/null"); }),
             test::contains("cannot write /dev/null: a database needs a regular file"));
  CHECK(here.entries() == 1);
}
