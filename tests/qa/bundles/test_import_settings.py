"""All that a checkpoint says is obeyed or refused: logits of the import are those of transformers, text to logits."""

import os

import pytest
import torch
from checkpoints import (
    QUOTES,
    TOLERANCE,
    WINDOWS,
    change_weights,
    largest_difference,
    our_logits,
    reference_logits,
    write_checkpoint,
)
from json_files import change_json, read_json, write_json
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from transformers import AutoTokenizer

from distill.options import FinetuneOptions
from distill.train_on_gold import encoder_start
from qa.base.errors import PocketQAError
from qa.bundles import hf_import
from qa.bundles.hf_import import import_checkpoint
from qa.formats.tensors import INPUTS
from qa.models.checkpoint_tokenizer import PASSAGE, QUESTION
from qa.models.pretrained import CHECKPOINT_FILES, head_labels, load_encoder


def imported(folder):
    return import_checkpoint(str(folder), folder, folder.with_name("bundle"), WINDOWS)


def tokenizer_settings(**changes):
    return lambda folder: change_json(folder / "tokenizer_config.json", **changes)


def config(**changes):
    return lambda folder: change_json(folder / "config.json", **changes)


def n_tokens(folder):
    return Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()


def added_tokens(folder):
    write_json(folder / "added_tokens.json", {"[PAR]": n_tokens(folder), "<t>": n_tokens(folder) + 1})


def renamed(change):
    return lambda folder: change_weights(folder, lambda name, tensor: {change(name): tensor})


def extra(name, *shape):
    def add(folder):
        change_weights(
            folder,
            lambda key, tensor: (
                {key: tensor} | ({name: torch.ones(shape)} if "qa_outputs.bias" in key else {})
            ),
        )

    return add


SAME = {
    "tuples": (
        ["bert", "roberta"],
        config(return_dict=False, output_hidden_states=True, output_attentions=True),
    ),
    "classifier": (["bert", "distilbert"], extra("classifier.weight", 3, 32)),
    "pooler": (["bert"], extra("bert.pooler.dense.weight", 32, 32)),
    "positions in a buffer": (["electra"], extra("electra.embeddings.position_ids", 1, 102)),
    "gamma and beta": (
        ["bert"],
        renamed(
            lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            )
        ),
    ),
}


@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for name, (families, _) in SAME.items() for family in families]
)
def test_logits_are_those_of_the_checkpoint(tmp_path, family, name):
    folder = write_checkpoint(tmp_path / "checkpoint", family)
    SAME[name][1](folder)
    wanted = reference_logits(folder)
    assert len(wanted) > 2
    assert torch.cat(wanted).std() > 0.1
    assert largest_difference(wanted, our_logits(imported(folder))) < TOLERANCE


@pytest.mark.parametrize("config", [{}, {"type_vocab_size": 1}, {"type_vocab_size": 3}])
def test_a_bert_with_the_tokenizer_of_xlm_r_has_one_token_type(tmp_path, config):
    folder = write_checkpoint(tmp_path / "checkpoint", "bert", "XLM-R", **config)
    bundle = imported(folder)
    assert largest_difference(reference_logits(folder), our_logits(bundle)) < TOLERANCE
    assert read_json(bundle.path / "config.json")["type_vocab_size"] == 1
    assert read_json(bundle.path / "tokenizer_config.json")["model_input_names"] == list(INPUTS[:2])


@pytest.mark.parametrize(("version", "inputs"), [("4.46.3", INPUTS), (None, INPUTS), ("5.1.0", INPUTS[:2])])
def test_without_a_word_token_types_are_those_of_the_version_that_saved_it(tmp_path, version, inputs):
    """transformers 5 gives an ALBERT none by default, and versions before gave them."""
    folder = write_checkpoint(tmp_path / "checkpoint", "albert")
    change_json(folder / "tokenizer_config.json", model_input_names=None)
    change_json(folder / "config.json", transformers_version=version)
    bundle = imported(folder)
    change_json(folder / "tokenizer_config.json", model_input_names=list(inputs))
    assert largest_difference(reference_logits(folder), our_logits(bundle)) < TOLERANCE
    assert read_json(bundle.path / "tokenizer_config.json")["model_input_names"] == list(inputs)


@pytest.mark.parametrize("version", ["4.40.0", None])
def test_a_class_that_never_gave_token_types_gives_none(tmp_path, version):
    folder = write_checkpoint(tmp_path / "checkpoint", "bert")
    change_json(
        folder / "tokenizer_config.json", model_input_names=None, tokenizer_class="DistilBertTokenizer"
    )
    change_json(folder / "config.json", transformers_version=version)
    assert largest_difference(reference_logits(folder), our_logits(imported(folder))) < TOLERANCE


def cased_pieces(folder):
    """An ALBERT with capitals and accents."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.normalizer = normalizers.Sequence(QUOTES)
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer_settings(do_lower_case=False, keep_accents=True)(folder)


def with_digits(folder):
    """A BERT whose digits are tokens of their own."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    parts = [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Digits(individual_digits=True)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer_settings(tokenizer_class="PreTrainedTokenizerFast", model_input_names=list(INPUTS))(folder)


def composed_pieces(folder):
    """An ALBERT's vocabulary with other steps: ½ is 1⁄2, and ﬁ two letters."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer_settings(tokenizer_class="PreTrainedTokenizerFast", model_input_names=list(INPUTS))(folder)


@pytest.mark.parametrize(
    ("family", "change"), [("albert", cased_pieces), ("albert", composed_pieces), ("bert", with_digits)]
)
def test_transformers_makes_the_same_tokenizer_of_a_bundle(tmp_path, family, change):
    folder = write_checkpoint(tmp_path / "checkpoint", family)
    change(folder)
    bundle = imported(folder)
    tokenizers = [AutoTokenizer.from_pretrained(path) for path in (bundle.path, folder)]
    ours, theirs = (tokenizer(QUESTION, f"{PASSAGE}  ½ ﬁne") for tokenizer in tokenizers)
    assert ours["input_ids"] == theirs["input_ids"]
    assert ours["token_type_ids"] == theirs["token_type_ids"]


def test_an_unknown_token_that_is_padding_too_is_refused_where_positions_depend_on_it(tmp_path):
    folder = write_checkpoint(tmp_path / "checkpoint", "roberta", "XLM-R")
    text = read_json(folder / "tokenizer.json")
    write_json(folder / "tokenizer.json", text | {"model": text["model"] | {"unk_id": 1}})
    tokenizer_settings(tokenizer_class="PreTrainedTokenizerFast")(folder)
    with pytest.raises(PocketQAError, match=r"token 1 .* both padding and unknown"):
        imported(folder)


def test_a_letter_that_byte_pairs_write_for_a_space_is_a_letter_in_sentence_pieces(tmp_path):
    bundle = imported(write_checkpoint(tmp_path / "checkpoint", "bert", "XLM-R"))
    encoding = bundle.tokenizer.encode("xĠ aĠb", add_special_tokens=False)
    assert {at for pair in encoding.offsets for at in range(*pair)} >= {0, 1, 3, 4, 5}


def test_token_types_are_said_in_any_of_the_tokenizers_files(tmp_path):
    folder = write_checkpoint(tmp_path / "checkpoint", "bert")
    change_json(folder / "config.json", transformers_version="4.56.2")
    write_json(folder / "special_tokens_map.json", {"model_input_names": list(INPUTS[:2])})
    assert largest_difference(reference_logits(folder), our_logits(imported(folder))) < TOLERANCE
    assert load_encoder(str(folder)).n_token_types == 1, "no passage gets a type that was never trained"


def test_of_a_table_with_one_type_all_tokens_have_it(tmp_path):
    """transformers fails with its tokenizer, which gives two."""
    folder = write_checkpoint(tmp_path / "checkpoint", "bert", type_vocab_size=1)
    bundle = imported(folder)
    change_json(folder / "tokenizer_config.json", model_input_names=list(INPUTS[:2]))
    assert largest_difference(reference_logits(folder), our_logits(bundle)) < TOLERANCE


@pytest.mark.parametrize("wrapper", ["model.", "module._orig_mod.", "inside"])
def test_names_of_wrappers_are_dropped_and_said(tmp_path, capsys, wrapper):
    folder = write_checkpoint(tmp_path / "checkpoint", "electra")
    wanted = reference_logits(folder)

    def wrapped(name):
        if wrapper == "inside":  # torch.compile of the encoder only
            return name.replace("electra.", "electra._orig_mod.")
        return wrapper + name

    renamed(wrapped)(folder)
    assert largest_difference(wanted, our_logits(imported(folder))) < TOLERANCE
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "names of weights" in line]
    assert all(f"{part}." in line for part in wrapper.strip(".").split(".") if part != "inside")
    assert head_labels(folder) == 2
    load_encoder(str(folder))


def no_word(folder):
    """An ALBERT without tokenizer_class and with BERT's kind of vocabulary: transformers reads none of it."""
    words = read_json(folder / "tokenizer.json")["model"]["vocab"]
    for path in folder.glob("*token*"):
        path.unlink()
    (folder / "vocab.txt").write_text("\n".join(word for word, *_ in words))


def test_a_vocabulary_that_its_class_does_not_read_is_refused(tmp_path):
    folder = write_checkpoint(tmp_path / "checkpoint", "albert")
    no_word(folder)
    with pytest.raises(PocketQAError, match=r"knows no word.*tokenizer_class"):
        imported(folder)


def test_a_normalizer_that_the_class_drops_is_refused(tmp_path):
    folder = write_checkpoint(tmp_path / "checkpoint", "roberta", "XLM-R")
    change_json(folder / "tokenizer.json", normalizer={"type": "NFKC"})
    with pytest.raises(PocketQAError, match=r"says other tokens than the tokenizer_class"):
        imported(folder)


def twice(folder):
    change_weights(folder, lambda name, tensor: {name: tensor, f"module.{name}": tensor.clone()})


def lower_cased_file(folder):
    """tokenizer.json lower-cases by parts of another kind than its class makes."""
    values = read_json(folder / "tokenizer.json")
    write_json(folder / "tokenizer.json", values | {"normalizer": {"type": "Lowercase"}})
    change_json(folder / "tokenizer_config.json", do_lower_case=False)


def no_template_for_the_class(folder):
    change_json(folder / "tokenizer.json", post_processor=None)


def other_template(folder):
    change_json(folder / "tokenizer.json", post_processor=None)
    tokenizer_settings(tokenizer_class="PreTrainedTokenizerFast", model_input_names=list(INPUTS))(folder)


def without(part):
    return lambda folder: change_weights(folder, lambda name, tensor: {} if part in name else {name: tensor})


def three_labels(folder):
    def change(name, tensor):
        return {name: torch.cat([tensor, tensor[:1]]) if "qa_outputs" in name else tensor}

    change_weights(folder, change)
    change_json(folder / "config.json", id2label={"0": "start", "1": "end", "2": "neither"})


def truncated(folder):
    os.truncate(folder / "model.safetensors", 1000)


def no_tokenizer(folder):
    for path in folder.glob("tokenizer*"):
        path.unlink()


def file_beside(name, without="model.safetensors"):
    def change(folder):
        (folder / without).unlink()
        write_json(folder / name, {})

    return change


def nine_more_tokens(folder):
    write_json(folder / "added_tokens.json", {f"<{i}>": n_tokens(folder) + i for i in range(9)})


def unknown_wrapper(folder):
    renamed(lambda name: f"net.{name}")(folder)


def renamed_head(folder):
    renamed(lambda name: name.replace("qa_outputs", "span_head"))(folder)


def not_a_number(folder):
    wrong = "bert.encoder.layer.1.output.dense.bias"
    change_weights(folder, lambda name, tensor: {name: tensor * (float("nan") if name == wrong else 1)})


def lost_class(folder):
    (folder / "vocab.txt").write_text("\n".join(read_json(folder / "tokenizer.json")["model"]["vocab"]))
    (folder / "tokenizer.json").unlink()
    tokenizer_settings(tokenizer_class="RetriBertTokenizer")(folder)


LAYER = "bert.encoder.layer.0.attention.self."
LORA = f"{LAYER}query.lora_A.default.weight"
DISTANCE = f"{LAYER}distance_embedding.weight"
CODE = {"auto_map": {"AutoTokenizer": [None, "my.MyTokenizer"]}}
OTHER_FILES = {"fast_tokenizer_files": ["tokenizer.json", "tokenizer.4.0.0.json"]}
NO_TEMPLATE = r"tokenizer\.json.*post_processor.*tokenizer_config\.json.*save_pretrained"
NO_BIAS = r"lacks 1 weights, bert\.encoder\.layer\.1\.output\.dense\.bias for one"
REFUSED = {
    "relative positions": (config(position_embedding_type="relative_key"), "embedding_type.*relative_key"),
    "their weights": (extra(DISTANCE, 9, 8), DISTANCE),
    "LoRA": (extra(LORA, 4, 32), rf"{LORA}.*merge_and_unload"),
    "a part of an adapter": (extra("bert.encoder.layer.0.adapter.down.weight", 4, 32), "adapter.down.weight"),
    "a second head": (extra("span_outputs.weight", 2, 32), "span_outputs.weight"),
    "another layer": (extra("bert.encoder.layer.2.output.dense.weight", 32, 40), r"layer\.2\.output"),
    "a weight twice": (twice, r"twice.*module\."),
    "kernels of a hub": (config(attn_implementation="a/kernel@main"), "attn_implementation.*a/kernel"),
    "a lost class": (lost_class, "RetriBertTokenizer"),
    "a decoder": (config(is_decoder=True), "is_decoder"),
    "causal": (config(is_causal=True), "is_causal"),
    "another config": (config(configuration_files=["config.4.0.0.json"]), r"configuration_files.*4\.0\.0"),
    "named weights": (config(transformers_weights="other.safetensors"), r"transformers_weights.*other"),
    "code of a tokenizer": (tokenizer_settings(**CODE), r"tokenizer_config\.json: auto_map"),
    "another tokenizer": (tokenizer_settings(**OTHER_FILES), r"fast_tokenizer_files.*4\.0\.0"),
    "pruned heads": (config(pruned_heads={"0": [1]}), "pruned_heads"),
    "integers": (config(quantization_config={"quant_method": "gptq"}), "quantization_config"),
    "code": (config(auto_map={"AutoModel": "modeling.Model"}), "auto_map"),
    "no model_type": (config(model_type=None), r'model_type; add "model_type": "bert"'),
    "an unknown family": (config(model_type="xlnet"), "unknown encoder type 'xlnet'; known: bert, distil"),
    "a standalone model": (config(model_type="bidaf"), r"unknown encoder type 'bidaf'|model type `?bidaf"),
    "an unknown activation": (config(hidden_act="no-such"), "not a|no-such"),
    "another width": (config(hidden_size=128), r"has the shape \[.*by config\.json it is \["),
    "no head": (without("qa_outputs"), r"no question-answering head \(qa_outputs\).*finetune --model"),
    "a head of another name": (renamed_head, r"if span_head\.weight is its head.*qa_outputs"),
    "not a number": (not_a_number, "dense.bias has a value that is not a finite"),
    "three labels": (three_labels, "its head has 3 labels; extractive question answering has 2"),
    "a weight less": (without("layer.1.output.dense.bias"), NO_BIAS),
    "another wrapper": (unknown_wrapper, r"net\.qa_outputs\.weight: rename .* net\. in front"),
    "an adapter": (file_beside("adapter_config.json"), "adapter_config.json.*merge_and_unload"),
    "an adapter beside": (lambda folder: write_json(folder / "adapter_config.json", {}), "merge_and_unload"),
    "an adapter without config": (file_beside("adapter_config.json", "config.json"), "merge_and_unload"),
    "an export": (file_beside("model.onnx"), r"model\.onnx is an export"),
    "pickles": (file_beside("pytorch_model.bin"), r"no model\.safetensors; pickle weights \(\.bin\) are"),
    "other weights": (file_beside("tf_model.h5"), r"no model\.safetensors; other weights"),
    "several parts": (file_beside("model.safetensors.index.json"), "it is in several parts: save it in one"),
    "half a file": (truncated, r"model\.safetensors: cannot be read"),
    "no tokenizer": (no_tokenizer, r"no tokenizer\.json"),
    "two sayings": (lower_cased_file, r"tokenizer\.json.*tokenizer_config\.json"),
    "a template in the class only": (no_template_for_the_class, NO_TEMPLATE),
    "no template": (other_template, r"does not join.*\[CLS\]"),
    "too many tokens": (nine_more_tokens, "tokens, its embedding table"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_reproduced_is_refused_by_name(tmp_path, name):
    spoil, message = REFUSED[name]
    folder = write_checkpoint(tmp_path / "checkpoint", "bert")
    spoil(folder)
    with pytest.raises(PocketQAError, match=message) as caught:
        imported(folder)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["checkpoint"]
    assert "pickle" in message or "pickle" not in str(caught.value)


def test_spaces_that_file_and_class_read_otherwise_are_refused(tmp_path):
    """The class splits at white space first, so no space before an added token becomes a token of its own."""
    folder = write_checkpoint(tmp_path / "checkpoint", "albert")
    added_tokens(folder)
    _, metaspace = read_json(folder / "tokenizer.json")["pre_tokenizer"]["pretokenizers"]
    normalizers = read_json(folder / "tokenizer.json")["normalizer"]["normalizers"]
    one_space = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    spaces = {"type": "Sequence", "normalizers": [*normalizers, one_space]}
    change_json(folder / "tokenizer.json", pre_tokenizer=metaspace, normalizer=spaces)
    with pytest.raises(PocketQAError, match=r"tokenizer\.json.*tokenizer_config\.json"):
        imported(folder)


OF_ANOTHER = [
    ("bert", {"vocab_size": 50}, "", "tokens, its embedding table 50 rows"),
    ("roberta", {"pad_token_id": 0}, "", "pad_token_id"),
    ("mpnet", {"pad_token_id": 0}, "", "pad_token_id"),
]


@pytest.mark.parametrize(
    ("load", "family", "config", "tokenizer", "message"),
    [
        *(
            (load, *row)
            for load in (imported, lambda folder: load_encoder(str(folder)))
            for row in OF_ANOTHER
        ),
        (imported, "roberta", {"type_vocab_size": 2}, "WordPiece", "token types"),
    ],
)
def test_a_tokenizer_of_another_model_is_refused(tmp_path, load, family, config, tokenizer, message):
    folder = write_checkpoint(tmp_path / "checkpoint", family, tokenizer, **config)
    with pytest.raises(PocketQAError, match=message):
        load(folder)


def test_what_a_refusal_advises_works(tmp_path):
    folder = write_checkpoint(tmp_path / "checkpoint", "bert")
    no_template_for_the_class(folder)
    with pytest.raises(PocketQAError, match="save_pretrained"):
        imported(folder)
    AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
    assert largest_difference(reference_logits(folder), our_logits(imported(folder))) < TOLERANCE

    said = write_checkpoint(tmp_path / "said" / "checkpoint", "bert")
    lower_cased_file(said)
    tokenizer_settings(tokenizer_class="PreTrainedTokenizerFast")(said)
    assert largest_difference(reference_logits(said), our_logits(imported(said))) < TOLERANCE


def test_a_folder_of_an_encoder_is_recorded_by_its_name(tmp_path):
    folder = write_checkpoint(tmp_path / "checkpoint", "bert")
    start = encoder_start(FinetuneOptions(model=str(folder), max_length=96, out=tmp_path / "out"))
    assert start.made.encoder.name == "checkpoint"


def test_words_that_a_tokenizer_can_never_give_are_said(tmp_path, capsys):
    folder = write_checkpoint(tmp_path / "checkpoint", "bert")
    imported(folder)
    assert '"do_lower_case": false' in capsys.readouterr().err
    tokenizer_settings(do_lower_case=False)(folder)
    import_checkpoint(str(folder), folder, folder.with_name("cased"), WINDOWS)
    assert "do_lower_case" not in capsys.readouterr().err


def test_an_encoder_with_settings_beside_its_tokenizer_is_refused_and_can_be_saved_again(tmp_path):
    folder = write_checkpoint(tmp_path / "checkpoint", "bert")
    tokenizer_settings(do_lower_case=False)(folder)
    added_tokens(folder)
    with pytest.raises(PocketQAError, match=r"tokenizer_config\.json and added_tokens\.json; save it again"):
        load_encoder(str(folder))
    AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
    load_encoder(str(folder))


def test_a_changed_file_makes_another_bundle(tmp_path, monkeypatch):
    monkeypatch.setattr(hf_import, "cache_folder", lambda: tmp_path / "cache")
    folder = write_checkpoint(tmp_path / "checkpoint", "bert")
    plain = hf_import.open_model(folder)
    added_tokens(folder)
    added = hf_import.open_model(folder)
    assert plain.path != added.path
    assert added.tokenizer.token_to_id("[PAR]") == n_tokens(folder)
    assert "added_tokens.json" in added.manifest.source.files
    assert "added_tokens.json" in CHECKPOINT_FILES
