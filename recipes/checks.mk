# Checks that recipes share: an unknown variable or a missing file stops make with one line, before anything runs.
#
# A recipe lists its variables in VARIABLES, those without a default in REQUIRED, and those that name data in DATA.

RECIPE := $(firstword $(MAKEFILE_LIST))
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
UNKNOWN := $(filter-out $(VARIABLES),$(GIVEN))
MISSING := $(strip $(foreach name,$(REQUIRED),$(if $(strip $($(name))),,$(name))))
FILES := $(foreach name,$(DATA),$(filter-out embedded squad squad_v2,$($(name))))
ABSENT := $(filter-out $(wildcard $(FILES)),$(FILES))

ifneq ($(UNKNOWN),)
$(error $(RECIPE): no variable $(firstword $(UNKNOWN)); give one of $(VARIABLES))
endif
ifneq ($(MISSING),)
$(error $(RECIPE): $(firstword $(MISSING)) is not given; add $(firstword $(MISSING))=FILE)
endif
ifneq ($(ABSENT),)
$(error $(RECIPE): $(firstword $(ABSENT)): no such file; give a SQuAD JSON file)
endif
ifeq ($(wildcard .venv/bin/python),)
$(error $(RECIPE): .venv/bin/python: no such file; run make install, and make from the folder of the checkout)
endif
