// SPDX-License-Identifier: Apache-2.0
/// @file
/// The oldest systems, compilers and language that the library supports. Every header includes this
/// one first, so that an older one is refused with a reason.
#pragma once

// A compiler goes on after #error, with pages of errors that follow from it: a file that is
// missing ends them.
#if !defined(__linux__)
#error "assay needs Linux"
#include "assay stops here, for the reason above"
#endif
#if __cplusplus < 202002L
#error "assay needs C++20: -std=c++20, or CMAKE_CXX_STANDARD and CMAKE_CUDA_STANDARD"
#include "assay stops here, for the reason above"
#endif
#if defined(__clang__) && __clang_major__ < 14
#error "assay needs Clang 14 or newer"
#include "assay stops here, for the reason above"
#elif defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 11
#error "assay needs GCC 11 or newer"
#include "assay stops here, for the reason above"
#endif
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1208
#error "assay needs CUDA 12.8 or newer"
#include "assay stops here, for the reason above"
#endif
// Device code has neither, whatever the flags of its program are.
#if !defined(__CUDA_ARCH__)
#if !defined(__cpp_exceptions)
#error "assay needs exceptions: compile without -fno-exceptions what includes it"
#include "assay stops here, for the reason above"
#endif
#if !defined(__cpp_rtti)
#error "assay needs run-time type information: compile without -fno-rtti what includes it"
#include "assay stops here, for the reason above"
#endif
#endif

/// Compiled mode: a program with `-DASSAY_COMPILED` takes the definitions of the doors from a
/// library, made of the files of src/. Without it, all is in headers.
#ifdef ASSAY_COMPILED
#define ASSAY_INLINE
#else
#define ASSAY_INLINE inline
#endif

/// Device code calls no host function, so nvcc's pass for the device reads declarations alone, but
/// for definitions that launch kernels: it must see which instances of those there are.
#if defined(ASSAY_COMPILED) || defined(__CUDA_ARCH__)
#define ASSAY_DECLARED
#endif
