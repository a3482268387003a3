# SPDX-License-Identifier: Apache-2.0
# The target assay::nccl, where NCCL 2.27 or newer is (from 2.27 on it has symmetric windows): to be linked
# beside assay::assay by what includes assay/comm/nccl.hpp. Used by the build and by the installed package.
# NCCL_ROOT names its prefix where it is beside neither the system's headers nor the toolkit's.
if(TARGET CUDA::cudart AND NOT TARGET assay::nccl)
  set(places ${NCCL_ROOT} $ENV{NCCL_ROOT} $ENV{NCCL_HOME})
  foreach(directory IN LISTS CUDAToolkit_INCLUDE_DIRS)
    list(APPEND places ${directory}/..)
  endforeach()
  find_path(ASSAY_NCCL_INCLUDE_DIR nccl.h HINTS ${places} PATH_SUFFIXES include)
  # Python's wheels have the library by its number only.
  find_library(ASSAY_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${places}
               PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE})
  mark_as_advanced(ASSAY_NCCL_INCLUDE_DIR ASSAY_NCCL_LIBRARY)
  if(ASSAY_NCCL_INCLUDE_DIR AND ASSAY_NCCL_LIBRARY)
    file(STRINGS ${ASSAY_NCCL_INCLUDE_DIR}/nccl.h nccl_version REGEX "#define NCCL_VERSION_CODE")
    string(REGEX REPLACE "[^0-9]" "" nccl_version "${nccl_version}")
    if(nccl_version GREATER_EQUAL 22700)
      add_library(assay::nccl INTERFACE IMPORTED GLOBAL)
      target_include_directories(assay::nccl SYSTEM INTERFACE ${ASSAY_NCCL_INCLUDE_DIR})
      target_link_libraries(assay::nccl INTERFACE ${ASSAY_NCCL_LIBRARY})
    else()
      message(STATUS "assay: no assay::nccl, as ${ASSAY_NCCL_INCLUDE_DIR}/nccl.h is ${nccl_version}, "
                     "older than 2.27")
    endif()
  endif()
endif()
