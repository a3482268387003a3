// SPDX-License-Identifier: Apache-2.0
/// @file
/// `repository`: the commits between two others, each with a worktree of its own that is built
/// once.
#pragma once

#include "../command_subject.hpp"
#include "bisection.hpp"
#include "machine_code.hpp"
#include "run_logged.hpp"

#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/place.hpp>
#include <assay/machine/file_lines.hpp>
#include <assay/machine/host_environment.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace assay::examples {

namespace fs = std::filesystem;

/// A commit of the range.
struct commit {
  std::string hash, subject;
  std::string name() const { return hash.substr(0, 12); }
  std::string text() const { return name() + " (" + subject + ")"; }
};

/// A number of a text, as eight digits.
inline std::string number_of(std::string const& text) {
  std::ostringstream digits;
  digits << std::hex << (std::hash<std::string>{}(text) >> 32U | 1U << 31U);
  return digits.str();
}

/// The processor, the number of cores and the GPUs: answers of another machine do not count here.
inline std::string this_machine(fs::path const& gpus = "/proc/driver/nvidia/gpus") {
  std::vector<std::string> models;
  std::error_code none;
  for (auto const& each : fs::directory_iterator{gpus, none}) {
    for (auto const& line : machine::file_lines(each.path() / "information")) {
      if (line.starts_with("Model:")) { models.push_back(line); }
    }
  }
  std::ranges::sort(models);
  auto all = concat({machine::host_cpu_name(), "\n", std::to_string(usable_cores())});
  for (auto const& each : models) { all += '\n' + each; }
  return all;
}

/// Prints the commits $1 and those after it until $2, the oldest first. All that it prints is read,
/// so git's warnings and signatures are left out.
inline constexpr auto list_commits = R"sh(exec 2> /dev/null
fail() { echo "$1"; exit 1; }
commit() { git rev-parse --verify --quiet "$2^{commit}" || fail "$1: '$2' names no commit here (a shallow clone lacks most)"; }
good=$(commit GOOD "$1") || fail "$good"
bad=$(commit BAD "$2") || fail "$bad"
[ "$good" != "$bad" ] || fail "GOOD and BAD are one commit, $good"
[ "$(git merge-base "$good" "$bad")" = "$good" ] ||
  fail "GOOD $1 is no ancestor of BAD $2: name the older commit first, and both of one line"
git log --no-show-signature -1 --format='%H %s' "$good"
git log --no-show-signature --first-parent --reverse --format='%H %s' "$good..$bad"
)sh";

/// The folder of git, which all worktrees share.
inline fs::path git_folder() {
  try {
    auto const line = output_of(command{{"git", "rev-parse", "--git-common-dir"}});
    return line.substr(0, line.find('\n'));
  } catch (std::runtime_error const&) {
    throw std::invalid_argument("this folder is in no git repository: run it inside one");
  }
}

/// The git repository of the current folder. The user's checkout is only read.
class repository {
 public:
  /// Commit 0 is GOOD, the others are those of `git rev-list --first-parent GOOD..BAD`, the oldest
  /// first. Builds go into `folder`.
  repository(std::string const& good, std::string const& bad, fs::path const& folder) {
    fs::create_directories(folder);
    folder_ = fs::canonical(folder);
    lock_ = ::open((folder_ / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      throw std::runtime_error("another bisection works in " + folder_.string() +
                               "; name another place with --folder");
    }
    auto const log = (folder_ / "commits.log").string();
    auto const end = run_logged({"/bin/sh", "-c", list_commits, "sh", good, bad}, log);
    std::istringstream lines{bytes_of(log)};
    if (!end.success()) { throw std::invalid_argument(lines.str()); }
    for (commit each; std::getline(lines, each.hash, ' ') && std::getline(lines, each.subject);) {
      commits_.push_back(each);
    }
  }
  repository(repository const&) = delete;
  repository& operator=(repository const&) = delete;
  ~repository() { ::close(lock_); }

  std::vector<commit> const& commits() const noexcept { return commits_; }
  fs::path const& folder() const noexcept { return folder_; }

  /// The worktree of a commit and of one build command. All have names of one length, since names
  /// get into programs.
  fs::path tree(std::size_t index, std::string const& build) const {
    return folder_ / (commits_.at(index).name() + '-' + number_of(build));
  }

  /// Builds a commit unless that was done before, and reads its machine code.
  built build(std::size_t index, std::string const& command) const {
    auto const place = tree(index, command).string(), done = place + ".built", log = place + ".log";
    std::string const failure = "does not build";
    if (!fs::exists(done)) {
      std::cerr << "building " << commits_[index].text() << std::endl;
      fs::remove_all(place);  // of a build that was interrupted
      auto const end =
          run_logged({"/bin/sh", "-c",
                      "git worktree prune && git worktree add --detach \"$1\" \"$2\" && cd "
                      "\"$1\" && eval \"$3\"",
                      "sh", place, commits_[index].hash, command},
                     log);
      write_atomically(done, end.success() ? machine_code(place, commits_[index].hash) : failure);
    }
    auto const code = bytes_of(done);
    if (code == failure) {
      return {concat({failure, ", see ", fs::proximate(log).string(), " (remove ",
                      fs::proximate(done).string(), " to build it again)"}),
              {}};
    }
    return {{}, code};
  }

 private:
  fs::path folder_;
  std::vector<commit> commits_;
  int lock_ = -1;
};

}  // namespace assay::examples
