"""Makes the tables of internal/language/text/synonyms and internal/recall/embed/static from the weights of all-MiniLM-L6-v2. See README.md.

Both start from one vector per WordPiece: the piece alone through the model, [CLS] piece [SEP], the mean of the three
states; then the main components of all pieces, as model2vec makes them.
"""

import gzip
import json
import subprocess
from pathlib import Path

import numpy as np

import minilm

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "internal/recall/embed/static"
NEAR = ROOT / "internal/language/text/synonyms"

DIMENSION = 256
SIF = 2e-3  # a of a/(a+p), Arora et al. 2017; see README.md for how it was chosen
NEAREST = 30
LEAST_COSINE = 0.40


def main():
    tokenizer = minilm.tokenizer()
    names = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    vectors = principal(minilm.Encoder().alone(tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")))
    weighted = vectors * weights(names)[:, None]
    kept = [i for i, name in enumerate(names) if is_text(name)]
    pieces = [names[i] for i in kept]
    write_static(pieces, weighted[kept])
    write_golden(tokenizer, pieces, weighted[kept])
    write_near(pieces, vectors[kept])


def is_text(piece):
    """Whether a piece can stand for text: [CLS] and [unused7] cannot, [ can."""
    return len(piece) == 1 or not (piece.startswith("[") and piece.endswith("]"))


def principal(vectors):
    """The vectors' main components. Their signs are fixed, so that equal vectors give equal components."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :DIMENSION]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(DIMENSION)])
    return (centred @ axes).astype(np.float32)


def weights(pieces):
    """Smooth inverse frequency by Zipf's law: BERT's vocabulary is sorted by frequency from its first whole word on.
    What stands before, punctuation and single characters, weighs as little as that word."""
    first = pieces.index("the")
    share = 1 / (np.maximum(np.arange(len(pieces)) - first, 0) + 2.7)  # Mandelbrot's offset
    share /= share[first:].sum()
    return (SIF / (SIF + share)).astype(np.float32)


def write_static(pieces, vectors):
    scales = (np.abs(vectors).max(axis=1) / 127).astype("<f4")
    values = np.rint(vectors / scales[:, None]).astype(np.int8)
    (STATIC / "vocabulary.txt").write_text("".join(p + "\n" for p in pieces), encoding="utf-8")
    (STATIC / "vectors.bin").write_bytes(scales.tobytes() + values.tobytes())
    print(len(pieces), "pieces,", scales.nbytes + values.nbytes, "bytes of vectors")


def write_golden(tokenizer, pieces, vectors):
    """What the original tokenizer and the vectors before they became int8 say of a few sentences, times 10,000."""
    row = {p: i for i, p in enumerate(pieces)}
    golden = []
    for text in (Path(__file__).parent / "sentences.txt").read_text(encoding="utf-8").splitlines():
        known = [p for p in tokenizer.encode(text, add_special_tokens=False).tokens if p in row]
        total = vectors[[row[p] for p in known]].sum(axis=0)
        unit = total / max(np.linalg.norm(total), 1e-9)
        golden.append({"text": text, "pieces": known, "vector": np.rint(unit * 10_000).astype(int).tolist()})
    lines = ",\n".join(json.dumps(g, ensure_ascii=False, separators=(",", ":")) for g in golden)
    (STATIC / "testdata/golden.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(len(golden), "golden sentences")


def write_near(pieces, vectors):
    words = [(i, p) for i, p in enumerate(pieces) if len(p) >= 3 and p.isascii() and p.isalpha()]
    rows = {}
    for (i, _), term in zip(words, fold([w for _, w in words]), strict=True):
        if term:
            rows.setdefault(term, i)  # the most frequent form speaks for the term
    terms = sorted(rows)
    neighbours = nearest(vectors[[rows[t] for t in terms]])
    data = encode(terms, neighbours)
    (NEAR / "near.bin.gz").write_bytes(gzip.compress(data, 9, mtime=0))
    print(len(terms), "terms,", sum(map(len, neighbours)), "pairs,", (NEAR / "near.bin.gz").stat().st_size, "bytes")


def fold(words):
    """The words' terms by the product's own analyzer; "" for those that have no place among near words."""
    run = subprocess.run(
        ["go", "run", "./tools/semantics/fold"],
        cwd=ROOT, input="".join(w + "\n" for w in words), capture_output=True, text=True, check=True,
    )
    return run.stdout.split("\n")[:-1]


def nearest(vectors):
    """For each vector the nearest others, best first: (row, cosine times 100)."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    out = []
    for begin in range(0, len(unit), 1000):
        for i, cosines in enumerate(unit[begin : begin + 1000] @ unit.T, begin):
            cosines[i] = 0
            near = np.flatnonzero(cosines >= LEAST_COSINE)
            near = near[np.argsort(-cosines[near], kind="stable")][:NEAREST]
            out.append([(int(j), round(float(cosines[j]) * 100)) for j in near])
    return out


def encode(terms, neighbours):
    """Terms a line, an empty line, then three runs of numbers: how many neighbours each term has (uint8), and of all
    those in order the rows (uint16, little endian) and the cosines times 100 (uint8)."""
    flat = [pair for near in neighbours for pair in near]
    return b"".join([
        "".join(t + "\n" for t in terms).encode() + b"\n",
        np.array([len(near) for near in neighbours], np.uint8).tobytes(),
        np.array([j for j, _ in flat], "<u2").tobytes(),
        np.array([c for _, c in flat], np.uint8).tobytes(),
    ])


if __name__ == "__main__":
    main()
