"""What leaves a run, piece by piece, and of which kind each is: the output that docs/privacy.md proves an ε for.

An ε holds for all that leaves together, because each piece is computed from values of two kinds:

    public    what the threat model, an assumption of the record, or the person who asked says to everybody
    released  what the mechanism gave out, with noise that ε counts, and what follows from it and from public values

`raw` pieces look at protected values as they are. The list of them is closed: they are for the analyst, no ε covers
them, and by a report for policy they leave only of a benchmark's rows, which everybody has. `time` is what clocks say,
which no ε here speaks of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["public", "released", "raw", "time"]


@dataclass(frozen=True)
class Piece:
    """One piece of what leaves a run: its name, its kind, and why it is of that kind."""

    name: str
    kind: Kind
    why: str


#: the fields of a run's record
RECORD = (
    Piece("key", "public", "names the config"),
    Piece("status", "public", "how it ended; a run that fails does so by its settings or by noisy counts, see `error`"),
    Piece("config", "public", "what a person asked for; of a schema no range of label or groups"),
    Piece("threat_model", "public", "a property of the method"),
    Piece("variant", "public", "a setting of the method"),
    Piece("epsilon", "released", "computed from `event`"),
    Piece("epsilon_published", "public", "a formula of settings and the number of rows"),
    Piece("epsilon_reason", "public", "a property of method, settings and `event`"),
    Piece("epsilon_if_secret", "public", "what the plan of a run in replay mode would cost"),
    Piece("delta", "public", "what a person asked for"),
    Piece("event", "released", "the mechanism's count of its releases"),
    Piece("released", "released", "the mechanism's count of its releases"),
    Piece("assumptions", "public", "what ε takes as public, in sentences"),
    Piece("calibrated", "public", "computed from the config and the number of rows"),
    Piece("data", "public", "names, columns and the number of rows, which are public or assumed to be"),
    Piece("versions", "public", "the software"),
    Piece("steps", "released", "those of the settings, or those made until a look, a person or an error ended it"),
    Piece("seconds", "time", "a clock's; timing is outside of what ε says"),
    Piece("resumed_from_step", "time", "when a process was interrupted"),
    Piece("metrics", "raw", "measured on the test rows as they are; beside randomised answers on features and labels"),
    Piece("metrics_are_raw", "public", "whether the attribute was read as it is"),
    Piece("metrics_note", "public", "a sentence that threat model, method and schema choose"),
    Piece("metrics_private", "released", "follows from noisy counts of a private evaluation, or randomised answers"),
    Piece("left_out", "raw", "how many rows of a person's file lack a value and are not used"),
    Piece("warnings", "public", "sentences that settings and the number of rows choose"),
    Piece("notes", "released", "multipliers, noisy counts and certificates, which follow from the releases"),
    Piece("author", "public", "the package that offers the method"),
    Piece("error", "released", "why a run broke off: settings, or noisy counts with their values"),
)
#: the files of a trained model
MODEL = (
    Piece("model.safetensors", "released", "an iterate; all iterates are released"),
    Piece("model.json", "released", "network, encoder, declared groups, thresholds that follow from the releases"),
)
#: curves, by what their names begin with; every other one is a method's own
CURVES = (
    Piece("train/", "raw", "the loss on training rows"),
    Piece("test/", "raw", "measured on the test rows as they are"),
    Piece("group/", "raw", "groups' rates on the test rows"),
    Piece("class/", "raw", "classes' rates on the test rows"),
    Piece("clipped/", "raw", "the shares of training rows that clipping shortens"),
    Piece("contribution/", "raw", "how much each group of training rows moves the model"),
    Piece("", "released", "multipliers, bounds and ε, which follow from the releases"),
)
#: what a store and its pages show of a run besides
BESIDE = (
    Piece("histograms", "raw", "lengths of training rows' gradients, for the page of a live run"),
    Piece("audit of the model", "raw", "attacks that know who was a training row"),
    Piece("audit of the method", "public", "attacks on made-up rows"),
    Piece("references", "raw", "accuracy and gap of runs without privacy on the same question"),
    Piece("mixing line", "raw", "accuracy and gap beside plain training and one answer for all"),
    Piece("certificates", "released", "sentences on `notes`, on estimated bounds too"),
    Piece("preview of clipping", "public", "from features and labels, of a method that takes them as public"),
    Piece("preview of a sweep", "public", "its keys, cost and refusal, from settings, number of rows and ledger"),
    Piece("ledger", "released", "computed from the events and plans of all runs on the data"),
    Piece("choice of a run", "released", "from noisy numbers that are counted; one by raw numbers ends the runs' ε"),
    Piece("moved threshold", "raw", "by each group's decisions on test rows; the model that has it states no ε"),
    Piece("predictions", "released", "the model's, on rows of the person who asks"),
    Piece("measured schema", "released", "ranges, bins and values that passed their noise; see a paid schema"),
    Piece("outline and proposed schema", "raw", "of a file, for who holds it: rows left out and why, ranges, values"),
    Piece("name, tags and note", "raw", "a person's own words about a run; in no record, file, figure or report of it"),
    Piece("warnings before a launch", "raw", "of small groups, scales and labels, for who launches; in no record"),
    Piece("measure of a paper", "raw", "attacks on training rows and how many of them are clipped"),
)


def kind_of_curve(name: str) -> Kind:
    """Return of which kind a curve is."""
    return next(piece.kind for piece in CURVES if name.startswith(piece.name))


#: all pieces, by what holds them
TABLE: Mapping[str, tuple[Piece, ...]] = {"record": RECORD, "model": MODEL, "curve": CURVES, "beside": BESIDE}
