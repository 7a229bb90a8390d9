# Checks and rules that recipes share: a wrong variable or a missing file stops make with one line, before anything runs.
#
# A recipe lists its variables in VARIABLES, those without a default in REQUIRED, those that name data in DATA, and those
# that name a model that must be there in GIVEN_MODELS. Those in DECIDING decide what its models are: $(STORE) writes them
# down, and a run continues only with the same.

RECIPE := $(firstword $(MAKEFILE_LIST))
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
UNKNOWN := $(filter-out $(VARIABLES),$(GIVEN))
MISSING := $(strip $(foreach name,$(REQUIRED),$(if $(strip $($(name))),,$(name))))
FILES := $(foreach name,$(DATA),$(filter-out embedded everyday squad squad_v2,$($(name))))
ABSENT := $(filter-out $(wildcard $(FILES)),$(FILES))
# A name on the Hub without an owner is taken for a folder that is missing: it may be a typing error.
parts_of = $(subst /, ,$(filter-out runs/%,$1))
on_hub = $(and $(filter 2,$(words $(parts_of))),$(if $(wildcard $(firstword $(parts_of))),,hub))
LACKING := $(strip $(foreach name,$(GIVEN_MODELS),$(if $(or $(wildcard $($(name))),$(call on_hub,$($(name)))),,$(name)=$($(name)))))

ifneq ($(UNKNOWN),)
$(error $(RECIPE): no variable $(firstword $(UNKNOWN)); give one of $(VARIABLES))
endif
ifneq ($(MISSING),)
$(error $(RECIPE): $(firstword $(MISSING)) is not given; add $(firstword $(MISSING))=FILE)
endif
ifneq ($(ABSENT),)
$(error $(RECIPE): $(firstword $(ABSENT)): no such file; give a SQuAD JSON file)
endif
ifneq ($(LACKING),)
$(error $(RECIPE): $(firstword $(LACKING)): no such folder; give one, or OWNER/NAME of the Hub)
endif
ifeq ($(wildcard .venv/bin/python),)
$(error $(RECIPE): .venv/bin/python: no such file; run make install, and make from the folder of the checkout)
endif

# Other data or another bundle may have taken the place of one.
# A bundle's manifest has the hashes of its files; a checkpoint of transformers has none.
weights = $(or $(wildcard $1/manifest.json),$(wildcard $1/config.json $1/*.safetensors $1/*.bin))
shipped = $(if $(filter embedded,$1),$(wildcard qa/data/excerpt/*.gz))$(if $(filter everyday,$1),$(wildcard qa/data/everyday/*.gz))
INPUTS := $(foreach name,$(DECIDING),$(foreach value,$($(name)),$(wildcard $(value)) $(call weights,$(value)) $(call shipped,$(value))))
CONTENTS := $(firstword $(shell for file in $(INPUTS); do test -d $$file || cat $$file; done | sha256sum))
SETTINGS := $(strip $(foreach name,$(DECIDING),$(name)=$($(name)))) CONTENTS=$(CONTENTS)
STORED := $(wildcard $(OUT)/settings.txt)
# By rename, and once: a full disk or a kill must not leave a file that no run has the settings of.
STORE = @mkdir -p $(OUT) && { test -e $(OUT)/settings.txt || { echo '$(subst ','\'',$(SETTINGS))' > $(OUT)/settings.$$$$ && command mv $(OUT)/settings.$$$$ $(OUT)/settings.txt; }; }
ifneq ($(STORED),)
ifeq ($(findstring CONTENTS=,$(shell cat $(STORED))),)
$(error $(RECIPE): $(OUT) was made by an earlier version; give another OUT)
endif
ifneq ($(shell cat $(STORED)),$(SETTINGS))
$(error $(RECIPE): $(OUT) was made with $(shell cat $(STORED)); give the same, or another OUT)
endif
endif

RUN := .venv/bin/python

.DELETE_ON_ERROR:
# What is missing behind a finished model is not made again.
.SECONDARY:

$(OUT)/train.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(TRAIN) --split train --questions $(if $(filter TRAIN_QUESTIONS,$(VARIABLES)),$(TRAIN_QUESTIONS),$(QUESTIONS)) --out $@

$(OUT)/dev.json:
	$(STORE)
	$(RUN) -m qa.data.sample --data $(DEV) --questions $(if $(filter DEV_QUESTIONS,$(VARIABLES)),$(DEV_QUESTIONS),$(QUESTIONS)) --out $@

$(OUT)/mpnet-base:
	$(STORE)
	$(RUN) recipes/fetch_mpnet.py $@

# The first rule of the recipe is what it makes by default.
.DEFAULT_GOAL :=
