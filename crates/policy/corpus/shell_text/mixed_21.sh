 }fiE
${ <thenthenesaccurl x
lsthen[[esacrm -rf /\$'~case x in a)