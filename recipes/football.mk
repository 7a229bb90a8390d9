# What SQuAD is worth to match reports, the kind of text of Preite 2020, 6.5: a SQuAD model, a model of match reports, and one of both.
#
#   make -f recipes/football.mk rows TRAIN=biquad-train.json DEV=biquad-dev.json
#   make -f recipes/football.mk as-is OUT=runs/football-as-is TRAIN=... DEV=... DEV_QUESTIONS=1000
#   make -f recipes/football.mk rows OUT=runs/football-student TRAIN=... DEV=... SQUAD=runs/student LAYERS=3 HEAD=linear SEEDS="0 1" EPOCHS=4
#
# Makes: in $(OUT) for each length of windows the bundles squad-N, football-N-seedS and squad-football-N-seedS, results in
#   rows.jsonl, their scores by category, and tables of differences.
# Takes: half an hour on two cores for 250 questions, eight windows each; `as-is`, which scores the SQuAD model alone, a quarter of an
#   hour for 1,000. A stopped run continues.
# Needs: make install, and SQuAD JSON files whose questions have a "category". Some of BiQuAD's have an empty answer;
#   `python -m qa.data.convert rows` makes them unanswerable.

OUT ?= runs/football
TRAIN ?=
DEV ?=
# At most so many questions of each file are used, evenly chosen.
TRAIN_QUESTIONS ?= 250
DEV_QUESTIONS ?= 240
# PyTorch bundle trained on SQuAD; the encoder, its layers (all when empty) and the head are those of football alone.
SQUAD ?= models/teacher
ENCODER ?= minilm-l6
LAYERS ?=
HEAD ?= 4l-gelu-skip
# Longest windows, in tokens.
LENGTHS ?= 384 512
SEEDS ?= 0
EPOCHS ?= 1
LEARNING_RATE ?= 1.2e-4
BATCH_SIZE ?= 16
# More flags of distill.finetune.
FINETUNE ?=

VARIABLES := OUT TRAIN DEV TRAIN_QUESTIONS DEV_QUESTIONS SQUAD ENCODER LAYERS HEAD LENGTHS SEEDS EPOCHS LEARNING_RATE BATCH_SIZE FINETUNE
REQUIRED := TRAIN DEV
DATA := TRAIN DEV
GIVEN_MODELS := SQUAD
DECIDING := TRAIN DEV TRAIN_QUESTIONS DEV_QUESTIONS SQUAD ENCODER LAYERS HEAD EPOCHS LEARNING_RATE BATCH_SIZE FINETUNE
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

LONGER := $(wordlist 2,$(words $(LENGTHS)),$(LENGTHS))
STARTS := squad football squad-football
AS_IS := $(LENGTHS:%=squad-%)
FOOTBALL := $(foreach seed,$(SEEDS),$(LENGTHS:%=football-%-seed$(seed)))
BOTH := $(FOOTBALL:%=squad-%)
MODELS := $(AS_IS) $(FOOTBALL) $(BOTH)
TRAINED = $(RUN) -m distill.finetune --data $(OUT)/train.json --max-length $(length) --seed $(lastword $(subst -seed, ,$*)) --epochs $(EPOCHS) --learning-rate $(LEARNING_RATE) --batch-size $(BATCH_SIZE) $(FINETUNE) --out $@ --resume
# $* ends with LENGTH-seedN.
length = $(firstword $(subst -seed, ,$*))

.PHONY: models as-is rows tables

models: $(MODELS:%=$(OUT)/%)

$(AS_IS:%=$(OUT)/%): $(OUT)/squad-%:
	$(STORE)
	$(RUN) recipes/with_windows.py $(SQUAD) $* $(OUT)/squad-$*

$(FOOTBALL:%=$(OUT)/%): $(OUT)/football-%: | $(OUT)/train.json
	$(TRAINED) --model $(ENCODER) --head $(HEAD) $(LAYERS:%=--layers %)

$(BOTH:%=$(OUT)/%): $(OUT)/squad-football-%: | $(OUT)/train.json
	$(TRAINED) --model $(SQUAD)

score = $(RUN) benchmarks/compare.py $(1:%=$(OUT)/%) --data $(OUT)/dev.json --rows $(OUT)/rows.jsonl --baseline $(OUT)/squad-$(firstword $(LENGTHS)) --skip-latency
# The SQuAD model alone, without training on reports.
as-is: $(AS_IS:%=$(OUT)/%) $(OUT)/dev.json
	$(call score,$(AS_IS))
	$(RUN) -m benchmarks.table $(OUT)/rows.jsonl --view accuracy

rows: models $(OUT)/dev.json
	$(call score,$(MODELS))
	$(MAKE) -f $(RECIPE) tables

# SQuAD first against football alone at each length; then longer windows against the shortest.
DIFFERENCES := $(RUN) -m benchmarks.differences $(OUT)/rows.jsonl --data $(OUT)/dev.json
tables:
	$(RUN) -m benchmarks.table $(OUT)/rows.jsonl --view categories
	$(foreach n,$(LENGTHS),$(DIFFERENCES) --baseline football-$(n) --models squad-football-$(n) && )true
	$(foreach n,$(LONGER),$(foreach start,$(STARTS),$(DIFFERENCES) --baseline $(start)-$(firstword $(LENGTHS)) --models $(start)-$(n) && ))true
