// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of command lines and of JSON, for programs that are compiled with
/// -DASSAY_COMPILED. Needs CLI11 and nlohmann_json.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/cli/experiment_definitions.hpp>
#include <assay/cli/explaining_definitions.hpp>
#include <assay/cli/gate_definitions.hpp>
#include <assay/cli/guarded_definitions.hpp>
#include <assay/cli/outputs_definitions.hpp>
#include <assay/cli/parameters_definitions.hpp>
#include <assay/cli/run_definitions.hpp>
#include <assay/cli/sweep_definitions.hpp>
#include <assay/cli/traces_definitions.hpp>
#include <assay/referee/json_definitions.hpp>
#include <assay/report/json_definitions.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace assay::cli {

template void add_option(CLI::App&, std::string const&, bool&, std::string const&);
template void add_option(CLI::App&, std::string const&, int&, std::string const&);
template void add_option(CLI::App&, std::string const&, std::int64_t&, std::string const&);
template void add_option(CLI::App&, std::string const&, double&, std::string const&);
template void add_option(CLI::App&, std::string const&, std::string&, std::string const&);
template void add_option(CLI::App&, std::string const&, std::optional<int>&, std::string const&);
template void add_option(CLI::App&, std::string const&, std::optional<std::int64_t>&,
                         std::string const&);

}  // namespace assay::cli
