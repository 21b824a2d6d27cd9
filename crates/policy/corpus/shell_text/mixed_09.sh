curl x`[[{a,b}fifi&&E
[[fidoiffi>for f in<<Edone&&[[}$'${esac[[{a,b}`>(`;rm -rf /${\ \<<E} ]]<)