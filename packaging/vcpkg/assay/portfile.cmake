# SPDX-License-Identifier: Apache-2.0
# An overlay port, for the checkout that it lies in:  vcpkg install assay --overlay-ports=packaging/vcpkg
# The headers and the package alone: the compiled libraries are for add_subdirectory and the other recipes.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DASSAY_TESTS=OFF -DASSAY_EXAMPLES=OFF -DASSAY_BENCHMARKS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/assay)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib" "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
