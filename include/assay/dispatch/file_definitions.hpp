// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to file.hpp: the lines of the file, and what `load` refuses.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/dispatch/file.hpp>
#include <assay/machine/host_environment.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::dispatch {

namespace detail {

inline constexpr std::string_view file_kind = "assay.dispatch.costs";
inline constexpr int file_version = 7;
/// The most entries of a list that a file can have.
inline constexpr std::size_t most_entries = 1000;

/// FNV-1a of 64 bits: it finds accidents, and no intent.
inline std::string checksum(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (char const each : text) {
    hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001B3U;
  }
  return std::to_string(hash);
}

/// Writes lines of a keyword and its fields.
class line_writer {
 public:
  std::string text;

  template <class... Fields>
  void line(std::string_view keyword, Fields const&... fields) {
    text += keyword;
    ((text += ' ', add(fields)), ...);
    text += '\n';
  }
  template <class T>
  void count(std::string_view keyword, std::vector<T> const& list) {
    line(keyword, list.size());
  }

 private:
  template <class F>
  void add(F const& field) {
    if constexpr (std::is_same_v<F, path>) {
      text += field.describe();
    } else if constexpr (std::is_convertible_v<F const&, std::string_view>) {
      for (char const each : std::string_view{field}) { text += each == '\n' ? ' ' : each; }
    } else if constexpr (std::is_enum_v<F>) {
      text += std::to_string(static_cast<int>(field));
    } else {
      std::array<char, 32> digits{};  // the fewest digits that read back as this number
      auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), field).ptr;
      text.append(digits.data(), end);
    }
  }
};

/// Reads such lines in order; throws `read_error` with the number of the line. A text takes the
/// rest of its line. Numbers are finite and at least 0.
class line_reader {
 public:
  line_reader(std::string path, std::string_view text) : path_(std::move(path)), text_(text) {}

  template <class... Fields>
  void line(std::string_view keyword, Fields&... fields) {
    ++number_;
    auto const end = std::min(text_.find('\n'), text_.size());
    fields_ = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    if (!fields_.starts_with(keyword)) { fail(concat({"`", keyword, "` is expected"})); }
    fields_.remove_prefix(keyword.size());
    ((fields_.remove_prefix(fields_.starts_with(' ') ? 1 : 0), read(fields)), ...);
  }
  template <class T>
  void count(std::string_view keyword, std::vector<T>& list) {
    std::size_t size = 0;
    line(keyword, size);
    if (size > most_entries) {
      fail(concat({"there are more than ", std::to_string(most_entries), " ", keyword}));
    }
    list.resize(size);
  }

 private:
  [[noreturn]] void fail(std::string const& what) const {
    throw read_error(path_,
                     concat({"line ", std::to_string(number_), ": ", what, "; calibrate again"}));
  }
  void read(std::string& field) { field = std::exchange(fields_, {}); }
  void read(path& field) {
    auto const found = parse_path(fields_);
    if (!found) { fail(concat({"'", fields_, "' is no path such as host{4}"})); }
    field = *found;
  }
  void read(memory_type& field) {
    int value = 0;
    read(value);
    if (value > static_cast<int>(memory_type::device)) {
      fail(std::to_string(value) + " has no meaning here");
    }
    field = static_cast<memory_type>(value);
  }
  template <class N>
  void read(N& field) {
    auto const* const begin = fields_.data();
    auto const [end, failed] = std::from_chars(begin, begin + fields_.size(), field);
    auto const value = static_cast<double>(field);
    if (failed != std::errc{} || !(value >= 0 && std::isfinite(value))) {
      fail(concat({"a number of at least 0 is expected, not '", fields_.substr(0, 40), "'"}));
    }
    fields_.remove_prefix(static_cast<std::size_t>(end - begin));
  }

  std::string path_;
  std::string_view text_;
  std::string_view fields_;
  int number_ = 1;  // the kind and the version are on the first line
};

/// All lines between the first and the checksum, for the writer and for the reader.
template <class Lines, class Measurements>
void exchange_lines(Lines& io, Measurements& of) {
  io.line("task", of.task);
  io.line("cpu", of.cpu);
  io.line("cores", of.cores);
  io.line("device", of.device);
  io.line("driver", of.driver);
  io.line("compiler", of.compiler);
  io.line("library", of.library);
  io.line("started_at", of.started_at);
  io.line("seed", of.seed);
  io.count("links", of.links);
  for (auto& each : of.links) {
    io.line("link", each.memory, each.latency_seconds, each.seconds_per_byte_in,
            each.seconds_per_byte_back);
  }
  io.count("paths", of.paths);
  for (auto& each : of.paths) {
    io.line("path", each.where);
    io.line("wrong", each.wrong);
    io.count("knots", each.knots);
    for (auto& at : each.knots) { io.line("knot", at.size, at.seconds, at.spread); }
  }
}

/// Checks the kind, the version and the checksum; returns the lines between.
inline std::string_view checked_body(std::string const& path, std::string_view text) {
  auto const first = text.substr(0, text.find('\n'));
  auto const is_kind = first.starts_with(file_kind) && first.substr(file_kind.size(), 1) == " ";
  if (!is_kind) { throw read_error(path, "it was not written by dispatch::save"); }
  auto const version = first.substr(file_kind.size() + 1);
  if (version != std::to_string(file_version)) {
    throw read_error(path, concat({"its format is ", version.substr(0, 20),
                                   ", and this library reads ", std::to_string(file_version),
                                   ": calibrate again, or use the library that wrote it"}));
  }
  auto const last = text.rfind("\nchecksum ");
  if (last == std::string_view::npos || !text.ends_with('\n')) {
    throw read_error(path, "it is cut off, its last line is no checksum: calibrate again");
  }
  if (text.substr(last + 1) != concat({"checksum ", checksum(text.substr(0, last + 1)), "\n"})) {
    throw read_error(path, "its checksum is wrong, the file was changed: calibrate again");
  }
  return text.substr(first.size() + 1, last - first.size());
}

}  // namespace detail

ASSAY_INLINE std::string to_text(costs const& of) {
  detail::line_writer to;
  to.line(detail::file_kind, detail::file_version);
  detail::exchange_lines(to, of.measured());
  to.line("checksum", detail::checksum(to.text));
  return to.text;
}

ASSAY_INLINE void save(std::string const& path, costs const& of) {
  write_atomically(path, to_text(of));
}

ASSAY_INLINE costs load(std::string const& path, machine::environment const& here) {
  constexpr std::uintmax_t most_bytes = 16U << 20U;  // files of `save` have some kilobytes
  auto const bytes = require_readable(path);
  if (bytes > most_bytes) {
    throw read_error(
        path, concat({"it has ", std::to_string(bytes),
                      " bytes, and no file of dispatch::save is as large: name another file"}));
  }
  std::string text(bytes, '\0');
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file{
      std::fopen(path.c_str(), "rb"), [](std::FILE* old) { return std::fclose(old); }};
  text.resize(file ? std::fread(text.data(), 1, text.size(), file.get()) : 0);
  detail::line_reader in{path, detail::checked_body(path, text)};
  measurements from;
  detail::exchange_lines(in, from);

  auto const require = [&](std::string const& what, std::string const& then,
                           std::string const& now) {
    if (then == now) { return; }
    throw read_error(path, concat({"its ", what, " is '", then, "', and this machine's is '", now,
                                   "': calibrate on this machine"}));
  };
  require("CPU", from.cpu, here.host_cpu);
  require("number of cores", std::to_string(from.cores), std::to_string(here.host_threads));
  std::vector<std::string> warnings;
  if (!from.device.empty() && !here.device.empty()) {
    require("device", from.device, here.device);
    if (!from.driver.empty() && !here.driver.empty() && from.driver != here.driver) {
      warnings.push_back(
          concat({"its driver is '", from.driver, "', and this machine's is '", here.driver, "'"}));
    }
  }
  if (from.compiler != here.compiler) {
    warnings.push_back(
        concat({"measured with ", from.compiler, ", and this program is of ", here.compiler}));
  }
  try {
    costs read{std::move(from)};
    read.warnings = std::move(warnings);
    return read;
  } catch (std::invalid_argument const& error) {
    throw read_error(path, std::string{error.what()} + "; calibrate again");
  }
}

ASSAY_INLINE costs load(std::string const& path) {
  return load(path, machine::host_environment({}, {}));
}

}  // namespace assay::dispatch
