// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rank of this process in its job, from the variables of its launcher.
#pragma once

#include <assay/comm/environment.hpp>

#include <assay/core/requirements.hpp>

#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace assay::comm {

/// One process of a job in which each drives one device.
struct process_rank {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;      ///< among the processes of this machine
  std::string meeting;     ///< `host:port` at which rank 0 listens while the others come
  std::string launcher{};  ///< the launcher whose variables were found
  bool operator==(process_rank const&) const = default;
};

/// The first machine of a Slurm list: `node03` of `node[03-05,9],login`.
inline std::string first_host(std::string_view list) {
  auto const bracket = list.find('[');
  if (bracket == std::string_view::npos || list.find(',') < bracket) {
    return std::string{list.substr(0, list.find(','))};
  }
  auto const closing = list.find(']', bracket);
  if (closing == std::string_view::npos) {
    throw std::invalid_argument("'" + std::string{list} +
                                "' is no list of machines: ']' is missing");
  }
  auto const numbers = list.substr(bracket + 1, closing - bracket - 1);
  auto const suffix = list.substr(closing + 1, list.find(',', closing) - closing - 1);
  return std::string{list.substr(0, bracket)} +
         std::string{numbers.substr(0, numbers.find_first_of(",-"))} + std::string{suffix};
}

namespace detail {

/// The variables that one launcher sets for its processes. `local_rank` and `local_ranks` may be
/// null.
struct rank_variables {
  char const *launcher, *rank, *ranks, *local_rank, *local_ranks;
};

/// The launchers, nearest to the process first: an `mpirun` inside a Slurm allocation sets both
/// kinds. For Slurm, only `srun` sets the number of tasks: a batch script has a number and is no
/// rank.
inline constexpr std::array launchers{
    rank_variables{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    rank_variables{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                   "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    rank_variables{"MPI with PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    rank_variables{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr}};

inline int rank_number(char const* name, std::string const& text, int low, int high) {
  int value = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end && value >= low && value <= high) { return value; }
  throw std::invalid_argument(std::string{name} + "='" + text +
                              "': it must be a whole number from " + std::to_string(low) + " to " +
                              std::to_string(high));
}

/// The address at which the ranks meet. `NCCL_COMM_ID` comes first. With `MASTER_ADDR`, the port is
/// the one above `MASTER_PORT`, where torchrun's own store listens while the job lives. Slurm's
/// first machine has rank 0, and the job's number keeps jobs apart. Ranks of one machine use its
/// loopback.
template <class Lookup>
std::string meeting_of(Lookup const& look, rank_variables const& from, process_rank const& who) {
  constexpr int first_port = 1024;
  constexpr int last_port = 65535;
  if (auto const named = look("NCCL_COMM_ID")) { return *named; }
  if (auto const host = look("MASTER_ADDR")) {
    auto const port = rank_number("MASTER_PORT", look("MASTER_PORT").value_or("29500"), first_port,
                                  last_port - 1);
    auto const bare_ipv6 = host->find(':') != std::string::npos && host->front() != '[';
    return (bare_ipv6 ? '[' + *host + ']' : *host) + ':' + std::to_string(port + 1);
  }
  // Above the ports of most services, and below the ports that systems assign (from 32768).
  constexpr int base_port = 20000;
  constexpr int port_count = 10000;
  int number = 0;
  if (auto const job = look("SLURM_JOB_ID")) {
    number = rank_number("SLURM_JOB_ID", *job, 0, 2147483647) % port_count;
  }
  auto const port = std::to_string(base_port + number);
  auto const local_ranks = from.local_ranks == nullptr ? std::nullopt : look(from.local_ranks);
  if (local_ranks && *local_ranks == std::to_string(who.ranks)) { return "127.0.0.1:" + port; }
  for (char const* const list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    if (auto const machines = look(list)) { return first_host(*machines) + ':' + port; }
  }
  throw std::invalid_argument(
      std::string{from.launcher} + " started rank " + std::to_string(who.rank) + " of " +
      std::to_string(who.ranks) +
      ", and nothing says where the ranks meet: set NCCL_COMM_ID=host:port (or MASTER_ADDR and "
      "MASTER_PORT) to the machine of rank 0 on all of them");
}

}  // namespace detail

/// The rank of this process, from the variables of torchrun, Open MPI, PMI (MPICH, Intel MPI) or
/// Slurm that `look(name)` finds; nothing where none of these launchers started it.
///
/// Throws `std::invalid_argument` that names a variable with a value that cannot be, or where no
/// variable says where the ranks meet. Sends no message: all ranks read the same variables.
template <class Lookup>
std::optional<process_rank> find_process_rank(Lookup const& look) {
  for (auto const& from : detail::launchers) {
    auto const rank = look(from.rank);
    auto const ranks = look(from.ranks);
    if (!rank || !ranks) { continue; }
    process_rank found;
    found.launcher = from.launcher;
    found.ranks = detail::rank_number(from.ranks, *ranks, 1, 1 << 20);
    found.rank = detail::rank_number(from.rank, *rank, 0, found.ranks - 1);
    found.local_rank = found.rank;
    // srun also starts MPI programs, and then its variable has the local rank.
    for (char const* const name : {from.local_rank, "SLURM_LOCALID"}) {
      if (auto const local = look(name)) {
        found.local_rank = detail::rank_number(name, *local, 0, found.ranks - 1);
        break;
      }
    }
    found.meeting = detail::meeting_of(look, from, found);
    return found;
  }
  return std::nullopt;
}

/// `find_process_rank` in the environment of this process.
inline std::optional<process_rank> process_rank_of_environment() {
  return find_process_rank([](char const* name) { return environment_variable(name); });
}

}  // namespace assay::comm
