"""`python -m fairpriv_core …` is `fairpriv …`."""

from fairpriv_core.cli.main import main

main()
