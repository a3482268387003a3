// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to measure_together.hpp: records as words, and back. One function `parts(visit,
/// record)` names the members of a record for both ways.
#pragma once

#include <assay/serve/protocol.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace assay::measure::served {

/// Numbers, truth values and enumerators.
template <class T>
concept plain_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Appends words.
struct word_writer {
  words all{};

  template <class... T>
  void operator()(T const&... each) {
    (put(each), ...);
  }

 private:
  void put(std::string const& text) { all.push_back(text); }
  template <plain_number T>
  void put(T const& value) {
    if constexpr (std::floating_point<T>) {
      all.push_back(from_double(value));
    } else if constexpr (std::is_enum_v<T> || std::same_as<T, bool>) {
      all.push_back(std::to_string(static_cast<int>(value)));
    } else {
      all.push_back(std::to_string(value));
    }
  }
  template <class T>
  void put(std::vector<T> const& values) {
    put(values.size());
    for (auto const& each : values) { put(each); }
  }
  template <class T>
  requires(!plain_number<T>)
  void put(T const& record) {
    parts(*this, const_cast<T&>(record));
  }
};

/// Reads words in their order.
class word_reader {
 public:
  explicit word_reader(words const& from, std::size_t next = 0) : from_(from), next_(next) {}

  template <class... T>
  void operator()(T&... each) {
    (get(each), ...);
  }

 private:
  void get(std::string& text) { text = at(from_, next_++); }
  template <plain_number T>
  void get(T& value) {
    auto const& word = at(from_, next_++);
    if constexpr (std::is_enum_v<T> || std::same_as<T, bool>) {
      value = static_cast<T>(to_number<int>(word));
    } else {
      value = to_number<T>(word);
    }
  }
  template <class T>
  void get(std::vector<T>& values) {
    std::size_t count = 0;
    get(count);
    values.clear();
    for (; count > 0; --count) { get(values.emplace_back()); }
  }
  template <class T>
  void get(T& record) {
    parts(*this, record);
  }

  words const& from_;
  std::size_t next_;
};

}  // namespace assay::measure::served
