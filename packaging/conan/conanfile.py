# SPDX-License-Identifier: Apache-2.0
"""The recipe of Conan 2, for the checkout that it lies in:  conan create packaging/conan

Consumers call find_package(assay) and get the package's own targets: assay::assay, and with `compiled` assay::compiled.
What the targets assay::cli and assay::sqlite need (CLI11, nlohmann_json, SQLite 3) is required beside assay.
"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

PACKAGES = ("CLI11", "nlohmann_json", "SQLite3")


class Assay(ConanFile):
    name = "assay"
    description = "Which of two kernels is faster: a verdict with a measured error rate"
    license = "Apache-2.0"
    topics = ("cuda", "gpu", "benchmark", "statistics", "header-only")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"compiled": [True, False], "cuda": [True, False]}
    default_options = {"compiled": False, "cuda": True}
    options_description = {
        "compiled": "build the library assay::compiled: programs that link it compile faster",
        "cuda": "with `compiled`: use the CUDA toolkit where there is one",
    }

    @property
    def checkout(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self.checkout, "include", "assay", "version.hpp"))
        self.version = re.search(r'version = "([\d.]+)"', header)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, self.checkout, self.export_sources_folder)

    def configure(self):
        if not self.options.compiled:
            self.package_type = "header-library"
            self.options.rm_safe("cuda")

    def layout(self):
        cmake_layout(self)

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.blocks.remove("cppstd")  # assay asks for C++20; a standard of C++ is nvcc's too in CMake before 3.26
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"ASSAY_{part}"] = False
        toolchain.cache_variables["ASSAY_LIBRARIES"] = bool(self.options.compiled)
        toolchain.cache_variables["ASSAY_CUDA"] = bool(self.options.get_safe("cuda", False))
        for package in PACKAGES:  # those of the machine are not part of the package
            toolchain.cache_variables[f"CMAKE_DISABLE_FIND_PACKAGE_{package}"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        if self.options.compiled:
            cmake.build()

    def package(self):
        cmake = CMake(self)
        cmake.install(component="headers")
        cmake.install(component="cmake")
        if self.options.compiled:
            cmake.install(component="libraries")

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package has its own configuration
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "assay")]
        self.cpp_info.libdirs = ["lib/assay"] if self.options.compiled else []
        self.cpp_info.libs = ["assay_compiled"] if self.options.compiled else []
        self.cpp_info.bindirs = []
        self.cpp_info.system_libs = ["pthread", "dl"]
