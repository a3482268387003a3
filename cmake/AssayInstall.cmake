# SPDX-License-Identifier: Apache-2.0
# The parts of an installation, as components of `cmake --install --component`: `headers`; `cmake`, the package
# `assay` that find_package reads; `libraries`, the compiled ones; `tools`, which examples/CMakeLists.txt adds to.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/assay)
install(TARGETS assay EXPORT assayTargets
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT headers)
install(EXPORT assayTargets NAMESPACE assay:: DESTINATION ${package_dir} COMPONENT cmake)
# The compiled libraries where they were built: the export of one is read where it lies beside it.
set(compiled_dir ${CMAKE_INSTALL_LIBDIR}/assay)
foreach(name IN ITEMS compiled compiled_cli compiled_sqlite compiled_trace_stats compiled_cupti)
  if(TARGET assay_${name})
    install(TARGETS assay_${name} EXPORT assay_${name}
            ARCHIVE DESTINATION ${compiled_dir} COMPONENT libraries OPTIONAL)
    install(EXPORT assay_${name} NAMESPACE assay:: DESTINATION ${compiled_dir} COMPONENT libraries)
  endif()
endforeach()
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/AssayCompiledPlace.cmake "set(assay_compiled_place \"${compiled_dir}\")\n")
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/assayConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES cmake/assayConfig.cmake cmake/AssayToolkit.cmake cmake/AssaySqlite.cmake
              cmake/AssayCli.cmake cmake/AssayNccl.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/AssayCompiledPlace.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/assayConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT cmake)
foreach(component IN ITEMS headers cmake libraries tools)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/assay COMPONENT ${component})
endforeach()
