#!/usr/bin/env bash
# Everything that only a GPU can show, the most important first, in the root of the repository:
#     LIMIT=560 bash benchmarks/gpu/first_run.sh
# A stage that fails or hangs costs only its own limit. $OUT gets three files, each figure at once:
# results.ndjson, stages.txt (exit codes) and log.txt. See README.md beside this script.
began=$(date +%s)
LIMIT=${LIMIT:-560} DEVICE=${DEVICE:-cuda} SCALE=${SCALE:-full} PY=${PY:-python3}
OUT=${OUT:-build/gpu} SITE=${SITE:-/tmp/yaie-site} # SITE: folder in which .whl/*.whl are installed
[ "$SCALE" = tiny ] && SMALL=${SMALL:-tiny} LARGE=${LARGE:-tiny}
SMALL=${SMALL:-qwen3-0.6b} LARGE=${LARGE:-llama-3.1-8b}
failed=0

stage() { # NAME SECONDS COMMAND...: run it within its limit and the time left; return its exit code
    local name=$1 limit=$2 left=$((began + LIMIT - $(date +%s))) start code
    start=$(date +%s)
    shift 2
    if [ "$left" -lt 8 ]; then
        echo "$name: left out" | tee -a "$OUT/stages.txt"
        return 0
    fi
    timeout -k 3 $((limit < left ? limit : left)) "$@" > "$WORK/stage.log" 2>&1
    code=$?
    { # no log fills the 16 MiB of a file
        echo "== $name: $*"
        head -c 700000 "$WORK/stage.log"
        tail -c +700001 "$WORK/stage.log" | tail -c 700000
    } >> "$OUT/log.txt"
    echo "$name: exit $code, $(($(date +%s) - start)) s" | tee -a "$OUT/stages.txt"
    [ $code = 0 ] || failed=1
    return $code
}

measure() { # NAME SECONDS ARGUMENTS...: a stage of benchmarks.gpu; once more if it lost its context
    local name=$1 limit=$2
    shift 2
    set -- "$PY" -m benchmarks.gpu "$@" --device "$DEVICE" --scale "$SCALE" \
        --out "$OUT/results.ndjson" --models "$WORK/models"
    stage "$name" "$limit" "$@"
    case $? in 3 | 134) CUDA_LAUNCH_BLOCKING=1 stage "$name-blocking" 60 "$@" ;; esac
}

mkdir -p "$OUT" || exit 9
# An 8B model is written once and read three times: in memory where there is room for it.
free=$(df --output=avail /dev/shm 2> /dev/null | tail -n 1)
WORK=$([ "${free:-0}" -gt 40000000 ] && mktemp -d -p /dev/shm || mktemp -d) || exit 9
trap 'rm -rf "$WORK"' EXIT
: > "$OUT/results.ndjson"
: > "$OUT/log.txt"
: > "$OUT/stages.txt"
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0 # a test takes the functions alone

if [ -d .whl ] && [ ! -d "$SITE" ]; then
    stage wheels 60 "$PY" -m pip install --quiet --no-index --no-deps --no-compile --no-cache-dir \
        --disable-pip-version-check --target "$SITE" .whl/*.whl || rm -rf "$SITE"
fi
[ -d .whl ] && export PYTHONPATH=$SITE${PYTHONPATH:+:$PYTHONPATH}
# No kernel library of the CPU is compiled: minutes, and nothing here measures it.
export PYTHONUNBUFFERED=1 YAIE_KERNELS=off

measure card 40 card
measure flashinfer 60 attention flashinfer
measure triton 60 attention triton
measure small 120 model "$SMALL"
[ "$DEVICE" = cuda ] &&
    stage tests 90 "$PY" -m pytest -p no:cacheprovider -m gpu -q -n 12 --timeout 60 --durations 5 tests/gpu
measure timing 45 timing
measure large 130 model "$LARGE"
measure http 100 http "$SMALL"
measure products 50 products
measure quantized 130 model "$LARGE+int8" "$LARGE+int4"
cat "$OUT/stages.txt"
"$PY" -m benchmarks.gpu report "$OUT/results.ndjson"
exit $failed
