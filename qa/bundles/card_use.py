"""Section of a model card on the use of a bundle: in PocketQA, in other tools, on a phone."""

import json
from pathlib import Path
from typing import Any

from qa.formats.registry import ADAPTER, CONFIG, WHY_NOT_IN_TRANSFORMERS

POCKETQA = """In PocketQA (in the parent folder, or with the path). It cuts long passages into windows and answers with text
from the passage:

```sh
python -m qa.ask --model {name} --question "Who wrote it?" --context passage.txt
```

```python
from qa import load

load("{name}").answer("Who wrote it?", passage).text
```"""

TRANSFORMERS = """In transformers:

```python
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{name}")
model = AutoModelForQuestionAnswering.from_pretrained("{name}")
output = model(**tokenizer(question, passage, truncation="only_second", return_tensors="pt"))  # start_logits, end_logits
```"""

NOT_TRANSFORMERS = """transformers' `AutoModelForQuestionAnswering` does not open it: {reason}. An export to ONNX
(`python -m export.onnx`) holds the whole graph and needs no class."""

OPTIMUM = """In optimum (`pip install optimum-onnx[onnxruntime]`):

```python
from optimum.onnxruntime import ORTModelForQuestionAnswering
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{name}")
model = ORTModelForQuestionAnswering.from_pretrained("{name}")
output = model(**tokenizer(question, passage, truncation="only_second", return_tensors="pt"))  # start_logits, end_logits
```"""

JAVASCRIPT = """In transformers.js. The options say where the file lies; they are the same in every precision:

```js
import {{ pipeline }} from '@huggingface/transformers';

const ask = await pipeline('question-answering', '{name}', {{ subfolder: '', dtype: 'fp32' }});
const {{ answer }} = await ask(question, passage);
```

It joins tokens to an answer (in lower case where the tokenizer lowers it), and takes a `[SEP]` written in a
text for a separator."""

# A byte-pair tokenizer gives no token types by itself in transformers.js, and some heads read them.
JAVASCRIPT_BYTE_PAIRS = """In transformers.js, with token types, which its pipeline leaves out. The options say where the file lies;
they are the same in every precision:

```js
import {{ AutoModelForQuestionAnswering, AutoTokenizer }} from '@huggingface/transformers';

const tokenizer = await AutoTokenizer.from_pretrained('{name}');
const model = await AutoModelForQuestionAnswering.from_pretrained('{name}', {{ subfolder: '', dtype: 'fp32' }});
const inputs = tokenizer(question, {{ text_pair: passage, return_token_type_ids: true }});
const {{ start_logits, end_logits }} = await model(inputs);
```"""

STANDALONE_ONNX = """optimum and transformers.js have no class for this model. `model.onnx` itself runs in any ONNX Runtime:
`input_ids`, `attention_mask`, `token_type_ids` (batch, tokens) int64 to `start_logits`, `end_logits`."""

WITH_ADAPTER = """`adapter.safetensors` is what training added to the encoder. A copy of this bundle without `model.safetensors` is
an adapter; `python -m distill.adapter --adapter {name} --encoder FOLDER --out BUNDLE` makes the model again."""

ANDROID = """On Android: sideload `model.tflite` into PocketQA's app. The file holds vocabulary and settings too
(`unzip -l model.tflite` lists them)."""


def how_to_use(format: str, folder: Path, name: str) -> str:
    """Return the section on use, for a bundle of this format and name with the files of `folder`."""
    texts = [POCKETQA]
    if (folder / ADAPTER).is_file():
        texts.append(WITH_ADAPTER)
    if format == "tflite":
        texts.append(ANDROID)
    elif format == "onnx":
        tokenizer = _read(folder / "tokenizer_config.json").get("tokenizer_class")
        javascript = JAVASCRIPT_BYTE_PAIRS if tokenizer == "PreTrainedTokenizerFast" else JAVASCRIPT
        texts += [OPTIMUM, javascript] if (folder / CONFIG).is_file() else [STANDALONE_ONNX]
    elif format == "pytorch":
        texts.append(TRANSFORMERS if in_transformers(format, folder) else NOT_TRANSFORMERS)
    unnamed = "its config.json names no class of transformers"
    reason = _read(folder / CONFIG).get(WHY_NOT_IN_TRANSFORMERS, unnamed)
    return "## Use\n\n" + "\n\n".join(text.format(name=name, reason=reason) for text in texts)


def embedding_form(folder: Path) -> str | None:
    """Return the form of the quantized embedding table of a PyTorch bundle; None when it is not quantized."""
    return _read(folder / CONFIG).get("word_table")


def in_transformers(format: str, folder: Path) -> bool:
    """Return True when AutoModelForQuestionAnswering of transformers opens the bundle."""
    return format == "pytorch" and "architectures" in _read(folder / CONFIG)


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
