case x in a)$(ifE
fi&&>fils$(<<E$(\esac'esaccurl xrm -rf /rm -rf /<$(for f in\case x in a){a,b}then