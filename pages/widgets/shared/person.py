"""Who looks: a person who has signed in, or, where no sign-in is set up, whoever sits at this machine.

Sign-in is Streamlit's (OpenID Connect, the section [auth] of secrets.toml); whom it lets in is the list `allowed` of
the section [people], since most providers vouch for anybody.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.errors import StreamlitAuthError, StreamlitMissingAuthlibError

from fairpriv_core.errors import BadInput
from fairpriv_core.store.mode import is_trial
from fairpriv_core.store.quota import LOCAL_OWNER
from pages.widgets.shared.sentences import plain, sentence

_NO_SECRETS = "the file secrets.toml cannot be read, so nobody can sign in; its operator finds the reason in the log."
_NOBODY = "nobody is let in yet: the operator lists whom under allowed in the section [people] of secrets.toml."


@dataclass(frozen=True)
class Person:
    """A person: `owner` is written to their runs and uploads, `name` is how a page calls them ("" where none is)."""

    owner: str
    name: str


def find_person() -> Person:
    """Return who looks; BadInput where a sign-in is set up and nobody who is let in has signed in.

    On trial, without a sign-in, everybody is somebody of their own as long as the page is open.
    """
    claims: Mapping[str, object] = st.user.to_dict()
    if "is_logged_in" not in claims:
        if _has_unreadable_secrets():
            raise BadInput(_NO_SECRETS)
        if is_trial():
            return Person(st.session_state.setdefault("visitor", f"visitor {secrets.token_hex(16)}"), "")
        return Person(LOCAL_OWNER, "")
    if not claims["is_logged_in"] or not claims.get("sub"):
        raise BadInput("sign in to use this dashboard.", field="person")
    name = str(claims.get("email") or claims.get("name") or claims["sub"])
    guests = _read_allowed()
    if not is_allowed(claims, guests):
        raise BadInput(f"you are signed in as {name}, who may not use this dashboard." if guests else _NOBODY)
    return Person(f"{claims.get('iss', '')}#{claims['sub']}", name)


def is_allowed(claims: Mapping[str, object], guests: Sequence[str]) -> bool:
    """Return whether `guests` names a person: by e-mail address, by "@domain", or all by "*".

    An address that the provider says it has not checked names nobody.

    >>> is_allowed({"email": "Ana@example.org"}, ["@example.org"])
    True
    >>> is_allowed({"email": "ana@example.org", "email_verified": False}, ["ana@example.org"])
    False
    """
    if "*" in guests:
        return True
    address = str(claims.get("email") or "").casefold()
    if "@" not in address or claims.get("email_verified", True) is not True:
        return False
    addresses = {item.strip().casefold() for item in guests}
    return address in addresses or f"@{address.rpartition('@')[2]}" in addresses


def admit() -> bool:
    """Return whether the person may see the dashboard; where not, draw the page to sign in on, and nothing else."""
    try:
        find_person()
    except BadInput as error:
        st.title("fairpriv", anchor=False)
        st.markdown(plain(sentence(str(error))))
        if error.field == "person":
            st.button("Sign in", key="sign_in", type="primary", icon=":material/login:", on_click=_sign_in)
        elif st.user.to_dict().get("is_logged_in"):
            st.button("Sign out", key="sign_out", icon=":material/logout:", on_click=st.logout)
        return False
    return True


def show_person() -> None:
    """Draw who is signed in, and the way out."""
    with st.popover("Signed in", icon=":material/account_circle:", key="person"):
        st.text(f"Signed in as {find_person().name}")
        st.button("Sign out", key="sign_out", icon=":material/logout:", on_click=st.logout)


def _sign_in() -> None:
    try:
        st.login()
    except (StreamlitAuthError, StreamlitMissingAuthlibError) as error:
        st.error(plain(f"Sign-in is not set up as it must be: {error}"), icon=":material/error:")


def _read_allowed() -> list[str]:
    names = st.secrets.get("people", {}).get("allowed", ()) if st.secrets.load_if_toml_exists() else ()
    return [names] if isinstance(names, str) else [str(item) for item in names]


def _has_unreadable_secrets() -> bool:
    """Return whether there is a file of secrets that cannot be read: Streamlit then takes sign-in for not set up."""
    has_file = any(Path(path).exists() for path in st.get_option("secrets.files"))
    return has_file and not st.secrets.load_if_toml_exists()
