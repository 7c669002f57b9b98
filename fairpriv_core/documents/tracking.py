"""A run as an MLflow run: settings, ε and gaps, what ε takes as given, the model card and the model's files.

MLflow finds its server, or the database that it writes to, as it always does: MLFLOW_TRACKING_URI and
MLFLOW_EXPERIMENT_NAME. The extra "mlflow" brings what a server needs; a database needs the whole package.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from fairpriv_core.documents.chosen import Chosen
from fairpriv_core.documents.hub import list_metrics, write_hub
from fairpriv_core.errors import BadInput
from fairpriv_core.facts.run_facts import Audience
from fairpriv_core.records.release import Kind

NO_MLFLOW = "an MLflow run needs mlflow, which is not installed: pip install 'fairpriv[mlflow]'."


def log_run(setting: Chosen[Kind], audience: Audience, files: Mapping[str, bytes]) -> str:
    """Log a run to MLflow; return the sentence that says where. `setting` holds what `audience` may see.

    Raises:
        BadInput: mlflow is not installed, or cannot be written to.
    """
    if find_spec("mlflow") is None:
        raise BadInput(NO_MLFLOW, field="format")
    import mlflow
    from mlflow.exceptions import MlflowException

    try:
        with mlflow.start_run(run_name=setting.first.key) as run, tempfile.TemporaryDirectory() as folder:
            mlflow.log_params(list_params(setting))
            mlflow.log_metrics(list_numbers(setting))
            mlflow.set_tags(list_tags(setting))
            for name, content in write_hub(setting, audience, files).items():
                Path(folder, name).write_bytes(content)
            mlflow.log_artifacts(folder)
            return f"logged as MLflow run {run.info.run_id} to {mlflow.get_tracking_uri()}"
    except ImportError as error:
        raise BadInput(f"MLflow cannot be written to: {error}; a database needs pip install mlflow.") from error
    except (MlflowException, OSError) as error:
        raise BadInput(f"MLflow cannot be written to: {error}.", field="format") from error


def list_params(setting: Chosen[Kind]) -> dict[str, object]:
    """Return what was asked for and how the method ran: settings, data, notion, seed."""
    run = setting.first
    params = {"dataset": run.data.title, "sensitive": run.data.sensitive, "notion": run.config["notion"]}
    own = {f"method.{name}": value for name, value in run.calibrated.items()}
    return {**params, "seed": run.seed, **own}


def list_numbers(setting: Chosen[Kind]) -> dict[str, float]:
    """Return what MLflow draws: accuracy and gap as `list_metrics` has them, and ε and δ where ε is proved."""
    epsilon = setting.first.epsilon
    private = {} if epsilon.proved is None else {"epsilon": epsilon.proved, "delta": epsilon.delta}
    return {**{name: value for name, (value, _) in list_metrics(setting).items()}, **private}


def list_tags(setting: Chosen[Kind]) -> dict[str, str]:
    """Return what must be said with the numbers: what ε protects, what it takes as given, how each was measured."""
    run = setting.first
    tags = {
        "privacy": run.epsilon.line,
        "protects": run.epsilon.protects,
        **{f"measured {name}": title for name, (_, title) in list_metrics(setting).items()},
        **{f"assumption {place}": sentence for place, sentence in enumerate(run.assumptions, start=1)},
        **{f"missing {place}": sentence for place, sentence in enumerate(run.missing, start=1)},
    }
    return {f"fairpriv.{name}": sentence for name, sentence in {"key": run.key, **tags}.items()}
