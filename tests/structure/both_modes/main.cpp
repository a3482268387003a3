// SPDX-License-Identifier: Apache-2.0
// Both modes in one program: each finds what is there to find, and nothing is defined twice.
#include <iostream>
#include <string>

std::string compiled();
std::string header_only();

int main() {
  std::string const right = "SLOWER short checked";
  for (auto const& found : {compiled(), header_only()}) {
    if (found == right) { continue; }
    std::cerr << "expected \"" << right << "\", found \"" << found << "\"\n";
    return 1;
  }
}
