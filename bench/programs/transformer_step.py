"""Writes a training step of a sharded transformer as StableHLO: `python3 transformer_step.py FILE [LAYERS]`.

Needs `jax` alone, and no TPU. Data parallel over 4 chips, tensor parallel over 4, for `tilewright explain FILE --target
tpu-v5e --topology v5e:4x4`: rotary attention, a gated MLP, RMS norms, a cross-entropy loss, gradients, and Adam in float32.
The layers are not scanned, so that each has ops of its own.
"""

import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=16"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

VOCABULARY, WIDTH, HEADS, HIDDEN, BATCH, LENGTH = 32768, 2048, 16, 5632, 16, 1024
HEAD = WIDTH // HEADS

MESH = Mesh(np.array(jax.devices()).reshape(4, 4), ("data", "model"))


def sharded(*axes):
    return NamedSharding(MESH, PartitionSpec(*axes))


def parameters(layers):
    """Shapes and shardings of the weights."""
    layer = {
        "norm_attention": ((WIDTH,), sharded()),
        "query": ((WIDTH, WIDTH), sharded(None, "model")),
        "key": ((WIDTH, WIDTH), sharded(None, "model")),
        "value": ((WIDTH, WIDTH), sharded(None, "model")),
        "out": ((WIDTH, WIDTH), sharded("model", None)),
        "norm_mlp": ((WIDTH,), sharded()),
        "gate": ((WIDTH, HIDDEN), sharded(None, "model")),
        "up": ((WIDTH, HIDDEN), sharded(None, "model")),
        "down": ((HIDDEN, WIDTH), sharded("model", None)),
    }
    return {
        "embedding": ((VOCABULARY, WIDTH), sharded("model", None)),
        "layers": [layer] * layers,
        "norm": ((WIDTH,), sharded()),
        "head": ((WIDTH, VOCABULARY), sharded(None, "model")),
    }


def norm(x, scale):
    x32 = x.astype(jnp.float32)
    return (x32 * jax.lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-6) * scale).astype(x.dtype)


def rotate(x):
    """Rotary position embedding of [batch, length, heads, head]."""
    angle = jnp.arange(LENGTH)[:, None] * 10000.0 ** (-jnp.arange(HEAD // 2) / (HEAD // 2))
    sin, cos = jnp.sin(angle)[None, :, None], jnp.cos(angle)[None, :, None]
    a, b = jnp.split(x.astype(jnp.float32), 2, -1)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1).astype(x.dtype)


def attention(x, w):
    heads = lambda y: y.reshape(*y.shape[:2], HEADS, HEAD)
    q, k, v = rotate(heads(x @ w["query"])), rotate(heads(x @ w["key"])), heads(x @ w["value"])
    scores = jnp.einsum("blhd,bmhd->bhlm", q, k).astype(jnp.float32) / HEAD**0.5
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    mixed = jnp.einsum("bhlm,bmhd->blhd", jax.nn.softmax(scores).astype(x.dtype), v)
    return mixed.reshape(*x.shape) @ w["out"]


def loss(weights, tokens):
    weights = jax.tree.map(lambda w: w.astype(jnp.bfloat16), weights)
    x = weights["embedding"][tokens]
    for w in weights["layers"]:
        x = x + attention(norm(x, w["norm_attention"]), w)
        y = norm(x, w["norm_mlp"])
        x = x + (jax.nn.silu(y @ w["gate"]) * (y @ w["up"])) @ w["down"]
        x = jax.lax.with_sharding_constraint(x, sharded("data"))
    logits = (norm(x, weights["norm"]) @ weights["head"]).astype(jnp.float32)
    likely = jax.nn.log_softmax(logits[:, :-1])
    return -jnp.mean(jnp.take_along_axis(likely, tokens[:, 1:, None], -1))


def step(state, tokens):
    """One step of Adam: weights, two moments and the count."""
    value, gradients = jax.value_and_grad(loss)(state["weights"], tokens)
    count = state["count"] + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["first"], gradients)
    second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, state["second"], gradients)
    rate1, rate2 = 1 - 0.9**count, 1 - 0.95**count
    update = lambda w, m, v: w - 3e-4 * ((m / rate1) / (jnp.sqrt(v / rate2) + 1e-8) + 0.1 * w)
    weights = jax.tree.map(update, state["weights"], first, second)
    return {"weights": weights, "first": first, "second": second, "count": count}, value


def main(file, layers=2):
    of = lambda pair: jax.ShapeDtypeStruct(pair[0], jnp.float32, sharding=pair[1])
    is_leaf = lambda x: isinstance(x, tuple)
    weights = jax.tree.map(of, parameters(layers), is_leaf=is_leaf)
    count = jax.ShapeDtypeStruct((), jnp.float32, sharding=sharded())
    state = {"weights": weights, "first": weights, "second": weights, "count": count}
    tokens = jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32, sharding=sharded("data", None))
    places = jax.tree.map(lambda s: s.sharding, state)
    function = jax.jit(step, donate_argnums=0, out_shardings=(places, sharded()))
    with open(file, "w") as out:
        out.write(function.lower(state, tokens).as_text())


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
