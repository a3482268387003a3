// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/report/escape.hpp>

#include <string>

using namespace assay;
using assay::report::escaped;
using assay::report::printable;

TEST_CASE("markup becomes text") {
  CHECK(escaped("a<b & \"c\" > 'd'") == "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39;");
}

TEST_CASE("control characters become visible, and line ends stay where they are asked for") {
  CHECK(printable("a\x1b[31mb\x7f") == "a\xE2\x90\x9B[31mb\xE2\x90\xA1");
  CHECK(printable(std::string_view{"\0", 1}) == "\xE2\x90\x80");
  CHECK(printable("a\nb\tc") == "a b c");
  CHECK(printable("a\nb", true) == "a\nb");
}

TEST_CASE("UTF-8 stays, and bytes that are none are replaced one by one") {
  std::string const bad = "\xEF\xBF\xBD";
  CHECK(printable("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80") ==
        "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80");
  CHECK(printable("a\xFFz") == "a" + bad + "z");
  CHECK(printable("\xC0\xAF") == bad + bad);                      // an overlong '/'
  CHECK(printable("\xE2\x82") == bad + bad);                      // cut off
  CHECK(printable("\xED\xA0\x80") == bad + bad + bad);            // a surrogate
  CHECK(printable("\xC2\x9B") == bad + bad);                      // CSI as one C1 control character
  CHECK(printable("\xEF\xBF\xBF") == bad + bad + bad);            // U+FFFF, which XML forbids
  CHECK(printable("\xF4\x90\x80\x80") == bad + bad + bad + bad);  // above U+10FFFF
}

TEST_CASE("long names are cut between characters") {
  CHECK(report::shortened("short") == "short");
  CHECK(report::shortened("xxxxx\xce\xb1", 6) == "xxxxx\xce\xb1");
  CHECK(report::shortened("xxxx\xce\xb1y", 5) == "xxxx\xce\xb1...");
  CHECK(report::shortened(std::string(90, 'x')).size() == 63);
}
