#!/bin/bash
# check_man.sh - the manual pages in a folder: nothing that groff or mandoc warns of, and each is
# found.
#
#   tools/doc/check_man.sh build/man
#
# A page must be read by `man --warnings` in silence, by `mandoc -T lint -W warning` where there is
# one, and by lexgrog, which indexes its name for apropos; one that only leads to another must lead
# somewhere. Then man(1) itself must find what the header of each function says of it, by the
# function's name.
set -u
folder=$(realpath "$1")
list=$folder/list
export LC_ALL=C.UTF-8 MANWIDTH=80 MANPATH=$folder
failed=0
wrong() {
    echo "$1"
    failed=$((failed + 1))
}
pages=0
links=0
while read -r page; do
    if read -r word target <"$folder/$page" && [ "$word" = .so ]; then
        links=$((links + 1))
        grep -qx "$target" "$list" || wrong "$page: leads to $target, which is not there"
        continue
    fi
    pages=$((pages + 1))
    said=$(man --warnings=w -l "$folder/$page" 2>&1 >/dev/null)
    [ -z "$said" ] || wrong "$page: $said"
    if command -v mandoc >/dev/null; then
        said=$(mandoc -T lint -W warning "$folder/$page" 2>&1) || wrong "$page: $said"
    fi
    said=$(lexgrog "$folder/$page" 2>&1) || wrong "$page: $said"
done <"$list"
found=0
while read -r function; do
    text=$(man --pager=cat 3 "$function" 2>&1)
    if grep -q "^       ${function}()\|, ${function}()\|^       .*\b${function}()" <<<"$text"; then
        found=$((found + 1))
    else
        wrong "man 3 $function does not describe it"
    fi
done < <(sed -n 's/^\(axo_\w*\).*/\1/p' "$(dirname "$0")/../../test/api/symbols.txt")
echo "man: $pages pages, $links that lead to them, $found functions found, $failed wrong"
[ "$failed" -eq 0 ] && [ "$pages" -gt 0 ] && [ "$links" -gt 0 ] && [ "$found" -gt 0 ]
