 ]] ]] ]]${done&&rm -rf /$(ifcurl x# ]]`fi[[E
case x in a);;`$(\for f in