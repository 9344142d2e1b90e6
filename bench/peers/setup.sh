#!/bin/sh
# Installs the peers that `tilewright bench --vs` races against, into a Python environment in the user's data folder:
# OpenBLAS and oneDNN (about 50 MB), and with --all PyTorch and JAX too (about 800 MB). Nothing else runs this.
# TILEWRIGHT_PEERS names another folder; the program looks in the same one. Remove the folder to uninstall.
set -eu

# oneDNN's wheels after 2023.2 are built on SYCL and need its runtime; the newest oneDNN comes inside PyTorch.
libraries="scipy-openblas64==0.3.34.481.3 onednn-cpu-gomp==2023.2.0"
torch="torch==2.15.0"
torch_needs="filelock==4.3.1 fsspec==2026.9.0 jinja2==3.1.6 networkx==3.6.1 numpy==2.4.6 setuptools==84.2.1 sympy==1.14.0 typing-extensions==4.16.0"
jax="jax==0.10.2 jaxlib==0.10.2"

all=no
case "${1-}" in
    "") ;;
    --all) all=yes ;;
    *) echo "usage: setup.sh [--all]" >&2; exit 2 ;;
esac

here=$(cd "$(dirname "$0")" && pwd)
folder=${TILEWRIGHT_PEERS:-${XDG_DATA_HOME:-$HOME/.local/share}/tilewright/peers}
if ! [ -x "$folder/bin/python" ]; then
    if ! python3 -m venv "$folder"; then
        echo "setup.sh: python3 cannot make an environment; on Debian install python3-venv" >&2
        exit 3
    fi
fi
install() { "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }

# shellcheck disable=SC2086 # the lists are meant to split
{
    echo "installing OpenBLAS and oneDNN into $folder"
    install $libraries
    if [ $all = yes ]; then
        echo "installing JAX"
        install $jax
        "$folder/bin/python" -c 'import jax; print("jax", jax.__version__)'
        echo "installing PyTorch"
        install $torch_needs
        # The wheel depends on 3 GB of CUDA libraries that its CPU kernels never call.
        install --no-deps $torch
        "$folder/bin/python" "$here/cuda_standins.py" "$("$folder/bin/python" -c \
            'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')/lib"
        "$folder/bin/python" -W ignore -c 'import torch; print("torch", torch.__version__)'
    fi
}
echo "done; \`tilewright bench … --vs openblas,onednn\` finds them"
