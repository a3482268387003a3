// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/machine/host_environment.hpp>
#include <assay/measure/experiment.hpp>
#include <assay/measure/options.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

using namespace assay;
using Catch::Matchers::Contains;

namespace {

/// The words that a shell reads from a command line, one per line.
std::string words_of(std::string const& command) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const pipe{
      ::popen(("printf '[%s]\\n' " + command).c_str(), "r"), ::pclose};
  std::string text;
  for (int each = 0; (each = std::fgetc(pipe.get())) != EOF;) { text += static_cast<char>(each); }
  return text;
}

}  // namespace

TEST_CASE("a shell reads the quoted command line back") {
  std::array const words{"./x", "--a=1", "two words", "it's", "", "$HOME", "a\"b", "*", "\\"};
  auto const line = machine::command_line(static_cast<int>(words.size()), words.data());
  CHECK(line.rfind("./x --a=1 'two words' ", 0) == 0);
  std::string expected;
  for (auto const* word : words) { expected += "[" + std::string{word} + "]\n"; }
  CHECK(words_of(line) == expected);
  CHECK(machine::command_line(0, nullptr).empty());
}

TEST_CASE("a time is printed as UTC in ISO 8601") {
  using std::chrono::system_clock;
  CHECK(machine::utc_time(system_clock::from_time_t(0)) == "1970-01-01T00:00:00Z");
  CHECK(machine::utc_time(system_clock::from_time_t(1769903999)) == "2026-01-31T23:59:59Z");
}

TEST_CASE("the processor's name is read from cpuinfo, and may be missing") {
  auto const path = std::filesystem::temp_directory_path() /
                    ("assay-cpuinfo." + std::to_string(test::fresh_seed()));
  std::ofstream{path} << "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: other\n";
  CHECK(machine::host_cpu_name(path) == "Some CPU @ 2 GHz");
  std::ofstream{path} << "processor\t: 0\nmodel name\t:\n";
  CHECK(machine::host_cpu_name(path).empty());
  std::ofstream{path} << "CPU part\t: 0xd0c\n";
  CHECK(machine::host_cpu_name(path).empty());
  std::filesystem::remove(path);
  CHECK(machine::host_cpu_name(path).empty());
}

TEST_CASE("the environment has this host and this run") {
  auto const where = machine::host_environment("abc", "./x");
  CHECK(where.commit == "abc");
  CHECK(where.command_line == "./x");
  CHECK(where.host_threads >= 1);
  CHECK(!where.compiler.empty());
  CHECK(where.started_at.size() == std::string{"2026-01-31T23:59:59Z"}.size());
  CHECK(where.device.empty());
  CHECK(std::isnan(where.power_watts));
}

TEST_CASE("fill_unknown keeps known members, fills unknown ones, and adds throttle reasons") {
  machine::environment to;
  to.device = "mine";
  to.power_watts = 100;
  to.throttle_reasons = {"a"};
  machine::environment from;
  from.device = "other";
  from.driver = "580";
  from.power_watts = 7;
  from.temperature_celsius = 50;
  from.host_threads = 16;
  from.throttle_reasons = {"a", "b"};
  machine::fill_unknown(to, from);
  CHECK(to.device == "mine");
  CHECK(to.driver == "580");
  CHECK(to.power_watts == 100);
  CHECK(to.temperature_celsius == 50);
  CHECK(to.host_threads == 16);
  CHECK(to.throttle_reasons == std::vector<std::string>{"a", "b"});
}

TEST_CASE("the hooks of a watch run at each epoch, before the caller's own") {
  std::vector<std::string> done;
  measure::environment_watch const place{
      [&] { done.emplace_back("settled"); }, [] { return std::vector<std::string>{"too hot"}; },
      [](measure::comparison&) {}, [] { return std::uint64_t{0x48}; }};
  measure::options chosen;
  auto plain = measure::watched(chosen, place);
  plain.at_epoch_begin({});
  CHECK(done == std::vector<std::string>{"settled"});
  CHECK(plain.at_epoch_end({}) == std::vector<std::string>{"too hot"});
  CHECK(plain.throttle_bits() == 0x48);

  chosen.at_epoch_begin = [&](measure::epoch const& now) {
    done.push_back("epoch " + std::to_string(now.number));
  };
  chosen.at_epoch_end = [](measure::epoch const& now) {
    return std::vector<std::string>{"at " + std::to_string(now.number)};
  };
  auto const both = measure::watched(chosen, place);
  both.at_epoch_begin({3, 33});
  CHECK(done == std::vector<std::string>{"settled", "settled", "epoch 3"});
  CHECK(both.at_epoch_end({3, 33}) == std::vector<std::string>{"too hot", "at 3"});

  auto other = place;  // several places
  other.throttle_bits = [] { return std::uint64_t{0x41}; };
  auto const two = measure::watched(both, other);
  two.at_epoch_begin({4, 44});
  CHECK(done ==
        std::vector<std::string>{"settled", "settled", "epoch 3", "settled", "settled", "epoch 4"});
  CHECK(two.at_epoch_end({4, 44}) == std::vector<std::string>{"too hot", "too hot", "at 4"});
  CHECK(two.throttle_bits() == 0x49);
}
