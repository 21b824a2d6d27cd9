E
(fi{a,b}&& (curl xesacdonedone;$("$'[[}#then"