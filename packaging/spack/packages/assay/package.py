# SPDX-License-Identifier: Apache-2.0
import os
import re

from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage  # Spack 1.0 and newer
except ImportError:
    pass  # before, spack.package has it

CHECKOUT = os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))


def checkout_version():
    with open(os.path.join(CHECKOUT, "include", "assay", "version.hpp")) as header:
        return re.search(r'version = "([\d.]+)"', header.read())[1]


class Assay(CMakePackage):
    """Which of two kernels is faster: a verdict with a measured error rate. This recipe builds what is committed on the
    branch main of the checkout that it lies in."""

    git = "file://" + CHECKOUT

    license("Apache-2.0")
    version(checkout_version(), branch="main")

    variant("compiled", default=False, description="Build assay::compiled: programs that link it compile faster")
    variant("cuda", default=False, description="Bring a CUDA toolkit, and have work on its streams in assay::compiled")
    variant("tools", default=False, description="Build assay_compare, assay_bisect, assay_report and others")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("cuda@13:", when="+cuda")
    depends_on("cli11", when="+tools")
    depends_on("nlohmann-json", when="+tools")

    conflicts("%gcc@:10", msg="assay needs GCC 11 or newer")
    conflicts("platform=darwin", msg="assay needs Linux")
    conflicts("platform=windows", msg="assay needs Linux")

    def cmake_args(self):
        return [
            "-DASSAY_TESTS=OFF",
            "-DASSAY_BENCHMARKS=OFF",
            self.define_from_variant("ASSAY_EXAMPLES", "tools"),
            self.define_from_variant("ASSAY_LIBRARIES", "compiled"),
            self.define_from_variant("ASSAY_CUDA", "cuda"),
            self.define("CMAKE_SKIP_INSTALL_ALL_DEPENDENCY", True),  # of the examples the tools alone
        ]

    @property
    def build_targets(self):
        if "+tools" not in self.spec:
            return []  # what is built by default: the libraries, or nothing
        tools = ("compare", "bisect", "history", "referee", "report")
        return ["assay_compiled", *(f"example.assay_{tool}" for tool in tools)]
