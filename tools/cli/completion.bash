# bash completes `tickpath`: commands, their options, files. To try it: source tools/cli/completion.bash
# zsh has completion.zsh.
#
# What there is to complete is asked of the program, so that nothing has to be kept up here.
_tickpath() {
  local current=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} command= word words
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || { command=$word; break; }
  done
  if [[ -z $command ]]; then
    # Commands stand by themselves at two blanks, options with theirs.
    words=$("$program" --help 2>/dev/null | sed -n 's/^  \(-[^ ,]*,\)\{0,1\}\([a-z-][a-z-]*\).*/\2/p')
  elif [[ $current == -* ]]; then
    words=$("$program" "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u)
  else
    compopt -o default 2>/dev/null  # files
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _tickpath tickpath
