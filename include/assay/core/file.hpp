// SPDX-License-Identifier: Apache-2.0
/// @file
/// Files that are there whole or not at all, and what is said of those that are not. POSIX.
#pragma once

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace assay {

/// A file that cannot be written; `what()` is one line with the path and the reason.
class file_error : public std::runtime_error {
 public:
  file_error(std::string const& path, std::string const& reason)
      : std::runtime_error("cannot write " + path + ": " + reason) {}
};

/// A file that cannot be read; `what()` is one line with the path and the reason.
class read_error : public std::runtime_error {
 public:
  read_error(std::string const& path, std::string const& reason)
      : std::runtime_error("cannot read " + path + ": " + reason) {}
};

namespace detail {

inline std::string reason_of(int code) { return std::generic_category().message(code); }

/// The file that a path names, through symbolic links, so that a rename does not replace the link.
inline std::string resolved(std::string const& path) {
  std::array<char, PATH_MAX> target{};
  return ::realpath(path.c_str(), target.data()) != nullptr ? target.data() : path;
}

/// The folder that a path names a file in.
inline std::string folder_of(std::string const& path) {
  auto const slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

/// Throws unless a path can name a regular file; whether it is one of the special files, such as
/// a terminal or a pipe, that must be written in place, since a rename would replace the device.
inline bool is_special(std::string const& path) {
  if (path.empty()) { throw std::invalid_argument("an output path is empty: name a file"); }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) { return false; }
    throw file_error(path, reason_of(errno));
  }
  if (S_ISDIR(info.st_mode)) { throw file_error(path, "it is a directory, name a file in it"); }
  return !S_ISREG(info.st_mode);
}

}  // namespace detail

/// A file in the making: a temporary in the folder of its target, gone unless it is committed. A
/// device or a pipe is written in place.
class new_file {
 public:
  /// Throws `file_error` unless a file can be made there.
  explicit new_file(std::string path)
      : path_(std::move(path)), in_place_(detail::is_special(path_)) {
    if (in_place_) {
      name_ = path_;
      descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CLOEXEC);
      if (descriptor_ < 0) { throw file_error(path_, detail::reason_of(errno)); }
      return;
    }
    target_ = detail::resolved(path_);
    name_ = target_ + ".XXXXXX";
    descriptor_ = ::mkstemp(name_.data());
    if (descriptor_ < 0) {
      auto const code = errno;
      auto const folder = detail::folder_of(path_);
      throw file_error(path_, "its folder " + folder + ": " + detail::reason_of(code));
    }
  }
  new_file(new_file const&) = delete;
  new_file& operator=(new_file const&) = delete;
  ~new_file() {
    if (descriptor_ >= 0) { ::close(descriptor_); }
    if (!in_place_ && !kept_) { ::unlink(name_.c_str()); }
  }

  /// Where the bytes are until the commit, for libraries that open files by name.
  std::string const& name() const noexcept { return name_; }
  /// Whether it is a device or a pipe, which cannot be sought in.
  bool in_place() const noexcept { return in_place_; }

  void write(std::string_view text) {
    while (!text.empty()) {
      auto const written = ::write(descriptor_, text.data(), text.size());
      if (written < 0) {
        if (errno == EINTR) { continue; }
        throw file_error(path_, detail::reason_of(errno));
      }
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  /// Puts the file, complete on the disk, in the place of its target.
  void commit() {
    auto failed = false;
    if (!in_place_) {
      // mkstemp makes a private file; a report is to be readable as any new file is.
      auto const mask = ::umask(0);
      ::umask(mask);
      failed = ::fchmod(descriptor_, 0666 & ~mask) != 0 || ::fsync(descriptor_) != 0;
    }
    failed = ::close(std::exchange(descriptor_, -1)) != 0 || failed;
    if (failed || (!in_place_ && ::rename(name_.c_str(), target_.c_str()) != 0)) {
      throw file_error(path_, detail::reason_of(errno));
    }
    kept_ = true;
  }

 private:
  std::string path_;
  std::string target_;
  std::string name_;
  int descriptor_ = -1;
  bool in_place_ = false;
  bool kept_ = false;
};

/// Throws `file_error` unless a file can be written at `path`, by making and removing a temporary
/// beside it: to be asked before a long run, so that its result is not lost.
inline void require_writable(std::string const& path) {
  if (!detail::is_special(path)) { new_file const probe{path}; }
}

/// Writes `text` to a temporary in the folder of `path`, then renames it: readers see the old file
/// or the new one, and after a failure (`file_error`) the old one is untouched. A device or a pipe
/// is written in place.
inline void write_atomically(std::string const& path, std::string_view text) {
  new_file file{path};
  file.write(text);
  file.commit();
}

/// The size of a regular file in bytes. Throws `read_error` for anything else: reading a pipe or a
/// device would wait, and a folder has nothing to read.
inline std::uintmax_t require_readable(std::string const& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) { throw read_error(path, detail::reason_of(errno)); }
  if (!S_ISREG(info.st_mode)) { throw read_error(path, "it is not a regular file"); }
  if (::access(path.c_str(), R_OK) != 0) { throw read_error(path, detail::reason_of(errno)); }
  return static_cast<std::uintmax_t>(info.st_size);
}

}  // namespace assay
