# Your domain: what labelled questions of your own are worth to the shipped student, at several numbers of questions.
#
#   make -f recipes/domain.mk rows TRAIN=mine-train.json DEV=mine-dev.json
#   make -f recipes/domain.mk rows TRAIN=... DEV=... COUNTS="50 200" EPOCHS=6 MODEL=runs/student
#
# Makes: in $(OUT) for each number N the bundle student-N (trained on N questions with the rounding of the export) and its TFLite
#   file student-N-tflite-int8; the file of the model before, student-0-tflite-int8; results in rows.jsonl and their table.
# Takes: about ten minutes on two cores for 100, 300 and 1,000 questions. A stopped run continues.
# Needs: make install, and SQuAD JSON files (pocketqa convert makes them) that share no passage.

OUT ?= runs/domain
TRAIN ?=
DEV ?=
COUNTS ?= 100 300 1000
# At most so many questions of DEV are scored, evenly chosen.
DEV_QUESTIONS ?= 500
MODEL ?= models/student
QUANTIZE ?= int8
EPOCHS ?= 4
LEARNING_RATE ?= 1e-4

VARIABLES := OUT TRAIN DEV COUNTS DEV_QUESTIONS MODEL QUANTIZE EPOCHS LEARNING_RATE
REQUIRED := TRAIN DEV
DATA := TRAIN DEV
DECIDING := TRAIN DEV DEV_QUESTIONS MODEL QUANTIZE EPOCHS LEARNING_RATE
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

RUN := .venv/bin/python
FILES := $(patsubst %,$(OUT)/student-%-tflite-$(QUANTIZE),0 $(COUNTS))

.PHONY: models rows table
.DELETE_ON_ERROR:
.SECONDARY:

models: $(FILES)

$(OUT)/dev.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(DEV) --questions $(DEV_QUESTIONS) --out $@

$(OUT)/train-%.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions $* --out $@

# The model is its own teacher by default. Its answers are what shall change, so the gold answers alone count (alpha 1).
$(OUT)/student-%: | $(OUT)/train-%.json
	$(RUN) -m compress.qat --model $(MODEL) --data $(OUT)/train-$*.json --quantize $(QUANTIZE) --epochs $(EPOCHS) --learning-rate $(LEARNING_RATE) --alpha 1 --hidden-weight 0 --cache $(OUT)/cache --out $(OUT)/student-$* --resume

$(OUT)/student-0-tflite-$(QUANTIZE):
	$(STORE)
	$(RUN) -m export.tflite --model $(MODEL) --quantize $(QUANTIZE) --out $@

$(OUT)/student-%-tflite-$(QUANTIZE): | $(OUT)/student-%
	$(RUN) -m export.tflite --model $(OUT)/student-$* --quantize $(QUANTIZE) --out $@

rows: models $(OUT)/dev.json
	$(RUN) benchmarks/compare.py $(FILES) --data $(OUT)/dev.json --rows $(OUT)/rows.jsonl --baseline $(firstword $(FILES)) --skip-latency
	$(MAKE) -f $(RECIPE) table

table:
	$(RUN) -m benchmarks.table $(OUT)/rows.jsonl --view accuracy
	$(RUN) -m benchmarks.differences $(OUT)/rows.jsonl --data $(OUT)/dev.json --baseline $(notdir $(firstword $(FILES))) --models $(notdir $(wordlist 2,99,$(FILES)))
