(${)`rm -rf /for f in&&case x in a)<<E<lslsdorm -rf / ]]E
{a,b}>iffor f in>done>curl x$'rm -rf /"curl x&&then$'$(<<E<( <then