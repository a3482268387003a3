// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/report/progress.hpp>

#include <sstream>

using namespace assay;
using namespace std::chrono_literals;

TEST_CASE("progress has the epoch, the time so far and its limit, and promises no time left") {
  CHECK(report::progress_text(1, 24, "warming up", 3) ==
        "epoch 1 of at most 24: warming up; 3.0 s");
  CHECK(report::progress_text(2, 96, "building", 12.4, 60) ==
        "epoch 2 of at most 96: building; 12 s of 60 s");
  CHECK(report::progress_text(2, 96, "building", 0.2, 0.5) ==
        "epoch 2 of at most 96: building; 0.2 s of 0.5 s");
}

TEST_CASE("progress beyond the limit says why the run goes on") {
  CHECK(report::progress_text(9, 96, "timing", 60, 60) ==
        "epoch 9 of at most 96: timing; 60 s of 60 s");
  CHECK(report::progress_text(9, 96, "timing", 142, 60) ==
        "epoch 9 of at most 96: timing; 142 s of 60 s (the first analysis may take longer)");
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
  std::string const first = "epoch 1 of at most 8: warming up; 0.0 s";
  std::string const second = "epoch 1 of at most 8: timing; 0.2 s";
  CHECK(out.str() ==
        "\r" + first + "\r" + second + "    " + "\r" + std::string(second.size(), ' ') + "\r");
}

TEST_CASE("lines come at most ten times a second") {
  std::ostringstream out;
  auto const start = report::progress_line::clock::now();
  report::progress_line line{out, report::progress_form::in_place};
  for (int i = 0; i < 100; ++i) { line(1, 8, "timing", start + i * 1ms); }
  CHECK(out.str() == "\repoch 1 of at most 8: timing; 0.0 s");
}

TEST_CASE("without a terminal a line is appended after a second, and then every ten") {
  std::ostringstream out;
  auto const start = report::progress_line::clock::now();
  {
    report::progress_line line{out, report::progress_form::appended};
    line(1, 8, "warming up", start);
    line(1, 8, "timing", start + 900ms);
    CHECK(out.str().empty());
    line(1, 8, "timing", start + 1s);
    line(2, 8, "warming up", start + 10s);
    line(3, 8, "timing", start + 12s);
  }
  CHECK(out.str() ==
        "epoch 1 of at most 8: timing; 1.0 s\n"
        "epoch 3 of at most 8: timing; 12 s\n");
}

TEST_CASE("a comparison after another one counts its own time") {
  std::ostringstream out;
  auto const start = report::progress_line::clock::now();
  report::progress_line line{out, report::progress_form::appended};
  line(1, 8, "timing", start);
  line.finish();
  line(1, 8, "timing", start + 60s);
  line(2, 8, "timing", start + 71s);
  CHECK(out.str() == "epoch 2 of at most 8: timing; 11 s\n");
}

TEST_CASE("the cells of a sweep count towards the limit of the whole run") {
  std::ostringstream out;
  auto const start = report::progress_line::clock::now();
  report::progress_line line{out, report::progress_form::appended, 60};
  line(1, 8, "timing", start);
  line(7, 8, "timing", start + 500ms);
  line(1, 8, "timing", start + 60s);
  line.limit(480);
  line(2, 8, "timing", start + 71s);
  CHECK(out.str() ==
        "epoch 1 of at most 8: timing; 60 s of 60 s\n"
        "epoch 2 of at most 8: timing; 71 s of 480 s\n");
}
