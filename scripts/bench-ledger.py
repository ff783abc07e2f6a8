"""Runs mo-ledger and grep in turn and prints medians and ratios. Started by scripts/bench-ledger."""
import os, shutil, subprocess, sys, tempfile
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter

LEDGER, HOME = sys.argv[1], sys.argv[2]
ROUNDS = 5
STORE = os.path.join(HOME, ".claude-workers", ".usage")
ENV = {"HOME": HOME, "PATH": os.environ["PATH"], "LC_ALL": "C"}


def run(command, **more):
    """Wall and CPU seconds of a command."""
    before, begun = getrusage(RUSAGE_CHILDREN), perf_counter()
    subprocess.run(command, env=ENV, check=True, **more)
    wall, after = perf_counter() - begun, getrusage(RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(samples, at):
    return sorted(sample[at] for sample in samples)[len(samples) // 2]


def line(name, samples, bar=""):
    print(f"{name:34} {median(samples, 0) * 1000:9.1f} ms wall {median(samples, 1) * 1000:9.1f} ms cpu  {bar}")


files = [os.path.join(base, name) for base, _, names in os.walk(os.path.join(HOME, ".claude", "projects")) for name in names if name.endswith(".jsonl")]
size = sum(map(os.path.getsize, files))
listing = "\0".join(files).encode()
print(f"{len(files)} transcripts, {size / 1e6:.0f} MB, load {os.getloadavg()[0]:.1f}")

grep, cold = [], []
with tempfile.TemporaryFile() as sink:  # to /dev/null grep would stop at the first match
    for _ in range(ROUNDS + 1):
        grep.append(run(["xargs", "-0", "grep", "-cF", '"usage":{'], input=listing, stdout=sink))
        shutil.rmtree(STORE, ignore_errors=True)
        cold.append(run([LEDGER, "update", "--quiet"]))
grep, cold = grep[1:], cold[1:]
wall, cpu = (median(cold, at) / median(grep, at) for at in (0, 1))
line("grep -cF", grep)
line("cold", cold, f"{cpu:.2f}x grep's cpu (bar 2.0), {wall:.2f}x its wall (bar 1.2 with two cores free)")

if shutil.which("time") and os.path.exists("/usr/bin/time"):
    shutil.rmtree(STORE, ignore_errors=True)
    told = subprocess.run(["/usr/bin/time", "-f", "%M", LEDGER, "update", "--quiet"], env=ENV, check=True, capture_output=True, text=True)
    print(f"{'peak memory':34} {int(told.stderr.split()[-1]) / 1024:9.1f} MiB            (bar 32)")

nothing = [run([LEDGER, "update", "--quiet"]) for _ in range(4 * ROUNDS)]
line("nothing new", nothing, "(bar 10 ms over 1,370 files)")

base = max(files, key=os.path.getsize)
keep = os.path.getsize(base)
with open(base, "rb") as source:
    rows = source.read(4_000_000)
rows = rows[: rows.find(b"\n", 1_000_000) + 1]
grown = []
for number in range(ROUNDS):
    with open(base, "ab") as target:
        target.write(rows.replace(b'"id":"msg_', b'"id":"msg_%d' % number))
    grown.append(run([LEDGER, "update", "--quiet"]))
line("1 MB of new rows", grown, "(bar 15 ms)")
os.truncate(base, keep)
shutil.rmtree(STORE, ignore_errors=True)
