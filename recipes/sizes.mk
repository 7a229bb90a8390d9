# Parameters and seconds of BERT-base and DistilBERT (Preite 2020, Table 5.3), with a one- and a four-layer head, beside the
# shipped student, in PyTorch and exported.
#
#   make -f recipes/sizes.mk rows
#   make -f recipes/sizes.mk rows ENCODERS=bert-base-uncased HEADS=linear EXPORTS=tflite-int8
#
# Makes: in $(OUT) a model with random weights of each encoder and head, its exports, and the student's; results in rows.jsonl.
#   Random weights say all about size and time, and nothing about answers.
# Takes: on two cores with AMX 14 minutes for `make -j2 -f recipes/sizes.mk models`, then 23 for `rows`. A stopped run continues,
#   but finished comparisons are timed again.
# Needs: make install, and an idle machine while `rows` measures times.

OUT ?= runs/sizes
ENCODERS ?= bert-base-uncased distilbert-base-uncased
HEADS ?= linear 4l-gelu-skip
EXPORTS ?= onnx-fp32 onnx-int8 tflite-fp32 tflite-int8
THREADS ?= 1 2

# Enough to train a step and to time.
TRAIN := embedded
DEV := embedded
QUESTIONS := 20

STUDENT := models/student
VARIABLES := OUT ENCODERS HEADS EXPORTS THREADS
DECIDING := STUDENT
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

RANDOM := $(foreach encoder,$(ENCODERS),$(HEADS:%=$(OUT)/$(encoder)-%))
MODELS := $(RANDOM) $(STUDENT)
made = $(foreach model,$(MODELS),$(OUT)/$(notdir $(model))-$1)

FORMS := onnx-fp32 onnx-fp16 onnx-int8 tflite-fp32 tflite-fp16 tflite-int8
ifneq ($(filter-out $(FORMS),$(EXPORTS)),)
$(error $(RECIPE): EXPORTS: no $(firstword $(filter-out $(FORMS),$(EXPORTS))); give some of $(FORMS))
endif

.PHONY: models rows

models: $(RANDOM) $(foreach export,$(EXPORTS),$(call made,$(export)))

$(ENCODERS:%=$(OUT)/%): $(OUT)/%:
	$(STORE)
	$(RUN) recipes/random_encoder.py $* $@

# One step of training puts the head on the encoder.
define random
$(OUT)/$1-$2: | $(OUT)/$1 $(OUT)/train.json
	$(RUN) -m distill.finetune --model $(OUT)/$1 --head $2 --max-length 384 --data $(OUT)/train.json --epochs 0.01 --batch-size 1 --out $$@ --resume
endef
$(foreach encoder,$(ENCODERS),$(foreach head,$(HEADS),$(eval $(call random,$(encoder),$(head)))))

# Random logits are near to each other, so rounding moves their best spans.
define export
$(OUT)/$(notdir $1)-$2-$3: | $(filter $(RANDOM),$1)
	$(RUN) -m export.$2 --model $1 --quantize $3 --min-equal-spans 0 --out $$@
endef
$(foreach model,$(MODELS),$(foreach format,onnx tflite,$(foreach precision,fp32 fp16 int8,$(eval $(call export,$(model),$(format),$(precision))))))

# A run a format, in which the models take turns.
compare = $(RUN) benchmarks/compare.py $1 --baseline $(firstword $1) --data $(OUT)/dev.json --rows $(OUT)/rows.jsonl --quick --lengths unpadded padded --threads $(THREADS)
rows: models $(OUT)/dev.json
	$(call compare,$(MODELS))
	$(foreach export,$(EXPORTS),$(call compare,$(call made,$(export))) && )true
