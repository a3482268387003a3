// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to measure_together.hpp: rank 0 decides what all ranks do with their subjects, and the
/// others follow.
///
/// Rank 0 broadcasts each request to its subjects, in the words of protocol.hpp behind the number
/// of the subject. All ranks do the same, and rank 0 gathers the replies. `drop` has no reply.
/// Before a cell the ranks wait for each other: a gather, and a broadcast that says to go on or to
/// stop. `epoch_begin` and `epoch_end` call the hooks of the options of each rank.
///
/// Replies say more than those of protocol.hpp: `build` the GPU of the rank, `warm` the launches
/// that begin together. Where ranks have one GPU, rank 0 says `share` and its names. `time`,
/// `verify` and `look SET LAUNCHES` begin with `doubts()` in place of `ok`. Where that is not 0 on
/// all ranks, rank 0 lets all of them `look`.
#pragma once

#include <assay/core/concat.hpp>
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
#include <map>
#include <memory>
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
    auto reply = reply_of<world_error>([&] { return act(request); });
    // A subject that failed before, or that does not wait for others. All ranks wait once.
    if (at(request, 1) == "time" && !arrived_) {
      bool const ready = at(reply, 0) != "error";
      auto const met = reply_of<world_error>([&] {
        arrive(ready);
        return words{"ok"};
      });
      if (ready && met[0] == "error") { reply = met; }
    }
    return reply;
  }

 private:
  words act(words const& request) {
    auto const number = to_number<int>(at(request, 0));
    words const rest(request.begin() + 1, request.end());
    auto const& verb = at(rest, 0);
    if (verb == "build") {
      auto const& of = variants_.at(to_number<std::size_t>(at(rest, 1)));
      auto now = epoch_of(rest);
      now.arrive = [this] { arrive(true); };
      if (all_.ranks() > 1) {
        now.patience = all_.limit() / 2;  // so that the reply of a rank that waits comes in time
      }
      auto made = of.build(now);
      if (!made) { throw std::runtime_error("its build function returned no subject"); }
      made->finish_building();
      auto reply = built_words(*made, of);
      reply.push_back(made->gpu());
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
    if (verb != "epoch_end") { return subject_words(*subjects_.at(number), rest); }
    words reply{"ok", "0"};
    if (options_.at_epoch_end) {
      for (auto& each : options_.at_epoch_end(epoch_of(rest))) { reply.push_back(std::move(each)); }
    }
    if (options_.throttle_bits) { reply[1] = std::to_string(options_.throttle_bits()); }
    return reply;
  }

  /// The answer of a subject, with what only ranks tell each other.
  static words subject_words(subject& of, words const& request) {
    auto const& verb = at(request, 0);
    words reply{"ok"};
    if (verb == "look") {
      of.look(to_number<int>(at(request, 1)), to_number<int>(at(request, 2)));
    } else if (verb == "share") {
      if (std::ranges::count(request, of.gpu()) > 0) { of.share_gpu(); }
    } else {
      reply = answer_of(of, request);
    }
    if (verb == "warm") { reply.push_back(std::to_string(of.at_once())); }
    bool const may_doubt = verb == "time" || verb == "verify" || verb == "look";
    if (may_doubt && reply[0] == "ok") { reply[0] = std::to_string(of.doubts()); }
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
        times_(all_.ranks(), variants),
        share_gpus_(chosen.ranks_share_gpus) {}

  int next_number() { return next_++; }
  rank_times& times() noexcept { return times_; }

  /// The replies of all ranks. Throws the errors, with their ranks.
  std::vector<words> ask(words const& request) {
    (void)all_.broadcast(encode(request));
    auto const own = own_.answer(request);
    // A rank may be missing since this one has failed.
    bool const failed_here = own[0] == "error" && own[1] != stopped;
    auto const before = failed_here ? of_rank(0, own[1]) + "; then " : std::string{};
    std::vector<words> replies;
    for (auto const& line : all_.gather(encode(own), before)) {
      replies.push_back(decode({line.data(), line.size() - 1}));
    }
    std::string failed;
    bool only_memory = true, more = false;
    for (std::size_t rank = 0; rank < replies.size(); ++rank) {
      if (at(replies[rank], 0) != "error" || at(replies[rank], 1) == stopped) { continue; }
      only_memory = only_memory && lacks_memory(replies[rank]);
      more = failed.size() >= longest_error;
      if (!more) { failed += (failed.empty() ? "" : "; ") + of_rank(rank, replies[rank][1]); }
    }
    if (!failed.empty()) { throw_error(failed + (more ? "; and more ranks" : ""), only_memory); }
    return replies;
  }

  /// The GPUs that several ranks have, by the names that they have told. Ends all ranks where that
  /// is not allowed.
  words shared_gpus(std::vector<words> const& built) const {
    words shared;
    for (std::size_t rank = 0; rank < built.size(); ++rank) {
      auto const& gpu = at(built[rank], 4);
      for (std::size_t other = 0; other < rank; ++other) {
        if (gpu.empty() || gpu != at(built[other], 4)) { continue; }
        add_distinct(shared, gpu);
        if (share_gpus_) { continue; }
        all_.abandon(concat({"ranks ", std::to_string(other), " and ", std::to_string(rank),
                             " have one GPU, ", gpu, "; ranks_share_gpus allows it"}));
        all_.barrier();  // throws this
      }
    }
    return shared;
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
  bool share_gpus_;
  std::uint64_t throttle_ = 0;  ///< of all ranks, at the end of the last epoch
  int next_ = 0;
};

}  // namespace served

}  // namespace assay::measure
