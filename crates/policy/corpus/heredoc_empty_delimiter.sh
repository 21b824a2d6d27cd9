cat <<''
abc

ls