}(doneE
$'~case x in a)<\$(|\<<lsthen|<<E#ls\$'