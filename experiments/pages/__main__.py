"""Write all pages."""

from experiments.pages._all import all_files
from experiments.pages._figures import hidden_swing_up_errors
from experiments.pages._rows import ROOT

for path, text in all_files().items():
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}")
hidden_swing_up_errors()
