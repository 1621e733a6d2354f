package main

import (
	"bytes"
	"fmt"
	"strings"
)

// fault is one change of one file that a test should notice.
type fault struct {
	*source
	pkg      *pkg
	class    string
	line     int
	from, to int    // the bytes of the file that change
	text     string // what they become
	seen     string // what a reader is shown instead of text; empty: text
}

// The classes of faults. Those that leave something out put it into a function
// that nobody calls, so that what it used stays used and the rest compiles.
const (
	condition  = "condition"
	bound      = "bound"
	constant   = "constant"
	call       = "call"
	giveBack   = "give-back"
	deferred   = "defer"
	argument   = "argument"
	check      = "check"
	assignment = "assignment"
)

var allClasses = []string{condition, bound, constant, call, giveBack, deferred, argument, check, assignment}

// changed is the file with the fault.
func (f *fault) changed() []byte {
	return bytes.Join([][]byte{f.source.text[:f.from], []byte(f.text), f.source.text[f.to:]}, nil)
}

// String is the fault as a place and the first line it changes, as diff has it.
func (f *fault) String() string { return fmt.Sprintf("%s:%d: %s", f.name, f.line, f.change()) }

// change is what the fault does, wherever the line is it does it to.
func (f *fault) change() string {
	whole := f.source.text
	begin := bytes.LastIndexByte(whole[:f.from], '\n') + 1
	end := f.to
	if n := bytes.IndexByte(whole[end:], '\n'); n >= 0 {
		end += n
	}
	becomes := f.text
	if f.seen != "" {
		becomes = f.seen
	}
	was := string(whole[begin:end])
	is := string(whole[begin:f.from]) + becomes + string(whole[f.to:end])
	return fmt.Sprintf("%s\n\t- %s\n\t+ %s\n", f.class, firstLine(was), firstLine(is))
}

func firstLine(text string) string {
	text = strings.TrimSpace(text)
	if line, _, more := strings.Cut(text, "\n"); more {
		return line + " …"
	}
	return text
}
