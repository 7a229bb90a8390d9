# Heads on one encoder: train each head alike, export it, and tell which differences exceed noise.
#
#   make -f recipes/heads.mk rows
#   make -f recipes/heads.mk rows HEADS="linear pointer bidaf" SEEDS="0 1" TRAIN=train-v1.1.json DEV=dev-v1.1.json EPOCHS=0.09
#
# Makes: in $(OUT) a bundle and four exports of each head, results in rows.jsonl, and a table of differences.
# Takes: a quarter of an hour a head on two cores, for 8,000 windows of SQuAD. A stopped run continues.
# Needs: make install, and an idle machine while `rows` measures times.

OUT ?= runs/heads
HEADS ?= linear 2l-tanh 2l-gelu 2l-relu-skip 4l-relu 4l-gelu-skip pointer qermit-cls qermit-maxpool qermit-cnn qermit-cnn-multi qermit-cnn-multi-highway qermit-concat
# Head that the others are compared with.
BASELINE ?= linear
# Each seed trains a model of every head in REPEAT; the first seed trains all heads, and its models are exported.
SEEDS ?= 0
REPEAT ?= $(HEADS)
# minilm-l6, a hub name or a folder, and how many of its layers are kept; all when empty.
ENCODER ?= minilm-l6
LAYERS ?=
TRAIN ?= embedded
DEV ?= embedded
# At most so many questions of DEV are scored.
QUESTIONS ?= 2000
EPOCHS ?= 1
LEARNING_RATE ?= 2.5e-4
# Standalone models (bidaf, qanet) start from fresh weights and need a higher rate.
STANDALONE_RATE ?= 1e-3
BATCH_SIZE ?= 16
# More flags of distill.finetune, such as --freeze-encoder.
FINETUNE ?=
EXPORTS ?= onnx-fp32 onnx-int8 tflite-fp32 tflite-int8

VARIABLES := OUT HEADS BASELINE SEEDS REPEAT ENCODER LAYERS TRAIN DEV QUESTIONS EPOCHS LEARNING_RATE STANDALONE_RATE BATCH_SIZE FINETUNE EXPORTS
DATA := TRAIN DEV
DECIDING := TRAIN DEV QUESTIONS ENCODER LAYERS EPOCHS LEARNING_RATE STANDALONE_RATE BATCH_SIZE FINETUNE
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

ifeq ($(filter $(BASELINE),$(HEADS)),)
$(error $(RECIPE): BASELINE=$(BASELINE) is none of HEADS; give one of $(HEADS))
endif

ifeq ($(BASELINE),bidaf)
ifneq ($(filter tflite-%,$(EXPORTS)),)
$(error $(RECIPE): BASELINE=bidaf has no TFLite export; give another, or EXPORTS without tflite-fp32 and tflite-int8)
endif
endif

FIRST := $(firstword $(SEEDS))
MODELS := $(HEADS:%=%-seed$(FIRST)) $(foreach seed,$(wordlist 2,$(words $(SEEDS)),$(SEEDS)),$(REPEAT:%=%-seed$(seed)))
STANDALONE := bidaf qanet
# BiDAF's LSTMs can be exported to ONNX only.
exports = $(addsuffix -seed$(FIRST)-$1,$(if $(findstring tflite,$1),$(filter-out bidaf,$(HEADS)),$(HEADS)))
COMPARE := $(RUN) benchmarks/compare.py --rows $(OUT)/rows.jsonl --data $(OUT)/dev.json

.PHONY: models rows differences

models: $(foreach name,$(MODELS) $(foreach export,$(EXPORTS),$(call exports,$(export))),$(OUT)/$(name))

# $* is HEAD-seedN.
head = $(firstword $(subst -seed, ,$*))
$(MODELS:%=$(OUT)/%): $(OUT)/%:
	$(STORE)
	$(RUN) -m distill.finetune --model $(ENCODER) --head $(head) --seed $(lastword $(subst -seed, ,$*)) $(if $(filter $(head),$(STANDALONE)),--learning-rate $(STANDALONE_RATE),--learning-rate $(LEARNING_RATE) $(LAYERS:%=--layers %)) --data $(TRAIN) --epochs $(EPOCHS) --batch-size $(BATCH_SIZE) $(FINETUNE) --out $(OUT)/$* --resume

define export
$(OUT)/%-$1-$2: | $(OUT)/%
	$(RUN) -m export.$1 --model $(OUT)/$$* --quantize $2$(if $(filter int8,$2), --min-equal-spans 0.7)
endef
FORMS := onnx-fp32 onnx-int8 tflite-fp32 tflite-fp16 tflite-int8
$(foreach form,$(FORMS),$(eval $(call export,$(firstword $(subst -, ,$(form))),$(lastword $(subst -, ,$(form))))))
ifneq ($(filter-out $(FORMS),$(EXPORTS)),)
$(error $(RECIPE): EXPORTS: no $(firstword $(filter-out $(FORMS),$(EXPORTS))); give some of $(FORMS))
endif

# Exports of one format are measured in one run, in which the models take turns.
rows: models $(OUT)/dev.json
	$(COMPARE) $(MODELS:%=$(OUT)/%) --baseline $(OUT)/$(BASELINE)-seed$(FIRST) --skip-latency
	$(foreach export,$(EXPORTS),$(COMPARE) $(addprefix $(OUT)/,$(call exports,$(export))) --baseline $(OUT)/$(BASELINE)-seed$(FIRST)-$(export) --quick --lengths unpadded --threads 1 && )true
	$(MAKE) -f $(RECIPE) differences

differences:
	$(RUN) -m benchmarks.differences $(OUT)/rows.jsonl --data $(OUT)/dev.json --baseline $(BASELINE) --models $(HEADS)
