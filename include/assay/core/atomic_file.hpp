// SPDX-License-Identifier: Apache-2.0
/// @file
/// Files that appear whole or not at all, the errors of reading and writing files, and files that
/// would overwrite each other. POSIX.
#pragma once

#include <assay/core/requirements.hpp>

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

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

/// The folder that a path names a file in.
inline std::string folder_of(std::string const& path) {
  auto const slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

/// The file that a path names, through symbolic links, so that a rename does not replace the link.
inline std::string resolved(std::string path) {
  std::array<char, PATH_MAX> target{};
  constexpr int most_links = 40;  // as Linux
  for (int i = 0; i < most_links; ++i) {
    if (::realpath(path.c_str(), target.data()) != nullptr) { return target.data(); }
    // No such file yet, perhaps behind a link.
    auto const length = ::readlink(path.c_str(), target.data(), target.size());
    if (length < 0) { break; }
    std::string const next(target.data(), static_cast<std::size_t>(length));
    path = next.starts_with('/') ? next : folder_of(path) + '/' + next;
  }
  return path;
}

/// The one path of a file, with all links of its folders resolved, whether it is there or not.
inline std::string own_path(std::string const& path) {
  auto const file = resolved(path);
  std::array<char, PATH_MAX> folder{};
  if (::realpath(folder_of(file).c_str(), folder.data()) == nullptr) { return file; }
  return std::string{folder.data()} + '/' + file.substr(file.rfind('/') + 1);
}

/// The descriptor of this process that a path such as /dev/stdout names, or -1.
inline int descriptor_of(std::string_view path) {
  if (path == "/dev/stdout") { return STDOUT_FILENO; }
  if (path == "/dev/stderr") { return STDERR_FILENO; }
  for (std::string_view const folder : {"/dev/fd/", "/proc/self/fd/"}) {
    int number = -1;
    auto const end = path.data() + path.size();
    if (path.starts_with(folder) &&
        std::from_chars(path.data() + folder.size(), end, number).ptr == end) {
      return number;
    }
  }
  return -1;
}

/// True for what must be written in place: a special file such as a terminal or a pipe, which a
/// rename would replace, and an open file of a process. Throws where a path cannot name a file.
inline bool is_special(std::string const& path) {
  if (path.empty()) { throw std::invalid_argument("an output path is empty: name a file"); }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) { return false; }
    throw file_error(path, reason_of(errno));
  }
  if (S_ISDIR(info.st_mode)) { throw file_error(path, "it is a directory, name a file in it"); }
  return !S_ISREG(info.st_mode) || path.starts_with("/proc/") || descriptor_of(path) >= 0;
}

}  // namespace detail

/// A file that replaces its target at `commit()`. Until then the bytes are in a temporary file in
/// the target's folder, which the destructor removes. A device, a pipe or an open file such as
/// /dev/stdout is written in place.
class atomic_file {
 public:
  /// Throws `file_error` unless a file can be made there.
  explicit atomic_file(std::string path)
      : path_(std::move(path)), in_place_(detail::is_special(path_)) {
    if (in_place_) {
      name_ = path_;
      // A copy of a descriptor has its place in the file: what is printed there later follows.
      auto const opened = detail::descriptor_of(path_);
      descriptor_ = opened >= 0 ? ::fcntl(opened, F_DUPFD_CLOEXEC, 0)
                                : ::open(name_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
      if (descriptor_ < 0) { throw file_error(path_, detail::reason_of(errno)); }
      return;
    }
    target_ = detail::resolved(path_);
    // mkstemp makes private files. open() gives the file the permissions of a new file.
    static std::atomic<unsigned> made{0};
    do {
      name_ = target_ + '.' + std::to_string(::getpid()) + '.' + std::to_string(++made);
      descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) {
      auto const code = errno;
      auto const folder = detail::folder_of(path_);
      throw file_error(path_, "its folder " + folder + ": " + detail::reason_of(code));
    }
  }
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  ~atomic_file() {
    if (descriptor_ >= 0) { ::close(descriptor_); }
    if (!in_place_ && !kept_) { ::unlink(name_.c_str()); }
  }

  /// The path of the temporary file, for libraries that open files by name.
  std::string const& name() const noexcept { return name_; }
  /// True for a device or a pipe, which has no positions to seek.
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

  /// Flushes the file to the disk and puts it in the place of its target.
  void commit() {
    auto failed = !in_place_ && ::fsync(descriptor_) != 0;
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

/// Throws `file_error` unless a file can be written at `path`. The function makes and removes a
/// temporary file beside it. A call before a long run saves the run's result.
inline void require_writable(std::string const& path) {
  if (!detail::is_special(path)) { atomic_file const probe{path}; }
}

/// Writes `text` through an `atomic_file`: readers see the old file or the new one. After a failure
/// (`file_error`) the old file is untouched.
inline void write_atomically(std::string const& path, std::string_view text) {
  atomic_file file{path};
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

/// True if two paths name one file, however they are written and through links of both kinds, also
/// where it is not there yet.
inline bool same_file(std::string const& one, std::string const& other) {
  struct stat a {
  }, b{};
  if (::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  }
  return detail::own_path(one) == detail::own_path(other);
}

/// Tells a file from one that another process has put at its path, or written anew; empty where
/// there is none.
inline std::string file_version(std::string const& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) { return {}; }
  std::string all;
  for (auto const each :
       {static_cast<long long>(info.st_dev), static_cast<long long>(info.st_ino),
        static_cast<long long>(info.st_size), static_cast<long long>(info.st_mtim.tv_sec),
        static_cast<long long>(info.st_mtim.tv_nsec)}) {
    all += std::to_string(each) + ' ';
  }
  return all;
}

/// The files that a run reads and writes. Each file that it writes needs a path of its own.
class run_files {
 public:
  /// Adds a file that is read; `what` it is in messages, such as "the trace".
  void read(std::string what, std::string path) {
    read_.push_back({std::move(what), std::move(path)});
  }

  /// Adds a file that an option asks for. Throws `std::invalid_argument` for a file that the run
  /// reads, or that it writes for another option.
  void write(std::string option, std::string path) {
    for (auto const& each : read_) {
      if (!same_file(each.path, path)) { continue; }
      throw std::invalid_argument(option + ' ' + path + " would overwrite " + each.name + ' ' +
                                  each.path + "; choose another path");
    }
    for (auto const& each : written_) {
      if (!same_file(each.path, path)) { continue; }
      throw std::invalid_argument("two outputs are written to " + path + ", by " + each.name +
                                  " and by " + option + "; give each its own path");
    }
    written_.push_back({std::move(option), std::move(path)});
  }

 private:
  struct named_file {
    std::string name, path;
  };
  std::vector<named_file> read_, written_;
};

}  // namespace assay
