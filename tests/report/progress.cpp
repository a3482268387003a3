// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/report/progress.hpp>

#include <sstream>

using namespace assay;
using namespace std::chrono_literals;

TEST_CASE("progress tells where it is, and what is left once it can know") {
  CHECK(report::progress_text(1, 24, "warming up", 3) == "epoch 1 of at most 24: warming up");
  CHECK(report::progress_text(3, 24, "timing", 1) ==
        "epoch 3 of at most 24: timing, at most 11 s left");
  CHECK(report::progress_text(23, 24, "timing", 22) ==
        "epoch 23 of at most 24: timing, at most 2.0 s left");
}

TEST_CASE("a line that is not enabled prints nothing") {
  std::ostringstream out;
  {
    report::progress_line line{out, false};
    line(1, 8, "timing");
    line.finish();
  }
  CHECK(out.str().empty());
}

TEST_CASE("each line covers the one before, and the end clears it") {
  std::ostringstream out;
  auto const start = report::progress_line::clock::now();
  {
    report::progress_line line{out, true};
    line(1, 8, "warming up", start);
    line(1, 8, "timing", start + 200ms);
  }
  std::string const first = "epoch 1 of at most 8: warming up";
  std::string const second = "epoch 1 of at most 8: timing";
  CHECK(out.str() ==
        "\r" + first + "\r" + second + "    " + "\r" + std::string(second.size(), ' ') + "\r");
}

TEST_CASE("lines come at most ten times a second") {
  std::ostringstream out;
  auto const start = report::progress_line::clock::now();
  report::progress_line line{out, true};
  for (int i = 0; i < 100; ++i) { line(1, 8, "timing", start + i * 1ms); }
  CHECK(out.str() == "\repoch 1 of at most 8: timing");
}
