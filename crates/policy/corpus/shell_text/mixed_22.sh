${*ls{a,b}*esac${&&ls#<<E `esaccase x in a)` (E
"E
)"#\