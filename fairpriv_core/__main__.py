"""`python -m fairpriv_core …` is `fairpriv …`."""

from fairpriv_core.cli import main

main()
