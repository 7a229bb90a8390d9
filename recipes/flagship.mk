# The released models: from SQuAD 2.0 and everyday text to two teachers, a student, its file for phones, and results.
#
#   make -f recipes/flagship.mk models TRAIN=train-v2.0.json DEV=dev-v2.0.json
#   make -f recipes/flagship.mk large-teacher TRAIN=... DEV=...
#   make -f recipes/flagship.mk rows TRAIN=... DEV=... DEV1=dev-v1.1.json MORE="other.json another.json"
#   make -f recipes/flagship.mk arm TRAIN=... DEV=...
#   make -f recipes/flagship.mk choice TRAIN=... DEV=...
#   make -f recipes/flagship.mk further TRAIN=... DEV=...
#   make -f recipes/flagship.mk wide TRAIN=... DEV=...
#
# Makes: `models` makes the folder $(OUT)/models, to be copied into models/; `rows` exports its models in other
#   precisions, one of them int4, and measures all on SQuAD 2.0 and on everyday text (`scores`, then `times`); `arm` runs
#   the files on emulated phone CPUs; `large-teacher` trains MPNet, which `models` includes; `choice` scores what the
#   student was chosen from; `further` trains teacher and student on and scores them;
#   `wide` trains the small teacher the same way for an int4 file.
# Takes: six and a half hours on two cores for the first student, in bf16. What needs the large teacher takes an
#   estimated fifteen hours there. A stopped run continues. For models/, teacher-mpnet and what it taught were
#   trained on a GPU by a script that called the same training loops (docs/results/flagship.md); this recipe has not run
#   on one. One GPU needs PROCESSES=1.
#   To measure the released models, copy models/ to $(OUT)/models first. Then `rows` and `arm` train only the int4 file, for
#   a tenth of a pass; the large teacher is made of its adapter.
# Needs: make install and SQuAD 2.0 as files; for `times` make toolchains and an idle machine; for `arm`
#   benchmarks/measure/arm64_python.sh.

OUT ?= runs/flagship
TRAIN ?=
DEV ?=
# More data files that `rows` scores the models on.
DEV1 ?=
MORE ?=
# Questions whose answers are compared on an emulated CPU: about 40 minutes of one core for each file.
ARM_QUESTIONS ?= 1000
# A process for each core or GPU. Except for dropout the models do not depend on their number.
PROCESSES ?= 2

VARIABLES := OUT TRAIN DEV DEV1 MORE ARM_QUESTIONS PROCESSES
REQUIRED := TRAIN DEV
DATA := TRAIN DEV DEV1 MORE
DECIDING := TRAIN
include $(dir $(lastword $(MAKEFILE_LIST)))checks.mk

EACH = OMP_NUM_THREADS=1 $(RUN) -m torch.distributed.run --standalone --nproc-per-node $(PROCESSES)

RELEASED := $(OUT)/models

.PHONY: models rows scores times arm choice further wide large-teacher

# A bundle is a target by its folder: a folder appears when its bundle is finished, and make deletes no folder after an
# interruption. Every manifest names its parents by hash; the list is for readers.
models: $(RELEASED)/teacher $(RELEASED)/student $(RELEASED)/student-tflite-int8 $(RELEASED)/teacher-everyday-adapter
	cd $(RELEASED) && sha256sum */* > SHA256SUMS

# A prerequisite after "|" must exist, whatever its time: a finished bundle is never made again.
$(OUT)/teacher:
	$(STORE)
	$(EACH) -m distill.finetune --data $(TRAIN) --epochs 1.25 --out $(OUT)/teacher --resume

$(OUT)/teacher-further: | $(OUT)/teacher
	$(EACH) -m distill.finetune --model $(OUT)/teacher --data $(TRAIN) --epochs 1 --batch-size 32 --learning-rate 1e-4 --seed 1 --out $(OUT)/teacher-further --resume

$(OUT)/teacher-third: | $(OUT)/teacher-further
	$(EACH) -m distill.finetune --model $(OUT)/teacher-further --data $(TRAIN) --epochs 1.5 --batch-size 32 --learning-rate 1e-4 --seed 2 --out $(OUT)/teacher-third --resume

# The mean of the three scores a little higher on held-out questions than the last.
$(OUT)/teacher-mean: | $(OUT)/teacher-third
	$(RUN) -m distill.average --models $(OUT)/teacher-third $(OUT)/teacher-further $(OUT)/teacher --out $(OUT)/teacher-mean

# The small teacher of version 0.1.0. Cast first: the student learns from the same teacher that was released.
$(OUT)/first-teacher: | $(OUT)/teacher-mean
	$(RUN) -m compress.cast --model $(OUT)/teacher-mean --weights int8-weights --out $(OUT)/first-teacher

$(OUT)/student: | $(OUT)/first-teacher
	$(EACH) -m distill.run --teacher $(OUT)/first-teacher --data $(TRAIN) --learning-rate 2e-4 --batch-size 32 --epochs 1.5 --out $(OUT) --resume

$(OUT)/student-pq3: | $(OUT)/student
	$(RUN) -m compress.embeddings --model $(OUT)/student --embeddings pq3 --data $(TRAIN)

$(OUT)/student-pq3-qat-int8: | $(OUT)/student-pq3
	$(RUN) -m compress.qat --model $(OUT)/student-pq3 --teacher $(OUT)/first-teacher --quantize int8 --data $(TRAIN) --eval-data $(DEV) --learning-rate 1e-4 --batch-size 32 --epochs 1.5 --resume

# The student of the first teacher, in the form of version 0.1.0.
$(OUT)/first-student: | $(OUT)/student-pq3-qat-int8
	$(RUN) -m compress.cast --model $(OUT)/student-pq3-qat-int8 --weights int8-weights --out $(OUT)/first-student

# The small teacher of today: the first one, taught by the large one.
$(OUT)/retaught/student: | $(OUT)/first-teacher $(OUT)/teacher-mpnet
	$(EACH) -m distill.run --student $(OUT)/first-teacher --teacher $(OUT)/teacher-mpnet --data $(TRAIN) --hidden-weight 0 --temperature 2 --batch-size 128 --learning-rate 3e-4 --epochs 2 --cache $(OUT)/cache --out $(OUT)/retaught --resume

$(RELEASED)/teacher: | $(OUT)/retaught/student
	$(RUN) -m compress.cast --model $(OUT)/retaught/student --weights int8-weights --eval-data $(DEV) --out $(RELEASED)/teacher

# The student first learns from two fifths of the questions, with int8 QAT. A large teacher's logits are computed once
# and lie in a cache; training loads no teacher.
$(OUT)/part.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions 52000 --out $(OUT)/part.json

$(OUT)/student-further: | $(OUT)/part.json $(OUT)/teacher-mpnet $(OUT)/first-student
	$(EACH) -m distill.logits --teacher $(OUT)/teacher-mpnet --model $(OUT)/first-student --data $(OUT)/part.json --cache $(OUT)/cache
	$(RUN) -m compress.qat --model $(OUT)/first-student --teacher $(OUT)/teacher-mpnet --data $(OUT)/part.json --quantize int8 --hidden-weight 0 --temperature 2 --learning-rate 1.5e-4 --batch-size 32 --epochs 1.5 --cache $(OUT)/cache --out $(OUT)/student-further --resume

$(OUT)/second-student: | $(OUT)/student-further
	$(RUN) -m compress.cast --model $(OUT)/student-further --weights int8-weights --out $(OUT)/second-student

# Then it learns from all questions, and from twice as many that only the teacher labels: 376,000 windows.
$(OUT)/more.json: | $(OUT)/second-student
	$(RUN) -m distill.unlabelled --data $(TRAIN) --passages 1 --reworded 1 --model $(OUT)/second-student --out $(OUT)/more.json

FROM_LARGE := --teacher $(OUT)/teacher-mpnet --data $(OUT)/more.json --hidden-weight 0 --temperature 2 --batch-size 128 --cache $(OUT)/cache

$(OUT)/third/student: | $(OUT)/more.json $(OUT)/teacher-mpnet
	$(EACH) -m distill.logits --teacher $(OUT)/teacher-mpnet --model $(OUT)/second-student --data $(OUT)/more.json --cache $(OUT)/cache
	$(EACH) -m distill.run --student $(OUT)/second-student $(FROM_LARGE) --learning-rate 4e-4 --epochs 1 --out $(OUT)/third --resume

$(OUT)/fourth/student: | $(OUT)/third/student
	$(EACH) -m distill.run --student $(OUT)/third/student $(FROM_LARGE) --learning-rate 3e-4 --epochs 1.9 --out $(OUT)/fourth --resume

$(OUT)/student-last: | $(OUT)/fourth/student
	$(RUN) -m compress.qat --model $(OUT)/fourth/student $(FROM_LARGE) --quantize int8 --calibration-windows 0 --learning-rate 1e-4 --epochs 0.33 --out $(OUT)/student-last --resume

# The student of version 0.2.0, which knows nothing but SQuAD.
$(OUT)/student-squad: | $(OUT)/student-last
	$(RUN) -m compress.cast --model $(OUT)/student-last --weights int8-weights --out $@

# It learns everyday text from gold answers, each question also as people type it, beside questions of SQuAD. The mean with
# what it was forgets little of SQuAD.
$(OUT)/typed.json:
	$(STORE)
	$(RUN) -m distill.unlabelled --data everyday --passages 0 --typed 1 --out $@

$(OUT)/mix-typed.json: | $(OUT)/typed.json
	$(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions 20000 --add $(OUT)/typed.json --out $@

$(OUT)/student-gold: | $(OUT)/mix-typed.json $(OUT)/student-squad
	$(RUN) -m compress.qat --model $(OUT)/student-squad --data $(OUT)/mix-typed.json --alpha 1 --hidden-weight 0 --quantize int8 --calibration-windows 0 --learning-rate 2e-4 --batch-size 32 --epochs 1 --out $@ --resume

$(OUT)/student-half: | $(OUT)/student-gold
	$(RUN) -m distill.average --models $(OUT)/student-squad $(OUT)/student-gold --out $@

# Then from a large teacher that knows both kinds of text.
$(OUT)/mix.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions 8000 --add everyday --out $@

LOGITS := $(EACH) -m distill.logits --data $(OUT)/mix.json --cache $(OUT)/cache
TAUGHT := $(RUN) -m compress.qat --data $(OUT)/mix.json --cache $(OUT)/cache --hidden-weight 0 --temperature 2 --calibration-windows 0 --learning-rate 2e-4 --batch-size 32

$(OUT)/student-taught: | $(OUT)/mix.json $(OUT)/teacher-everyday $(OUT)/student-half
	$(LOGITS) --model $(OUT)/student-half --teacher $(OUT)/teacher-everyday
	$(TAUGHT) --model $(OUT)/student-half --teacher $(OUT)/teacher-everyday --quantize int8 --epochs 1 --out $@ --resume

# The mean of all three has learnt most of one kind of text, and forgotten little of the other.
$(OUT)/student-mean: | $(OUT)/student-squad $(OUT)/student-gold $(OUT)/student-taught
	$(RUN) -m distill.average --models $(OUT)/student-squad $(OUT)/student-gold $(OUT)/student-taught --out $@

$(OUT)/untuned/student: | $(OUT)/student-mean
	$(RUN) -m compress.cast --model $(OUT)/student-mean --weights int8-weights --out $@

# Thresholds and probabilities for both kinds of text alike. Exports in floating point keep the student's.
EVERYDAY_HELD_OUT := qa/data/everyday/everyday-held-out.json.gz
HELD_OUT := $(RELEASED)/student/held_out.json.gz $(EVERYDAY_HELD_OUT)
TUNE := $(RUN) -m export.tune --data
$(RELEASED)/student: | $(OUT)/untuned/student
	$(TUNE) $(OUT)/untuned/student/held_out.json.gz $(EVERYDAY_HELD_OUT) --model $(OUT)/untuned/student --eval-data everyday --out $@

$(OUT)/untuned/student-tflite-int8: | $(RELEASED)/student
	$(RUN) -m export.tflite --model $(RELEASED)/student --quantize int8 --out $@

$(RELEASED)/student-tflite-int8: | $(OUT)/untuned/student-tflite-int8
	$(TUNE) $(HELD_OUT) --model $(OUT)/untuned/student-tflite-int8 --eval-data $(DEV) --out $@

# The ONNX export is not in models/, which stays under 60 MB.
$(OUT)/untuned/student-onnx-int8: | $(RELEASED)/student
	$(RUN) -m export.onnx --model $(RELEASED)/student --quantize int8 --out $@

$(OUT)/student-onnx-int8: | $(OUT)/untuned/student-onnx-int8
	$(TUNE) $(HELD_OUT) --model $(OUT)/untuned/student-onnx-int8 --eval-data $(DEV) --out $@

# Teachers of 111 million parameters. The second one goes on from the first, which knows SQuAD only, with questions of both
# kinds of text. What is released of it is an adapter, which makes it again without training.
large-teacher: $(RELEASED)/teacher-everyday-adapter

TRAIN_LARGE := $(EACH) -m distill.finetune --model $(OUT)/mpnet-base --lora-rank 16

$(OUT)/teacher-mpnet: | $(OUT)/mpnet-base
	$(TRAIN_LARGE) --data $(TRAIN) --max-length 256 --batch-size 64 --learning-rate 8e-4 --epochs 1.6 --out $@ --resume

$(OUT)/mix-teacher.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data everyday --split train --questions 5000 --out $(OUT)/everyday.json
	$(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions 1500 --add $(OUT)/everyday.json --out $@

BOTH_KINDS := --max-length 384 --no-dropout --batch-size 16 --learning-rate 3e-4 --epochs 1

ifneq ($(wildcard $(RELEASED)/teacher-everyday-adapter),)
$(OUT)/teacher-everyday: | $(OUT)/mpnet-base
	$(RUN) -m distill.adapter --adapter $(RELEASED)/teacher-everyday-adapter --encoder $(OUT)/mpnet-base --out $@
else
$(OUT)/teacher-everyday: | $(OUT)/mix-teacher.json $(OUT)/mpnet-base $(OUT)/teacher-mpnet
	$(TRAIN_LARGE) --adapter $(OUT)/teacher-mpnet --data $(OUT)/mix-teacher.json $(BOTH_KINDS) --out $@ --resume
endif

$(RELEASED)/teacher-everyday-adapter: | $(OUT)/teacher-everyday
	rm -rf $@.part && mkdir -p $@.part
	cd $(OUT)/teacher-everyday && cp $$(ls | grep -v model.safetensors) $(abspath $@.part)
	mv $@.part $@

# The student with a smaller embedding table and Linears in int4; its teacher is the student itself.
$(OUT)/small: | $(RELEASED)/student
	$(RUN) -m compress.embeddings --model $(RELEASED)/student --embeddings pq4 --data $(TRAIN) --out $(OUT)/small

$(OUT)/small-qat-int4: | $(OUT)/small
	$(RUN) -m compress.qat --model $(OUT)/small --teacher $(RELEASED)/student --quantize int4 --data $(TRAIN) --learning-rate 1e-4 --batch-size 32 --temperature 2 --epochs 0.1 --out $(OUT)/small-qat-int4 --resume

# The released models in other precisions.
FORMS := teacher-tflite-fp32 teacher-tflite-int8 student-tflite-fp32 student-tflite-fp16 student-tflite-int4 student-onnx-fp32
$(OUT)/untuned/student-tflite-int4: | $(OUT)/small-qat-int4
	$(RUN) -m export.tflite --model $(OUT)/small-qat-int4 --quantize int4 --out $@

$(OUT)/forms/student-tflite-int4: | $(OUT)/untuned/student-tflite-int4
	$(TUNE) $(HELD_OUT) --model $(OUT)/untuned/student-tflite-int4 --out $@

$(OUT)/forms/%-onnx-fp32: | $(RELEASED)/%
	$(RUN) -m export.onnx --model $(RELEASED)/$* --out $@

$(OUT)/forms/%-tflite-fp32: | $(RELEASED)/%
	$(RUN) -m export.tflite --model $(RELEASED)/$* --out $@

$(OUT)/forms/%-tflite-fp16: | $(RELEASED)/%
	$(RUN) -m export.tflite --model $(RELEASED)/$* --quantize fp16 --out $@

$(OUT)/forms/%-tflite-int8: | $(RELEASED)/%
	$(RUN) -m export.tflite --model $(RELEASED)/$* --quantize int8 --out $@

FILES := $(OUT)/student-onnx-int8 $(RELEASED)/student-tflite-int8
ALL := $(OUT)/teacher-everyday $(RELEASED)/teacher $(RELEASED)/student $(FILES) $(FORMS:%=$(OUT)/forms/%)
BESIDE_LARGE := --baseline $(OUT)/teacher-everyday
COMPARE := $(RUN) benchmarks/compare.py
ROWS := --rows $(OUT)/rows.jsonl

rows: scores times

# On other data, only the files to ship. The machine need not be idle.
scores: $(ALL)
	$(foreach data,$(DEV) everyday,$(COMPARE) $(ALL) $(BESIDE_LARGE) --data $(data) $(ROWS) --skip-latency && )true
	$(foreach data,$(DEV1) $(MORE),$(COMPARE) $(FILES) --data $(data) $(ROWS) --skip-latency && )true

# What the student was chosen from, on held-out questions of both kinds of text.
$(OUT)/choice/%-tflite-int8: | $(OUT)/%
	$(RUN) -m export.tflite --model $(OUT)/$* --quantize int8 --out $@

CHOICE := --rows $(OUT)/choice/rows.jsonl
on_held_out = $(foreach data,$(HELD_OUT),$(COMPARE) $(1) --data $(data) $(CHOICE) --skip-latency && )$(RUN) -m benchmarks.table $(OUT)/choice/rows.jsonl --view accuracy

choice: $(patsubst %,$(OUT)/choice/%-tflite-int8,student-squad student-gold student-half student-taught student-mean) | $(RELEASED)/student
	$(call on_held_out,$^)

# Not released: the teacher after another pass, on all everyday questions; two more passes of the student against it, in
# which gold answers weigh more; and means with it.
$(OUT)/mix-further.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions 2000 --add everyday --out $@

$(OUT)/teacher-everyday-further: | $(OUT)/mix-further.json $(RELEASED)/teacher-everyday-adapter $(OUT)/mpnet-base
	$(TRAIN_LARGE) --adapter $(RELEASED)/teacher-everyday-adapter --data $(OUT)/mix-further.json $(BOTH_KINDS) --out $@ --resume

$(OUT)/student-taught-further: | $(OUT)/mix.json $(OUT)/teacher-everyday-further $(OUT)/student-mean
	$(LOGITS) --model $(OUT)/student-mean --teacher $(OUT)/teacher-everyday-further
	$(TAUGHT) --model $(OUT)/student-mean --teacher $(OUT)/teacher-everyday-further --quantize int8 --alpha 0.3 --epochs 2 --out $@ --resume

$(OUT)/student-mean-further: | $(OUT)/student-taught-further
	$(RUN) -m distill.average --models $(OUT)/student-mean $(OUT)/student-taught-further --out $@

$(OUT)/student-mean-of-four: | $(OUT)/student-squad $(OUT)/student-gold $(OUT)/student-taught $(OUT)/student-taught-further
	$(RUN) -m distill.average --models $(OUT)/student-squad $(OUT)/student-gold $(OUT)/student-taught $(OUT)/student-taught-further --out $@

further: $(patsubst %,$(OUT)/choice/%-tflite-int8,student-taught-further student-mean-further student-mean-of-four) | $(RELEASED)/student $(OUT)/teacher-everyday
	$(call on_held_out,$^)
	$(COMPARE) $(OUT)/teacher-everyday $(OUT)/teacher-everyday-further --data $(EVERYDAY_HELD_OUT) $(CHOICE) --skip-latency
	$(RUN) -m benchmarks.table $(OUT)/choice/rows.jsonl --view accuracy

# Not released: the small teacher, which has all heads and neurons of MiniLM-L6, trained the same way for a file in int4.
$(OUT)/wide: | $(RELEASED)/teacher
	$(RUN) -m compress.embeddings --model $(RELEASED)/teacher --embeddings pq4 --data $(TRAIN) --out $@

$(OUT)/student-wide: | $(OUT)/mix.json $(OUT)/teacher-everyday-further $(OUT)/wide
	$(LOGITS) --model $(OUT)/wide --teacher $(OUT)/teacher-everyday-further
	$(TAUGHT) --model $(OUT)/wide --teacher $(OUT)/teacher-everyday-further --quantize int4 --alpha 0.3 --epochs 2 --out $@ --resume

$(OUT)/choice/student-wide-tflite-int4: | $(OUT)/student-wide
	$(RUN) -m export.tflite --model $(OUT)/student-wide --quantize int4 --out $@

wide: $(OUT)/choice/student-wide-tflite-int4 | $(RELEASED)/student
	$(call on_held_out,$^)

# All in one run, in which the models take turns; then the files beside those of other toolchains: unpadded, and more
# briefly at every length.
BESIDE_TOOLS := $(COMPARE) $(FILES) --toolchains $(RELEASED)/student --rows $(OUT)/toolchains/rows.jsonl

times: scores
	$(COMPARE) $(ALL) $(BESIDE_LARGE) --data $(DEV) $(ROWS) --lengths unpadded --threads 1
	$(BESIDE_TOOLS) --lengths unpadded --threads 1 2
	$(BESIDE_TOOLS) --lengths 128 192 256 384 --threads 1 2 --quick

# Answers and instructions on emulated phone CPUs. The answers on one of them are compared with the large teacher's; on
# the others, with dotprod missing or i8mm beside it, few windows say how many instructions one takes.
ON_TARGET := $(COMPARE) $(FILES) $(OUT)/forms/student-tflite-int4 --data $(DEV) $(ROWS)

arm: scores
	$(ON_TARGET) --target qemu:neoverse-n1 --questions $(ARM_QUESTIONS)
	$(foreach cpu,cortex-a72 max,$(ON_TARGET) --target qemu:$(cpu) --questions 20 && )true
