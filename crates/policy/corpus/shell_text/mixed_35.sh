[[|<}$' ]]>do${##E
bash -c E
 <<E<<E&&[[>|>>\#&&{a,b}`esac<<E>fifor f in<) ]]