// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it starts another program
// assay_report over the committed records, and over what it has to refuse.
#include "catch.hpp"
#include "folder.hpp"
#include "report/sample.hpp"

#include <assay/page/page.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/json.hpp>

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using assay::test::contains;
namespace fs = std::filesystem;

namespace {

// Empty in a build without the examples.
#ifdef ASSAY_REPORT
std::string const program = ASSAY_REPORT;
#else
std::string const program;
#endif

/// A path in the source tree.
fs::path source(char const* path) {
  char const* const root = std::getenv("ASSAY_SOURCE_DIR");
  REQUIRE(root != nullptr);
  return fs::path{root} / path;
}

struct outcome {
  int code;
  std::string out, err;
};

/// A folder to run in; gone with the test.
class place {
 public:
  outcome shell(std::string const& command) const {
    auto const all =
        "cd '" + own_.path().string() + "' && { " + command + "\n} > out 2> err < /dev/null";
    int const status = std::system(all.c_str());
    return {WEXITSTATUS(status), read("out"), read("err")};
  }
  outcome run(std::string const& arguments) const {
    return shell("'" + program + "' " + arguments);
  }
  std::string read(char const* name) const { return assay::test::content(own_ / name); }
  bool has(char const* name) const { return fs::exists(own_ / name); }
  void write(char const* name, std::string const& text) const {
    std::ofstream{own_ / name} << text;
  }

 private:
  assay::test::folder const own_{"assay report"};
};

/// The committed comparisons.
std::vector<fs::path> records() {
  std::vector<fs::path> found;
  for (auto const& entry : fs::directory_iterator{source("benchmarks/results")}) {
    if (entry.path().extension() == ".json" &&
        assay::test::content(entry.path()).find("\"schema\": \"assay.comparison\"") !=
            std::string::npos) {
      found.push_back(entry.path());
    }
  }
  return found;
}

/// A comparison whose one verdict is SLOWER.
std::string slower() {
  auto all = assay::test::sample();
  all.findings = {assay::test::found("new against old", assay::measure::verdict::slower,
                                     {1.2, 1.1, 1.3}, {-1, 1, 0, 0})};
  return assay::report::json(all);
}

}  // namespace

TEST_CASE("each committed record becomes well-formed files of every kind") {
  if (program.empty()) { return; }
  auto const all = records();
  REQUIRE(all.size() >= 2);
  for (auto const& each : all) {
    INFO(each);
    place const here;
    auto const done =
        here.run("'" + each.string() + "' --html x.html --markdown x.md --junit x.xml --csv x.csv");
    INFO(done.err);
    CHECK(done.code == 0);
    CHECK(done.out.empty());
    auto const page = here.read("x.html");
    CHECK(page.size() < 1'048'576);
    auto const found = assay::report::parse_json(assay::test::content(each));
    for (auto const& one : found.findings) {
      CHECK_THAT(page, contains(assay::report::escaped(one.contrast_name)));
    }
    for (auto const& one : found.variants) {
      CHECK_THAT(page, contains(assay::report::escaped(one.label)));
    }
    auto const read =
        here.shell("python3 '" + source("tests/page/well_formed.py").string() + "' x.html x.xml");
    INFO(read.err);
    CHECK(read.code == 0);
    CHECK_THAT(read.out, contains("testcase=" + std::to_string(found.findings.size() + 1) + " "));
    CHECK_THAT(here.read("x.md"), contains(std::string{to_string(found.primary)} + " clock"));
    CHECK(here.has("x.csv"));
    CHECK(here.has("x.variants.csv"));
    CHECK(here.has("x.cells.csv"));
  }
}

TEST_CASE("results that are no comparisons have pages of their own, and no other file") {
  if (program.empty()) { return; }
  for (auto const* name : {"all_reduce", "dispatch"}) {
    INFO(name);
    place const here;
    auto const record = source("benchmarks/results") / (std::string{name} + ".json");
    auto const done = here.run("'" + record.string() + "' --html x.html");
    INFO(done.err);
    CHECK(done.code == 0);
    CHECK(here.read("x.html").size() < 1'048'576);
    auto const read =
        here.shell("python3 '" + source("tests/page/well_formed.py").string() + "' x.html");
    INFO(read.err);
    CHECK(read.code == 0);
    auto const refused = here.run("'" + record.string() + "' --html y.html --markdown y.md");
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, contains(name) && contains("give it alone, with --html alone"));
    CHECK_FALSE(here.has("y.html"));
  }
}

TEST_CASE("without an option the short report is printed, without control characters") {
  if (program.empty()) { return; }
  place const here;
  auto text = slower();
  text.replace(text.find("which allocator"), 5, "\\u001b[3");
  here.write("x.json", text);
  auto const told = here.run("x.json");
  CHECK(told.code == 0);
  CHECK_THAT(told.out, contains("SLOWER: ") && contains("(wall clock)"));
  CHECK(told.out.find('\x1b') == std::string::npos);
}

TEST_CASE("several files make one page, and a saved one stands beside them") {
  if (program.empty()) { return; }
  place const here;
  here.write("a.json", slower());
  here.write("b.json", slower());
  CHECK(here.run("a.json b.json --baseline a.json --html x.html --csv x.csv").code == 0);
  CHECK_THAT(here.read("x.html"), contains("2 comparisons") && contains("proves nothing"));
  CHECK(here.has("x.a.csv"));
  CHECK(here.has("x.b.cells.csv"));
  CHECK_THAT(here.run("a.json --baseline b.json").out,
             contains("proves nothing") && !contains("none of these contrasts"));
  auto other = slower();
  other.replace(other.find("new against old"), 3, "two");
  here.write("other.json", other);
  CHECK_THAT(here.run("a.json --baseline other.json").out, contains("none of these contrasts"));
}

TEST_CASE("a gate has exit codes, and fails test cases") {
  if (program.empty()) { return; }
  place const here;
  here.write("x.json", slower());
  CHECK(here.run("x.json --fail-if slower --junit x.xml").code == 3);
  CHECK_THAT(here.read("x.xml"), contains("<failure type=\"slower\""));
  CHECK(here.run("x.json --fail-if faster").code == 0);
  auto unproven = assay::test::sample();
  unproven.findings = {assay::test::found("new against old", assay::measure::verdict::unproven,
                                          {1.2, 1.1, 1.3}, {-1, 1, 0, 0})};
  here.write("u.json", assay::report::json(unproven));
  for (auto const* const files : {"u.json x.json", "x.json u.json"}) {
    CHECK(here.run(files + std::string{" --fail-if slower --junit y.xml"}).code == 3);
  }
  CHECK_THAT(here.run("x.json --fail-if quick").err, contains("--fail-if: ") && contains("quick"));
}

TEST_CASE("bad input is refused by one line with the value and the remedy") {
  if (program.empty()) { return; }
  place const here;
  here.write("good.json", slower());
  here.write("old.json", slower());
  here.write("text.json", "no JSON");
  here.write("list.json", "[1]");
  here.write("bench.json", R"({"schema": "assay.benchmark"})");
  here.write("future.json", R"({"schema": "assay.comparison", "schema_version": 99})");
  auto text = slower();
  text.replace(text.rfind("\"cells\""), 7, "\"sells\"");
  here.write("cells.json", text);
  struct refused {
    char const *arguments, *value, *remedy;
  };
  for (auto const& [arguments, value, remedy] :
       {refused{"lost.json", "lost.json: No such file", "name a JSON file"},
        refused{"text.json", "text.json is not JSON", "name a file"},
        refused{"list.json", "its schema is none", "which --json writes"},
        refused{"bench.json", "its schema is assay.benchmark", "which --json writes"},
        refused{"future.json", "schema version 99", "use the assay that wrote it"},
        refused{"cells.json", "key 'cells' not found", "write it anew"},
        refused{"good.json --html x --csv x", "two outputs are written to x", "its own path"},
        refused{"good.json --html x --csv ./x", "two outputs are written to", "its own path"},
        refused{"good.json --html ./good.json", "would overwrite the comparison", "another path"},
        refused{"good.json --baseline old.json --csv old.json", "overwrite the baseline", "path"},
        refused{"good.json --html ''", "--html: its value is empty", "--help"},
        refused{"good.json --html --csv", "--html", "--help"}, refused{"", "FILE", "--help"}}) {
    auto const told = here.run(arguments);
    INFO(arguments << ": " << told.err);
    CHECK(told.code == 2);
    CHECK(told.out.empty());
    CHECK_THAT(told.err, contains(value) && contains(remedy));
    CHECK(told.err.find('\n') == told.err.size() - 1);
  }
  CHECK_FALSE(here.has("x"));
  auto const lost = here.run("good.json --html lost/x.html");
  CHECK(lost.code == 4);
  CHECK_THAT(lost.err, contains("lost/x.html") && contains("choose another path"));
}

TEST_CASE("a closed pipe loses no file") {
  if (program.empty()) { return; }
  place const here;
  here.write("x.json", slower());
  here.shell("'" + program + "' x.json --html x.html --markdown x.md | true");
  CHECK_THAT(here.read("x.html"), contains("</html>"));
  CHECK(here.has("x.md"));
  CHECK_THAT(here.run("--help").out, contains("Examples:") && contains("--baseline"));
}
