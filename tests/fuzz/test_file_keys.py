"""Every key of the example files and every option with hostile values: an answer or a sentence, nothing else.

The questions are asked in a process of their own (file_worker.py), because what is looked for may end it.
SIEVERT_FUZZ_SECONDS goes on for longer with a new seed; SIEVERT_FUZZ_SEED repeats one.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

WORKER = Path(__file__).with_name("file_worker.py")
SECONDS = os.environ.get("SIEVERT_FUZZ_SECONDS", "0")
SEED = os.environ.get("SIEVERT_FUZZ_SEED") or (
    str(random.SystemRandom().getrandbits(32)) if float(SECONDS) else "1"
)
# Enough to notice that something broke; `make fuzz` looks for what nobody thought of.
CASES = 60
# Threads map memory, which is limited: on many cores a hundred of them leave none for the call.
ONE_EACH = "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS", "MALLOC_ARENA_MAX"
# A process that is ended is replaced by another, which goes on after the case that ended it.
MOST_PROCESSES = 20


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_hostile_files_are_answered_or_refused(tmp_path: Path) -> None:
    print(f"SIEVERT_FUZZ_SEED={SEED}")
    faults: list[str] = []
    skip = 0
    for number in range(MOST_PROCESSES):
        folder = tmp_path / str(number)
        folder.mkdir()
        lines, code = _run(folder, skip)
        faults += [f"{line['call']}\n    {line['fault']}" for line in lines if "fault" in line]
        if lines and "done" in lines[-1]:
            assert lines[-1]["done"] >= CASES
            break
        started = [line for line in lines if "started" in line]
        assert started, f"the worker ended with {code} before its first case"
        skip = started[-1]["started"]
        faults.append(f"{started[-1]['call']}\n    ended the process: exit code {code}")
    listed = "\n".join(faults[:40])
    assert not faults, f"{len(faults)} cases broke the rule (SIEVERT_FUZZ_SEED={SEED}):\n{listed}"


def _run(folder: Path, skip: int) -> tuple[list[dict[str, object]], int]:
    done = subprocess.run(
        [sys.executable, str(WORKER), str(folder), SEED, str(CASES), SECONDS, str(skip)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | dict.fromkeys(ONE_EACH, "1"),
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.returncode
