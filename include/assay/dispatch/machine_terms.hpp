// SPDX-License-Identifier: Apache-2.0
/// @file
/// `machine_terms`: the costs of a machine that no task changes: forks, links and waits.
#pragma once

#include <assay/core/memory_type.hpp>
#include <assay/dispatch/estimate.hpp>
#include <assay/dispatch/facts.hpp>
#include <assay/dispatch/path.hpp>
#include <assay/stats/number_text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::dispatch {

/// The direction of a copy over the link.
enum class to { device, host };

/// Copies of one direction and one type of host memory, by one transfer policy. Several links of
/// these, with rising `from_bytes`, are the pieces of a line with bends.
struct link {
  std::string transfer;  ///< as in `path`
  to end = to::device;
  memory_type memory = memory_type::pageable;
  double latency_seconds = 0;   ///< of a copy of `from_bytes`
  double bytes_per_second = 0;  ///< of further bytes
  double spread = 0;            ///< half of the interval of a copy's time, as a share
  double from_bytes = 0;        ///< the smallest copy for which this piece holds
  bool operator==(link const&) const = default;
};

/// The time that `host::parallel_for` takes to begin and end a loop on several threads.
struct fork {
  int threads = 1;
  estimate cost;
  bool operator==(fork const&) const = default;
};

/// The terms of a machine, measured once for all tasks. With these terms one calibration of a task
/// predicts calls on arrays in other memory or at another place.
struct machine_terms {
  std::vector<fork> forks;
  std::vector<link> links;
  estimate sync;  ///< the wait for a device, from the end of its work to the host's next line
  bool operator==(machine_terms const&) const = default;
};

/// The factor by which copies of one way take longer, in calls of a task of this size, than links
/// say. A call also allocates, its copies and its kernel wait for each other, and caches hold its
/// arrays.
struct copy_factor {
  to end = to::device;
  memory_type memory = memory_type::pageable;
  double size = 1;  ///< of the task
  double factor = 1;
  double spread = 0;  ///< half of the interval of a copy's time, as a share
  bool operator==(copy_factor const&) const = default;
};

/// The copies that a call needs before and after it on one path.
struct copies {
  struct time {
    double seconds = 0;
    double half = 0;  ///< half of the interval; errors of one link do not average out

    operator estimate() const noexcept { return {seconds, seconds - half, seconds + half}; }
  };
  time before;
  time after;
  /// The time that a call needs beside its copies of page-locked memory: it allocates, and its
  /// copies and its kernel wait for each other. The copies themselves are as fast in a call as
  /// alone. Copies of pageable memory are partly work of the host, so all of their time counts as
  /// `before` and `after`.
  time submit{};

  double seconds() const noexcept { return before.seconds + after.seconds + submit.seconds; }
};

/// The links of one path, found once, so that a choice searches for none.
class path_links {
 public:
  /// Throws `std::invalid_argument` unless factors are positive, and have rising sizes from 1 for
  /// each way and memory.
  path_links(machine_terms const& machine, path const& on,
             std::vector<copy_factor> const& factors = {})
      : on_host_(on.host() != nullptr), here_(on_host_ ? array_fact::on_host : on.device()->id) {
    for (auto const& each : machine.links) {
      if (each.transfer == on.transfer) { ways(each.end, each.memory).add(each); }
    }
    for (auto each : factors) {
      auto& its = ways(each.end, each.memory).factors;
      bool const rises = its.empty() ? each.size >= 1 : std::log2(each.size) > its.back().size;
      if (!(rises && each.factor > 0)) {
        throw std::invalid_argument("a copy factor of " + stats::number_text(each.factor) +
                                    " at size " + stats::number_text(each.size) +
                                    ": a positive one is needed, and sizes that rise from 1");
      }
      each.size = std::log2(each.size);
      its.push_back(each);
    }
  }

  /// The copies of a call. An array goes in if the call reads it and its newest copy is elsewhere.
  /// An array in host memory that a device writes goes back. Without a link for a copy the path is
  /// impossible, as is a path over the memory of another device.
  copies of(facts const& known, double log_size = 0) const noexcept {
    copies total;
    for (std::size_t i = 0; i < known.count; ++i) {
      auto const& each = known.arrays[i];
      if (each.memory == memory_type::device && (on_host_ || each.newest != here_)) {
        total.before.seconds = std::numeric_limits<double>::infinity();
      } else if (goes_in(each)) {
        add(total.before, total.submit, each, on_host_ ? to::host : to::device, log_size);
      }
      if (goes_back(each)) { add(total.after, total.submit, each, to::host, log_size); }
    }
    return total;
  }

  /// True for arrays that are copied before a call.
  bool goes_in(array_fact const& each) const noexcept {
    return each.is_read() && each.newest != here_;
  }
  /// True for arrays that are copied after a call.
  bool goes_back(array_fact const& each) const noexcept {
    return !on_host_ && each.is_written() && each.memory != memory_type::device;
  }

 private:
  /// A line: `seconds` is where it meets the time without bytes, below 0 for some steep pieces.
  struct piece {
    double seconds = std::numeric_limits<double>::infinity();
    double seconds_per_byte = 0;
    double spread = 0;
  };
  /// The pieces of one kind of copies.
  struct way {
    static constexpr std::size_t most = 8;
    std::array<piece, most> pieces{};
    std::array<double, most> from_bytes;  // infinite for pieces that are not there
    std::size_t count = 0;
    std::vector<copy_factor> factors{};  // of rising log2 of sizes

    way() { from_bytes.fill(std::numeric_limits<double>::infinity()); }
    /// Pieces come in the order of their bytes; those beyond the most are left out.
    void add(link const& of) noexcept {
      if (count == most) { return; }
      double const per_byte = 1 / of.bytes_per_second;
      pieces[count] = {of.latency_seconds - of.from_bytes * per_byte, per_byte, of.spread};
      from_bytes[count++] = of.from_bytes;
    }
    /// Without branches: the next size is as good as random.
    piece const& at(double bytes) const noexcept {
      std::size_t found = 0;
      for (std::size_t i = 1; i < most; ++i) { found += bytes >= from_bytes[i] ? 1 : 0; }
      return pieces[found];
    }
    /// The factor at a log2 of a size, interpolated between the sizes beside it.
    copy_factor factor(double log_size) const noexcept {
      std::size_t next = 1;
      while (next + 1 < factors.size() && log_size > factors[next].size) { ++next; }
      auto found = factors.front();
      if (next == factors.size()) { return found; }
      auto const& from = factors[next - 1];
      auto const& to = factors[next];
      double const share = std::clamp((log_size - from.size) / (to.size - from.size), 0.0, 1.0);
      found.factor = std::lerp(from.factor, to.factor, share);
      found.spread = std::lerp(from.spread, to.spread, share);
      return found;
    }
  };
  way& ways(to end, memory_type memory) noexcept {
    return ways_[static_cast<std::size_t>(end)][static_cast<std::size_t>(memory)];
  }
  void add(copies::time& sum, copies::time& submit, array_fact const& each, to end,
           double log_size) const noexcept {
    auto const& way = ways_[static_cast<std::size_t>(end)][static_cast<std::size_t>(each.memory)];
    auto const& by = way.at(each.bytes);
    double seconds = by.seconds + each.bytes * by.seconds_per_byte;
    double spread = by.spread;
    if (!way.factors.empty()) {  // whole calls know better than copies alone
      auto const found = way.factor(log_size);
      spread = found.spread;
      double const more = (found.factor - 1) * seconds;
      bool const is_submit = more > 0 && each.memory == memory_type::page_locked;
      auto& its = is_submit ? submit : sum;
      its.seconds += more;
      its.half += more * spread;
    }
    sum.seconds += seconds;
    sum.half += seconds * spread;
  }

  bool on_host_;
  int here_;
  std::array<std::array<way, 4>, 2> ways_{};  // by end and memory
};

}  // namespace assay::dispatch
