"""The model that scripts/train_acts.py teaches: the encoder's layers with changes of low rank, and two heads. Torch."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

HEADS, WIDTH, KINDS, LABELS = 12, 384, 5, 6
BEFORE, UNKNOWN = 4, 3


@dataclass
class ActRows:
    """Sentences in numbers, each in as many columns as the longest needs; labels are -1 where there is none."""

    pieces: Tensor
    kinds: Tensor
    there: Tensor
    starts: Tensor
    labels: Tensor
    acts: Tensor

    @property
    def lengths(self) -> Tensor:
        """How many pieces each sentence has."""
        return self.there.sum(1)

    def rows(self, chosen: Tensor) -> ActRows:
        """Return some of them, in no more columns than they need."""
        one = ActRows(*(values[chosen] for values in vars(self).values()))
        wide, words = int(one.lengths.max()), int((one.starts > 0).sum(1).max())
        columns = (one.pieces[:, :wide], one.kinds[:, :wide], one.there[:, :wide])
        return ActRows(*columns, one.starts[:, :words], one.labels[:, :words], one.acts)


def batch_of(rows: Sequence[Any], device: str) -> ActRows:
    """Return rows of train_acts.prepare as tensors."""

    def table(lists: Sequence[Sequence[int]], empty: int) -> Tensor:
        wide = max(map(len, lists))
        return torch.tensor([[*row, *[empty] * (wide - len(row))] for row in lists], device=device)

    pieces = table([row[1] for row in rows], 1)
    starts = table([row[3] for row in rows], 0)
    labels = torch.full_like(starts, -1)
    for at, row in enumerate(rows):
        labels[at, : len(row[4])] = torch.tensor(row[4], dtype=labels.dtype)
    there = table([[1] * len(row[1]) for row in rows], 0).bool()
    acts = torch.tensor([row[0] for row in rows], device=device)
    return ActRows(pieces, table([row[2] for row in rows], 0), there, starts, labels, acts)


class ActsModel(nn.Module):
    """The encoder as published, which stays as it is, and what is taught: its parameters."""

    def __init__(self, base: Mapping[str, Any], acts: int, settings: Any, device: str) -> None:
        super().__init__()
        self.set = settings
        layers, rank = settings.LAYERS, settings.RANK
        fixed = {name: torch.tensor(values, device=device).float() for name, values in base.items()}
        self.matrices = {name: fixed[f"{name}.w"].bfloat16() for name in settings.MATRICES}
        self.words, self.places = fixed["words"], fixed["places"]
        self.norm = fixed["norm_w"], fixed["norm_b"]

        def learnt(values: Tensor) -> nn.Parameter:
            return nn.Parameter(values.to(device).float())

        for name, (rows, columns) in settings.MATRICES.items():
            setattr(self, f"A_{name}", learnt(torch.randn(layers, rank, columns) / math.sqrt(columns) * 1.4))
            setattr(self, f"B_{name}", learnt(torch.zeros(layers, rows, rank)))
        for name in settings.VECTORS:
            setattr(self, "b__" + name.replace(".", "__"), learnt(fixed[name]))
        self.kinds = learnt(fixed["kind"].repeat(KINDS, 1))
        self.act_weights, self.act_bias = learnt(torch.randn(acts, 2 * WIDTH) * 0.02), learnt(torch.zeros(acts))
        wide = settings.SLOT_WIDTH
        self.slot_acts, self.slot_inner = (
            learnt(torch.randn(acts, wide) * 0.02),
            learnt(torch.randn(wide, WIDTH) * 0.05),
        )
        self.slot_inner_bias = learnt(torch.zeros(wide))
        self.slot_weights, self.slot_bias = learnt(torch.randn(LABELS, wide) * 0.08), learnt(torch.zeros(LABELS))
        self.slot_steps = learnt(torch.zeros(LABELS, LABELS))

    @torch.no_grad()
    def start_from(self, taught: Mapping[str, Any], acts: Sequence[str]) -> None:
        """Take over what was taught before (an encoder.npz and an acts.npz); acts that are new begin as any does."""
        known = json.loads(str(taught["acts"]))
        places = [(acts.index(act), at) for at, act in enumerate(known) if act in acts]
        now, before = map(list, zip(*places, strict=True))
        for name, values in self.named_parameters():
            stored = name.replace("__", ".").replace("A_", "A.").replace("B_", "B.")
            array = torch.tensor(taught[stored].astype("float32"), device=values.device)
            if f"{stored}.scale" in taught:
                scale = torch.tensor(taught[f"{stored}.scale"].astype("float32"), device=values.device)
                array = array * (scale[..., None] if array.shape[:2] == scale.shape else scale[:, None])
            if name in ("act_weights", "act_bias", "slot_acts"):
                values[now] = array[before]
            else:
                values.copy_(array)

    def states(self, rows: ActRows) -> Tensor:
        """Return (sentences, pieces, 384)."""
        drop = self.set.DROP if self.training else 0.0
        pieces, there = rows.pieces, rows.there
        if self.training:
            lost = torch.rand(pieces.shape, device=pieces.device) < self.set.DROP_WORD
            pieces = torch.where(lost & there & (rows.kinds != BEFORE), UNKNOWN, pieces)
            alone = torch.rand(len(pieces), 1, device=pieces.device) < self.set.DROP_BEFORE
            there = there & ~(alone & (rows.kinds == BEFORE))
        x = self.words[pieces] + self.places[: pieces.shape[1]] + self.kinds[rows.kinds]
        x = functional.dropout(functional.layer_norm(x, (WIDTH,), *self.norm, 1e-12), drop)
        mask = torch.zeros(there.shape, device=x.device).masked_fill(~there, -1e4)[:, None, None, :].bfloat16()

        def heads(y: Tensor) -> Tensor:
            return y.view(*y.shape[:2], HEADS, -1).transpose(1, 2)

        with torch.autocast(x.device.type, torch.bfloat16):
            for at in range(self.set.LAYERS):

                def linear(y: Tensor, name: str, at: int = at) -> Tensor:
                    left, right = getattr(self, f"B_{name}")[at], getattr(self, f"A_{name}")[at]
                    change = functional.linear(functional.linear(y, right), left)  # the large matrix needs no slope
                    return functional.linear(y, self.matrices[name][at], getattr(self, f"b__{name}__b")[at]) + change

                def norm(y: Tensor, name: str, at: int = at) -> Tensor:
                    weights = getattr(self, f"b__{name}__w")[at], getattr(self, f"b__{name}__b")[at]
                    return functional.layer_norm(y.float(), (WIDTH,), *weights, 1e-12)

                seen = functional.scaled_dot_product_attention(
                    *(heads(linear(x, name)) for name in "qkv"), attn_mask=mask, dropout_p=drop
                )
                x = norm(x + functional.dropout(linear(seen.transpose(1, 2).reshape(x.shape), "ao"), drop), "aln")
                x = norm(x + functional.dropout(linear(functional.gelu(linear(x, "fi")), "fo"), drop), "oln")
        return x

    def scores(self, rows: ActRows) -> tuple[Tensor, Tensor]:
        """Return (sentences, acts), and (sentences, words, labels) for the act that each sentence asks for."""
        x = self.states(rows)
        there = rows.there[..., None].float()
        whole = torch.cat([(x * there).sum(1) / there.sum(1), x[:, 0]], -1)
        acts = functional.dropout(whole, 0.15, self.training) @ self.act_weights.T + self.act_bias
        first = torch.gather(x, 1, rows.starts[..., None].expand(-1, -1, WIDTH))
        inner = first @ self.slot_inner.T + self.slot_inner_bias + self.slot_acts[rows.acts][:, None]
        return acts, functional.relu(inner) @ self.slot_weights.T + self.slot_bias

    def loss(self, rows: ActRows) -> Tensor:
        """Return how wrong two readings of sentences are, and how unlike each other; without a GPU, of one."""
        if rows.pieces.device.type == "cpu":
            acts, labels = self.scores(rows)
            of_acts = functional.cross_entropy(acts, rows.acts, label_smoothing=self.set.SMOOTH)
            return of_acts + self.chain_loss(labels, rows.labels)
        readings = [self.scores(rows) for _ in range(2)]
        acts = sum(functional.cross_entropy(one, rows.acts, label_smoothing=self.set.SMOOTH) for one, _ in readings) / 2
        slots = sum(self.chain_loss(labels, rows.labels) for _, labels in readings) / 2
        one, other = (acts.log_softmax(-1) for acts, _ in readings)
        unlike = functional.kl_div(one, other, log_target=True, reduction="batchmean")
        unlike = unlike + functional.kl_div(other, one, log_target=True, reduction="batchmean")
        return acts + slots + self.set.AGREE * unlike / 2

    def chain_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Return minus the log of the chance of the right path of labels, for each word."""
        has = labels[:, 0] >= 0
        if not has.any():
            return scores.sum() * 0
        scores, labels = scores[has].float(), labels[has]
        there, right = labels >= 0, labels.clamp(min=0)
        path = torch.gather(scores, 2, right[..., None])[..., 0] * there
        path[:, 1:] += self.slot_steps[right[:, :-1], right[:, 1:]] * there[:, 1:]
        every = scores[:, 0]
        for at in range(1, scores.shape[1]):
            new = torch.logsumexp(every[:, :, None] + self.slot_steps, 1) + scores[:, at]
            every = torch.where(there[:, at, None], new, every)
        return (torch.logsumexp(every, -1) - path.sum(1)).sum() / there.sum()


@torch.no_grad()
def measure(model: ActsModel, rows: ActRows, silent: Tensor) -> str:
    """Return in words how many held-out sentences are read rightly."""
    model.eval()
    acts, slots = model.scores(rows)
    chances, best = acts.softmax(-1).max(-1)
    quiet, right = silent[rows.acts], best == rows.acts
    acted = (~silent[best] & (chances >= 0.5))[quiet].float().mean()
    wrong = (~right & ~silent[best] & (chances >= 0.5))[~quiet].float().mean()
    there = rows.labels >= 0
    labelled = there.any(1)
    same = ((slots.argmax(-1) == rows.labels) | ~there).all(1)[labelled]  # of each word by itself, without the chain
    model.train()
    return (
        f"acts {100 * right.float().mean():.1f}, of silent ones acted on {100 * acted:.1f}, "
        f"of wishes wrong {100 * wrong:.1f}, slots whole {100 * same.float().mean():.1f}"
    )
