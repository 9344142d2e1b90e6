#!/bin/sh
# The library's kernels on this CPU beside the peers that are here: tunes each, then races it; prints a Markdown table.
# Usage: bench/cpu.sh [BUDGET_OF_TUNE [BUDGET_OF_BENCH]] > bench/results/MACHINE.md
set -eu
root=$(dirname -- "$(readlink -f -- "$0")")/..
tune=${1:-20s}
bench=${2:-5s}

row() {
    "$root/tilewright" tune "$@" --budget "$tune" --quiet --json >/dev/null
    "$root/tilewright" bench "$@" --budget "$bench" --vs openblas,onednn,gemm,torch --quiet --json | python3 -c '
import json, sys
b = json.load(sys.stdin)
if "error" in b:
    print("| %s | %s |" % (sys.argv[1], b["error"]["message"]))
    sys.exit()
def ratio(name):
    p = b["peers"].get(name)
    return "%.2f" % p["ratio"] if p else ""
config = ",".join("%s=%d" % kv for kv in b["config"].items())
print("| %s | %s | %.3g ms | %.0f %% of %s | %.0f %% of %s | %s |" % (
    sys.argv[1], config, b["seconds"] * 1e3, 100 * b["peak_fraction"], b["peak"], 100 * b["bandwidth_fraction"],
    b["bandwidth_level"], " | ".join(ratio(n) for n in ("openblas", "onednn", "gemm", "torch"))))
for w in b["warnings"]:
    print("warning: %s: %s" % (sys.argv[1], w), file=sys.stderr)
' "$*"
}

echo "# The kernels on a CPU"
echo
echo "$(date -u +%Y-%m-%d), $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1), $(nproc) logical CPUs, by \`bench/cpu.sh $tune $bench\`."
echo "Numbers under a peer are its time over ours: above 1, ours is faster."
echo
echo "| problem | config | time | arithmetic | traffic | OpenBLAS | oneDNN | gemm | PyTorch |"
echo "|---|---|---|---|---|---|---|---|---|"
for n in 128 512 1024 2048; do
    row matmul m=$n n=$n k=$n dtype=f32
done
row matmul m=1024 n=1024 k=1024 dtype=bf16
row matmul m=1024 n=1024 k=1024 dtype=i8
row matmul m=512 n=1536 k=384 dtype=f32 epilogue=bias+gelu
row softmax rows=4096 cols=4096 dtype=f32
row layernorm rows=4096 cols=1024 dtype=f32
row rmsnorm rows=4096 cols=4096 dtype=f32
row attention batch=1 heads=8 kv_heads=8 q_len=512 kv_len=512 head_dim=64 dtype=f32 causal
