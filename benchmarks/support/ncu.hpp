// SPDX-License-Identifier: Apache-2.0
/// @file
/// Nsight Compute's command line as a peer: it runs a program and its table is read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::benchmark {

/// The cells of a line of CSV: quoted or not, quotes doubled inside.
inline std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  auto quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else if (line[i] != '\n' && line[i] != '\r') {
      cells.back() += line[i];
    }
  }
  return cells;
}

/// One launch as ncu saw it: its kernel's name, and values by metric in base units.
struct ncu_launch {
  std::string kernel;
  std::map<std::string, double, std::less<>> values;
};

/// The launches in what `ncu --csv --print-units base` printed, in their order; its other lines are
/// passed over. One line for each launch and metric.
inline std::vector<ncu_launch> read_ncu(std::string_view text) {
  std::map<long, ncu_launch> launches;
  std::map<std::string, std::size_t, std::less<>> columns;
  for (std::size_t at = 0; at < text.size();) {
    auto const end = std::min(text.find('\n', at), text.size());
    auto const line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with('"')) { continue; }
    auto const cells = csv_cells(line);
    if (cells.front() == "ID") {
      for (std::size_t i = 0; i < cells.size(); ++i) { columns[cells[i]] = i; }
      continue;
    }
    auto const cell = [&](std::string_view column) -> std::string {
      auto const found = columns.find(column);
      return found == columns.end() || found->second >= cells.size() ? "" : cells[found->second];
    };
    auto number = cell("Metric Value");
    std::erase(number, ',');  // separates thousands
    auto& launch = launches[std::strtol(cell("ID").c_str(), nullptr, 10)];
    launch.kernel = cell("Kernel Name");
    launch.values[cell("Metric Name")] = std::strtod(number.c_str(), nullptr);
  }
  std::vector<ncu_launch> result;
  for (auto& [id, launch] : launches) { result.push_back(std::move(launch)); }
  return result;
}

/// What a command prints, standard error included, and whether it ended with 0.
inline bool output_of(std::string const& command, std::string& text) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{
      ::popen(("{ " + command + "; } 2>&1").c_str(), "r"), ::pclose};
  if (!pipe) { return false; }
  std::array<char, 4096> part{};
  while (auto const got = std::fread(part.data(), 1, part.size(), pipe.get())) {
    text.append(part.data(), got);
  }
  return ::pclose(pipe.release()) == 0;
}

}  // namespace assay::benchmark
