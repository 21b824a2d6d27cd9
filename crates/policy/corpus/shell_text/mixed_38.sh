;ls{a,b}$' |rm -rf /`;'thendoneif`$')esacdone\do$(
esacE
$'#rm -rf /$'"rm -rf /bash -c ~$'$'curl x &&esacesac;ls(
