// SPDX-License-Identifier: Apache-2.0
/// @file
/// One line that says how far a comparison is, rewritten in place on a terminal.
#pragma once

#include <assay/report/format.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

namespace assay::report {

/// `epoch 3 of at most 24: timing, at most 12 s left`; the last part once an epoch is done, as if
/// all that remain took as long and none could be spared.
inline std::string progress_text(int epoch, int of, std::string_view what, double elapsed_seconds) {
  auto text = "epoch " + std::to_string(epoch) + " of at most " + std::to_string(of) + ": " +
              std::string{what};
  if (epoch < 2) { return text; }
  auto const done = epoch - 1;
  auto const left = elapsed_seconds / done * (of - done);
  return text + ", at most " + fixed(left, left < 10 ? 1 : 0) + " s left";
}

/// Whether somebody watches standard error, so that a line may be rewritten there.
inline bool stderr_is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }

/// Prints progress to `out`, over the line it printed before, at most ten times a second: printing
/// between the timed cells must not become a load of its own. Not enabled, it prints nothing.
class progress_line {
 public:
  using clock = std::chrono::steady_clock;

  progress_line(std::ostream& out, bool enabled) : out_(&out), enabled_(enabled) {}
  progress_line(progress_line const&) = delete;
  progress_line& operator=(progress_line const&) = delete;
  ~progress_line() { finish(); }

  /// Fits `measure::options::progress`.
  void operator()(int epoch, int of, std::string_view what, clock::time_point now = clock::now()) {
    if (!enabled_) { return; }
    if (width_ == 0) { begin_ = now; }
    if (width_ != 0 && now - shown_ < std::chrono::milliseconds{100}) { return; }
    shown_ = now;
    auto text = progress_text(epoch, of, what, std::chrono::duration<double>(now - begin_).count());
    auto const size = text.size();
    if (size < width_) { text.append(width_ - size, ' '); }
    *out_ << '\r' << text << std::flush;
    width_ = std::max(size, std::size_t{1});
  }

  /// Clears the line, so that what is printed next begins where it stood.
  void finish() {
    if (width_ == 0) { return; }
    *out_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
    width_ = 0;
  }

 private:
  std::ostream* out_;
  bool enabled_;
  clock::time_point begin_;
  clock::time_point shown_;
  std::size_t width_ = 0;
};

}  // namespace assay::report
