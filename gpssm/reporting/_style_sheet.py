"""How a page looks: one column, light, readable in print."""

STYLE = """
:root { --ink: #1d1d1f; --soft: #5b5b62; --rule: #dcdce0; --good: #00664b; --care: #8a5a00; --bad: #a33b00; }
* { box-sizing: border-box; }
body { margin: 0; background: #ffffff; color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 28px 24px 80px; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .4rem; padding-top: .9rem; border-top: 1px solid var(--rule); }
h3 { font-size: 1.02rem; margin: 1.5rem 0 .2rem; }
p { margin: .35rem 0 .7rem; max-width: 52rem; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .9rem; }
a { color: #0b5a8a; }
.lead { color: var(--soft); }
.headline { font-size: 1.3rem; font-weight: 600; margin: .8rem 0 .5rem; max-width: none; }
.findings { border-collapse: collapse; width: 100%; margin: 1rem 0; }
.findings td, .findings th { text-align: left; vertical-align: top; padding: .55rem .7rem .55rem 0; }
.findings td, .findings th { border-top: 1px solid var(--rule); }
.findings th { font-weight: 600; width: 15rem; }
.findings td:nth-child(2) { width: 8rem; white-space: nowrap; }
.grade { font-weight: 600; }
.grade.good { color: var(--good); } .grade.caution { color: var(--care); } .grade.bad { color: var(--bad); }
.grade.unknown { color: var(--soft); }
.scroll { overflow-x: auto; margin: .6rem 0 1rem; }
table.numbers, table.pairs { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
table.numbers th, table.numbers td { padding: .28rem .9rem .28rem 0; text-align: right; }
table.numbers td { white-space: nowrap; }
table.numbers th, table.numbers td { border-bottom: 1px solid var(--rule); }
table.numbers th:first-child { text-align: left; }
table.numbers thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
table.numbers tbody th { font-weight: 500; }
table.pairs th, table.pairs td { padding: .22rem 1rem .22rem 0; border-bottom: 1px solid var(--rule); }
table.pairs th, table.pairs td { text-align: left; vertical-align: top; overflow-wrap: anywhere; }
table.pairs th { font-weight: 500; color: var(--soft); }
figure { margin: .8rem 0 1.6rem; }
figcaption { margin-top: .25rem; color: var(--soft); font-size: .9rem; max-width: 56rem; }
.plot { width: 100%; }
ol.advice li { margin: .3rem 0; max-width: 52rem; }
@media print { nav { display: none; } figure, tr { break-inside: avoid; } }
"""
