// SPDX-License-Identifier: Apache-2.0
/// @file
/// `tried`: candidates of a library of the tests before the referee.
#pragma once

#include <assay/referee/json.hpp>
#include <assay/referee/run_referee.hpp>
#include <assay/referee/text.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "folder.hpp"

namespace assay::test {

/// The referee of a problem. A candidate is loaded under the name that selects its work. From its
/// comparison on there is a file `compared` beside it.
class tried {
 public:
  tried(char const* problem, char const* library, bool timed = false,
        std::chrono::seconds timeout = std::chrono::seconds{60})
      : library_(library), session_({problem}, options(timed, timeout, folder_ / "compared")) {}

  referee_result judge(std::string const& name, char const* library = nullptr) {
    auto const path = folder_ / (name + ".so");
    std::filesystem::remove(folder_ / "compared");
    std::filesystem::create_symlink(library != nullptr ? library : library_, path);
    auto found = session_.judge(path.string());
    std::filesystem::remove(path);
    std::ostringstream text;
    text << found;
    auto const line = report::json_line(found);
    // No CHECK here: on one in a member of this class nvcc 13.0 never ends, with Catch2 3.4.
    if (found.charges.size() > 1) { FAIL("more than one charge: " << text.str()); }
    if (line.find('\n') != std::string::npos) { FAIL("not one line: " << line); }
    return found;
  }

  /// The folder in which candidates lie.
  std::filesystem::path files() const { return folder_.path(); }

 private:
  static referee_options options(bool timed, std::chrono::seconds timeout,
                                 std::filesystem::path const& compared) {
    referee_options chosen;
    chosen.timed = timed;
    chosen.limits.timeout = timeout;
    chosen.measuring.max_seconds = 1;
    chosen.measuring.max_epochs = 8;
    chosen.measuring.seed = fresh_seed();
    chosen.measuring.progress = [compared](int epoch, int, std::string_view) {
      if (epoch > 0) { std::ofstream{compared}; }
    };
    return chosen;
  }

  folder folder_;
  char const* library_;
  referee_session session_;
};

}  // namespace assay::test
