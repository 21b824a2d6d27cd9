[[#`${fi$'
*\then$''`donebash -c {a,b}*~then ]]`$(E
if`"rm -rf /bash -c [[#case x in a)~curl x ]]~
${then";#}>esacesacthen$(
[[esacdone