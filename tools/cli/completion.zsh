#compdef tickpath
# zsh completes `tickpath`: commands, their options, files. To try it, behind compinit:
# source tools/cli/completion.zsh
#
# What there is to complete is asked of the program, so that nothing has to be kept up here.
_tickpath() {
  local command=${${(@)words[2,CURRENT-1]:#-*}[1]} lines='^  [-a-z]'
  if [[ -n $command && $PREFIX != -* ]]; then
    _files
    return
  fi
  [[ -n $command ]] && lines='^  -'
  # Options and commands stand at two blanks, each before its text. The text's further lines are
  # left out.
  local -a found=(${(f)"$(_call_program help ${(q)words[1]} ${command:+${(q)command}} --help |
    sed -n "/$lines/{s/^  \(-[^ ,]*,\)\{0,1\}\([a-z0-9-]*\)[^ ]* */\2:/; s/  */ /g; p;}")"})
  _describe -o word found
}
# In a folder of $fpath this file is the function.
if [[ $funcstack[1] == _tickpath ]]; then _tickpath "$@"; else compdef _tickpath tickpath; fi
