then
<
(fiesac*$'&&~{a,b}$( curl x*done ]][[curl xcase x in a)*for f in#fi`${<)$(