{a,b} ]] $(fi&&esac
>$'`'ifdonedo{a,b}
()`<<E$(;)$'