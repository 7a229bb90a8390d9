"""Precision of training: bf16 (autocast) where the hardware computes in it, else fp32."""

import torch

from distill.training.options import AUTO

# x86 CPUs that multiply bf16 have one of these (names of torch.cpu.get_capabilities). Others convert on the
# way, and a step then takes about three times as long as in fp32.
CPU_CAPABILITIES = ("avx512_bf16", "amx_bf16")


def resolve_precision(wanted: str) -> str:
    """Return bf16 or fp32; for auto the one that suits this machine."""
    if wanted != AUTO:
        return wanted
    if torch.cuda.is_available():
        has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        has_bf16 = any(torch.cpu.get_capabilities().get(name, False) for name in CPU_CAPABILITIES)
    return "bf16" if has_bf16 else "fp32"
