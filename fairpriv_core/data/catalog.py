"""The benchmarks, one `Problem` each: where its files are, what is predicted, whose groups, what to beware of.

Other packages offer theirs (docs/plugins.md).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fairpriv_core import plugins
from fairpriv_core.data.codebooks import (
    ACS,
    ADULT,
    BANK,
    BANK_NO_DURATION,
    COMPAS,
    COMPAS_FILTER,
    CREDIT,
    DUTCH,
    PARKINSONS,
    PARKINSONS_MOTOR,
    PARKINSONS_SUBJECT,
)
from fairpriv_core.data.declaration import check_problem
from fairpriv_core.data.image_benchmarks import MNIST_UNBALANCED, UTKFACE, UTKFACE_128
from fairpriv_core.data.problem import Grouping, Keep, Label, Layout, Problem, Shipped, Source
from fairpriv_core.data.synthetic import CONTRACTS, REGIONS, SHIFTS, generate
from fairpriv_core.files.column import category, number

#: the data of whoever names none: they ship with the package and are public
DEFAULT_DATA = {"dataset": "adult", "sensitive": "sex"}
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

_SYNTHETIC = Problem(
    name="synthetic",
    title="Synthetic",
    summary="8,000 made-up rows; 45 % of group A and 25 % of group B have the positive label. Needs no file.",
    citation="Made by fairpriv_core/data/synthetic.py, which documents it.",
    licence="Apache-2.0, as this project",
    labels=(Label(category("label", ("no", "yes")), "yes"),),
    sensitive=("group", "region", "group+region"),
    schema=(
        category("group", tuple("AB")),
        *(number(name, low=-6, high=6, center=0, scale=1) for name in SHIFTS),
        category("region", REGIONS),
        category("contract", CONTRACTS),
    ),
    generate=generate,
    caveats=("Synthetic data: good for learning the tool, not evidence about people.",),
)

_ADULT_LAYOUT = Layout(
    columns=(
        "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
        "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
    )
)  # fmt: skip
_ADULT = Problem(
    name="adult",
    title="Adult (census income)",
    summary="Does a person earn above 50,000 dollars a year? US census of 1994, 45,222 complete rows.",
    citation="Becker & Kohavi (1996), doi:10.24432/C5XW20",
    licence="CC BY 4.0",
    labels=(Label(category("income", ("<=50K", ">50K"), (("<=50K.", "<=50K"), (">50K.", ">50K"))), ">50K"),),
    sensitive=("sex", "race", "sex+race"),
    spoken=(("Female", "women"), ("Male", "men"), (">50K", "predicted to earn above 50,000 dollars a year")),
    schema=ADULT,
    groupings=(Grouping("race", values=("White", "Black"), rest="Other"),),
    editions=(
        (
            Source(
                path="adult/adult.data",
                url=f"{_UCI}/adult/adult.data",
                sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                layout=_ADULT_LAYOUT,
                part="train",
            ),
            Source(
                path="adult/adult.test",
                url=f"{_UCI}/adult/adult.test",
                sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                layout=replace(_ADULT_LAYOUT, skip=1),
                part="test",
            ),
        ),
    ),
    same=(("education", "education-num"),),
    drop_missing=True,
    shipped=Shipped(  # made by examples/make_adult.py
        Path(__file__).with_name("adult.parquet"),
        "ede8266bb921f7c743d7d0b959e6151515b187d115c19f6385fecabc1cda6ca1",
    ),
)

_BANK = Problem(
    name="bank",
    title="Bank marketing",
    summary="Does a client subscribe a term deposit after a call? Portuguese bank, 2008 to 2010, 45,211 rows.",
    citation="Moro, Rita & Cortez (2014), doi:10.24432/C5K306",
    licence="CC BY 4.0",
    labels=(Label(category("y", ("no", "yes")), "yes"),),
    sensitive=("age", "marital", "age+marital"),
    spoken=(("yes", "predicted to subscribe"),),
    schema=BANK,
    groupings=(Grouping("age", edges=(60,)),),
    editions=(
        (
            Source(
                path="bank/bank-full.csv",
                url=f"{_UCI}/00222/bank.zip",
                sha256="d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
                layout=Layout(separator=";"),
                member="bank-full.csv",
                archive_sha256="99d7e8eb12401ed278b793984423915411ea8df099e1795f9fefe254f513fe5e",
            ),
        ),
    ),
    caveats=(
        "The feature duration leaks the label: how long the call lasted is known only once the answer is. It is kept "
        "to compare with the papers; bank_no_duration leaves it out.",
    ),
)
_BANK_NO_DURATION = replace(
    _BANK,
    name="bank_no_duration",
    title="Bank marketing without duration",
    summary="The bank data with only what is known before the call: without the leaking feature duration.",
    schema=BANK_NO_DURATION,
    caveats=(),
)

_YES_NO = ("0", "1")
_COMPAS = Problem(
    name="compas",
    title="COMPAS (two-year re-arrest)",
    summary="Is a defendant arrested again within two years? Broward County, 2013 and 2014, 6,172 rows.",
    citation="Angwin, Larson, Mattu & Kirchner (2016), Machine Bias, ProPublica",
    licence="none given; court records gathered by ProPublica",
    labels=(Label(category("two_year_recid", _YES_NO), "1"), Label(category("is_violent_recid", _YES_NO), "1")),
    sensitive=("race", "sex", "sex+race"),
    spoken=(("1", "predicted to be arrested again"),),
    schema=COMPAS,
    groupings=(Grouping("race", values=("African-American", "Caucasian"), rest="Other"),),
    editions=(
        (
            Source(
                path="compas/compas-scores-two-years.csv",
                url="https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv",
                sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
                layout=Layout(),
            ),
        ),
    ),
    extra=(*COMPAS_FILTER, category("is_recid", ("-1", *_YES_NO))),
    keep=(
        Keep("days_b_screening_arrest", low=-30, high=30),
        Keep("is_recid", without=("-1",)),
        Keep("c_charge_degree", without=("O",)),
        Keep("score_text", without=("N/A",)),
    ),
    same=(("age", "age_cat"),),
    caveats=(
        "The label is re-arrest, not crime: it depends on whom the police arrest.",
        "The data comes without a licence and is about real people; names and birth dates are never read.",
    ),
)

_CREDIT_PAGE = f"{_UCI}/00350/default%20of%20credit%20card%20clients.xls"
_CREDIT = Problem(
    name="credit_default",
    title="Credit card default",
    summary="Does a credit card client default next month? Taiwan, 2005, 30,000 rows.",
    citation="Yeh (2009), Default of Credit Card Clients, doi:10.24432/C55S3H",
    licence="CC BY 4.0",
    labels=(Label(category("default", _YES_NO), "1"),),
    sensitive=("SEX", "EDUCATION", "MARRIAGE"),
    spoken=(("female", "women"), ("male", "men"), ("1", "predicted to default")),
    schema=CREDIT,
    editions=(
        (
            Source(
                path="credit_default/default of credit card clients.xls",
                url=_CREDIT_PAGE,
                sha256="30c6be3abd8dcfd3e6096c828bad8c2f011238620f5369220bd60cfc82700933",
                layout=Layout(skip=1, kind="workbook", rename=(("default payment next month", "default"),)),
            ),
        ),
        (
            Source(
                path="credit_default/UCI_Credit_Card.csv",
                url="https://www.kaggle.com/datasets/uciml/default-of-credit-card-clients-dataset",
                sha256="a0f0ab49d6326671d6cd83be5c88dcf18007025fe9a53ecd699119c871176ca1",
                layout=Layout(rename=(("default.payment.next.month", "default"),)),
            ),
        ),
    ),
)

_DUTCH = Problem(
    name="dutch_census",
    title="Dutch census",
    summary="Does a person have a high-level profession? Dutch virtual census of 2001, 60,420 rows.",
    citation="Van der Laan (2000), The 2001 Census in the Netherlands; Le Quy et al. (2022), doi:10.1002/widm.1452",
    licence="none given with the file; the microdata behind it are under IPUMS-International's terms",
    labels=(
        Label(
            category("occupation", ("lower", "high-level"), (("5_4_9", "lower"), ("2_1", "high-level"))),
            "high-level",
        ),
    ),
    sensitive=("sex",),
    spoken=(
        ("female", "women"),
        ("male", "men"),
        ("high-level", "predicted to have a high-level profession"),
    ),
    schema=DUTCH,
    editions=(
        (
            Source(
                path="dutch_census/dutch_census_2001.arff",
                url="https://raw.githubusercontent.com/tailequy/fairness_dataset/main/Dutch_census/dutch_census_2001.arff",
                sha256="0e7e3f32668919c239db820f625815e1ea834c71402cdea595e03ef08c8616ef",
                layout=Layout(columns=(*(column.name for column in DUTCH), "occupation"), skip=16),
            ),
        ),
    ),
)

_PARKINSONS = Problem(
    name="parkinsons",
    title="Parkinson's telemonitoring",
    summary="Is the UPDRS score of a voice recording above the median? 5,875 recordings of 42 people; split by person.",
    citation="Tsanas & Little (2009), doi:10.24432/C5ZS3N",
    licence="CC BY 4.0",
    labels=(Label(category("total_UPDRS", ("at most 27.576", "above 27.576")), "above 27.576", above=27.576),),
    sensitive=("sex",),
    schema=PARKINSONS,
    editions=(
        (
            Source(
                path="parkinsons/parkinsons_updrs.data",
                url=f"{_UCI}/parkinsons/telemonitoring/parkinsons_updrs.data",
                sha256="f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39",
                layout=Layout(rename=(("subject#", "subject"),)),
                mirror="https://raw.githubusercontent.com/behnazrzf/Parkinson-s_Telemonitoring/"
                "f603774b38bfc967f20b4752bec4b6f872917d98/data/parkinsons_updrs.data",
            ),
        ),
    ),
    extra=(PARKINSONS_SUBJECT,),
    unit="subject",
    split="people",
    assumed=("That 27.576, the median of the published scores, parts the label's values is taken as public.",),
    caveats=(
        "A row is a recording, not a person. With all recordings of a person on one side of the split, the voice says "
        "next to nothing about the score; a split by rows gives higher accuracies, by telling people from each other.",
        "The label is that of DP-FERMI (above the median score). motor_UPDRS, a part of that score, is not a feature.",
    ),
)
_PARKINSONS_MOTOR = replace(
    _PARKINSONS,
    name="parkinsons_motor",
    title="Parkinson's telemonitoring with the motor score",
    summary="The same recordings with motor_UPDRS, a part of the label's score, among the features, as in DP-FERMI.",
    schema=PARKINSONS_MOTOR,
    caveats=(
        _PARKINSONS.caveats[0],
        "The feature motor_UPDRS nearly gives the label away: it is a part of the score. It is kept to compare with "
        "DP-FERMI, whose 19 features have it; parkinsons leaves it out.",
    ),
)

_ACS = Problem(
    name="acs_income",
    title="ACS income",
    summary="Does a person earn above 50,000 dollars? US survey of 2018, 665,800 rows; stands in for Retired Adult.",
    citation="Ding, Hardt, Miller & Schmidt (2021), Retiring Adult; files as prepared by dssg/aequitas",
    licence="public use, under the US Census Bureau's terms; folktables and aequitas: MIT",
    labels=(Label(category("income", ("<=50K", ">50K"), (("0", "<=50K"), ("1", ">50K"))), ">50K"),),
    sensitive=("sex", "race", "sex+race"),
    spoken=(("Female", "women"), ("Male", "men"), (">50K", "predicted to earn above 50,000 dollars a year")),
    schema=ACS,
    coded=("OCCP", "POBP"),
    groupings=(Grouping("race", values=("White", "Black", "Asian"), rest="Other"),),
    editions=(
        tuple(
            Source(
                path=f"acs_income/ACSIncome.{part}.parquet",
                url=f"https://raw.githubusercontent.com/dssg/aequitas/master/datasets/FolkTables/ACSIncome.{part}.parquet",
                sha256=sha256,
                layout=Layout(kind="parquet", rename=(("PINCP", "income"), ("SEX", "sex"), ("RAC1P", "race"))),
            )
            for part, sha256 in (
                ("test", "050a84d27232b70c14992ce996c9cd04fa1c6eccc8e1394760b6de3e01de9fc5"),
                ("validation", "cbe16ab9be0996473f132d3a7fafe456e7db6cb3b63c4d1fcc74e3e92b0bcef2"),
            )
        ),
    ),
    caveats=(
        "This is the stand-in for Retired Adult (49,531 rows, in DP-FERMI): from the same authors, with the same "
        "question, and other people, years and columns.",
        "Two random fifths of ACSIncome 2018 as aequitas publishes them, with incomes already cut at 50,000 dollars "
        "and without the states.",
    ),
)

_TABLES = (_ADULT, _SYNTHETIC, _BANK, _BANK_NO_DURATION, _COMPAS, _CREDIT, _DUTCH, _PARKINSONS, _PARKINSONS_MOTOR, _ACS)
_PROBLEMS = (*_TABLES, MNIST_UNBALANCED, UTKFACE, UTKFACE_128)


def problems() -> dict[str, Problem]:
    """Return every benchmark by name, the default first, those of other packages last."""
    offered = {plugin.name: plugin.found for plugin in list_plugins() if plugin.fault is None}
    return {**own_problems(), **offered}


def own_problems() -> dict[str, Problem]:
    """Return the project's own benchmarks: of others nobody here knows whether everybody may have their rows."""
    return {problem.name: problem for problem in _PROBLEMS}


def list_plugins() -> tuple[plugins.Plugin, ...]:
    """Return what other packages offer as data sets, with what is wrong of those that are left out."""
    return plugins.load_plugins(plugins.DATA_SETS, [problem.name for problem in _PROBLEMS], check_problem)


def default_split(dataset: str | None) -> str:
    """Return the split that is taken unless another is named; of what is no benchmark by the rows' numbers."""
    problem = problems().get(dataset or "")
    return "rows" if problem is None else problem.split
