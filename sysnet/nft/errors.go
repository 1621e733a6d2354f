package nft

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// Sentinels for errors.Is.
var (
	// ErrMissing means that the nft program is not installed.
	ErrMissing = errors.New("the program nft is not installed")
	// ErrUnsupported means that the kernel has no nf_tables.
	ErrUnsupported = errors.New("this kernel has no nf_tables")
	// ErrNotPermitted means that this process may not change packet filter rules. It is an
	// fs.ErrPermission.
	ErrNotPermitted error = notPermitted{}
)

type notPermitted struct{}

func (notPermitted) Error() string {
	return "not permitted to change packet filter rules: run sluice as root"
}
func (notPermitted) Is(target error) bool { return target == fs.ErrPermission }

// Error is a transaction that the kernel or nft rejected as a whole.
type Error struct {
	// Line is the rejected line and Owner its owner; "" and 0 if unknown.
	Line  string
	Owner uint32
	// Reason is the message of nft, one line.
	Reason string
	// Refused maps all owners of rejected lines to their messages. Lines that did not fit
	// into the output of nft are missing.
	Refused map[uint32]string
	cause   error
}

// Error returns the reason and the line.
func (e *Error) Error() string {
	if e.Line == "" {
		return "packet filter: " + e.Reason
	}
	return fmt.Sprintf("packet filter: %s: %s", e.Reason, e.Line)
}

// Unwrap returns the matching sentinel, if any.
func (e *Error) Unwrap() error { return e.cause }

// located matches "FILE:LINE:FIRST-LAST: Error: REASON".
var located = regexp.MustCompile(`^[^:\n]*:([0-9]{1,9}):[0-9]+-[0-9]+: Error: (.*)$`)

// maxShown bounds a quoted line in an error, in bytes.
const maxShown = 160

// problem is one message of nft about a line; line is 0 if unknown.
type problem struct {
	line   int
	reason string
}

// problems parses the standard error of nft. It returns the messages with a position, or
// the first nonempty line if there are none.
func problems(output string) (all []problem) {
	var other problem
	for text := range strings.SplitSeq(output, "\n") {
		text = strings.TrimSpace(text)
		if m := located.FindStringSubmatch(text); m != nil {
			line, _ := strconv.Atoi(m[1]) // at most nine digits
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

// failure returns the Error for the output of nft.
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

// error returns the problem of a batch as an Error.
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
