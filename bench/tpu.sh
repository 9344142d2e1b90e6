#!/bin/sh
# Explains every program of a folder for three TPU generations with an empty cache, two at once, then holds both timing
# models to the vendor's estimates and to published measurements (bench/truth). Prints Markdown. Needs libtpu, no TPU.
# Usage: bench/tpu.sh [FOLDER_OF_PROGRAMS] > bench/results/tpu-accuracy.md
set -eu
root=$(dirname -- "$(readlink -f -- "$0")")/..
programs=$(readlink -f -- "${1:-$root/bench/programs}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export root programs work TILEWRIGHT_CACHE="$work/cache"
cd "$root"
cargo build --release --quiet -p tilewright --bin tilewright
cargo build --release --quiet -p tilewright-run --example tpu_dump
cargo build --release --quiet -p tilewright-bundles --example vendor_accuracy --example calibrated_accuracy
built=${CARGO_TARGET_DIR:-$root/target}/release
export built

pairs() {
    for file in "$programs"/*.mlir; do
        for target in tpu-v5e tpu-v6e tpu7x; do
            echo "$(basename "$file" .mlir) $target"
        done
    done
}

# A row: program, target, seconds with an empty cache, cycles, ops, what is not accounted for.
explain='
begin=$(date +%s.%N)
"$built/tilewright" explain "$programs/$1.mlir" --target "$2" --quiet --json > "$work/$1.$2.json" || true
python3 - "$work/$1.$2.json" "$1" "$2" "$begin" "$(date +%s.%N)" << END
import json, sys
file, program, target, begin, end = sys.argv[1:]
whole = json.load(open(file))
wall = "%.1f s" % (float(end) - float(begin))
if "error" in whole:
    print("| %s | %s | %s | %s |||" % (program, target, wall, whole["error"]["message"]))
else:
    t = whole["targets"][0]
    print("| %s | %s | %s | %d | %d | %.2f %% |" % (program, target, wall, t["cycles"], len(t["ops"]), 100 * t["unaccounted"]))
END
'

echo "# TPU programs: how long an explanation takes, and how far it is off"
echo
echo "Made by \`bench/tpu.sh\` on $(nproc) CPUs, $(date +%Y-%m-%d), with $("$built/tilewright" explain "$(ls "$programs"/*.mlir | head -1)" \
    --target tpu-v5e --quiet --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["targets"][0]["compiler"])')."
rm -rf "$TILEWRIGHT_CACHE"
echo
echo "## Each program, compilation included, with an empty cache and two at once"
echo
echo "| program | target | time | cycles | ops | not accounted for |"
echo "|---|---|---|---|---|---|"
begin=$(date +%s)
pairs | xargs -P 2 -L 1 sh -c "$explain" explain | sort
echo
echo "All together: $(($(date +%s) - begin)) s."

# From the cache now.
pairs | xargs -P 2 -L 1 sh -c '"$built/examples/tpu_dump" "$programs/$1.mlir" "$2" "$work/dumps/$1.${2#tpu-}" > "$work/$1.$2.log" 2>&1 ||
    echo "no dump of $1 for $2" >&2' dump
echo
echo "## The \`vendor\` model against libtpu's own estimates, in cycles"
echo
echo "    vendor_accuracy DUMPS bench/truth/libtpu_static_estimates.csv"
echo
"$built/examples/vendor_accuracy" "$work/dumps" bench/truth/libtpu_static_estimates.csv | sed 's/^/    /' | cut -c 1-120
echo
echo "## The \`calibrated\` model against published times on a v5e, in cycles"
echo
echo "    calibrated_accuracy DUMPS bench/truth/pallas_matmul_v5e_measured.csv"
echo
"$built/examples/calibrated_accuracy" "$work/dumps" bench/truth/pallas_matmul_v5e_measured.csv | sed 's/^/    /' | cut -c 1-90
