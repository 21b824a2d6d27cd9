${$(esacbash -c   ]]
}ls"done\esac$(bash -c  fi
\~#
for f in
`)case x in a)then&&rm -rf /}'