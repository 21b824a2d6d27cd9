echo $(cat <<EOF
$(cat <<F
x
F
)
EOF
)