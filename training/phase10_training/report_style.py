"""The style sheet of reports: one column on a narrow screen, light and dark."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --faint: #667; --rule: #d8dbe0; --bar: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --ink: #e6e8eb; --faint: #9aa3ad; --rule: #353b43; --bar: #56b4e9; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: .5rem 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; padding-top: .5rem; border-top: 1px solid var(--rule); }
p { margin: .4rem 0 .8rem; color: var(--faint); max-width: 48rem; }
.facts span { display: inline-block; margin-right: 1.2rem; }
.warning { color: inherit; border-left: 4px solid #d55e00; padding-left: .7rem; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; }
.number { text-align: right; }
.heat th[scope=col] { vertical-align: bottom; text-align: center; font-weight: 500; padding: .3rem .15rem; }
.heat th[scope=col] span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 12rem; overflow: hidden; }
.heat th[scope=row] { position: sticky; left: 0; background: var(--paper); font-weight: 500; max-width: 13rem;
  overflow: hidden; text-overflow: ellipsis; }
.heat td { text-align: center; border: 1px solid var(--paper); min-width: 3.2rem; }
.heat td.empty { background: var(--rule); opacity: .35; }
.bars { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr max-content; gap: .35rem .7rem;
  align-items: center; margin: .8rem 0; }
.bar-row { display: contents; }
.bar-label { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 14rem; }
.bar-field { position: relative; height: 1.3rem; border-left: 1px solid var(--rule);
  border-right: 1px solid var(--rule); }
.bar { position: absolute; top: .15rem; bottom: .15rem; background: var(--bar); opacity: .55; min-width: 2px; }
.whisker { position: absolute; top: .35rem; bottom: .35rem; border: 2px solid var(--ink);
  border-top-width: 0; border-bottom-width: 0; min-width: 2px; }
.whisker::before { content: ""; position: absolute; left: 0; right: 0; top: 50%; border-top: 2px solid var(--ink);
  transform: translateY(-1px); }
.bar-text { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.5rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: .3rem; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: currentColor; font-size: 13px; }
.grid { stroke: var(--rule); stroke-width: 1; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; margin: .4rem 0 0; }
.legend span { display: inline-block; width: 1.1rem; height: .25rem; margin-right: .4rem; vertical-align: middle; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; max-height: 24rem; }
a { color: var(--bar); }
section li { margin: .3rem 0; }
@media (max-width: 560px) {
  body { padding: .7rem; font-size: 14px; }
  .bars { display: block; }
  .bar-row { display: grid; grid-template-columns: 1fr max-content; gap: .1rem .7rem; margin-bottom: .6rem; }
  .bar-field { grid-column: 1 / -1; grid-row: 2; }
  .bar-label { max-width: none; }
}
"""
