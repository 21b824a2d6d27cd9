E
'|E
}(<<Eesac\dofibash -c then{a,b}$(E
"|(`E
