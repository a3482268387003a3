// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to hang_watch.hpp: names code of the caller that crashes.
#pragma once

#include <assay/core/requirements.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

namespace assay::verify_detail {

/// While it lives, a fatal signal prints what runs before the handler that was there gets it. The
/// first of several at one time prints.
class crash_note {
 public:
  crash_note() : is_first_(!exists().exchange(true)) {
    if (!is_first_) { return; }
    struct sigaction mine {};
    mine.sa_handler = print;
    mine.sa_flags = SA_ONSTACK;
    for (std::size_t i = 0; i < signals.size(); ++i) { sigaction(signals[i], &mine, &before()[i]); }
  }
  crash_note(crash_note const&) = delete;
  crash_note& operator=(crash_note const&) = delete;
  ~crash_note() {
    if (!is_first_) { return; }
    restore();
    exists() = false;
  }

  /// Notes what runs, and the end of a message about it; empty while nothing does.
  void set(std::string_view what, std::string_view end) noexcept {
    if (!is_first_) { return; }
    note().set({});
    ending().set(end);
    note().set(what);
  }

 private:
  static constexpr std::array signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};

  /// Text that a handler may read.
  class words {
   public:
    void set(std::string_view to) noexcept {
      size_ = 0;
      auto const size = std::min(to.size(), text_.size());
      std::copy_n(to.data(), size, text_.data());
      size_ = size;
    }
    std::string_view get() const noexcept { return {text_.data(), size_}; }

   private:
    std::array<char, 400> text_{};
    std::atomic<std::size_t> size_ = 0;
  };
  static words& note() noexcept {
    static words kept;
    return kept;
  }
  static words& ending() noexcept {
    static words kept;
    return kept;
  }
  static std::atomic<bool>& exists() noexcept {
    static std::atomic<bool> kept = false;
    return kept;
  }
  static std::array<struct sigaction, signals.size()>& before() noexcept {
    static std::array<struct sigaction, signals.size()> kept{};
    return kept;
  }

  static void restore() noexcept {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      sigaction(signals[i], &before()[i], nullptr);
    }
  }
  static void write_all(std::string_view text) noexcept {
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, text.data(), text.size());
  }
  /// Calls what a handler may call, and no more.
  static void print(int which) {
    if (auto const what = note().get(); !what.empty()) {
      write_all("assay::verify: ");
      write_all(what);
      write_all(" crashed; later cases did not run");
      write_all(ending().get());
      write_all("\n");
    }
    restore();
    raise(which);
  }

  bool is_first_;
};

}  // namespace assay::verify_detail
