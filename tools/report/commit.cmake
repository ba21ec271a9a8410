# cmake -DSOURCE=... -DOUTPUT=commit.cpp -P commit.cmake: writes the commit of SOURCE where it is another one than OUTPUT says.
execute_process(COMMAND git -c safe.directory=${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(text "#include \"tools/report/assets.hpp\"

namespace tickpath::report {

const std::string_view kCommit = \"${commit}\";

}  // namespace tickpath::report
")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()
