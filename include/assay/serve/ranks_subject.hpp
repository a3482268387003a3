// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to measure_together.hpp: subjects and hooks of rank 0 that stand for those of all
/// ranks.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/serve/follow.hpp>
#include <assay/serve/protocol.hpp>
#include <assay/serve/rank_times.hpp>
#include <assay/world/world.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

/// A subject of rank 0 that all ranks build, warm, time and verify together.
class ranks_subject final : public subject {
 public:
  ranks_subject(std::shared_ptr<served::leader> by, std::size_t variant, epoch const& now)
      : by_(std::move(by)),
        number_(by_->next_number()),
        variant_(variant),
        decides_(now.decides.value_or(clock::wall)) {
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
    for (auto const& each : request({"warm", std::to_string(set), std::to_string(launches)})) {
      at_once_ = std::min(at_once_, served::to_number<int>(served::at(each, 1)));
    }
  }

  cell time(int set, int launches) override {
    std::vector<cell> of;
    for (int done = 0; done < launches;) {
      int const now = std::min(at_once_, launches - done);
      auto const replies = request({"time", std::to_string(set), std::to_string(now)});
      of.resize(replies.size(), no_cell());
      for (std::size_t rank = 0; rank < replies.size(); ++rank) {
        add_part(of[rank], served::to_cell(replies[rank]), static_cast<double>(now) / launches);
      }
      done += now;
    }
    for (auto& each : of) {  // parts of many launches do not time each
      if (each.launches.size() < static_cast<std::size_t>(launches)) { each.launches.clear(); }
    }
    by_->times().add(variant_, of, launches, decides_);
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
      if (replies[rank][0] != "wrong") { continue; }
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
      auto const built =
          request({"build", std::to_string(variant_), std::to_string(now.number),
                   std::to_string(now.seed), std::to_string(now.instance),
                   now.decides ? std::string{to_string(*now.decides)} : std::string{}});
      if (auto shared = by_->shared_gpus(built); !shared.empty()) {
        shared.insert(shared.begin(), "share");
        (void)request(std::move(shared));
      }
      return built;
    } catch (world_error const&) { throw; } catch (...) {
      by_->drop(number_);
      throw;
    }
  }
  /// The replies of all ranks. Where one of them asks for launches to look at, all ranks look.
  std::vector<served::words> request(served::words of) const {
    of.insert(of.begin(), std::to_string(number_));
    auto const replies = by_->ask(of);
    for (int launches = asked(replies); launches > 0;) {
      launches = asked(by_->ask({of[0], "look", of[2], std::to_string(launches)}));
    }
    return replies;
  }

  /// The launches that ranks ask for in front of their replies; 0 where a result is wrong.
  static int asked(std::vector<served::words> const& replies) {
    int most = 0;
    for (auto const& each : replies) {
      if (each[0] == "wrong") { return 0; }
      if (each[0] != "ok") { most = std::max(most, served::to_number<int>(each[0])); }
    }
    return most;
  }

  std::shared_ptr<served::leader> by_;
  int number_;
  std::size_t variant_;
  clock decides_;
  int at_once_ = std::numeric_limits<int>::max();  ///< launches, of the rank with the fewest
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
