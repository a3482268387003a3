// SPDX-License-Identifier: Apache-2.0
/// @file
/// `figures_of_job`: this program in several processes, as a launcher starts it.
#pragma once

#include "rank_processes.hpp"

#include <assay/core/child_process.hpp>
#include <assay/report/document.hpp>

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::benchmark {

/// Runs this program once for each rank, as a launcher does on one host, and returns the figures of
/// rank 0. Throws `std::runtime_error` where a rank fails.
inline report::document figures_of_job(int ranks, bool quick) {
  reserved_port const port;
  auto const result = std::filesystem::temp_directory_path() /
                      ("assay-job." + std::to_string(::getpid()) + ".json");
  auto const program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::unique_ptr<child_process>> job;
  for (int rank = 0; rank < ranks; ++rank) {
    auto const number = std::to_string(rank);
    std::vector<std::string> command{"/usr/bin/env",
                                     "RANK=" + number,
                                     "LOCAL_RANK=" + number,
                                     "WORLD_SIZE=" + std::to_string(ranks),
                                     "ASSAY_RENDEZVOUS=127.0.0.1:" + std::to_string(port.number()),
                                     program,
                                     "--json",
                                     result.string()};
    if (quick) { command.emplace_back("--quick"); }
    job.push_back(std::make_unique<child_process>(command));
  }
  std::string failure;
  for (auto const& each : job) {
    auto const end = each->wait_for(std::chrono::seconds{300});
    if (!end || !end->success()) { failure = end ? end->text() : "did not end within 300 s"; }
  }
  if (!failure.empty()) { throw std::runtime_error("a rank of the job " + failure); }
  auto found = report::document::parse(std::ifstream{result});
  std::filesystem::remove(result);
  return found.at("figures");
}

}  // namespace assay::benchmark
