// SPDX-License-Identifier: Apache-2.0
/// @file
/// `read_nvbench`: the states in a JSON file that a benchmark built with nvbench wrote.
#pragma once

#include <assay/core/concat.hpp>

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::examples {

/// What one run of a program says about one state: a benchmark and a value of each of its axes.
struct nvbench_state {
  std::string name;                    ///< `copy BlockSize=64 T=F32`
  std::string key;                     ///< the same with the device, however many there are
  std::string selected;                ///< the same, as the run of a selection has it: rounded
  std::vector<std::string> selection;  ///< the arguments that run this state alone
  std::string skipped;                 ///< why it did not run; empty where it did
  double gpu_seconds = 0;              ///< the mean of isolated launches; 0: not timed
  double cpu_seconds = 0;              ///< the same by the clock of the host
  std::vector<double> samples;         ///< seconds of each launch, where the program wrote them
  std::string device;
};

namespace nvbench_detail {

using json = nlohmann::json;

/// The text of a value as nvbench writes it: numbers of axes are numbers, those of states text.
inline std::string text_of(json const& of) {
  return of.is_string() ? of.get<std::string>() : of.dump();
}

/// The argument that selects the value of one axis.
inline std::string selected(json const& axes, std::string const& name, std::string const& value) {
  for (auto const& axis : axes) {
    if (axis.at("name") != name) { continue; }
    for (auto const& each : axis.at("values")) {
      auto const input = each.at("input_string").get<std::string>();
      bool const is_it =
          input == value || (each.contains("value") && text_of(each["value"]) == value);
      if (!is_it) { continue; }
      return concat({name, axis.value("flags", "") == "pow2" ? "[pow2]=" : "=", input});
    }
  }
  return concat({name, "=", value});
}

/// The time in a summary; 0 where the state has none of that tag, or one that is no time.
inline double number(json const& state, std::string_view tag) {
  for (auto const& each : state.at("summaries")) {
    if (each.at("tag") != tag) { continue; }
    for (auto const& part : each.at("data")) {
      if (part.at("name") != "value") { continue; }
      auto const text = text_of(part.at("value"));
      double value = 0;
      (void)std::from_chars(text.data(), text.data() + text.size(), value);
      return value > 0 && std::isfinite(value) ? value : 0;
    }
  }
  return 0;
}

/// The samples beside the JSON: binary 32-bit floating-point numbers. Empty where there are none.
inline std::vector<double> samples(json const& state, std::filesystem::path const& folder) {
  for (auto const& each : state.at("summaries")) {
    auto const tag = each.at("tag").get<std::string>();
    if (!tag.starts_with("nv/json/bin:nv/") || !tag.ends_with("/sample_times")) { continue; }
    for (auto const& part : each.at("data")) {
      if (part.at("name") != "filename") { continue; }
      auto const name = std::filesystem::path{text_of(part.at("value"))};
      auto const beside = folder / name;  // an absolute name stays as it is
      std::ifstream file{std::filesystem::exists(beside) ? beside : name, std::ios::binary};
      std::vector<double> all;
      for (float one = 0; file.read(reinterpret_cast<char*>(&one), sizeof one);) {
        all.push_back(one);
      }
      return all;
    }
  }
  return {};
}

inline nvbench_state read_state(json const& benchmark, json const& state, bool several_devices,
                                std::filesystem::path const& folder) {
  nvbench_state read;
  read.name = benchmark.at("name").get<std::string>();
  read.selection = {"--benchmark", read.name};
  auto const device = text_of(state.at("device"));
  read.key = read.selected = concat({read.name, " device=", device});
  if (several_devices) {
    read.name += concat({" device=", device});
    read.selection.insert(read.selection.end(), {"--devices", device});
  }
  for (auto const& axis : state.at("axis_values")) {
    auto const name = axis.at("name").get<std::string>();
    auto const value = text_of(axis.contains("value") ? axis["value"] : axis.at("input_string"));
    for (auto* const each : {&read.name, &read.key}) { *each += concat({" ", name, "=", value}); }
    read.selection.insert(read.selection.end(),
                          {"--axis", selected(benchmark.at("axes"), name, value)});
    read.selected += " " + read.selection.back();
  }
  if (state.value("is_skipped", false)) {
    read.skipped = state.value("skip_reason", "no reason given");
    return read;
  }
  read.gpu_seconds = number(state, "nv/cold/time/gpu/mean");
  read.cpu_seconds =
      number(state, read.gpu_seconds > 0 ? "nv/cold/time/cpu/mean" : "nv/cpu_only/time/cpu/mean");
  read.samples = samples(state, folder);
  if (read.gpu_seconds <= 0 && read.cpu_seconds <= 0) { read.skipped = "no isolated launch timed"; }
  return read;
}

}  // namespace nvbench_detail

/// The states in a JSON file of nvbench. Throws `std::invalid_argument` where it is none, or one of
/// a version that is not known.
inline std::vector<nvbench_state> read_nvbench(std::filesystem::path const& file) {
  using nvbench_detail::json;
  try {
    std::ifstream text{file};
    if (!text) { throw std::invalid_argument("it wrote no JSON"); }
    auto const all = json::parse(text);
    if (!all.contains("benchmarks")) {
      throw std::invalid_argument("its JSON has no 'benchmarks'");
    }
    json const none = json::object();
    auto const& version = all.value("meta", none).value("version", none).value("json", none);
    if (version.value("major", 0) != 1) {
      throw std::invalid_argument(concat({"its JSON has version ", version.value("string", "0"),
                                          " of nvbench's format, and 1 is known"}));
    }
    std::vector<nvbench_state> states;
    for (auto const& each : all["benchmarks"]) {
      bool const several = each.at("devices").size() > 1;
      for (auto const& state : each.at("states")) {
        states.push_back(nvbench_detail::read_state(each, state, several, file.parent_path()));
        for (auto const& device : all.value("devices", json::array())) {
          if (device.at("id") == state.at("device")) { states.back().device = device.at("name"); }
        }
      }
    }
    return states;
  } catch (json::exception const& cause) {
    throw std::invalid_argument(concat({"its JSON is not that of nvbench: ", cause.what()}));
  }
}

}  // namespace assay::examples
