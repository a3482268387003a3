# SPDX-License-Identifier: Apache-2.0
# assay::compiled: the definitions of the doors, compiled once. A program that links it instead of assay::assay
# compiles in a fraction of the time. It is built where something links it, and for `install` where it was built.
add_library(assay_compiled STATIC EXCLUDE_FROM_ALL src/assay.cpp)
add_library(assay::compiled ALIAS assay_compiled)
target_compile_definitions(assay_compiled PUBLIC ASSAY_COMPILED)
target_link_libraries(assay_compiled PUBLIC assay)
set_target_properties(assay_compiled PROPERTIES EXPORT_NAME compiled POSITION_INDEPENDENT_CODE ON)
# Work on streams, for projects that have enabled CUDA before they add assay.
get_property(assay_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(ASSAY_CUDA AND "CUDA" IN_LIST assay_languages AND TARGET CUDA::cudart)
  target_sources(assay_compiled PRIVATE src/assay.cu)
endif()
