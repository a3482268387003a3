# SPDX-License-Identifier: Apache-2.0
# What assay's own programs are built with: optimised unless asked otherwise, CUDA where there is a
# compiler for it, warnings on. None of it reaches a consumer.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)

set(has_cuda OFF)
if(ASSAY_CUDA AND NOT CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit)
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)  # that there was none once is no answer
  endif()
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(ASSAY_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
    if(ASSAY_NVCC)
      set(CMAKE_CUDA_COMPILER ${ASSAY_NVCC})
    endif()
  endif()
  # The GPU at hand, else the one that assay is tuned for: one architecture, since each more makes
  # nvcc work once more. CMAKE_CUDA_ARCHITECTURES or CUDAARCHS decide where they are set.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    execute_process(COMMAND nvidia-smi -L OUTPUT_VARIABLE gpus ERROR_QUIET RESULT_VARIABLE failed)
    if(gpus MATCHES "GPU 0" AND NOT failed)
      set(CMAKE_CUDA_ARCHITECTURES native)
    else()
      set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      set(has_cuda ON)
    else()
      message(WARNING "assay's own programs need CUDA 13 or newer, and ${CMAKE_CUDA_COMPILER} is "
                      "${CMAKE_CUDA_COMPILER_VERSION}: name a newer one in CUDACXX, and configure "
                      "with --fresh; without it there is the host half only")
    endif()
  elseif(DEFINED ENV{CUDACXX} OR ASSAY_NVCC)
    message(FATAL_ERROR "CMake refuses the CUDA compiler $ENV{CUDACXX}${ASSAY_NVCC} (its reason is in "
                        "${CMAKE_BINARY_DIR}/CMakeFiles): name another in CUDACXX or a host compiler that it "
                        "takes in CUDAHOSTCXX, or configure with -DASSAY_CUDA=OFF for the host half")
  endif()
endif()
set(ASSAY_HAS_CUDA ${has_cuda} CACHE INTERNAL "whether programs are built with CUDA")
if(ASSAY_HAS_CUDA)
  message(STATUS "assay: with CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "assay: no CUDA compiler, so the host half only")
endif()

# How assay's own code is compiled.
add_library(assay_own_flags INTERFACE)
target_compile_features(assay_own_flags INTERFACE cxx_std_20)
target_compile_options(assay_own_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
# GCC with room before it first collects garbage: a tenth less time, for 130 MB more.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(gcc_room --param=ggc-min-heapsize=1000000)
  target_compile_options(assay_own_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:${gcc_room}> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${gcc_room}>)
endif()
# GCC 12 folds std::move and std::forward without optimisation too: a twentieth fewer functions.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
  target_compile_options(assay_own_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffold-simple-inlines>)
endif()
# GCC 12 and 13 take std::string's own copying for overlapping (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  target_compile_options(assay_own_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-restrict>)
endif()
if(ASSAY_HAS_CUDA AND NOT "cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
  target_compile_options(assay_own_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
endif()

# The headers alone, without the toolkit's include path: what is CUDA-free is compiled against this.
add_library(assay_host INTERFACE)
target_include_directories(assay_host INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(assay_host INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
# The same in compiled mode: of the libraries, the code alone.
add_library(assay_host_compiled INTERFACE)
target_compile_definitions(assay_host_compiled INTERFACE ASSAY_COMPILED)
target_link_libraries(assay_host_compiled INTERFACE
  assay_host $<$<TARGET_EXISTS:assay_compiled_cli>:$<LINK_ONLY:assay_compiled_cli>> $<LINK_ONLY:assay_compiled>)

# The commit that examples and benchmarks write into their results, as it was at configuration;
# a copy of the tree without its history is told of it.
set(ASSAY_COMMIT "" CACHE STRING "The commit to name in results; empty: ask git")
set(commit "${ASSAY_COMMIT}")
if(NOT commit)
  execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=*
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(EXISTS ${PROJECT_SOURCE_DIR}/.git/logs/HEAD)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/.git/logs/HEAD)
  endif()
endif()
add_library(assay_commit INTERFACE)
target_compile_definitions(assay_commit INTERFACE ASSAY_COMMIT="${commit}")

# RMM, for the programs that hold ours beside it (marker `// assay-uses: rmm`). Its own CCCL comes
# before the toolkit's, as ordinary include directories: those of the system would come after.
if(ASSAY_HAS_CUDA AND ASSAY_RMM_DIR)
  add_library(assay_rmm INTERFACE)
  foreach(prefix IN LISTS ASSAY_RMM_DIR)
    target_include_directories(assay_rmm BEFORE INTERFACE ${prefix}/include/rapids ${prefix}/include)
    file(GLOB libraries ${prefix}/lib/lib*.so ${prefix}/lib64/lib*.so)
    target_link_libraries(assay_rmm INTERFACE ${libraries})
  endforeach()
endif()
function(assay_use_rmm_if_marked target file)
  assay_marker(${file} assay-uses packages)
  if("rmm" IN_LIST packages AND TARGET assay_rmm)
    target_link_libraries(${target} PRIVATE assay_rmm)
  endif()
endfunction()

option(ASSAY_CHECK_DEVICE_CODE
       "Compile the device code of what only a GPU runs, link and run none of it: half the time" OFF)
option(ASSAY_GROUP_TESTS "Compile up to 40 tests that g++ compiles as one program" OFF)
# Puts a file into a unit with others, since compilers take longer over the headers of a file than over its own
# text. A unit has all headers first, then up to `size` files, each in a namespace of its own, and last at most
# one file that adds to namespace assay, in no other namespace. Files of one unit have the same `key`. A program
# selects tests by the names of their files, so these differ in a unit; a key that begins with `device` makes no
# program.
# `variable` gets the unit's target, `made` whether this call made it by `command(TARGET UNIT)`.
function(assay_group variable made file key size command)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
  cmake_path(GET path STEM name)
  file(STRINGS ${path} opens REGEX "^namespace assay")
  set(group "")
  get_property(groups DIRECTORY PROPERTY "ASSAY_GROUPS_${key}")
  foreach(each IN LISTS groups)
    get_target_property(names ${each} ASSAY_NAMES)
    get_target_property(files ${each} ASSAY_FILES)
    get_target_property(last ${each} ASSAY_LAST)
    list(LENGTH files count)
    if(NOT group AND (key MATCHES "^device" OR NOT name IN_LIST names)
       AND ((opens AND NOT last) OR (NOT opens AND count LESS size)))
      set(group ${each})
    endif()
  endforeach()
  set(${made} OFF PARENT_SCOPE)
  if(NOT group)
    set(${made} ON PARENT_SCOPE)
    get_property(count DIRECTORY PROPERTY ASSAY_GROUP_COUNT)
    math(EXPR count "0${count} + 1")
    set_property(DIRECTORY PROPERTY ASSAY_GROUP_COUNT ${count})
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
    cmake_path(GET path EXTENSION LAST_ONLY extension)
    set(group group.${folder}.${count})
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/${group}${extension})
    set(of "$<TARGET_PROPERTY:${group},ASSAY")
    file(GENERATE OUTPUT ${unit} CONTENT "$<JOIN:$<REMOVE_DUPLICATES:${of}_INCLUDES>>;${of}_FILES>;${of}_LAST>,\n>\n")
    cmake_language(CALL ${command} ${group} ${unit})
    set_target_properties(${group} PROPERTIES ASSAY_INCLUDES "" ASSAY_FILES "" ASSAY_LAST "" ASSAY_NAMES "")
    set_property(DIRECTORY APPEND PROPERTY "ASSAY_GROUPS_${key}" ${group})
  endif()
  file(STRINGS ${path} lines REGEX "^#include ")
  cmake_path(GET path PARENT_PATH folder)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*\"(.*)\".*" "${folder}/\\1" beside "${line}")
    if(EXISTS "${beside}")
      set(line "#include \"${beside}\"")
    endif()
    set_property(TARGET ${group} APPEND PROPERTY ASSAY_INCLUDES "${line}")
  endforeach()
  if(opens)
    set_property(TARGET ${group} PROPERTY ASSAY_LAST "#include \"${path}\"")
  else()
    string(MAKE_C_IDENTIFIER "grouped_${file}" namespace)
    set_property(TARGET ${group} APPEND PROPERTY ASSAY_FILES "namespace ${namespace} {\n#include \"${path}\"\n}")
  endif()
  set_property(TARGET ${group} APPEND PROPERTY ASSAY_NAMES ${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  set(${variable} ${group} PARENT_SCOPE)
endfunction()

# Has nvcc check a file, and write no program. Of a test it makes the device code and the text for the host
# compiler; of others the device code alone, in 40 % of an object's time. What the host compiler alone warns of
# shows where the file is built for a GPU that is there. Up to five files are one unit, since more of them save
# nothing. `variable` has the name of the file's target, and gets the unit's.
# Files of one architecture share units. A file is a unit of its own, by its own name, where it has flags or
# include directories of its own, where the build wrote it, and where it is marked `// assay-grouped: no`.
function(assay_check_device_code variable file)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
  set(own "")
  foreach(marker IN ITEMS assay-grouped assay-test-flags assay-may-use)
    assay_marker(${path} ${marker} words)
    list(APPEND own ${words})
  endforeach()
  assay_marker(${path} assay-architectures architectures)
  assay_marker(${path} assay-uses packages)
  if(own OR "rmm" IN_LIST packages OR IS_ABSOLUTE "${file}")
    assay_add_checked(${${variable}} ${file})
    return()
  endif()
  assay_group(group made ${file} "device ${architectures}" 4 assay_add_checked)
  set(${variable} ${group} PARENT_SCOPE)
endfunction()

function(assay_add_checked target)
  add_library(${target} OBJECT ${ARGN})
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:$<IF:$<STREQUAL:${folder},tests>,-cuda,-fatbin>>)
endfunction()

# CUPTI, for the programs that record traces (marker `// assay-uses: cupti`): they are left out where
# the toolkit does not have it, which `lacking` then says.
function(assay_lacks_cupti file lacking)
  assay_marker(${file} assay-uses packages)
  set(${lacking} OFF PARENT_SCOPE)
  if("cupti" IN_LIST packages AND NOT TARGET assay::cupti)
    set(${lacking} ON PARENT_SCOPE)
  endif()
endfunction()
function(assay_use_cupti_if_marked target file)
  assay_marker(${file} assay-uses packages)
  if("cupti" IN_LIST packages)
    target_link_libraries(${target} PRIVATE assay::cupti)
  endif()
endfunction()

# Instructions that one chip alone has: the marker `// assay-architectures: 90a` has a file compiled for
# sm_90a in place of sm_90, where the build is for sm_90 (or native, on a device of 9.0); for its other
# architectures, and where there is none of these, it is compiled as all files are.
function(assay_specialise_if_marked target file)
  assay_marker(${file} assay-architectures special)
  if(NOT special OR NOT ASSAY_HAS_CUDA)
    return()
  endif()
  set(architectures "${CMAKE_CUDA_ARCHITECTURES}")
  if(architectures STREQUAL "native")
    set(architectures "${CMAKE_CUDA_ARCHITECTURES_NATIVE}")
  endif()
  foreach(each IN LISTS special)
    string(REGEX REPLACE "[a-z]+$" "" plain ${each})
    list(TRANSFORM architectures REPLACE "^${plain}$" "${each}")
    list(TRANSFORM architectures REPLACE "^${plain}-" "${each}-")
  endforeach()
  if(architectures)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${architectures}")
  endif()
endfunction()

# A program that computes for longer than its optimisation takes: the marker `// assay-test-flags: -O1` counts
# where all else is built without.
function(assay_optimise_if_marked target file)
  assay_marker(${file} assay-test-flags flags)
  if(flags AND CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O0")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${flags}>)
  endif()
endfunction()

# Sets `result` to what a marker `// NAME: ...` in the comments that a file begins with says, as a list.
function(assay_marker file name result)
  set(words "")
  file(READ ${file} text LIMIT 8192)
  string(REGEX MATCH "^(//[^\n]*\n|\n)+" comment "${text}")
  if(comment MATCHES "(^|\n)// ${name}: *([^\n]*)")
    separate_arguments(words UNIX_COMMAND "${CMAKE_MATCH_2}")
  endif()
  set(${result} "${words}" PARENT_SCOPE)
endfunction()
