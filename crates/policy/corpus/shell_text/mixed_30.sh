fi`;then&&rm -rf /&&< ]]<<<E#)then|<then$'"\esac";curl x\$'""|esac[[{a,b}${$(
*&&|for f in ]]'rm -rf /case x in a) *[[
)ls$(E
$(