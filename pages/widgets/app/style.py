"""The mark; and what the theme's settings cannot say: figures that line up, less empty space, texts that can be read.

The ground of a shaded region lets the pointer through to the points on it. Why a file was refused stands beside it, and
not under the pointer alone.
"""

from __future__ import annotations

import streamlit as st

from pages.widgets.shared.session import theme_name

#: drawn here, so that no page fetches an icon from elsewhere
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2E79B0"/>'
    '<path d="M7 24 L16 8 L25 24 M11 18 H21" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>'
)
#: the same with the name beside it, in the colour of the page's text
_MARK = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 124 32"><svg width="32" height="32">{icon}</svg>'
    '<text x="42" y="23" font-family="Arial, Helvetica, sans-serif" font-size="20" font-weight="bold" fill="{ink}">'
    "fairpriv</text></svg>"
)
#: how high choices are, by their keys: until the browser has fetched what draws one, its place is held at 2.5rem alone
_LABELLED = (
    "attributes audit_runs claims_of data dataset encoding epsilon gap group_ratio learn_search method notion of_data "
    "of_notion paper positive preset rows runs"
)
_BUTTONS = "audience card claims_that learn_kind source variant view"
_RULES = """
.stApp { --fairpriv-styled: 1; font-variant-numeric: tabular-nums; }
.stMainBlockContainer { padding-top: 4.5rem; padding-bottom: 4rem; }
.stApp [data-testid="stCaptionContainer"] { opacity: 0.8; }
.stApp [data-testid="stBaseButton-primary"]:not(:disabled),
.stApp [data-testid="stBaseButton-primary"]:not(:disabled) p,
.stApp [data-tag], .stApp [data-tag] * { color: %(ink)s; }
.stApp [data-testid="stBottomBlockContainer"] { padding-top: 0.75rem; padding-bottom: 0.75rem; }
.fairpriv-plot .shapelayer path[style*="stroke-width: 0px"] { pointer-events: none !important; }
.fairpriv-plot:empty { background: color-mix(in srgb, currentColor 5%%, transparent); border-radius: 0.5rem; }
[data-testid="stLayoutWrapper"]:has(> .st-key-page), .st-key-page { height: auto !important;
  overflow: visible !important; }
.stElementContainer.st-key-top { position: absolute; width: 1px; overflow: hidden; }
.st-key-strip { min-height: 1.5rem; }
.stMainBlockContainer [data-testid="stLayoutWrapper"]:has(> .st-key-strip_buttons) { position: fixed; top: 0.625rem;
  right: 1rem; z-index: 999991; width: auto; }
.st-key-strip_buttons { gap: 0.5rem; }
.st-key-strip_folded { display: none; }
.st-key-ledger_gauge { max-width: 13.5rem; }
[data-testid="stToolbar"] { padding-right: 9.5rem; }
.stApp:has(.st-key-ledger_gauge, .st-key-strip_run, .st-key-person) [data-testid="stToolbar"] { padding-right: 22rem; }
.stElementContainer:is(%(labelled)s) { min-height: 4.25rem; }
.stElementContainer:is(%(buttons)s) { min-height: 3.75rem; }
.stElementContainer.st-key-card { min-height: 6rem; }
.st-key-headline_place { min-height: 8.5rem; }
.st-key-present_story { min-height: calc(clamp(27rem, 100dvh - 16rem, 48rem) + 2.5rem); }
.st-key-present_story:has(.st-key-leave_ways) { min-height: 0; }
.st-key-present_story iframe { height: clamp(27rem, 100dvh - 16rem, 48rem); }
.stElementContainer:has([data-testid="stProgress"]) { min-height: 2.5rem; }
.st-key-run_numbers { min-height: 4.75rem; }
.st-key-recipe .stSelectbox { display: grid; grid-template-columns: 7rem minmax(0, 1fr); align-items: center;
  column-gap: 0.5rem; }
.st-key-recipe .stElementContainer:is(%(labelled)s) { min-height: 2.5rem; }
[class*="st-key-line_"] { margin-top: -0.3rem; }
.stApp .stSlider label[disabled] { color: inherit; opacity: 0.7; }
.stElementContainer.st-key-paper_scores { min-height: 177px; }
.stFileChip[aria-invalid="true"] { height: auto; max-width: none; flex-wrap: wrap; }
.stFileChip [role="alert"] { position: static; width: auto; height: auto; margin: 0; clip: auto; clip-path: none;
  padding: 0 0.5rem; overflow: visible; white-space: normal; font-size: 0.875rem; }
.stFileChip [role="alert"]::after { content: " It was not taken."; }
.st-key-strip p { line-height: 1.5; overflow-wrap: anywhere; }
.stApp [data-testid="stMarkdownContainer"] table { display: block; max-width: 100%%; overflow-x: auto; }
.stApp .wide { overflow-x: auto; }
.stApp .wide table { border-collapse: collapse; min-width: 100%%; }
.stApp .wide th, .stApp .wide td { padding: 0.3rem 0.6rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid color-mix(in srgb, currentColor 20%%, transparent); }
.st-key-ways button { justify-content: flex-start; min-height: 5rem; padding: 0.75rem 1.1rem; border-radius: 0.75rem; }
.st-key-ways button * { justify-content: flex-start; width: 100%%; text-align: left; }
.st-key-ways button strong { width: auto; font-size: 1.1rem; }
.stMainBlockContainer h1, .stMainBlockContainer h2, .stMainBlockContainer h3 { padding: 0.5rem 0; }
.stMainBlockContainer .st-key-headline h2 { font-size: 1.3rem; padding: 0.25rem 0; }
@media (max-width: 640px) {
  .stMainBlockContainer h1 { font-size: 1.6rem; }
  [data-testid="stLayoutWrapper"]:has(> .st-key-strip) { display: none; }
  .st-key-strip_folded { display: block; }
  .st-key-strip_buttons > :not(.st-key-strip_folded) p { position: absolute; clip-path: inset(50%%); }
  .st-key-headline_place { min-height: 13rem; }
  [data-testid="stHorizontalBlock"]:has(.st-key-recipe):has(.st-key-run_state) { flex-direction: column-reverse; }
  .st-key-present_story { min-height: 42rem; }
  .st-key-present_story:has(.st-key-leave_ways) { min-height: 0; }
  .st-key-present_story iframe { height: 38rem; }
  .st-key-report_bar { min-height: 6rem; }
  .stElementContainer.st-key-view { min-height: 6rem; }
  .stElementContainer.st-key-card { min-height: 12.75rem; }
}
"""


def show_style() -> None:
    """Apply the rules. On a dark ground the primary colour is light, so what is written on it is dark."""
    ink = "#14171A" if theme_name() == "dark" else "#FFFFFF"
    st.html(f"<style>{_RULES % {'ink': ink, 'labelled': _select(_LABELLED), 'buttons': _select(_BUTTONS)}}</style>")


def show_mark() -> None:
    """Draw the name and the mark, left of the menu."""
    st.logo(_MARK.format(icon=ICON, ink="#ECEFF1" if theme_name() == "dark" else "#1F2328"))


def _select(keys: str) -> str:
    return ", ".join(f".st-key-{key}" for key in keys.split())
