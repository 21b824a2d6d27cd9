{a,b}E
rm -rf /ls`curl x<)if ]]case x in a)<<E(then}then|lsrm -rf /\>