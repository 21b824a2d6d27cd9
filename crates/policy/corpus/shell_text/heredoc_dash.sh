cat <<-'EOF'
	hi
	EOF
ls