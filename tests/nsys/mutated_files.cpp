// SPDX-License-Identifier: Apache-2.0
// assay-uses: sqlite
// assay-test-flags: -O1
// assay-test-timeout: 1800

#include "catch.hpp"
#include "trace/files.hpp"
#include "trace/golden.hpp"

#include <assay/nsys/reports.hpp>
#include <assay/nsys/sqlite.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <string_view>

using namespace assay;
using namespace assay::trace;
using assay::test::folder;
namespace golden = assay::test::golden;

namespace {

/// Breaks bytes as accidents and enemies do, always the same way for a seed.
class mutator {
 public:
  explicit mutator(std::uint64_t seed) : random_(seed) {}

  /// Where in pages of `page` bytes their headers are, damage goes more often than elsewhere.
  std::string operator()(std::string text, std::size_t page = 0) {
    for (auto changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
      auto at = below(text.size());
      if (page != 0 && below(2) == 0) {
        at = at / page * page + below(std::min<std::size_t>(page, 120));
      }
      at = std::min(at, text.size() - 1);
      auto const length = std::min(1 + below(below(3) == 0 ? 200 : 4), text.size() - at);
      switch (below(7)) {
        case 0:
          text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << below(8)));
          break;
        case 1:
          text[at] = static_cast<char>(below(256));
          break;
        case 2:
          text.replace(at, length, std::string(length, interesting()));
          break;
        case 3:
          text.erase(at, length);
          break;
        case 4:
          text.insert(at, text.substr(below(text.size()), length));
          break;
        case 5:
          text.replace(at, length, text.substr(below(text.size()), length));
          break;
        default:
          if (below(8) == 0) {
            text.resize(at);
          } else {
            text.replace(at, length, word());
          }
      }
    }
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  char interesting() { return std::array{'\0', '\x01', '\x7f', '\x80', '\xff'}[below(5)]; }
  std::string word() {
    constexpr std::array<std::string_view, 16> words{"-1",
                                                     "1e999",
                                                     "99999999999999999999",
                                                     "null",
                                                     "\"",
                                                     "[",
                                                     "]",
                                                     "{",
                                                     "}",
                                                     ",",
                                                     "\\u0000",
                                                     "\\ud800",
                                                     "18446744073709551615",
                                                     "-9223372036854775808",
                                                     "true",
                                                     "\"assay\":"};
    return std::string{words[below(words.size())]};
  }

  std::mt19937_64 random_;
};

struct outcome {
  std::uint64_t read = 0;
  std::uint64_t refused = 0;
  double slowest_seconds = 0;
};

/// Reads `count` mutants of a file; each gives a trace or a `read_error` with the file's name.
template <class Read>
outcome feed(std::string const& good, std::uint64_t count, std::uint64_t seed, std::size_t page,
             std::filesystem::path const& file, Read const& read) {
  mutator mutate{seed};
  outcome seen;
  for (std::uint64_t i = 0; i < count; ++i) {
    // A new file each time: to overwrite one makes some file systems wait for the disk.
    std::filesystem::remove(file);
    test::put(file, mutate(good, page));
    auto const start = std::chrono::steady_clock::now();
    try {
      auto const trace = read(file);
      // Whatever is read can be worked with: names are there, spans have lengths that add up, and
      // every report can be made.
      for (auto const& each : reports()) { (void)each.make(trace); }
      for (auto const& each : own_reports()) { (void)each.make(trace); }
      std::int64_t sum = 0;
      for (auto const& run : trace.kernels) {
        sum += run.when.length() / 2;
        (void)trace.strings[run.name];
        (void)trace.strings[run.short_name];
      }
      for (auto const& range : trace.ranges) { (void)trace.strings[range.domain]; }
      ++seen.read;
    } catch (read_error const& error) {
      ++seen.refused;
      if (std::string_view{error.what()}.find(file.string()) == std::string_view::npos) {
        FAIL("an error without the file's name: " << error.what() << ", mutant " << i);
      }
    } catch (std::exception const& error) { FAIL("mutant " << i << " threw " << error.what()); }
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
    seen.slowest_seconds = std::max(seen.slowest_seconds, took.count());
  }
  return seen;
}

void tell(std::string_view what, std::uint64_t seed, outcome const& seen) {
  std::cout << what << ", seed " << seed << ": " << seen.read << " read, " << seen.refused
            << " refused, the slowest in " << seen.slowest_seconds << " s\n";
  CHECK(seen.read > 0);
  CHECK(seen.refused > 0);
  if (!test::small()) { CHECK(seen.slowest_seconds < 5); }
}

std::uint64_t share(std::uint64_t count) { return test::small() ? count / 100 : count; }

}  // namespace

TEST_CASE("broken SQLite files are read or refused, and never more") {
  folder const here;
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  write_nsys(golden::random_model(1, 12), here / "good");
  auto const good = test::content(here / "good");
  tell("SQLite", seed, feed(good, share(20'000), seed, 4096, here / "bad", [](auto const& file) {
         return read_nsys(file);
       }));
}
