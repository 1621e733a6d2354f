package nft

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Sentinels for errors.Is.
var (
	// ErrMissing: there is no nft program.
	ErrMissing = errors.New("the program nft is not installed")
	// ErrUnsupported: this kernel has no nf_tables.
	ErrUnsupported = errors.New("this kernel has no nf_tables")
	// ErrNotPermitted: this process may not change packet filter rules.
	ErrNotPermitted = errors.New("not permitted to change packet filter rules: run sluice as root")
)

// Error is a transaction the kernel or nft refused; nothing of it was done.
type Error struct {
	// Line is the refused line, Owner whose it is; "" and 0 when nft told none.
	Line  string
	Owner uint32
	// Reason is what nft said, one line.
	Reason string
	// Refused are all owners of refused lines with what was said of each; those
	// nft had no room left to tell are missing.
	Refused map[uint32]string
	cause   error
}

// Error names the reason and the line.
func (e *Error) Error() string {
	if e.Line == "" {
		return "packet filter: " + e.Reason
	}
	return fmt.Sprintf("packet filter: %s: %s", e.Reason, e.Line)
}

// Unwrap returns the sentinel, if one fits.
func (e *Error) Unwrap() error { return e.cause }

// located finds "FILE:LINE:FIRST-LAST: Error: REASON".
var located = regexp.MustCompile(`^[^:\n]*:([0-9]{1,9}):[0-9]+-[0-9]+: Error: (.*)$`)

// maxShown bounds a line quoted in an error, in bytes.
const maxShown = 160

// problem is what nft says of a line; 0 when it names none.
type problem struct {
	line   int
	reason string
}

// problems reads what nft wrote to its standard error: those that have a
// position, else the first line that says something.
func problems(output string) (all []problem) {
	var other problem
	for text := range strings.SplitSeq(output, "\n") {
		text = strings.TrimSpace(text)
		if m := located.FindStringSubmatch(text); m != nil {
			line, _ := strconv.Atoi(m[1]) // nine digits at most
			all = append(all, problem{line, short(m[2])})
		} else if other.reason == "" && text != "" {
			other.reason = short(strings.TrimPrefix(text, "Error: "))
		}
	}
	if len(all) == 0 {
		all = []problem{other}
	}
	return all
}

func short(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "…"
	}
	return s
}

// failure makes an Error of what nft wrote.
func failure(output string, b *Batch) *Error {
	all := problems(output)
	e := all[0].error(b)
	for _, c := range all {
		if one := c.error(b); one.Owner != 0 && e.Refused[one.Owner] == "" {
			if e.Refused == nil {
				e.Refused = map[uint32]string{}
			}
			e.Refused[one.Owner] = one.Error()
		}
	}
	switch {
	case strings.Contains(output, "Operation not permitted"):
		e.cause, e.Reason, e.Line, e.Owner = ErrNotPermitted, ErrNotPermitted.Error(), "", 0
		e.Refused = nil
	case strings.Contains(output, "Protocol not supported"), strings.Contains(output, "Unable to initialize Netlink socket"),
		strings.Contains(output, "Operation not supported") && strings.HasPrefix(e.Line, "add table "):
		e.cause, e.Reason, e.Line, e.Owner = ErrUnsupported, ErrUnsupported.Error(), "", 0
		e.Refused = nil
	}
	return e
}

// error is the problem of a batch as an Error.
func (c problem) error(b *Batch) *Error {
	e := &Error{Reason: c.reason}
	if e.Reason == "" {
		e.Reason = "nft failed without a word"
	}
	if b != nil {
		if e.Owner = b.Owner(c.line); c.line >= 1 && c.line <= len(b.lines) {
			e.Line = short(strings.TrimSpace(b.lines[c.line-1]))
		}
	}
	return e
}
