<&&>esac<&&for f inthen~curl xcurl xE
if<<E&&~[[~ $(<)<if&&*;iflsif~$(${case x in a)&&if|(*$(esac ]]esac$(
