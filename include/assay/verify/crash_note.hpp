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

  /// Notes what runs; empty while nothing does.
  void set(std::string_view what) noexcept {
    if (!is_first_) { return; }
    auto& [text, size] = note();
    size = 0;
    std::copy_n(what.data(), std::min(what.size(), text.size()), text.data());
    size = std::min(what.size(), text.size());
  }

 private:
  static constexpr std::array signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};

  struct words {
    std::array<char, 400> text{};
    std::atomic<std::size_t> size = 0;
  };
  static words& note() noexcept {
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
    auto& [text, size] = note();
    if (size > 0) {
      write_all("assay::verify: ");
      write_all({text.data(), size});
      write_all(" crashed; later cases did not run\n");
    }
    restore();
    raise(which);
  }

  bool is_first_;
};

}  // namespace assay::verify_detail
