# SPDX-License-Identifier: Apache-2.0
"""Installs assay by the recipes under packaging/, then builds a program of another project against it and runs it.

packages.py --scratch FOLDER [--install] WAY...   WAY: conan conan_compiled vcpkg spack spack_compiled cpm

Exit code 77: a way has no client here. Clients are looked for on PATH; vcpkg also in VCPKG_ROOT and
VCPKG_INSTALLATION_ROOT, spack in SPACK_ROOT, CPM.cmake in CPM_FILE. With --install, pip may install Conan.
The recipes build the checkout that they lie in, so they work on a clone: no way leaves a file in this tree.
"""
import argparse
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "cmake"))
from check_structure import files  # noqa: E402


class Missing(Exception):
    pass


def run(*command, cwd=None, **environment):
    done = subprocess.run([str(each) for each in command], cwd=cwd, env=os.environ | environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def client(name, *folders):
    for folder in folders:
        if folder and (pathlib.Path(folder) / name).exists():
            return pathlib.Path(folder) / name
    found = shutil.which(name)
    if not found:
        raise Missing(f"no {name}")
    return pathlib.Path(found)


class Packages:
    def __init__(self, scratch, install):
        self.scratch, self.install = scratch, install
        self.consumer = root / "packaging/conan/test_package"

    @functools.cached_property
    def clone(self):
        """A checkout with a branch main and all files of this tree."""
        clone = self.scratch / "clone"
        for path in files(root):
            copy = clone / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        git = ["git", "-C", clone, "-c", "user.name=test", "-c", "user.email=test@example.com"]
        run(*git, "init", "-q", "-b", "main")
        run(*git, "add", "-A")
        run(*git, "commit", "-q", "-m", "All")
        return clone

    def told(self, output):
        """The program ran with this version, and printed a report."""
        version = re.search(r'version = "(.*?)"', (root / "include/assay/version.hpp").read_text())[1]
        if f"assay {version}" not in output or "forward" not in output:
            sys.exit(f"the program printed:\n{output}")

    def build_and_run(self, name, source, *arguments):
        build = self.scratch / name
        run("cmake", "-S", source, "-B", build, *arguments)
        run("cmake", "--build", build)
        self.told(run(build / "consumer"))

    def find_conan(self):
        try:
            found = client("conan")
            if "version 1" in run(found, "--version"):
                raise Missing("no conan 2")
            return found
        except Missing:
            if not self.install:
                raise
        folder = self.scratch.parent / "conan_client"
        if not (folder / "bin/conan").exists():
            try:
                subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--retries", "1", "--timeout", "10", "--target",
                                folder, "conan"], check=True, capture_output=True, timeout=300)
            except (OSError, subprocess.SubprocessError) as error:
                raise Missing(f"no conan, and pip installs none: {error}") from error
        os.environ["PYTHONPATH"] = f"{folder}:{os.environ.get('PYTHONPATH', '')}"
        return folder / "bin/conan"

    def conan(self, *options):
        conan, home = self.find_conan(), str(self.scratch / "conan_home")
        run(conan, "profile", "detect", "--force", CONAN_HOME=home)
        self.told(run(conan, "create", self.clone / "packaging/conan", "-s", "compiler.cppstd=20", *options,
                      CONAN_HOME=home))

    def conan_compiled(self):
        self.conan("-o", "&:compiled=True")

    def vcpkg(self):
        vcpkg = client("vcpkg", os.environ.get("VCPKG_ROOT"), os.environ.get("VCPKG_INSTALLATION_ROOT"))
        installed = self.scratch / "vcpkg_installed"
        run(vcpkg, "install", "assay", f"--overlay-ports={self.clone / 'packaging/vcpkg'}", f"--x-install-root={installed}",
            f"--x-buildtrees-root={self.scratch / 'buildtrees'}", f"--x-packages-root={self.scratch / 'packages'}",
            cwd=self.scratch)
        triplet = next(each for each in installed.iterdir() if (each / "include/assay").is_dir())
        self.build_and_run("vcpkg_consumer", self.consumer, f"-DCMAKE_PREFIX_PATH={triplet}")

    def spack(self, variants="~compiled"):
        spack = client("spack", pathlib.Path(os.environ.get("SPACK_ROOT", "/nowhere")) / "bin")
        options = [spack, "-C", self.scratch / "spack_configuration"]
        configuration = self.scratch / "spack_configuration"
        configuration.mkdir(exist_ok=True)
        entry = "assay: " if int(run(spack, "--version").split(".")[0]) >= 1 else "- "
        (configuration / "repos.yaml").write_text(f"repos:\n  {entry}{self.clone / 'packaging/spack'}\n")
        run(*options, "install", f"assay{variants}")
        prefix = run(*options, "location", "-i", f"assay{variants}").strip().splitlines()[-1]
        try:
            self.build_and_run(f"spack_consumer{variants}", self.consumer, f"-DCMAKE_PREFIX_PATH={prefix}")
        finally:
            run(*options, "uninstall", "-y", "--all", f"assay{variants}")

    def spack_compiled(self):
        self.spack("+compiled")

    def cpm(self):
        file = pathlib.Path(os.environ.get("CPM_FILE", "/nowhere"))
        if not file.is_file():
            raise Missing("no CPM.cmake, named by CPM_FILE")
        line = re.search(r"<!-- recipe: cpm -->\n```cmake\n(.*?)```", (root / "docs/packages.md").read_text(), re.DOTALL)[1]
        project = self.scratch / "cpm"
        shutil.copytree(self.consumer, project)
        listing = project / "CMakeLists.txt"
        listing.write_text(listing.read_text().replace("find_package(assay 0.3 REQUIRED CONFIG)\n", line)
                           .replace("TARGET assay::compiled", "OFF"))
        shutil.copy(file, project / "CPM.cmake")
        self.build_and_run("cpm_consumer", project, f"-DASSAY_REPOSITORY={self.clone}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--install", action="store_true")
    parser.add_argument("ways", nargs="+", metavar="WAY",
                        choices=["conan", "conan_compiled", "vcpkg", "spack", "spack_compiled", "cpm"])
    options = parser.parse_args()
    scratch = options.scratch.resolve()
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    packages, skipped = Packages(scratch, options.install), False
    for way in options.ways:
        try:
            getattr(packages, way)()
            print(f"{way}: installed, found and run")
        except Missing as missing:
            print(f"{way}: skipped: {missing}")
            skipped = True
    return 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
