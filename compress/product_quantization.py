"""Product quantization of an embedding table: codes and codebooks by weighted k-means (Jégou et al. 2011)."""

import sys
from collections.abc import Sequence

import numpy as np
from torch import nn

from qa.base.errors import OptionError
from qa.base.progress import Progress
from qa.bundles.bundle import Bundle
from qa.data.squad import Example
from qa.formats.precision import GROUP_SIZES
from qa.models.model import QAModel
from qa.models.quantized_embedding import CODEBOOK_SIZE, FIRST_CODE, ProductQuantizedEmbedding
from qa.text.features import make_windows

ROUNDS = 12  # of k-means
CHUNK = 8192  # tokens whose distances to all entries fit a core's cache


def token_counts(bundle: Bundle, n_tokens: int, examples: Sequence[Example]) -> np.ndarray:
    """Return how often each of `n_tokens` tokens occurs in a bundle's windows of some questions, (V,)."""
    windows = make_windows(examples, bundle.tokenizer, bundle.settings)
    return np.bincount(np.concatenate([window.input_ids for window in windows]), minlength=n_tokens)


def compress_words(model: QAModel, form: str, counts: np.ndarray) -> None:
    """Product-quantize the model's embedding table in place; `form` is a key of GROUP_SIZES.

    `counts` (V,) are the tokens' counts in text. A table of this form stays as it is; one in a larger form is
    quantized a second time. OptionError for a table that is smaller already.
    """
    words = model.encoder.words
    if isinstance(words, ProductQuantizedEmbedding):
        if words.form == form:
            return
        if GROUP_SIZES[words.form] > GROUP_SIZES[form]:
            smaller = f"the embedding table is {words.form} already, which is smaller"
            raise OptionError(f"{smaller}; make {form} from the model that it was made of")
    model.encoder.set_words(product_quantized(words, form, counts))


def product_quantized(
    words: nn.Embedding | ProductQuantizedEmbedding, form: str, counts: np.ndarray
) -> ProductQuantizedEmbedding:
    """Return codes and codebooks of an embedding table, on its device."""
    table = ProductQuantizedEmbedding(words.num_embeddings, words.embedding_dim, form)
    n_groups, _, width = table.codebooks.shape
    values = np.zeros((words.num_embeddings, n_groups * width), np.float32)
    values[:, : words.embedding_dim] = words.weight.detach().float().cpu().numpy()
    # A middle between equal weights and counts; tokens that never occur, mostly names, count as occurring
    # once.
    weights = np.sqrt(counts + 1.0)
    codes = table.get_buffer("codes").numpy()
    codebooks = table.codebooks.detach().numpy()
    groups = np.split(values, n_groups, axis=1)
    print(f"product-quantizing {words.num_embeddings:,} word vectors as {form}", file=sys.stderr)
    for number, group in enumerate(Progress(groups, desc=form, unit="group")):
        nearest, entries = k_means(group, weights, seed=number)
        codes[:, number] = nearest + FIRST_CODE
        codebooks[number, : len(entries)] = entries
    return table.to(words.weight.device)


def k_means(points: np.ndarray, weights: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Cluster points (V, W) with weights (V,): return each one's centre number (V,), and the centres."""
    random = np.random.default_rng(seed)
    share = weights / weights.sum()
    n_centres = min(CODEBOOK_SIZE, len(points))
    centres = points[random.choice(len(points), n_centres, replace=False, p=share)]
    for _ in range(ROUNDS):
        nearest = nearest_centres(points, centres)
        mass = np.bincount(nearest, weights, n_centres)
        sums = [np.bincount(nearest, weights * column, n_centres) for column in points.T]
        centres = (np.stack(sums, axis=1) / np.maximum(mass, 1e-12)[:, None]).astype(np.float32)
        empty = np.flatnonzero(mass == 0)
        centres[empty] = points[random.choice(len(points), len(empty), p=share)]
    return nearest_centres(points, centres), centres


def nearest_centres(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return for each point (V, W) the number of the centre (K, W) at the least squared distance."""
    # |p - c|^2 is least where p . c - |c|^2 / 2 is greatest.
    towards = np.concatenate([centres, -0.5 * np.square(centres).sum(axis=1, keepdims=True)], axis=1).T
    with_one = np.concatenate([points, np.ones_like(points[:, :1])], axis=1)
    return np.concatenate(
        [(with_one[at : at + CHUNK] @ towards).argmax(axis=1) for at in range(0, len(points), CHUNK)]
    )
