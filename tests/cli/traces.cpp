// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "folder.hpp"
#include "report/sample.hpp"
#include "trace/golden.hpp"

#include <assay/cli/explaining.hpp>
#include <assay/cupti/variant_runs.hpp>
#include <assay/trace/explanation.hpp>

#include <CLI/CLI.hpp>

#include <exception>
#include <string>
#include <vector>

using namespace assay;
using assay::test::contains;
using assay::test::folder;
using assay::test::message_of;

namespace {

int recorded = 0;

/// Tracing that records nothing and calls the work twice, as the recorder does.
cli::tracing pretended() {
  return {[](std::function<void()> const& work) {
            work();
            work();
            ++recorded;
            return trace::model{};
          },
          [](measure::comparison const&, trace::compared_runs const& control,
             trace::compared_runs const& variant, bool) {
            trace::explanation why;
            why.control.label = control.runs.label;
            why.variant.label = variant.runs.label;
            return why;
          },
          nullptr};
}

cli::explaining parsed(std::vector<std::string> words, cli::tracing by = pretended()) {
  cli::explaining choice{by};
  CLI::App app;
  choice.add_to(app);
  words.insert(words.begin(), "program");
  std::vector<char const*> argv;
  for (auto const& word : words) { argv.push_back(word.c_str()); }
  app.parse(static_cast<int>(argv.size()), argv.data());
  return choice;
}

/// The reasons that are added for three variants.
measure::comparison explained(cli::explaining const& by,
                              std::size_t (*control_of)(std::size_t) = cli::explaining::first) {
  auto found = test::sample();
  by.explain({}, found, {{"a", {}}, {"b", {}}, {"c", {}}}, control_of);
  return found;
}

}  // namespace

TEST_CASE("each variant has a trace of its own, named before the extension") {
  CHECK(cli::variant_path("out.json", "pool/concurrent", ".json") == "out.pool-concurrent.json");
  CHECK(cli::variant_path("a/b.c/out", "x", ".json") == "a/b.c/out.x.json");
  CHECK(cli::variant_path("out.v2", "x", ".sqlite") == "out.v2.x.sqlite");
}

TEST_CASE("variants are explained unless it is refused; each control is the one that is named") {
  auto const before = explained(parsed({"--no-explain"})).reasons.size();
  CHECK(explained(parsed({})).reasons.size() == before + 2);
  auto const all = explained(parsed({}), cli::explaining::before).reasons;
  REQUIRE(all.size() == before + 2);
  CHECK_THAT(all.back().question, contains("c") && contains("b"));
}

TEST_CASE("each explained difference has a record, which names the files of its traces") {
  auto const all = explained(parsed({}), cli::explaining::before).traced;
  REQUIRE(all.size() == 2);
  CHECK(all[1].control.variant == 1);
  CHECK(all[1].variant.variant == 2);
  CHECK(all[0].variant.file.empty());
  CHECK(explained(parsed({"--no-explain"})).traced.empty());
  folder const here;
  auto const written = explained(parsed({"--trace", (here / "x.json").string()})).traced;
  REQUIRE(written.size() == 2);
  CHECK(written[0].control.file == "x.a.json");
  CHECK(written[1].variant.file == "x.c.json");
}

TEST_CASE("a variant's timeline is in the record of its first difference alone") {
  auto by = pretended();
  by.explain = [](measure::comparison const&, trace::compared_runs const&,
                  trace::compared_runs const&, bool) {
    test::golden::builder b;
    b.launch("k", {0, 10}, {10, 100});
    trace::explanation why;
    why.control.trace = why.variant.trace = b.trace;
    return why;
  };
  auto const all = explained(parsed({}, by)).traced;
  REQUIRE(all.size() == 2);
  // The launch call and its kernel.
  CHECK(all[0].control.timeline.spans.size() == 2);
  CHECK(all[0].variant.timeline.spans.size() == 2);
  CHECK(all[1].control.timeline.spans.empty());
  CHECK(all[1].variant.timeline.spans.size() == 2);
}

TEST_CASE("a build without CUPTI says so in the report, and refuses traces before the run") {
  CHECK_THAT(explained(parsed({}, {})).notes.back(), contains("without CUPTI"));
  CHECK_THAT(message_of([] { parsed({"--stats"}, {}).check(); }),
             contains("--stats: this program was built without CUPTI"));
  CHECK_THAT(message_of([] { parsed({"--sqlite", "x"}).check(); }),
             contains("--sqlite x: this program was built without SQLite 3"));
  parsed({}, {}).check();
}

TEST_CASE("traces are recorded and written where they are asked for") {
  folder const here;
  CHECK_FALSE(parsed({}).wanted());
  for (auto const* each : {"--trace=t", "--sqlite=t", "--stats"}) {
    CHECK(parsed({each}).wanted());
    CHECK_THAT(message_of([&] { parsed({each}).check_host(); }), contains("work on a GPU"));
  }
  parsed({}).check_host();
  auto const before = recorded;
  parsed({}).record([] {}, "a", {});
  CHECK(recorded == before);
  parsed({"--trace", here / "t.json"}).record([] {}, "a", {});
  CHECK(recorded == before + 1);
  CHECK(here.entries() == 1);
  explained(parsed({"--no-explain", "--trace", here / "t.json"}));
  CHECK(here.entries() == 3);  // of a, b and c
}

TEST_CASE("tables, and the failure to write a trace, wait until the reports are written") {
  cli::options const given;
  auto const choice = parsed({"--stats", "--trace", "/no/such/t.json"});
  choice.tell({}, "a", given);
  choice.tell({}, "b", given);
  CHECK_THAT(given.later->text, contains("## a") && contains("## b"));
  CHECK_THAT(message_of([&] { std::rethrow_exception(given.later->failure); }),
             contains("/no/such/t.a.json"));
}

TEST_CASE("a trace takes the place of no other file of its run") {
  folder const here;
  cli::options const given;
  given.later->files.write("--json", here / "t.a-b.json");
  auto const choice = parsed({"--trace", here / "t.json"});
  auto const told = [&](std::string const& variant) {
    given.later->failure = nullptr;
    choice.tell({}, variant, given);
    return given.later->failure == nullptr
               ? ""
               : message_of([&] { std::rethrow_exception(given.later->failure); });
  };
  CHECK(told("c").empty());
  CHECK_THAT(told("a b"), contains("--json") && contains("--trace of a b"));
  CHECK(here.entries() == 1);
  CHECK(told("d e").empty());
  CHECK_THAT(told("d-e"), contains("--trace of d e") && contains("--trace of d-e"));
}

TEST_CASE("a path at which nothing can be written is refused before the run") {
  CHECK_THAT(message_of([] { parsed({"--trace", "/no/such/t.json"}).check(); }),
             contains("/no/such") && contains("choose another path"));
  parsed({"--stats"}).check();
}
