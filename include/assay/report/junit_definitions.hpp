// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to junit.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/headline.hpp>
#include <assay/report/junit.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

namespace detail {

/// Why a finding fails its test case: a wrong answer, a guard that objects on the primary clock, or
/// the gate; empty where it passes.
inline std::string junit_failure(measure::comparison const& all, measure::finding const& of,
                                 junit_gate const& gate) {
  if (of.outcome == measure::verdict::wrong_answer ||
      (of.primary && of.outcome == measure::verdict::unproven)) {
    return std::string{to_string(of.outcome)};
  }
  return gate ? gate(all, of) : "";
}

inline std::string junit_count(std::string_view name, std::size_t value) {
  return concat({" ", name, "=\"", std::to_string(value), "\""});
}

/// Suites of test cases, one below the other.
struct junit_suites {
  std::string text{};
  std::size_t tests = 0, failures = 0;

  /// `more` are attributes of the suite, and `first` are elements before its cases.
  void add(std::string const& suite, std::vector<junit_line> const& cases,
           std::string const& more = {}, std::string const& first = {}) {
    auto inner = first;
    std::size_t failed = 0;
    for (auto const& [name, failure, words] : cases) {
      auto const tag = concat(
          {"    <testcase classname=\"", escaped(suite), "\" name=\"", escaped(name), "\">"});
      inner += failure.empty()
                   ? concat({tag, "<system-out>", escaped(words), "</system-out></testcase>\n"})
                   : concat({tag, "<failure type=\"", escaped(failure), "\" message=\"",
                             escaped(words), "\"/></testcase>\n"});
      failed += failure.empty() ? 0U : 1U;
    }
    text += concat({"  <testsuite name=\"", escaped(suite), "\"",
                    junit_count("tests", cases.size()), junit_count("failures", failed),
                    " errors=\"0\" skipped=\"0\"", more, ">\n", inner, "  </testsuite>\n"});
    tests += cases.size();
    failures += failed;
  }
  std::string file() const {
    return concat({"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites",
                   junit_count("tests", tests), junit_count("failures", failures), ">\n", text,
                   "</testsuites>\n"});
  }
};

}  // namespace detail

ASSAY_INLINE std::string junit(std::vector<measure::comparison const*> const& all,
                               junit_gate const& gate) {
  detail::junit_suites suites;
  for (auto const* each : all) {
    std::vector<junit_line> cases{
        {"epochs", each->failure.empty() ? "" : "failed epoch",
         each->failure.empty() ? std::to_string(each->epochs) + " epochs" : each->failure}};
    for (auto const& found : each->findings) {
      auto const typical = typical_sentence(found, *each);
      cases.push_back({concat({found.contrast_name, " (", to_string(found.on), " clock)"}),
                       detail::junit_failure(*each, found, gate),
                       concat({detail::verdict_text(found), ": ", sentence(found, *each),
                               typical.empty() ? "" : "; " + typical})});
    }
    auto checked = detail::results_line(*each);
    if (!checked.empty()) {
      constexpr std::string_view name = "results: ";
      checked = concat({"    <properties><property name=\"results\" value=\"",
                        escaped(checked.substr(name.size())), "\"/></properties>\n"});
    }
    suites.add(each->title.empty() ? "comparison" : each->title, cases,
               concat({" time=\"", fixed(each->seconds, 3), "\" timestamp=\"",
                       escaped(each->where.started_at), "\""}),
               checked);
  }
  return suites.file();
}

ASSAY_INLINE std::string junit(std::string const& suite, std::vector<junit_line> const& cases) {
  detail::junit_suites suites;
  suites.add(suite, cases);
  return suites.file();
}

}  // namespace assay::report
