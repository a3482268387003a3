// SPDX-License-Identifier: Apache-2.0
// A program with the command line and the files of one that was built with nvbench, and without a
// GPU. What it does depends on its name: "slow" takes 5 % longer, "fewer" lacks a state, "skips"
// skips one, "reversed" writes its states from last to first, "null" writes null for a time,
// "future" a version that is not known, and "broken" no JSON. "strays" measures another state than
// was selected, "doubled" writes a state twice, "elsewhere" runs on another device, and "host"
// times nothing on a device.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

using json = nlohmann::ordered_json;

namespace {

using axis_values = std::vector<std::pair<std::string, std::string>>;

struct selection {
  std::string benchmark;
  axis_values axes;
};

json number(char const* tag, double value) {
  return {{"tag", tag},
          {"data", {{{"name", "value"}, {"type", "float64"}, {"value", std::to_string(value)}}}}};
}

/// The state of `copy` with 2^exponent elements, and its samples beside the file.
json state(std::string const& program, int exponent, std::filesystem::path const& file, int index) {
  auto const n = std::to_string(1 << exponent);
  json made{{"name", "Device=0 N=2^" + std::to_string(exponent)},
            {"device", program == "elsewhere" ? 1 : 0},
            {"axis_values", {{{"name", "N"}, {"type", "int64"}, {"value", n}}}}};
  if (program == "skips" && exponent == 5) {
    made.update({{"is_skipped", true}, {"skip_reason", "too small"}, {"summaries", nullptr}});
    return made;
  }
  double const seconds = exponent * (program == "slow" ? 1.05 : 1);
  auto const name = file.filename().string() + "-bin/" + std::to_string(index) + ".bin";
  std::filesystem::create_directories(file.string() + "-bin");
  std::vector<float> const samples(10, static_cast<float>(seconds));
  std::ofstream{file.parent_path() / name, std::ios::binary}.write(
      reinterpret_cast<char const*>(samples.data()), samples.size() * sizeof(float));
  made["summaries"] = {number("nv/cold/time/gpu/mean", seconds),
                       number("nv/cold/time/cpu/mean", seconds + 0.01),
                       {{"tag", "nv/json/bin:nv/cold/sample_times"},
                        {"data",
                         {{{"name", "filename"}, {"type", "string"}, {"value", name}},
                          {{"name", "size"}, {"type", "int64"}, {"value", "10"}}}}}};
  made["is_skipped"] = false;
  if (program == "host") {
    made["summaries"] = {number("nv/cpu_only/time/cpu/mean", seconds + 0.01)};
  }
  if (program == "null") { made["summaries"][0]["data"][0]["value"] = nullptr; }
  return made;
}

json benchmark(std::string const& program, selection const& of, std::filesystem::path const& file) {
  std::vector<int> exponents{4, 5};
  if (program == "fewer") { exponents = {4}; }
  if (program == "doubled") { exponents = {4, 5, 4}; }
  for (auto const& [name, value] : of.axes) { exponents = {std::stoi(value)}; }
  if (program == "strays" && !of.axes.empty()) { exponents = {6}; }
  json values;
  json states;
  for (int const each : exponents) {
    values.push_back({{"input_string", std::to_string(each)}, {"value", 1 << each}});
    states.push_back(state(program, each, file, static_cast<int>(states.size()) + 10 * each));
  }
  return {{"name", of.benchmark},
          {"devices", {0}},
          {"axes", {{{"name", "N"}, {"type", "int64"}, {"flags", "pow2"}, {"values", values}}}},
          {"states", states}};
}

}  // namespace

int main(int argc, char** argv) {
  auto const program = std::filesystem::path{argv[0]}.filename().string();
  std::string file;
  std::vector<selection> asked;
  axis_values for_all;  // those before any benchmark
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    if (word == "--help") {
      std::cout << "* `--min-samples <count>`\n* `--no-batch`\n";
      return 0;
    }
    std::string const value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--jsonbin") { file = value; }
    if (word == "--benchmark") { asked.push_back({value, for_all}); }
    if (word == "--axis") {
      auto const at = value.find('=');
      if (value.substr(0, at) != "N[pow2]") { return 3; }
      (asked.empty() ? for_all : asked.back().axes).emplace_back("N", value.substr(at + 1));
    }
  }
  std::ofstream{"runs", std::ios::app} << program << '\n';
  if (program == "broken") { return 0; }
  if (asked.empty()) { asked = {{"copy", for_all}}; }
  json all{{"meta",
            {{"version",
              {{"json",
                {{"major", program == "future" ? 2 : 1},
                 {"string", program == "future" ? "2.0" : "1.0"}}}}}}},
           {"devices", {{{"id", 0}, {"name", "no GPU"}}}}};
  for (auto const& each : asked) { all["benchmarks"].push_back(benchmark(program, each, file)); }
  if (program == "reversed") {
    std::ranges::reverse(all["benchmarks"]);
    for (auto& each : all["benchmarks"]) { std::ranges::reverse(each["states"]); }
  }
  std::ofstream{file} << all.dump();
  return 0;
}
