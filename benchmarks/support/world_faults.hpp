// SPDX-License-Identifier: Apache-2.0
/// @file
/// Faults of the ranks of a world, injected on purpose, and what every rank has to say then.
#pragma once

#include "rank_processes.hpp"

#include <assay/world/world.hpp>

#include <signal.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::benchmark {

/// One job of several ranks, on loopback or on `host`. Limits are a minute where no rank is to be
/// missed.
struct job {
  int ranks = 2;
  int victim = 1;  ///< the rank with the fault
  int port = 0;
  std::string token = "job";
  std::string host = "127.0.0.1";
  /// What each rank's process does first.
  std::function<void(int rank)> begin = [](int) {};

  std::vector<std::string> run(std::function<std::string(int)> const& body,
                               std::vector<gate*> const& gates = {}) const {
    return run_ranks(
        ranks,
        [&](int rank) {
          begin(rank);
          return body(rank);
        },
        gates);
  }
  membership of(int rank, double limit = 60) const {
    return {.rank = rank,
            .ranks = ranks,
            .local_rank = rank,
            .host = host,
            .port = port,
            .token = token,
            .limit = std::chrono::duration<double>{limit}};
  }
  std::string victim_name() const { return "rank " + std::to_string(victim); }
};

/// The calls of a world as this rank makes them, one after another, until one throws.
inline std::string call_on(world const& all) {
  for (int i = 0; i < 1'000'000; ++i) {
    (void)all.gather("gathered");
    (void)all.broadcast("sent");
    all.barrier();
  }
  return "no error";
}

/// A rank that meets rank 0 by hand. It sends `hello`, and waits until all ranks have come.
class raw_rank {
 public:
  raw_rank(job const& at, std::string const& hello) {
    auto const until = detail::after(std::chrono::seconds{60});
    while (!to_) { to_ = detail::connect_to(at.host, at.port, until); }
    (void)to_->receive([](detail::connection& by) { return by.take_line(); }, until);
    (void)to_->send(hello, until);
    if (auto got = to_->receive([](detail::connection& by) { return by.take_message(); }, until)) {
      answer_ = got->bytes;
    }
  }
  void send(std::string_view bytes) {
    (void)to_->send(bytes, detail::after(std::chrono::seconds{60}));
  }
  std::string const& answer() const { return answer_; }

 private:
  std::unique_ptr<detail::connection> to_;
  std::string answer_;
};

inline std::string hello_of(job const& at, int version, int rank, int ranks) {
  return "assay-world " + std::to_string(version) + ' ' + std::to_string(rank) + ' ' +
         std::to_string(ranks) + ' ' + at.token + '\n';
}

/// A fault: its name, and a run of it that returns what each rank said.
struct fault {
  std::string name;
  std::function<std::vector<std::string>(job const&)> run;
  std::function<std::string(job const&)> says;  ///< a part of the text of all ranks
  bool by_rank_0 = true;                        ///< rank 0 can have this fault too
  bool on_one_host = false;                     ///< more programs than ranks: all on rank 0's host
};

/// A rank is killed before its call of a verb in the second round.
inline fault killed_before(std::string const& verb) {
  auto const run = [verb](job const& at) {
    return at.run([&](int rank) {
      auto const all = world::meet(at.of(rank));
      auto const die_at = [&](std::string_view here) {
        if (rank == at.victim && here == verb) { ::raise(SIGKILL); }
      };
      (void)all.gather("first");
      (void)all.broadcast("round");
      all.barrier();
      die_at("gather");
      (void)all.gather("second");
      die_at("broadcast");
      (void)all.broadcast("round");
      die_at("barrier");
      all.barrier();
      return call_on(all);
    });
  };
  return {"killed before " + verb, run,
          [](job const& at) { return at.victim_name() + " has ended, or its connection"; }};
}

/// A rank comes to a gather when all others have given it up. Rank 0's limit is short, and it comes
/// when all others have sent.
inline fault slow_rank() {
  auto const run = [](job const& at) {
    gate sent, ended;
    auto const body = [&](int rank) {
      if (rank == 0) {
        detail::star all{at.of(0, 0.05), detail::meet(at.of(0))};
        for (int i = 2; i < at.ranks; ++i) { sent.wait(); }
        (void)all.gather(detail::verb::gather, {}, {});
        return std::string{"no error"};
      }
      auto const all = world::meet(at.of(rank));
      if (rank == at.victim) { ended.wait_for_the_end_of_others(); }
      (void)all.gather("late");
      if (rank != at.victim) { sent.open_once(); }
      return call_on(all);
    };
    return at.run(body, {&sent, &ended});
  };
  return {"slow rank", run,
          [](job const& at) { return at.victim_name() + " did not come to gather within 0.05 s"; },
          false};
}

/// A rank ends in the middle of a message.
inline fault half_message() {
  auto const run = [](job const& at) {
    return at.run([&](int rank) {
      auto const half =
          detail::message{detail::verb::gather, 1, std::string(100, 'x')}.encoded().substr(0, 60);
      if (rank != at.victim) { return call_on(world::meet(at.of(rank))); }
      if (rank == 0) {
        auto const links = detail::lobby{at.of(0)}.welcome_all();
        for (auto const& each : links) {
          if (each) { (void)each->send(half, detail::after(std::chrono::seconds{60})); }
        }
        ::raise(SIGKILL);
      }
      raw_rank one{at, hello_of(at, detail::world_version, rank, at.ranks)};
      one.send(half);
      ::raise(SIGKILL);
      return std::string{};
    });
  };
  return {"half a message", run,
          [](job const& at) { return at.victim_name() + " has ended in the middle of a message"; }};
}

/// A rank says in its hello what does not fit.
inline fault wrong_hello(std::string name, std::function<std::string(job const&)> const& hello,
                         std::function<std::string(job const&)> says) {
  auto const run = [hello](job const& at) {
    return at.run([&](int rank) {
      if (rank != at.victim) { return call_on(world::meet(at.of(rank))); }
      return raw_rank{at, hello(at)}.answer();
    });
  };
  return {std::move(name), run, std::move(says), false};
}

/// A rank makes another call than the others.
inline fault other_call() {
  auto const run = [](job const& at) {
    return at.run([&](int rank) {
      auto const all = world::meet(at.of(rank));
      rank == at.victim ? (void)all.gather("mine") : all.barrier();
      return call_on(all);
    });
  };
  auto const says = [](job const& at) {
    return at.victim_name() + " called gather (call 1) where rank 0 called barrier (call 1)";
  };
  return {"another call", run, says, false};
}

/// A rank makes a call that needs no answer where the others make another. The next call tells.
inline fault earlier_call() {
  auto const run = [](job const& at) {
    return at.run([&](int rank) {
      auto const all = world::meet(at.of(rank));
      rank == at.victim ? (void)all.gather("mine") : (void)all.broadcast("ours");
      return call_on(all);
    });
  };
  auto const says = [](job const& at) {
    return at.victim_name() + " called gather (call 1) where rank 0 called gather (call 2)";
  };
  return {"another call before", run, says, false};
}

/// A rank gives up and says why.
inline fault gives_up() {
  auto const run = [](job const& at) {
    return at.run([&](int rank) {
      auto const all = world::meet(at.of(rank));
      all.barrier();
      if (rank == at.victim) { all.abandon("wrong answer"); }
      return call_on(all);
    });
  };
  return {"a rank gives up", run,
          [](job const& at) { return at.victim_name() + ": wrong answer"; }};
}

/// Another job on the port of one that still waits for a rank. The ranks of the other job speak;
/// the first job goes on.
inline fault second_job() {
  auto const run = [](job const& at) {
    gate others_ended;
    auto const first = [&](int rank) {
      if (rank == 1) { others_ended.wait_for_the_end_of_others(); }
      others_ended.close();
      auto const all = world::meet(at.of(rank));
      all.barrier();
      return std::string{"the first job went on"};
    };
    auto const second = [&](int rank) {
      auto other = at;
      other.token = "another job";
      auto const until = detail::after(std::chrono::seconds{60});
      while (!detail::connect_to(at.host, at.port, until)) {}  // the first job listens
      return call_on(world::meet(other.of(rank)));
    };
    auto all = run_ranks(2 * at.ranks,
                         [&](int i) { return i < at.ranks ? first(i) : second(i - at.ranks); },
                         {&others_ended});
    for (int i = 0; i < at.ranks; ++i) {
      auto const& text = all[static_cast<std::size_t>(i)];
      if (text != "the first job went on") { return std::vector{text}; }
    }
    all.erase(all.begin(), all.begin() + at.ranks);
    return all;
  };
  auto const says = [](job const& at) {
    return detail::address_of(at.of(0)) + " is taken by another job or program";
  };
  return {"second job on the port", run, says, true, true};
}

/// A program that is not of assay listens at the port and says something.
inline fault other_program() {
  auto const run = [](job const& at) {
    gate ended;
    auto all = run_ranks(at.ranks + 1,
                         [&](int rank) {
                           auto const until = detail::after(std::chrono::seconds{60});
                           if (rank < at.ranks) {
                             while (!detail::connect_to(at.host, at.port, until)) {}
                             return call_on(world::meet(at.of(rank)));
                           }
                           ended.close();
                           auto const doors = detail::listen_at(at.host, at.port);
                           std::vector<std::unique_ptr<detail::connection>> guests;
                           for (;;) {  // ends with the gate: all ranks have ended
                             std::vector<::pollfd> asked{{doors[0]->descriptor(), POLLIN, 0},
                                                         {ended.descriptor(), POLLIN, 0}};
                             (void)detail::ready_before(asked, until);
                             if (asked[1].revents != 0) { return std::string{}; }
                             int const made =
                                 ::accept4(asked[0].fd, nullptr, nullptr, SOCK_NONBLOCK);
                             if (made < 0) { continue; }
                             guests.push_back(std::make_unique<detail::connection>(made));
                             (void)guests.back()->send("220 ready\r\n", until);
                           }
                         },
                         {&ended});
    all.pop_back();
    return all;
  };
  auto made = second_job();
  made.name = "another program on the port";
  made.run = run;
  return made;
}

/// Another rank than the victim: 0 where there is no third one.
inline int other_than(job const& at) { return at.victim == 1 ? at.ranks > 2 ? 2 : 0 : 1; }

inline std::vector<fault> all_faults() {
  auto const version = detail::world_version + 98;
  return {
      killed_before("gather"),
      killed_before("broadcast"),
      killed_before("barrier"),
      slow_rank(),
      half_message(),
      wrong_hello(
          "wrong version",
          [=](job const& at) { return hello_of(at, version, at.victim, at.ranks); },
          [](job const& at) {
            return at.victim_name() + " speaks version 99 of the protocol, rank 0 version 1";
          }),
      wrong_hello(
          "wrong number of ranks",
          [](job const& at) {
            return hello_of(at, detail::world_version, at.victim, at.ranks + 1);
          },
          [](job const& at) {
            return at.victim_name() + " is one of " + std::to_string(at.ranks + 1) +
                   " ranks, rank 0 one of " + std::to_string(at.ranks);
          }),
      wrong_hello(
          "a rank twice",
          [](job const& at) {
            return hello_of(at, detail::world_version, other_than(at), at.ranks);
          },
          [](job const& at) {
            return "two processes say that they are rank " + std::to_string(other_than(at));
          }),
      other_call(),
      earlier_call(),
      gives_up(),
      second_job(),
      other_program(),
  };
}

/// Runs a fault. Returns what is wrong with what the ranks said; empty where all who lived said the
/// same, and it names the fault.
inline std::string complaint(fault const& of, job const& at) {
  auto const said = of.run(at);
  std::optional<std::string> first;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (said[i] == killed && static_cast<int>(i) == at.victim) { continue; }
    if (!first) { first = said[i]; }
    if (said[i] != *first || said[i].find(of.says(at)) == std::string::npos) {
      return of.name + ", " + std::to_string(at.ranks) + " ranks, victim " +
             std::to_string(at.victim) + ": rank " + std::to_string(i) + " said '" + said[i] +
             "', another '" + *first + "', expected '" + of.says(at) + "'";
    }
  }
  return first ? "" : of.name + ": nobody said anything";
}

}  // namespace assay::benchmark
