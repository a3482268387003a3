// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to serve.hpp: the program's side of the protocol.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/callables_definitions.hpp>
#include <assay/measure/subject.hpp>
#include <assay/serve.hpp>
#include <assay/serve/answers.hpp>
#include <assay/serve/protocol.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

namespace measure::served {

inline served_case const* find_case(std::vector<served_case> const& cases, std::string_view name) {
  for (auto const& each : cases) {
    if (each.name == name) { return &each; }
  }
  return nullptr;
}

inline std::string names_of(std::vector<served_case> const& cases) {
  std::string names;
  for (auto const& each : cases) { names += (names.empty() ? "" : ", ") + each.name; }
  return names;
}

/// The reason why these cases cannot be served; empty where they can.
inline std::string why_invalid(std::vector<served_case> const& cases) {
  if (cases.empty()) { return "assay::serve has no case: give it one or more"; }
  for (auto const& each : cases) {
    if (each.name.empty()) { return "a case of assay::serve has an empty name"; }
    if (find_case(cases, each.name) != &each) {
      return concat({"two cases of assay::serve have the name '", each.name, "'"});
    }
    if (!each.work.build) { return concat({"case '", each.name, "' has no build function"}); }
  }
  return {};
}

/// Builds a case, timed by its own clock unless the epoch names one.
inline std::unique_ptr<subject> make(served_case const& of, epoch now) {
  if (!now.decides) { now.decides = of.decides; }
  auto made = of.work.build(now);
  if (!made) { throw std::runtime_error("its build function returned no subject"); }
  return made;
}

/// The program's side of the protocol. It has at most one subject at a time.
class server {
 public:
  server(int descriptor, std::vector<served_case> const& cases)
      : channel_(descriptor), cases_(cases) {}

  /// Answers requests until assay_compare closes the socket.
  int run() {
    auto const invalid = why_invalid(cases_);
    converse(channel_, invalid.empty() ? greeting_words() : words{"error", invalid},
             [&](words const& request) { return answer(request); });
    return invalid.empty() ? 0 : 2;
  }

 private:
  words answer(words const& request) {
    auto const& verb = at(request, 0);
    if (verb == "cases") {
      words reply{"ok"};
      for (auto const& each : cases_) {
        reply.push_back(each.name);
        reply.emplace_back(to_string(each.decides));
      }
      return reply;
    }
    if (verb == "build") { return build(request); }
    if (!subject_) { throw std::logic_error(concat({"'", verb, "' before 'build'"})); }
    return answer_of(*subject_, request);
  }

  words build(words const& request) {
    auto const* const found = find_case(cases_, at(request, 1));
    if (found == nullptr) {
      throw std::invalid_argument(
          concat({"no case '", request[1], "': the program has ", names_of(cases_)}));
    }
    subject_.reset();
    subject_ = make(*found, epoch_of(request));
    return built_words(*subject_, found->work);
  }

  channel channel_;
  std::vector<served_case> const& cases_;
  std::unique_ptr<subject> subject_;
};

/// Verifies one case in both buffer sets, and prints the result and how much of it was checked.
inline int try_case(served_case const& of) {
  try {
    auto const made = make(of, {});
    for (int set = 0; set < 2; ++set) {
      if (auto const wrong = made->verify(set)) {
        std::printf("%s: WRONG ANSWER, buffer set %d: %s\n", of.name.c_str(), set, wrong->c_str());
        return 1;
      }
    }
    auto const checked = made->checked();
    std::printf("%s: results: %s%s\n", of.name.c_str(), std::string{to_string(checked)}.c_str(),
                checked == checks::all ? "" : " (a factory says what is right by setup.expect)");
    return 0;
  } catch (std::exception const& cause) {
    std::fprintf(stderr, "error: case '%s': %s\n", of.name.c_str(), cause.what());
  } catch (...) {
    std::fprintf(stderr, "error: case '%s': an exception of unknown type\n", of.name.c_str());
  }
  return 4;
}

/// The program without assay_compare: prints its help or its cases, or runs one case.
inline int stand_alone(std::vector<std::string> const& arguments,
                       std::vector<served_case> const& cases) {
  auto const refuse = [](std::string const& why) {
    std::fprintf(stderr, "error: %s; see --help\n", why.c_str());
    return 2;
  };
  auto const invalid = why_invalid(cases);
  if (!invalid.empty()) { return refuse(invalid); }
  std::string const program = arguments.empty() ? "program" : arguments[0];
  auto const verb = arguments.size() > 1 ? arguments[1] : "--help";
  if (verb == "--case") {
    if (arguments.size() != 3) { return refuse("--case takes one name"); }
    auto const* const found = find_case(cases, arguments[2]);
    if (found != nullptr) { return try_case(*found); }
    return refuse(
        concat({"--case: unknown case '", arguments[2], "': choose one of ", names_of(cases)}));
  }
  if (verb != "--list" && verb != "--help" && verb != "-h") {
    return refuse(concat({"unknown option '", verb, "'"}));
  }
  if (arguments.size() > 2) { return refuse(concat({"unknown option '", arguments[2], "'"})); }
  if (verb != "--list") {
    std::printf(
        "This program is compared with another build of it: assay_compare %s OTHER_BUILD\n"
        "Alone it runs nothing but --case NAME, once and with verification. --list names its "
        "cases.\n"
        "Exit codes: 0 done; 1 wrong answer; 2 bad input; 4 failure.\nCases:\n",
        program.c_str());
  }
  for (auto const& each : cases) {
    std::printf("%s%s\n", verb == "--list" ? "" : "  ", each.name.c_str());
  }
  return 0;
}

}  // namespace measure::served

ASSAY_INLINE int serve(int argc, char const* const* argv, std::vector<served_case> const& cases) {
  namespace served = measure::served;
  try {
    auto const descriptor = served::inherited_descriptor();
    if (descriptor) { return served::server{*descriptor, cases}.run(); }
  } catch (std::exception const& cause) {
    std::fprintf(stderr, "error: %s\n", cause.what());
    return dynamic_cast<std::invalid_argument const*>(&cause) != nullptr ? 2 : 4;
  }
  return served::stand_alone(std::vector<std::string>(argv, argv + argc), cases);
}

}  // namespace assay
