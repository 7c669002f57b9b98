"""Which network is trained: chosen where rows are images, and said in words; an mlp's size is asked for mlps alone."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.networks import FOR_IMAGES, MLP, NETWORKS
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.records.config import OF_MLP
from pages.widgets.shared.state import keep, mount_index

_TITLES = {
    MLP: "No convolutions: pixels as columns",
    "cnn_small": "Small: 2 convolutions, 2 dense layers",
    "vgg9": "Large: 6 convolutions, 3 dense layers",
}
_HELP = "More layers see more in an image; noise grows with the number of parameters."


def choose_network(kind: type[Method], dataset: Dataset) -> tuple[str | None, tuple[str, ...]]:
    """Draw the choice where rows are images and `kind` leaves it.

    Returns the network's name, or None where there is no choice, and the parameters that the form has to leave out.
    """
    if "network" not in parameters(kind):
        if dataset.image is not None:
            st.caption(f"This method takes no convolutions: it trains on the {dataset.features:,} pixels as columns.")
        return None, ()
    if dataset.image is None:
        return None, ("network",)
    mounted = mount_index("p.network", NETWORKS, FOR_IMAGES)
    chosen = st.selectbox("Network", NETWORKS, **mounted, format_func=_TITLES.__getitem__, help=_HELP)
    network = str(keep("p.network", chosen))
    return network, ("network",) if network == MLP else ("network", *OF_MLP)
