}(&&;curl x<<E;#fi>{a,b}<<Edo$'}"~ ]]for f in$'fi}do\for f inficurl x[[|ls\|\if${done"{a,b}for f infor f indoneif)done">&&E
')fi[[