// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it replaces umask
#include "catch.hpp"
#include "folder.hpp"

#include <assay/core/atomic_file.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

using namespace assay;
namespace fs = std::filesystem;

using assay::test::content;
using assay::test::folder;

namespace {

std::atomic<int> mask_calls = 0;

}  // namespace

// In the place of the C library's function, which changes the mask of all threads.
extern "C" ::mode_t umask(::mode_t mask) noexcept {
  ++mask_calls;
  return static_cast<::mode_t>(::syscall(SYS_umask, mask));
}

namespace {

void refused(fs::path const& path, std::string const& reason) {
  INFO(path);
  auto const why = [](auto const& call) -> std::string {
    try {
      call();
    } catch (file_error const& error) { return error.what(); }
    return "nothing was thrown";
  };
  for (auto const& text :
       {why([&] { require_writable(path); }), why([&] { write_atomically(path, "text"); })}) {
    CHECK_THAT(text, assay::test::contains(path.string()));
    CHECK_THAT(text, assay::test::contains(reason));
  }
}

}  // namespace

TEST_CASE("a file is written whole, replaces an older one, and leaves nothing beside it") {
  folder const here;
  write_atomically(here / "a.json", "first");
  CHECK(content(here / "a.json") == "first");
  std::string const large(3'000'000, 'x');
  write_atomically(here / "a.json", large);
  CHECK(content(here / "a.json") == large);
  write_atomically(here / "a.json", "");
  CHECK(content(here / "a.json").empty());
  CHECK(here.entries() == 1);
}

TEST_CASE("a new file is as readable as any other") {
  folder const here;
  auto const mask = ::umask(022);
  write_atomically(here / "a", "text");
  ::umask(mask);
  CHECK((fs::status(here / "a").permissions() & fs::perms::mask) == fs::perms{0644});
}

TEST_CASE("writing a file leaves the mask of the process alone, if only for a moment") {
  folder const here;
  auto const before = mask_calls.load();
  write_atomically(here / "a", "text");
  require_writable(here / "b");
  CHECK(mask_calls == before);
}

TEST_CASE("a path in the current folder needs no folder in its name") {
  folder const here;
  auto const before = fs::current_path();
  fs::current_path(here.path());
  require_writable("plain.txt");
  write_atomically("plain.txt", "text");
  fs::current_path(before);
  CHECK(content(here / "plain.txt") == "text");
  CHECK(here.entries() == 1);
}

TEST_CASE("asking whether a path can be written leaves no trace") {
  folder const here;
  require_writable(here / "a");
  CHECK(here.entries() == 0);
  write_atomically(here / "a", "old");
  require_writable(here / "a");
  CHECK(content(here / "a") == "old");
  CHECK(here.entries() == 1);
}

TEST_CASE("a path that cannot be written is refused by name, with the reason") {
  folder const here;
  refused(here / "missing/a.json", "No such file or directory");
  refused(here.path(), "it is a directory");
  write_atomically(here / "file", "x");
  refused(here / "file/a.json", "Not a directory");
  CHECK_THROWS_AS(write_atomically("", "text"), std::invalid_argument);
  CHECK_THROWS_AS(require_writable(""), std::invalid_argument);
  CHECK(here.entries() == 1);
}

TEST_CASE("a read-only folder is refused, and the old file stays") {
  folder const here;
  write_atomically(here / "a", "old");
  fs::permissions(here.path(), fs::perms::owner_read | fs::perms::owner_exec);
  if (::geteuid() == 0) {
    // No permission stops root; a folder of the kernel does.
    refused("/proc/assay.json", "its folder /proc");
    return;
  }
  refused(here / "a", "Permission denied");
  CHECK(content(here / "a") == "old");
}

TEST_CASE("a write that fails half-way leaves the old file and nothing else") {
  folder const here;
  write_atomically(here / "a", "old");
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit const small{4096, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string reason;
  try {
    write_atomically(here / "a", std::string(100'000, 'x'));
  } catch (file_error const& error) { reason = error.what(); }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_THAT(reason, assay::test::contains("File too large"));
  CHECK(content(here / "a") == "old");
  CHECK(here.entries() == 1);
}

TEST_CASE("a symbolic link keeps pointing at what is written") {
  folder const here;
  write_atomically(here / "target", "old");
  fs::create_symlink(here / "target", here / "link");
  write_atomically(here / "link", "new");
  CHECK(fs::is_symlink(here / "link"));
  CHECK(content(here / "target") == "new");
}

TEST_CASE("a symbolic link to a file that is not there yet stays a link") {
  folder const here;
  fs::create_directory(here / "results");
  fs::create_symlink("results/target", here / "second");
  fs::create_symlink(here / "second", here / "first");
  write_atomically(here / "first", "new");
  CHECK(fs::is_symlink(here / "first"));
  CHECK(fs::is_symlink(here / "second"));
  CHECK(content(here / "results/target") == "new");
  fs::create_symlink("round", here / "round");
  refused(here / "round", "symbolic links");
}

TEST_CASE("one file is known by all of its names, also before it is there") {
  folder const here;
  fs::create_directory(here / "results");
  fs::create_directory_symlink("results", here / "also");
  fs::create_symlink("results/x", here / "link");
  auto const names = {here / "results/x", here / "results/../results/./x", here / "also/x",
                      here / "link"};
  for (bool const there : {false, true}) {
    if (there) { write_atomically(here / "link", "text"); }
    for (auto const& one : names) {
      for (auto const& other : names) { CHECK(same_file(one, other)); }
      CHECK_FALSE(same_file(one, here / "x"));
      CHECK_FALSE(same_file(one, here / "results/y"));
    }
  }
  fs::create_hard_link(here / "results/x", here / "hard");
  CHECK(same_file(here / "link", here / "hard"));
  CHECK_FALSE(same_file("no/such/x", "no/such/y"));
}

TEST_CASE("a run writes no file twice, and none that it reads") {
  folder const here;
  run_files files;
  files.read("the trace", here / "a");
  files.write("--html", here / "b");
  CHECK_THROWS_WITH(
      files.write("--json", here / "./a"),
      assay::test::contains("--json") && assay::test::contains("overwrite the trace"));
  CHECK_THROWS_WITH(files.write("--json", here / "./b"),
                    assay::test::contains("--html") && assay::test::contains("its own path"));
  files.write("--json", here / "c");
}

TEST_CASE("an open file is written where it stands, not replaced") {
  folder const here;
  auto const path = here / "out";
  int const file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0666);
  REQUIRE(file >= 0);
  REQUIRE(::write(file, "before, ", 8) == 8);
  for (std::string const folder : {"/dev/fd/", "/proc/self/fd/"}) {
    require_writable(folder + std::to_string(file));
    write_atomically(folder + std::to_string(file), "text, ");
  }
  auto const own = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
  write_atomically(own, "more, ");
  REQUIRE(::lseek(file, 0, SEEK_END) == 26);
  REQUIRE(::write(file, "after", 5) == 5);
  CHECK(content(path) == "before, text, text, more, after");
  // What is at /dev/stdout, as a shell opens it.
  int const before = ::dup(STDOUT_FILENO);
  std::fflush(stdout);
  REQUIRE(::dup2(file, STDOUT_FILENO) >= 0);
  write_atomically("/dev/stdout", ", end");
  REQUIRE(::dup2(before, STDOUT_FILENO) >= 0);
  ::close(before);
  ::close(file);
  CHECK(content(path) == "before, text, text, more, after, end");
  CHECK(here.entries() == 1);
}

TEST_CASE("a device is written in place, not replaced") {
  require_writable("/dev/null");
  write_atomically("/dev/null", "text");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK_THROWS_WITH(write_atomically("/dev/full", "text"), assay::test::contains("No space left"));
}

TEST_CASE("a reader sees the old file or the new one, never a part") {
  folder const here;
  std::string const a(200'000, 'a');
  std::string const b(300'000, 'b');
  write_atomically(here / "f", a);
  std::jthread const writer{[&] {
    for (int i = 0; i < 50; ++i) { write_atomically(here / "f", i % 2 == 0 ? b : a); }
  }};
  for (int i = 0; i < 200; ++i) {
    auto const seen = content(here / "f");
    REQUIRE((seen == a || seen == b));
  }
}

TEST_CASE("a file in the making is seen by nobody, and gone unless it is committed") {
  folder const here;
  {
    atomic_file file{here / "a"};
    file.write("part");
    CHECK_FALSE(fs::exists(here / "a"));
    CHECK(content(file.name()) == "part");
  }
  CHECK(here.entries() == 0);
  atomic_file file{here / "a"};
  file.write("one, ");
  file.write("two");
  file.commit();
  CHECK(content(here / "a") == "one, two");
  CHECK(here.entries() == 1);
  CHECK(atomic_file{"/dev/null"}.in_place());
}

TEST_CASE("what cannot be read is refused by name, with the reason") {
  folder const here;
  auto const why = [](fs::path const& path) {
    return assay::test::message_of([&] { require_readable(path); });
  };
  CHECK_THAT(why(here / "missing"), assay::test::contains("missing: No such file or directory"));
  CHECK_THAT(why(here.path()), assay::test::contains("it is not a regular file"));
  REQUIRE(::mkfifo((here / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(why(here / "pipe"), assay::test::contains("pipe: it is not a regular file"));
  write_atomically(here / "a", "1234");
  CHECK(require_readable(here / "a") == 4);
}
