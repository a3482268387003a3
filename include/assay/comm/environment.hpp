// SPDX-License-Identifier: Apache-2.0
/// @file
/// Environment variables: reading them, and setting one for a scope.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

namespace assay::comm {

/// The value of an environment variable; nothing where the variable is not set or is empty.
inline std::optional<std::string> environment_variable(char const* name) {
  char const* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') { return std::nullopt; }
  return std::string{value};
}

namespace detail {

/// Sets an environment variable, if there is a value, and restores the variable at its end. No
/// other thread may read or write the environment meanwhile.
class scoped_variable {
 public:
  scoped_variable(char const* name, std::optional<std::string> const& value)
      : name_(name), set_(value.has_value()) {
    if (!set_) { return; }
    if (char const* const before = std::getenv(name)) { before_ = before; }
    ::setenv(name_, value->c_str(), 1);
  }
  scoped_variable(scoped_variable const&) = delete;
  scoped_variable& operator=(scoped_variable const&) = delete;
  ~scoped_variable() {
    if (!set_) { return; }
    if (before_) { ::setenv(name_, before_->c_str(), 1); }
    if (!before_) { ::unsetenv(name_); }
  }

 private:
  char const* name_;
  std::optional<std::string> before_;
  bool set_;
};

/// Keeps NCCL from multicast through the NVLink switch while communicators are made. NCCL reads the
/// variable once per process and keeps its value.
///
/// Multicast groups belong to the whole switch. On a shared host, a process that dies with a group
/// can destroy the groups of other tenants. Throws `std::invalid_argument` where the variable is
/// set to anything but 0.
class without_multicast {
 public:
  static constexpr char const* name = "NCCL_NVLS_ENABLE";

 private:
  static std::string required() {
    auto const asked = environment_variable(name);
    if (asked && *asked != "0") {
      throw std::invalid_argument(std::string{name} + "=" + *asked +
                                  ": comm::nccl runs without NVLink multicast; unset it or set 0");
    }
    return "0";
  }

  scoped_variable variable_{name, required()};
};

}  // namespace detail
}  // namespace assay::comm
