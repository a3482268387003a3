# SPDX-License-Identifier: Apache-2.0
"""Installs a build component by component, and uses each set of them as somebody would who has no more.

components.py BUILD --scratch FOLDER --compiler g++ --generator Ninja
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """#include <assay/stats/classify.hpp>
#include <assay/version.hpp>

int main() { return assay::version.empty(); }
"""
LISTING = """cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
find_package(assay REQUIRED CONFIG)
if(TARGET assay::compiled)
  message(FATAL_ERROR "the libraries are not installed, and assay::compiled is there")
endif()
find_package(assay QUIET CONFIG COMPONENTS compiled)
if(assay_FOUND OR NOT assay_NOT_FOUND_MESSAGE MATCHES "-DASSAY_LIBRARIES=ON")
  message(FATAL_ERROR "no advice for a library that is not installed: ${assay_NOT_FOUND_MESSAGE}")
endif()
add_executable(app app.cpp)
target_link_libraries(app PRIVATE assay::assay)
"""


def attempt(*command):
    return subprocess.run([str(each) for each in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def run(*command):
    done = attempt(*command)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")


class Installations:
    def __init__(self, build, scratch, compiler, generator):
        self.build, self.scratch, self.compiler, self.generator = build, scratch, compiler, generator

    def prefix(self, *components):
        prefix = self.scratch / "_".join(components)
        for component in components:
            run("cmake", "--install", self.build, "--component", component, "--prefix", prefix)
        if not (prefix / "share/doc/assay/LICENSE").is_file():
            sys.exit(f"{components}: no licence")
        return prefix

    def use(self, source, prefix, program):
        build = prefix / "user"
        run("cmake", "-S", source, "-B", build, "-G", self.generator, f"-DCMAKE_CXX_COMPILER={self.compiler}",
            f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", build)
        run(build / program)

    def headers(self):
        prefix = self.prefix("headers")
        (prefix / "app.cpp").write_text(PROGRAM)
        run(self.compiler, "-std=c++20", "-I", prefix / "include", prefix / "app.cpp", "-o", prefix / "app")
        run(prefix / "app")
        rest = {each.name for each in prefix.iterdir()} - {"include", "share", "app", "app.cpp"}
        if rest or (prefix / "share/cmake").exists():
            sys.exit(f"the headers bring more: {rest}")

    def found_headers(self):
        prefix = self.prefix("headers", "cmake")
        source = prefix / "source"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(LISTING)
        (source / "app.cpp").write_text(PROGRAM)
        self.use(source, prefix, "app")

    def libraries(self):
        prefix = self.prefix("headers", "cmake", "libraries")
        listing = (root / "packaging/conan/test_package/CMakeLists.txt").read_text()
        if not list(prefix.glob("lib*/**/libassay_compiled.a")) or "TARGET assay::compiled" not in listing:
            sys.exit("no compiled library is installed")
        self.use(root / "packaging/conan/test_package", prefix, "consumer")

    def tools(self):
        prefix = self.prefix("tools")
        for tool in ("assay_compare", "assay_referee", "assay_report"):
            run(prefix / "bin" / tool, "--help")
        if {each.name for each in prefix.iterdir()} != {"bin", "share"}:
            sys.exit("the tools bring more than programs and the licence")

    def configuration_alone(self):
        """Without the headers the project is not generated, and told which folder is missing."""
        prefix = self.prefix("cmake")
        source = self.scratch / "alone"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(LISTING)
        (source / "app.cpp").write_text(PROGRAM)
        done = attempt("cmake", "-S", source, "-B", prefix / "user", "-G", self.generator, f"-DCMAKE_PREFIX_PATH={prefix}")
        if done.returncode == 0 or str(prefix / "include") not in done.stdout:
            sys.exit(f"without headers:\n{done.stdout}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--generator", default="Ninja")
    options = parser.parse_args()
    scratch = options.scratch.resolve()
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    installations = Installations(options.build.resolve(), scratch, options.compiler, options.generator)
    installations.headers()
    installations.found_headers()
    installations.libraries()
    installations.tools()
    installations.configuration_alone()


if __name__ == "__main__":
    main()
