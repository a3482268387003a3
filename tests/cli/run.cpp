// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "cli/outcome.hpp"
#include "folder.hpp"
#include "report/sample.hpp"

#include <assay/cli/experiment.hpp>
#include <assay/cli/gate.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/cli/parse.hpp>
#include <assay/cli/run.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/memory/request.hpp>
#include <assay/page/page.hpp>
#include <assay/report/csv.hpp>
#include <assay/report/json.hpp>
#include <assay/report/junit.hpp>
#include <assay/report/markdown.hpp>
#include <assay/report/text.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <array>
#include <csignal>
#include <cstdio>
#include <functional>
#include <iterator>
#include <sstream>
#include <type_traits>
#include <utility>

using namespace assay;
using assay::test::contains;
namespace fs = std::filesystem;

using assay::test::content;
using assay::test::folder;

namespace {

/// The outcome of a run, and the options that its body saw.
struct outcome : test::outcome {
  bool ran = false;
  cli::options chosen;
};

using body = std::function<std::optional<measure::comparison>(cli::options const&)>;

outcome run(
    std::vector<std::string> const& words,
    body const& inside = [](auto const&) { return std::optional{test::sample()}; }) {
  outcome result;
  static_cast<test::outcome&>(result) =
      test::outcome_of(words, [&](int argc, auto argv, std::ostream& out, std::ostream& err) {
        int rows = 10;
        return cli::run(
            argc, argv, {"What is tested?", "a commit"},
            [&](CLI::App& app) { app.add_option("--rows", rows, "rows of the column"); },
            [&](cli::options const& chosen) {
              result.ran = true;
              result.chosen = chosen;
              cli::require_count("--rows", rows);
              return inside(chosen);
            },
            out, err);
      });
  return result;
}

/// One line on stderr that begins with `error: `, nothing on stdout.
void refused(outcome const& what, int code, std::vector<std::string> const& with) {
  INFO(what.err);
  CHECK(what.code == code);
  CHECK(what.out.empty());
  CHECK(what.err.rfind("error: ", 0) == 0);
  CHECK(std::ranges::count(what.err, '\n') == 1);
  CHECK(what.err.ends_with('\n'));
  for (auto const& part : with) { CHECK_THAT(what.err, contains(part)); }
}

}  // namespace

TEST_CASE("a run prints its report and returns 0") {
  auto const what = run({});
  CHECK(what.code == cli::ok);
  CHECK(what.err.empty());
  CHECK_THAT(what.out, contains("null_cast: which allocator") && contains("repeat      program"));
}

TEST_CASE("what is not named has its default, and a seed is drawn") {
  auto const first = run({}).chosen.measuring;
  CHECK(first.margin == 0.01);
  CHECK(first.alpha == 0.05);
  CHECK(first.clock == measure::clock::wall);
  CHECK(first.seed != 0);
  CHECK(first.seed != run({}).chosen.measuring.seed);
}

TEST_CASE("options reach the body, and what measures") {
  auto const chosen = run({"--margin", "0.5%", "--alpha=0.01", "--seed", "7", "--epochs", "16",
                           "--resolve", "--clock", "gpu", "--device", "3"})
                          .chosen;
  CHECK(chosen.device == 3);
  auto const& measuring = chosen.measuring;
  CHECK(measuring.margin == 0.005);
  CHECK(measuring.alpha == 0.01);
  CHECK(measuring.seed == 7);
  CHECK(measuring.max_epochs == 16);
  CHECK(measuring.run_until_sign);
  CHECK(measuring.clock == measure::clock::gpu);
  CHECK(chosen.measuring_on(on::device{3}).clock == measure::clock::gpu);
  CHECK_THROWS_WITH(chosen.measuring_on(on::host{2}), contains("--clock gpu") && contains("wall"));
  CHECK_THROWS_WITH(run({"--device", "3"}).chosen.measuring_on(on::host{2}),
                    "--device: this runs on the host; leave the option out");
  CHECK(run({"--clock", "submit"}).chosen.measuring_on(on::host{2}).seed != 0);
  CHECK(!measuring.cancelled());
}

TEST_CASE("a gate on a difference makes a comparison run until its size is known") {
  CHECK(run({"--fail-if", "unproven,slower"}).chosen.measuring.run_until_margin);
  CHECK_FALSE(run({"--fail-if", "unproven"}).chosen.measuring.run_until_margin);
  CHECK_FALSE(run({}).chosen.measuring.run_until_margin);
}

TEST_CASE("quick shortens a run that --epochs does not") {
  CHECK(run({"--quick"}).chosen.measuring.max_epochs < run({}).chosen.measuring.max_epochs);
  CHECK(run({"--quick", "--epochs", "20"}).chosen.measuring.max_epochs == 20);
}

TEST_CASE("help tells every exit code and does not run") {
  auto const what = run({"--help"});
  CHECK(what.code == 0);
  CHECK(!what.ran);
  for (auto const* part : {"What is tested?", "--rows", "--fail-if", "0 done", "1 a variant",
                           "2 bad input", "3 a condition", "4 the run failed", "5 --fail-if"}) {
    CHECK_THAT(what.out, contains(part));
  }
}

TEST_CASE("bad input is one line with value and remedy, exit code 2, and no run") {
  struct bad {
    std::vector<std::string> words, says;
  };
  for (auto const& [words, says] : std::vector<bad>{
           {{"--margin", "5"}, {"--margin", "'5'", "1%"}},
           {{"--margin", "0"}, {"--margin 0", "such as 1%"}},
           {{"--margin", "x"}, {"--margin", "'x'", "1%"}},
           {{"--alpha", "100%"}, {"--alpha 100%"}},
           {{"--seed", "0"}, {"--seed", "'0'", "from 1"}},
           {{"--seed", "-1"}, {"--seed", "'-1'"}},
           {{"--epochs", "0"}, {"--epochs 0", "at least 1"}},
           {{"--epochs", "-8"}, {"--epochs -8", "at least 1"}},
           {{"--epochs", "many"}, {"--epochs: 'many' is not a number", "--help"}},
           {{"--epochs", "99999999999999"}, {"--epochs", "99999999999999"}},
           {{"--max-seconds", "-1"}, {"--max-seconds -1", "between 0.001 and"}},
           {{"--max-seconds", "0"}, {"--max-seconds 0", "between 0.001 and"}},
           {{"--max-seconds", ""}, {"--max-seconds"}},
           {{"--max-seconds", "nan"}, {"--max-seconds nan", "between 0.001 and"}},
           {{"--max-seconds", "inf"}, {"--max-seconds inf", "between 0.001 and"}},
           {{"--clock", "sun"}, {"--clock", "'sun'", "wall, gpu, submit"}},
           {{"--device", "-1"}, {"--device -1", "at least 0"}},
           {{"--device", "1", "--host"}, {"--device", "--host"}},
           {{"--fail-if", "slow"}, {"'slow'", "slower, faster"}},
           {{"--fail-if", "slower,later"}, {"'later'"}},
           {{"--json", ""}, {"--json"}},
           {{"--json", "--quick"}, {"--json", "--quick looks like an option", "./--quick"}},
           {{"--text", "-x"}, {"--text", "-x looks like an option"}},
           {{"--frobnicate"}, {"--frobnicate", "--help"}},
           {{"stray"}, {"stray", "--help"}}}) {
    auto const what = run(words);
    refused(what, cli::bad_input, says);
    CHECK(!what.ran);
  }
}

TEST_CASE("a file that cannot be written is a failure before the run") {
  for (auto const& [words, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--json", "/no/such/folder/x.json"}, "/no/such/folder/x.json"},
           {{"--text", "/"}, "directory"}}) {
    auto const what = run(words);
    refused(what, cli::failed, {says, "another path"});
    CHECK(!what.ran);
  }
}

TEST_CASE("an example refuses its own parameters in the same way") {
  refused(run({"--rows", "0"}), cli::bad_input, {"--rows 0", "at least 1"});
  refused(run({},
              [](auto const&) -> std::optional<measure::comparison> {
                throw std::invalid_argument("device 9 does not exist");
              }),
          cli::bad_input, {"device 9 does not exist"});
}

TEST_CASE("an option that is declared twice is one line, not the end of the process") {
  auto const what = test::outcome_of({}, [](int argc, auto argv, auto& out, auto& err) {
    int margin = 0;
    return cli::run(
        argc, argv, {"A question?"},
        [&](CLI::App& app) { app.add_option("--margin", margin, "again"); },
        [](auto const&) { return std::optional{test::sample()}; }, out, err);
  });
  CHECK(what.code == cli::failed);
  CHECK_THAT(what.err,
             Catch::Matchers::StartsWith("error: ") && contains("margin is already added"));
}

TEST_CASE("a failure of the run is one line, exit code 4") {
  refused(run({},
              [](auto const&) -> std::optional<measure::comparison> {
                throw std::runtime_error("the device\nfell off\n");
              }),
          cli::failed, {"error: the device fell off\n"});
  refused(
      run({}, [](auto const&) -> std::optional<measure::comparison> { throw std::bad_alloc{}; }),
      cli::failed, {"out of memory"});
  refused(run({},
              [](auto const&) -> std::optional<measure::comparison> {
                throw mr::out_of_memory("mr::pool: no room for 104 MiB: 64 MiB reserved");
              }),
          cli::failed, {"no room for 104 MiB: 64 MiB reserved"});
  refused(run({},
              [](auto const&) -> std::optional<measure::comparison> {
                try {
                  throw std::runtime_error("cause");
                } catch (...) { std::throw_with_nested(std::runtime_error("item 3 failed")); }
              }),
          cli::failed, {"item 3 failed: cause"});
}

TEST_CASE("a comparison that failed is reported, its reason told again, and leaves exit code 4") {
  auto const what = run({}, [](auto const&) {
    measure::comparison all;
    all.failure = "variant \"a\": out of memory";
    return std::optional{all};
  });
  CHECK(what.code == cli::failed);
  CHECK_THAT(what.out, contains("Ended early: variant \"a\": out of memory"));
  CHECK(what.err == "error: variant \"a\": out of memory\n");
}

TEST_CASE(
    "a condition decides the exit code and fails test cases; the report is printed all the same") {
  body const slower = [](auto const&) {
    auto all = test::sample();
    all.findings = {test::found("c", measure::verdict::slower, {1.1, 1.05, 1.2}, {-1, 1, 0, 0})};
    return std::optional{all};
  };
  CHECK(run({}, slower).code == cli::ok);
  folder const here;
  auto const what = run({"--fail-if", "inconclusive,slower", "--junit", here / "r.xml"}, slower);
  CHECK(what.code == cli::gate_holds);
  CHECK_THAT(what.out, contains("SLOWER"));
  CHECK_THAT(content(here / "r.xml"), contains("<failure type=\"slower\""));
}

TEST_CASE("outputs are written whole, each to its path, quiet or not") {
  folder const here;
  auto const what = run({"--quiet", "--seed", "5", "--json", here / "r.json", "--csv",
                         here / "r.csv", "--text", here / "r.txt", "--html", here / "r.html",
                         "--markdown", here / "r.md", "--junit", here / "r.xml"});
  CHECK(what.code == 0);
  CHECK(what.out.empty());
  CHECK(what.err.empty());
  CHECK(here.entries() == 8);
  auto const back = report::parse_json(content(here / "r.json"));
  CHECK(back.variants.size() == 4);
  CHECK_THAT(back.where.command_line, contains("program --quiet --seed 5"));
  CHECK(!back.where.started_at.empty());
  CHECK(back.where.commit == "a commit");
  CHECK_THAT(content(here / "r.csv"), Catch::Matchers::StartsWith("contrast,clock"));
  CHECK_THAT(content(here / "r.variants.csv"), contains("pool{10 GiB} + concurrent,wall,"));
  CHECK_THAT(content(here / "r.cells.csv"), contains("async + serialized,gpu,1,"));
  CHECK_THAT(content(here / "r.txt"), contains("Environment"));
  CHECK(content(here / "r.html") == report::page({{back, nullptr}}));
  CHECK(content(here / "r.md") == report::markdown(back, nullptr));
  CHECK(content(here / "r.xml") == report::junit({&back}));
}

TEST_CASE("the files are written before the terminal, which may be a closed pipe") {
  folder const here;
  auto const path = here / "r.json";
  struct pipe : std::stringbuf {
    explicit pipe(fs::path file) : file_(std::move(file)) {}
    std::streamsize xsputn(char const*, std::streamsize count) override {
      if (!fs::exists(file_)) { early = true; }
      return count;
    }
    fs::path file_;
    bool early = false;
  } closed{path};
  std::ostream out{&closed};
  std::ostringstream err;
  std::array const argv{"program", "--json", path.c_str()};
  cli::run(
      static_cast<int>(argv.size()), argv.data(), {"What is tested?", "a commit"}, [](auto&) {},
      [](auto const&) { return std::optional{test::sample()}; }, out, err);
  CHECK(fs::exists(path));
  CHECK(!closed.early);
}

TEST_CASE("two outputs on one path are refused") {
  folder const here;
  auto const path = here / "same";
  refused(run({"--json", path, "--text", path}), cli::bad_input, {path, "its own path"});
  auto const other = (fs::path{path}.parent_path() / "." / "same").string();
  refused(run({"--json", path, "--text", other}), cli::bad_input, {"same", "its own path"});
  fs::create_symlink("same", here / "link");
  refused(run({"--json", path, "--text", here / "link"}), cli::bad_input, {"its own path"});
  fs::remove(here / "link");
  refused(run({"--csv", here / "x.csv", "--json", here / "x.cells.csv"}), cli::bad_input,
          {"--json", "--csv", "its own path"});
  CHECK(here.entries() == 0);
}

TEST_CASE("a run that fails leaves an old report as it was") {
  folder const here;
  assay::write_atomically(here / "r.json", "old");
  run({"--json", here / "r.json"}, [](auto const&) -> std::optional<measure::comparison> {
    throw std::runtime_error("failed");
  });
  CHECK(content(here / "r.json") == "old");
  CHECK(here.entries() == 1);
}

TEST_CASE("what a body prints by itself and nobody can read is a failure") {
  auto const child = ::fork();
  if (child == 0) {
    CLI::App app;
    std::array const argv{"program"};
    std::ostringstream out, err;
    bool const full = std::freopen("/dev/full", "w", stdout) != nullptr;
    auto const print = [] {
      std::printf("a result\n");
      return static_cast<int>(cli::ok);
    };
    ::_exit(full ? cli::guarded(app, 1, argv.data(), print, out, err) : 99);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == cli::failed);
}

TEST_CASE("a file that cannot be written after the run is a failure of the run") {
  auto const what = run({"--quiet", "--text", "/dev/full"});
  refused(what, cli::failed, {"/dev/full", "No space left"});
  CHECK(what.ran);
}

TEST_CASE("a file that cannot be written after the run takes no other file with it") {
  folder const here;
  auto const what = run({"--json", "/dev/full", "--text", here / "r.txt"});
  CHECK(what.code == cli::failed);
  CHECK_THAT(what.err, contains("/dev/full") && contains("No space left"));
  CHECK_THAT(content(here / "r.txt"), contains("Environment"));
  CHECK_THAT(what.out, contains("Environment"));
}

TEST_CASE("tables of traces follow the report, and a trace that is lost takes no report with it") {
  folder const here;
  auto const traced = [](bool compares, cli::options const& chosen) {
    chosen.later->text += "a table";
    chosen.later->keep_failure([] { throw file_error("x.json", "No space left on device"); });
    return compares ? std::optional{test::sample()} : std::nullopt;
  };
  for (bool const compares : {true, false}) {
    auto const what = run({"--text", here / "r.txt"},
                          [&](auto const& chosen) { return traced(compares, chosen); });
    CHECK(what.code == cli::failed);
    CHECK_THAT(what.err, contains("cannot write x.json"));
    CHECK(what.out.ends_with("a table"));
    CHECK(fs::exists(here / "r.txt"));
    CHECK_THAT(what.out, Catch::Matchers::StartsWith(compares ? "null_cast" : "a table"));
  }
  CHECK(run({"--quiet"}, [&](auto const& chosen) { return traced(true, chosen); }).out.empty());
}

TEST_CASE("a body with nothing to compare ends well and prints no report") {
  auto const what = run({"--list"}, [](cli::options const& chosen) {
    CHECK(chosen.list);
    return std::optional<measure::comparison>{};
  });
  CHECK(what.code == 0);
  CHECK(what.out.empty());
}

TEST_CASE("what the body knows of the environment is kept, the rest is filled in") {
  folder const here;
  run({"--json", here / "r.json"}, [](auto const&) {
    auto all = test::sample();
    all.where.device = "a device";
    all.where.started_at = "then";
    return std::optional{all};
  });
  auto const where = report::parse_json(content(here / "r.json")).where;
  CHECK(where.device == "a device");
  CHECK(where.started_at == "then");
  CHECK(where.host_threads > 0);
}

TEST_CASE("what does not end after kill is ended by an alarm") {
  for (int const signal : {SIGINT, SIGTERM, SIGHUP}) {
    auto const what = run({}, [&](cli::options const& chosen) {
      std::raise(signal);
      CHECK(chosen.measuring.cancelled());
      auto const left = ::alarm(5);
      CHECK(left == (signal == SIGINT ? 0 : cli::detail::seconds_to_end));
      return std::optional{test::sample()};
    });
    CHECK(what.code == 0);
    CHECK(::alarm(0) == 0);
  }
}

TEST_CASE("signals that are ignored stay so, and a handler is put back") {
  auto const own = [](int) {};
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGINT, own);
  auto const what = run({}, [](cli::options const& chosen) {
    std::raise(SIGTERM);
    CHECK_FALSE(chosen.measuring.cancelled());
    std::raise(SIGINT);
    CHECK(chosen.measuring.cancelled());
    return std::optional{test::sample()};
  });
  CHECK(what.code == 0);
  CHECK(std::signal(SIGTERM, SIG_DFL) == SIG_IGN);
  CHECK(std::signal(SIGINT, SIG_DFL) == static_cast<void (*)(int)>(own));
}

TEST_CASE("the first interrupt ends the comparison, not the process") {
  auto const what = run({}, [](cli::options const& chosen) {
    auto const& measuring = chosen.measuring;
    CHECK(!measuring.cancelled());
    std::raise(SIGINT);
    CHECK(measuring.cancelled());
    return std::optional{test::sample()};
  });
  CHECK(what.code == 0);
  CHECK(!run({}).chosen.measuring.cancelled());
}

namespace {

/// `steps` dependent multiply-adds, which no compiler shortens.
template <class T>
auto chain(long long steps) {
  cli::require_between("--n", steps, 1LL, 1'000'000LL);
  return [steps] {
    T volatile hidden = T{3};
    T x = 1;
    for (long long i = 0; i < steps; ++i) { x = x * hidden + 1; }
    return x;
  };
}

/// A sweep over sizes and types, the second variant with ten times the work.
outcome swept(std::vector<std::string> const& words) {
  outcome result;
  static_cast<test::outcome&>(result) = test::outcome_of(words, [](int argc, auto argv,
                                                                   std::ostream& out,
                                                                   std::ostream& err) {
    return cli::detail::experiment_of(
               parameter{"n", {100, 200, 400}}, parameter{"type", types<float, unsigned>}, "once",
               []<class T>(point const& at, std::type_identity<T>) { return chain<T>(at["n"]); },
               "tenfold",
               []<class T>(point const& at, std::type_identity<T>) {
                 return chain<T>(10 * at["n"]);
               })
        .run(argc, argv, "What do types cost?", out, err);
  });
  return result;
}

/// An experiment with one parameter that has this name and these values.
outcome with_parameter(std::string const& name, std::vector<long long> const& values) {
  outcome result;
  static_cast<test::outcome&>(result) =
      test::outcome_of({}, [&](int argc, auto argv, std::ostream& out, std::ostream& err) {
        auto const make = [](point const&) { return chain<float>(1000); };
        return cli::detail::experiment_of(parameter<>{name, values}, "a", make, "b", make)
            .run(argc, argv, "A question?", out, err);
      });
  return result;
}

}  // namespace

TEST_CASE("an experiment of one's own has its parameters as options, with their values") {
  auto const what = swept({"--help"});
  CHECK(what.code == cli::ok);
  CHECK_THAT(what.out, contains("What do types cost?") && contains("100,200,400") &&
                           contains("float,uint32") && contains("--fail-if"));
  CHECK(swept({"--list", "--n", "7", "--type", "uint32"}).out ==
        "n=7 type=uint32: once\nn=7 type=uint32: tenfold\n");
}

TEST_CASE("axes are written as nvbench has them too") {
  auto const listed = [](std::vector<std::string> words) {
    words.insert(words.end(), {"-l", "--type", "float"});
    auto const lines = swept(words).out;
    std::string numbers;  // of "n=8 type=float: once"
    for (auto at = lines.find("n="); at != lines.npos; at = lines.find("\nn=", at)) {
      at = lines.find('=', at) + 1;
      auto const end = lines.find(' ', at);
      if (lines.substr(end).starts_with(" type=float: once\n")) {
        numbers += lines.substr(at, end - at) + " ";
      }
    }
    return numbers;
  };
  CHECK(listed({"-a", "n=12345"}) == "12345 ");
  CHECK(listed({"--axis", "n = [1, 2,3]"}) == "1 2 3 ");
  CHECK(listed({"-a", "n=[2:10:2]"}) == "2 4 6 8 10 ");
  CHECK(listed({"-a", "n=[2:9:3]"}) == "2 5 8 ");
  CHECK(listed({"-a", "n[pow2]=[2:10:4]"}) == "4 64 1024 ");
  CHECK(listed({"-a", "n[pow2]=8"}) == "256 ");
  CHECK(listed({"--n", "5:7"}) == "5 6 7 ");
  CHECK(listed({"--n", "[5,7]"}) == "5 7 ");
  CHECK(listed({"--n", "9223372036854775806:9223372036854775807"}) ==
        "9223372036854775806 9223372036854775807 ");
  CHECK(swept({"-l", "-a", "type=[U32,F32]", "-a", "n=1"}).out ==
        "n=1 type=uint32: once\nn=1 type=uint32: tenfold\n"
        "n=1 type=float: once\nn=1 type=float: tenfold\n");
}

TEST_CASE("a parameter may have texts, and a function may skip a cell") {
  auto const run = [](std::vector<std::string> words) {
    words.emplace_back("--quick");
    outcome result;
    static_cast<test::outcome&>(result) =
        test::outcome_of(words, [](int argc, auto argv, std::ostream& out, std::ostream& err) {
          auto const make = [](long long factor) {
            return [factor](point const& at) {
              if (at.text("order") == "none") { throw skip("there is nothing to sort"); }
              return chain<float>(factor * (at.text("order") == "long" ? 1000 : 100));
            };
          };
          return cli::detail::experiment_of(parameter{"order", {"short", "none", "long"}}, "once",
                                            make(1), "tenfold", make(10))
              .run(argc, argv, "A question?", out, err);
        });
    return result;
  };
  folder const here;
  auto const what = run({"--json", here / "r.json"});
  INFO(what.err);
  CHECK(what.code == cli::ok);
  auto const back = report::parse_json(content(here / "r.json"));
  REQUIRE(back.variants.size() == 4);
  CHECK(back.variants[3].label == "order=long: tenfold");
  CHECK_THAT(back.notes.front(), contains("2 cells of the sweep share alpha"));
  CHECK(back.notes.back() == "skipped order=none: there is nothing to sort");
  CHECK(run({"-l", "--order", "my own"}).out == "order=my own: once\norder=my own: tenfold\n");
  refused(run({"--order", "none"}), cli::bad_input,
          {"no cell is left: skipped order=none: there is nothing to sort"});
}

TEST_CASE("values that a parameter cannot have are one line, exit code 2, and no run") {
  struct bad {
    std::vector<std::string> words, says;
  };
  for (auto const& [words, says] : std::vector<bad>{
           {{"--n", "4x"}, {"--n: '4x' is not a whole number", "4096,8192"}},
           {{"--n", "99999999999999999999"}, {"'99999999999999999999' is not a whole number"}},
           {{"--n", "5,,6"}, {"--n: '5,,6' has an empty value", "100,200,400"}},
           {{"--n", ""}, {"--n: '' has an empty value"}},
           {{"--n", "5,7,05"}, {"--n: '05' is named twice"}},
           {{"--n", "9:5"}, {"--n: '9:5' ends before it begins"}},
           {{"--n", "5:9:0"}, {"'5:9:0' has a stride below 1", "FIRST:LAST:STRIDE"}},
           {{"--n", "1:2:3:4"}, {"'1:2:3:4' has more than three parts"}},
           {{"--n", "-9000000000000000000:9000000000000000000"}, {"has more than 10000 values"}},
           {{"-a", "m=3"}, {"--axis: unknown parameter 'm'", "n, type"}},
           {{"-a", "n"}, {"--axis: 'n': write n=100,200,400"}},
           {{"-a", "type[pow2]=3"}, {"--axis: 'type[pow2]=3': write type=float,uint32"}},
           {{"-a", "n[pow2]=63"}, {"--n: '63' is no exponent", "2^62"}},
           {{"-a", "type=F64"}, {"--type: unknown type 'double'"}},
           {{"--n", "0"}, {"--n 0: it must be between 1 and 1000000"}},
           {{"--n", "5", "6"}, {"6", "--help"}},
           {{"--type", "double"}, {"--type: unknown type 'double'", "float, uint32"}},
           {{"--type", "float,float"}, {"--type: 'float' is named twice"}},
           {{"--device", "1"}, {"--device", "runs on the host", "leave the option out"}},
           {{"--clock", "gpu"}, {"host calls have no clock but wall"}},
           {{"--epochs", "4"}, {"at most 4 epochs can prove nothing", "epochs or more"}}}) {
    refused(swept(words), cli::bad_input, says);
  }
  refused(with_parameter("n", {}), cli::bad_input, {"--n: the program gives it no value"});
  refused(with_parameter("n", {1, 1}), cli::bad_input, {"--n: '1' is named twice"});
  refused(with_parameter("seed", {1}), cli::bad_input,
          {"parameter \"seed\": there is an option --seed", "another name"});
  refused(with_parameter("axis", {1}), cli::bad_input,
          {"parameter \"axis\": there is an option --axis", "another name"});
  refused(with_parameter("a b", {1}), cli::bad_input, {"parameter \"a b\": a name has"});
}

TEST_CASE("a sweep has a verdict in each cell, and a gate over all of them") {
  folder const here;
  auto const what =
      swept({"--quick", "--seed", "5", "--fail-if", "slower", "--type", "uint32", "--json",
             here / "r.json", "--csv", here / "r.csv", "--html", here / "r.html"});
  INFO(what.out << what.err);
  CHECK(what.code == cli::gate_holds);
  CHECK(here.entries() == 5);
  auto const back = report::parse_json(content(here / "r.json"));
  REQUIRE(back.findings.size() == 3);
  CHECK(back.alpha == 0.05);
  CHECK(back.changed == "callable");
  CHECK(back.seed == 5);
  CHECK(back.variants[5].label == "n=400 type=uint32: tenfold");
  CHECK(back.variants[5].axes == std::vector<std::pair<std::string, std::string>>{
                                     {"n", "400"}, {"type", "uint32"}, {"callable", "tenfold"}});
  CHECK_THAT(content(here / "r.html"), contains("Time over n"));
}

TEST_CASE("with --require-checks nothing is timed unless results are checked, exit code 5") {
  folder const here;
  auto const what = swept({"--quick", "--require-checks", "--json", here / "r.json"});
  INFO(what.out << what.err);
  CHECK(what.code == cli::gate_unproven);
  CHECK_THAT(what.out, contains("results: not checked") && contains("UNPROVEN"));
  CHECK_THAT(what.err, contains("error: ") && contains("require_checks"));
  CHECK(report::parse_json(content(here / "r.json")).checks_required);
}

TEST_CASE("one callable is compared between the values of its parameter") {
  auto const what =
      test::outcome_of({"--quick"}, [](int argc, auto argv, std::ostream& out, std::ostream& err) {
        return cli::detail::experiment_of(parameter{"n", {100, 1000}}, "chain",
                                          [](point const& at) { return chain<float>(at["n"]); })
            .run(argc, argv, "A question?", out, err);
      });
  INFO(what.err);
  CHECK(what.code == cli::ok);
  CHECK_THAT(what.out, contains("What changed: n\n") && contains("n=1000"));
}

TEST_CASE("without parameters, an experiment compares its callables as they are") {
  auto const what =
      test::outcome_of({"--quick"}, [](int argc, auto argv, std::ostream& out, std::ostream& err) {
        return cli::detail::experiment_of("a", chain<float>(100), "b", chain<float>(1000))
            .run(argc, argv, "A question?", out, err);
      });
  CHECK(what.code == cli::ok);
  CHECK_THAT(what.out, (contains("b is slower than a") || contains(" times as long as a")));
}

TEST_CASE("a file beyond ulimit -f is a failure, and the report is printed") {
  folder const here;
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  auto few = before;
  few.rlim_cur = 512;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &few) == 0);
  auto const what = test::outcome_of(
      {"--quick", "--json", here / "r.json"}, [](int argc, auto argv, auto& out, auto& err) {
        return cli::detail::experiment_of("a", chain<float>(100), "b", chain<float>(1000))
            .run(argc, argv, "A question?", out, err);
      });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(what.code == cli::failed);
  CHECK_THAT(what.out, (contains("b is slower than a") || contains(" times as long as a")));
  CHECK_THAT(what.err, contains("r.json: File too large"));
}

TEST_CASE("Ctrl-C and kill in a sweep keep the cells that are finished") {
  int const signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
  folder const here;
  std::vector<std::string> const words{"--quick", "--json", here / "r.json"};
  bool raised = false;
  auto const make = [&](point const& at) {
    return [work = chain<float>(1000), raises = at["n"] == 2, signal, &raised] {
      if (raises && !std::exchange(raised, true)) {
        for (int i = 0; i < 2; ++i) { std::raise(signal); }  // as `timeout` does
      }
      return work();
    };
  };
  auto const what =
      test::outcome_of(words, [&](int argc, auto argv, std::ostream& out, std::ostream& err) {
        return cli::detail::experiment_of(parameter{"n", {1, 2, 3}}, "a", make, "b", make)
            .run(argc, argv, "A question?", out, err);
      });
  CHECK(what.code == cli::failed);
  CHECK(what.err == "error: n=2: cancelled in epoch 1\n");
  auto const back = report::parse_json(content(here / "r.json"));
  REQUIRE(back.findings.size() == 2);
  CHECK(back.findings[0].epoch_effects.size() >= 8);
  CHECK(back.findings[1].outcome == measure::verdict::unproven);
  CHECK_THAT(back.notes.front(), contains("1 of 3 cells were not measured"));
}
