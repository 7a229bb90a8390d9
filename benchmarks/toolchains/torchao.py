"""torchao: int8 weights and, as it runs, int8 activations in every Linear, then torch.compile.

`quantize_` with Int8DynamicActivationInt8WeightConfig, as documented: one scale for each output
channel and for each token, and a narrower range on a CPU without VNNI, which torchao's own helper decides.
The quantized state is stored as safetensors, by torchao's own flattening, and assigned to a new model.
Compiled in the mode that torchao's documentation takes.
"""

import json
import shutil
from importlib.metadata import version
from pathlib import Path

from benchmarks.measure.worker import Model
from benchmarks.toolchains.torch_compile import check_compiler, compiled

PACKAGES = ("torchao", "torch", "transformers")
LIBRARIES = ("torch._inductor.compile_fx", "torchao.quantization", "qa.models.model")
STATE = "model.safetensors"
MODE = "max-autotune"


def prepare(source: Path, out: Path, calibration: Path, precision: str) -> None:
    """Quantize every Linear and save the state beside config.json."""
    import torch
    from safetensors.torch import save_file
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_
    from torchao.utils import should_reduce_range

    from qa.models.model import CONFIG, QAModel

    check_compiler()
    model = QAModel.from_pretrained(source)
    quantize_(
        model, Int8DynamicActivationInt8WeightConfig(reduce_range=should_reduce_range(torch.device("cpu")))
    )
    tensors, metadata = flatten_tensor_state_dict(model.state_dict())
    save_file(tensors, out / STATE, metadata)
    shutil.copy(source / CONFIG, out / CONFIG)


def load(path: Path, threads: int) -> Model:
    """Build, assign the quantized state, compile and warm up."""
    from safetensors import safe_open
    from torchao.prototype.safetensors.safetensors_support import unflatten_tensor_state_dict
    from torchao.quantization.utils import recommended_inductor_config_setter

    from qa.models.model import CONFIG, QAModel

    check_compiler()
    recommended_inductor_config_setter()  # quantize_ sets these; here it ran in another process
    model = QAModel.from_config(json.loads((path / CONFIG).read_text(encoding="utf-8")), str(path / CONFIG))
    with safe_open(path / STATE, "pt") as file:
        state, _ = unflatten_tensor_state_dict(
            {name: file.get_tensor(name) for name in file.keys()},  # noqa: SIM118
            file.metadata(),
        )
    model.load_state_dict(state, assign=True)
    served = compiled(model.eval(), threads, MODE)
    return Model(("torchao", version("torchao"), ""), served.lengths, served.call, served.max_batch)
