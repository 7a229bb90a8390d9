# BiDAF and QANet, taught SQuAD 1.1 by the teacher that comes with the project.
#
#   make -f recipes/standalone-models.mk models TRAIN=train-v1.1.json DEV=dev-v1.1.json
#   make -f recipes/standalone-models.mk rows TRAIN=... DEV=...
#
# Makes: `models` makes both students and their int8 exports in $(OUT); `rows` adds their results in rows.jsonl and the curves
#   of their losses in curves.svg.
# Takes: two hours on two cores for `models`. A stopped run continues.
# Needs: make install, SQuAD 1.1 as files, and an idle machine for `rows`.

OUT ?= runs/standalone
TRAIN ?=
DEV ?=
# Passes over TRAIN. A step of BiDAF takes a third of the time of QANet's.
BIDAF_EPOCHS ?= 4
QANET_EPOCHS ?= 1

TEACHER := models/teacher

VARIABLES := OUT TRAIN DEV BIDAF_EPOCHS QANET_EPOCHS
REQUIRED := TRAIN DEV
DATA := TRAIN DEV
DECIDING := TRAIN TEACHER BIDAF_EPOCHS QANET_EPOCHS
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

TEACH := $(RUN) -m distill.run --teacher $(TEACHER) --hidden-weight 0 --learning-rate 1e-3 --batch-size 32 --cache $(OUT)/cache --resume
MODELS := $(OUT)/bidaf/student $(OUT)/bidaf-onnx-int8 $(OUT)/qanet/student $(OUT)/qanet-onnx-int8 $(OUT)/qanet-tflite-int8

.PHONY: models rows

models: $(MODELS)

# A prerequisite after "|" must exist, whatever its time: a finished bundle is never made again.
$(OUT)/bidaf/student:
	$(STORE)
	$(TEACH) --student-encoder bidaf --data $(TRAIN) --eval-data $(DEV) --epochs $(BIDAF_EPOCHS) --out $(OUT)/bidaf

$(OUT)/qanet/student:
	$(STORE)
	$(TEACH) --student-encoder qanet --data $(TRAIN) --eval-data $(DEV) --epochs $(QANET_EPOCHS) --out $(OUT)/qanet

$(OUT)/%-onnx-int8: | $(OUT)/%/student
	$(RUN) -m export.onnx --model $(OUT)/$*/student --quantize int8 --out $(OUT)/$*-onnx-int8 --min-equal-spans 0.7

# BiDAF's LSTMs can be exported to ONNX only.
$(OUT)/%-tflite-int8: | $(OUT)/%/student
	$(RUN) -m export.tflite --model $(OUT)/$*/student --quantize int8 --out $(OUT)/$*-tflite-int8 --min-equal-spans 0.7

rows: models
	$(RUN) benchmarks/compare.py $(TEACHER) $(MODELS) --data $(DEV) --baseline $(TEACHER) --rows $(OUT)/rows.jsonl --lengths unpadded --threads 1
	$(RUN) -m benchmarks.curves $(OUT)/bidaf $(OUT)/qanet --plot $(OUT)/curves.svg
