# Everything a fresh clone needs: Python >= 3.11, git and make.
#   make demo   a free-flying robot reaches; leaves a run file and a figure in out/
#   make test   lint, types and tests
#   make test-all   the same with the slow sweeps, and with all kernels compiled as users do
#   make test-portable   the numerical tests as on other processors (an hour or two)
#   make fuzz   a hundred thousand mutated model files
#   make bench  linkwork beside its peers, on this machine
#   make figures  the drawings of docs/examples.md and docs/control.md
#   make bench-figure  errors of methods that keep structure against time, beside their peers

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := pin mujoco example-robot-data gymnasium dm_control exudyn coal
JOBS ?= auto

.PHONY: demo test test-all test-portable fuzz bench bench-figure figures lint clean

demo: $(VENV)/.installed
	$(BIN)/python -m linkwork.app.demo

test: lint
	$(BIN)/pytest -n $(JOBS)

test-all: lint
	$(BIN)/pytest -n $(JOBS) -m '' --as-shipped

test-portable: $(VENV)/.installed-test
	$(BIN)/python tests/other_instruction_sets.py

fuzz: $(VENV)/.installed-test
	$(BIN)/python tests/fuzz_urdf_and_toml.py 100000
	$(BIN)/python tests/fuzz_mjcf.py 20000

bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks

bench-figure: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.structure_preservation docs/figures/structure.png

figures: $(VENV)/.installed
	$(BIN)/python -m linkwork.app.example_gallery docs/figures
	$(BIN)/python -m linkwork.papers.wendlandt_biped_figures docs/figures

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --level error

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "linkwork needs Python 3.11 or newer; run make PYTHON=/path/to/python3.11" >&2; exit 1; }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[plot]'
	@touch $@

# Peers are second opinions: where one has no wheel, its tests are skipped and say so.
$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	@for peer in $(PEERS); do \
		$(BIN)/pip install --quiet --disable-pip-version-check --only-binary :all: $$peer \
			|| echo "no wheel of $$peer here: its tests will be skipped"; \
	done
	@touch $@

clean:
	rm -rf $(VENV) build dist
