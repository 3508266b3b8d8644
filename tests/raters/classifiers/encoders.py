"""A tiny encoder with random weights, a real BERT of two layers, and dialogues that it can learn in seconds."""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

LETTERS = string.ascii_lowercase + string.digits + "。，？！.,?!'[]" + "我今天很累睡不着谢你怎么了"
SAID = {
    "calm": ("I slept well", "the walk helped", "my dog makes me smile", "work was fine"),
    "panic": ("my heart races", "I cannot breathe", "the fear came back", "I shake all over"),
    "sad": ("I cried all day", "nothing feels warm", "I miss her", "the house is empty"),
}
WHEN = ("today", "again", "on monday", "since june", "at home", "in town", "last night", "this week")


def write(folder: Path, *, positions: int = 64) -> Path:
    """Write configuration, weights and tokenizer of a fresh encoder."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    said = " ".join(part for texts in (*SAID.values(), WHEN) for part in texts).lower().split()
    pieces = dict.fromkeys((*special, *LETTERS, *(f"##{letter}" for letter in LETTERS), *said))
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    words = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    words.normalizer = normalizers.BertNormalizer()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=positions, **names)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=positions, initializer_range=0.2,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def rows(each: int, *, seed: int = 0, labels: tuple[str, ...] = ("calm", "panic", "sad")) -> list[dict[str, Any]]:
    """Make labelled rows, `each` of a label, every one a dialogue of its own."""
    generator = random.Random(seed)
    made = [
        {"text": f"{generator.choice(SAID[label])} {generator.choice(WHEN)} {seed}.{i}", "label": label, "cluster": f"{seed} {label} {i}"}
        for label in labels
        for i in range(each)
    ]  # fmt: skip
    generator.shuffle(made)
    return made
