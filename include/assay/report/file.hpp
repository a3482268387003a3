// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writing a file so that it is there whole or not at all. POSIX.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace assay::report {

/// A file that cannot be written; `what()` is one line with the path and the reason.
class file_error : public std::runtime_error {
 public:
  file_error(std::filesystem::path const& path, std::string const& reason)
      : std::runtime_error("cannot write " + path.string() + ": " + reason) {}
};

namespace detail {

inline std::string reason_of(int code) { return std::generic_category().message(code); }

/// The file that a path names, through symbolic links, so that a rename does not replace the link.
inline std::filesystem::path resolved(std::filesystem::path const& path) {
  std::error_code ignored;
  auto target = std::filesystem::weakly_canonical(path, ignored);
  return ignored ? path : target;
}

/// Throws unless a path can name a regular file; whether it is one of the special files, such as
/// a terminal or a pipe, that must be written in place, since a rename would replace the device.
inline bool is_special(std::filesystem::path const& path) {
  if (path.empty()) { throw std::invalid_argument("an output path is empty: name a file"); }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) { return false; }
    throw file_error(path, reason_of(errno));
  }
  if (S_ISDIR(info.st_mode)) { throw file_error(path, "it is a directory, name a file in it"); }
  return !S_ISREG(info.st_mode);
}

/// A file in the making beside its target; gone when it is not kept.
class temporary_file {
 public:
  explicit temporary_file(std::filesystem::path const& shown, std::filesystem::path const& target)
      : shown_(shown), name_(target.string() + ".XXXXXX") {
    descriptor_ = ::mkstemp(name_.data());
    if (descriptor_ < 0) {
      auto const code = errno;
      auto const folder = shown.has_parent_path() ? shown.parent_path().string() : ".";
      throw file_error(shown, "its folder " + folder + ": " + reason_of(code));
    }
  }
  temporary_file(temporary_file const&) = delete;
  temporary_file& operator=(temporary_file const&) = delete;
  ~temporary_file() {
    if (descriptor_ >= 0) { ::close(descriptor_); }
    if (!kept_) { ::unlink(name_.c_str()); }
  }

  int descriptor() const noexcept { return descriptor_; }

  /// Puts the file, complete on the disk, in the place of `target`.
  void become(std::filesystem::path const& target) {
    // mkstemp makes a private file; a report is to be readable as any new file is.
    auto const mask = ::umask(0);
    ::umask(mask);
    auto failed = ::fchmod(descriptor_, 0666 & ~mask) != 0 || ::fsync(descriptor_) != 0;
    failed = ::close(std::exchange(descriptor_, -1)) != 0 || failed;
    if (failed || ::rename(name_.c_str(), target.c_str()) != 0) {
      throw file_error(shown_, reason_of(errno));
    }
    kept_ = true;
  }

 private:
  std::filesystem::path shown_;
  std::string name_;
  int descriptor_ = -1;
  bool kept_ = false;
};

inline void write_all(std::filesystem::path const& shown, int descriptor, std::string_view text) {
  while (!text.empty()) {
    auto const written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) { continue; }
      throw file_error(shown, reason_of(errno));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

inline void write_in_place(std::filesystem::path const& path, std::string_view text) {
  auto const descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) { throw file_error(path, reason_of(errno)); }
  try {
    write_all(path, descriptor, text);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  if (::close(descriptor) != 0) { throw file_error(path, reason_of(errno)); }
}

}  // namespace detail

/// Throws `file_error` unless a file can be written at `path`, by making and removing a temporary
/// beside it: to be asked before a long run, so that its result is not lost.
inline void require_writable(std::filesystem::path const& path) {
  auto const target = detail::resolved(path);
  if (!detail::is_special(path)) { detail::temporary_file const probe{path, target}; }
}

/// Writes `text` to a temporary in the folder of `path`, then renames it: readers see the old file
/// or the new one, and after a failure (`file_error`) the old one is untouched. A device or a pipe
/// is written in place.
inline void write_atomically(std::filesystem::path const& path, std::string_view text) {
  if (detail::is_special(path)) {
    detail::write_in_place(path, text);
    return;
  }
  auto const target = detail::resolved(path);
  detail::temporary_file file{path, target};
  detail::write_all(path, file.descriptor(), text);
  file.become(target);
}

}  // namespace assay::report
