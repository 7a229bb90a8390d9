#!/bin/sh
# Make .venv/bin/python for the recipes on a machine without a network, from the Python there and a folder of wheels.
#
#   recipes/bare_machine.sh WHEELS
#
# That Python, python3, needs torch, transformers, accelerate, safetensors, numpy and, for the pictures of the page,
# matplotlib. What it lacks otherwise is in the wheels. Download them for its version on another machine:
#   pip download --only-binary :all: --python-version 3.12 --platform manylinux2014_x86_64 --dest WHEELS msgspec 'tyro<1'
# LiteRT is not needed to train, nor to measure on a GPU. Exports need it.
set -eu

[ $# -eq 1 ] && [ -d "$1" ] || { echo "usage: recipes/bare_machine.sh WHEELS, a folder" >&2; exit 2; }
[ ! -e .venv ] || { echo "error: .venv: exists already; remove it, or use it" >&2; exit 2; }

set -- "$1"/*.whl
[ -e "$1" ] || { echo "error: ${1%/*}: has no wheels; download them as the first lines of $0 say" >&2; exit 2; }

trap 'rm -rf .venv' EXIT # unless all of it works
for wheel; do
  python3 -m zipfile -e "$wheel" .venv/wheels
done
mkdir -p .venv/bin
cat > .venv/bin/python <<END
#!/bin/sh
export PYTHONPATH="$PWD:$PWD/.venv/wheels"
exec python3 "\$@"
END
chmod +x .venv/bin/python
.venv/bin/python -c 'import accelerate, matplotlib, safetensors, torch, transformers, benchmarks.options, benchmarks.results.rows
print(f"torch {torch.__version__}, transformers {transformers.__version__}, GPUs: {torch.cuda.device_count()}")'
trap - EXIT
