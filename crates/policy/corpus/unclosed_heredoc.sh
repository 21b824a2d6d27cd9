cat <<'EOF'
abc