# SPDX-License-Identifier: Apache-2.0
# Gives a target the CUDA runtime and CCCL of the machine at hand. Used by the build and by the
# installed package: BUILD_INTERFACE keeps this machine's paths out of the export, so that one
# installation serves machines with a toolkit and without.

function(assay_use_toolkit target)
  if(DEFINED ENV{CUDACXX} AND NOT DEFINED CUDAToolkit_ROOT AND NOT CMAKE_CUDA_COMPILER_LOADED)
    get_filename_component(compiler "$ENV{CUDACXX}" REALPATH)
    get_filename_component(CUDAToolkit_ROOT "${compiler}/../.." ABSOLUTE)
  endif()
  find_package(CUDAToolkit QUIET)
  if(NOT TARGET CUDA::cudart)
    return()
  endif()
  foreach(variable IN ITEMS INCLUDE_DIRS VERSION)
    set(CUDAToolkit_${variable} "${CUDAToolkit_${variable}}" PARENT_SCOPE)  # as outside a function
  endforeach()
  target_link_libraries(${target} INTERFACE $<BUILD_INTERFACE:CUDA::cudart>)
  # nvcc finds CCCL by itself; a host compiler has to be told, since CUDA 13 keeps it one folder down.
  foreach(directory IN LISTS CUDAToolkit_INCLUDE_DIRS)
    if(EXISTS "${directory}/cccl/cuda/std/version")
      target_include_directories(${target} SYSTEM INTERFACE
                                 "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${directory}/cccl>>")
    endif()
  endforeach()
  # C++20 for nvcc, decided when the user's project is generated: it may enable CUDA later than it finds
  # assay, or never. CMake before 3.26 does not know nvcc's C++20, and is given the flag itself: a newer standard
  # where the user's target asks for one, which nvcc then takes or refuses.
  if(CMAKE_VERSION VERSION_LESS 3.26)
    set(asked "$<TARGET_PROPERTY:CUDA_STANDARD>")
    set(standard "$<IF:$<VERSION_GREATER:0${asked},20>,${asked},20>")
    target_compile_options(${target} INTERFACE
                           "$<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++${standard}>>")
  else()
    target_compile_features(${target} INTERFACE
                            "$<BUILD_INTERFACE:$<$<CUDA_COMPILER_ID:NVIDIA,Clang>:cuda_std_20>>")
  endif()
endfunction()

# Makes the target assay::cupti, for what includes <assay/cupti/recorder.hpp>, where the toolkit has
# CUPTI of CUDA 13, whose records these headers read. The target has only the include path: the library is loaded when
# the program runs.
function(assay_add_cupti target)
  if(NOT TARGET CUDA::cupti OR TARGET assay::cupti OR CUDAToolkit_VERSION VERSION_LESS 13)
    return()
  endif()
  get_target_property(directories CUDA::cupti INTERFACE_INCLUDE_DIRECTORIES)
  add_library(assay::cupti INTERFACE IMPORTED GLOBAL)
  target_link_libraries(assay::cupti INTERFACE ${target})
  target_include_directories(assay::cupti SYSTEM INTERFACE ${directories})
endfunction()
