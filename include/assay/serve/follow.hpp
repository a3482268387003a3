// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to measure_together.hpp: subjects that all ranks of a world run together. Rank 0
/// decides, and the others follow.
///
/// Rank 0 broadcasts each request to its subjects, in the words of protocol.hpp behind the number
/// of the subject. All ranks do the same, and rank 0 gathers the replies. `drop` has no reply.
/// Before a cell the ranks wait for each other: a gather, and a broadcast that says to go on or to
/// stop. `epoch_begin` and `epoch_end` call the hooks of the options of each rank.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/serve/answers.hpp>
#include <assay/serve/protocol.hpp>
#include <assay/serve/rank_times.hpp>
#include <assay/world/world.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

namespace served {

inline constexpr auto stopped = "another rank cannot go on";

/// What a rank has of a comparison: its variants, its subjects by the numbers that rank 0 gave
/// them, and its hooks.
class follower {
 public:
  /// Variants and options have to outlive it.
  follower(world all, std::vector<variant> const& variants, options const& chosen)
      : all_(std::move(all)), variants_(variants), options_(chosen) {}

  /// Does what a request asks for. An exception is a reply too, unless a rank is missing.
  words answer(words const& request) {
    arrived_ = false;
    auto reply = guarded([&] { return act(request); });
    // A subject that failed before, or that does not wait for others. All ranks wait once.
    if (at(request, 1) == "time" && !arrived_) {
      bool const ready = at(reply, 0) != "error";
      auto const met = guarded([&] {
        arrive(ready);
        return words{"ok"};
      });
      if (ready && met[0] == "error") { reply = met; }
    }
    return reply;
  }

 private:
  template <class Act>
  words guarded(Act&& act) {
    try {
      return act();
    } catch (world_error const&) { throw; } catch (std::exception const& cause) {
      return {"error", cause.what()};
    } catch (...) { return {"error", "an exception of unknown type"}; }
  }

  words act(words const& request) {
    auto const number = to_number<int>(at(request, 0));
    words const rest(request.begin() + 1, request.end());
    auto const& verb = at(rest, 0);
    if (verb == "build") {
      auto const& of = variants_.at(to_number<std::size_t>(at(rest, 1)));
      auto now = epoch_of(rest);
      now.arrive = [this] { arrive(true); };
      auto made = of.build(now);
      if (!made) { throw std::runtime_error("its build function returned no subject"); }
      made->finish_building();
      auto reply = built_words(*made, of);
      subjects_[number] = std::move(made);
      return reply;
    }
    if (verb == "drop") {
      subjects_.erase(number);
      return {"ok"};
    }
    if (verb == "epoch_begin") {
      if (options_.at_epoch_begin) { options_.at_epoch_begin(epoch_of(rest)); }
      return {"ok"};
    }
    if (verb != "epoch_end") { return answer_of(*subjects_.at(number), rest); }
    words reply{"ok", "0"};
    if (options_.at_epoch_end) {
      for (auto& each : options_.at_epoch_end(epoch_of(rest))) { reply.push_back(std::move(each)); }
    }
    if (options_.throttle_bits) { reply[1] = std::to_string(options_.throttle_bits()); }
    return reply;
  }

  /// Waits for all ranks. Throws where one of them is not ready.
  void arrive(bool ready) {
    arrived_ = true;
    auto const told = all_.gather(ready ? "" : "!");
    bool const go = std::ranges::all_of(told, [](auto const& each) { return each.empty(); });
    if (all_.broadcast(go ? "go" : "stop") != "go" && ready) { throw std::runtime_error(stopped); }
  }

  world all_;
  std::vector<variant> const& variants_;
  options const& options_;
  std::map<int, std::unique_ptr<subject>> subjects_;
  bool arrived_ = false;  ///< in this request
};

/// Rank 0's end: asks all ranks, itself among them.
class leader {
 public:
  leader(world all, std::vector<variant> const& variants, options const& chosen)
      : all_(std::move(all)),
        own_(all_, variants, chosen),
        times_(all_.ranks(), variants, chosen.clock.value_or(clock::wall)) {}

  int next_number() { return next_++; }
  rank_times& times() noexcept { return times_; }

  /// The replies of all ranks. Throws the errors, with their ranks.
  std::vector<words> ask(words const& request) {
    (void)all_.broadcast(encode(request));
    auto const own = own_.answer(request);
    std::vector<words> replies;
    try {
      for (auto const& line : all_.gather(encode(own))) {
        replies.push_back(decode({line.data(), line.size() - 1}));
      }
    } catch (world_error const& missing) {  // perhaps since this rank has failed
      if (own[0] != "error") { throw; }
      throw world_error(of_rank(0, own[1]) + "; then " + missing.what());
    }
    std::string failed;
    for (std::size_t rank = 0; rank < replies.size(); ++rank) {
      if (at(replies[rank], 0) != "error" || at(replies[rank], 1) == stopped) { continue; }
      if (failed.size() >= longest_error) {
        failed += "; and more ranks";
        break;
      }
      failed += (failed.empty() ? "" : "; ") + of_rank(rank, replies[rank][1]);
    }
    if (!failed.empty()) { throw std::runtime_error(failed); }
    return replies;
  }

  void drop(int number) {
    words const request{std::to_string(number), "drop"};
    (void)all_.broadcast(encode(request));
    (void)own_.answer(request);
  }

  /// Calls the hooks of all ranks. Returns why the times of the epoch are not to be trusted.
  std::vector<std::string> at_epoch(char const* verb, epoch const& now) {
    auto const replies = ask({"-1", verb, "", std::to_string(now.number), std::to_string(now.seed),
                              std::to_string(now.instance), ""});
    std::vector<std::string> reasons;
    throttle_ = 0;
    for (std::size_t rank = 0; rank < replies.size(); ++rank) {
      for (std::size_t i = 2; i < replies[rank].size(); ++i) {
        reasons.push_back(of_rank(rank, replies[rank][i]));
      }
      if (replies[rank].size() == 1) { continue; }
      auto const bits = to_number<std::uint64_t>(replies[rank][1]);
      times_.add_throttle(rank, bits);
      throttle_ |= bits;
    }
    return reasons;
  }
  std::uint64_t throttle_bits() const noexcept { return throttle_; }

 private:
  static constexpr std::size_t longest_error = 2000;

  world all_;
  follower own_;
  rank_times times_;
  std::uint64_t throttle_ = 0;  ///< of all ranks, at the end of the last epoch
  int next_ = 0;
};

}  // namespace served

/// A subject of rank 0 that all ranks build, warm, time and verify together.
class ranks_subject final : public subject {
 public:
  ranks_subject(std::shared_ptr<served::leader> by, std::size_t variant, epoch const& now)
      : by_(std::move(by)),
        number_(by_->next_number()),
        variant_(variant),
        decides_(now.decides.value_or(by_->times().decides())) {
    auto const built = build(now);
    bytes_ = served::to_number<double>(served::at(built[0], 1));
    flops_ = served::to_number<double>(served::at(built[0], 2));
    for (auto const& each : built) {
      checked_ = std::min(checked_, served::to_checks(served::at(each, 3)));
    }
  }
  ranks_subject(ranks_subject const&) = delete;
  ranks_subject& operator=(ranks_subject const&) = delete;
  ~ranks_subject() override {
    try {
      by_->drop(number_);
    } catch (...) {}  // the next call tells that a rank is missing
  }

  void warm(int set, int launches) override {
    (void)request({"warm", std::to_string(set), std::to_string(launches)});
  }

  cell time(int set, int launches) override {
    std::vector<cell> of;
    for (auto const& each : request({"time", std::to_string(set), std::to_string(launches)})) {
      of.push_back(served::to_cell(each));
    }
    by_->times().add(variant_, of, launches);
    return served::slowest(of, decides_);
  }

  std::optional<cell> time_empty(int launches) override {
    std::vector<cell> of;
    for (auto const& each : request({"empty", std::to_string(launches)})) {
      if (each.size() == 1) { return {}; }
      of.push_back(served::to_cell(each));
    }
    return served::slowest(of, decides_);
  }

  /// The wrong results of all ranks.
  std::optional<std::string> verify(int set) override {
    std::string wrong;
    auto const replies = request({"verify", std::to_string(set)});
    for (std::size_t rank = 0; rank < replies.size(); ++rank) {
      if (replies[rank][0] == "ok") { continue; }
      wrong += (wrong.empty() ? "" : "; ") + served::of_rank(rank, served::at(replies[rank], 1));
    }
    return wrong.empty() ? std::optional<std::string>{} : wrong;
  }

  double bytes() const override { return bytes_; }
  double flops() const override { return flops_; }
  checks checked() const override { return checked_; }

  /// Those of all ranks, each once.
  std::vector<std::string> caveats() const override {
    std::vector<std::string> all;
    for (auto const& each : request({"caveats"})) {
      for (auto text = each.begin() + 1; text != each.end(); ++text) { add_distinct(all, *text); }
    }
    return all;
  }

 private:
  /// Where a rank fails, those that have built give their subjects back.
  std::vector<served::words> build(epoch const& now) const {
    try {
      return request({"build", std::to_string(variant_), std::to_string(now.number),
                      std::to_string(now.seed), std::to_string(now.instance),
                      now.decides ? std::string{to_string(*now.decides)} : std::string{}});
    } catch (world_error const&) { throw; } catch (...) {
      by_->drop(number_);
      throw;
    }
  }
  std::vector<served::words> request(served::words of) const {
    of.insert(of.begin(), std::to_string(number_));
    return by_->ask(of);
  }

  std::shared_ptr<served::leader> by_;
  int number_;
  std::size_t variant_;
  clock decides_;
  double bytes_ = 0, flops_ = 0;
  checks checked_ = checks::all;
};

/// The variants of rank 0 that stand for those of all ranks.
inline std::vector<variant> led(std::shared_ptr<served::leader> const& by,
                                std::vector<variant> made) {
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i].build = [by, i](epoch const& now) -> std::unique_ptr<subject> {
      return std::make_unique<ranks_subject>(by, i, now);
    };
  }
  return made;
}

/// The options of rank 0 whose hooks are those of all ranks.
inline options led(std::shared_ptr<served::leader> const& by, options chosen) {
  chosen.at_epoch_begin = [by](epoch const& now) { (void)by->at_epoch("epoch_begin", now); };
  chosen.at_epoch_end = [by](epoch const& now) { return by->at_epoch("epoch_end", now); };
  chosen.throttle_bits = [by] { return by->throttle_bits(); };
  return chosen;
}

/// Does what rank 0 asks for until it ends. Returns the last message of rank 0, which is no
/// request.
inline served::words follow(world const& all, std::vector<variant> const& variants,
                            options const& chosen) {
  served::follower own{all, variants, chosen};
  for (;;) {
    auto const line = all.broadcast();
    auto request = served::decode({line.data(), line.size() - 1});
    if (served::at(request, 0) == "end") { return request; }
    auto const reply = own.answer(request);
    if (served::at(request, 1) != "drop") { (void)all.gather(served::encode(reply)); }
  }
}

}  // namespace assay::measure
