"""Reads the same simulated Crossref with patra, dlt and Airbyte's CDK and compares what each takes.

compare.py PATRA PYTHON [RECORDS [ROUNDS]]: they take turns, so that a slower minute is
slow for all of them, and of each the median of its processor time is taken. What a program
takes before it reads anything is measured with a source of 50 records and told apart.

The two others know no pace and ask as fast as they can. So does patra here, by a pack that allows
it; a harvest at the pace that its own pack has for Crossref is measured beside them, since a
processor that rests between two pages does the next one slower.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
patra, python = sys.argv[1:3]
records = int(sys.argv[3]) if len(sys.argv) > 3 else 60000
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
few = 50


class Upstream:
    """A simulator in a process of its own."""

    def __init__(self, size):
        self.process = subprocess.Popen([patra, "sim", "--sources", "crossref", "--records", str(size), "--limit-rps", "-1"], stdout=subprocess.PIPE, text=True)
        self.url = "http://" + json.loads(self.process.stdout.readline())["listen"] + "/crossref"

    def __enter__(self):
        return self.url

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def without_pace(folder):
    """A folder with the pack of Crossref, but for its rate."""
    with open(os.path.join(here, "..", "..", "sources", "crossref.yaml")) as f:
        pack = f.read()
    for key, value in {"limit": "100000", "qps": "90000"}.items():
        pack, found = re.subn(rf"(?m)^  {key}: [0-9.]+$", f"  {key}: {value}", pack)
        if found != 1:
            sys.exit(f"sources/crossref.yaml has {found} lines of its rate with {key}, and should have one")
    packs = os.path.join(folder, "packs")
    os.mkdir(packs)
    with open(os.path.join(packs, "crossref.yaml"), "w") as f:
        f.write(pack)
    return packs


def orders(name, url, folder):
    """What is run."""
    harvest = [patra, "harvest", "crossref", "--base-url", url, "--db", "sqlite:" + os.path.join(folder, "patra.db"), "--from", "2000-01-01", "--contact", "bench@example.org", "--progress", "none", "--json"]
    if name == "patra":
        harvest += ["--sources", without_pace(folder)]
    return {
        "patra": harvest,
        "at pace": harvest,
        "dlt": [python, os.path.join(here, "with_dlt.py"), url, folder],
        "airbyte": [python, os.path.join(here, "with_airbyte.py"), url, folder],
    }[name]


def stored(name, said):
    """How many records a program says it has."""
    if name in ("patra", "at pace"):
        return json.loads(said)["records"]["inserted"]
    return int(said.strip().splitlines()[-1])


def size(folder):
    return sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(folder) for f in files)


def run(name, url):
    """Runs a program once: processor seconds, most memory in MiB, records, bytes on disk."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "said"), "w+") as said, open(os.path.join(folder, "errors"), "w+") as errors:
            process = subprocess.Popen(orders(name, url, folder), stdout=said, stderr=errors, cwd=folder)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                errors.seek(0)
                sys.exit(f"{name} ended with {process.returncode}: {errors.read()[-2000:]}")
            said.seek(0)
            got = stored(name, said.read())
        for own in ("said", "errors"):
            os.remove(os.path.join(folder, own))
        shutil.rmtree(os.path.join(folder, "packs"), ignore_errors=True)
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, got, size(folder)


names = ["patra", "at pace", "dlt", "airbyte"]
start = {}
with Upstream(few) as url:
    for name in names:
        start[name] = statistics.median(run(name, url)[0] for _ in range(rounds))
taken = {name: [] for name in names}
with Upstream(records) as url:
    for _ in range(rounds):
        for name in names:
            taken[name].append(run(name, url))

print(f"{'':8} {'CPU s':>8} {'at start':>8} {'us a record':>12} {'MiB':>6} {'records':>8} {'bytes a record on disk':>23}")
each = {}
for name in names:
    cpu = statistics.median(t[0] for t in taken[name])
    got = taken[name][0][2]
    each[name] = (cpu / got, (cpu - start[name]) / got)
    print(f"{name:8} {cpu:8.2f} {start[name]:8.2f} {each[name][1] * 1e6:12.1f} {max(t[1] for t in taken[name]):6.0f} {got:8d} {taken[name][0][3] / got:23.0f}")
for name in names[2:]:
    print(f"{name} takes {each[name][0] / each['patra'][0]:.1f} times the processor time of patra for a record, {each[name][1] / each['patra'][1]:.1f} times without what each takes to start; {each[name][0] / each['at pace'][0]:.1f} times that of patra at Crossref's pace")
