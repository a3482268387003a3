// assay-uses: sqlite

// SPDX-License-Identifier: Apache-2.0
#include "trace_stats/trace_stats.hpp"
#include "catch.hpp"
#include "cli/outcome.hpp"
#include "trace/files.hpp"
#include "trace/golden.hpp"

#include <assay/cli/gate.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/nsys/sqlite.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

using namespace assay::test::golden;
using assay::test::contains;
using assay::test::content;
using assay::test::folder;
using assay::test::outcome;
namespace cli = assay::cli;

namespace {

outcome run(std::vector<std::string> const& words) {
  return assay::test::outcome_of(words, assay::examples::trace_stats);
}

/// Two steps, each a forward with a product and, in the step alone, an optimiser.
model steps(std::int64_t product = 600) {
  builder b;
  b.trace.window = {0, 10'000};
  b.device(0, "GPU");
  b.range("step", {0, 5000});
  b.range("forward", {0, 150});
  b.launch("gemm<float>", {0, 100}, {200, 200 + product});
  b.launch("adam_step", {200, 300}, {200 + product, 300 + product}, {0, 9});
  b.call("cudaDeviceSynchronize_v3020", {400, 1200});
  return b.trace;
}

std::string with_rows(std::string const& rows) {
  return "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),"
         "Name\n" +
         rows;
}

/// One line on stderr that begins with `error: `, nothing on stdout.
void refused(outcome const& what, std::vector<std::string> const& with) {
  INFO(what.err);
  CHECK(what.code == cli::bad_input);
  CHECK(what.out.empty());
  CHECK(what.err.rfind("error: ", 0) == 0);
  CHECK(std::ranges::count(what.err, '\n') == 1);
  for (auto const& part : with) { CHECK_THAT(what.err, contains(part)); }
}

}  // namespace

TEST_CASE("a file without options gives the default reports that it has data for, and ours") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  auto const what = run({(here / "a.sqlite").string()});
  CHECK(what.code == cli::ok);
  CHECK(what.err.empty());
  std::size_t before = 0;
  for (auto const* title : {"(nvtx_sum)", "(cuda_api_sum)", "(cuda_gpu_kern_sum)", "(top_kernels)",
                            "(class_shares)", "(gpu_time_sum)", "(launch_sum)"}) {
    INFO(title);
    auto const at = what.out.find(title);
    REQUIRE(at != std::string::npos);
    CHECK(at > before);
    before = at;
  }
  CHECK_THAT(what.out, !contains("osrt_sum") && !contains("mem_time") && !contains("SKIPPED"));
}

TEST_CASE("reports come by name, in every format") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  auto const rows = with_rows(
      "85.7,600,1,600.0,600.0,600,600,0.0,gemm<float>\n"
      "14.3,100,1,100.0,100.0,100,100,0.0,adam_step\n");
  auto const path = (here / "a.sqlite").string();
  auto const csv = run({"--report", "cuda_gpu_kern_sum", path, "--format", "csv"});
  CHECK(csv.code == cli::ok);
  CHECK(csv.out == rows);
  auto const json = run({path, "--report=cuda_gpu_kern_sum", "--format=json"});
  auto const read = nlohmann::json::parse(json.out);
  REQUIRE(read.size() == 2);
  CHECK(read[0].at("Name") == "gemm<float>");
  CHECK(read[0].at("Total Time (ns)") == 600);
  auto const two = run({path, "--report", "cuda_api_sum,osrt_sum"});
  CHECK_THAT(two.out, contains("cudaDeviceSynchronize") &&
                          contains("SKIPPED: the trace has no data for osrt_sum."));
}

TEST_CASE("several reports follow one option, and formats have options of their own") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  auto const path = (here / "a.sqlite").string();
  auto const two = run({path, "--report", "cuda_api_sum", "cuda_gpu_kern_sum", "--csv"});
  CHECK(two.code == cli::ok);
  CHECK(two.out == run({path, "--report", "cuda_api_sum,cuda_gpu_kern_sum", "--format=csv"}).out);
  CHECK_THAT(two.out, contains("cudaDeviceSynchronize") && contains("gemm<float>"));
  CHECK(run({path, "--report", "cuda_api_sum", "--json"}).out ==
        run({path, "--report", "cuda_api_sum", "--format=json"}).out);
}

TEST_CASE("rows are chosen by range, stream, device and kernel") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  auto const kernels = [&](std::vector<std::string> words) {
    words.insert(words.end(), {(here / "a.sqlite").string(), "--report", "cuda_gpu_kern_sum",
                               "--format", "csv"});
    return run(words).out;
  };
  auto const gemm = with_rows("100.0,600,1,600.0,600.0,600,600,0.0,gemm<float>\n");
  auto const adam = with_rows("100.0,100,1,100.0,100.0,100,100,0.0,adam_step\n");
  CHECK(kernels({"--range", "forward"}) == gemm);
  CHECK(kernels({"--range", ":forward"}) == gemm);
  CHECK(kernels({"--kernel", "adam"}) == adam);
  CHECK(kernels({"--stream", "9"}) == adam);
  CHECK(kernels({"--stream", "9", "--range", "forward"}) == with_rows(""));
  CHECK_THAT(run({(here / "a.sqlite").string(), "--range", "forward"}).out,
             contains("(range_kernels)"));
}

TEST_CASE("phases are compared, by classes of the user's own too; overlap is told in words") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  auto const path = (here / "a.sqlite").string();
  auto const phases = run({"--phases", ":forward,step", path, "--format", "csv"});
  CHECK_THAT(phases.out, contains("matmul") && contains("100.0,85.7,-14.3"));
  auto const own =
      run({path, "--report", "class_shares", "--format", "csv", "--class", "mine=gemm"});
  CHECK_THAT(own.out, contains("mine") && !contains("matmul"));
  CHECK(run({path, "--explain-overlap"}).out == "There are no copies.\n\n");
}

TEST_CASE("two files are told apart: what changed, with most of it first") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  write_nsys(steps(1600), here / "b.sqlite");
  auto const a = (here / "a.sqlite").string();
  auto const b = (here / "b.sqlite").string();
  auto const what = run({"--diff", a, b});
  CHECK_THAT(what.out, contains("Of +700.0 ns, devices explain +") &&
                           contains("kernel gemm<float>: +1.000 us") &&
                           contains("What Changed (difference)"));
  auto const table = run({a, b, "--diff", "--json"});
  CHECK(nlohmann::json::parse(table.out)[0].at("Name") == "gemm<float>");
  auto const several = run({a, b, "--report", "cuda_gpu_kern_sum"});
  CHECK_THAT(several.out, contains("## " + a + "\n") && contains("## " + b + "\n"));
}

TEST_CASE("a difference adds up in its first lines, and counts whole things") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  auto slower = steps();
  slower.kernels[1].when = {2200, 2300};  // the device waits for its launch
  slower.calls[1].when = {2100, 2190};
  write_nsys(slower, here / "b.sqlite");
  auto const a = (here / "a.sqlite").string();
  auto const what = run({"--diff", a, (here / "b.sqlite").string()});
  // What the host explains is not among what devices explain.
  CHECK_THAT(what.out, contains("Of +1.100 us, devices explain +0 s") &&
                           !contains("Devices: devices idle, host") &&
                           contains("Devices waiting for the host (split up below): "));
  auto const table = run({"--diff", a, (here / "b.sqlite").string(), "--csv"}).out;
  CHECK_THAT(table, contains(",1400,") && !contains(".0,1"));
  auto const same = run({"--diff", a, a});
  CHECK(same.code == cli::ok);
  CHECK_THAT(same.out, contains("do not differ") && !contains("SKIPPED") && !contains("+0 s"));
  CHECK(nlohmann::json::parse(run({"--diff", a, a, "--json"}).out).empty());
}

TEST_CASE("a phase has what other threads launched in it") {
  folder const here;
  builder b;
  b.range("step", {0, 1000});
  b.range("rest", {2000, 3000});
  b.launch("gemm", {100, 110}, {200, 300});
  b.launch("backward", {500, 510}, {600, 900}, {}, second_thread);
  b.launch("foreign", {500, 510}, {600, 900}, {}, {200, 200});  // of another process
  b.launch("gemm", {2100, 2110}, {2200, 2300});
  write_nsys(b.trace, here / "a.sqlite");
  auto const what = run({"--phases", "step,rest", (here / "a.sqlite").string(), "--csv"});
  CHECK_THAT(what.out, contains(",100,100,1,1,matmul") && contains(",300,0,1,0,other"));
}

TEST_CASE("a range is chosen by what nvtx_sum calls it") {
  folder const here;
  builder b;
  b.range("create::v2", {0, 1000}, main_thread, "cuBLAS");
  b.launch("inside", {100, 110}, {200, 300});
  b.launch("outside", {1100, 1110}, {1200, 1300});
  write_nsys(b.trace, here / "a.sqlite");
  auto const path = (here / "a.sqlite").string();
  for (auto const* range : {"cuBLAS:create::v2", "create::v2", "cu*:create*"}) {
    auto const what = run({path, "--report", "cuda_gpu_kern_sum", "--csv", "--range", range});
    INFO(range << what.err);
    CHECK_THAT(what.out, contains(",inside\n") && !contains("outside"));
  }
  refused(run({path, "--range", "cuDNN:create::v2"}), {"no range of that name"});
}

TEST_CASE("several reports are one JSON document") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  write_nsys(steps(), here / "b.sqlite");
  auto const a = (here / "a.sqlite").string();
  auto const b = (here / "b.sqlite").string();
  auto const two =
      nlohmann::json::parse(run({a, "--report", "cuda_api_sum,cuda_gpu_kern_sum", "--json"}).out);
  CHECK(two.at("cuda_gpu_kern_sum").at(0).at("Name") == "gemm<float>");
  CHECK(two.at("cuda_api_sum").size() == 2);
  auto const all = nlohmann::json::parse(run({a, "--explain-overlap", "--json"}).out);
  CHECK(all.at(0) == "There are no copies.");
  auto const files = nlohmann::json::parse(run({a, b, "--report", "cuda_api_sum", "--json"}).out);
  CHECK(files.at(a).at("cuda_api_sum").size() == 2);
  CHECK(files.at(b).at("cuda_api_sum").size() == 2);
  auto const changed =
      nlohmann::json::parse(run({"--diff", a, b, "--report", "cuda_api_sum", "--json"}).out);
  CHECK(changed.at(b).at("difference").empty());
  CHECK(changed.at(a).at("cuda_api_sum").size() == 2);
  CHECK(nlohmann::json::parse(run({a, "--json"}).out).contains("launch_sum"));
}

TEST_CASE("a trace without CUDA says so, and whole graphs say what they hide") {
  folder const here;
  write_nsys({}, here / "a.sqlite");
  auto const none = run({(here / "a.sqlite").string()});
  CHECK(none.code == cli::ok);
  CHECK_THAT(none.out, contains("lacking: CUDA: neither calls nor work of a device") &&
                           contains("nsys profile --trace=cuda,nvtx"));
  builder b;
  b.whole_graph({0, 10});
  write_nsys(b.trace, here / "b.sqlite");
  CHECK_THAT(
      run({(here / "b.sqlite").string()}).out,
      contains("lacking: the kernels of 1 graph launch") && contains("--cuda-graph-trace=node"));
  CHECK_THAT(run({(here / "b.sqlite").string()}).out, !contains("lacking: CUDA"));
}

TEST_CASE("names cannot steer a terminal") {
  folder const here;
  builder b;
  b.launch("k\x1b[2J", {0, 1}, {2, 3});
  b.range("r\x1b[2J", {0, 9});
  b.launch_copy(copy_kind::host_to_device, 10, {10, 11}, {20, 30});
  write_nsys(b.trace, here / "a.sqlite");
  builder empty;
  write_nsys(empty.trace, here / "b.sqlite");
  auto const a = (here / "a.sqlite").string();
  auto const b_file = (here / "b.sqlite").string();
  for (auto const& words : std::vector<std::vector<std::string>>{{a},
                                                                 {a, "--explain-overlap"},
                                                                 {"--diff", a, b_file},
                                                                 {a, "--range", "none"},
                                                                 {a, "--kernel", "none"}}) {
    auto const what = run(words);
    CHECK_THAT(what.out + what.err, !contains("\x1b"));
  }
}

TEST_CASE("reports go to files, and traces to Perfetto") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  write_nsys(steps(), here / "b.sqlite");
  auto const a = (here / "a.sqlite").string();
  auto const prefix = (here / "out").string();
  auto const one = run({a, "--output", prefix, "--report", "cuda_api_sum", "--format", "csv"});
  CHECK(one.out == prefix + "_cuda_api_sum.csv\n");
  CHECK_THAT(content(prefix + "_cuda_api_sum.csv"), contains("cudaLaunchKernel"));
  auto const two =
      run({a, (here / "b.sqlite").string(), "--output", prefix, "--report", "cuda_api_sum"});
  CHECK(two.out == prefix + "_a_cuda_api_sum.txt\n" + prefix + "_b_cuda_api_sum.txt\n");
  auto const json = (here / "p.json").string();
  auto const kernels = [&] {
    auto const written = nlohmann::json::parse(content(json));
    return std::ranges::count_if(
        written["traceEvents"], [](auto const& each) { return each.value("cat", "") == "kernel"; });
  };
  CHECK(run({a, "--perfetto", json}).out.empty());
  CHECK(kernels() == 2);
  CHECK(run({a, "--range", "forward", "--perfetto", json}).out.empty());
  CHECK(kernels() == 1);
}

TEST_CASE("what a trace lost is told beside its tables") {
  folder const here;
  auto lossy = steps();
  lossy.lost.dropped = 7;
  write_nsys(lossy, here / "a.sqlite");
  CHECK_THAT(run({(here / "a.sqlite").string()}).out, contains("lacking: 7 records lost"));
  CHECK_THAT(run({(here / "a.sqlite").string(), "--format", "csv"}).out, !contains("lacking"));
}

TEST_CASE("help lists all reports and exit codes") {
  auto const what = run({"--help"});
  CHECK(what.code == cli::ok);
  for (auto const& each : assay::trace::reports) {
    CHECK_THAT(what.out, contains(std::string{each.name}));
  }
  CHECK_THAT(what.out, contains("launch_sum") && contains("2 bad input"));
}

TEST_CASE("bad input is one line with value and remedy") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  assay::test::put(here / "cut.sqlite", content(here / "a.sqlite").substr(0, 5000));
  assay::test::put(here / "bad.json", "{\"traceEvents\": [");
  assay::test::put(here / "empty", "");
  auto const a = (here / "a.sqlite").string();
  refused(run({}), {"FILE", "--help"});
  refused(run({"/no/such"}), {"/no/such", "No such file"});
  refused(run({here / "cut.sqlite"}), {"cut.sqlite"});
  refused(run({here / "bad.json"}), {"bad.json", "JSON", "nsys export --type sqlite"});
  assay::test::put(here / "r.nsys-rep", "a report, which only nsys reads");
  refused(run({here / "r.nsys-rep"}), {"r.nsys-rep", "nsys export --type sqlite"});
  refused(run({here / "empty"}), {"empty"});
  refused(run({"/"}), {"regular file"});
  refused(run({a, "--report", "all"}), {"'all'", "cuda_api_sum"});
  refused(run({a, "--report", "range_kernels"}), {"'range_kernels'"});
  refused(run({a, "--format", "xml"}), {"'xml'", "text, csv, json"});
  refused(run({a, "--phases", "one"}), {"--phases", "two"});
  refused(run({a, "--class", "=x"}), {"--class =x", "NAME=GLOB"});
  refused(run({a, "--diff"}), {"--diff", "two FILEs, not 1"});
  refused(run({a, a, "--perfetto", here / "p"}), {"--perfetto", "one FILE"});
  refused(run({"--diff", a, "/no/such"}), {"/no/such"});
  refused(run({a, "--csv", "--json"}), {"--csv", "--json"});
  refused(run({a, "--csv", "--format", "text"}), {"--csv", "--format"});
  refused(run({"--report", "cuda_api_sum", "osrt_sum"}), {"FILE"});
  refused(run({a, "--range", "nope"}), {"--range 'nope'", "no range", "forward, step"});
  refused(run({a, "--range", "assay:forward"}), {"no range of that name"});
  refused(run({a, "--phases", "step,nope"}), {"--phases 'nope'", "no range"});
  refused(run({"--diff", a, a, "--range", "nope"}), {"--range 'nope'"});
  refused(run({a, "--kernel", "conv"}), {"--kernel 'conv'", "adam_step", "gemm"});
  refused(run({a, "--device", "1"}), {"--device 1", "there are 0"});
  refused(run({a, "--stream", "0"}), {"--stream 0", "7, 9"});
  refused(run({a, "--stream", "-1"}), {"--stream"});
  refused(run({a, "--frobnicate"}), {"--frobnicate"});
}
