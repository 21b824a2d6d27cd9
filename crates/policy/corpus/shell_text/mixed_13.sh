${ ]]ls*done$'E
}'for f in>${
<<E"|&&rm -rf /rm -rf /for f in;#[[fi|E
~curl x<<E'lscurl xfidone&&fiif>[[)(thendoesacfirm -rf /;<*&&}esac~"}ls`<<E(
