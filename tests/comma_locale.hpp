// SPDX-License-Identifier: Apache-2.0
/// @file
/// `comma_locale`: a locale in which numbers read `1.234,5`, for streams and for C.
#pragma once

#include "catch.hpp"

#include <clocale>
#include <cstdio>
#include <locale>
#include <map>
#include <sstream>
#include <string>

namespace assay::test {

/// Sets both locales of the process, of streams and of C, while it lives.
class comma_locale {
 public:
  comma_locale() : streams_{std::locale::global({std::locale::classic(), new commas})} {
    for (auto const* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE"}) {
      if (std::setlocale(LC_ALL, name) != nullptr) { break; }
    }
  }
  ~comma_locale() {
    std::locale::global(streams_);
    std::setlocale(LC_ALL, "C");
  }
  comma_locale(comma_locale const&) = delete;

 private:
  struct commas : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };

  std::locale streams_;
};

/// Checks that all texts of `made()`, by the name of their format, are the same in that locale.
inline void check_same_under_commas(std::map<std::string, std::string> (*made)()) {
  auto const usual = made();
  std::map<std::string, std::string> other;
  {
    comma_locale const set;
    std::ostringstream stream;
    stream << 1234.5;
    CHECK(stream.str() == "1.234,5");
    char half[8];
    (void)std::snprintf(half, sizeof half, "%.1f", 0.5);
    if (std::string{half} != "0,5") {
      WARN("no locale of C with a decimal comma: printf is untested");
    }
    other = made();
  }
  for (auto const& [format, text] : usual) {
    INFO(format);
    CHECK_FALSE(text.empty());
    CHECK(other.at(format) == text);
  }
}

}  // namespace assay::test
