# From SQuAD 2.0 to a teacher, a student and its files, and to their rows in a table; goes on where it was stopped.
#
#   make -f recipes/flagship.mk models TRAIN=train-v2.0.json DEV=dev-v2.0.json
#   make -f recipes/flagship.mk large-teacher TRAIN=... DEV=...
#   make -f recipes/flagship.mk rows TRAIN=... DEV=... DEV1=dev-v1.1.json MORE="other.json another.json"
#   make -f recipes/flagship.mk forms TRAIN=... DEV=...
#
# Run in the checkout after make install. `models` ends with the folder $(OUT)/models, to be copied into models/; `rows`
# measures these, `forms` what else becomes of the two in other precisions and in int4, and both want an idle machine.

OUT ?= runs/flagship
# A process for each core or GPU; their model is that of one process but for dropout.
PROCESSES ?= 2
RUN := .venv/bin/python
EACH := OMP_NUM_THREADS=1 $(RUN) -m torch.distributed.run --standalone --nproc-per-node $(PROCESSES)
MADE := manifest.json
RELEASED := $(OUT)/models

.PHONY: models rows forms large-teacher
.DELETE_ON_ERROR:

models: $(RELEASED)/SHA256SUMS

# What was made of what is in every manifest; the list is for the eye.
$(RELEASED)/SHA256SUMS: $(RELEASED)/teacher/$(MADE) $(RELEASED)/student/$(MADE) $(RELEASED)/student-tflite-int8/$(MADE)
	cd $(RELEASED) && sha256sum */* > SHA256SUMS

# After "|" stands what must be there, whatever its time: a finished bundle is never made again.
$(OUT)/teacher/$(MADE):
	$(EACH) -m distill.finetune --data $(TRAIN) --epochs 1.25 --out $(OUT)/teacher --resume

$(OUT)/teacher-further/$(MADE): | $(OUT)/teacher/$(MADE)
	$(EACH) -m distill.finetune --model $(OUT)/teacher --data $(TRAIN) --epochs 1 --batch-size 32 --learning-rate 1e-4 --seed 1 --out $(OUT)/teacher-further --resume

$(OUT)/teacher-third/$(MADE): | $(OUT)/teacher-further/$(MADE)
	$(EACH) -m distill.finetune --model $(OUT)/teacher-further --data $(TRAIN) --epochs 1.5 --batch-size 32 --learning-rate 1e-4 --seed 2 --out $(OUT)/teacher-third --resume

# The mean of the three answers questions that none of them saw a little better than the last.
$(OUT)/teacher-mean/$(MADE): | $(OUT)/teacher-third/$(MADE)
	$(RUN) -m distill.average --models $(OUT)/teacher-third $(OUT)/teacher-further $(OUT)/teacher --out $(OUT)/teacher-mean

# Stored first: the student learns from the very teacher that is released.
$(RELEASED)/teacher/$(MADE): | $(OUT)/teacher-mean/$(MADE)
	$(RUN) -m compress.cast --model $(OUT)/teacher-mean --weights int8-weights --out $(RELEASED)/teacher

$(OUT)/student/$(MADE): | $(RELEASED)/teacher/$(MADE)
	$(EACH) -m distill.run --teacher $(RELEASED)/teacher --data $(TRAIN) --learning-rate 2e-4 --batch-size 32 --epochs 1.5 --out $(OUT) --resume

$(OUT)/student-pq3/$(MADE): | $(OUT)/student/$(MADE)
	$(RUN) -m compress.embeddings --model $(OUT)/student --embeddings pq3 --data $(TRAIN)

$(OUT)/student-pq3-grid-int8/$(MADE): | $(OUT)/student-pq3/$(MADE)
	$(RUN) -m compress.qat --model $(OUT)/student-pq3 --teacher $(RELEASED)/teacher --quantize int8 --data $(TRAIN) --eval-data $(DEV) --learning-rate 1e-4 --batch-size 32 --epochs 1.5 --resume

$(RELEASED)/student/$(MADE): | $(OUT)/student-pq3-grid-int8/$(MADE)
	$(RUN) -m compress.cast --model $(OUT)/student-pq3-grid-int8 --weights int8-weights --eval-data $(DEV) --out $(RELEASED)/student

$(RELEASED)/student-tflite-int8/$(MADE): | $(RELEASED)/student/$(MADE)
	$(RUN) -m export.tflite --model $(RELEASED)/student --quantize int8 --eval-data $(DEV) --out $(RELEASED)/student-tflite-int8

# As `python -m export.onnx --quantize int8` makes it of what is released; not in models/, which is to stay under 60 MB.
$(OUT)/student-onnx-int8/$(MADE): | $(RELEASED)/student/$(MADE)
	$(RUN) -m export.onnx --model $(RELEASED)/student --quantize int8 --eval-data $(DEV) --out $(OUT)/student-onnx-int8

# A teacher of 109 million parameters. A pass takes nine hours on two cores that compute in bf16.
large-teacher: $(OUT)/teacher-mpnet/$(MADE)

$(OUT)/mpnet-base/model.safetensors:
	$(RUN) recipes/fetch_mpnet.py $(OUT)/mpnet-base

$(OUT)/teacher-mpnet/$(MADE): | $(OUT)/mpnet-base/model.safetensors
	$(EACH) -m distill.finetune --model $(OUT)/mpnet-base --data $(TRAIN) --eval-data $(DEV) --max-length 256 --batch-size 16 --learning-rate 5e-5 --epochs 1.5 --out $(OUT)/teacher-mpnet --resume

# Beside the released files: the same models in other precisions, and a smaller file in int4.
$(OUT)/small/$(MADE): | $(OUT)/student/$(MADE)
	$(RUN) -m compress.embeddings --model $(OUT)/student --embeddings pq4 --data $(TRAIN) --out $(OUT)/small

$(OUT)/small-grid-int4/$(MADE): | $(OUT)/small/$(MADE)
	$(RUN) -m compress.qat --model $(OUT)/small --teacher $(RELEASED)/teacher --quantize int4 --data $(TRAIN) --eval-data $(DEV) --resume

$(OUT)/small-grid-int4-tflite-int4/$(MADE): | $(OUT)/small-grid-int4/$(MADE)
	$(RUN) -m export.tflite --model $(OUT)/small-grid-int4 --quantize int4

$(OUT)/%-tflite-fp32/$(MADE): | $(OUT)/%/$(MADE)
	$(RUN) -m export.tflite --model $(OUT)/$*

$(OUT)/%-tflite-fp16/$(MADE): | $(OUT)/%/$(MADE)
	$(RUN) -m export.tflite --model $(OUT)/$* --quantize fp16

$(OUT)/%-tflite-int8/$(MADE): | $(OUT)/%/$(MADE)
	$(RUN) -m export.tflite --model $(OUT)/$* --quantize int8

$(OUT)/%-onnx-fp32/$(MADE): | $(OUT)/%/$(MADE)
	$(RUN) -m export.onnx --model $(OUT)/$*

$(OUT)/%-onnx-int8/$(MADE): | $(OUT)/%/$(MADE)
	$(RUN) -m export.onnx --model $(OUT)/$* --quantize int8

FAMILY := $(RELEASED)/teacher $(RELEASED)/student $(OUT)/student-onnx-int8 $(RELEASED)/student-tflite-int8
# Of what the released ones were stored from.
TEACHERS := $(foreach form,onnx-fp32 onnx-int8 tflite-fp32 tflite-fp16 tflite-int8,teacher-mean-$(form))
STUDENTS := $(foreach form,onnx-fp32 tflite-fp32 tflite-fp16,student-pq3-grid-int8-$(form))
FORMS := $(TEACHERS:%=$(OUT)/%) $(STUDENTS:%=$(OUT)/%) $(OUT)/small-grid-int4-tflite-int4
COMPARE := $(RUN) benchmarks/compare.py
INTO := --baseline $(RELEASED)/teacher --rows $(OUT)/rows.jsonl

rows: $(RELEASED)/SHA256SUMS $(OUT)/student-onnx-int8/$(MADE)
	$(COMPARE) $(FAMILY) --data $(DEV) $(INTO) --lengths real --threads 1
	$(foreach data,$(DEV1) $(MORE),$(COMPARE) $(FAMILY) --data $(data) $(INTO) --skip-latency && )true

# All in one run, in which the models take turns; what `rows` scored is not scored again.
forms: $(RELEASED)/SHA256SUMS $(OUT)/student-onnx-int8/$(MADE) $(FORMS:%=%/$(MADE))
	$(COMPARE) $(FAMILY) $(FORMS) --data $(DEV) $(INTO) --lengths real --threads 1
