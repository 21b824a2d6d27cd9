#!/bin/sh
# Runs the shipped program where bubblewrap is not found.
[ "$(id -u)" = 0 ] || user="--user --map-current-user --keep-caps"
exec unshare --mount $user sh -c '
for f in /usr/bin/bwrap /bin/bwrap /usr/local/bin/bwrap; do
    [ ! -e $f ] || mount --bind /dev/null $f || exit 125
done
exec "$SHIPPED" "$@"' sh "$@"
