"""Tiny random checkpoints of every family, each with a small tokenizer, and what transformers computes with them:
text in, logits out."""

from functools import cache

import torch
import transformers
from json_files import write_json
from made_tokenizers import BYTE_PAIR_TOKENS, passages, trained_byte_pairs
from safetensors.torch import load_file, save_file
from tiny_models import spread_weights
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from qa.data.squad import Example
from qa.formats.tensors import INPUTS
from qa.models.architectures import ENCODERS
from qa.models.model import QAModel
from qa.text.features import collate, make_windows

FAMILIES = [name for name, entry in ENCODERS.items() if entry.question_answering]
SIZES = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 40, "num_hidden_layers": 2}
FAMILY_SIZES = {
    "distilbert": {"dim": 32, "n_heads": 4, "hidden_dim": 40, "n_layers": 2},
    "albert": SIZES | {"embedding_size": 16},
    "electra": SIZES | {"embedding_size": 16},
    "roberta": SIZES | {"type_vocab_size": 1},
    "xlm-roberta": SIZES | {"type_vocab_size": 1},
    "camembert": SIZES | {"type_vocab_size": 1},
    "mobilebert": SIZES | {"embedding_size": 32, "intra_bottleneck_size": 16},
}
POSITIONS = 102
WINDOWS = {"max_length": 96, "doc_stride": 30, "max_question_length": 40}
TOLERANCE = 2e-5  # in deviations of the logits: at least two roundings of float32
# Of how it computes, not what: parts of odd sizes fail in transformers.
AS_IT_IS = {"dtype": torch.float32, "chunk_size_feed_forward": 0}
QUESTION = "Who wrote the FIRST café program in 1843?"
SENTENCE = "Ada Lovelace, naïve Zoë and Ångström [PAR] wrote it (for $3.50). 中文字 was <t> written too. "
PASSAGE = SENTENCE * 4 + "The end of ONE passage."  # several windows
ALPHABET = [*(chr(code) for code in (*range(33, 127), *range(192, 256))), "中", "文", "字"]


def wordpiece(cls="[CLS]", sep="[SEP]", pad="[PAD]", others=("[UNK]", "[MASK]"), passage_type=1):
    """Words with and without capitals and accents, and letters: any setting of a normalizer changes tokens."""
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    texts = [passages()[0], QUESTION, SENTENCE]
    texts += [normalizers.BertNormalizer().normalize_str(text) for text in texts]
    words = sorted({word for text in texts for word, _ in split(text)})
    tokens = [cls, pad, sep, *others, *ALPHABET, *(f"##{letter}" for letter in ALPHABET), "中文字", *words]
    vocabulary = {token: index for index, token in enumerate(dict.fromkeys(tokens))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return finished(tokenizer, [pad, cls, sep, *others], cls, sep, 1 + (sep == "</s>"), passage_type)


QUOTES = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]  # of ALBERT


def unigrams(cls, sep, special, n_separators, passage_type):
    """SentencePiece, lower case where it is ALBERT's."""
    tokenizer = Tokenizer(models.Unigram())
    lower = [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    tokenizer.normalizer = normalizers.Sequence([*QUOTES, *lower] if passage_type else [])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    trainer = trainers.UnigramTrainer(
        vocab_size=400,
        special_tokens=special,
        unk_token="<unk>",
        initial_alphabet=ALPHABET,
        show_progress=False,
    )
    tokenizer.train_from_iterator([*passages()[:10], QUESTION, SENTENCE], trainer)
    return finished(tokenizer, [*special, "<mask>"], cls, sep, n_separators, passage_type)


def byte_pairs():
    """As RoBERTa's."""
    tokenizer = trained_byte_pairs(400, [*passages()[:10], QUESTION, SENTENCE])
    return finished(tokenizer, BYTE_PAIR_TOKENS, "<s>", "</s>", 2, 0)


def finished(tokenizer, special, cls, sep, n_separators, passage_type):
    """Add special tokens, and how question and passage are joined."""
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {' '.join([sep] * n_separators)} $B:{passage_type} {sep}:{passage_type}",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (cls, sep)],
    )
    return tokenizer


MADE = {
    "WordPiece": wordpiece,
    "MPNet": lambda: wordpiece("<s>", "</s>", "<pad>", ("[UNK]", "<unk>", "<mask>"), 0),
    "XLM-R": lambda: unigrams("<s>", "</s>", ["<s>", "<pad>", "</s>", "<unk>"], 2, 0),
    "ALBERT": lambda: unigrams("[CLS]", "[SEP]", ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], 1, 1),
    "RoBERTa": byte_pairs,
}
OF_FAMILY = {"mpnet": "MPNet", "albert": "ALBERT", "roberta": "RoBERTa"}
OF_FAMILY |= {"xlm-roberta": "XLM-R", "camembert": "XLM-R"}
CLASSES = {
    "WordPiece": "BertTokenizer",
    "MPNet": "MPNetTokenizer",
    "XLM-R": "XLMRobertaTokenizer",
    "ALBERT": "AlbertTokenizer",
    "RoBERTa": "RobertaTokenizer",
}


@cache
def tokenizer_text(name):
    """tokenizer.json of a tokenizer of MADE."""
    return MADE[name]().to_str()


def write_checkpoint(folder, family, tokenizer="", **config):
    """Write a random checkpoint, with logits whose deviation is about 1; `config` changes its config.json."""
    name = tokenizer or OF_FAMILY.get(family, "WordPiece")
    folder.mkdir(parents=True)
    text = tokenizer_text(name)
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    typed = {"model_input_names": list(INPUTS)} if name == "ALBERT" else {}
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": CLASSES[name]} | typed)
    vocabulary = Tokenizer.from_str(text)
    sizes = FAMILY_SIZES.get(family, SIZES) | {
        "max_position_embeddings": POSITIONS,
        "pad_token_id": pad(vocabulary),
    }
    torch.manual_seed(1)
    rows = vocabulary.get_vocab_size() + 4  # some for added tokens
    model = model_class(family)(ENCODERS[family].config_class(**sizes | {"vocab_size": rows} | config)).eval()
    spread_weights(model)
    model.save_pretrained(folder)
    return folder


def pad(tokenizer):
    """Id of the padding."""
    return next(i for token in ("[PAD]", "<pad>") if (i := tokenizer.token_to_id(token)) is not None)


def model_class(family):
    """transformers' class for question answering."""
    return getattr(transformers, ENCODERS[family].question_answering)


def change_weights(folder, change):
    """Replace the weights (name, tensor) by what `change` makes of each: a dictionary."""
    path = folder / "model.safetensors"
    tensors = [change(name, tensor) for name, tensor in load_file(path).items()]
    save_file({name: tensor for made in tensors for name, tensor in made.items()}, path, {"format": "pt"})


def reference_logits(folder):
    """Start and end logits of each window, (T, 2) each, by transformers' own tokenizer and forward pass."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForQuestionAnswering.from_pretrained(folder, **AS_IT_IS).eval()
    question = tokenizer(QUESTION, add_special_tokens=False)["input_ids"]
    budget = WINDOWS["max_length"] - len(question) - tokenizer.num_special_tokens_to_add(pair=True)
    rows = tokenizer(
        QUESTION,
        PASSAGE,
        truncation="only_second",
        max_length=WINDOWS["max_length"],
        stride=budget - WINDOWS["doc_stride"],
        return_overflowing_tokens=True,
    )
    untyped = ENCODERS[model.config.model_type].n_token_types(model.config) < 2
    names = [name for name in INPUTS if name in rows and not (untyped and name == "token_type_ids")]
    logits = []
    with torch.no_grad():
        for row in range(len(rows["input_ids"])):
            output = model(**{name: torch.tensor([rows[name][row]]) for name in names}, return_dict=True)
            logits.append(torch.stack([output.start_logits[0], output.end_logits[0]], dim=-1))
    return logits


def our_logits(bundle):
    """The same, of a bundle."""
    example = Example("q", "t", PASSAGE, QUESTION, (), True)
    model = QAModel.from_pretrained(bundle.path)
    logits = []
    with torch.no_grad():
        for window in make_windows([example], bundle.tokenizer, bundle.settings):
            inputs = {name: torch.from_numpy(array) for name, array in collate([window]).items()}
            output = model(**inputs)
            logits.append(torch.stack([output["start_logits"][0], output["end_logits"][0]], dim=-1))
    return logits


def largest_difference(wanted, seen):
    """Largest difference of the logits of all windows; infinite where windows differ."""
    if [len(window) for window in wanted] != [len(window) for window in seen]:
        return float("inf")
    return max((a - b).abs().max().item() for a, b in zip(wanted, seen, strict=True))
