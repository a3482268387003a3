// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/report/progress.hpp>

#include <sstream>

using namespace assay;
using namespace std::chrono_literals;

TEST_CASE("progress has the epoch, and the time left from the second epoch on") {
  CHECK(report::progress_text(1, 24, "warming up", 3) == "epoch 1 of at most 24: warming up");
  CHECK(report::progress_text(3, 24, "timing", 1) ==
        "epoch 3 of at most 24: timing, at most 11 s left");
  CHECK(report::progress_text(23, 24, "timing", 22) ==
        "epoch 23 of at most 24: timing, at most 2.0 s left");
}

TEST_CASE("no form prints nothing") {
  std::ostringstream out;
  {
    report::progress_line line{out, report::progress_form::none};
    line(1, 8, "timing");
    line.finish();
  }
  CHECK(out.str().empty());
}

TEST_CASE("each line covers the one before, and the end clears it") {
  std::ostringstream out;
  auto const start = report::progress_line::clock::now();
  {
    report::progress_line line{out, report::progress_form::in_place};
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
  report::progress_line line{out, report::progress_form::in_place};
  for (int i = 0; i < 100; ++i) { line(1, 8, "timing", start + i * 1ms); }
  CHECK(out.str() == "\repoch 1 of at most 8: timing");
}

TEST_CASE("without a terminal a line is appended every ten seconds") {
  std::ostringstream out;
  auto const start = report::progress_line::clock::now();
  {
    report::progress_line line{out, report::progress_form::appended};
    line(1, 8, "warming up", start);
    line(1, 8, "timing", start + 9s);
    CHECK(out.str().empty());
    line(2, 8, "warming up", start + 11s);
    line(3, 8, "timing", start + 20s);
    line(3, 8, "timing", start + 22s);
  }
  CHECK(out.str() ==
        "epoch 2 of at most 8: warming up, at most 77 s left\n"
        "epoch 3 of at most 8: timing, at most 66 s left\n");
}

TEST_CASE("a comparison after another one counts its own time") {
  std::ostringstream out;
  auto const start = report::progress_line::clock::now();
  report::progress_line line{out, report::progress_form::appended};
  line(1, 8, "timing", start);
  line.finish();
  line(1, 8, "timing", start + 60s);
  line(2, 8, "timing", start + 71s);
  CHECK(out.str() == "epoch 2 of at most 8: timing, at most 77 s left\n");
}

TEST_CASE(
    "the next cell of a sweep counts its own time, though nobody said that the last one ended") {
  std::ostringstream out;
  auto const start = report::progress_line::clock::now();
  report::progress_line line{out, report::progress_form::appended};
  line(1, 8, "timing", start);
  line(7, 8, "timing", start + 5s);
  line(1, 8, "timing", start + 60s);
  line(2, 8, "timing", start + 71s);
  CHECK(out.str() ==
        "epoch 1 of at most 8: timing\n"
        "epoch 2 of at most 8: timing, at most 77 s left\n");
}
