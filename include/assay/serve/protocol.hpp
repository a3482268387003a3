// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to serve.hpp and remote_subject.hpp: messages between assay_compare and a program.
///
/// A message is one line of words over a socket, so that the program may print. The program sends
/// its greeting first. Then assay_compare sends one request at a time:
///
/// | request                               | reply                                     |
/// |---------------------------------------|-------------------------------------------|
/// | (none, at the start)                  | `assay-serve VERSION`                     |
/// | `cases`                               | `ok NAME CLOCK NAME CLOCK ...`            |
/// | `build CASE EPOCH SEED INSTANCE CLOCK`| `ok BYTES FLOPS CHECKS`                   |
/// | `warm SET LAUNCHES`                   | `ok`                                      |
/// | `time SET LAUNCHES`                   | `ok WALL GPU SUBMIT SM_HERTZ DISTURBANCE` |
/// | `empty LAUNCHES`                      | as `time`, or `ok` alone                  |
/// | `verify SET`                          | `ok`, or `wrong TEXT`                     |
/// | `caveats`                             | `ok TEXT ...`                             |
///
/// CLOCK is `wall`, `gpu` or `submit`: the clock that decides, and in a request an empty word for
/// that of the case. CHECKS is `none`, `part` or `all`: how many results are compared with what is
/// right. Behind DISTURBANCE are the seconds of launches that were timed by themselves. `empty`
/// times calls that do nothing; `ok` alone says that the subject has none.
///
/// Each request may get `error TEXT` instead, or `error TEXT memory` where memory ran out. The
/// program ends when the socket is closed.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/subject.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace assay::measure::served {

/// Both sides must have the same version. Every change of a message raises it.
inline constexpr int protocol_version = 4;

/// The environment variable that holds the number of the socket's descriptor.
inline constexpr auto descriptor_variable = "ASSAY_SERVE_FD";

inline constexpr std::string_view greeting = "assay-serve";

using words = std::vector<std::string>;

/// A message that breaks the protocol; `what()` has its first 60 characters.
class protocol_error : public std::runtime_error {
 public:
  explicit protocol_error(std::string_view line)
      : std::runtime_error(
            concat({"'", line.substr(0, 60), "' is no message of the protocol of assay::serve"})) {}
};

/// The characters that a word escapes, and the letters that stand for them behind a backslash.
inline constexpr std::string_view escaped = " \n\r\\";
inline constexpr std::string_view escape_letters = "snr\\";

/// The words as one line: a blank, a line break, a backslash and an empty word are escaped.
inline std::string encode(words const& message) {
  std::string line;
  for (auto const& word : message) {
    if (!line.empty()) { line += ' '; }
    if (word.empty()) { line += "\\e"; }
    for (char const each : word) {
      auto const which = escaped.find(each);
      if (which == escaped.npos) {
        line += each;
      } else {
        line.append({'\\', escape_letters[which]});
      }
    }
  }
  return line + '\n';
}

/// The words of a line without its line break. Throws `protocol_error` for an unknown escape.
inline words decode(std::string_view line) {
  words message;
  for (std::size_t from = 0; from <= line.size();) {
    auto const to = std::min(line.find(' ', from), line.size());
    std::string word;
    for (std::size_t i = from; i < to; ++i) {
      if (line[i] != '\\') {
        word += line[i];
        continue;
      }
      if (++i < to && line[i] == 'e') { continue; }
      auto const which = i < to ? escape_letters.find(line[i]) : escape_letters.npos;
      if (which == escape_letters.npos) { throw protocol_error(line); }
      word += escaped[which];
    }
    message.push_back(std::move(word));
    from = to + 1;
  }
  return message;
}

/// A double as its fewest digits, which `to_number` reads back bit for bit, but for the payload of
/// a NaN. Not by printf: the locale of the program may have another decimal point.
inline std::string from_double(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// The number that a word is. Throws `protocol_error` for any other word.
template <class Number>
Number to_number(std::string const& word) {
  Number value{};
  auto const end = word.data() + word.size();
  auto const [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || stop != end) { throw protocol_error(word); }
  return value;
}

/// Returns word number `index`. Throws `protocol_error` for a shorter message.
inline std::string const& at(words const& message, std::size_t index) {
  if (index >= message.size()) { throw protocol_error(encode(message)); }
  return message[index];
}

/// The words of `checks`.
inline constexpr std::array<std::string_view, 3> checks_words{"none", "part", "all"};

inline std::string to_word(checks which) {
  return std::string{checks_words[static_cast<std::size_t>(which)]};
}

/// The checks and the clock that a word is. Throw `protocol_error` for any other word.
inline checks to_checks(std::string const& word) {
  auto const* const which = std::find(checks_words.begin(), checks_words.end(), word);
  if (which == checks_words.end()) { throw protocol_error(word); }
  return static_cast<checks>(which - checks_words.begin());
}
inline clock to_clock(std::string const& word) {
  auto const* const which = std::find_if(all_clocks.begin(), all_clocks.end(),
                                         [&](clock each) { return to_string(each) == word; });
  if (which == all_clocks.end()) { throw protocol_error(word); }
  return *which;
}

/// The words of a timed cell behind the `ok` of a reply, and the cell that they are.
inline words from_cell(cell const& timed) {
  words reply{"ok"};
  for (double const each : timed.seconds) { reply.push_back(from_double(each)); }
  reply.push_back(from_double(timed.sm_hertz));
  reply.push_back(timed.disturbance);
  for (double const each : timed.launches) { reply.push_back(from_double(each)); }
  return reply;
}
inline cell to_cell(words const& reply) {
  cell timed;
  std::size_t next = 1;
  for (double& each : timed.seconds) { each = to_number<double>(at(reply, next++)); }
  timed.sm_hertz = to_number<double>(at(reply, next++));
  timed.disturbance = at(reply, next++);
  while (next < reply.size()) { timed.launches.push_back(to_number<double>(reply[next++])); }
  return timed;
}

/// One end of the socket; owns its descriptor.
class channel {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit channel(int descriptor) noexcept : descriptor_(descriptor) {}
  channel(channel const&) = delete;
  channel& operator=(channel const&) = delete;
  ~channel() { close(); }

  void close() noexcept {
    if (descriptor_ >= 0) { ::close(std::exchange(descriptor_, -1)); }
  }

  /// Sends a message; false when the other end is closed.
  bool send(words const& message) {
    auto const line = encode(message);
    for (std::string_view rest = line; !rest.empty();) {
      auto const sent = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) { continue; }
      if (sent < 0) { return false; }
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// The outcomes of `receive`.
  enum class receipt { message, closed, late };

  /// Blocks until a whole line is there, the other end is closed, or the deadline has passed.
  receipt receive(words& message, std::optional<time_point> deadline = {}) {
    for (;;) {
      if (auto const end = buffer_.find('\n'); end != buffer_.npos) {
        auto const line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        message = decode(line);
        return receipt::message;
      }
      if (buffer_.size() > longest_line) { throw protocol_error(buffer_); }
      if (!readable_until(deadline)) { return receipt::late; }
      std::array<char, 4096> piece{};
      auto const got = ::recv(descriptor_, piece.data(), piece.size(), 0);
      if (got < 0 && errno == EINTR) { continue; }
      if (got <= 0) { return receipt::closed; }
      buffer_.append(piece.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  static constexpr std::size_t longest_line = 1U << 20U;  // a longer line is no message

  bool readable_until(std::optional<time_point> deadline) const {
    if (!deadline) { return true; }
    for (;;) {
      auto const left = std::chrono::ceil<std::chrono::milliseconds>(
          *deadline - std::chrono::steady_clock::now());
      ::pollfd asked{descriptor_, POLLIN, 0};
      auto const wait = std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1 << 30);
      auto const ready = ::poll(&asked, 1, static_cast<int>(wait));
      if (ready >= 0 || errno != EINTR) { return ready != 0; }
    }
  }

  int descriptor_;
  std::string buffer_;
};

}  // namespace assay::measure::served
