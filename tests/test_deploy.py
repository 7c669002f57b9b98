"""What is said and set for a shared server holds: settings exist, variables are read, examples parse."""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path

import pytest
from click import Context
from streamlit import config

from fairpriv_core.cli.main import cli
from fairpriv_core.store.carried import LIMIT_BYTES
from pages.widgets.shared.person import is_allowed

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/deploy.md").read_text("utf-8")
SETTINGS = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))
KNOWN = set(config.get_config_options())
FOREIGN = {"XDG_CACHE_HOME", "TMPDIR", "PYTHONUNBUFFERED", "DEBIAN_FRONTEND"}


def read_block(language: str, number: int = 0) -> str:
    """Return a code block of the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[number]


def list_keys(settings: dict[str, object], section: str = "") -> list[str]:
    """Return the settings as Streamlit names them, `section.key`."""
    found = []
    for name, value in settings.items():
        named = f"{section}.{name}" if section else name
        found += list_keys(value, named) if isinstance(value, dict) else [named]
    return found


def test_every_setting_is_one_of_streamlits() -> None:
    named = re.findall(r"--((?:server|client|browser|runner|theme)\.\w+)", PAGE + (ROOT / "Dockerfile").read_text())
    assert set(list_keys(SETTINGS)) | set(named) <= KNOWN
    variables = set(re.findall(r"STREAMLIT_\w+", PAGE + (ROOT / "Dockerfile").read_text()))
    assert variables <= {
        "STREAMLIT_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).replace(".", "_").upper() for key in KNOWN
    }


def test_the_defaults_are_safe() -> None:
    server, client = SETTINGS["server"], SETTINGS["client"]
    assert server["address"] == "localhost" and set(server["allowedHosts"]) == {"localhost", "127.0.0.1", "::1"}
    assert server["enableCORS"] and server["enableXsrfProtection"] and server["fileWatcherType"] == "none"
    assert server["maxUploadSize"] == 0 and LIMIT_BYTES == 50_000_000 and "50 MB" in PAGE
    assert client["disableDataExport"], "a page's table leaves by text.write_lines alone, which defuses formulas"
    assert client["showErrorDetails"] == "none" and not SETTINGS["browser"]["gatherUsageStats"]
    for name in ("server.enableStaticServing", "server.enableAgentApi", "server.enableWebsocketCompression"):
        assert name not in KNOWN or name in list_keys(SETTINGS) or not config.get_config_options()[name].default_val


def test_every_variable_is_read_somewhere() -> None:
    named = set(re.findall(r"\b(?:FAIRPRIV|BROWSER|TMPDIR)[A-Z_]*\b", PAGE + (ROOT / "Dockerfile").read_text()))
    files = [*(ROOT / "fairpriv_core").rglob("*.py"), *(ROOT / "pages").rglob("*.py"), ROOT / "fairpriv"]
    code = "".join(path.read_text("utf-8") for path in files)
    assert {"FAIRPRIV_STORE", "FAIRPRIV_DATA_FOLDER", "FAIRPRIV_DEMO", "FAIRPRIV_TRY"} <= named
    assert not [name for name in named - FOREIGN if f'"{name}"' not in code and f"{name}=" not in code]


@pytest.mark.parametrize("language", ["nginx", "caddy"])
def test_each_proxy_sends_the_headers(language: str) -> None:
    block = read_block(language)
    opened = "add_header " if language == "nginx" else ""
    for header in (
        "X-Frame-Options DENY",
        "Content-Security-Policy \"frame-ancestors 'none'\"",
        "X-Content-Type-Options nosniff",
        "Referrer-Policy same-origin",
    ):
        ended = " always;" if language == "nginx" else ""
        assert re.search(rf"^ +{re.escape(opened + header + ended)}$", block, re.MULTILINE), header
    assert block.count("location ") < 2 and "add_header" not in block.partition("location")[2]  # else none is inherited


def test_every_proxy_of_the_page_is_one_of_those() -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
    assert [language for language, text in blocks if "proxy" in text] == ["nginx", "caddy"]


def test_the_service_starts_the_launcher() -> None:
    unit = configparser.ConfigParser()
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(read_block("ini"))
    command = unit["Service"]["ExecStart"].split()
    assert command[1] == "app" and "--server.allowedHosts" in command
    assert unit["Service"]["ExecStartPre"].split()[1] == "setup"
    assert "setup)" in (ROOT / "fairpriv").read_text().split() and command[1] in cli.list_commands(Context(cli))


def test_the_secrets_are_read_as_they_stand() -> None:
    secrets = tomllib.loads(read_block("toml"))
    assert set(secrets["auth"]) == {
        "redirect_uri",
        "cookie_secret",
        "client_id",
        "client_secret",
        "server_metadata_url",
    }
    assert secrets["auth"]["redirect_uri"].endswith("/fairpriv/oauth2callback")
    assert is_allowed({"email": "ana@example.org"}, secrets["people"]["allowed"])
    assert not is_allowed({"email": "ana@elsewhere.org"}, secrets["people"]["allowed"])


@pytest.mark.parametrize("language", ["nginx", "caddy"])
def test_the_proxies_serve_the_same_path_and_host(language: str) -> None:
    block = read_block(language)
    for said in ("fairpriv.example.org", "/fairpriv/", "127.0.0.1:8501"):
        assert said in block
    assert block.count("{") == block.count("}")
    if language == "nginx":
        assert "proxy_set_header Upgrade" in block and "proxy_set_header Host $http_host" in block


def test_extras_and_ignored_files_are_as_said() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = re.findall(r'"\.\[([\w,-]+)\]"', PAGE + (ROOT / "Dockerfile").read_text())
    assert asked and {name for names in asked for name in names.split(",")} <= set(extras)
    for name in (".gitignore", ".dockerignore"):
        assert any("secrets.toml" in line for line in (ROOT / name).read_text().splitlines())


def test_the_image_installs_packages_before_it_has_the_code() -> None:
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    places = [lines.index("COPY --chown=fairpriv . ."), next(n for n, line in enumerate(lines) if "setup" in line)]
    assert places == sorted(places, reverse=True) and any("PIP_NO_CACHE_DIR=1" in line for line in lines)
    early = next(line for line in lines if line.startswith("COPY")).split()[2:-1]
    assert {"fairpriv", "pyproject.toml", "requirements.txt", "constraints.txt"} < set(early)
    assert all((ROOT / name).is_file() for name in early)
    touched = next(line for line in lines if line.startswith("RUN touch ")).split()[2:-1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = {project["project"]["readme"], *project["project"]["license-files"]}
    named |= set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"])
    assert named <= {*early, *touched}, "an installation from fewer files fails"


def test_a_space_can_be_tried_on_its_own_port() -> None:
    front = (ROOT / "examples/space/README.md").read_text("utf-8").split("---\n")[1]
    said = dict(line.split(": ", 1) for line in front.splitlines())
    image = (ROOT / "Dockerfile").read_text("utf-8")
    last = image.partition(" AS space\n")[2]
    assert "ARG STAGE=server\n" in image.partition("FROM")[0] and image.endswith("\nFROM ${STAGE}\n")
    assert said["sdk"] == "docker" and f"STREAMLIT_SERVER_PORT={said['app_port']}" in last
    assert (
        "./fairpriv try " in last and f"EXPOSE {said['app_port']}" in last and '"$SPACE_HOST' in last.replace("\\", "")
    )


def test_the_image_runs_without_rights() -> None:
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    assert "USER fairpriv" in lines and lines.index("USER fairpriv") < next(
        number for number, line in enumerate(lines) if line.startswith("CMD")
    )
    assert any(line.startswith("HEALTHCHECK") for line in lines) and "VOLUME /data" in lines
