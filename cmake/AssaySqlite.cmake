# SPDX-License-Identifier: Apache-2.0
# The target assay::sqlite, where SQLite 3 is: to be linked beside assay::assay by what includes
# assay/nsys/sqlite.hpp. Used by the build and by the installed package, which looks for SQLite on
# the machine that it is on.
find_package(SQLite3 QUIET)
if(SQLite3_FOUND AND NOT TARGET assay::sqlite)
  add_library(assay::sqlite INTERFACE IMPORTED GLOBAL)
  target_include_directories(assay::sqlite SYSTEM INTERFACE ${SQLite3_INCLUDE_DIRS})
  target_link_libraries(assay::sqlite INTERFACE ${SQLite3_LIBRARIES})
endif()
