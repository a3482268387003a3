// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to guarded.hpp: the definitions of its functions.
#pragma once

#include <assay/cli/gate.hpp>
#include <assay/cli/guarded.hpp>
#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/report/escape.hpp>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::cli {

ASSAY_INLINE std::string one_line(std::exception const& error) {
  std::string text = error.what();
  try {
    std::rethrow_if_nested(error);
  } catch (std::exception const& cause) {
    auto const why = one_line(cause);
    if (text.find(why) == std::string::npos) { text += ": " + why; }
  } catch (...) { text += ": unknown cause"; }
  std::string line;
  for (char const each : text) {
    auto const blank = each == '\n' || each == '\r';
    if (!blank) { line += each; }
    if (blank && !line.empty() && line.back() != ' ') { line += ' '; }
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

namespace detail {

/// True if an exception, or any nested in it, says that an argument was refused.
inline bool is_bad_input(std::exception const& error) {
  if (dynamic_cast<std::invalid_argument const*>(&error) != nullptr) { return true; }
  try {
    std::rethrow_if_nested(error);
  } catch (std::exception const& cause) { return is_bad_input(cause); } catch (...) {
  }
  return false;
}

/// A refusal of the parser in words: the option, the value, and the fault of the value.
inline std::string explained(CLI::ParseError const& error) {
  std::string const text = error.what();
  constexpr std::string_view unreadable = "Could not convert: ", equals = " = ";
  auto const at = text.find(equals);
  if (!text.starts_with(unreadable) || at == std::string::npos) { return text; }
  auto const option = text.substr(unreadable.size(), at - unreadable.size());
  return concat(
      {option, ": '", text.substr(at + equals.size()), "' is not a number that it can hold"});
}

}  // namespace detail

ASSAY_INLINE std::string not_empty(std::string const& name) {
  return name.empty() ? "its value is empty" : "";
}

ASSAY_INLINE std::string no_option(std::string const& path) {
  if (path.empty()) { return not_empty(path); }
  if (path.size() < 2 || path[0] != '-') { return {}; }
  return concat({path, " looks like an option: name a file, or write ./", path});
}

ASSAY_INLINE int guarded(CLI::App& app, int argc, char const* const* argv,
                         std::function<int()> const& body, std::ostream& out, std::ostream& err,
                         std::function<void()> const& declare) {
  auto const complain = [&](std::exception const& error, char const* remedy, exit_code code) {
    err << "error: " << report::printable(one_line(error)) << remedy << '\n';
    return code;
  };
  std::signal(SIGXFSZ, SIG_IGN);  // beyond `ulimit -f` a write fails, and the report is printed
  try {
    declare();
    auto code = static_cast<int>(ok);
    try {
      app.parse(argc, argv);
      code = body();
    } catch (CLI::CallForHelp const&) { out << app.help(); }
    // Bodies print with std::printf too.
    if (!out.flush() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw file_error("the output", "its file is full or closed");
    }
    return code;
  } catch (CLI::ParseError const& error) {
    return complain(std::runtime_error{detail::explained(error)}, "; see --help", bad_input);
  } catch (std::bad_alloc const& error) {
    // A resource says what it lacks; the standard's exceptions have their names alone.
    if (!std::string_view{error.what()}.starts_with("std::")) {
      return complain(error, "", failed);
    }
    return complain(std::runtime_error{"out of memory; choose smaller sizes"}, "", failed);
  } catch (std::exception const& error) {
    return complain(error, "", detail::is_bad_input(error) ? bad_input : failed);
  }
}

}  // namespace assay::cli
