// assay-uses: sqlite

// SPDX-License-Identifier: Apache-2.0
/// @file
/// `trace_stats --diff --range`: steps of two exports, gates on them, and what is lacking.
#include "catch.hpp"
#include "cli/outcome.hpp"
#include "trace/files.hpp"
#include "trace/golden.hpp"

#include <assay/cli/gate.hpp>
#include <assay/cli/trace_stats.hpp>
#include <assay/nsys/sqlite.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
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

/// Steps of 10 us: a range of 5 us with a product, a copy and a wait, then other work. Each step
/// differs a little. The first `warm_ups` take ten times as long.
model run_of(int steps, std::int64_t product, int warm_ups = 0, char const* other = "other") {
  builder b;
  b.trace.window = {0, 100'000 * steps};
  for (int i = 0; i < steps; ++i) {
    auto const at = 100'000 * i;
    auto const noise = (i * 7) % 11;
    auto const kernel = (product + noise) * (i < warm_ups ? 10 : 1);
    b.range("step", {at, at + 50'000 + noise});
    b.range("forward", {at, at + kernel});
    b.launch("void gemm<float>(int)", {at, at + 100}, {at + 200, at + 200 + kernel});
    auto& copy = b.launch_copy(copy_kind::host_to_device, 1 << 20, {at + 100, at + 200},
                               {at + 300 + kernel, at + 800 + kernel});
    copy.from = memory_kind::pinned;
    b.call("cudaDeviceSynchronize_v3020", {at + 200, at + 900 + kernel});
    b.launch(other, {at + 60'000, at + 61'000}, {at + 62'000, at + 90'000});  // outside
  }
  return b.trace;
}

/// Two exports.
struct two_files {
  folder here;
  std::string a = (here / "a.sqlite").string(), b = (here / "b.sqlite").string();
  two_files(model const& first, model const& second) {
    write_nsys(first, a);
    write_nsys(second, b);
  }
  outcome diff(std::vector<std::string> const& more) const {
    std::vector<std::string> words{"--diff", a, b, "--range", "step"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

void refused(outcome const& what, std::vector<std::string> const& with) {
  INFO(what.err);
  CHECK(what.code == cli::bad_input);
  CHECK(what.out.empty());
  for (auto const& part : with) { CHECK_THAT(what.err, contains(part)); }
}

/// The row of a table of that kind and with that in its name.
nlohmann::json row_of(nlohmann::json const& table, std::string const& kind,
                      std::string const& name) {
  for (auto const& row : table) {
    if (row.at("Kind") == kind &&
        row.at("Name").get<std::string>().find(name) != std::string::npos) {
      return row;
    }
  }
  FAIL("no row of " << kind << " " << name);
  return {};
}

}  // namespace

TEST_CASE("runs of 10 and of 20 steps are compared per step") {
  two_files const same{run_of(10, 6000), run_of(20, 6000)};
  CHECK_THAT(same.diff({}).out, contains("step: 10 steps of a.sqlite") &&
                                    contains("20 steps of b.sqlite") && !contains("Devices:") &&
                                    contains("these two runs"));
  two_files const a_little{run_of(10, 6000), run_of(20, 6040)};
  CHECK_THAT(a_little.diff({}).out, contains("not more than runs of one program differ by") &&
                                        !contains("Devices: kernel"));
  two_files const slower{run_of(10, 6000), run_of(20, 6600)};
  CHECK_THAT(slower.diff({}).out, contains("Devices: kernel gemm: +600.0 ns [+") &&
                                      contains("together at 95 %, each at 99.44 %") &&
                                      !contains("other work"));
  auto const found = nlohmann::json::parse(slower.diff({"--json"}).out);
  auto const& table = found.at("step_difference");
  auto const gemm = row_of(table, "kernel", "gemm");
  CHECK(gemm.at("Delta (ns)") == 600);
  CHECK(gemm.at("Low (ns)") > 590);
  CHECK(gemm.at("High (ns)") < 610);
  CHECK(gemm.at("Level (%)") > 95);
  CHECK(row_of(table, "work", "step").at("Level (%)") == 95);
  CHECK(row_of(table, "range", "step").at("Low (ns)") <= 0);
  CHECK(row_of(table, "copy", "Host-to-Device").at("Control Count") == 1);
  CHECK(row_of(table, "host call", "cudaDeviceSynchronize").at("Delta (ns)") == 600);
  CHECK(found.at("step_summary").is_array());
  auto const csv = slower.diff({"--csv"});
  CHECK(csv.out.starts_with("Delta (ns),Low (ns),"));
  CHECK_THAT(csv.out, contains(",kernel,") && !contains("Intervals cover"));
}

TEST_CASE("names of one side only take no time on the other") {
  auto other = run_of(10, 6000);
  for (auto& each : other.kernels) {
    if (other.strings[each.name] == "void gemm<float>(int)") {
      each.name = other.strings.intern("void gemm<half>(int)");
    }
  }
  two_files const files{run_of(10, 6000), other};
  auto const table = nlohmann::json::parse(files.diff({"--json"}).out).at("step_difference");
  CHECK(row_of(table, "kernel", "gemm<float>").at("High (ns)") <= -6000);
  CHECK(row_of(table, "kernel", "gemm<half>").at("Low (ns)") >= 6000);
  CHECK(row_of(table, "kernel", "gemm<half>").at("Factor").is_null());
}

TEST_CASE("what takes no time in most steps of both sides has no factor") {
  auto some = run_of(10, 6000);
  for (std::size_t i = 0; i < 3; ++i) {  // of 20 kernels in 10 steps
    some.kernels[2 * i].name = some.strings.intern("void rare(int)");
  }
  two_files const files{some, run_of(10, 6000)};
  auto const out = files.diff({"--json", "--fail-if", "kernel rare > +2 %"}).out;
  auto const found = nlohmann::json::parse(out);
  auto const rare = row_of(found.at("step_difference"), "kernel", "rare");
  CHECK(rare.at("Control (ns)") == 0);
  CHECK(rare.at("Variant (ns)") == 0);
  for (auto const* column : {"Factor", "Factor Low", "Factor High"}) {
    CHECK(rare.at(column).is_null());
  }
  CHECK_THAT(found.at("gates").at(0).get<std::string>(), contains("no time in most steps of both"));
}

TEST_CASE("warm-ups, unfinished steps and further steps are left out, and the text says so") {
  two_files const files{run_of(10, 6000, 2), run_of(12, 6000, 2)};
  CHECK_THAT(files.diff({"--skip", "2"}).out,
             contains("Of the 10 instances of a.sqlite: 2 left out as warm-ups.") &&
                 contains("8 steps of a.sqlite") && contains("10 steps of b.sqlite"));
  refused(files.diff({"--skip", "10"}), {"a.sqlite", "--skip leaves out 10", "none is left"});
  two_files const many{run_of(10, 6000), run_of(250, 6000)};
  CHECK_THAT(many.diff({}).out, contains("200 of 250 taken, spread evenly"));
  auto cut = run_of(10, 6000);
  for (auto& each : cut.ranges) {
    if (each.when.begin == 900'000) { each.ended = false; }
  }
  two_files const cut_off{cut, run_of(10, 6000)};
  CHECK_THAT(cut_off.diff({}).out,
             contains("1 cut off by the end of the recording") && contains("9 steps of a.sqlite"));
}

TEST_CASE("too few steps have no interval, and the number that is needed is told") {
  two_files const files{run_of(3, 6000), run_of(2, 6000)};
  CHECK_THAT(files.diff({}).out,
             contains("No interval: 3 and 2 steps are too few, 4 of each needed."));
  auto const gate = files.diff({"--fail-if", "kernel gemm > +2 %"});
  CHECK(gate.code == cli::gate_unproven);
  CHECK_THAT(gate.out, contains("UNPROVEN"));
  two_files const few{run_of(5, 6000), run_of(5, 6000)};
  CHECK_THAT(few.diff({}).out, contains("each holds alone at 95 %"));
}

TEST_CASE("a gate fails where the whole interval lies beyond its margin") {
  two_files const files{run_of(20, 6000), run_of(30, 6240)};  // the product: +4 %
  auto const code = [&](std::string const& gate) { return files.diff({"--fail-if", gate}).code; };
  CHECK(code("kernel gemm > +2 %") == cli::gate_holds);
  CHECK(code("kernel gemm>3.5%") == cli::gate_holds);
  CHECK(code("kernel gemm > +5 %") == cli::ok);
  CHECK(code("kernel gemm<float>* > +2 %") == cli::gate_holds);
  CHECK(code("copy > +1 %") == cli::ok);
  CHECK(code("copy Host-to* > +1 %") == cli::ok);
  CHECK(code("range step > +1 %") == cli::ok);
  CHECK(code("range forward > +2 %") == cli::gate_holds);
  auto const unclear = files.diff({"--fail-if", "kernel gemm > +4 %"});
  CHECK(unclear.code == cli::ok);
  CHECK_THAT(unclear.out, contains("INCONCLUSIVE"));
  CHECK(files.diff({"--fail-if", "kernel gemm > +4 %", "--fail-if", "inconclusive"}).code ==
        cli::gate_holds);
  // A name that the control does not have takes no time there: any time is beyond each margin.
  two_files const fresh{run_of(10, 6000), run_of(10, 6000, 0, "fresh")};
  refused(fresh.diff({"--fail-if", "kernel fresh > +2 %"}), {"kernel fresh", "gemm"});
  two_files const renamed{run_of(10, 6000), [] {
                            auto made = run_of(10, 6000);
                            for (auto& each : made.kernels) {
                              each.name = made.strings.intern("fresh");
                            }
                            return made;
                          }()};
  CHECK(renamed.diff({"--fail-if", "kernel fresh > +50 %"}).code == cli::gate_holds);
}

TEST_CASE("a gate below what runs of one program differ by does not fail for that") {
  two_files const little{run_of(20, 6000), run_of(30, 6040)};  // the product: +0.7 %
  auto const gate = little.diff({"--fail-if", "kernel gemm > +0.2 %"});
  CHECK(gate.code == cli::ok);
  CHECK_THAT(gate.out, contains("INCONCLUSIVE: +0.6") && contains(", not more than"));
  CHECK(little.diff({"--fail-if", "kernel gemm > +1 %"}).code == cli::ok);
  two_files const more{run_of(20, 6000), run_of(30, 6120)};
  CHECK(more.diff({"--fail-if", "kernel gemm > +0.2 %"}).code == cli::gate_holds);
}

TEST_CASE("gates are told as JUnit, and hold together") {
  two_files const files{run_of(20, 6000), run_of(20, 6240)};
  auto const path = (files.here / "out.xml").string();
  auto const what = files.diff(
      {"--fail-if", "kernel gemm > +2 %", "--fail-if", "range step > +1 %", "--junit", path});
  CHECK(what.code == cli::gate_holds);
  CHECK_THAT(what.out, contains("kernel gemm > +2 %: FAILS: +4.0") &&
                           contains("range step > +1 %: passes: ") &&
                           contains("The intervals of the 2 gates hold together at 95 %."));
  CHECK_THAT(content(path), contains("tests=\"2\" failures=\"1\"") &&
                                contains("<failure type=\"kernel gemm &gt; +2 %\""));
  auto const json =
      nlohmann::json::parse(files.diff({"--fail-if", "kernel gemm > +2 %", "--json"}).out);
  CHECK_THAT(json.at("gates")[0].get<std::string>(), contains("FAILS"));
  auto const csv = files.diff({"--fail-if", "kernel gemm > +2 %", "--csv"});
  CHECK_THAT(csv.err, contains("FAILS"));
  CHECK(csv.code == cli::gate_holds);
}

TEST_CASE("a gate tells that its steps depend on those before") {
  auto drifting = run_of(30, 6000);
  std::int64_t longer = 0;
  for (auto& each : drifting.kernels) {
    if (drifting.strings[each.name] != "other") { each.when.end += 10 * ++longer; }
  }
  two_files const files{run_of(20, 6000), drifting};
  CHECK_THAT(files.diff({"--fail-if", "kernel gemm > +50 %", "--csv"}).err,
             contains("times, as steps depend on those before them"));
  CHECK_THAT(files.diff({"--fail-if", "range step > +50 %", "--csv"}).err, !contains("depend on"));
}

TEST_CASE("a gate that matches nothing, and one that cannot be read, are refused") {
  two_files const files{run_of(10, 6000), run_of(10, 6000)};
  refused(files.diff({"--fail-if", "kernel nosuch > +2 %"}), {"kernel of that name", "gemm"});
  refused(files.diff({"--fail-if", "range nosuch > +2 %"}),
          {"range of that name", "forward, step"});
  refused(files.diff({"--fail-if", "copy nosuch > +2 %"}), {"copy of that name", "Host-to-Device"});
  for (auto const* gate : {"gemm", "kernel gemm > 2", "kernel gemm > x %", "kernel > 2 %",
                           "kern gemm > 2 %", "kernel gemm > -1 %", "kernel gemm > inf %", ""}) {
    refused(files.diff({"--fail-if", gate}), {"--fail-if '", "'kernel gemm > +2 %'"});
  }
  refused(files.diff({"--fail-if", "inconclusive"}), {"name a condition"});
  refused(files.diff({"--junit", "x.xml"}), {"name a condition"});
  refused(run({files.a, "--skip", "2"}), {"--skip", "--diff A B --range RANGE"});
  refused(run({"--diff", files.a, files.b, "--fail-if", "kernel gemm > 2 %"}), {"--fail-if"});
  refused(files.diff({"--html", files.a}), {"would overwrite the trace"});
  auto const out = (files.here / "out").string();
  refused(files.diff({"--html", out, "--junit", out, "--fail-if", "kernel gemm > 2 %"}),
          {"two outputs are written to", "--html", "--junit", "its own path"});
  auto const again = (files.here / "." / "out").string();
  refused(files.diff({"--html", out, "--junit", again, "--fail-if", "kernel gemm > 2 %"}),
          {"its own path"});
}

TEST_CASE("a page or JUnit file that cannot be written is a failure, before the traces are read") {
  two_files const files{run_of(10, 6000), run_of(20, 6600)};
  auto const lost = (files.here / "no" / "x").string();
  for (auto const& words : std::vector<std::vector<std::string>>{
           {"--html", lost}, {"--junit", lost, "--fail-if", "kernel gemm > 2 %"}}) {
    auto const what = files.diff(words);
    CHECK(what.code == cli::failed);
    CHECK(what.out.empty());
    CHECK_THAT(what.err, contains("cannot write") && contains("choose another path"));
  }
}

TEST_CASE("a page has the waterfall, idle time and the host's calls of a step") {
  two_files const files{run_of(10, 6000), run_of(20, 6600)};
  auto const path = (files.here / "out.html").string();
  CHECK(files.diff({"--html", path, "--fail-if", "kernel gemm > +2 %"}).code == cli::gate_holds);
  auto const page = content(path);
  CHECK_THAT(page, contains("a step, from its first call to the end of its work") &&
                       contains("kernel: gemm") && contains("idle, ") && contains("devices work") &&
                       contains("The host&#39;s calls") && contains("cudaDeviceSynchronize") &&
                       contains("FAILS"));
  CHECK_THAT(page, contains("class=\"choice\">Choose a.sqlite: the work of a step takes ") &&
                       contains(" % less time than in b.sqlite [") &&
                       contains("], sure at 95 % for these two runs. It saves "));
  // Too few steps: no interval and no whisker, and the page still stands.
  two_files const few{run_of(2, 6000), run_of(2, 6600)};
  CHECK(few.diff({"--html", path}).code == cli::ok);
  CHECK_THAT(content(path), contains("No interval") && contains("No choice: steps of "));
  two_files const same{run_of(10, 6000), run_of(20, 6000)};
  CHECK(same.diff({"--html", path}).code == cli::ok);
  CHECK_THAT(content(path), contains("EQUIVALENT: steps of a.sqlite and b.sqlite"));
}

TEST_CASE("a range that ends on another thread has the kernels of all threads in its time") {
  folder const here;
  builder b;
  b.trace.window = {0, 1000};
  b.range("job", {0, 100}, main_thread, {}, range_style::start_end).end_thread = second_thread;
  b.launch("first", {10, 20}, {30, 40});
  b.launch("second", {50, 60}, {70, 80}, {}, second_thread);
  b.launch("late", {150, 160}, {170, 180});
  write_nsys(b.trace, here / "a.sqlite");
  auto const what =
      run({(here / "a.sqlite").string(), "--range", "job", "--csv", "--report", "range_kernels"});
  CHECK(what.err.empty());
  CHECK_THAT(what.out, contains("50.0,10,1,1,1.0,10.0,10,10,first") && contains(",second") &&
                           !contains("late"));
}

TEST_CASE("steps that end on another thread have what all threads do in their time") {
  auto const jobs = [](std::int64_t second) {
    builder b;
    b.trace.window = {0, 100'000};
    for (int i = 0; i < 8; ++i) {
      auto const at = 10'000 * i;
      b.range("step", {at, at + 5000}, main_thread, {}, range_style::start_end).end_thread =
          second_thread;
      b.launch("first", {at + 10, at + 20}, {at + 30, at + 40});
      b.launch("second", {at + 50, at + 60}, {at + 70, at + 70 + second}, {}, second_thread);
      b.launch("late", {at + 6000, at + 6100}, {at + 6200, at + 6300});
    }
    return b.trace;
  };
  two_files const files{jobs(1000), jobs(1500)};
  auto const found = nlohmann::json::parse(files.diff({"--json"}).out).at("step_difference");
  CHECK(row_of(found, "kernel", "second").at("Low (ns)") == 500);
  CHECK(row_of(found, "kernel", "first").at("Delta (ns)") == 0);
  CHECK_THAT(found.dump(), !contains("late"));
}

TEST_CASE("ranges without work of a device are compared too") {
  auto const ranges = [](std::int64_t length) {
    builder b;
    b.trace.window = {0, 100'000};
    for (int i = 0; i < 8; ++i) { b.range("step", {10'000 * i, 10'000 * i + length + i}); }
    return b.trace;
  };
  two_files const files{ranges(1000), ranges(2000)};
  auto const what =
      files.diff({"--fail-if", "range step > +50 %", "--html", (files.here / "out.html").string()});
  CHECK(what.code == cli::gate_holds);
  CHECK_THAT(what.out, contains("The range, from begin to end on the host: +1.000 us [") &&
                           contains("lacking: " + files.a + ":") &&
                           contains("lacking: " + files.b + ":") && contains("CUDA: neither"));
}

TEST_CASE("what is lacking is told on the error stream, or is a member of JSON") {
  folder const here;
  builder b;
  b.trace.window = {0, 1000};
  b.range("step", {0, 100});
  write_nsys(b.trace, here / "a.sqlite");
  auto const a = (here / "a.sqlite").string();
  auto const csv = run({a, "--csv", "--report", "cuda_gpu_kern_sum"});
  CHECK(csv.code == cli::ok);
  CHECK_THAT(csv.err, contains("lacking: the trace has no data for cuda_gpu_kern_sum\n") &&
                          contains("lacking: CUDA: neither calls nor work"));
  CHECK_THAT(csv.out, !contains("lacking"));
  auto const one = run({a, "--json", "--report", "cuda_gpu_kern_sum"});
  CHECK(nlohmann::json::parse(one.out).empty());
  CHECK_THAT(one.err, contains("lacking: the trace has no data for cuda_gpu_kern_sum\n"));
  auto const several = run({a, "--json", "--report", "cuda_gpu_kern_sum,nvtx_sum"});
  auto const lacks = nlohmann::json::parse(several.out).at("lacking");
  CHECK(lacks.size() == 2);
  CHECK(lacks[0] == "the trace has no data for cuda_gpu_kern_sum");
  CHECK(several.err.empty());
}

/// Eight steps. `add(b, at)` adds the work of the step that begins at `at`.
template <class Add>
auto eight_steps(Add const& add) {
  builder b;
  b.trace.window = {0, 100'000};
  for (int i = 0; i < 8; ++i) {
    b.range("step", {10'000 * i, 10'000 * i + 5000});
    add(b, std::int64_t{10'000} * i);
  }
  return b.trace;
}

TEST_CASE("what other threads launch in a step is told, and taken with --all-threads") {
  auto const training = [](std::int64_t backward) {
    return eight_steps([=](builder& b, std::int64_t at) {
      b.launch("forward", {at + 10, at + 20}, {at + 30, at + 40});
      b.launch("backward", {at + 50, at + 60}, {at + 70, at + 70 + backward}, {}, second_thread);
      b.launch("late", {at + 6000, at + 6100}, {at + 6200, at + 6300}, {}, second_thread);
    });
  };
  two_files const files{training(1000), training(1500)};
  auto const gate = std::vector<std::string>{"--fail-if", "kernel *ward > +2 %"};
  auto const own = files.diff(gate);
  CHECK(own.code == cli::ok);
  CHECK_THAT(own.out, contains("8 pieces of device work that other") && contains("--all-threads") &&
                          !contains("backward"));
  auto const all = files.diff({gate[0], gate[1], "--all-threads"});
  CHECK(all.code == cli::gate_holds);
  CHECK_THAT(all.out, contains("backward") && !contains("other threads") && !contains("late"));
}

TEST_CASE("a graph that was recorded whole counts as a kernel of a step, for gates too") {
  auto const graphs = [](std::int64_t length) {
    return eight_steps([=](builder& b, std::int64_t at) {
      auto const launch = b.call("cudaGraphLaunch_v10000", {at + 10, at + 20}).correlation;
      b.whole_graph({at + 30, at + 30 + length}, {}, launch);
      b.launch("gemm", {at + 40, at + 50}, {at + 4000, at + 5000});
    });
  };
  two_files const files{graphs(1000), graphs(1500)};
  auto const found = files.diff({"--fail-if", "kernel * > +2 %"});
  CHECK(found.code == cli::gate_holds);
  CHECK_THAT(found.out, contains("Devices: kernel [graph]: +500.0 ns"));
  CHECK(files.diff({"--fail-if", "kernel gemm > +2 %"}).code == cli::ok);
}
