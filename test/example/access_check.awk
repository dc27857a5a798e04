# access_check.awk - what log_pipeline must find in a log, said once more: requests and bytes of
# each status to standard output, the numbers of malformed lines to the file `bad`.
{ sub(/\r$/, "") }
match($0, /^[^ ]+ [^ ]+ [^ ]+ \[[0-9][0-9]\/[A-Z][a-z][a-z]\/[0-9][0-9][0-9][0-9]:([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9] [+-][0-9][0-9][0-9][0-9]\] "([^"\\]|\\.)*" [1-5][0-9][0-9] ([0-9]+|-) "([^"\\]|\\.)*" "([^"\\]|\\.)*"$/) {
    match($0, /\] "([^"\\]|\\.)*" /)
    split(substr($0, RSTART + RLENGTH, 24), field, " ")
    if (length(field[2]) <= 15) {
        requests[field[1]]++
        bytes[field[1]] += field[2]
        next
    }
}
{ print NR >bad }
END { for (status in requests) printf "%s %d %.0f\n", status, requests[status], bytes[status] }
