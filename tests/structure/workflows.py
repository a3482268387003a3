# SPDX-License-Identifier: Apache-2.0
"""Checks the workflows: YAML with the keys that a job needs, shell that parses, scripts and options that exist.

Exit code 77: Python has no PyYAML.
"""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
WORKFLOWS = [*(root / ".github/workflows").glob("*.yml"), *(root / "packaging/github").glob("*.yml")]
SCRIPT = re.compile(r"\b((?:cmake|tests|examples)/[\w/]+\.(?:sh|py))\b")
TOOL = re.compile(r"\bassay_\w+ .*?(?=\n *\w|\|\||$)", re.DOTALL)


def wrong_of(workflow, yaml):
    text = workflow.read_text()
    whole = yaml.safe_load(text)
    for name, job in whole["jobs"].items():
        if not {"runs-on", "timeout-minutes", "steps"} <= job.keys():
            yield f"job {name} lacks a machine, a limit or steps"
        for step in job["steps"]:
            if ("run" in step) == ("uses" in step):
                yield f"job {name} has a step that does not either run or use something"
            if "uses" in step and not re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]):
                yield f"{step['uses']} names no version"
            if "run" in step and (done := subprocess.run(["bash", "-n"], input=step["run"], text=True, capture_output=True,
                                                         check=False)).returncode:
                yield f"job {name}: {done.stderr}"
    for script in SCRIPT.findall(text):
        if not (root / script).is_file():
            yield f"there is no {script}"
    programs = "".join(each.read_text() for pattern in ("examples/*.[hc]pp", "include/assay/cli/*.hpp")
                       for each in root.glob(pattern))
    for tool in TOOL.findall(text):
        for option in re.findall(r"(?<![\w-])--[a-z-]+", tool):
            if f'"{option}' not in programs and f",{option}" not in programs:
                yield f"no tool has an option {option}"


def main():
    try:
        import yaml
    except ImportError:
        print("skipped: Python has no PyYAML")
        return 77
    wrong = [f"{workflow.name}: {each}" for workflow in WORKFLOWS for each in wrong_of(workflow, yaml)]
    print("\n".join(wrong))
    return 1 if wrong or len(WORKFLOWS) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
