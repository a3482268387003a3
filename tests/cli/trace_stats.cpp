// assay-uses: sqlite

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "cli/outcome.hpp"
#include "trace/files.hpp"
#include "trace/golden.hpp"

#include <assay/cli/gate.hpp>
#include <assay/cli/trace_stats.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/nsys/sqlite.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace assay::test::golden;
using assay::test::contains;
using assay::test::content;
using assay::test::folder;
using assay::test::outcome;
namespace cli = assay::cli;

namespace {

outcome run(std::vector<std::string> const& words) {
  return assay::test::outcome_of(words, cli::trace_stats);
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
  auto const between = two.out.find("\n\n");  // an empty line, and no other one
  CHECK(two.out.substr(between + 2).starts_with("Time (%),"));
  CHECK(two.out.find("\n\n", between + 1) == std::string::npos);
  CHECK_THAT(run({path, "--report", "cuda_api_sum", "--csv"}).out, !contains("\n\n"));
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
  CHECK_THAT(what.out, contains("Traced, they differ by +700.0 ns. Its parts:") &&
                           contains("Devices: kernel gemm: +1.000 us") &&
                           contains("What Changed (difference)"));
  auto const table = run({a, b, "--diff", "--json"});
  CHECK(nlohmann::json::parse(table.out)[0].at("Name") == "gemm<float>");
  auto const several = run({a, b, "--report", "cuda_gpu_kern_sum"});
  CHECK_THAT(several.out, contains("## " + a + "\n") && contains("## " + b + "\n"));
}

TEST_CASE("a difference is told by its parts, and counts whole things") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  auto slower = steps();
  slower.kernels[1].when = {2200, 2300};  // the device waits for its launch
  slower.calls[1].when = {2100, 2190};
  write_nsys(slower, here / "b.sqlite");
  auto const a = (here / "a.sqlite").string();
  auto const what = run({"--diff", a, (here / "b.sqlite").string()});
  // The time for which devices waited is told by what the host did.
  CHECK_THAT(what.out, contains("Traced, they differ by +1.100 us") &&
                           !contains("idle, host bound") && contains("Waits: host code "));
  auto const table = run({"--diff", a, (here / "b.sqlite").string(), "--csv"}).out;
  CHECK_THAT(table, contains(",900,") && !contains(".0,1"));
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

TEST_CASE("what two files lack is told once for each, with the name of the file") {
  folder const here;
  auto const a = (here / "a.sqlite").string(), b = (here / "b.sqlite").string();
  builder one, two;
  one.whole_graph({0, 10});
  two.launch("kernel", {0, 10}, {20, 30});
  write_nsys(one.trace, a);
  write_nsys(two.trace, b);
  auto const times = [](std::string const& text, std::string const& word) {
    std::size_t found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      ++found;
    }
    return found;
  };
  auto const differ = run({"--diff", a, b}).out;
  CHECK(times(differ, "lacking: ") == 1);
  CHECK(times(differ, "lacking: " + a + ": ") == 1);
  CHECK(times(run({"--diff", a, a}).out, "lacking: ") == 1);
  CHECK(times(run({"--diff", a, a, "--csv"}).err, "lacking: ") == 1);
}

TEST_CASE("a report that is not known, or needs a range, is refused with what there is") {
  folder const here;
  auto const a = (here / "a.sqlite").string();
  write_nsys({}, a);
  auto const unknown = run({a, "--report", "whatif"});
  CHECK(unknown.code == cli::bad_input);
  CHECK_THAT(unknown.err, contains("no report is called 'whatif'") &&
                              contains("launch_sum, what_if, and with --range range_kernels"));
  auto const without = run({a, "--report", "range_kernels"});
  CHECK(without.code == cli::bad_input);
  CHECK_THAT(without.err, contains("--report 'range_kernels' goes with --range"));
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

namespace {

/// A part of a total: the parts of all numbers below `count` add up to the total.
std::int64_t part_of(std::int64_t total, std::int64_t number, std::int64_t count) {
  return total * (number + 1) / count - total * number / count;
}

/// Forward passes of 12 layers as PyTorch runs them. Kernels, their numbers and total times are
/// those of a public export of an RTX 5000 Ada; all else is made up.
class forwards {
 public:
  builder made;

  explicit forwards(int count) : passes_(count) {
    for (int pass = 0; pass < passes_; ++pass) {
      run("gather", 22'207, passes_);
      for (int layer = 0; layer < 12; ++layer) { add_layer(); }
      project();
    }
  }
  /// A kernel whose time is a share of `total`, the share of each kernel of this name and total.
  void run(std::string const& name, std::int64_t total, int count) {
    auto const number = counts_[{name, total}]++;
    auto const length = part_of(total, number % count, count);
    made.launch(name, {host_, host_ + 4}, {device_, device_ + length});
    host_ += 10;
    device_ += length + 100;
  }

 private:
  void project() { run("ampere_sgemm_128x64_tn", 21'847'478, passes_ * 85); }
  template <class Body>
  void within(std::string_view name, Body const& body) {
    auto const begin = host_ - 5;
    body();
    made.range(name, {begin, host_ - 1});
  }
  void add_layer() {
    for (int i = 0; i < 7; ++i) { project(); }
    for (int i = 0; i < 5; ++i) { run("splitKreduce_kernel", 1'660'044, passes_ * 60); }
    within("computing attention scores", [&] {
      run("ampere_sgemm_128x128_tn", 776'600, passes_ * 12);
      run("elementwise_kernel", 138'303, passes_ * 12);
    });
    within("computing softmax", [&] {
      run("reduce_kernel", 636'374, passes_ * 12);
      run("elementwise_kernel", 505'597, passes_ * 12);
    });
    within("computing final matmul",
           [&] { run("ampere_sgemm_128x128_nn", 765'212, passes_ * 12); });
    run("elementwise_kernel", 8'517'368, passes_ * 12);
  }

  int passes_;
  std::int64_t host_ = 1000, device_ = 5000;
  std::map<std::pair<std::string, std::int64_t>, int> counts_;
};

/// The rows of the table `answers` by pass and what they are.
std::map<std::string, double> answers_in(std::string const& json) {
  std::map<std::string, double> found;
  auto const all = nlohmann::json::parse(json);
  for (auto const& row : all.at("answers")) {
    found[row.at("Pass").get<std::string>() + ": " + row.at("What").get<std::string>()] =
        row.at("In All");
  }
  return found;
}

}  // namespace

TEST_CASE("five questions are answered from the trace of another program") {
  folder const here;
  auto const file = (here / "a.sqlite").string();
  SECTION("of a trace by hand") { write_nsys(forwards{5}.made.trace, file); }
  SECTION("of the export that lent its numbers, in the folder ASSAY_NSYS_EXPORTS") {
    auto const* const exports = std::getenv("ASSAY_NSYS_EXPORTS");
    if (exports == nullptr) { return; }
    auto const from = std::filesystem::path{exports} / "ada_2026.2_schema3.25_nvtx.sqlite";
    std::filesystem::copy_file(from, file);
  }
  auto const what = run({file, "--answers", "--json"});
  REQUIRE(what.code == cli::ok);
  auto const found = answers_in(what.out);
  CHECK(found.at("repetition: repetitions") == 5);
  CHECK(found.at("repetition: softmax, us") == Approx(1142.0).epsilon(1e-4));
  CHECK(found.at("repetition: products in attention, us") == Approx(1541.8).epsilon(1e-4));
  CHECK(found.at("repetition: softmax / products, time") == Approx(0.741).margin(5e-4));
  CHECK(found.at("repetition: products / softmax, FLOPs with heads of 64") == Approx(51.2));
  CHECK(found.at("repetition: matrix products, % of kernel time") == Approx(71.8).margin(0.05));
  auto const kernels = nlohmann::json::parse(what.out).at("answer_kernels");
  CHECK(kernels[0].at("Kernel") == "ampere_sgemm_128x64_tn");
  CHECK(kernels[0].at("Count in All") == 425);
  CHECK(kernels[0].at("Forward Count") == 85);
  CHECK(kernels[0].at("Step Count").is_null());
}

/// Three passes of each of two threads have a kernel each, which the answers count once.
void check_six_passes(builder const& b) {
  folder const here;
  write_nsys(b.trace, here / "a.sqlite");
  auto const found = nlohmann::json::parse(run({here / "a.sqlite", "--answers", "--json"}).out)
                         .at("answer_kernels");
  CHECK((found[0].at("Count in All") == 6 && found[0].at("Step Count") == 1));
}

TEST_CASE("passes of two threads at once count each kernel once") {
  builder b;
  for (int i = 0; i < 3; ++i) {
    for (int t = 0; t < 2; ++t) {
      auto const at = 1000 * i + 200 * t;
      auto const who = t == 0 ? main_thread : second_thread;
      b.range("step", {at, at + 800}, who);
      b.launch("gemm", {at + 300, at + 301}, {at + 302, at + 402}, {t}, who);
    }
  }
  check_six_passes(b);
}

TEST_CASE("a pass of one thread in the time of another's is a pass of its own") {
  builder b;
  for (int i = 0; i < 3; ++i) {
    auto const at = 1000 * i;
    b.range("step", {at, at + 900}, main_thread);
    b.range("step", {at + 100, at + 800}, second_thread);
    b.launch("gemm", {at + 300, at + 301}, {at + 302, at + 402}, {0}, main_thread);
    b.launch("gemm", {at + 310, at + 311}, {at + 312, at + 412}, {1}, second_thread);
  }
  check_six_passes(b);
}

TEST_CASE("a pass that the end of the recording cuts off is left out of the answers") {
  folder const here;
  builder b;
  b.trace.window = {0, 4000};
  for (int i = 0; i < 3; ++i) {
    b.range("step", {1000 * i, 1000 * i + 900}).ended = i < 2;
    b.launch("gemm", {1000 * i + 10, 1000 * i + 20}, {1000 * i + 30, 1000 * i + 40});
    if (i < 2) { b.launch("norm", {1000 * i + 50, 1000 * i + 60}, {1000 * i + 70, 1000 * i + 80}); }
  }
  write_nsys(b.trace, here / "a.sqlite");
  auto const what = run({here / "a.sqlite", "--answers"});
  CHECK(what.code == cli::ok);
  CHECK_THAT(what.out, contains("2 repetitions of `step`, each with the same counts; 1 more cut"));
}

TEST_CASE("the host's time is that of the repetitions whose calls are in the trace") {
  folder const here;
  builder b;
  for (int i = 0; i < 4; ++i) {
    if (i < 2) {
      b.launch("gemm", {1000 * i, 1000 * i + 2000 / (i + 1)}, {5000 + 10 * i, 5005 + 10 * i});
    } else {
      b.kernel("gemm", {5000 + 10 * i, 5005 + 10 * i}, {}, 99U + static_cast<unsigned>(i));
    }
  }
  auto const host = [&] {
    write_nsys(b.trace, here / "a.sqlite");
    return run({here / "a.sqlite", "--answers", "--csv"}).out +
           run({here / "a.sqlite", "--answers"}).out;
  };
  CHECK_THAT(host(), contains("us\",3.000,1.500\n") && contains("that of 2 of 4 repetitions"));
  b.trace.calls.clear();
  CHECK_THAT(host(), !contains("host, first launch") && contains("that of 0 of 4 repetitions"));
}

TEST_CASE("a kernel that outlasts later ones of its stream has no credible time") {
  folder const here;
  builder b;
  b.launch("before", {0, 1}, {5, 9});
  b.launch("void huge<int>()", {1, 2}, {10, 3'000'000});
  b.launch("other", {3, 4}, {20, 30}, {0, 9});
  auto const told = [&] {
    write_nsys(b.trace, here / "a.sqlite");
    return run({(here / "a.sqlite").string()}).out;
  };
  b.launch("after", {3, 4}, {40, 50});
  CHECK_THAT(told(), !contains("outlast"));
  b.launch("after", {5, 6}, {60, 70});
  CHECK_THAT(told(), contains("credible time of huge: its 3.000 ms outlast 2 later kernels"));
}

TEST_CASE("graphs that were recorded whole leave the questions about kernels open") {
  folder const here;
  auto const file = (here / "a.sqlite").string();
  SECTION("in a trace by hand") {
    builder b;
    for (int i = 0; i < 10; ++i) {
      b.launch("fill", {100 * i, 100 * i + 1}, {100 * i + 5, 100 * i + 6});
      b.whole_graph({100 * i + 10, 100 * i + 90}, {},
                    b.call("cudaGraphLaunch_v10000", {100 * i + 2, 100 * i + 3}).correlation);
    }
    write_nsys(b.trace, file);
  }
  SECTION("in an export, in the folder ASSAY_NSYS_EXPORTS") {
    auto const* const exports = std::getenv("ASSAY_NSYS_EXPORTS");
    if (exports == nullptr) { return; }
    std::filesystem::copy_file(std::filesystem::path{exports} / "a100_2024.6_schema3.16.sqlite",
                               file);
  }
  auto const what = run({file, "--answers"});
  CHECK(what.code == cli::ok);
  CHECK_THAT(what.out, contains("(b) to (e) have no answer: graphs were recorded whole") &&
                           contains("--cuda-graph-trace=node") && contains("10.000") &&
                           !contains("(d)") && !contains("answer_kernels"));
}

TEST_CASE("passes are the ranges of a name, without warm-ups; unequal ones are refused") {
  folder const here;
  builder b;
  std::int64_t at = 0;
  auto const step = [&](int kernels) {
    b.range("my step", {at, at + 90});
    b.range("my forward", {at + 1, at + 40});
    for (int i = 0; i < kernels; ++i) {
      b.launch("gemm", {at + 2 + i, at + 3 + i}, {at + 100, at + 130});
    }
    b.range("softmax", {at + 20, at + 24});
    b.launch("gemm", {at + 21, at + 22}, {at + 130, at + 140});
    // Of the thread that runs backward passes.
    b.launch("gemm", {at + 50, at + 51}, {at + 140, at + 200}, {}, second_thread);
    at += 1000;
  };
  auto const ask = [&](std::vector<std::string> words) {
    auto const file = (here / "a.sqlite").string();
    write_nsys(b.trace, file);
    words.insert(words.end(),
                 {file, "--answers", "--forward", "my forward", "--step", "my step", "--json"});
    return run(words);
  };
  step(3);  // a warm-up
  step(2);
  step(2);
  refused(ask({}),
          {"repetition 1 of `my step` launches gemm 4 times, and repetition 0 launches it 5 times",
           "--warm-ups N"});
  auto const what = ask({"--warm-ups", "1"});
  REQUIRE(what.code == cli::ok);
  auto const found = answers_in(what.out);
  CHECK(found.at("forward: repetitions") == 2);
  CHECK(found.at("forward: host, the range, us") == Approx(0.078));
  CHECK(found.at("step: kernels, sum, us") == Approx(0.260));
  CHECK(found.at("step: device, busy, us") == Approx(0.200));
  CHECK(found.at("step: device, first begin to last end, us") == Approx(0.200));
  // By name the softmax is a product, by its range it is not.
  CHECK(found.at("forward: matrix products, % of kernel time") == Approx(100));
  CHECK(found.at("forward: softmax, us") == Approx(0.020));
  auto const kernels = nlohmann::json::parse(what.out).at("answer_kernels");
  CHECK(kernels[0].at("Forward Count") == 3);
  CHECK(kernels[0].at("Step Count") == 4);
  refused(ask({"--warm-ups", "3"}), {"--warm-ups 3", "3 repetitions"});
  refused(run({(here / "a.sqlite").string(), "--softmax", "x"}), {"--softmax requires --answers"});
}

TEST_CASE("attention in one kernel has no softmax of its own, and a trace may hold one pass") {
  folder const here;
  builder b;
  b.launch("flash_fwd_kernel", {0, 1}, {10, 40});
  b.launch("gemm", {2, 3}, {40, 50});
  write_nsys(b.trace, here / "a.sqlite");
  auto const what = run({(here / "a.sqlite").string(), "--answers"});
  CHECK_THAT(what.out, contains("attention, not separable, us") &&
                           contains("softmax and products are not separable") &&
                           contains("do not repeat as a whole"));
  write_nsys(builder{}.trace, here / "b.sqlite");
  refused(run({(here / "b.sqlite").string(), "--answers"}), {"no kernels"});
}

TEST_CASE("help lists all reports and exit codes") {
  auto const what = run({"--help"});
  CHECK(what.code == cli::ok);
  for (auto const& each : assay::trace::reports()) {
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
  refused(run({a, "--format", "xml"}), {"--format: unknown format 'xml'", "text, csv, json"});
  refused(run({a, "--phases", "one"}), {"--phases", "two"});
  refused(run({a, "--class", "=x"}), {"--class =x", "NAME=GLOB"});
  for (auto const* const option : {"--range", "--kernel", "--perfetto", "--output", "--html"}) {
    refused(run({a, option, ""}), {option, "its value is empty"});
  }
  refused(run({a, "--phases", "step,"}), {"--phases"});
  refused(run({a, "--answers", "--softmax", ""}), {"--softmax", "its value is empty"});
  refused(run({"--diff", a, a, "--range", "step", "--skip", "-1"}), {"--skip", "-1", "1000000"});
  refused(run({a, "--diff"}), {"--diff", "two FILEs, not 1"});
  refused(run({"--diff", a, a, "--answers"}), {"--diff", "--answers"});
  refused(run({"--diff", a, a, "--class", "mine=gemm"}), {"--diff", "--class"});
  refused(run({a, a, "--ranks", "--class", "communication=gemm"}), {"--ranks", "--class"});
  refused(run({a, a, "--perfetto", here / "p"}), {"--perfetto", "one FILE"});
  refused(run({"--diff", a, "/no/such"}), {"/no/such"});
  refused(run({a, "--csv", "--json"}), {"--csv", "--json"});
  refused(run({a, "--csv", "--format", "text"}), {"--csv", "--format"});
  refused(run({"--report", "cuda_api_sum", "osrt_sum"}), {"FILE"});
  refused(run({a, "--range", "nope"}),
          {"--range 'nope'", "has no range of that name; it has ranges: forward, step"});
  refused(run({a, "--range", "assay:forward"}), {"no range of that name"});
  refused(run({a, "--phases", "step,nope"}), {"--phases 'nope'", "no range"});
  refused(run({"--diff", a, a, "--range", "nope"}), {"--range 'nope'"});
  refused(run({a, "--kernel", "conv"}), {"--kernel 'conv'", "adam_step", "gemm"});
  refused(run({a, "--device", "1"}), {"--device 1", "has no work on device 1; it has work on: 0"});
  refused(run({a, "--stream", "0"}),
          {"--stream 0", "has no work in stream 0; it has work in: 7, 9"});
  refused(run({a, "--stream", "-1"}), {"--stream"});
  refused(run({a, "--frobnicate"}), {"--frobnicate"});
  refused(run({a, "--kernel", "zzz|"}), {"--kernel 'zzz|'", "adam_step", "gemm"});
  refused(run({a, "--class", "X=nosuch"}), {"--class X=nosuch", "adam_step", "gemm"});
  refused(run({a, "--answers", "--forward", "trian"}), {"--forward 'trian'", "forward, step"});
  refused(run({a, "--answers", "--softmax", "nope"}), {"--softmax 'nope'", "forward, step"});
  builder unnamed;
  unnamed.range("other", {0, 10});
  unnamed.launch("k", {1, 2}, {3, 4});
  write_nsys(unnamed.trace, here / "u.sqlite");
  refused(run({here / "u.sqlite", "--answers", "--warm-ups", "2"}),
          {"--warm-ups 2", "has no range that names a pass; it has ranges: other"});
  refused(run({a, "--perfetto", a}), {"--perfetto", "overwrite"});
}

TEST_CASE("nothing is written over, and nothing is told twice") {
  folder const here;
  for (auto const* name : {"a", "b"}) {
    std::filesystem::create_directory(here / name);
    write_nsys(steps(), here / name / "run.sqlite");
  }
  auto const a = (here / "a/run.sqlite").string(), b = (here / "b/run.sqlite").string();
  auto const two =
      run({a, b, "--csv", "--output", (here / "out").string(), "--report", "cuda_api_sum"});
  CHECK(std::ranges::count(two.out, '\n') == 2);
  CHECK(here.entries() == 4);
  auto const once = run({a, "--json", "--report", "cuda_api_sum"});
  CHECK(run({a, "--json", "--report", "cuda_api_sum,cuda_api_sum"}).out == once.out);
  CHECK(run({a, a, "--json", "--report", "cuda_api_sum"}).out == once.out);
  auto const same = run({a, a, "--json", "--diff", "--report", "cuda_api_sum"}).out;
  CHECK(same.find("\"cuda_api_sum\"") == same.rfind("\"cuda_api_sum\""));
}

TEST_CASE("no output takes the place of a trace, however it is named") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  auto const a = (here / "a.sqlite").string(), out = (here / "out").string();
  refused(run({a, "--perfetto", (here / "." / "a.sqlite").string()}), {"overwrite the trace"});
  std::filesystem::create_symlink(a, here / "link");
  refused(run({a, "--perfetto", (here / "link").string()}), {"overwrite the trace"});
  std::filesystem::create_symlink(a, out + "_cuda_api_sum.csv");
  std::vector<std::string> const tables{a, "--csv", "--output", out, "--report", "cuda_api_sum"};
  refused(run(tables), {"overwrite the trace"});
  CHECK(run({a, "--report", "cuda_api_sum"}).code == cli::ok);
  std::filesystem::remove(out + "_cuda_api_sum.csv");
  auto page = tables;
  page.insert(page.end(), {"--perfetto", out + "_cuda_api_sum.csv"});
  auto const what = run(page);
  CHECK(what.code == cli::bad_input);
  CHECK_THAT(what.err, contains("two outputs are written to"));
  CHECK(run(tables).code == cli::ok);
}

TEST_CASE("output that cannot be written is a failure") {
  folder const here;
  write_nsys(steps(), here / "a.sqlite");
  auto const a = (here / "a.sqlite").string();
  for (auto const& words : {std::vector<std::string>{a}, {a, "--json"}, {"--help"}}) {
    std::vector<char const*> argv{"trace_stats"};
    for (auto const& word : words) { argv.push_back(word.c_str()); }
    std::ofstream full{"/dev/full"};
    std::ostringstream err;
    CHECK(cli::trace_stats(static_cast<int>(argv.size()), argv.data(), full, err) == cli::failed);
    CHECK_THAT(err.str(), contains("cannot write the output"));
  }
  auto const lost = (here / "no" / "x").string();
  for (auto const& words : std::vector<std::vector<std::string>>{
           {a, "--perfetto", lost}, {a, "--output", lost}, {a, "--output", "/dev/full/x"}}) {
    auto const what = run(words);
    CHECK(what.code == cli::failed);
    CHECK_THAT(what.err, contains("cannot write"));
  }
}

TEST_CASE("a range that ends on another thread takes what all threads do in its time") {
  folder const here;
  builder b;
  b.trace.window = {0, 1000};
  b.range("job", {0, 100}, main_thread, {}, range_style::start_end).end_thread = second_thread;
  b.launch("first", {10, 20}, {30, 40});
  b.launch("second", {50, 60}, {70, 80}, {}, second_thread);
  b.launch("late", {150, 160}, {170, 180});
  write_nsys(b.trace, here / "a.sqlite");
  auto const what = run(
      {(here / "a.sqlite").string(), "--range", "job", "--csv", "--report", "cuda_gpu_kern_sum"});
  CHECK(what.err.empty());
  CHECK_THAT(what.out, contains("first") && contains("second") && !contains("late"));
}
