# SPDX-License-Identifier: Apache-2.0
# An overlay port, for the checkout that it lies in:  vcpkg install assay --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES compiled ASSAY_LIBRARIES)
if(NOT ASSAY_LIBRARIES)
  set(VCPKG_BUILD_TYPE release)  # headers alone
endif()
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${options} -DASSAY_TESTS=OFF -DASSAY_EXAMPLES=OFF -DASSAY_BENCHMARKS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/assay)
