// SPDX-License-Identifier: Apache-2.0
/// @file
/// `referee`: judges a candidate from outside against a problem's reference.
#pragma once

#include <assay/measure/options.hpp>
#include <assay/referee/charge.hpp>
#include <assay/serve/remote_options.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace assay {
namespace referee_detail {
class session;
}

/// Options of the referee.
struct referee_options {
  /// `hidden_control` is a second process of the reference. The examination warms up too.
  measure::options measuring{.warm_up_seconds = 0.05};
  measure::remote_options limits{.timeout = std::chrono::duration<double>{20},
                                 .shutdown = std::chrono::duration<double>{1}};
  bool timed = true;  ///< false: only the examination
};

/// Judges candidates of one problem, one after another.
///
/// The processes of the reference are kept. Each candidate has a process of its own, which is
/// started while the candidate before it is examined, so that it is ready when the next one comes.
class referee_session {
 public:
  /// `problem` is the command of a program that calls `serve_problem`. Throws
  /// `std::invalid_argument` where it does not, and for options that cannot be.
  explicit referee_session(std::vector<std::string> problem, referee_options chosen = {});

  /// The verdict on a shared library. A candidate that cannot be judged has a charge of `failure`.
  /// Throws `std::runtime_error` where the problem's own reference is wrong or fails.
  referee_result judge(std::string const& candidate);

 private:
  std::shared_ptr<referee_detail::session> session_;
};

/// Judges one candidate; `referee_session` judges several in less time.
referee_result referee(std::vector<std::string> const& problem, std::string const& candidate,
                       referee_options const& chosen = {});

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/referee/run_referee_definitions.hpp>
#endif
