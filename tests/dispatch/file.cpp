// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -fsanitize=address,undefined -fno-sanitize-recover=all
#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "folder.hpp"

#include <assay/core/atomic_file.hpp>
#include <assay/dispatch/file.hpp>
#include <assay/stats/random_source.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace assay;
using dispatch::costs;
using test::contains;
using test::message_of;

namespace {

machine::environment the_machine() {
  machine::environment here;
  here.host_cpu = "a CPU";
  here.host_threads = 4;
  here.device = "a GPU";
  here.driver = "580.1";
  here.compiler = "GCC 12";
  return here;
}

costs all_kinds() {
  auto all = test::saxpy_measurements();
  all.paths.push_back(test::path_of(on::device{0}, [](double n) { return 1e-5 + 1e-11 * n; }));
  all.paths.push_back({.where = on::host{2}, .wrong = "at size 3:\nelement 1 differs"});
  all.links = {{memory_type::pageable, 1e-5, 1e-10, 1.0 / 3e10},
               {memory_type::page_locked, 2e-5, 5e-11, 4e-11}};
  all.device = "a GPU";
  all.driver = "580.1";
  all.library = "OpenBLAS 0.3.21";
  return costs{all};
}

/// The text with a checksum that fits, as an attacker or a bug would write it.
std::string with_checksum(std::string text) {
  text.resize(text.rfind("checksum "));
  return text + "checksum " + dispatch::detail::checksum(text) + '\n';
}

std::string replaced(std::string text, std::string const& what, std::string const& by) {
  auto const at = text.find(what);
  REQUIRE(at != std::string::npos);
  return with_checksum(text.replace(at, what.size(), by));
}

}  // namespace

TEST_CASE("costs read back as they were saved", "[dispatch]") {
  test::folder const here;
  auto const file = (here / "saxpy.costs").string();
  auto const saved = all_kinds();
  dispatch::save(file, saved);
  auto const read = dispatch::load(file, the_machine());
  CHECK(dispatch::to_text(read) == dispatch::to_text(saved));
  CHECK(read.warnings.empty());
  CHECK(read.measured().links == saved.measured().links);
  CHECK(read.measured().library == "OpenBLAS 0.3.21");
  REQUIRE(read.paths().size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(read.paths()[i].where == saved.paths()[i].where);
    CHECK(read.paths()[i].knots == saved.paths()[i].knots);
  }
  CHECK(read.paths()[3].wrong == "at size 3: element 1 differs");
  CHECK(here.entries() == 1);
}

TEST_CASE("a file of another machine is refused, and one of another compiler is told",
          "[dispatch]") {
  test::folder const here;
  auto const file = (here / "saxpy.costs").string();
  dispatch::save(file, all_kinds());
  auto other = the_machine();
  other.compiler = "GCC 13";
  auto const read = dispatch::load(file, other);
  REQUIRE(read.warnings.size() == 1);
  CHECK(read.warnings[0] == "measured with GCC 12, and this program is of GCC 13");
  other.device = "another GPU";
  CHECK(message_of([&] { dispatch::load(file, other); }) ==
        "cannot read " + file +
            ": its device is 'a GPU', and this machine's is 'another GPU': calibrate on this "
            "machine");
  other.device.clear();  // a program without a device reads the file, and its engine refuses it
  CHECK(dispatch::load(file, other).paths().size() == 4);
  other.host_threads = 8;
  CHECK(message_of([&] { dispatch::load(file, other); }) ==
        "cannot read " + file +
            ": its number of cores is '4', and this machine's is '8': calibrate on this machine");
  other.host_cpu = "another CPU";
  CHECK(message_of([&] { dispatch::load(file, other); }) ==
        "cannot read " + file +
            ": its CPU is 'a CPU', and this machine's is 'another CPU': calibrate on this machine");
}

TEST_CASE("another driver is told, where both are known", "[dispatch]") {
  test::folder const here;
  auto const file = (here / "saxpy.costs").string();
  dispatch::save(file, all_kinds());
  auto other = the_machine();
  other.driver = "590.2";
  CHECK(dispatch::load(file, other).warnings ==
        std::vector<std::string>{"its driver is '580.1', and this machine's is '590.2'"});
  other.driver.clear();
  CHECK(dispatch::load(file, other).warnings.empty());
}

TEST_CASE("each kind of damage has a line of its own", "[dispatch]") {
  test::folder const here;
  auto const file = (here / "saxpy.costs").string();
  auto const text = dispatch::to_text(all_kinds());
  auto const refusal = [&](std::string const& content) {
    write_atomically(file, content);
    auto const said = message_of([&] { dispatch::load(file, the_machine()); });
    CHECK(said.find('\n') == std::string::npos);
    CHECK(said.starts_with("cannot read " + file + ": "));
    return said;
  };
  write_atomically(file, "");
  std::filesystem::resize_file(file, std::uintmax_t{4} << 40U);  // 4 TiB, and no block on the disk
  CHECK_THAT(message_of([&] { dispatch::load(file, the_machine()); }),
             contains("it has 4398046511104 bytes"));
  CHECK_THAT(refusal(""), contains("not written by dispatch::save"));
  CHECK_THAT(refusal("size,seconds\n1,2\n"), contains("not written by dispatch::save"));
  CHECK_THAT(refusal("assay.dispatch.costs 1\n"),
             contains("its format is 1, and this library reads 7"));
  CHECK_THAT(refusal(text.substr(0, text.size() / 2)), contains("it is cut off"));
  CHECK_THAT(refusal(text.substr(0, text.size() - 1)), contains("it is cut off"));
  auto edited = text;
  edited[text.find("knot 4 ") + 5] = '5';
  CHECK_THAT(refusal(edited), contains("its checksum is wrong"));
  // What a checksum does not find, as another program wrote it.
  CHECK_THAT(refusal(replaced(text, "knot 4 ", "knot x ")),
             contains("line 19: a number of at least 0 is expected, not 'x "));
  CHECK_THAT(refusal(replaced(text, "knot 4 ", "knot 0.25 ")), contains("with rising sizes"));
  CHECK_THAT(refusal(replaced(text, "knot 4 ", "knot nan ")), contains("a number of at least 0"));
  CHECK_THAT(refusal(replaced(text, "path host{4}", "path host{0}")),
             contains("'host{0}' is no path"));
  CHECK_THAT(refusal(replaced(text, "path host{4}", "path host{1}")), contains("is there twice"));
  CHECK_THAT(refusal(replaced(text, "paths 4", "paths 4000")), contains("more than 1000 paths"));
  CHECK_THAT(refusal(replaced(text, "paths 4", "paths 5")), contains("`path` is expected"));
  CHECK_THAT(refusal(replaced(text, "link 1 2", "link 7 2")), contains("7 has no meaning"));
  CHECK_THAT(refusal(replaced(text, "cores 4", "cores -4")), contains("a number of at least 0"));
  CHECK_THAT(message_of([&] { dispatch::load((here / "none").string()); }),
             contains("No such file"));
  CHECK_THAT(message_of([&] { dispatch::load(here.path().string()); }),
             contains("not a regular file"));
}

TEST_CASE("10,000 mutated files are read or refused, under sanitizers", "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stats::random_source random{seed};
  test::folder const here;
  auto const file = (here / "saxpy.costs").string();
  auto const text = dispatch::to_text(all_kinds());
  int refused = 0, read = 0;
  for (int i = 0; i < 10'000; ++i) {
    auto mutated = text;
    for (auto left = 1 + random.below(4); left > 0 && !mutated.empty(); --left) {
      auto const at = static_cast<std::size_t>(random.below(mutated.size()));
      auto const length = static_cast<std::size_t>(random.below(20));
      switch (random.below(5)) {
        case 0:
          mutated[at] = static_cast<char>(random.next());
          break;
        case 1:
          mutated.erase(at, length);
          break;
        case 2:
          mutated.insert(at, mutated.substr(random.below(mutated.size()), length));
          break;
        case 3:
          mutated[at] = static_cast<char>("0123456789 \n-.e{}"[random.below(17)]);
          break;
        default:
          mutated.resize(at + 1);
          break;
      }
    }
    // Half of the files have a checksum that fits, so that the lines themselves are read.
    if (i % 2 == 0 && mutated.rfind("checksum ") != std::string::npos) {
      mutated = with_checksum(mutated);
    } else if (i % 2 == 0) {
      mutated = with_checksum(mutated + "\nchecksum ");
    }
    std::filesystem::remove(file);  // writing over a file would wait for the disk
    std::ofstream{file, std::ios::binary} << mutated;
    try {
      auto const found = dispatch::load(file, the_machine());
      ++read;
      auto const known = dispatch::facts_of_size(random.below(1 << 22));
      CHECK(found.best(known) < found.paths().size());
    } catch (read_error const& error) {
      ++refused;
      CHECK(std::string{error.what()}.find('\n') == std::string::npos);
    }
  }
  CHECK(refused + read == 10'000);
  CHECK(refused > 5'000);
  CHECK(read > 100);  // edited names and digits
}
