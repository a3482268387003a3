# SPDX-License-Identifier: Apache-2.0
# Headers and the package `assay`, which find_package(assay) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/assay)
install(TARGETS assay EXPORT assayTargets
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT assayTargets NAMESPACE assay:: DESTINATION ${package_dir})
# The compiled library where it was built: its export is read where the library lies beside it.
install(TARGETS assay_compiled EXPORT assayCompiledTargets ARCHIVE OPTIONAL
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/assay)
install(EXPORT assayCompiledTargets NAMESPACE assay:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/assay)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/AssayCompiledPlace.cmake
     "set(assay_compiled_place \"${CMAKE_INSTALL_LIBDIR}/assay\")\n")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/AssayCompiledPlace.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/assayConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES cmake/assayConfig.cmake cmake/AssayToolkit.cmake cmake/AssaySqlite.cmake
              cmake/AssayCli.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/assayConfigVersion.cmake
        DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/assay)
