// SPDX-License-Identifier: Apache-2.0
/// @file
/// The values that a callable has captured, and which of them are pointers to host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace assay::measure {

/// The words of a callable's captured values, or nothing where its type hides what it owns.
using captured_words = std::optional<std::vector<std::uintptr_t>>;

/// A closure of pointers and numbers is trivially copyable, and has its pointers at multiples of
/// their size.
template <class F>
captured_words captured_by(F const& callable) {
  std::vector<std::uintptr_t> words;
  if constexpr (std::is_trivially_copyable_v<F>) {
    for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= sizeof(F);
         at += sizeof(std::uintptr_t)) {
      std::memcpy(&words.emplace_back(), reinterpret_cast<std::byte const*>(&callable) + at,
                  sizeof(std::uintptr_t));
    }
    return words;
  } else {
    return {};
  }
}

/// The writable memory of this process at one moment, from `/proc/self/maps`.
class writable_memory {
 public:
  writable_memory() {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
      std::istringstream fields{line};
      range next{};
      char dash = 0;
      std::string rights;
      fields >> std::hex >> next.begin >> dash >> next.end >> rights;
      if (fields && rights.find('w') != std::string::npos) { ranges_.push_back(next); }
    }
  }

  bool contains(std::uintptr_t address) const noexcept {
    for (auto const& each : ranges_) {
      if (address >= each.begin && address < each.end) { return true; }
    }
    return false;
  }

 private:
  struct range {
    std::uintptr_t begin = 0, end = 0;
  };
  std::vector<range> ranges_;
};

}  // namespace assay::measure
