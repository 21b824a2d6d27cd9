curl xdo>then<<Els ]]`fido$(for f in`if<<E`<<E>;< ]]thencase x in a)`if#'&&`\*<<Erm -rf /bash -c }lsif"thenE
);then#for f in