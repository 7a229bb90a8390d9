# The best small file of a model: several widths, precisions and forms of the embedding table, each as a real file with
# real scores.
#
#   make -f recipes/search.mk rows TRAIN=train-v2.0.json DEV=dev-v2.0.json
#   make -f recipes/search.mk rows TRAIN=... DEV=... MODEL=runs/demo/teacher WIDTHS="1 0.7" EMBEDDINGS=pq3
#   make -f recipes/search.mk times TRAIN=... DEV=...
#
# Makes: in $(OUT) the pruned bundles width-W, width-W-Q trained with the rounding of the precision Q, and their TFLite files
#   width-W-Q-E; results in rows.jsonl, their table, and report.html, which says which file to ship. `times` also times
#   the files.
# Takes: an estimated three hours on two cores for sixteen files of MiniLM-L6. A stopped run continues.
# Needs: make install; for `times` an idle machine. The best of many files has had luck on DEV, which chose it: score it
#   again on other questions.

OUT ?= runs/search
# SQuAD JSON files, or embedded, squad, squad_v2; at most so many of their questions are used, evenly chosen.
TRAIN ?= embedded
DEV ?= embedded
QUESTIONS ?= 4000
DEV_QUESTIONS ?= 1000
# PyTorch bundle to make smaller, and the bundle that teaches its pruned copies.
MODEL ?= models/teacher
TEACHER ?= $(MODEL)
# Shares of heads and neurons to keep; 1 is the model as it is.
WIDTHS ?= 1 0.8 0.6 0.4
PRECISIONS ?= int8 int4
# Forms of the embedding table; by default the one that MODEL has, if it is quantized already.
EMBEDDINGS ?= $(or $(OWN_FORM),int8 pq3)
OWN_FORM := $(shell sed -n 's/.*"word_table": "\(pq[0-9]*\)".*/\1/p' $(MODEL)/config.json 2>/dev/null)
# Passes over the questions after pruning, and with the rounding; 0 of the latter rounds without training.
EPOCHS ?= 1
QAT_EPOCHS ?= 0.5

VARIABLES := OUT TRAIN DEV QUESTIONS DEV_QUESTIONS MODEL TEACHER WIDTHS PRECISIONS EMBEDDINGS EPOCHS QAT_EPOCHS
DATA := TRAIN DEV
GIVEN_MODELS := MODEL TEACHER
DECIDING := TRAIN DEV QUESTIONS DEV_QUESTIONS MODEL TEACHER EPOCHS QAT_EPOCHS
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

ifneq ($(filter-out int8 int4,$(PRECISIONS)),)
$(error $(RECIPE): PRECISIONS: no $(firstword $(filter-out int8 int4,$(PRECISIONS))); give int8, int4 or both)
endif

ifneq ($(and $(OWN_FORM),$(filter-out $(OWN_FORM),$(EMBEDDINGS))),)
$(error $(RECIPE): EMBEDDINGS: the embedding table of $(MODEL) is $(OWN_FORM) already; leave EMBEDDINGS out)
endif

PRUNED := $(patsubst %,width-%,$(filter-out 1,$(WIDTHS)))
ROUNDED := $(foreach width,$(WIDTHS),$(PRECISIONS:%=width-$(width)-%))
FILES := $(foreach name,$(ROUNDED),$(EMBEDDINGS:%=$(name)-%))
TRAINED = --data $(OUT)/train.json --cache $(OUT)/cache --out $@ --resume
# Without training, no teacher runs.
QAT_TEACHER := $(if $(filter-out 0 0.0,$(QAT_EPOCHS)),--teacher $(TEACHER))
COMPARE := $(RUN) benchmarks/compare.py $(MODEL) $(FILES:%=$(OUT)/%) --data $(OUT)/dev.json --rows $(OUT)/rows.jsonl --baseline $(MODEL)
# $* is width-W-Q-E.
part = $(word $1,$(subst -, ,$*))

.PHONY: models rows times

models: $(FILES:%=$(OUT)/%)

$(PRUNED:%=$(OUT)/%): $(OUT)/%: | $(OUT)/train.json
	$(RUN) -m compress.prune --model $(MODEL) --keep-heads $(call part,2) --keep-ffn $(call part,2) --epochs $(EPOCHS) --teacher $(TEACHER) $(TRAINED)

$(ROUNDED:%=$(OUT)/%): $(OUT)/%: | $(OUT)/train.json $(PRUNED:%=$(OUT)/%)
	$(RUN) -m compress.qat --model $(if $(filter 1,$(call part,2)),$(MODEL),$(OUT)/width-$(call part,2)) --quantize $(call part,3) --epochs $(QAT_EPOCHS) $(QAT_TEACHER) $(TRAINED)

$(FILES:%=$(OUT)/%): $(OUT)/%: | $(ROUNDED:%=$(OUT)/%)
	$(RUN) -m export.tflite --model $(OUT)/width-$(call part,2)-$(call part,3) --quantize $(call part,3) --embeddings $(call part,4) --min-equal-spans 0.7 --out $@

rows: models $(OUT)/dev.json
	$(COMPARE) --skip-latency
	$(RUN) -m benchmarks.table $(OUT)/rows.jsonl --view accuracy

times: models $(OUT)/dev.json
	$(COMPARE) --quick --lengths unpadded --threads 1
