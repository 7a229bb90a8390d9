# What a student learns from: gold answers, a teacher, and questions that only the teacher labels.
#
#   make -f recipes/ablations.mk rows TRAIN=train-v2.0.json DEV=dev-v2.0.json
#
# Makes: in $(OUT) a student for each of ARMS, results in rows.jsonl, and a table of differences. All students start
#   from the same encoder with the same fresh head of a seed, and train on the same number of windows.
# Takes: an estimated hour and a half on two cores. A stopped run continues.
# Needs: make install, and SQuAD 2.0 as files. TEACHER can be another teacher; docs/train.md says how to make the large one.

OUT ?= runs/ablations
TRAIN ?=
DEV ?=
TEACHER ?= models/teacher
# The students see so many labelled questions, and are scored on at most so many.
QUESTIONS ?= 4000
DEV_QUESTIONS ?= 3000
ENCODER ?= minilm-l6
HEAD ?= 4l-gelu-skip
# Passes over the labelled questions alone; over data of twice or three times as many, a half or a third of them.
PASSES ?= 4
LEARNING_RATE ?= 2e-4
BATCH_SIZE ?= 32
SEEDS ?= 0

VARIABLES := OUT TRAIN DEV TEACHER QUESTIONS DEV_QUESTIONS ENCODER HEAD PASSES LEARNING_RATE BATCH_SIZE SEEDS
REQUIRED := TRAIN DEV
DATA := TRAIN DEV
GIVEN_MODELS := TEACHER
DECIDING := TRAIN DEV TEACHER QUESTIONS DEV_QUESTIONS ENCODER HEAD PASSES LEARNING_RATE BATCH_SIZE
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

# Each arm and its data; how many times as many questions as the labelled ones a data file has.
ARMS := gold-answers teacher other-passages reworded-passages both
DATA_gold-answers := labelled
DATA_teacher := labelled
DATA_other-passages := passages
DATA_reworded-passages := reworded
DATA_both := both
TIMES_labelled := 1
TIMES_passages := 2
TIMES_reworded := 2
TIMES_both := 3
# Where a teacher teaches, gold answers have a tenth of the weight.
FLAGS_gold-answers := --alpha 1
UNLABELLED_passages := --passages 1 --reworded 0
UNLABELLED_reworded := --passages 0 --reworded 1
UNLABELLED_both := --passages 1 --reworded 1
MODELS := $(foreach seed,$(SEEDS),$(ARMS:%=%-seed$(seed)))

.PHONY: models rows differences

models: $(MODELS:%=$(OUT)/%)

$(OUT)/labelled.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions $(QUESTIONS) --out $@

$(foreach data,passages reworded both,$(OUT)/$(data).json): $(OUT)/%.json: | $(OUT)/labelled.json
	$(RUN) -m distill.unlabelled --data $(OUT)/labelled.json $(UNLABELLED_$*) --out $@

# $* is ARM-seedN. A run makes a folder student/, which is moved to its own name.
arm = $(firstword $(subst -seed, ,$*))
data = $(DATA_$(arm))
passes = $(shell awk 'BEGIN { print $(PASSES) / $(TIMES_$(data)) }')
$(MODELS:%=$(OUT)/%): $(OUT)/%: | $(OUT)/labelled.json $(OUT)/passages.json $(OUT)/reworded.json $(OUT)/both.json
	$(RUN) -m distill.run $(strip --teacher $(TEACHER) $(FLAGS_$(arm))) --student-encoder $(ENCODER) --student-head $(HEAD) --data $(OUT)/$(data).json --hidden-weight 0 --temperature 2 --learning-rate $(LEARNING_RATE) --batch-size $(BATCH_SIZE) --epochs $(passes) --seed $(lastword $(subst -seed, ,$*)) --cache $(OUT)/cache --out $(OUT)/training/$* --resume
	mv $(OUT)/training/$*/student $@

rows: models $(OUT)/dev.json
	$(RUN) benchmarks/compare.py $(MODELS:%=$(OUT)/%) --data $(OUT)/dev.json --rows $(OUT)/rows.jsonl --baseline $(OUT)/teacher-seed$(firstword $(SEEDS)) --skip-latency
	$(MAKE) -f $(RECIPE) differences

differences:
	$(RUN) -m benchmarks.differences $(OUT)/rows.jsonl --data $(OUT)/dev.json --baseline teacher --models $(ARMS)
