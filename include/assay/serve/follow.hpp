// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to measure_together.hpp: subjects that all ranks of a world run together. Rank 0
/// decides, and the others follow.
///
/// Rank 0 broadcasts each request to its subjects, in the words of protocol.hpp behind the number
/// of the subject. All ranks do the same, and rank 0 gathers the replies. `drop` has no reply.
#pragma once

#include <assay/measure/subject.hpp>
#include <assay/serve/answers.hpp>
#include <assay/serve/protocol.hpp>
#include <assay/world/world.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
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

/// "rank 2: text".
inline std::string of_rank(std::size_t rank, std::string const& text) {
  return "rank " + std::to_string(rank) + ": " + text;
}

/// The cell of all ranks: the slowest on each clock, since a job ends with its last rank. A clock
/// that one rank lacks is NaN. The launches are those of the rank that is slowest on the deciding
/// clock.
inline cell slowest(std::vector<cell> const& of, clock decides) {
  auto all = of.front();
  for (std::size_t rank = 0; rank < of.size(); ++rank) {
    auto const& each = of[rank];
    if (each[decides] > all[decides]) { all.launches = each.launches; }
    for (auto const on : all_clocks) {
      if (std::isnan(each[on]) || each[on] > all[on]) { all[on] = each[on]; }
    }
    if (std::isnan(each.sm_hertz) || each.sm_hertz < all.sm_hertz) { all.sm_hertz = each.sm_hertz; }
    if (rank == 0) { all.disturbance.clear(); }
    if (!each.disturbance.empty() && all.disturbance.empty()) {
      all.disturbance = of_rank(rank, each.disturbance);
    }
  }
  return all;
}

/// The subjects of this rank, by the numbers that rank 0 gave them.
class followers {
 public:
  explicit followers(std::vector<variant> const& variants) : variants_(variants) {}

  /// Does what a request asks for. An exception is a reply too.
  words answer(words const& request) {
    try {
      auto const number = to_number<int>(at(request, 0));
      words const rest(request.begin() + 1, request.end());
      if (at(rest, 0) == "build") {
        auto const& of = variants_.at(to_number<std::size_t>(at(rest, 1)));
        auto made = of.build(epoch_of(rest));
        if (!made) { throw std::runtime_error("its build function returned no subject"); }
        made->finish_building();
        auto reply = built_words(*made, of);
        subjects_[number] = std::move(made);
        return reply;
      }
      if (at(rest, 0) == "drop") {
        subjects_.erase(number);
        return {"ok"};
      }
      return answer_of(*subjects_.at(number), rest);
    } catch (std::exception const& cause) { return {"error", cause.what()}; } catch (...) {
      return {"error", "an exception of unknown type"};
    }
  }

 private:
  std::vector<variant> const& variants_;
  std::map<int, std::unique_ptr<subject>> subjects_;
};

/// Rank 0's end: asks all ranks, itself among them.
class leader {
 public:
  leader(world all, std::vector<variant> const& variants) : all_(std::move(all)), own_(variants) {}

  int next_number() { return next_++; }

  /// The replies of all ranks. Throws the first error, with its rank.
  std::vector<words> ask(words const& request) {
    (void)all_.broadcast(encode(request));
    auto const own = own_.answer(request);
    std::vector<words> replies;
    for (auto const& line : all_.gather(encode(own))) {
      replies.push_back(decode({line.data(), line.size() - 1}));
    }
    for (std::size_t rank = 0; rank < replies.size(); ++rank) {
      if (at(replies[rank], 0) == "error") {
        throw std::runtime_error(of_rank(rank, at(replies[rank], 1)));
      }
    }
    return replies;
  }

  void drop(int number) {
    words const request{std::to_string(number), "drop"};
    (void)all_.broadcast(encode(request));
    (void)own_.answer(request);
  }

 private:
  world all_;
  followers own_;
  int next_ = 0;
};

}  // namespace served

/// A subject of rank 0 that all ranks build, warm, time and verify together.
class ranks_subject final : public subject {
 public:
  ranks_subject(std::shared_ptr<served::leader> by, std::size_t variant, epoch const& now)
      : by_(std::move(by)),
        number_(by_->next_number()),
        decides_(now.decides.value_or(clock::wall)) {
    auto const built =
        request({"build", std::to_string(variant), std::to_string(now.number),
                 std::to_string(now.seed), std::to_string(now.instance),
                 now.decides ? std::string{to_string(*now.decides)} : std::string{}});
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

  /// The wrong result of the first rank that has one.
  std::optional<std::string> verify(int set) override {
    auto const replies = request({"verify", std::to_string(set)});
    for (std::size_t rank = 0; rank < replies.size(); ++rank) {
      if (replies[rank][0] != "ok") { return served::of_rank(rank, served::at(replies[rank], 1)); }
    }
    return {};
  }

  double bytes() const override { return bytes_; }
  double flops() const override { return flops_; }
  checks checked() const override { return checked_; }

  /// Those of all ranks, each once.
  std::vector<std::string> caveats() const override {
    std::vector<std::string> all;
    for (auto const& each : request({"caveats"})) {
      for (auto text = each.begin() + 1; text != each.end(); ++text) {
        if (std::find(all.begin(), all.end(), *text) == all.end()) { all.push_back(*text); }
      }
    }
    return all;
  }

 private:
  std::vector<served::words> request(served::words of) const {
    of.insert(of.begin(), std::to_string(number_));
    return by_->ask(of);
  }

  std::shared_ptr<served::leader> by_;
  int number_;
  clock decides_;
  double bytes_ = 0, flops_ = 0;
  checks checked_ = checks::all;
};

/// The variants of rank 0 that stand for those of all ranks. `variants` has to outlive them.
inline std::vector<variant> led(world const& all, std::vector<variant> const& variants) {
  auto const by = std::make_shared<served::leader>(all, variants);
  auto made = variants;
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i].build = [by, i](epoch const& now) -> std::unique_ptr<subject> {
      return std::make_unique<ranks_subject>(by, i, now);
    };
  }
  return made;
}

/// Does what rank 0 asks for until it ends. Returns the last message of rank 0, which is no
/// request.
inline served::words follow(world const& all, std::vector<variant> const& variants) {
  served::followers own{variants};
  for (;;) {
    auto const line = all.broadcast();
    auto request = served::decode({line.data(), line.size() - 1});
    if (served::at(request, 0) == "end") { return request; }
    auto const reply = own.answer(request);
    if (served::at(request, 1) != "drop") { (void)all.gather(served::encode(reply)); }
  }
}

}  // namespace assay::measure
