# SPDX-License-Identifier: Apache-2.0
# assay::compiled: the definitions of the doors, compiled once. A program that links it instead of assay::assay
# compiles in a fraction of the time. What needs an optional package has a library of its own: a program links
# assay::compiled_cli for assay::cli, assay::compiled_sqlite for assay::sqlite, assay::compiled_cupti for assay::cupti,
# and assay::compiled_trace_stats for the program of that name. Each library is built where something links it, or
# with ASSAY_LIBRARIES, and is part of `install` where it was built.
function(assay_add_compiled name)
  cmake_parse_arguments(PARSE_ARGV 1 of "" "" "SOURCES;LINKS")
  set(if_linked EXCLUDE_FROM_ALL)
  if(ASSAY_LIBRARIES)
    set(if_linked "")
  endif()
  add_library(assay_${name} STATIC ${if_linked} ${of_SOURCES})
  add_library(assay::${name} ALIAS assay_${name})
  target_link_libraries(assay_${name} PUBLIC ${of_LINKS})
  set_target_properties(assay_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
endfunction()

assay_add_compiled(compiled SOURCES src/assay.cpp src/assay_reports.cpp src/assay_traces.cpp LINKS assay)
# Printing and command lines take no time that anybody measures, and most of the time to compile.
set_source_files_properties(src/assay_reports.cpp src/assay_cli.cpp PROPERTIES
  COMPILE_OPTIONS "$<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU,Clang>>:-O1>")
target_compile_definitions(assay_compiled PUBLIC ASSAY_COMPILED)
if(ASSAY_CUDA AND TARGET CUDA::cudart)
  target_sources(assay_compiled PRIVATE src/assay_pool.cpp)
  # Work on streams, for projects that have enabled CUDA before they add assay.
  get_property(assay_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("CUDA" IN_LIST assay_languages)
    target_sources(assay_compiled PRIVATE src/assay.cu)
  endif()
endif()
if(TARGET assay::cli)
  assay_add_compiled(compiled_cli SOURCES src/assay_cli.cpp LINKS assay_compiled assay::cli)
endif()
if(TARGET assay::sqlite)
  assay_add_compiled(compiled_sqlite SOURCES src/assay_sqlite.cpp LINKS assay_compiled assay::sqlite)
endif()
if(TARGET assay::cli AND TARGET assay::sqlite)
  assay_add_compiled(compiled_trace_stats SOURCES src/assay_trace_stats.cpp LINKS assay_compiled_cli assay_compiled_sqlite)
endif()
if(TARGET assay::cupti)
  assay_add_compiled(compiled_cupti SOURCES src/assay_cupti.cpp LINKS assay_compiled assay::cupti)
endif()
# Where all else is built without optimisation, tests run this code thousands of times: a tenth more to compile
# it saves half of what verifying and comparing take.
if(CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O0")
  foreach(name IN ITEMS compiled compiled_sqlite)
    if(TARGET assay_${name})
      target_compile_options(assay_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
    endif()
  endforeach()
endif()
