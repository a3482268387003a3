// SPDX-License-Identifier: Apache-2.0
/// @file
/// `assay::serve_problem`: the program in which the referee loads a candidate.
#pragma once

#include <assay/referee/problem.hpp>

#include <functional>
#include <memory>

namespace assay {
namespace referee_detail {

class candidate_place;

/// Serves a problem on a place that `make` makes, once there is a referee.
int serve_on(problem const& of, std::function<std::unique_ptr<candidate_place>()> const& make);

}  // namespace referee_detail

/// Serves a problem on the host: `int main() { return assay::serve_problem(of); }`. Candidates do
/// their work before their call returns.
///
/// Refuses a problem that accepts zeros, a constant, the results of other inputs or its own inputs,
/// and names the expectation that is too loose. Scalars that `declare` returns, and inputs of
/// `from`, are the same in all calls: a candidate may have them in its code, and is not told from
/// one that reads them. Those of `setup::scalar` vary.
int serve_problem(problem const& of);

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/referee/serve_problem_definitions.hpp>
#endif
