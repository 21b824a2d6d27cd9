
E
[[ls<<E *done{a,b}>'rm -rf /;~|ls