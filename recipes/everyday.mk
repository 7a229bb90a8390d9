# What teaches a model everyday text: gold answers, a teacher's answers, questions as people type them, or noisy texts.
#
#   make -f recipes/everyday.mk rows TRAIN=train-v2.0.json DEV=dev-v2.0.json TEACHER=runs/teacher-large
#
# Makes: in $(OUT) a model for each of ARMS and seed, trained further from MODEL on the same number of questions, and tuned
#   on held-out questions of both kinds of text; results on both in rows.jsonl, and tables of differences.
# Takes: two and a quarter hours on two cores with bf16. A stopped run continues.
# Needs: make install, SQuAD 2.0 as files, and a teacher that knows everyday text; docs/train.md says how to make it.

OUT ?= runs/everyday
TRAIN ?=
DEV ?=
TEACHER ?=
# A model that knows SQuAD only, with its held-out questions.
MODEL ?= models/teacher
# So many of each kind of text, but twice as many of SQuAD alone.
QUESTIONS ?= 2000
DEV_QUESTIONS ?= 3000
LEARNING_RATE ?= 2e-4
BATCH_SIZE ?= 32
SEEDS ?= 0 1 2

EVERYDAY := everyday
HELD_OUT := $(MODEL)/held_out.json.gz qa/data/everyday/everyday-held-out.json.gz

VARIABLES := OUT TRAIN DEV TEACHER MODEL QUESTIONS DEV_QUESTIONS LEARNING_RATE BATCH_SIZE SEEDS
REQUIRED := TRAIN DEV TEACHER
DATA := TRAIN DEV HELD_OUT
GIVEN_MODELS := TEACHER
DECIDING := TRAIN DEV EVERYDAY TEACHER MODEL QUESTIONS DEV_QUESTIONS LEARNING_RATE BATCH_SIZE
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

# Each arm, its data, and the passes over them: copies make the data half as large again.
ARMS := squad gold teacher typed noisy
DATA_teacher := gold
PASSES_typed := 0.667
PASSES_noisy := 0.667
# Only in the arm `teacher` does the teacher teach; there, gold answers have a tenth of the weight.
FLAGS_teacher := --temperature 2
COPIED := typed noisy
MODELS := $(foreach seed,$(SEEDS),$(ARMS:%=%-seed$(seed)))

.PHONY: models rows differences

models: $(MODELS:%=$(OUT)/%)

$(OUT)/everyday.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(EVERYDAY) --split train --questions $(QUESTIONS) --out $@

$(COPIED:%=$(OUT)/everyday-%.json): $(OUT)/everyday-%.json: | $(OUT)/everyday.json
	$(RUN) -m distill.unlabelled --data $(OUT)/everyday.json --passages 0 --$* 1 --out $@

MIX := $(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions
$(OUT)/squad.json:
	$(STORE)
	$(MIX) $(shell expr 2 \* $(QUESTIONS)) --out $@

$(OUT)/gold.json: | $(OUT)/everyday.json
	$(MIX) $(QUESTIONS) --add $(OUT)/everyday.json --out $@

$(COPIED:%=$(OUT)/%.json): $(OUT)/%.json: | $(OUT)/everyday-%.json
	$(MIX) $(QUESTIONS) --add $(OUT)/everyday-$*.json --out $@

# $* is ARM-seedN. A run makes a folder student/.
arm = $(firstword $(subst -seed, ,$*))
$(MODELS:%=$(OUT)/training/%/student): $(OUT)/training/%/student: | $(OUT)/squad.json $(OUT)/gold.json $(COPIED:%=$(OUT)/%.json)
	$(RUN) -m distill.run $(strip --student $(MODEL) --teacher $(TEACHER) $(or $(FLAGS_$(arm)),--alpha 1)) --data $(OUT)/$(or $(DATA_$(arm)),$(arm)).json --hidden-weight 0 --learning-rate $(LEARNING_RATE) --batch-size $(BATCH_SIZE) --epochs $(or $(PASSES_$(arm)),1) --seed $(lastword $(subst -seed, ,$*)) --cache $(OUT)/cache --out $(OUT)/training/$* --resume

$(MODELS:%=$(OUT)/%): $(OUT)/%: | $(OUT)/training/%/student
	$(RUN) -m export.tune --data $(HELD_OUT) --model $(OUT)/training/$*/student --out $@

# A score of its own for what all start from.
$(OUT)/start:
	$(STORE)
	$(RUN) -m export.tune --data $(HELD_OUT) --model $(MODEL) --out $@

rows: models $(OUT)/start $(OUT)/dev.json
	$(foreach data,$(OUT)/dev.json everyday,$(RUN) benchmarks/compare.py $(OUT)/start $(MODELS:%=$(OUT)/%) --data $(data) --rows $(OUT)/rows.jsonl --baseline $(OUT)/start --skip-latency && )true
	$(MAKE) -f $(RECIPE) differences

differences:
	$(foreach data,$(OUT)/dev.json everyday,$(foreach baseline,start gold,$(RUN) -m benchmarks.differences $(OUT)/rows.jsonl --data $(data) --baseline $(baseline) --models $(ARMS) && ))true
