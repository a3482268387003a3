// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <CLI/CLI.hpp>

#include <string_view>

namespace assay::cli {

std::string no_option(std::string const& path) {
  if (path.size() < 2 || path[0] != '-') { return {}; }
  return path + " looks like an option: name a file, or write ./" + path;
}

std::string explained(CLI::ParseError const& error) {
  std::string const text = error.what();
  constexpr std::string_view unreadable = "Could not convert: ", equals = " = ";
  auto const at = text.find(equals);
  if (!text.starts_with(unreadable) || at == std::string::npos) { return text; }
  auto const option = text.substr(unreadable.size(), at - unreadable.size());
  return option + ": '" + text.substr(at + equals.size()) + "' is not a number that it can hold";
}

CLI::Option* command_line::grouped(CLI::Option* made) const {
  return group_.empty() ? made : made->group(group_);
}

void command_line::option(std::string const& names, std::string& into, std::string const& what,
                          char const* type_name) {
  auto* const made = grouped(app_->add_option(names, into, what))->capture_default_str();
  if (type_name != nullptr) { made->type_name(type_name); }
}

void command_line::option(std::string const& names, int& into, std::string const& what) {
  grouped(app_->add_option(names, into, what))->capture_default_str();
}

void command_line::option(std::string const& names, std::int64_t& into, std::string const& what) {
  grouped(app_->add_option(names, into, what))->capture_default_str();
}

void command_line::option(std::string const& names, double& into, std::string const& what) {
  grouped(app_->add_option(names, into, what))->capture_default_str();
}

void command_line::optional(std::string const& names, std::string& into, std::string const& what) {
  grouped(app_->add_option(names, into, what));
}

void command_line::optional(std::string const& names, int& into, std::string const& what) {
  grouped(app_->add_option(names, into, what));
}

void command_line::optional(std::string const& names, std::filesystem::path& into,
                            std::string const& what, char const* type_name) {
  auto* const made = grouped(app_->add_option(names, into, what))->check(no_option);
  if (type_name != nullptr) { made->type_name(type_name); }
}

void command_line::list(std::string const& names, std::vector<std::string>& into,
                        std::string const& what) {
  auto* const made = grouped(app_->add_option(names, into, what))->delimiter(',');
  if (!into.empty()) { made->capture_default_str(); }
}

void command_line::list(std::string const& names, std::vector<int>& into, std::string const& what) {
  auto* const made = grouped(app_->add_option(names, into, what))->delimiter(',');
  if (!into.empty()) { made->capture_default_str(); }
}

void command_line::flag(std::string const& names, bool& into, std::string const& what) {
  grouped(app_->add_flag(names, into, what));
}

void command_line::exclude(std::string const& one, std::string const& other) {
  app_->get_option(one)->excludes(app_->get_option(other));
}

void command_line::footer(std::string const& text) { app_->footer(text); }

bool command_line::given(std::string const& name) const { return app_->count(name) != 0; }

}  // namespace assay::cli
