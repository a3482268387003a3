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

inline std::string junit_case(std::string const& suite, std::string const& name,
                              std::string const& failure, std::string const& words) {
  auto const inner =
      failure.empty()
          ? concat({"<system-out>", escaped(words), "</system-out>"})
          : concat({"<failure type=\"", escaped(failure), "\" message=\"", escaped(words), "\"/>"});
  return concat({"    <testcase classname=\"", escaped(suite), "\" name=\"", escaped(name), "\">",
                 inner, "</testcase>\n"});
}

inline std::string junit_count(std::string_view name, std::size_t value) {
  return concat({" ", name, "=\"", std::to_string(value), "\""});
}

inline std::string junit_file(std::string const& suites, std::size_t tests, std::size_t failures) {
  return concat({"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites",
                 junit_count("tests", tests), junit_count("failures", failures), ">\n", suites,
                 "</testsuites>\n"});
}

}  // namespace detail

ASSAY_INLINE std::string junit(std::vector<measure::comparison const*> const& all,
                               junit_gate const& gate) {
  std::string suites;
  std::size_t tests = 0, failures = 0;
  for (auto const* each : all) {
    auto const suite = each->title.empty() ? "comparison" : each->title;
    auto cases = detail::junit_case(
        suite, "epochs", each->failure.empty() ? "" : "failed epoch",
        each->failure.empty() ? std::to_string(each->epochs) + " epochs" : each->failure);
    std::size_t failed = each->failure.empty() ? 0 : 1;
    for (auto const& found : each->findings) {
      auto const failure = detail::junit_failure(*each, found, gate);
      auto const typical = typical_sentence(found, *each);
      failed += failure.empty() ? 0U : 1U;
      cases += detail::junit_case(
          suite, concat({found.contrast_name, " (", to_string(found.on), " clock)"}), failure,
          concat({detail::verdict_text(found), ": ", sentence(found, *each),
                  typical.empty() ? "" : "; " + typical}));
    }
    auto const count = each->findings.size() + 1;
    auto const checked = detail::results_line(*each);
    if (!checked.empty()) {
      constexpr std::string_view name = "results";
      cases.insert(0, concat({"    <properties><property name=\"results\" value=\"",
                              escaped(checked.substr(name.size() + 2)), "\"/></properties>\n"}));
    }
    suites +=
        concat({"  <testsuite name=\"", escaped(suite), "\"", detail::junit_count("tests", count),
                detail::junit_count("failures", failed), " errors=\"0\" skipped=\"0\" time=\"",
                fixed(each->seconds, 3), "\" timestamp=\"", escaped(each->where.started_at),
                "\">\n", cases, "  </testsuite>\n"});
    tests += count;
    failures += failed;
  }
  return detail::junit_file(suites, tests, failures);
}

ASSAY_INLINE std::string junit(std::string const& suite, std::vector<junit_line> const& cases) {
  std::string text;
  std::size_t failures = 0;
  for (auto const& [name, failure, words] : cases) {
    failures += failure.empty() ? 0U : 1U;
    text += detail::junit_case(suite, name, failure, words);
  }
  text =
      concat({"  <testsuite name=\"", escaped(suite), "\"",
              detail::junit_count("tests", cases.size()), detail::junit_count("failures", failures),
              " errors=\"0\" skipped=\"0\">\n", text, "  </testsuite>\n"});
  return detail::junit_file(text, cases.size(), failures);
}

}  // namespace assay::report
