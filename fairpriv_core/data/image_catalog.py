"""The benchmarks of images, as `catalog.py` has those of tables."""

from __future__ import annotations

from dataclasses import replace

from fairpriv_core.data.mnist import DIGITS, RARE, RARE_KEPT, RARE_SEED, read_unbalanced
from fairpriv_core.data.problem import Categorical, Label, Layout, Problem, Source
from fairpriv_core.data.utkface import AGES, GENDERS, HALVES, OLDER, RACES, read_large, read_small

_MNIST_FILES = (
    ("train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    ("train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    ("t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    ("t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
)
MNIST_UNBALANCED = Problem(
    name="mnist_unbalanced",
    title="Unbalanced MNIST",
    summary="Which digit is it? 28 × 28 grey images, 54,649 for training with 500 of the digit 8, 10,000 for testing.",
    citation="LeCun, Bottou, Bengio & Haffner (1998); unbalanced as in Bagdasaryan, Poursaeed & Shmatikov (2019)",
    licence="CC BY-SA 3.0, as usually stated",
    labels=(Label(Categorical("label", DIGITS), ""),),
    sensitive=("label",),
    schema=(),
    editions=(
        tuple(
            Source(
                path=f"mnist/{name}",
                url=f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}",
                sha256=sha256,
                layout=Layout(kind="idx"),
                part="test" if name.startswith("t10k") else "train",
            )
            for name, sha256 in _MNIST_FILES
        ),
    ),
    pictures=read_unbalanced,
    image=(1, 28, 28),
    classes_are_groups=True,
    split="official",
    assumed=(
        f"Which {RARE_KEPT} training images of the digit {RARE} are kept is taken as public; they were drawn with the "
        f"constant seed {RARE_SEED}.",
    ),
    caveats=(
        f"The training images of the digit {RARE} are cut from 5,851 to {RARE_KEPT}, at random with the constant seed "
        f"{RARE_SEED}; the papers do not say which they kept. The test images are the published 10,000.",
    ),
)

_RESEARCH = "The faces may be used for non-commercial research only, and their photographers keep all rights."
UTKFACE = Problem(
    name="utkface",
    title="UTK-Face",
    summary="How old is a person, or of which gender? 23,705 faces, 48 × 48 grey, from a folder of your own.",
    citation="Zhang, Song & Qi (2017), Age progression/regression by conditional adversarial autoencoder",
    licence="non-commercial research only; the rights in the photos stay with their owners",
    labels=(
        Label(Categorical("age", AGES), ""),
        Label(Categorical("age_binary", HALVES), HALVES[1]),
        Label(Categorical("age_36", OLDER), OLDER[1]),
        Label(Categorical("gender", GENDERS), GENDERS[1]),
    ),
    sensitive=("race", "gender"),
    schema=(Categorical("race", RACES),),
    pictures=read_small,
    split="people",
    image=(1, 48, 48),
    same=(("age", "age_binary", "age_36"),),
    terms=_RESEARCH,
    people="utkface",
    assumed=("Where ages are parted into classes is taken as public.",),
    caveats=(
        "Age, gender and race are what a program and its correctors took people to be, not what people say they are.",
        "Where the nine classes of age are parted is this project's choice: DP-FERMI speaks of nine and does not say.",
        "A face shows race and gender: where epsilon protects the sensitive attribute it takes the face as public.",
        "Whose face it is is not known: epsilon protects a row, not a person, who may be in several.",
    ),
)
UTKFACE_128 = replace(
    UTKFACE,
    name="utkface_128",
    title="UTK-Face in colour",
    summary="The same faces, 128 × 128 in colour, as DP-FERMI takes them: 21 times as many numbers for each.",
    pictures=read_large,
    image=(3, 128, 128),
)
