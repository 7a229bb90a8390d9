"""Checkpoints with settings changed at random: the import computes what transformers does, or is refused."""

import pytest
from amounts import cases, rng
from checkpoints import (
    FAMILIES,
    TOLERANCE,
    WINDOWS,
    change_weights,
    largest_difference,
    our_logits,
    reference_logits,
    write_checkpoint,
)
from json_files import change_json, read_json, write_json

from qa.base.errors import PocketQAError
from qa.bundles.hf_import import import_checkpoint

VALUES = [None, True, False, 0, 1, 2, 3, 4, -1, 0.5, 1e-3, "relu", "gelu", "", [], {}, ["x"], {"0": [1]}]
CONFIG = {
    "position_embedding_type": ["absolute", "relative_key", "relative_key_query"],
    "hidden_act": ["relu", "gelu", "gelu_new", "silu", "nonsense"],
    "activation": ["relu", "gelu"],
    "type_vocab_size": [1, 2, 3],
    "layer_norm_eps": [1e-12, 1e-3, 0.1],
    "num_attention_heads": [1, 2, 4, 8, 3],
    "n_heads": [1, 2, 8],
    "num_hidden_layers": [1, 2, 3],
    "pad_token_id": [0, 1, 2, 3],
    "chunk_size_feed_forward": [0, 1, 7],
    "dtype": ["float16", "bfloat16", "float32"],
    "torch_dtype": ["float16", "float64"],
    "attn_implementation": ["eager", "sdpa", "flash_attention_2"],
    "_attn_implementation": ["eager", "flash_attention_2"],
    "tokenizer_class": ["BertTokenizer", "XLMRobertaTokenizer", "RobertaTokenizer", "nonsense"],
    "id2label": [{"0": "a", "1": "b", "2": "c"}],
    "num_labels": [1, 2, 3],
    "classifier_activation": [True, False],
    "normalization_type": ["layer_norm", "no_norm"],
    "inner_group_num": [1, 2],
    "relative_attention_num_buckets": [16, 32],
    "sinusoidal_pos_embds": [True, False],
    "architectures": [["BertForTokenClassification"], None],
    "model_type": FAMILIES,
    "pruned_heads": [{}, {"0": [1]}],
}
TOKENIZER_CONFIG = {
    "do_lower_case": [True, False],
    "strip_accents": [True, False, None],
    "tokenize_chinese_chars": [True, False],
    "keep_accents": [True, False],
    "add_prefix_space": [True, False],
    "trim_offsets": [True, False],
    "do_basic_tokenize": [True, False],
    "clean_up_tokenization_spaces": [True, False],
    "split_special_tokens": [True, False],
    "model_input_names": [
        ["input_ids", "attention_mask"],
        ["input_ids", "token_type_ids", "attention_mask"],
        ["input_ids"],
    ],
    "tokenizer_class": [
        *("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "ElectraTokenizer", "MPNetTokenizer"),
        *(
            "RobertaTokenizer",
            "XLMRobertaTokenizer",
            "AlbertTokenizer",
            "PreTrainedTokenizerFast",
            "nonsense",
        ),
        *(
            "TokenizersBackend",
            "MobileBertTokenizerFast",
            "BertJapaneseTokenizer",
            "CamembertTokenizer",
            None,
        ),
    ],
    "additional_special_tokens": [["[PAR]"], ["<t>", "Ada"]],
    "extra_special_tokens": [["[PAR]"], {"t": "<t>"}],
    "cls_token": ["[CLS]", "<s>", "[SEP]", "[NEW]"],
    "sep_token": ["[SEP]", "</s>", "[CLS]"],
    "unk_token": ["[UNK]", "<unk>", "[MASK]", "a"],
    "pad_token": ["[PAD]", "<pad>", "[UNK]"],
    "mask_token": ["[MASK]", "Ada"],
    "bos_token": ["<s>", "[CLS]"],
    "padding_side": ["left", "right"],
    "model_max_length": [50, 512],
    "auto_map": [{"AutoTokenizer": ["a.B", "a.C"]}],
    "added_tokens_decoder": [
        {"1": {"content": "[PAR]", "special": False}},
        {"5": {"content": "[PAR]", "special": True, "normalized": False}},
    ],
}
TOKENIZER = {
    "normalizer": [
        None,
        {"type": "Lowercase"},
        {"type": "NFKC"},
        {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]},
        *(
            {
                "type": "BertNormalizer",
                "clean_text": clean,
                "handle_chinese_chars": chinese,
                "strip_accents": accents,
                "lowercase": lower,
            }
            for clean, chinese, accents, lower in (
                (True, True, None, False),
                (True, False, None, True),
                (False, True, True, False),
                (True, True, False, True),
            )
        ),
    ],
    "pre_tokenizer": [
        None,
        {"type": "Whitespace"},
        {"type": "BertPreTokenizer"},
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
    ],
    "post_processor": [None, {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 0]}],
    "truncation": [{"direction": "Right", "max_length": 20, "strategy": "LongestFirst", "stride": 0}],
    "padding": [
        {
            "strategy": {"Fixed": 64},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 1,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        }
    ],
    "added_tokens": [[]],
}
MODEL = {
    "max_input_chars_per_word": [1, 5, 100],
    "continuing_subword_prefix": ["##", "@@", ""],
    "unk_token": ["[UNK]", "[MASK]", None],
    "unk_id": [0, 1, 3],
    "byte_fallback": [True, False],
    "dropout": [None, 0.5],
    "fuse_unk": [True, False],
    "ignore_merges": [True, False],
}


def chosen(random_numbers, table):
    key = random_numbers.choice(sorted(table))
    return {key: random_numbers.choice(table[key])}


def changed_file(name, table):
    def change(folder, numbers):
        if (folder / name).is_file():
            change_json(folder / name, **chosen(numbers, table))

    return change


def any_value(name):
    def change(folder, numbers):
        if (folder / name).is_file() and read_json(folder / name):
            change_json(
                folder / name, **{numbers.choice(sorted(read_json(folder / name))): numbers.choice(VALUES)}
            )

    return change


def words_model(folder, numbers):
    if (folder / "tokenizer.json").is_file():
        model = read_json(folder / "tokenizer.json")["model"]
        change_json(folder / "tokenizer.json", model=model | chosen(numbers, MODEL))


def one_weight(folder, numbers):
    """Drop, double, rename or reshape one weight, or add one."""
    number = numbers.randrange(200)
    kind = numbers.choice(["drop", "rename", "add", "reshape", "suffix"])
    seen = iter(range(10_000))
    made = {
        "drop": lambda name, tensor: {},
        "rename": lambda name, tensor: {name.replace("layer", "layers").replace("qa_", "span_"): tensor},
        "add": lambda name, tensor: {name: tensor, f"{name}_extra": tensor.clone()},
        "reshape": lambda name, tensor: {name: tensor[:1].clone()},
        "suffix": lambda name, tensor: {name.replace("weight", "weight.lora_A"): tensor},
    }[kind]
    change_weights(
        folder, lambda name, tensor: made(name, tensor) if next(seen) == number % 45 else {name: tensor}
    )


def added_tokens(folder, numbers):
    content = numbers.choice(["[PAR]", "<t>", "wrote", "Ada"])
    write_json(folder / "added_tokens.json", {content: numbers.choice([3, 50, 300, 400])})


def special_map(folder, numbers):
    write_json(folder / "special_tokens_map.json", chosen(numbers, TOKENIZER_CONFIG))


def without_file(folder, numbers):
    names = ("tokenizer.json", "tokenizer_config.json", "vocab.txt")
    (folder / numbers.choice(names)).unlink(missing_ok=True)


CHANGES = (
    changed_file("config.json", CONFIG),
    changed_file("config.json", CONFIG),
    any_value("config.json"),
    changed_file("tokenizer_config.json", TOKENIZER_CONFIG),
    changed_file("tokenizer_config.json", TOKENIZER_CONFIG),
    any_value("tokenizer_config.json"),
    changed_file("tokenizer.json", TOKENIZER),
    words_model,
    one_weight,
    added_tokens,
    special_map,
    without_file,
)
TOKENIZERS = ("", "", "", "WordPiece", "XLM-R", "RoBERTa", "ALBERT", "MPNet")


@pytest.mark.parametrize("case", cases(20_000))
def test_a_changed_checkpoint_is_reproduced_or_refused(tmp_path, case):
    numbers = rng("checkpoint", case)
    folder = write_checkpoint(tmp_path / "checkpoint", numbers.choice(FAMILIES), numbers.choice(TOKENIZERS))
    for _ in range(numbers.choice([1, 1, 2, 3])):
        numbers.choice(CHANGES)(folder, numbers)
    try:
        bundle = import_checkpoint(str(folder), folder, tmp_path / "bundle", WINDOWS)
    except PocketQAError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return
    assert largest_difference(reference_logits(folder), our_logits(bundle)) < TOLERANCE
