}
if$'*#rm -rf /<<E<<Eesac>rm -rf /ifdoneesac${

`;fithendone<[[*[[(}done&&>$(|*done$({a,b}> 