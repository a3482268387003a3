// SPDX-License-Identifier: Apache-2.0
/// @file
/// `page_registry`: pages of host memory that are page-locked while any job of the process uses
/// them.
#pragma once

#include <assay/transfer/arrays.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace assay::transfer {

/// Counts the users of page-locked ranges: a range is locked for its first user and released by its
/// last. Memory that somebody else has locked is left alone.
///
/// A range that is within a locked one shares it. One that overlaps it otherwise waits until that
/// is released, since pages are locked once and a copy may not cross from one locked range into
/// another. Those who ask are served in turn, and hold nothing while they wait: they cannot wait
/// for each other.
class page_registry {
 public:
  /// Whole pages, from `begin` to before `end`.
  struct pages {
    std::uintptr_t begin = 0, end = 0;
    bool operator==(pages const&) const = default;
  };

  /// That of the process: what is page-locked is the process's, whatever the device.
  static page_registry& of_process() {
    static page_registry all;
    return all;
  }

  /// Page-locks the arrays of so many elements that are pageable or locked here already. Returns
  /// what to give to `release`; throws what the link does, with nothing taken.
  template <class Link>
  std::vector<pages> acquire(Link const& link, std::vector<host_array> const& arrays,
                             std::int64_t elements) {
    std::unique_lock lock{mutex_};
    auto const ticket = next_ticket_++;
    changed_.wait(lock, [&] { return served_ == ticket; });
    turn const mine{*this};  // nobody else adds ranges now
    auto const wanted = wanted_of(link, arrays, elements);
    changed_.wait(lock, [&] {
      return std::none_of(wanted.begin(), wanted.end(),
                          [&](pages const& each) { return crosses_others(each); });
    });
    std::vector<pages> taken;
    taken.reserve(wanted.size());
    try {
      for (auto const& each : wanted) { taken.push_back(take(link, each)); }
    } catch (...) {
      give_back(link, taken);
      throw;
    }
    return taken;
  }

  template <class Link>
  void release(Link const& link, std::vector<pages> const& taken) noexcept {
    std::lock_guard const lock{mutex_};
    give_back(link, taken);
  }

 private:
  static constexpr std::uintptr_t page = 4096;

  struct block {
    std::uintptr_t end;
    int users;
  };

  /// Lets the next one who asks come, at the end of a scope; the mutex must be held.
  class turn {
   public:
    explicit turn(page_registry& of) : of_(of) {}
    turn(turn const&) = delete;
    turn& operator=(turn const&) = delete;
    ~turn() {
      ++of_.served_;
      of_.changed_.notify_all();
    }

   private:
    page_registry& of_;
  };

  // The rest is called with the mutex held.

  /// The pages of the arrays, those that share one as one range.
  template <class Link>
  std::vector<pages> wanted_of(Link const& link, std::vector<host_array> const& arrays,
                               std::int64_t elements) const {
    std::vector<pages> all;
    for (auto const& each : arrays) {
      auto const bytes = static_cast<std::size_t>(elements) * each.element_bytes;
      auto const first = reinterpret_cast<std::uintptr_t>(each.data);
      pages const range{first / page * page, (first + bytes + page - 1) / page * page};
      // Asked anew: what another job had locked when the arrays were looked at may be so no more.
      if (overlapped(range) != blocks_.end() ||
          link.kind_of(each.data, bytes) == host_kind::pageable) {
        all.push_back(range);
      }
    }
    std::sort(all.begin(), all.end(),
              [](pages const& a, pages const& b) { return a.begin < b.begin; });
    std::vector<pages> merged;
    for (auto const& each : all) {
      if (!merged.empty() && each.begin < merged.back().end) {
        merged.back().end = std::max(merged.back().end, each.end);
      } else {
        merged.push_back(each);
      }
    }
    return merged;
  }

  /// The first locked range that has a page of this one.
  std::map<std::uintptr_t, block>::const_iterator overlapped(pages const& range) const {
    auto found = blocks_.upper_bound(range.begin);
    if (found != blocks_.begin() && std::prev(found)->second.end > range.begin) { --found; }
    return found != blocks_.end() && found->first < range.end ? found : blocks_.end();
  }
  bool crosses_others(pages const& range) const {
    auto const found = overlapped(range);
    return found != blocks_.end() && (range.begin < found->first || range.end > found->second.end);
  }

  template <class Link>
  pages take(Link const& link, pages const& range) {
    if (auto const found = overlapped(range); found != blocks_.end()) {
      ++blocks_.at(found->first).users;
      return {found->first, found->second.end};
    }
    auto const made = blocks_.emplace(range.begin, block{range.end, 1}).first;
    try {
      link.pin(reinterpret_cast<std::byte*>(range.begin), range.end - range.begin);
    } catch (...) {
      blocks_.erase(made);
      throw;
    }
    return range;
  }

  template <class Link>
  void give_back(Link const& link, std::vector<pages> const& taken) noexcept {
    for (auto const& each : taken) {
      auto const found = blocks_.find(each.begin);
      if (--found->second.users > 0) { continue; }
      link.unpin(reinterpret_cast<std::byte*>(each.begin));
      blocks_.erase(found);
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;  ///< a range is released, or somebody served
  std::map<std::uintptr_t, block> blocks_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t served_ = 0;
};

}  // namespace assay::transfer
