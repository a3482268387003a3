# SPDX-License-Identifier: Apache-2.0
"""cmake/demo.sh decides what to build before it builds, with tools that only note how they were called."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parents[2]
CMAKE = """#!/bin/sh
case "$1" in --version) echo 'cmake version 3.25.1'; exit 0 ;; esac
echo "cmake $*" >>"$CALLS"
"""
EXPERIMENT = '#!/bin/sh\necho "ran $(basename "$0") $*"\n'
NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release %s, V1'\n"


class Demo(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name)
        (self.tree / "cmake").mkdir()
        for name in ("demo.sh", "setup.sh"):
            shutil.copy(root / "cmake" / name, self.tree / "cmake" / name)
        self.tool("cmake", CMAKE)
        self.tool("ninja", "#!/bin/sh\n")
        self.tool("nvidia-smi", "#!/bin/sh\nexit 9\n")
        self.tool("nvcc", NVCC % "13.0")
        for name in ("null_cast", "null_cast_host"):
            self.tool(name, EXPERIMENT, "build/demo/examples")
        self.calls = self.tree / "calls"
        self.calls.write_text("")

    def tool(self, name, text, folder="bin"):
        path = self.tree / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def demo(self, *arguments):
        environment = {**os.environ, "PATH": f"{self.tree}/bin:{os.environ['PATH']}", "CALLS": str(self.calls),
                       "CUDACXX": f"{self.tree}/bin/nvcc"}
        done = subprocess.run(["sh", "cmake/demo.sh", *arguments], cwd=self.tree, env=environment,
                              capture_output=True, text=True, check=True)
        return done.stdout, self.calls.read_text()

    def check_half(self, printed, calls, half, experiment, cuda):
        self.assertIn(f"The {half} half", printed)
        self.assertIn(f"-DASSAY_CUDA={cuda}", calls)
        self.assertIn(f"--target example.{experiment}\n", calls)
        self.assertIn(f"ran {experiment} ", printed)
        self.assertLess(printed.index("This takes about"), printed.index("== Configuring"))

    def test_help_builds_nothing_and_needs_nothing(self):
        for arguments in (["--help"], ["--quick", "-h"]):
            printed, calls = self.demo(*arguments)
            self.assertIn("--fail-if", printed)
            self.assertNotIn("set -u", printed)
            self.assertEqual(calls, "")

    def test_without_a_gpu_the_host_half_is_built(self):
        self.check_half(*self.demo("--quick"), "host", "null_cast_host", "OFF")

    def test_with_a_gpu_the_device_half_is_built(self):
        self.tool("nvidia-smi", "#!/bin/sh\necho 'GPU 0: a card (UUID: GPU-1)'\n")
        printed, calls = self.demo()
        self.check_half(printed, calls, "gpu", "null_cast", "ON")
        self.assertIn("GPU 0: a card, ", printed)

    def test_a_gpu_is_left_alone_where_host_is_asked_for(self):
        self.tool("nvidia-smi", "#!/bin/sh\necho 'GPU 0: a card (UUID: GPU-1)'\n")
        self.check_half(*self.demo("--host"), "host", "null_cast_host", "OFF")

    def test_a_toolkit_that_is_too_old_is_named(self):
        self.tool("nvidia-smi", "#!/bin/sh\necho 'GPU 0: a card (UUID: GPU-1)'\n")
        self.tool("nvcc", NVCC % "12.4")
        printed, calls = self.demo()
        self.check_half(printed, calls, "host", "null_cast_host", "OFF")
        self.assertIn("older than CUDA 13", printed)


if __name__ == "__main__":
    unittest.main()
