// SPDX-License-Identifier: Apache-2.0
/// @file
/// `markup`: literals as they are, all other texts escaped.
#include <assay/page/markup.hpp>

#include <string>
#include <string_view>
#include <type_traits>

#include "catch.hpp"

using assay::report::element;
using assay::report::markup;

// No text becomes markup by itself, and markup is no text.
static_assert(std::is_convertible_v<char const (&)[4], markup>);
static_assert(!std::is_convertible_v<std::string, markup>);
static_assert(!std::is_convertible_v<std::string_view, markup>);
static_assert(!std::is_convertible_v<char const*, markup>);
static_assert(!std::is_convertible_v<markup, std::string>);

TEST_CASE("literals are markup as they are, and texts of every type are escaped") {
  std::string const text = "<b>\"&'";
  auto const escaped = std::string{"&lt;b&gt;&quot;&amp;&#39;"};
  char const* const pointer = text.c_str();
  CHECK(markup("<i>", text, "</i>").str() == "<i>" + escaped + "</i>");
  CHECK(markup(std::string_view{text}).str() == escaped);
  CHECK(markup(pointer).str() == escaped);
  CHECK(markup(true ? pointer : "").str() == escaped);
  CHECK(markup(markup(text), markup("<br/>")).str() == escaped + "<br/>");
}

TEST_CASE("an element escapes its class and its texts, and has no class without one") {
  std::string const evil = "\"><script>";
  CHECK(element("p", evil, evil).str() ==
        "<p class=\"&quot;&gt;&lt;script&gt;\">&quot;&gt;&lt;script&gt;</p>");
  CHECK(element("li", "", element("b", "", "x"), " < ", std::string{"<"}).str() ==
        "<li><b>x</b> < &lt;</li>");
  CHECK(element("td", "").str() == "<td></td>");
}

TEST_CASE("markup is joined and cut between elements") {
  markup all;
  CHECK(all.empty());
  all += element("p", "", "one");
  all += "<hr/>" + element("p", "", "two") + "\n";
  CHECK(all.str() == "<p>one</p><hr/><p>two</p>\n");
  CHECK(all.slice(10, 15).str() == "<hr/>");
}
