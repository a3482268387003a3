// SPDX-License-Identifier: Apache-2.0
/// @file
/// A program that `tests/measure/served.cpp` and `tests/examples/assay_compare.cpp` start: cases
/// with scripted times, and every way to fail.
///
/// `served_program FACTOR SALT`: the scripted times are multiplied by FACTOR (1, or 1.05 if the
/// name of the program has "slow" in it). Their noise follows from the epoch, the name and SALT.
#include <assay/serve.hpp>
#include <assay/serve/protocol.hpp>
#include <assay/stats/random_source.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace assay;

/// Parameters of the scripted times.
struct script {
  double factor = 1;
  std::uint64_t salt = 0;
};

/// Computes nothing and says that it took a millisecond, with noise of 0.1 %.
class scripted : public measure::subject {
 public:
  scripted(script const& by, measure::epoch const& now)
      : factor_(by.factor),
        noise_{now.seed + by.salt + static_cast<std::uint64_t>(now.instance)},
        now_(now) {}
  void warm(int, int) override {}
  measure::cell time(int, int) override {
    double const uniform = static_cast<double>(noise_.next() >> 11U) * 0x1p-53;
    measure::cell given;
    given[measure::clock::wall] = 1e-3 * factor_ * (1 + 1e-3 * (uniform - 0.5));
    return given;
  }
  std::optional<std::string> verify(int) override { return {}; }
  double bytes() const override { return 4096; }
  double flops() const override { return 0.1; }
  measure::checks checked() const override { return measure::checks::all; }
  std::vector<std::string> caveats() const override {
    return {"epoch " + std::to_string(now_.number) + ", seed " + std::to_string(now_.seed) +
                ", instance " + std::to_string(now_.instance),
            "", "two\nlines \\ and a blank"};
  }

 private:
  double factor_;
  stats::random_source noise_;
  measure::epoch now_;
};

/// Prints while it is timed, as programs do.
struct printing : scripted {
  using scripted::scripted;
  measure::cell time(int set, int launches) override {
    std::printf("ok 1 2 3\n");
    std::fflush(stdout);
    return scripted::time(set, launches);
  }
};

struct crashing : scripted {
  using scripted::scripted;
  measure::cell time(int, int) override {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
    return {};
  }
};

void start_child() {
  if (::fork() == 0) { ::execlp("sleep", "sleep", "1000", nullptr); }
}

/// Leaves a process of its own behind.
struct exiting : scripted {
  using scripted::scripted;
  measure::cell time(int, int) override {
    start_child();
    std::_Exit(3);
  }
};

struct throwing : scripted {
  using scripted::scripted;
  measure::cell time(int, int) override { throw std::runtime_error("no more\nmemory"); }
};

/// Neither answers nor heeds SIGTERM, and leaves a process of its own behind.
struct hanging : scripted {
  using scripted::scripted;
  measure::cell time(int, int) override {
    std::signal(SIGTERM, SIG_IGN);
    start_child();
    for (;;) { ::pause(); }
  }
};

struct wrong : scripted {
  using scripted::scripted;
  std::optional<std::string> verify(int set) override {
    if (set == 0) { return {}; }
    return "element 7 is 1, not 2";
  }
};

struct on_gpu : scripted {
  using scripted::scripted;
  measure::cell time(int set, int launches) override {
    auto given = scripted::time(set, launches);
    given[measure::clock::gpu] = given[measure::clock::wall];
    return given;
  }
};

/// Times the deciding clock alone, and knows calls that do nothing.
struct by_one_clock : scripted {
  by_one_clock(script const& by, measure::epoch const& now)
      : scripted(by, now), decides_(now.decides.value()) {}
  measure::cell time(int set, int launches) override {
    auto const given = scripted::time(set, launches);
    measure::cell only;
    only[decides_] = given[measure::clock::wall];
    return only;
  }
  std::optional<measure::cell> time_empty(int launches) override {
    measure::cell only;
    only[decides_] = 1e-9 * launches;
    return only;
  }
  measure::checks checked() const override { return measure::checks::part; }

 private:
  measure::clock decides_;
};

struct unchecked : scripted {
  using scripted::scripted;
  measure::checks checked() const override { return measure::checks::none; }
};

struct disturbed : scripted {
  using scripted::scripted;
  measure::cell time(int, int) override {
    measure::cell given;
    given.seconds = {0.1, 1.0 / 3, 4.9e-324};
    given.sm_hertz = 1.98e9;
    given.disturbance = "the clock fell";
    return given;
  }
};

/// Speaks no protocol but what the variable says, then waits.
[[noreturn]] void say(char const* line) {
  int const descriptor = std::atoi(std::getenv(measure::served::descriptor_variable));
  std::string_view const text{line};
  [[maybe_unused]] auto const sent = ::send(descriptor, text.data(), text.size(), 0);
  for (;;) { ::pause(); }
}

template <class Subject>
served_case offer(std::string name, script const& by) {
  measure::variant work;
  work.build = [by](measure::epoch const& now) { return std::make_unique<Subject>(by, now); };
  return {std::move(name), std::move(work)};
}

}  // namespace

int main(int argc, char** argv) {
  if (char const* const line = std::getenv("ASSAY_TEST_SAY")) { say(line); }
  if (std::getenv("ASSAY_TEST_EXIT") != nullptr) { return 7; }
  if (std::getenv("ASSAY_TEST_ABORT") != nullptr) { std::raise(SIGABRT); }
  std::string_view name = argv[0];
  name.remove_prefix(name.rfind('/') + 1);
  script by{name.find("slow") != name.npos ? 1.05 : 1, std::hash<std::string_view>{}(name)};
  if (argc > 1 && std::atof(argv[1]) > 0) { by.factor = std::atof(argv[1]); }
  if (argc > 2) { by.salt += std::strtoull(argv[2], nullptr, 10); }
  std::vector<served_case> cases{offer<scripted>("works", by)};
  if (name.find("small") == name.npos) {
    cases.push_back(offer<printing>("prints and has blanks", by));
    cases.push_back(offer<crashing>("crashes", by));
    cases.push_back(offer<exiting>("exits", by));
    cases.push_back(offer<throwing>("throws", by));
    cases.push_back(offer<hanging>("hangs", by));
    cases.push_back(offer<wrong>("wrong", by));
    cases.push_back(offer<disturbed>("disturbed", by));
    cases.push_back(offer<on_gpu>("on gpu", by));
    cases.back().decides = measure::clock::gpu;
    cases.push_back(offer<by_one_clock>("by one clock", by));
    cases.back().decides = measure::clock::submit;
    cases.push_back(offer<unchecked>("unchecked", by));
    cases.emplace_back("a call", [] {});
  }
  if (std::getenv("ASSAY_TEST_TWICE") != nullptr) { cases.push_back(cases[0]); }
  int const code = serve(argc, argv, cases);
  if (char const* const file = std::getenv("ASSAY_TEST_LAST_WORD")) {
    ::usleep(100'000);
    std::fclose(std::fopen(file, "w"));
  }
  return code;
}
