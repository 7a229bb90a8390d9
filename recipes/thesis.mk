# The thesis' six training configurations (Preite 2020, Tables 6.2 and 6.3), each with a one- and a four-layer head.
#
#   make -f recipes/thesis.mk rows TRAIN=train-v2.0.json DEV=dev-v2.0.json TEACHER=runs/teacher-large
#   make -f recipes/thesis.mk rows TRAIN=... DEV=... TEACHER=... SEEDS="0 1 2" QUESTIONS=130000
#
# Makes: in $(OUT) a student for each head, configuration and seed, which a teacher taught from the encoder and a fresh
#   head; results of them and of the teacher in rows.jsonl; for each configuration a table of the differences between its
#   heads. By default the students are MiniLM-L6 and see an eighth of SQuAD 2.0; the thesis' are DistilBERT and see all.
# Takes: an estimated six hours on two cores for each seed. A stopped run continues.
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
SHARE ?= 1
# Weight of the gold answers; the teacher has the rest. The thesis does not say it. It is the default of the script that the
# thesis used, like the temperature of 2 and no weight decay.
ALPHA ?= 0.5
SEEDS ?= 0
CONFIGURATIONS ?= 1 2 3 4 5 6

VARIABLES := OUT TRAIN DEV TEACHER QUESTIONS DEV_QUESTIONS ENCODER HEADS SHARE ALPHA SEEDS CONFIGURATIONS
REQUIRED := TRAIN DEV TEACHER
DATA := TRAIN DEV
GIVEN_MODELS := TEACHER
DECIDING := TRAIN DEV TEACHER QUESTIONS DEV_QUESTIONS ENCODER SHARE ALPHA
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

ifneq ($(filter-out 1 2 3 4 5 6,$(CONFIGURATIONS)),)
$(error $(RECIPE): CONFIGURATIONS=$(CONFIGURATIONS) has other numbers than 1 to 6)
endif

PASSES_1 := 3
PASSES_2 := 4
PASSES_3 := 3
PASSES_4 := 3
PASSES_5 := 6
PASSES_6 := 4
MODELS := $(foreach seed,$(SEEDS),$(foreach head,$(HEADS),$(CONFIGURATIONS:%=$(head)-config%-seed$(seed))))

.PHONY: models rows differences

models: $(MODELS:%=$(OUT)/%)

# $* is HEAD-configN-seedM. A run makes a folder student/, which is moved to its own name.
parts = $(subst -seed, ,$(subst -config, ,$*))
number = $(word 2,$(parts))
passes = $(shell awk 'BEGIN { print $(PASSES_$(number)) * $(SHARE) }')
$(MODELS:%=$(OUT)/%): $(OUT)/%: | $(OUT)/train.json
	$(RUN) -m distill.run --teacher $(TEACHER) --student-encoder $(ENCODER) --student-head $(firstword $(parts)) --recipe thesis-$(number) --epochs $(passes) --seed $(lastword $(parts)) --data $(OUT)/train.json --hidden-weight 0 --alpha $(ALPHA) --temperature 2 --cache $(OUT)/cache --out $(OUT)/training/$* --resume
	mv $(OUT)/training/$*/student $@

rows: models $(OUT)/dev.json
	$(RUN) benchmarks/compare.py $(MODELS:%=$(OUT)/%) --data $(OUT)/dev.json --rows $(OUT)/rows.jsonl --baseline $(TEACHER) --skip-latency
	$(RUN) -m benchmarks.table $(OUT)/rows.jsonl --view accuracy
	$(MAKE) -f $(RECIPE) differences

# In each configuration the other heads against the first.
differences:
	$(foreach n,$(if $(word 2,$(HEADS)),$(CONFIGURATIONS)),$(RUN) -m benchmarks.differences $(OUT)/rows.jsonl --data $(OUT)/dev.json --baseline $(firstword $(HEADS))-config$(n) --models $(HEADS:%=%-config$(n)) && )true
