"""Facts of a result that come from its bundle."""

import pytest

from benchmarks.measure.models import bundle_metadata
from compress.embeddings import EmbeddingsConfig, main
from distill.finetune import FinetuneConfig
from distill.finetune import main as finetune

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


def test_a_model_trained_from_one_with_quantized_embeddings_still_has_them(
    make_bundle, small_squad, tmp_path
):
    quantized = main(EmbeddingsConfig(make_bundle(), tmp_path / "pq4", "pq4", data=str(small_squad)))
    further = finetune(
        FinetuneConfig(model=str(quantized.path), data=str(small_squad), out=tmp_path / "further", epochs=0.1)
    )
    assert [bundle_metadata(bundle, "m")["embeddings"] for bundle in (quantized, further)] == ["pq4"] * 2
