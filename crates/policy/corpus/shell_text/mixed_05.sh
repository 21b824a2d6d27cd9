${${then ]]ififrm -rf /$(\)*<<Eif
for f incurl x;for f in \docurl xfor f inrm -rf /$(<<Efor f in 
~<dodofi*