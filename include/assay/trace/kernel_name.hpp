// SPDX-License-Identifier: Apache-2.0
/// @file
/// Names of kernels as people read them.
#pragma once

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace assay::trace {

/// What a mangled name stands for; itself when it is none.
inline std::string demangled(char const* mangled) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> const text{
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free};
  return text != nullptr && status == 0 ? text.get() : mangled;
}

/// A demangled function without return type, namespaces, template arguments and parameters:
/// `scale` of `void app::scale<float>(float*, int)`.
inline std::string short_kernel_name(std::string_view demangled) {
  std::string name;   // of the part that is being read, since the last `::` or blank
  std::string whole;  // what to give back if the name turns out to be empty
  std::string open;   // brackets
  for (std::size_t at = 0; at < demangled.size(); ++at) {
    auto const rest = demangled.substr(at);
    char const c = demangled[at];
    if (open.empty() && rest.starts_with("(anonymous namespace)")) {
      at += std::string_view{"(anonymous namespace)"}.size() - 1;
      continue;
    }
    if (c == '(' && open.empty()) { break; }  // the parameters
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      open.push_back(c);
    } else if (c == ')' || c == '}' || c == ']') {
      if (!open.empty()) { open.pop_back(); }
    } else if (c ==
               '>') {  // but a comparison or an arrow, which stand in parentheses, closes nothing
      if (!open.empty() && open.back() == '<') { open.pop_back(); }
    } else if (open.empty() && c == ' ') {
      if (!name.empty()) { whole = name; }
      name.clear();
    } else if (open.empty() && rest.starts_with("::")) {
      name.clear();
      ++at;
    } else if (open.empty()) {
      name.push_back(c);
    }
  }
  if (name.empty()) { name = whole; }
  return name.empty() ? std::string{demangled} : name;
}

}  // namespace assay::trace
