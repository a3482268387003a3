# SPDX-License-Identifier: Apache-2.0
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/assayTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/AssayToolkit.cmake)
assay_use_toolkit(assay::assay)
assay_add_cupti(assay::assay)
include(${CMAKE_CURRENT_LIST_DIR}/AssaySqlite.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/AssayCli.cmake)

# What needs an optional package is a component: find_package(assay REQUIRED COMPONENTS sqlite).
foreach(component IN LISTS assay_FIND_COMPONENTS)
  if(TARGET assay::${component})
    set(assay_${component}_FOUND TRUE)
  elseif(assay_FIND_REQUIRED_${component})
    set(assay_FOUND FALSE)
    set(assay_NOT_FOUND_MESSAGE "assay::${component} needs a package that is not here, or is unknown")
  endif()
endforeach()
