# SPDX-License-Identifier: Apache-2.0
# The target assay::blas, where a BLAS with the C interface is: for programs that include cblas.h.
# BLA_VENDOR and CMAKE_PREFIX_PATH choose one of several, as find_package(BLAS) describes.
find_package(BLAS QUIET)
if(BLAS_FOUND AND NOT TARGET assay::blas)
  find_path(ASSAY_CBLAS_INCLUDE_DIR cblas.h
            PATH_SUFFIXES openblas openblas-pthread ${CMAKE_LIBRARY_ARCHITECTURE}
                          ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread)
  mark_as_advanced(ASSAY_CBLAS_INCLUDE_DIR)
  set(CMAKE_REQUIRED_LIBRARIES ${BLAS_LIBRARIES})
  include(CheckCXXSourceCompiles)
  check_cxx_source_compiles("extern \"C\" void cblas_sgemm(); int main() { cblas_sgemm(); }" ASSAY_HAS_CBLAS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(ASSAY_CBLAS_INCLUDE_DIR AND ASSAY_HAS_CBLAS)
    add_library(assay::blas INTERFACE IMPORTED GLOBAL)
    target_include_directories(assay::blas SYSTEM INTERFACE ${ASSAY_CBLAS_INCLUDE_DIR})
    target_link_libraries(assay::blas INTERFACE ${BLAS_LIBRARIES})
  else()
    message(STATUS "assay: no assay::blas, as ${BLAS_LIBRARIES} or its headers lack the C interface")
  endif()
endif()
