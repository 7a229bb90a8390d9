"""Small tokenizers of the families that no wheel carries, trained on the shipped passages."""

import json

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from qa.data.datasets import resolve
from qa.data.squad import read_squad
from qa.models.pretrained import embedded_folder


def passages():
    return list(dict.fromkeys(e.context for e in read_squad(resolve("embedded", "train"))))[:200]


BYTE_PAIR_TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def trained_byte_pairs(n_tokens, texts):
    """As RoBERTa's: byte level, case kept, <s> 0, <pad> 1, </s> 2."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=n_tokens,
        special_tokens=BYTE_PAIR_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def byte_pairs(path):
    """RoBERTa's tokenizer, as it joins question and passage."""
    tokenizer = trained_byte_pairs(1200, passages())
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    tokenizer.save(str(path / "tokenizer.json"))


def sentence_pieces(path):
    """As ALBERT's: unigrams, lower case, "▁" for a space, <pad> 0, <unk> 1, [CLS] 2, [SEP] 3."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.UnigramTrainer(
        vocab_size=600, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(passages()[:60], trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(path / "tokenizer.json"))


def mpnet_pieces(path):
    """As MPNet's: BERT's words, each id 4 higher, after <s> 0, <pad> 1, </s> 2, <unk> 3, and <mask> last."""
    parts = json.loads((embedded_folder() / "tokenizer.json").read_text(encoding="utf-8"))
    words = parts["model"]["vocab"]
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    vocabulary = {token: index for index, token in enumerate(specials)}
    vocabulary |= {token: index + len(specials) for token, index in words.items()}
    vocabulary["<mask>"] = len(vocabulary)
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [*specials, "[UNK]", "<mask>"]
    parts["model"]["vocab"] = vocabulary
    parts["added_tokens"] = [{"id": vocabulary[token], "content": token, **flags} for token in added]
    tokenizer = Tokenizer.from_str(json.dumps(parts | {"post_processor": None}))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.save(str(path / "tokenizer.json"))
