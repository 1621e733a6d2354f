package main

import (
	"bytes"
	"fmt"
	"strings"
)

// fault is one change of one file that a test should detect.
type fault struct {
	*source
	pkg      *pkg
	class    string
	line     int
	from, to int    // replaced bytes of the file
	text     string // their replacement
	seen     string // shown to the reader instead of text; empty: text
}

// Classes of faults. Faults that omit code move it into a function that is never called,
// so that its identifiers stay used and the rest compiles.
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

// changed returns the file with the fault.
func (f *fault) changed() []byte {
	return bytes.Join([][]byte{f.source.text[:f.from], []byte(f.text), f.source.text[f.to:]}, nil)
}

// String returns the location and the first changed line in diff format.
func (f *fault) String() string { return fmt.Sprintf("%s:%d: %s", f.name, f.line, f.change()) }

// change returns the change without its location.
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
