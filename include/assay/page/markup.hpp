// SPDX-License-Identifier: Apache-2.0
/// @file
/// `markup`: HTML and SVG as a type of its own, so that nothing unescaped can be written to a page.
#pragma once

#include <assay/report/escape.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::report {

/// HTML or SVG. Literals are markup as they are; every other text is escaped on its way in.
class markup {
 public:
  markup() = default;
  template <std::size_t Size>
  markup(char const (&literal)[Size]) : text_(literal) {}

  /// The parts in their order: literals, markup, and texts, which are escaped.
  template <class... Parts>
  requires(sizeof...(Parts) > 0)
  explicit markup(Parts const&... parts) {
    (add(parts), ...);
  }

  bool empty() const noexcept { return text_.empty(); }
  std::string const& str() const noexcept { return text_; }

  /// A piece from one place of `str()` to another; both are between elements.
  markup slice(std::size_t begin, std::size_t end) const {
    markup piece;
    piece.text_ = text_.substr(begin, end - begin);
    return piece;
  }

  markup& operator+=(markup const& more) {
    text_ += more.text_;
    return *this;
  }
  friend markup operator+(markup first, markup const& more) { return first += more; }

 private:
  template <std::size_t Size>
  void add(char const (&literal)[Size]) {
    text_ += literal;
  }
  void add(markup const& more) { text_ += more.text_; }
  void add(std::string_view text) { text_ += escaped(text); }

  std::string text_;
};

/// An element with a class, which may be empty, around parts as those of `markup`.
template <std::size_t Size, class... Parts>
markup element(char const (&name)[Size], std::string_view kind, Parts const&... parts) {
  markup made{"<", name};
  if (!kind.empty()) { made += markup(" class=\"", kind, "\""); }
  return made += markup(">", parts..., "</", name, ">");
}

}  // namespace assay::report
