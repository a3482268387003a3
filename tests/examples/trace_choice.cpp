// SPDX-License-Identifier: Apache-2.0
#include "../../examples/support/trace_choice.hpp"

#include "catch.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

using assay::cli::explain_choice;
using assay::test::contains;
using assay::test::message_of;

namespace {

explain_choice parsed(std::vector<std::string> words) {
  explain_choice choice;
  CLI::App app;
  assay::cli::command_line line{app};
  choice.add_to(line);
  words.insert(words.begin(), "program");
  std::vector<char const*> argv;
  for (auto const& word : words) { argv.push_back(word.c_str()); }
  app.parse(static_cast<int>(argv.size()), argv.data());
  return choice;
}

}  // namespace

TEST_CASE("each variant has a trace of its own, named before the extension") {
  CHECK(explain_choice::path("out.json", "pool/concurrent", ".json") == "out.pool-concurrent.json");
  CHECK(explain_choice::path("a/b.c/out", "x", ".json") == "a/b.c/out.x.json");
  CHECK(explain_choice::path("out.v2", "x", ".sqlite") == "out.v2.x.sqlite");
}

TEST_CASE("variants are explained unless it is refused; traces are had where they are asked for") {
  CHECK(parsed({}).explain);
  CHECK_FALSE(parsed({}).wants_traces());
  CHECK_FALSE(parsed({"--no-explain"}).explain);
  CHECK(parsed({"--trace", "t.json"}).asked() == "--trace t.json");
  CHECK(parsed({"--sqlite", "t.sqlite"}).asked() == "--sqlite t.sqlite");
  CHECK(parsed({"--stats"}).asked() == "--stats");
  for (auto const* each : {"--trace=t", "--sqlite=t", "--stats"}) {
    CHECK(parsed({each}).wants_traces());
    CHECK_THAT(message_of([&] { parsed({each}).check_host(); }), contains("work on a GPU"));
  }
  parsed({}).check_host();
}

TEST_CASE("a path at which nothing can be written is refused before the run") {
  CHECK_THAT(message_of([] { parsed({"--trace", "/no/such/t.json"}).check(); }),
             contains("/no/such") && contains("choose another --trace"));
  CHECK_THAT(message_of([] { parsed({"--sqlite", "/no/such/t"}).check(); }),
             contains("choose another --sqlite"));
  parsed({"--stats"}).check();
}
