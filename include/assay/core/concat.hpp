// SPDX-License-Identifier: Apache-2.0
/// @file
/// `concat`: one text of several.
#pragma once

#include <assay/core/requirements.hpp>

#include <initializer_list>
#include <string>
#include <string_view>

namespace assay {

/// The texts in one string: `concat({"a", b, "c"})`.
///
/// A sum of eight texts compiles to twice as much code, since each `+` makes a string and destroys
/// it.
inline std::string concat(std::initializer_list<std::string_view> texts) {
  std::string all;
  for (auto const each : texts) { all += each; }
  return all;
}

}  // namespace assay
