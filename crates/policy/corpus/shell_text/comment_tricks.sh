ls # a \
rm x
#b
echo a#b '#c' "#d"