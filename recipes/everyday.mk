# Everyday text: a teacher that knows it, and a student of that teacher that still knows SQuAD.
#
#   make -f recipes/everyday.mk rows TRAIN=train-v2.0.json DEV=dev-v2.0.json
#   make -f recipes/everyday.mk student TRAIN=... DEV=... TEACHER=runs/teacher QUESTIONS=20000 PROCESSES=1
#
# Makes: in $(OUT)/models a teacher's adapter, a student and its file for phones, to be copied into models/; results of
#   them and of the phone's file before in rows.jsonl. `teacher` and `student` make only these, `models` all without rows.
# Takes: on two cores an estimated two hours for the teacher, and twelve for the student. On a GPU an estimated eight
#   minutes for `student`, with QUESTIONS=20000. A stopped run continues, on another machine too (docs/train.md).
# Needs: make install and SQuAD 2.0 as files. One GPU needs PROCESSES=1; DEVICE=cpu leaves it alone.

OUT ?= runs/everyday
TRAIN ?=
DEV ?=
# Questions that are added to SQuAD's: the data set, or a file of the same form.
EVERYDAY ?= everyday
STUDENT ?= models/student
# A teacher that is there already is not trained.
TEACHER ?=
ADAPTER ?= models/teacher-mpnet-adapter
# Folder of the adapter's encoder; it is downloaded by default.
ENCODER ?=
# Questions of SQuAD beside those of everyday text, and passes: of the teacher, then of the student.
TEACHER_QUESTIONS ?= 12000
TEACHER_PASSES ?= 1
QUESTIONS ?= 40000
# Without rounding, then with that of the int8 export.
PASSES ?= 1
QAT_PASSES ?= 0.33
BATCH_SIZE ?= 128
# At most so many questions of DEV are scored.
DEV_QUESTIONS ?= 11873
PROCESSES ?= 2
# gpu (where there is one) or cpu.
DEVICE ?= gpu

VARIABLES := OUT TRAIN DEV EVERYDAY STUDENT TEACHER ADAPTER ENCODER TEACHER_QUESTIONS TEACHER_PASSES QUESTIONS PASSES QAT_PASSES BATCH_SIZE DEV_QUESTIONS PROCESSES DEVICE
REQUIRED := TRAIN DEV
DATA := TRAIN DEV EVERYDAY
DECIDING := TRAIN DEV EVERYDAY STUDENT TEACHER ADAPTER ENCODER TEACHER_QUESTIONS TEACHER_PASSES QUESTIONS PASSES QAT_PASSES BATCH_SIZE DEV_QUESTIONS
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

ifeq ($(filter $(DEVICE),gpu cpu),)
$(error $(RECIPE): DEVICE must be gpu or cpu, got $(DEVICE))
endif
ifeq ($(DEVICE),cpu)
export CUDA_VISIBLE_DEVICES :=
endif

MADE := $(OUT)/models
# What is not given is made.
NEW_ENCODER := $(if $(ENCODER),,$(OUT)/mpnet-base)
NEW_TEACHER := $(if $(TEACHER),,$(OUT)/teacher)
TAUGHT_BY := $(or $(TEACHER),$(NEW_TEACHER))

.PHONY: teacher student models rows

teacher: $(MADE)/teacher-mpnet-adapter

student: $(MADE)/student

models: $(MADE)/student-tflite-int8 $(if $(TEACHER),,$(MADE)/teacher-mpnet-adapter)

# Each everyday question three times: as it is, as people type it, and of a noisy text.
$(OUT)/everyday-copies.json:
	$(STORE)
	$(RUN) -m distill.unlabelled --data $(EVERYDAY) --passages 0 --typed 1 --noisy 1 --out $@

$(OUT)/mix-teacher.json: | $(OUT)/everyday-copies.json
	$(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions $(TEACHER_QUESTIONS) --add $(OUT)/everyday-copies.json --out $@

$(OUT)/teacher: | $(OUT)/mix-teacher.json $(NEW_ENCODER)
	$(EACH) -m distill.finetune --model $(or $(ENCODER),$(NEW_ENCODER)) --adapter $(ADAPTER) --lora-rank 16 --max-length 384 --no-dropout --data $(OUT)/mix-teacher.json --batch-size 16 --learning-rate 3e-4 --epochs $(TEACHER_PASSES) --out $@ --resume

$(MADE)/teacher-mpnet-adapter: | $(OUT)/teacher

$(OUT)/mix.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions $(QUESTIONS) --add $(EVERYDAY) --out $@

# For each question of SQuAD one with another passage, for each everyday question two with texts of its kind: these,
# and those with a reworded passage, only the teacher labels. Both also come as people type them, and with noisy texts.
$(OUT)/more.json: | $(OUT)/mix.json
	$(RUN) -m distill.unlabelled --data $(OUT)/mix.json --passages 1 --same-kind 2 --reworded 1 --typed 1 --noisy 1 --model $(STUDENT) --out $@

FROM_TEACHER := --teacher $(TAUGHT_BY) --data $(OUT)/more.json --hidden-weight 0 --temperature 2 --batch-size $(BATCH_SIZE) --cache $(OUT)/cache

$(OUT)/further/student: | $(OUT)/more.json $(NEW_TEACHER)
	$(EACH) -m distill.logits --teacher $(TAUGHT_BY) --model $(STUDENT) --data $(OUT)/more.json --cache $(OUT)/cache
	$(EACH) -m distill.run --student $(STUDENT) $(FROM_TEACHER) --learning-rate 3e-4 --epochs $(PASSES) --out $(OUT)/further --resume

$(OUT)/student-qat: | $(OUT)/further/student
	$(RUN) -m compress.qat --model $(OUT)/further/student $(FROM_TEACHER) --quantize int8 --calibration-windows 0 --learning-rate 1e-4 --epochs $(QAT_PASSES) --out $@ --resume

$(MADE)/student: | $(OUT)/student-qat
	$(RUN) -m compress.cast --model $(OUT)/student-qat --weights int8-weights --out $@

$(OUT)/student-tflite-int8: | $(MADE)/student
	$(RUN) -m export.tflite --model $(MADE)/student --quantize int8 --out $@

# Thresholds and probabilities for both kinds of text alike. What the first student held out, its successors do, too.
$(MADE)/student-tflite-int8: | $(OUT)/student-tflite-int8
	$(RUN) -m export.tune --model $(OUT)/student-tflite-int8 --data $(STUDENT)/held_out.json.gz qa/data/everyday/everyday-held-out.json.gz --out $@

# The machine need not be idle.
ALL := $(TAUGHT_BY) models/student-tflite-int8 $(MADE)/student $(MADE)/student-tflite-int8
rows: models $(OUT)/dev.json | $(NEW_TEACHER)
	$(foreach data,everyday $(OUT)/dev.json,$(RUN) benchmarks/compare.py $(ALL) --data $(data) --baseline $(TAUGHT_BY) --rows $(OUT)/rows.jsonl --skip-latency && )true
