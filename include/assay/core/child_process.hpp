// SPDX-License-Identifier: Apache-2.0
/// @file
/// A child process that is always reaped.
#pragma once

#include <assay/core/adopted_orphans.hpp>
#include <assay/core/requirements.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace assay {

/// The end of a process. `text()` is "ended with exit code 3", or "ended by signal 11 (Segmentation
/// fault)".
struct process_end {
  bool by_signal = false;
  int code = 0;       ///< the exit code, or the number of the signal
  bool known = true;  ///< false where something else took the end of the process
  /// Processes that the program started, and that still ran when the program ended. Counted where
  /// `child_setup::adopts`.
  int left_behind = 0;

  bool success() const { return known && !by_signal && code == 0; }
  std::string text() const {
    if (!known) {
      return "ended, and how is not known: this process ignores SIGCHLD, or waits for all children "
             "elsewhere";
    }
    if (!by_signal) { return "ended with exit code " + std::to_string(code); }
    return "ended by signal " + std::to_string(code) + " (" + ::strsignal(code) + ")";
  }
};

/// Settings of a child besides its arguments.
struct child_setup {
  int descriptor = -1;       ///< kept open under its number, unlike all others; -1: none
  std::string variable{};    ///< `NAME=VALUE`, which replaces the variable of that name
  int output = -1;           ///< standard output goes to this descriptor; -1: to /dev/null
  bool quiet_error = false;  ///< standard error goes to /dev/null as well
  /// Processes that the program leaves behind become children of this process until the program is
  /// reaped: they are counted and killed, even those in groups of their own. Meanwhile no other
  /// thread may start a process.
  bool adopts = false;
};

/// A program that runs beside this one, in a process group of its own.
///
/// Its standard input is /dev/null, and its output too unless `child_setup` says more. The kernel
/// kills the program when the thread that started it ends. The destructor kills the whole group and
/// reaps the program. Linux.
class child_process {
 public:
  /// Throws `std::invalid_argument` where there is no such program, `std::system_error` where no
  /// process can be made.
  explicit child_process(std::vector<std::string> const& command, child_setup const& setup = {}) {
    if (command.empty() || command[0].empty()) {
      throw std::invalid_argument("a command is empty: name a program");
    }
    // All memory is obtained before the fork: between fork and exec a child may not allocate.
    std::vector<char*> arguments;
    for (auto const& each : command) { arguments.push_back(const_cast<char*>(each.c_str())); }
    arguments.push_back(nullptr);
    auto const name = setup.variable.substr(0, setup.variable.find('=') + 1);
    std::vector<char*> environment;
    for (char** each = ::environ; *each != nullptr; ++each) {
      if (name.empty() || !std::string_view{*each}.starts_with(name)) {
        environment.push_back(*each);
      }
    }
    if (!name.empty()) { environment.push_back(const_cast<char*>(setup.variable.c_str())); }
    environment.push_back(nullptr);

    if (setup.adopts) { orphans_.emplace(); }
    std::array<int, 2> failure{};  // closed by a successful exec, else it brings errno
    if (::pipe2(failure.data(), O_CLOEXEC) != 0) { fail("cannot make a pipe"); }
    auto const parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) { become(arguments.data(), environment.data(), setup, parent, failure[1]); }
    auto const fork_code = errno;
    // At once, while the number is the program's for certain. A kernel before 5.3 has no handles.
    if (pid_ > 0) { handle_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)); }
    ::close(failure[1]);
    int code = 0;
    ::ssize_t got = 0;
    while (pid_ > 0 && (got = ::read(failure[0], &code, sizeof code)) < 0 && errno == EINTR) {}
    ::close(failure[0]);
    if (pid_ < 0) {
      errno = fork_code;
      fail("cannot start a process");
    }
    if (got <= 0) { return; }
    kill();
    if (handle_ >= 0) { ::close(handle_); }
    throw std::invalid_argument("cannot start " + command[0] + ": " +
                                std::generic_category().message(code));
  }
  child_process(child_process const&) = delete;
  child_process& operator=(child_process const&) = delete;
  ~child_process() {
    kill();
    if (handle_ >= 0) { ::close(handle_); }
  }

  ::pid_t pid() const noexcept { return pid_; }

  /// Waits at most so long for the end of the program, then kills processes that the program left
  /// behind.
  std::optional<process_end> wait_for(std::chrono::duration<double> most) {
    if (!end_ && has_ended_within(most)) {
      ended_at_ = std::chrono::steady_clock::now();
      reap();
    }
    return end_;
  }

  /// The moment at which `wait_for` saw the end, before it cleaned up.
  std::chrono::steady_clock::time_point ended_at() const noexcept { return ended_at_; }

  /// Asks the group to end (SIGTERM), waits at most so long, then kills it.
  void terminate(std::chrono::duration<double> most) noexcept {
    if (end_) { return; }
    ::kill(-pid_, SIGTERM);
    has_ended_within(most);
    kill();
  }

  /// Kills the whole group and reaps the program.
  void kill() noexcept {
    if (pid_ > 0 && !end_) {
      // By the handle, since the number is no longer the program's where SIGCHLD is ignored.
      if (handle_ < 0 || ::syscall(SYS_pidfd_send_signal, handle_, SIGKILL, nullptr, 0) != 0) {
        if (handle_ < 0 || errno == ENOSYS) { ::kill(pid_, SIGKILL); }
      }
      reap();
    }
  }

 private:
  [[noreturn]] static void fail(char const* what) {
    throw std::system_error(errno, std::generic_category(), what);
  }

  /// The child between fork and exec: async-signal-safe calls alone.
  [[noreturn]] static void become(char** arguments, char** environment, child_setup const& setup,
                                  ::pid_t parent, int failure) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) { ::_exit(127); }  // the parent ended before prctl
    // An ignored signal and a mask would be passed on across exec.
    for (int const each : {SIGINT, SIGPIPE, SIGCHLD, SIGTERM, SIGXFSZ}) { ::signal(each, SIG_DFL); }
    ::sigset_t none{};
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    int const nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, STDIN_FILENO);
    ::dup2(setup.output >= 0 ? setup.output : nowhere, STDOUT_FILENO);
    if (setup.quiet_error) { ::dup2(nowhere, STDERR_FILENO); }
    if (nowhere > STDERR_FILENO) { ::close(nowhere); }
    if (setup.descriptor >= 0) { ::fcntl(setup.descriptor, F_SETFD, 0); }
    ::execvpe(arguments[0], arguments, environment);
    int const code = errno;
    [[maybe_unused]] auto const told = ::write(failure, &code, sizeof code);
    ::_exit(127);
  }

  /// Leaves the program unreaped, so that the number of its group stays taken. Where SIGCHLD is
  /// ignored the kernel reaps it, and there is no such child any more (ECHILD).
  bool has_ended_within(std::chrono::duration<double> most) const noexcept {
    auto const deadline = std::chrono::steady_clock::now() + most;
    bool ended = false;
    for (bool again = true; again;) {
      auto const left = std::chrono::duration<double>(deadline - std::chrono::steady_clock::now());
      auto const milliseconds = static_cast<int>(std::clamp(1e3 * left.count() + 1, 0.0, 1e9));
      if (handle_ >= 0) {
        ::pollfd asked{handle_, POLLIN, 0};
        ::poll(&asked, 1, left.count() > 0 ? milliseconds : 0);
      } else if (left.count() > 0) {
        ::usleep(200);  // a kernel before 5.3
      }
      ::siginfo_t state{};
      bool const told =
          ::waitid(P_PID, static_cast<::id_t>(pid_), &state, WEXITED | WNOWAIT | WNOHANG) == 0;
      ended = told ? state.si_pid == pid_ : errno == ECHILD;
      again = !ended && left.count() > 0;
    }
    return ended;
  }

  /// Blocks until the program has ended, then kills all that it left behind.
  void reap() noexcept {
    ::siginfo_t state{};
    while (::waitid(P_PID, static_cast<::id_t>(pid_), &state, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {}
    if (!orphans_) { ::kill(-pid_, SIGKILL); }  // the number stays taken until waitpid
    int status = 0;
    ::pid_t got = -1;
    while ((got = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {}
    process_end end{.known = got == pid_};
    if (end.known) {
      end.by_signal = WIFSIGNALED(status);
      end.code = end.by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (orphans_) {
      end.left_behind = orphans_->end_all();
      orphans_.reset();
    }
    end_ = end;
  }

  ::pid_t pid_ = -1;
  int handle_ = -1;  ///< stays that of the program when the number is another's
  std::optional<process_end> end_;
  std::chrono::steady_clock::time_point ended_at_{};
  std::optional<detail::adopted_orphans> orphans_;
};

}  // namespace assay
