// SPDX-License-Identifier: Apache-2.0
/// @file
/// `membership`: the place of this process in a job, as a launcher tells it.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace assay {

/// The place of one process in a job, and the address at which the others meet rank 0.
struct membership {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;   ///< among the ranks of this host; the usual number of the rank's GPU
  std::string host{};   ///< of rank 0: a name, an IPv4 or an IPv6 address
  int port = 0;         ///< of rank 0
  std::string token{};  ///< equal on all ranks of a job; a process without it cannot join
  std::chrono::duration<double> limit{120};  ///< the longest wait for a rank, at each call
};

namespace detail {

/// The value of an environment variable; null where the variable is not set.
using variable_reader = std::function<char const*(char const*)>;

/// The variables of one launcher.
struct launcher {
  char const* name;
  char const* rank;
  char const* ranks;
  char const* local_rank;
  std::array<char const*, 2> told_by;  ///< either one says that this launcher started the process
  std::array<char const*, 2> job;      ///< what tells one job from another
};

/// The special launchers first: under mpirun in a Slurm job both have their variables. A batch
/// script of Slurm has SLURM_PROCID and is no rank, and srun sets PMI_RANK for programs of MPICH.
inline constexpr std::array<launcher, 4> launchers{{
    {"torchrun",
     "RANK",
     "WORLD_SIZE",
     "LOCAL_RANK",
     {"RANK", "WORLD_SIZE"},
     {"TORCHELASTIC_RUN_ID", ""}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
     {"PMIX_NAMESPACE", ""}},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", {"MPI_LOCALRANKID", ""}, {"", ""}},
    {"Slurm",
     "SLURM_PROCID",
     "SLURM_STEP_NUM_TASKS",
     "SLURM_LOCALID",
     {"SLURM_STEP_NUM_TASKS", ""},
     {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
}};

/// The number that a text is. Throws `std::invalid_argument` with the text's name.
inline int number_in(std::string const& name, std::string_view text, int least, int most,
                     std::string const& why = {}) {
  int value = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < least || value > most) {
    throw std::invalid_argument(name + "=" + std::string{text} + ": it must be a number from " +
                                std::to_string(least) + " to " + std::to_string(most) + why);
  }
  return value;
}

/// Reads `host:port` or `[address]:port` into a membership.
inline void read_address(membership& into, std::string const& name, std::string_view text) {
  auto const colon = text.rfind(':');
  auto host = text.substr(0, std::min(colon, text.size()));
  bool const bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) { host = host.substr(1, host.size() - 2); }
  if (colon == text.npos || host.empty() || (!bracketed && host.find(':') != host.npos)) {
    throw std::invalid_argument(name + "=" + std::string{text} +
                                ": write host:port, or [address]:port for IPv6");
  }
  into.host = host;
  into.port = number_in("the port of " + name, text.substr(colon + 1), 1, 65535);
}

/// A port beside that of torchrun, at which torchrun's own store listens.
inline int beside(int port) { return port + (port > 64535 ? -1000 : 1000); }

/// The membership that the variables of a launcher describe; that of a single rank without them.
/// Throws `std::invalid_argument` where variables are missing or wrong.
inline membership membership_from(variable_reader const& value_of) {
  auto const is_set = [&](char const* name) { return *name != 0 && value_of(name) != nullptr; };
  auto const* const rendezvous = value_of("ASSAY_RENDEZVOUS");
  auto const from = std::ranges::find_if(launchers, [&](launcher const& each) {
    return is_set(each.told_by[0]) || is_set(each.told_by[1]);
  });
  if (from == launchers.end()) {
    if (rendezvous == nullptr) { return {}; }
    throw std::invalid_argument(
        "ASSAY_RENDEZVOUS is set, but no variable of torchrun, Open MPI, MPICH or Slurm says which "
        "rank this is: set RANK, WORLD_SIZE and LOCAL_RANK, or unset ASSAY_RENDEZVOUS");
  }
  auto const text = [&](char const* name) {
    if (is_set(name) && *value_of(name) != 0) { return std::string_view{value_of(name)}; }
    throw std::invalid_argument(std::string{name} + " is " + (is_set(name) ? "empty" : "not set") +
                                ", and other variables of " + from->name +
                                " are: set it, or unset them to run alone");
  };
  membership of;
  of.ranks = number_in(from->ranks, text(from->ranks), 1, 1 << 20);
  auto const why = std::string{", as "} + from->ranks + '=' + std::to_string(of.ranks);
  of.rank = number_in(from->rank, text(from->rank), 0, of.ranks - 1, why);
  of.local_rank = number_in(from->local_rank, text(from->local_rank), 0, of.ranks - 1, why);
  if (auto const* own = value_of("ASSAY_TOKEN"); own != nullptr) {
    of.token = own;
  } else {
    for (auto const* name : from->job) {
      if (is_set(name)) { of.token += std::string{value_of(name)} + '.'; }
    }
  }
  if (rendezvous != nullptr) {
    read_address(of, "ASSAY_RENDEZVOUS", rendezvous);
  } else if (of.ranks > 1 && std::string_view{from->name} == "torchrun") {
    of.host = text("MASTER_ADDR");
    of.port = beside(number_in("MASTER_PORT", text("MASTER_PORT"), 1, 65535));
  } else if (of.ranks > 1) {
    throw std::invalid_argument(std::string{"ASSAY_RENDEZVOUS is not set: under "} + from->name +
                                " name rank 0's host and a free port there, as host:port");
  }
  return of;
}

}  // namespace detail
}  // namespace assay
