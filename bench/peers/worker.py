"""Runs and times a framework's kernels for Tilewright's bench: `worker.py torch|jax THREADS`.

One JSON object a line on standard input, one answer a line on standard output; `{"error": …}` when a request fails.
  {"op": "hello"}                                          -> {"about": text}
  {"op": "evaluate", "work": …, "inputs": [[numbers]…]}    -> {"output": [numbers]}
  {"op": "prepare", "work": …, "sets": n, "seed": n}       -> {}
  {"op": "time", "repeat": n, "min_seconds": s}            -> {"seconds": s, "inner_repeats": n}
A work is as `Work` in crates/measure/src/peers/work.rs serialises it. A measurement repeats the call inside the timed
region until that lasts `min_seconds`, as the protocol of crates/measure/src/timing.rs asks. `sets` sets of data are used
in turn. With no THREADS the framework's own default holds.
"""

import json
import math
import os
import sys
import time


def shapes(work):
    """Names of dtypes and shapes of the inputs, and of the output."""
    d = work["dtype"]
    if work["kind"] == "matmul":
        m, n, k, batch = work["m"], work["n"], work["k"], work["batch"]
        lead = [batch] if batch > 1 else []
        inputs = [(d, lead + ([k, m] if work["ta"] else [m, k])), (d, lead + ([n, k] if work["tb"] else [k, n]))]
        if work["epilogue"]["bias"]:
            inputs.append(("f32", [n]))
        return inputs
    if work["kind"] == "attention":
        b, dim = work["batch"], work["head_dim"]
        kv = (d, [b, work["kv_heads"], work["kv_len"], dim])
        return [(d, [b, work["heads"], work["q_len"], dim]), kv, kv]
    row = (d, [work["cols"]])
    extra = {"softmax": [], "rmsnorm": [row], "layernorm": [row, row]}[work["kind"]]
    return [(d, [work["rows"], work["cols"]])] + extra


class Torch:
    def __init__(self, threads):
        import torch

        self.torch = torch
        if threads:
            torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i8": torch.int8}

    def about(self):
        torch = self.torch
        lines = [line.strip(" -") for line in torch.__config__.show().splitlines()]
        blas = [line for line in lines if "Math Kernel Library" in line or "MKL-DNN v" in line]
        capability = torch.backends.cpu.get_cpu_capability()
        return f"torch {torch.__version__}, {capability}, {torch.get_num_threads()} threads; {'; '.join(blas)}"

    def tensor(self, values, dtype, shape):
        return self.torch.tensor(values, dtype=self.torch.float64).to(self.dtypes[dtype]).reshape(shape)

    def random(self, dtype, shape, seed):
        generator = self.torch.Generator().manual_seed(seed)
        if dtype == "i8":
            return self.torch.randint(-128, 128, shape, dtype=self.torch.int8, generator=generator)
        return (2 * self.torch.rand(shape, generator=generator) - 1).to(self.dtypes[dtype])

    def numbers(self, tensor):
        return tensor.double().flatten().tolist()

    def compile(self, work):
        """A function of the inputs that returns once the output is there."""
        torch, F = self.torch, self.torch.nn.functional
        kind = work["kind"]
        if kind == "matmul":
            ta, tb, epilogue = work["ta"], work["tb"], work["epilogue"]
            side = lambda x, t: x.transpose(-1, -2) if t else x
            if work["dtype"] == "i8":
                return lambda a, b: torch._int_mm(side(a, ta), side(b, tb))
            act = {
                None: lambda x: x,
                "relu": F.relu,
                "gelu": lambda x: F.gelu(x, approximate="tanh"),
                "gelu_erf": F.gelu,
                "silu": F.silu,
            }[epilogue["activation"]]
            if not epilogue["bias"]:
                return lambda a, b: act(torch.matmul(side(a, ta), side(b, tb)))
            # linear is the fused form; its weight is [n, k], and its bias has the type of the operands.
            if work["batch"] == 1:
                return lambda a, b, bias: act(F.linear(side(a, ta), side(b, not tb), bias.to(a.dtype)))
            return lambda a, b, bias: act(torch.matmul(side(a, ta), side(b, tb)) + bias.to(a.dtype))
        if kind == "softmax":
            return lambda x: F.softmax(x, dim=-1)
        cols = [work["cols"]] if kind != "attention" else None
        if kind == "rmsnorm":
            return lambda x, w: F.rms_norm(x, cols, w, 1e-6)
        if kind == "layernorm":
            return lambda x, w, bias: F.layer_norm(x, cols, w, bias, 1e-5)
        q_len, kv_len = work["q_len"], work["kv_len"]
        grouped = work["heads"] != work["kv_heads"]
        if work["causal"] and q_len != kv_len:
            # is_causal aligns the first query with the first key; here the last ones are aligned.
            mask = torch.ones(q_len, kv_len, dtype=torch.bool).tril(kv_len - q_len)
            return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=grouped)
        causal = work["causal"]
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped)


class Jax:
    def __init__(self, threads):
        # XLA's thread pool takes its size from the processors that the process may use.
        if threads:
            allowed = sorted(os.sched_getaffinity(0))
            if threads < len(allowed):
                os.sched_setaffinity(0, allowed[:threads])
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import jax.numpy as jnp

        self.jax, self.jnp = jax, jnp
        self.dtypes = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16, "i8": jnp.int8}

    def about(self):
        return f"jax {self.jax.__version__}, XLA for {self.jax.devices()[0].platform}, {len(os.sched_getaffinity(0))} threads"

    def tensor(self, values, dtype, shape):
        return self.jnp.asarray(values, dtype=self.jnp.float32).astype(self.dtypes[dtype]).reshape(shape)

    def random(self, dtype, shape, seed):
        key = self.jax.random.key(seed)
        if dtype == "i8":
            return self.jax.random.randint(key, shape, -128, 128, self.jnp.int8)
        return self.jax.random.uniform(key, shape, self.jnp.float32, -1, 1).astype(self.dtypes[dtype])

    def numbers(self, array):
        import numpy

        return numpy.asarray(array, dtype=numpy.float64).flatten().tolist()

    def compile(self, work):
        """A function of the inputs that returns once the output is there."""
        jitted = self.jax.jit(self.function(work))
        return lambda *inputs: jitted(*inputs).block_until_ready()

    def function(self, work):
        jax, jnp = self.jax, self.jnp
        kind, dtype = work["kind"], self.dtypes[work["dtype"]]
        f32 = jnp.float32
        if kind == "matmul":
            ta, tb, epilogue = work["ta"], work["tb"], work["epilogue"]
            side = lambda x, t: jnp.swapaxes(x, -1, -2) if t else x
            wide = jnp.int32 if work["dtype"] == "i8" else f32
            act = {
                None: lambda x: x,
                "relu": jax.nn.relu,
                "gelu": lambda x: jax.nn.gelu(x, approximate=True),
                "gelu_erf": lambda x: jax.nn.gelu(x, approximate=False),
                "silu": jax.nn.silu,
            }[epilogue["activation"]]

            def matmul(a, b, bias=None):
                o = jnp.matmul(side(a, ta), side(b, tb), preferred_element_type=wide)
                o = act(o if bias is None else o + bias)
                return o if wide == jnp.int32 else o.astype(dtype)

            return matmul
        if kind == "softmax":
            return lambda x: jax.nn.softmax(x.astype(f32), axis=-1).astype(dtype)
        if kind == "rmsnorm":

            def rmsnorm(x, w):
                x = x.astype(f32)
                return (x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * w).astype(dtype)

            return rmsnorm
        if kind == "layernorm":

            def layernorm(x, w, bias):
                x = x.astype(f32)
                centred = x - jnp.mean(x, -1, keepdims=True)
                variance = jnp.mean(centred * centred, -1, keepdims=True)
                return (centred * jax.lax.rsqrt(variance + 1e-5) * w + bias).astype(dtype)

            return layernorm
        q_len, kv_len = work["q_len"], work["kv_len"]
        mask = jnp.tril(jnp.ones((q_len, kv_len), bool), kv_len - q_len) if work["causal"] else None

        def attention(q, k, v):
            # jax.nn takes [batch, length, heads, dim].
            q, k, v = (jnp.swapaxes(x, 1, 2) for x in (q, k, v))
            return jnp.swapaxes(jax.nn.dot_product_attention(q, k, v, mask=mask), 1, 2)

        return attention


class Worker:
    def __init__(self, framework):
        self.framework = framework
        self.inner = 1

    def hello(self, request):
        return {"about": self.framework.about()}

    def evaluate(self, request):
        work = request["work"]
        inputs = [self.framework.tensor(v, *spec) for v, spec in zip(request["inputs"], shapes(work), strict=True)]
        return {"output": self.framework.numbers(self.framework.compile(work)(*inputs))}

    def prepare(self, request):
        work, seed = request["work"], request["seed"]
        self.call = self.framework.compile(work)
        self.sets = [
            [self.framework.random(*spec, (seed + 1000 * s + i) % 2**31) for i, spec in enumerate(shapes(work))]
            for s in range(request["sets"])
        ]
        self.call(*self.sets[0])
        return {}

    def time(self, request):
        inputs = self.sets[request["repeat"] % len(self.sets)]
        call, least, inner = self.call, request["min_seconds"], self.inner
        while True:
            start = time.perf_counter()
            for _ in range(inner):
                call(*inputs)
            elapsed = time.perf_counter() - start
            if elapsed >= least:
                self.inner = inner
                return {"seconds": elapsed / inner, "inner_repeats": inner}
            wanted = inner * least / elapsed * 1.25 if elapsed > 0 else math.inf
            inner = max(math.ceil(min(wanted, inner * 10)), inner + 1)


def main():
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    # Whatever a framework prints must not end up between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    worker = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if worker is None:
                worker = Worker({"torch": Torch, "jax": Jax}[sys.argv[1]](threads))
            answer = {op: getattr(worker, op) for op in ("hello", "evaluate", "prepare", "time")}[request["op"]](request)
        except Exception as e:
            answer = {"error": f"{type(e).__name__}: {e}"}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
