"""What people and programs write where something else is meant; and what a refusal has to look like."""

from __future__ import annotations

import unicodedata

#: one sentence has at most so many characters
MOST = 400
TEXTS = (
    *("", " ", "0", "-0", "-1", "1.5", "1e999", "1e-400", "1e308", "nan", "inf", "-inf", "9" * 30, "9" * 5000, "0x10"),
    *("1_000", "\u0661", "true", "True", "None", "null", "abc", "[]", "[1,2]", "{}", "'", '"', "=1", "a=b", ",", ",,"),
    *(
        "1;2",
        "1,2,3",
        "../../etc/passwd",
        "/",
        "~nobody-here/x",
        "a" * 300,
        "a" * 5000,
        "' OR 1=1 --",
        "%",
        "+",
        "&",
        "#",
    ),
    *(
        "<script>alert(1)</script>",
        "[x](http://example.org)",
        "\x1b[31mred",
        "\x07",
        "\u202eevil",
        "\n",
        "\ud7ff",
        "😀",
    ),
    *("2147483648", "9223372036854775808", "one_release", "none", "group", "synthetic", "adult", "pf_ld"),
)


def find_faults(code: int, said: str) -> list[str]:
    """Return what is wrong with how a command ended that had `code` as its exit code and wrote `said` as its error.

    A run that failed (1) may have said more before its sentence; a command that names no data says so first.
    """
    if code == 0:
        return []
    lines = said.strip().splitlines() or [""]
    sentence = lines[-1]
    return [
        *([f"exit code {code}"] if code not in (1, 2) else []),
        *([f"{len(sentence)} characters"] if len(sentence.removeprefix("Error: ")) > MOST else []),
        *(["no sentence"] if not sentence.startswith("Error: ") else []),
        *(["more than a sentence"] if code == 2 and len(lines) > 1 + lines[0].startswith("no data named: ") else []),
        *(["controls"] if any(unicodedata.category(each) in ("Cc", "Cf", "Cs") for each in sentence) else []),
    ]
