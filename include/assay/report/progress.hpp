// SPDX-License-Identifier: Apache-2.0
/// @file
/// The progress of a comparison: one line, rewritten on a terminal, or a line after one second and
/// then every ten.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/report/format.hpp>
#include <assay/stats/number_text.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace assay::report {

/// `epoch 3 of at most 24: timing; 12 s of 60 s`: the time so far, and the limit if there is one.
/// Nobody knows the time left: most runs end at an analysis long before their last epoch.
inline std::string progress_text(int epoch, int of, std::string_view what, double seconds,
                                 double limit_seconds = 0) {
  auto text = concat({"epoch ", std::to_string(epoch), " of at most ", std::to_string(of), ": ",
                      what, "; ", fixed(seconds, seconds < 10 ? 1 : 0), " s"});
  if (limit_seconds > 0) { text += concat({" of ", stats::number_text(limit_seconds), " s"}); }
  bool const over = limit_seconds > 0 && seconds > limit_seconds;
  return text + (over ? " (the first analysis may take longer)" : "");
}

/// The form of progress.
enum class progress_form {
  none,
  in_place,  ///< for a terminal: one line, rewritten at most ten times a second
  appended,  ///< for a file or a pipe: a line after one second, and then every ten seconds
};

/// The form for standard error.
inline progress_form stderr_form() noexcept {
  return ::isatty(STDERR_FILENO) == 1 ? progress_form::in_place : progress_form::appended;
}

/// Prints progress to `out`, seldom enough to disturb no timed cell.
class progress_line {
 public:
  using clock = std::chrono::steady_clock;

  /// `limit_seconds` is the time that the run may take; 0: it has no limit.
  progress_line(std::ostream& out, progress_form form, double limit_seconds = 0)
      : out_(&out), form_(form), limit_seconds_(limit_seconds) {}
  progress_line(progress_line const&) = delete;
  progress_line& operator=(progress_line const&) = delete;
  ~progress_line() { finish(); }

  /// Sets the limit of the whole run, where it has several comparisons.
  void limit(double seconds) noexcept { limit_seconds_ = seconds; }

  /// Fits `measure::options::progress`.
  void operator()(int epoch, int of, std::string_view what, clock::time_point now = clock::now()) {
    if (form_ == progress_form::none) { return; }
    bool const in_place = form_ == progress_form::in_place;
    auto const apart = in_place ? clock::duration{std::chrono::milliseconds{100}}
                                : clock::duration{std::chrono::seconds{10}};
    if (!begin_) {
      begin_ = now;
      shown_ = now - apart + std::chrono::seconds{in_place ? 0 : 1};  // a short run tells nothing
    }
    if (now - shown_ < apart) { return; }
    shown_ = now;
    std::chrono::duration<double> const elapsed = now - *begin_;
    auto text = progress_text(epoch, of, what, elapsed.count(), limit_seconds_);
    if (!in_place) {
      *out_ << text << std::endl;
      return;
    }
    auto const size = text.size();
    if (size < width_) { text.append(width_ - size, ' '); }
    *out_ << '\r' << text << std::flush;
    width_ = std::max(size, std::size_t{1});
  }

  /// Clears the rewritten line, so that the next output begins in its place.
  void finish() {
    begin_.reset();
    if (width_ == 0) { return; }
    *out_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
    width_ = 0;
  }

 private:
  std::ostream* out_;
  progress_form form_;
  double limit_seconds_;
  std::optional<clock::time_point> begin_;  ///< the first call since `finish`
  clock::time_point shown_;
  std::size_t width_ = 0;  ///< the width of the line on the terminal
};

}  // namespace assay::report
