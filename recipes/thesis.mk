# The thesis' six training configurations (Preite 2020, Tables 6.2 and 6.3), each with a one- and a four-layer head.
#
#   make -f recipes/thesis.mk rows TRAIN=train-v2.0.json DEV=dev-v2.0.json TEACHER=runs/flagship/teacher-mpnet
#
# Makes: in $(OUT) twelve students that a teacher taught, results in rows.jsonl, and their table.
# Takes: an estimated hour and a half on two cores. A stopped run continues.
# Needs: make install, SQuAD 2.0 as files, and a teacher; docs/train.md says how to make the large one.

OUT ?= runs/thesis
TRAIN ?=
DEV ?=
TEACHER ?=
# The students see so many training questions, and are scored on at most so many.
QUESTIONS ?= 16000
DEV_QUESTIONS ?= 3000
ENCODER ?= minilm-l6
HEADS ?= linear 4l-gelu-skip
# Share of each configuration's passes over the data.
SHARE ?= 0.25
PROCESSES ?= 2

VARIABLES := OUT TRAIN DEV TEACHER QUESTIONS DEV_QUESTIONS ENCODER HEADS SHARE PROCESSES
REQUIRED := TRAIN DEV TEACHER
DATA := TRAIN DEV
DECIDING := TRAIN DEV TEACHER QUESTIONS DEV_QUESTIONS ENCODER SHARE
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

RUN := .venv/bin/python
EACH := OMP_NUM_THREADS=1 $(RUN) -m torch.distributed.run --standalone --nproc-per-node $(PROCESSES)
PASSES_1 := 3
PASSES_2 := 4
PASSES_3 := 3
PASSES_4 := 3
PASSES_5 := 6
PASSES_6 := 4
MODELS := $(foreach head,$(HEADS),$(foreach number,1 2 3 4 5 6,$(head)-config$(number)))

.PHONY: models rows
.DELETE_ON_ERROR:
.SECONDARY:

models: $(MODELS:%=$(OUT)/%)

$(OUT)/train.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions $(QUESTIONS) --out $@

$(OUT)/dev.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(DEV) --questions $(DEV_QUESTIONS) --out $@

# $* is HEAD-configN. A run makes a folder student/, which is moved to its own name.
number = $(lastword $(subst -config, ,$*))
passes = $(shell awk 'BEGIN { print $(PASSES_$(number)) * $(SHARE) }')
$(MODELS:%=$(OUT)/%): $(OUT)/%: | $(OUT)/train.json
	$(EACH) -m distill.run --teacher $(TEACHER) --student-encoder $(ENCODER) --student-head $(firstword $(subst -config, ,$*)) --recipe thesis-$(number) --epochs $(passes) --data $(OUT)/train.json --hidden-weight 0 --temperature 2 --cache $(OUT)/cache --out $(OUT)/training/$* --resume
	mv $(OUT)/training/$*/student $@

rows: models $(OUT)/dev.json
	$(RUN) benchmarks/compare.py $(MODELS:%=$(OUT)/%) --data $(OUT)/dev.json --rows $(OUT)/rows.jsonl --baseline $(OUT)/$(firstword $(MODELS)) --skip-latency
	$(RUN) -m benchmarks.table $(OUT)/rows.jsonl --view accuracy
