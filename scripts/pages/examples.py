"""The outputs in README and START are those of real runs: `make examples`. It runs the commands, keeps what a verdict is printed from in
docs/examples, writes the outputs into the pages below their marks, and takes the pictures of the report. With `--text` it measures nothing: it
prints the kept runs anew, which a test demands after a change of what the program prints.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START = ROOT / "docs/START.md"

COMMAND = ["compare", "nginx", "apache", "--quick"]
# The pages that show it, and where its run is kept.
PAGES = [ROOT / "README.md", START]
FOLDER = ROOT / "docs/examples/compare"
# What a verdict is printed from. The other files of a run are measurements.
KEPT = ("plan.toml", "verdict.json", "explanation.json")


def main() -> int:
    """Updates the pages; returns the exit code."""
    parser = argparse.ArgumentParser(prog="pages.examples", description="Update the outputs in README and START.")
    parser.add_argument("program", type=Path, help="the program")
    parser.add_argument("--text", action="store_true", help="print the kept run anew and measure nothing")
    parser.add_argument("--only", choices=["compare", "doctor"], help="one example")
    parser.add_argument("--run", type=Path, help="take this run instead of a new one")
    options = parser.parse_args()
    program = options.program.resolve()
    if options.only != "compare" and not options.text:
        write(START, "doctor", output(program, ["doctor"]))
    if options.only != "doctor":
        if not options.text:
            measure(program, options.run)
        for page in PAGES:
            write(page, "compare", answer(program))
    return 0


def measure(program: Path, run: Path | None) -> None:
    """Runs the comparison, keeps its verdict and takes the pictures, all without names of this machine."""
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        if run is None:
            # Like a user's: in a directory of its own. Exit code 3 is an answer without a verdict, which is no example.
            subprocess.run([program, *COMMAND], cwd=scratch, check=True)
            [run] = (scratch / "runs").iterdir()
        archive = scratch / "run.tar.gz"
        output(program, ["export", run.resolve().name, "--runs", str(run.resolve().parent), "--anonymous", "--output", str(archive)])
        output(program, ["import", str(archive), "--runs", str(scratch / "imported")])
        imported = scratch / "imported" / run.resolve().name
        keep(imported)
        # The page of an imported run says that nobody has checked it. This one was measured just now.
        (imported / ".imported").unlink()
        report = scratch / "report.html"
        output(program, ["report", imported.name, "--runs", str(imported.parent), "--output", str(report)])
        subprocess.run(["npm", "run", "--silent", "shots", "--", scratch / "shots", report], cwd=ROOT / "web", check=True)
        shutil.copy(scratch / "shots/readme.png", ROOT / "docs/report.png")
        for picture in (scratch / "shots").glob("part-*.png"):
            shutil.copy(picture, ROOT / "docs/pictures" / picture.name.replace("part-", "start-"))


def keep(run: Path) -> None:
    """Keeps what the answer is printed from, instead of an earlier run."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / run.name).mkdir(parents=True)
    for name in KEPT:
        shutil.copy(run / name, FOLDER / run.name / name)
    plan = FOLDER / run.name / "plan.toml"
    # The program of an export without names is a path of nobody.
    plan.write_text(re.sub(r'^command = \["[^"]*"', 'command = ["showdown"', plan.read_text(), flags=re.MULTILINE))


def answer(program: Path) -> str:
    """What the command of a kept run has printed. `show` ends with other lines: here are those of the command."""
    [run] = FOLDER.iterdir()
    shown = output(program, ["show", run.name, "--runs", str(run.parent)])
    # `show` names a run by its path if it is not in ./runs.
    text = shown.partition("\nrun  ")[0].replace(f"{run.parent}/", "")
    return f"{text}\nrun     runs/{run.name}\nreport  runs/{run.name}/report.html\n"


def output(program: Path, arguments: list[str]) -> str:
    """What the program prints."""
    return subprocess.run([program, *arguments, "--color", "never"], check=True, stdout=subprocess.PIPE, text=True).stdout


def write(page: Path, name: str, text: str) -> None:
    """Puts an output into the block below its mark; its first line, the command, stays."""
    block = re.compile(rf"(<!-- example: {name} -->\n```console\n\$ [^\n]*\n).*?(```\n)", re.DOTALL)
    before = page.read_text()
    if not block.search(before):
        raise SystemExit(f"examples: {page.relative_to(ROOT)} has no block below <!-- example: {name} -->")
    page.write_text(block.sub(lambda match: match.group(1) + text + match.group(2), before))


if __name__ == "__main__":
    sys.exit(main())
