// SPDX-License-Identifier: Apache-2.0
/// @file
/// The description of the host and of this run, which needs no GPU.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/core/place.hpp>
#include <assay/machine/environment.hpp>
#include <assay/machine/file_lines.hpp>

#include <array>
#include <chrono>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

namespace assay::machine {

/// The processor's name from Linux; empty where Linux gives none (`model name` is absent on Arm).
inline std::string host_cpu_name(std::string const& cpuinfo_path = "/proc/cpuinfo") {
  for (auto const& line : file_lines(cpuinfo_path)) {
    if (!line.starts_with("model name")) { continue; }
    auto const colon = line.find(':');
    auto const begin = line.find_first_not_of(" \t", colon + 1);
    return colon == std::string::npos || begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

/// The host compiler of the program that calls this.
inline std::string compiler_name() {
  std::string_view const version = __VERSION__;
  // Clang names itself in its version, GCC does not.
  auto const names_itself = version.find("lang") != std::string_view::npos;
  return (names_itself ? "" : "GCC ") + std::string{version};
}

/// A moment as UTC in ISO 8601, to the second: `2026-01-31T23:59:59Z`.
inline std::string utc_time(std::chrono::system_clock::time_point when) {
  auto const seconds = std::chrono::system_clock::to_time_t(when);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  auto const size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

/// A command as a POSIX shell would read it again: words with special characters are quoted.
inline std::string command_line(int argc, char const* const* argv) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  std::string result;
  for (int i = 0; i < argc; ++i) {
    std::string_view const word = argv[i];
    if (i != 0) { result += ' '; }
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) {
      result += word;
      continue;
    }
    result += '\'';
    for (char const each : word) { result += each == '\'' ? "'\\''" : std::string(1, each); }
    result += '\'';
  }
  return result;
}

/// Host, compiler and start time, with the commit and the command line that the program knows.
inline environment host_environment(std::string commit, std::string command_line) {
  environment where;
  where.host_cpu = host_cpu_name();
  where.host_threads = usable_cores();
  where.compiler = compiler_name();
  where.commit = std::move(commit);
  where.command_line = std::move(command_line);
  where.started_at = utc_time(std::chrono::system_clock::now());
  return where;
}

/// Fills the unknown members of `to` from `from`, and adds the throttle reasons of `from`.
inline void fill_unknown(environment& to, environment const& from) {
  for (auto const text : {&environment::device, &environment::driver, &environment::toolkit,
                          &environment::host_cpu, &environment::compiler, &environment::commit,
                          &environment::command_line, &environment::started_at}) {
    if ((to.*text).empty()) { to.*text = from.*text; }
  }
  for (auto const number : {&environment::sm_clock_mhz, &environment::memory_clock_mhz,
                            &environment::power_watts, &environment::temperature_celsius}) {
    if (to.*number != to.*number) { to.*number = from.*number; }  // only NaN differs from itself
  }
  if (to.host_threads == 0) { to.host_threads = from.host_threads; }
  for (auto const& reason : from.throttle_reasons) { add_distinct(to.throttle_reasons, reason); }
}

}  // namespace assay::machine
