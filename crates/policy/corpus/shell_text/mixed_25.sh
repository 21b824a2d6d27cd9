bash -c &&curl x$'case x in a)$'for f in;case x in a)E
*"thenE
bash -c  }fifor f in;$(