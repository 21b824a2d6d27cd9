cu\
rl x\
\
