// SPDX-License-Identifier: Apache-2.0
/// @file
/// The main of every test program: runs the tests unless `missing()` says what they lack.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"
#include "missing.hpp"

#include <cstdio>

int main(int argc, char** argv) {
  constexpr int skipped = 77;  // ctest's SKIP_RETURN_CODE
  std::string const lacking = assay::test::missing();
  if (!lacking.empty()) {
    std::printf("skipped: %s\n", lacking.c_str());
    return skipped;
  }
  int const failures = Catch::Session().run(argc, argv);
  return failures == 0 ? 0 : 1;  // never 77
}
