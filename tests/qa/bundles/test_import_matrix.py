"""Checkpoints with every setting, and some families with every two of them: the import computes what transformers computes, text
to logits, over several windows."""

import random
from itertools import combinations, product

import pytest
import torch
from checkpoints import (
    TOLERANCE,
    WINDOWS,
    change_weights,
    largest_difference,
    our_logits,
    reference_logits,
    write_checkpoint,
)
from json_files import change_json, read_json, write_json
from tokenizers import Tokenizer

from qa.bundles.hf_import import import_checkpoint
from qa.formats.tensors import INPUTS

AS_IT_IS = {}, lambda folder: None


def built(**config):
    """A setting of config.json with which the model is made."""
    return config, lambda folder: None


def said(**settings):
    """A setting of tokenizer_config.json."""
    return changed(lambda folder: change_json(folder / "tokenizer_config.json", **settings))


def changed(change):
    """A change of the written files."""
    return {}, change


def stored(dtype):
    return changed(lambda folder: change_weights(folder, lambda name, tensor: {name: tensor.to(dtype)}))


def added(write):
    """Two added tokens, of which the passage has both."""

    def change(folder):
        n = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
        write(folder, {"[PAR]": n, "<t>": n + 1})

    return changed(change)


def added_tokens_file(folder, ids):
    write_json(folder / "added_tokens.json", ids)


def additional_special_tokens(folder, ids):
    change_json(folder / "tokenizer_config.json", additional_special_tokens=list(ids))


def added_tokens_decoder(folder, ids):
    settings = {"lstrip": True, "rstrip": False, "single_word": False, "normalized": False, "special": False}
    tokens = {str(index): {"content": token, **settings} for token, index in ids.items()}
    change_json(folder / "tokenizer_config.json", added_tokens_decoder=tokens)


def inside_the_tokenizer(folder, ids):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens(list(ids))
    tokenizer.save(str(folder / "tokenizer.json"))


def vocabulary_only(folder):
    """Leave the files of which slow tokenizers are made."""
    model = read_json(folder / "tokenizer.json")["model"]
    if model["type"] == "WordPiece":
        words = sorted(model["vocab"], key=model["vocab"].get)
        (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    else:
        write_json(folder / "vocab.json", model["vocab"])
        merges = [" ".join(pair) for pair in model["merges"]]
        (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n", encoding="utf-8")
    (folder / "tokenizer.json").unlink()


UNTYPED = {"model_input_names": list(INPUTS[:2])}
DTYPES = {name: stored(getattr(torch, name)) for name in ("float32", "float16", "bfloat16", "float64")}
WRAPPERS = dict.fromkeys(("", "module.", "_orig_mod.", "base_model.model.", "_orig_mod.module."))
POSITIONS = {
    "102": AS_IT_IS,
    "150": built(max_position_embeddings=150),
    "said": built(position_embedding_type="absolute"),
}
TYPES = {
    "2": AS_IT_IS,
    "2, not given": said(**UNTYPED),
    "3": built(type_vocab_size=3),
    "3, not given": (built(type_vocab_size=3)[0], said(**UNTYPED)[1]),
    "1": (built(type_vocab_size=1)[0], said(**UNTYPED)[1]),
}
NEVER_TYPED = {"not said": AS_IT_IS, "not given": said(**UNTYPED)}
ADDED = {
    "none": AS_IT_IS,
    "file": added(added_tokens_file),
    "special": added(additional_special_tokens),
    "decoder": added(added_tokens_decoder),
    "inside": added(inside_the_tokenizer),
}
ACTIVATION = {name: built(hidden_act=name) for name in ("gelu", "relu", "gelu_new", "silu")}
NORM = {"1e-12": AS_IT_IS, "0.1": built(layer_norm_eps=0.1)}
HEADS = {"4": AS_IT_IS, "2": built(num_attention_heads=2)}
EMBEDDING = {"16": AS_IT_IS, "32": built(embedding_size=32)}
LAST = {"weights": DTYPES, "names": WRAPPERS}  # names of wrappers: after transformers has read the weights
FILES = {"tokenizer.json": AS_IT_IS, "vocabulary": changed(vocabulary_only)}
WORDPIECE = {
    "case": {"not said": AS_IT_IS, "lower": said(do_lower_case=True), "kept": said(do_lower_case=False)},
    "accents": {
        "not said": AS_IT_IS,
        "stripped": said(strip_accents=True),
        "kept": said(strip_accents=False),
    },
    "Chinese": {"not said": AS_IT_IS, "words": said(tokenize_chinese_chars=False)},
    "added tokens": ADDED,
    "files": FILES,
}
PIECES = {"added tokens": ADDED}
BERT = {"positions": POSITIONS, "types": TYPES, "activation": ACTIVATION, "norm": NORM, "heads": HEADS}
ROBERTA = BERT | {"types": NEVER_TYPED}
MOBILEBERT = {
    "norm": {"no_norm": AS_IT_IS, "layer_norm": built(normalization_type="layer_norm", layer_norm_eps=0.1)},
    "embedding": {"32": AS_IT_IS, "16": built(embedding_size=16)},
    "neighbours": {"joined": AS_IT_IS, "alone": built(trigram_input=False)},
    "bottleneck": {
        "keys": AS_IT_IS,
        "attention": built(use_bottleneck_attention=True),
        "none": built(use_bottleneck=False, intra_bottleneck_size=32),
    },
    "networks": {"4": AS_IT_IS, "1": built(num_feedforward_networks=1)},
}
MATRICES = {
    ("bert", "WordPiece"): BERT | WORDPIECE,
    ("bert", "XLM-R"): BERT | PIECES,
    ("distilbert", "WordPiece"): {
        "positions": POSITIONS | {"sinusoidal": built(sinusoidal_pos_embds=True)},
        "types": NEVER_TYPED,
        "activation": {name: built(activation=name) for name in ("gelu", "relu")},
        "heads": {"4": AS_IT_IS, "2": built(n_heads=2)},
        **WORDPIECE,
    },
    ("electra", "WordPiece"): BERT | {"embedding": EMBEDDING} | WORDPIECE,
    ("albert", "ALBERT"): BERT | {"embedding": EMBEDDING} | PIECES,
    ("roberta", "RoBERTa"): {
        **ROBERTA,
        "space before": {
            "not said": AS_IT_IS,
            "yes": said(add_prefix_space=True),
            "no": said(add_prefix_space=False),
        },
        "added tokens": ADDED,
        "files": FILES,
    },
    ("roberta", "XLM-R"): ROBERTA | PIECES,
    ("xlm-roberta", "XLM-R"): ROBERTA | PIECES,
    ("camembert", "XLM-R"): ROBERTA | PIECES,
    ("mpnet", "MPNet"): {
        **ROBERTA,
        "buckets": {"32": AS_IT_IS, "more": built(relative_attention_num_buckets=64)},
        **WORDPIECE,
    },
    ("mobilebert", "WordPiece"): BERT | MOBILEBERT | WORDPIECE,
}
# The other rows share their tokenizers and most of their settings with these.
WITH_EVERY_TWO = [
    ("bert", "WordPiece"),
    ("albert", "ALBERT"),
    ("roberta", "RoBERTa"),
    ("mpnet", "MPNet"),
    ("mobilebert", "WordPiece"),
]


def covering(factors, strength):
    """Rows with every combination of the values of any `strength` factors; each row is the best of a few."""
    chance = random.Random(0)
    places = [
        dict(zip(names, values, strict=True))
        for names in combinations(factors, strength)
        for values in product(*(factors[name] for name in names))
    ]
    rows = []
    while places:
        candidates = [
            {name: chance.choice(list(values)) for name, values in factors.items()} | places[0]
            for _ in range(20)
        ]
        missing = [[place for place in places if not place.items() <= row.items()] for row in candidates]
        places = min(missing, key=len)
        rows.append(candidates[missing.index(places)])
    return rows


def checkpoints(place, family, tokenizer, strength):
    """Write a checkpoint for each row, except for the wrapper of its names: (folder, row)."""
    factors = MATRICES[family, tokenizer] | LAST
    for number, row in enumerate(covering(factors, strength)):
        folder = place / str(number) / "checkpoint"
        settings = [factors[name][value] for name, value in row.items() if name != "names"]
        write_checkpoint(
            folder, family, tokenizer, **{k: v for config, _ in settings for k, v in config.items()}
        )
        for _, change in settings:
            change(folder)
        yield folder, row


def difference(folder, row, wanted):
    """Largest difference of the import's logits, whose names of weights have a wrapper, in deviations."""
    assert len(wanted) > 1
    deviation = torch.cat(wanted).std().item()
    assert deviation > 0.1
    change_weights(folder, lambda name, tensor: {row["names"] + name: tensor})
    bundle = import_checkpoint(str(folder), folder, folder.with_name("bundle"), WINDOWS)
    return largest_difference(wanted, our_logits(bundle)) / max(1, deviation)


@pytest.mark.parametrize(
    ("family", "tokenizer", "strength"),
    [
        *((*names, 1) for names in MATRICES),
        *(pytest.param(*names, 2, marks=pytest.mark.system) for names in WITH_EVERY_TWO),
    ],
)
def test_the_import_computes_what_transformers_computes(tmp_path, family, tokenizer, strength):
    differences = {
        str(row): difference(folder, row, reference_logits(folder))
        for folder, row in checkpoints(tmp_path, family, tokenizer, strength)
    }
    assert {row: found for row, found in differences.items() if not found < TOLERANCE} == {}
