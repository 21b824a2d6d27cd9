 bash -c {a,b}}fi" ]]doneesacesacesacesac)ifesac"&&`;[[
${*")lsbash -c \do) curl x`;case x in a)\<<E~ 