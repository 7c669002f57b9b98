"""The benchmarks' columns: categories by their code books; ranges, scales and edges in round numbers that we chose."""

from __future__ import annotations

from fairpriv_core.data.problem import Schema
from fairpriv_core.files.column import Column, category, number

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
    number("age", low=17, high=90, center=40, scale=15, edges=(25, 30, 35, 40, 45, 50, 55, 60, 65)),
    category("workclass", _WORK),
    category("education", _EDUCATION),
    number("education-num", low=1, high=16, center=10, scale=3),
    category("marital-status", _MARRIED),
    category("occupation", _OCCUPATION),
    category("relationship", ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried")),
    category("race", ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")),
    category("sex", ("Female", "Male")),
    number("capital-gain", low=0, high=100_000, center=0, scale=5, log=True, edges=(1, 3_000, 5_000, 7_000, 10_000)),
    number("capital-loss", low=0, high=5_000, center=0, scale=5, log=True, edges=(1, 1_500, 1_800, 2_000, 2_200)),
    number("hours-per-week", low=1, high=99, center=40, scale=15, edges=(30, 40, 41, 50, 60)),
    category("native-country", _COUNTRY),
)

_JOB = (
    "admin.", "unknown", "unemployed", "management", "housemaid", "entrepreneur", "student", "blue-collar",
    "self-employed", "retired", "technician", "services",
)  # fmt: skip
_MONTH = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MINUTES = (60, 120, 180, 240, 300, 420, 540, 720, 900, 1_200)
_DURATION = number("duration", low=5, high=5_000, center=5, scale=1, log=True, edges=_MINUTES)

#: bank-names.txt; `unknown` is a category of its own, and -1 in `pdays` says "never contacted before"
BANK: Schema = (
    number("age", low=18, high=95, center=40, scale=10, edges=(25, 30, 35, 40, 45, 50, 55, 60, 65, 70)),
    category("job", _JOB),
    category("marital", ("married", "divorced", "single")),
    category("education", ("unknown", "secondary", "primary", "tertiary")),
    category("default", ("no", "yes")),
    number(
        "balance", low=-10_000, high=110_000, center=5, scale=4, log=True, edges=(0, 1, 100, 500, 1_000, 2_000, 5_000)
    ),
    category("housing", ("no", "yes")),
    category("loan", ("no", "yes")),
    category("contact", ("unknown", "telephone", "cellular")),
    number("day", low=1, high=31, center=16, scale=8, edges=(2, 5, 8, 11, 14, 17, 20, 23, 26, 29)),
    category("month", _MONTH),
    _DURATION,
    number("campaign", low=1, high=65, center=1, scale=1, log=True, edges=(2, 3, 4, 6, 10)),
    number("pdays", low=0, high=900, center=5, scale=2, log=True, special=(-1,), edges=(90, 100, 180, 190, 270, 360)),
    number("previous", low=0, high=50, center=0, scale=1, log=True, edges=(1, 2, 3, 5)),
    category("poutcome", ("unknown", "failure", "other", "success")),
)
#: the same without `duration`, which is known only once the call, and so the answer, is over
BANK_NO_DURATION: Schema = tuple(column for column in BANK if column is not _DURATION)

#: propublica/compas-analysis: what is known at screening, without the score, the label's relatives and all names
COMPAS: Schema = (
    category("sex", ("Female", "Male")),
    category("race", ("African-American", "Caucasian", "Hispanic", "Asian", "Native American", "Other")),
    number("age", low=18, high=96, center=35, scale=12, edges=(21, 23, 25, 30, 35, 40, 45, 50, 60)),
    category("age_cat", ("Less than 25", "25 - 45", "Greater than 45")),
    number("juv_fel_count", low=0, high=20, center=0, scale=1, log=True),
    number("juv_misd_count", low=0, high=20, center=0, scale=1, log=True),
    number("juv_other_count", low=0, high=20, center=0, scale=1, log=True),
    number("priors_count", low=0, high=40, center=1, scale=1, log=True, edges=(1, 2, 3, 5, 8, 12, 20)),
    category("c_charge_degree", ("F", "M")),
)
#: read for ProPublica's row filter alone
COMPAS_FILTER: Schema = (
    number("days_b_screening_arrest", low=-30, high=30, center=0, scale=1),
    category("score_text", ("Low", "Medium", "High")),
)

_PAID = tuple(
    number(name, low=-2, high=9, center=0, scale=2, edges=(-1, 0, 1, 2, 3))
    for name in ("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6")
)
_BILLS = tuple(
    number(f"BILL_AMT{month}", low=-400_000, high=2_000_000, center=7, scale=5, log=True) for month in range(1, 7)
)
_PAYMENTS = tuple(
    number(f"PAY_AMT{month}", low=0, high=2_000_000, center=6, scale=3.5, log=True, edges=(1, 1_000, 5_000, 20_000))
    for month in range(1, 7)
)  # fmt: skip

#: Yeh & Lien (2009): amounts in NT dollars; undocumented codes count as the code book's "others"
CREDIT: Schema = (
    number("LIMIT_BAL", low=10_000, high=1_000_000, center=12, scale=1, log=True,
            edges=(50_000, 100_000, 200_000, 300_000, 500_000)),
    category("SEX", ("female", "male"), recode=(("2", "female"), ("1", "male"))),
    category("EDUCATION", ("1", "2", "3", "4"), recode=(("0", "4"), ("5", "4"), ("6", "4"))),
    category("MARRIAGE", ("1", "2", "3"), recode=(("0", "3"),)),
    number("AGE", low=21, high=79, center=35, scale=10, edges=(25, 30, 35, 40, 50, 60)),
    *_PAID,
    *_BILLS,
    *_PAYMENTS,
)  # fmt: skip


def _list_codes(low: int, high: int) -> tuple[str, ...]:
    return tuple(str(code) for code in range(low, high + 1))


_SEXES = category("sex", ("female", "male"), recode=(("2", "female"), ("1", "male")))

#: the domains that the file's own header lists; every number is a code, age a band of five years
DUTCH: Schema = (
    _SEXES,
    category("age", _list_codes(1, 17)),
    category("household_position", ("1110", "1121", "1122", "1131", "1132", "1140", "1210", "1220")),
    category("household_size", ("111", "112", "113", "114", "125", "126")),
    category("prev_residence_place", ("1", "2", "9")),
    category("citizenship", ("1", "2", "3")),
    category("country_birth", ("1", "2", "3")),
    category("edu_level", ("0", "1", "2", "3", "4", "5", "9")),
    category("economic_status", ("111", "112", "120", "210", "221", "222", "223", "224")),
    category("cur_eco_activity", ("111", "122", "124", *_list_codes(131, 139), "200")),
    category("Marital_status", _list_codes(1, 4)),
)


def _voice(name: str, high: float, center: float) -> Column:
    return number(name, low=0, high=high, center=center, scale=(high - center) / 5)


#: parkinsons_updrs.names; motor_UPDRS is a part of the label's score and no feature, nor is the subject's number
PARKINSONS: Schema = (
    category("sex", ("female", "male"), recode=(("1", "female"), ("0", "male"))),
    number("age", low=30, high=90, center=65, scale=10),
    number("test_time", low=-10, high=220, center=90, scale=55),
    _voice("Jitter(%)", 0.1, 0.005),
    _voice("Jitter(Abs)", 0.0005, 0.00004),
    _voice("Jitter:RAP", 0.06, 0.0025),
    _voice("Jitter:PPQ5", 0.07, 0.0025),
    _voice("Jitter:DDP", 0.18, 0.0075),
    _voice("Shimmer", 0.3, 0.03),
    _voice("Shimmer(dB)", 2.5, 0.25),
    _voice("Shimmer:APQ3", 0.17, 0.015),
    _voice("Shimmer:APQ5", 0.17, 0.02),
    _voice("Shimmer:APQ11", 0.3, 0.025),
    _voice("Shimmer:DDA", 0.5, 0.045),
    _voice("NHR", 0.75, 0.025),
    number("HNR", low=0, high=40, center=22, scale=5),
    number("RPDE", low=0, high=1, center=0.5, scale=0.1),
    number("DFA", low=0.5, high=1, center=0.65, scale=0.07),
    number("PPE", low=0, high=0.75, center=0.2, scale=0.1),
)
#: a motor examination has 27 items of 0 to 4 points
PARKINSONS_MOTOR: Schema = (*PARKINSONS, number("motor_UPDRS", low=0, high=108, center=20, scale=8))
#: read for the split alone
PARKINSONS_SUBJECT = number("subject", low=1, high=42, center=0, scale=1)

_MAJOR_OCCUPATIONS = (
    500, 800, 1_000, 1_300, 1_600, 2_000, 2_100, 2_200, 2_600, 3_000, 3_600, 3_700, 4_000, 4_200, 4_300, 4_700, 5_000,
    6_000, 6_200, 6_800, 7_000, 7_700, 9_000, 9_800,
)  # fmt: skip
_CONTINENTS = (60, 100, 200, 300, 400, 500)
_RACES = (
    "White", "Black", "American Indian", "Alaska Native", "Native, tribe not specified", "Asian", "Pacific Islander",
    "Some other race", "Two or more races",
)  # fmt: skip

#: PUMS 2018 data dictionary. Occupations and places of birth are cut at its major groups and continents; race is
#: stored as the Census code minus 1
ACS: Schema = (
    number("AGEP", low=17, high=99, center=40, scale=15, edges=(25, 30, 35, 40, 45, 50, 55, 60, 65)),
    category("COW", _list_codes(1, 9)),
    category("SCHL", _list_codes(1, 24)),
    category("MAR", _list_codes(1, 5)),
    number("OCCP", low=10, high=9_920, center=5_000, scale=3_000, edges=_MAJOR_OCCUPATIONS),
    number("POBP", low=1, high=554, center=50, scale=150, edges=_CONTINENTS),
    category("RELP", _list_codes(0, 17)),
    number("WKHP", low=1, high=99, center=40, scale=15, edges=(30, 40, 41, 50, 60)),
    _SEXES,
    category("race", _RACES, recode=tuple((str(code), name) for code, name in enumerate(_RACES))),
)
