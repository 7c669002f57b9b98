"""The benchmarks' columns as their code books have them: ranges and edges in round numbers, never from the rows."""

from __future__ import annotations

from fairpriv_core.data.problem import Categorical, Numeric, Schema

_EDUCATION = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college", "Assoc-voc",
    "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip
_MARRIED = (
    "Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent",
    "Married-AF-spouse",
)  # fmt: skip
_WORK = (
    "Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov", "Without-pay",
    "Never-worked",
)  # fmt: skip
_OCCUPATION = (
    "Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty", "Handlers-cleaners",
    "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving", "Priv-house-serv", "Protective-serv",
    "Armed-Forces",
)  # fmt: skip
_COUNTRY = (
    "United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany", "Outlying-US(Guam-USVI-etc)", "India",
    "Japan", "Greece", "South", "China", "Cuba", "Iran", "Honduras", "Philippines", "Italy", "Poland", "Jamaica",
    "Vietnam", "Mexico", "Portugal", "Ireland", "France", "Dominican-Republic", "Laos", "Ecuador", "Taiwan", "Haiti",
    "Columbia", "Hungary", "Guatemala", "Nicaragua", "Scotland", "Thailand", "Yugoslavia", "El-Salvador",
    "Trinadad&Tobago", "Peru", "Hong", "Holand-Netherlands",
)  # fmt: skip

#: adult.names; `fnlwgt` is a sampling weight and no feature
ADULT: Schema = (
    Numeric("age", low=17, high=90, center=40, scale=15, edges=(25, 30, 35, 40, 45, 50, 55, 60, 65)),
    Categorical("workclass", _WORK),
    Categorical("education", _EDUCATION),
    Numeric("education-num", low=1, high=16, center=10, scale=3),
    Categorical("marital-status", _MARRIED),
    Categorical("occupation", _OCCUPATION),
    Categorical("relationship", ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried")),
    Categorical("race", ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")),
    Categorical("sex", ("Female", "Male")),
    Numeric("capital-gain", low=0, high=100_000, center=0, scale=5, log=True, edges=(1, 3_000, 5_000, 7_000, 10_000)),
    Numeric("capital-loss", low=0, high=5_000, center=0, scale=5, log=True, edges=(1, 1_500, 1_800, 2_000, 2_200)),
    Numeric("hours-per-week", low=1, high=99, center=40, scale=15, edges=(30, 40, 41, 50, 60)),
    Categorical("native-country", _COUNTRY),
)

_JOB = (
    "admin.", "unknown", "unemployed", "management", "housemaid", "entrepreneur", "student", "blue-collar",
    "self-employed", "retired", "technician", "services",
)  # fmt: skip
_MONTH = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MINUTES = (60, 120, 180, 240, 300, 420, 540, 720, 900, 1_200)
_DURATION = Numeric("duration", low=5, high=5_000, center=5, scale=1, log=True, edges=_MINUTES)

#: bank-names.txt; `unknown` is a category of its own, and -1 in `pdays` says "never contacted before"
BANK: Schema = (
    Numeric("age", low=18, high=95, center=40, scale=10, edges=(25, 30, 35, 40, 45, 50, 55, 60, 65, 70)),
    Categorical("job", _JOB),
    Categorical("marital", ("married", "divorced", "single")),
    Categorical("education", ("unknown", "secondary", "primary", "tertiary")),
    Categorical("default", ("no", "yes")),
    Numeric(
        "balance", low=-10_000, high=110_000, center=5, scale=4, log=True, edges=(0, 1, 100, 500, 1_000, 2_000, 5_000)
    ),
    Categorical("housing", ("no", "yes")),
    Categorical("loan", ("no", "yes")),
    Categorical("contact", ("unknown", "telephone", "cellular")),
    Numeric("day", low=1, high=31, center=16, scale=8, edges=(2, 5, 8, 11, 14, 17, 20, 23, 26, 29)),
    Categorical("month", _MONTH),
    _DURATION,
    Numeric("campaign", low=1, high=65, center=1, scale=1, log=True, edges=(2, 3, 4, 6, 10)),
    Numeric("pdays", low=0, high=900, center=5, scale=2, log=True, special=(-1,), edges=(90, 100, 180, 190, 270, 360)),
    Numeric("previous", low=0, high=50, center=0, scale=1, log=True, edges=(1, 2, 3, 5)),
    Categorical("poutcome", ("unknown", "failure", "other", "success")),
)
#: the same without `duration`, which is known only once the call, and so the answer, is over
BANK_NO_DURATION: Schema = tuple(column for column in BANK if column is not _DURATION)

#: propublica/compas-analysis: what is known at screening, without the score, the label's relatives and all names
COMPAS: Schema = (
    Categorical("sex", ("Female", "Male")),
    Categorical("race", ("African-American", "Caucasian", "Hispanic", "Asian", "Native American", "Other")),
    Numeric("age", low=18, high=96, center=35, scale=12, edges=(21, 23, 25, 30, 35, 40, 45, 50, 60)),
    Categorical("age_cat", ("Less than 25", "25 - 45", "Greater than 45")),
    Numeric("juv_fel_count", low=0, high=20, center=0, scale=1, log=True),
    Numeric("juv_misd_count", low=0, high=20, center=0, scale=1, log=True),
    Numeric("juv_other_count", low=0, high=20, center=0, scale=1, log=True),
    Numeric("priors_count", low=0, high=40, center=1, scale=1, log=True, edges=(1, 2, 3, 5, 8, 12, 20)),
    Categorical("c_charge_degree", ("F", "M")),
)
#: read for ProPublica's row filter alone
COMPAS_FILTER: Schema = (
    Numeric("days_b_screening_arrest", low=-30, high=30, center=0, scale=1),
    Categorical("score_text", ("Low", "Medium", "High")),
)

_PAID = tuple(
    Numeric(name, low=-2, high=9, center=0, scale=2, edges=(-1, 0, 1, 2, 3))
    for name in ("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6")
)
_BILLS = tuple(
    Numeric(f"BILL_AMT{month}", low=-400_000, high=2_000_000, center=7, scale=5, log=True) for month in range(1, 7)
)
_PAYMENTS = tuple(
    Numeric(f"PAY_AMT{month}", low=0, high=2_000_000, center=6, scale=3.5, log=True, edges=(1, 1_000, 5_000, 20_000))
    for month in range(1, 7)
)  # fmt: skip

#: Yeh & Lien (2009): amounts in NT dollars; undocumented codes count as the code book's "others"
CREDIT: Schema = (
    Numeric("LIMIT_BAL", low=10_000, high=1_000_000, center=12, scale=1, log=True,
            edges=(50_000, 100_000, 200_000, 300_000, 500_000)),
    Categorical("SEX", ("female", "male"), recode=(("2", "female"), ("1", "male"))),
    Categorical("EDUCATION", ("1", "2", "3", "4"), recode=(("0", "4"), ("5", "4"), ("6", "4"))),
    Categorical("MARRIAGE", ("1", "2", "3"), recode=(("0", "3"),)),
    Numeric("AGE", low=21, high=79, center=35, scale=10, edges=(25, 30, 35, 40, 50, 60)),
    *_PAID,
    *_BILLS,
    *_PAYMENTS,
)  # fmt: skip
