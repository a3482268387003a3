# SPDX-License-Identifier: Apache-2.0
# The target assay::cli, where CLI11 and nlohmann_json are: to be linked beside assay::assay by what
# includes assay/cli/run.hpp. Used by the build and by the installed package, which looks for both on the
# machine that it is on.
find_package(CLI11 QUIET GLOBAL)
find_package(nlohmann_json QUIET GLOBAL)
if(TARGET CLI11::CLI11 AND TARGET nlohmann_json::nlohmann_json AND NOT TARGET assay::cli)
  add_library(assay::cli INTERFACE IMPORTED GLOBAL)
  target_link_libraries(assay::cli INTERFACE CLI11::CLI11 nlohmann_json::nlohmann_json)
endif()
