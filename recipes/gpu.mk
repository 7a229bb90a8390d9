# The models on a GPU: scores, times, memory and the speed of training, in fp32, fp16 and bf16.
#
#   make -j3 -f recipes/gpu.mk rows DEV=dev-v2.0.json TRAIN=train-v2.0.json
#   make -j3 -f recipes/gpu.mk rows DEV=... TRAIN=... LARGE=runs/teacher-large
#
# Makes: in $(OUT) results in rows.jsonl, and their tables.
# Takes: an estimated eight minutes on a server's GPU with -j3, which scores three models at once. A stopped run continues,
#   but finished times are measured again.
# Needs: a GPU that PyTorch sees; make install, or recipes/bare_machine.sh on a machine without a network. There,
#   docs/benchmarking.md says what must travel. TARGET=cpu runs the same without a GPU: scores and times in
#   fp32, training in bf16.

OUT ?= runs/gpu
DEV ?=
# Questions that training is timed on.
TRAIN ?= embedded
MODELS ?= models/student models/teacher
# The large teacher, with which the models are compared; without it with the last of MODELS.
LARGE ?=
TARGET ?= cuda
# Times of all models in turns. Without --quick, 60 seconds at each setting of each model.
TIMES ?= --quick --lengths unpadded --batch 1 32
TRAINING ?= --cases transformers fine-tune distil distil-cached --batch-size 32 --steps 30 --rounds 2

VARIABLES := OUT DEV TRAIN MODELS LARGE TARGET TIMES TRAINING
REQUIRED := DEV
DATA := DEV TRAIN
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

ALL := $(LARGE) $(MODELS)
COMPARE := $(RUN) benchmarks/compare.py
ON := --data $(DEV) --target $(TARGET) --rows $(OUT)/rows.jsonl

.PHONY: rows scores times training $(ALL:%=scores-of-%)

rows: training

scores: $(ALL:%=scores-of-%)

$(ALL:%=scores-of-%): scores-of-%:
	$(COMPARE) $* $(ON) --skip-latency

# The scores are reused; retained EM and F1 are added.
times: scores
	$(COMPARE) $(ALL) $(ON) --baseline $(or $(LARGE),$(lastword $(MODELS))) $(TIMES)

# Last: nothing else may use the GPU meanwhile.
training: times
	$(RUN) recipes/training_speed.py --teacher $(lastword $(MODELS)) --data $(TRAIN) --rows $(OUT)/rows.jsonl $(TRAINING)
