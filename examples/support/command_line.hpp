// SPDX-License-Identifier: Apache-2.0
/// @file
/// `command_line`: options, as the parts of a program add them. The parser itself is out of sight:
/// it would cost each program more to compile than all of its own code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace assay::cli {

/// Why `path`, the value of an option that names a file, looks like an option itself; empty where
/// it does not.
std::string no_option(std::string const& path);

/// One line for what the parser refused: the option, the value, and what is wrong with the value.
std::string explained(CLI::ParseError const& error);

/// Adds options to a program, and tells which of them were given. The variable of an option must
/// outlive the parsing.
class command_line {
 public:
  explicit command_line(CLI::App& app) : app_(&app) {}

  /// Lists later options under this heading.
  void group(std::string heading) { group_ = std::move(heading); }

  /// An option with a value. The help shows the present value as the default, and calls the value
  /// `type_name`.
  void option(std::string const& names, std::string& into, std::string const& what,
              char const* type_name = nullptr);
  void option(std::string const& names, int& into, std::string const& what);
  void option(std::string const& names, std::int64_t& into, std::string const& what);
  void option(std::string const& names, double& into, std::string const& what);

  /// An option whose default the help does not show.
  void optional(std::string const& names, std::string& into, std::string const& what);
  void optional(std::string const& names, int& into, std::string const& what);
  void optional(std::string const& names, std::filesystem::path& into, std::string const& what,
                char const* type_name = nullptr);

  /// An option with values between commas. The help shows a default that is not empty.
  void list(std::string const& names, std::vector<std::string>& into, std::string const& what);
  void list(std::string const& names, std::vector<int>& into, std::string const& what);

  /// `--name` sets, and `!--no-name` beside it clears.
  void flag(std::string const& names, bool& into, std::string const& what);

  /// Refuses two options together.
  void exclude(std::string const& one, std::string const& other);

  /// The text below the help.
  void footer(std::string const& text);

  /// True where the command line named the option.
  bool given(std::string const& name) const;

 private:
  CLI::Option* grouped(CLI::Option* made) const;

  CLI::App* app_;
  std::string group_;
};

}  // namespace assay::cli
