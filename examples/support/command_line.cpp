// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <CLI/CLI.hpp>

namespace assay::cli {

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
  auto* const made = grouped(app_->add_option(names, into, what));
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
