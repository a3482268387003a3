// SPDX-License-Identifier: Apache-2.0
/// @file
/// How a served program answers requests; also the problem programs of the referee.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/subject.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/serve/protocol.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace assay::measure::served {

/// The type of no exception.
struct none_passes {};

/// The reply of an action. An exception is a reply too, unless its type is `Passes`.
template <class Passes = none_passes, class Act>
words reply_of(Act&& act) {
  try {
    return act();
  } catch (Passes const&) { throw; } catch (std::exception const& cause) {
    words reply{"error", cause.what()};
    if (mr::is_out_of_memory(cause)) { reply.emplace_back("memory"); }
    return reply;
  } catch (...) { return {"error", "an exception of unknown type"}; }
}

/// Throws an error of another process. `mr::is_out_of_memory` holds for it where it did there.
[[noreturn]] inline void throw_error(std::string const& text, bool out_of_memory) {
  if (!out_of_memory) { throw std::runtime_error(text); }
  try {
    throw std::bad_alloc{};
  } catch (...) { std::throw_with_nested(std::runtime_error(text)); }
}
/// True for a reply of `reply_of` that says that memory ran out.
inline bool lacks_memory(words const& reply) { return reply.size() > 2 && reply[2] == "memory"; }

/// The answer to a request of a subject that is built.
inline words answer_of(subject& built, words const& request) {
  auto const& verb = at(request, 0);
  if (verb == "caveats") {
    words reply{"ok"};
    for (auto& each : built.caveats()) { reply.push_back(std::move(each)); }
    return reply;
  }
  if (verb == "empty") {
    auto const timed = built.time_empty(to_number<int>(at(request, 1)));
    return timed ? from_cell(*timed) : words{"ok"};
  }
  int const set = to_number<int>(at(request, 1));
  if (verb == "warm") {
    built.warm(set, to_number<int>(at(request, 2)));
    return {"ok"};
  }
  if (verb == "time") { return from_cell(built.time(set, to_number<int>(at(request, 2)))); }
  if (verb == "verify") {
    auto const wrong = built.verify(set);
    return wrong ? words{"wrong", *wrong} : words{"ok"};
  }
  throw protocol_error(verb);
}

/// The epoch of a request to build.
inline epoch epoch_of(words const& request) {
  epoch asked{.number = to_number<int>(at(request, 2)),
              .seed = to_number<std::uint64_t>(at(request, 3)),
              .instance = to_number<int>(at(request, 4))};
  if (auto const& word = at(request, 5); !word.empty()) { asked.decides = to_clock(word); }
  return asked;
}

/// The reply to a request to build. What a subject does not declare, its variant may.
inline words built_words(subject const& made, variant const& of) {
  auto const or_declared = [](double own, double declared) { return own > 0 ? own : declared; };
  return {"ok", from_double(or_declared(made.bytes(), of.bytes)),
          from_double(or_declared(made.flops(), of.flops)), to_word(made.checked())};
}

inline words greeting_words() { return {std::string{greeting}, std::to_string(protocol_version)}; }

/// Sends a greeting, then answers requests until the other end is closed.
template <class Answer>
void converse(channel& with, words const& hello, Answer&& answer) {
  words request;
  for (words reply = hello; with.send(reply);) {
    if (with.receive(request) != channel::receipt::message) { return; }
    reply = reply_of([&] { return answer(request); });
  }
}

/// The socket that the parent has opened for this program; nothing without such a parent. Throws
/// `std::invalid_argument` for a number that is no such socket: a launcher may close it, and this
/// program may then open a file or socket of the same number.
inline std::optional<int> inherited_descriptor() {
  char const* const given = std::getenv(descriptor_variable);
  if (given == nullptr) { return {}; }
  std::string const number = given;
  int const descriptor = std::atoi(number.c_str());
  ::unsetenv(descriptor_variable);  // a child of this program must not serve
  int kind = 0;
  ::socklen_t size = sizeof kind;
  if (number.empty() || ::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &kind, &size) != 0 ||
      kind != AF_UNIX || ::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
    throw std::invalid_argument(
        concat({descriptor_variable, "=", number,
                " names no open descriptor of assay_compare: unset it, or use --metric where a "
                "launcher has closed it"}));
  }
  return descriptor;
}

}  // namespace assay::measure::served
