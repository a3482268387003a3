# SPDX-License-Identifier: Apache-2.0
"""Builds a program by the recipes of the README and the quickstart, as they stand there and with no flag of this test's own.

recipes.py --scratch FOLDER [--cmake PROGRAM | --newest] [--strict]   --newest: the CMake that pip installs

By find_package and FetchContent from a clone; and but for --newest by add_subdirectory, without CMake, and through a
library of somebody else that was installed and exported. --strict builds the first four with the warnings of a
strict user as errors, two sources in a unity build, and the package found twice. Exit code 77: there is no nvcc,
or no newest CMake to be had.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "cmake"))
from check_structure import files  # noqa: E402

PROGRAM = "#include <assay/core/device.hpp>\n\nint main() { return assay::device_count() < 0; }\n"
OTHER = "#include <assay/core/stream.hpp>\n\nint other() { return assay::device_count(); }\n"
STRICT = "-Xcompiler=-Wall,-Wextra,-Wconversion,-Wshadow,-Wsign-conversion,-Werror"
DOWNSTREAM = """
cmake_minimum_required(VERSION 3.25)
project(engine LANGUAGES CXX CUDA)
HOW
add_library(engine engine.cu)
target_link_libraries(engine PUBLIC assay::assay)
install(TARGETS engine EXPORT engineTargets)
install(EXPORT engineTargets NAMESPACE engine:: DESTINATION lib/cmake/engine)
install(FILES engineConfig.cmake DESTINATION lib/cmake/engine)
"""
DOWNSTREAM_CONFIG = """
include(CMakeFindDependencyMacro)
find_dependency(assay)
include(${CMAKE_CURRENT_LIST_DIR}/engineTargets.cmake)
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(*command, cwd=None):
    done = subprocess.run([str(each) for each in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def recipe(name):
    """The code below `<!-- recipe: NAME -->` of the README or the quickstart."""
    text = "".join((root / each).read_text() for each in ["README.md", "docs/quickstart.md"])
    found = re.search(rf"<!-- recipe: {name} -->\n```\w+\n(.*?)```", text, re.DOTALL)
    return found[1] if found else sys.exit(f"README.md and docs/quickstart.md have no recipe {name}")


def newest(scratch):
    folder = scratch.parent / "newest_cmake"
    program = folder / "cmake/data/bin/cmake"
    if not program.exists():
        try:
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", folder, "cmake"], check=True,
                           capture_output=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as error:
            skip(f"pip installs no CMake: {error}")
    return program


class Recipes:
    def __init__(self, scratch, cmake, strict):
        self.scratch, self.cmake, self.strict = scratch, cmake, strict
        self.prefix = scratch / "prefix"
        self.clone = scratch / "clone"
        self.found = recipe("find_package")
        if strict:
            line = next(each for each in self.found.splitlines() if each.startswith("find_package"))
            self.found = self.found.replace(line, f"{line}\n{line}").replace("app.cu", "app.cu other.cu")

    def project(self, name, listing, **sources):
        folder = self.scratch / name
        folder.mkdir()
        for file, text in {"CMakeLists.txt": listing, "app.cu": PROGRAM, "other.cu": OTHER, **sources}.items():
            (folder / file).write_text(text)
        return folder

    def build(self, folder, *arguments):
        if self.strict:
            arguments = [*arguments, f"-DCMAKE_CUDA_FLAGS={STRICT}", "-DCMAKE_UNITY_BUILD=ON"]
        run(self.cmake, "-S", folder, "-B", folder / "build", *arguments)
        run(self.cmake, "--build", folder / "build")

    def build_and_run(self, folder, *arguments):
        self.build(folder, *arguments)
        run(folder / "build" / "app")

    def make_clone(self):
        for path in files(root):
            copy = self.clone / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        git = ["git", "-C", self.clone, "-c", "user.name=test", "-c", "user.email=test@example.com"]
        run(*git, "init", "-q", "-b", "main")
        run(*git, "add", "-A")
        run(*git, "commit", "-q", "-m", "All")
        name = re.search(r"GIT_TAG (\S+)\)", recipe("fetch_content"))[1]
        if name != "main":
            run(*git, "tag", name)

    def install(self):
        off = [f"-DASSAY_{each}=OFF" for each in ("TESTS", "EXAMPLES", "BENCHMARKS")]
        run(self.cmake, "-S", self.clone, "-B", self.scratch / "assay", *off)
        run(self.cmake, "--install", self.scratch / "assay", "--prefix", self.prefix)

    def find_package(self):
        self.build_and_run(self.project("find_package", self.found), f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def instead(self, way):
        line = next(each for each in self.found.splitlines() if each.startswith("find_package"))
        return self.found.replace(line + "\n", way, 1).replace(line + "\n", "")

    def add_subdirectory(self):
        folder = self.project("add_subdirectory", self.instead("add_subdirectory(assay)\n"))
        shutil.copytree(self.clone, folder / "assay")
        self.build_and_run(folder)

    def fetch_content(self):
        folder = self.project("fetch_content", self.instead(recipe("fetch_content")))
        self.build_and_run(folder, f"-DASSAY_REPOSITORY={self.clone}")

    def no_cmake(self):
        folder = self.project("no_cmake", "")
        (folder / "assay").symlink_to(self.clone)
        command = recipe("no_cmake")
        run("sh", "-ec", command.replace("app.cu", f"app.cu {STRICT}") if self.strict else command, cwd=folder)
        run(folder / "app")

    def downstream(self, name, how, *arguments):
        """A library that links assay and is installed, and a program that finds only that library."""
        engine = self.project(name, DOWNSTREAM.replace("HOW", how), **{
            "engine.cu": PROGRAM.replace("main", "engine"), "engineConfig.cmake": DOWNSTREAM_CONFIG})
        self.build(engine, *arguments)
        prefix = self.scratch / f"{name}_prefix"
        run(self.cmake, "--install", engine / "build", "--prefix", prefix)
        user = self.project(f"{name}_user", re.sub(r"find_package\(assay [\d.]+", "find_package(engine", self.found).replace(
            "assay::assay", "engine::engine"), **{"app.cu": PROGRAM + "\nint engine();\nint const both = engine();\n"})
        self.build_and_run(user, f"-DCMAKE_PREFIX_PATH={prefix};{self.prefix}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--newest", action="store_true")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    if "CUDACXX" in os.environ:
        os.environ["PATH"] = f"{pathlib.Path(os.environ['CUDACXX']).parent}:{os.environ['PATH']}"
    if not shutil.which("nvcc"):
        skip("no nvcc")
    if not shutil.which("git"):
        skip("no git, which FetchContent needs")
    scratch = options.scratch.resolve()
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)

    recipes = Recipes(scratch, newest(scratch) if options.newest else options.cmake, options.strict)
    recipes.make_clone()
    recipes.install()
    recipes.find_package()
    recipes.fetch_content()
    if options.newest:  # what newer versions of CMake change shows in these two
        return
    recipes.add_subdirectory()
    recipes.no_cmake()
    if options.strict:
        return
    recipes.downstream("engine", "find_package(assay REQUIRED)", f"-DCMAKE_PREFIX_PATH={recipes.prefix}")
    recipes.downstream("fetched_engine", "set(ASSAY_INSTALL ON)\n" + recipe("fetch_content"),
                       f"-DASSAY_REPOSITORY={recipes.clone}")


if __name__ == "__main__":
    main()
