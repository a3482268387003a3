// SPDX-License-Identifier: Apache-2.0
/// @file
/// `remote_subject`: a case of another program, which calls `assay::serve`.
#pragma once

#include <assay/core/child_process.hpp>
#include <assay/core/concat.hpp>
#include <assay/measure/subject.hpp>
#include <assay/serve/answers.hpp>
#include <assay/serve/protocol.hpp>
#include <assay/serve/remote_options.hpp>
#include <assay/stats/number_text.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace assay::measure {

/// A case that a program offers, with its default clock.
struct remote_case {
  std::string name;
  clock decides = clock::wall;
};

/// Starts a program that calls `assay::serve`, and ends it in the destructor.
///
/// All errors say how the program ended. After an error the program no longer runs.
class remote_process {
 public:
  /// Starts the program. Throws `std::invalid_argument` for a missing file.
  explicit remote_process(std::vector<std::string> const& command,
                          remote_options const& chosen = {})
      : options_(chosen), name_(command.empty() ? "" : command[0]) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "cannot make a socket");
    }
    channel_ = std::make_unique<served::channel>(ends[0]);
    served::channel theirs{ends[1]};
    child_ = std::make_unique<child_process>(
        command,
        child_setup{.descriptor = ends[1],
                    .variable = served::descriptor_variable + ("=" + std::to_string(ends[1]))});
    theirs.close();  // the end of the program is seen only when no other copy is open
  }
  remote_process(remote_process const&) = delete;
  remote_process& operator=(remote_process const&) = delete;
  ~remote_process() {
    try {
      begin_to_end();
      if (child_->wait_for(options_.shutdown)) { return; }
    } catch (...) {  // out of memory: the signals below end the program as well
    }
    child_->terminate(options_.shutdown);
  }

  ::pid_t pid() const noexcept { return child_->pid(); }

  /// Allows each reply from now on so many seconds, where the time limit is shorter.
  void allow(double seconds) noexcept { allowed_ = std::chrono::duration<double>(seconds); }

  /// Asks the program to end. The destructor waits for it.
  void begin_to_end() noexcept { channel_->close(); }

  /// Asks for the cases that the program offers. Errors begin with the program's name.
  std::vector<remote_case> cases() {
    auto const named = [&](std::exception const& cause) {
      return concat({name_, ": ", cause.what()});
    };
    try {
      return offered();
    } catch (std::invalid_argument const& cause) {
      throw std::invalid_argument(named(cause));
    } catch (std::runtime_error const& cause) { throw std::runtime_error(named(cause)); }
  }

  /// Sends a request and returns the reply, as `send` and `receive` do.
  served::words request(served::words const& message) {
    send(message);
    return receive();
  }

  /// Sends a request without a wait. A program that has ended is noticed by `receive`.
  void send(served::words const& message) {
    if (options_.answered) { request_ = message; }
    channel_->send(message);
  }

  /// Waits for the reply to a request, which begins with "ok" or "wrong". The first call waits for
  /// the program's greeting too.
  ///
  /// Throws the error that the program reports. Throws `std::invalid_argument` for a program that
  /// does not call `remote_options::required_call`, and for another version. Throws
  /// `std::runtime_error` for a program that fails.
  served::words receive() {
    auto const begin = std::chrono::steady_clock::now();
    if (!greeted_) { greet(); }
    auto got = reply(false);
    if (options_.answered) {
      std::chrono::duration<double> const waited = std::chrono::steady_clock::now() - begin;
      options_.answered(request_, waited.count());
    }
    if (got[0] != "ok" && got[0] != "wrong") { throw served::protocol_error(served::encode(got)); }
    return got;
  }

 private:
  std::vector<remote_case> offered() {
    auto const told = request({"cases"});
    std::vector<remote_case> all;
    for (std::size_t i = 1; i < told.size(); i += 2) {
      all.push_back({told[i], served::to_clock(served::at(told, i + 1))});
    }
    return all;
  }

  void greet() {
    auto const hello = reply(true);
    if (served::at(hello, 0) != served::greeting) { throw served::protocol_error(hello[0]); }
    int const version = served::to_number<int>(served::at(hello, 1));
    if (version != served::protocol_version) {
      throw std::invalid_argument(concat(
          {"the program speaks version ", std::to_string(version), ", this assay_compare version ",
           std::to_string(served::protocol_version), ": build both with the same assay"}));
    }
    greeted_ = true;
  }

  served::words reply(bool first) {
    using receipt = served::channel::receipt;
    auto const limit = std::max(options_.timeout, allowed_);
    auto const deadline = std::chrono::steady_clock::now() +
                          std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
    served::words got;
    auto how = receipt::closed;
    try {
      how = channel_->receive(got, deadline);
    } catch (served::protocol_error const&) {
      child_->kill();
      throw;
    }
    if (how == receipt::late) {
      child_->kill();
      throw std::runtime_error(
          concat({"the program gave no answer within ", stats::number_text(limit.count()),
                  " s and was killed; allow it a longer timeout"}));
    }
    if (how == receipt::closed) { throw_end(first); }
    if (served::at(got, 0) == "error") {
      served::throw_error(served::at(got, 1), served::lacks_memory(got));
    }
    return got;
  }

  /// The socket is closed: the program has ended, or is about to.
  [[noreturn]] void throw_end(bool before_greeting) {
    auto const end = child_->wait_for(std::min(options_.shutdown, options_.timeout));
    if (!end) {
      child_->kill();
      throw std::runtime_error("the program closed its connection and did not end; it was killed");
    }
    if (before_greeting && !end->by_signal) {
      throw std::invalid_argument(
          concat({"the program does not call ", options_.required_call, ": it ", end->text()}));
    }
    throw std::runtime_error("the program " + end->text());
  }

  remote_options options_;
  std::string name_;
  std::unique_ptr<served::channel> channel_;
  std::unique_ptr<child_process> child_;
  bool greeted_ = false;
  served::words request_;  ///< the last one, where somebody asks for it
  std::chrono::duration<double> allowed_{0};
};

/// A case of a program that lives as long as this subject. The constructor does not wait for the
/// program; the first other call does.
class remote_subject final : public subject {
 public:
  remote_subject(std::vector<std::string> const& command, std::string const& case_name,
                 epoch const& now, remote_options const& chosen = {})
      : remote_subject(std::make_shared<remote_process>(command, chosen), case_name, now) {
    kept_ = false;
  }

  /// The same in a process that outlives the subject, and has no other subject at that time.
  remote_subject(std::shared_ptr<remote_process> in, std::string const& case_name, epoch const& now)
      : process_(std::move(in)) {
    process_->send({"build", case_name, std::to_string(now.number), std::to_string(now.seed),
                    std::to_string(now.instance),
                    now.decides ? std::string{to_string(*now.decides)} : std::string{}});
  }

  remote_subject(remote_subject const&) = delete;
  remote_subject& operator=(remote_subject const&) = delete;
  ~remote_subject() override {
    try {
      if (kept_) { finish_building(); }  // takes the reply, which the next subject must not get
    } catch (...) {                      // the next request tells
    }
  }

  void finish_building() override {
    if (std::exchange(is_built_, true)) { return; }
    auto const built = process_->receive();
    bytes_ = served::to_number<double>(served::at(built, 1));
    flops_ = served::to_number<double>(served::at(built, 2));
    checked_ = served::to_checks(served::at(built, 3));
  }

  void begin_to_end() noexcept override {
    if (!kept_) { process_->begin_to_end(); }
  }

  void warm(int set, int launches) override {
    request({"warm", std::to_string(set), std::to_string(launches)});
  }

  cell time(int set, int launches) override {
    return served::to_cell(request({"time", std::to_string(set), std::to_string(launches)}));
  }

  std::optional<cell> time_empty(int launches) override {
    auto const told = request({"empty", std::to_string(launches)});
    if (told.size() == 1) { return {}; }
    return served::to_cell(told);
  }

  std::optional<std::string> verify(int set) override {
    auto const told = request({"verify", std::to_string(set)});
    if (told[0] == "ok") { return {}; }
    return served::at(told, 1);
  }

  /// Known after `finish_building`, as `flops` and `checked` are.
  double bytes() const override { return bytes_; }
  double flops() const override { return flops_; }
  checks checked() const override { return checked_; }

  std::vector<std::string> caveats() const override {
    auto const told = process_->request({"caveats"});
    return {told.begin() + 1, told.end()};
  }

  ::pid_t pid() const noexcept { return process_->pid(); }

 private:
  served::words request(served::words const& message) {
    finish_building();
    return process_->request(message);
  }

  std::shared_ptr<remote_process> process_;
  bool kept_ = true;  ///< by others
  bool is_built_ = false;
  double bytes_ = 0, flops_ = 0;
  checks checked_ = checks::none;
};

/// One case of a program that calls `assay::serve`, as a variant.
///
/// The program is started anew for every epoch and for the control's second instance, so that code
/// addresses, placement and contexts are repeated. An idle program waits in a read.
inline variant remote_variant(std::string label, std::vector<std::string> command,
                              std::string case_name, remote_options const& chosen = {}) {
  variant made;
  made.axes = {{"program", label}};
  made.label = std::move(label);
  made.renews_code = true;
  made.build = [command = std::move(command), name = std::move(case_name),
                chosen](epoch const& now) -> std::unique_ptr<subject> {
    return std::make_unique<remote_subject>(command, name, now, chosen);
  };
  return made;
}

}  // namespace assay::measure
