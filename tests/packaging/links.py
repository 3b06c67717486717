"""Reports links of Markdown pages to files that are not there.   links.py FOLDER; exit status 1 if there are any"""
import pathlib
import re
import sys

folder = pathlib.Path(sys.argv[1])
pages = sorted(folder.rglob("*.md"))
links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))]
broken = [f"{page}: {link}" for page, link in links if "://" not in link and not (page.parent / link).exists()]
print(*broken, sep="\n", end="\n" if broken else "")
sys.exit(1 if broken or not pages else 0)
