# BiDAF and QANet, taught SQuAD 1.1 by the teacher that comes with the project, and their rows; goes on where it was stopped.
#
#   make -f recipes/whole-models.mk models TRAIN=train-v1.1.json DEV=dev-v1.1.json
#   make -f recipes/whole-models.mk rows TRAIN=... DEV=...
#
# Run in the checkout after make install. `rows` measures what `models` made, and draws how the losses fell; it wants an idle machine.

OUT ?= runs/whole
RUN := .venv/bin/python
MADE := manifest.json
TEACH := $(RUN) -m distill.run --teacher models/teacher --hidden-weight 0 --learning-rate 1e-3 --batch-size 32 --cache $(OUT)/cache --resume
MODELS := $(OUT)/bidaf/student $(OUT)/bidaf-onnx-int8 $(OUT)/qanet/student $(OUT)/qanet-onnx-int8 $(OUT)/qanet-tflite-int8

.PHONY: models rows
.DELETE_ON_ERROR:

models: $(MODELS:%=%/$(MADE))

# BiDAF's steps take a third of the time of QANet's. After "|" stands what must be there, whatever its time.
$(OUT)/bidaf/student/$(MADE):
	$(TEACH) --student-encoder bidaf --data $(TRAIN) --eval-data $(DEV) --epochs 4 --out $(OUT)/bidaf

$(OUT)/qanet/student/$(MADE):
	$(TEACH) --student-encoder qanet --data $(TRAIN) --eval-data $(DEV) --epochs 1 --out $(OUT)/qanet

$(OUT)/%-onnx-int8/$(MADE): | $(OUT)/%/student/$(MADE)
	$(RUN) -m export.onnx --model $(OUT)/$*/student --quantize int8 --out $(OUT)/$*-onnx-int8

# BiDAF's LSTMs go to ONNX alone.
$(OUT)/%-tflite-int8/$(MADE): | $(OUT)/%/student/$(MADE)
	$(RUN) -m export.tflite --model $(OUT)/$*/student --quantize int8 --out $(OUT)/$*-tflite-int8

rows: models
	$(RUN) benchmarks/compare.py models/teacher $(MODELS) --data $(DEV) --baseline models/teacher --rows $(OUT)/rows.jsonl --lengths real --threads 1
	$(RUN) -m benchmarks.curves $(OUT)/bidaf $(OUT)/qanet --plot $(OUT)/curves.svg
