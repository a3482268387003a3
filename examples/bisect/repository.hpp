// SPDX-License-Identifier: Apache-2.0
/// @file
/// `repository`: the commits between two others, each with a worktree of its own that is built
/// once.
#pragma once

#include "../command_subject.hpp"
#include "../metric_subject.hpp"
#include "bisection.hpp"
#include "machine_code.hpp"
#include "watched_command.hpp"

#include <assay/core/atomic_file.hpp>
#include <assay/report/format.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

namespace fs = std::filesystem;

/// A commit of the range.
struct commit {
  std::string hash, subject;
  std::string name() const { return hash.substr(0, 12); }
  std::string text() const { return name() + " (" + subject + ")"; }
};

/// The git repository of the current folder. The user's checkout is only read.
class repository {
 public:
  /// Commit 0 is GOOD, the others are those of `git rev-list --first-parent GOOD..BAD`, the oldest
  /// first. `own` is the folder for builds; empty: `assay-bisect` in the folder of git.
  repository(std::string const& good, std::string const& bad, fs::path own)
      : folder_(std::move(own)) {
    if (git({"rev-parse", "--git-dir"}).empty()) {
      throw std::invalid_argument("this folder is in no git repository: run it inside one");
    }
    if (folder_.empty()) {
      folder_ = fs::path{line_of({"rev-parse", "--git-common-dir"})} / "assay-bisect";
    }
    fs::create_directories(folder_);
    folder_ = fs::canonical(folder_);
    auto const first = resolved("GOOD", good), last = resolved("BAD", bad);
    if (first == last) { throw std::invalid_argument("GOOD and BAD are one commit, " + first); }
    if (line_of({"merge-base", first, last}) != first) {
      throw std::invalid_argument("GOOD " + good + " is no ancestor of BAD " + bad +
                                  ": name the older commit first, and both of one line");
    }
    add({"-1", first});
    add({"--first-parent", "--reverse", first + ".." + last});
    lock_ = ::open((folder_ / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      throw std::runtime_error("another bisection works in " + folder_.string() +
                               "; name another place with --folder");
    }
  }
  repository(repository const&) = delete;
  repository& operator=(repository const&) = delete;
  ~repository() { ::close(lock_); }

  std::vector<commit> const& commits() const noexcept { return all_; }
  fs::path const& folder() const noexcept { return folder_; }

  /// The worktree of a commit and of one build command. All have names of one length, since names
  /// get into programs.
  fs::path tree(std::size_t index, std::string const& build) const {
    std::ostringstream name;
    name << all_.at(index).name() << '-' << std::hex << (number_of(build) >> 32U | 1U << 31U);
    return folder_ / name.str();
  }

  /// Builds a commit unless that was done before, and reads its machine code.
  built build(std::size_t index, std::string const& command) const {
    auto const place = tree(index, command);
    fs::path const done{place.string() + ".built"}, failed{place.string() + ".failed"},
        log{place.string() + ".log"};
    if (fs::exists(failed)) { return {"does not build, see " + fs::proximate(log).string()}; }
    if (!fs::exists(done)) {
      std::cerr << "building " << all_[index].text() << std::endl;
      auto const begin = std::chrono::steady_clock::now();
      fs::remove_all(place);  // of a build that was interrupted
      git({"worktree", "prune"});
      auto const out = watch(
          {{"git", "worktree", "add", "--detach", place.string(), all_[index].hash}, log.string()});
      if (!out.success()) { throw std::runtime_error("git worktree add failed: " + bytes_of(log)); }
      auto const end =
          watch({{"/bin/sh", "-c", "cd \"$1\" && eval \"$2\"", "sh", place.string(), command},
                 log.string(),
                 "still building"});
      std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - begin;
      std::cerr << (end.success() ? "  built in " : "  failed after ")
                << report::duration(spent.count()) << std::endl;
      write_atomically(end.success() ? done.string() : failed.string(),
                       end.success() ? machine_code(place, all_[index].hash) : "");
      return build(index, command);
    }
    return {"", bytes_of(done)};
  }

 private:
  /// What git prints; empty where it fails.
  static std::string git(std::vector<std::string> words) {
    words.insert(words.begin(), "git");
    try {
      return output_of({words});
    } catch (std::runtime_error const&) { return {}; }
  }
  static std::string line_of(std::vector<std::string> words) {
    auto const all = git(std::move(words));
    return all.substr(0, all.find('\n'));
  }
  static std::string resolved(std::string const& what, std::string const& revision) {
    auto const hash = line_of({"rev-parse", "--verify", "--quiet", revision + "^{commit}"});
    if (hash.empty()) {
      throw std::invalid_argument(what + ": '" + revision +
                                  "' names no commit here (a shallow clone lacks most)");
    }
    return hash;
  }
  void add(std::vector<std::string> range) {
    range.insert(range.begin(), {"log", "--format=%H %s"});
    std::istringstream lines{git(range)};
    for (std::string hash, subject;
         std::getline(lines, hash, ' ') && std::getline(lines, subject);) {
      all_.push_back({hash, subject});
    }
  }

  fs::path folder_;
  std::vector<commit> all_;
  int lock_ = -1;
};

}  // namespace assay::examples
