# SPDX-License-Identifier: Apache-2.0
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/assayTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/AssayToolkit.cmake)
assay_use_toolkit(assay::assay)
