# SPDX-License-Identifier: Apache-2.0
# Headers and the package `assay`, which find_package(assay) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/assay)
install(TARGETS assay EXPORT assayTargets
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT assayTargets NAMESPACE assay:: DESTINATION ${package_dir})
# The compiled libraries where they were built: the export of one is read where it lies beside it.
set(compiled_dir ${CMAKE_INSTALL_LIBDIR}/assay)
foreach(name IN ITEMS compiled compiled_cli compiled_sqlite compiled_trace_stats compiled_cupti)
  if(TARGET assay_${name})
    install(TARGETS assay_${name} EXPORT assay_${name} ARCHIVE OPTIONAL DESTINATION ${compiled_dir})
    install(EXPORT assay_${name} NAMESPACE assay:: DESTINATION ${compiled_dir})
  endif()
endforeach()
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/AssayCompiledPlace.cmake "set(assay_compiled_place \"${compiled_dir}\")\n")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/AssayCompiledPlace.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/assayConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES cmake/assayConfig.cmake cmake/AssayToolkit.cmake cmake/AssaySqlite.cmake
              cmake/AssayCli.cmake cmake/AssayNccl.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/assayConfigVersion.cmake
        DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/assay)
