// expect-only-error: assay::report::markup
// SPDX-License-Identifier: Apache-2.0
// A text is no body of a page: it would stand there unescaped.
#include <assay/page/parts.hpp>

#include <string>

int main() {
  std::string const text = "<svg onload='x'/>";
  auto const page = assay::report::detail::whole_page("title", text);
}
