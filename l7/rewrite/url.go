package rewrite

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// URL rewrites paths. It is immutable; nil rewrites nothing.
type URL struct {
	rules []urlRule
}

type urlRule struct {
	match *Pattern
	text  *Template
	last  bool
}

// NewURL compiles rules, or returns nil if there are none.
func NewURL(rules []farm.URLRewrite, ignoreCase bool) (*URL, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	u := &URL{rules: make([]urlRule, len(rules))}
	for i, r := range rules {
		var err error
		if u.rules[i].match, err = CompilePattern(r.Pattern, ignoreCase); err != nil {
			return nil, err
		}
		if u.rules[i].text, err = CompileTemplate(r.Replace, false); err != nil {
			return nil, fmt.Errorf("replace: %w", err)
		}
		u.rules[i].last = r.Last
	}
	return u, nil
}

// Rewrite applies the rules in order, each once, to a canonical path with its query. The
// result is valid until s is reset and must be parsed again with http1.Request.Retarget. The
// error is http1.ErrTargetTooLong. applied, unless nil, is called for every rule that
// matched.
func (u *URL) Rewrite(path []byte, s *Scratch, applied func(rule int, path []byte)) (out []byte, changed bool, err error) {
	var g Groups
	for i := range u.rules {
		r := &u.rules[i]
		if !r.match.Find(path, &g, s) {
			continue
		}
		from := len(s.text)
		s.text = r.text.replace(s.text, path, &g)
		path, changed = s.text[from:len(s.text):len(s.text)], true
		if len(path) > http1.MaxTarget {
			return nil, true, http1.ErrTargetTooLong
		}
		if applied != nil {
			applied(i, path)
		}
		if r.last {
			break
		}
	}
	return path, changed, nil
}

// Last reports whether no rules are tried after this one matched.
func (u *URL) Last(rule int) bool { return u.rules[rule].last }

// Undo converts backend paths back to client paths. It holds the path prefixes of one
// request before and after rewriting. The zero value converts nothing.
//
//	/shop/tea  →  /tea          /login becomes /shop/login
//	/old/a     →  /new/a        /new/b becomes /old/b, /other is unchanged
type Undo struct {
	prefixes []byte // the client's, then the backend's
	client   int    // length of the client's prefix
	is       bool
}

// Learn records the rewriting of a request path; queries are ignored.
func (u *Undo) Learn(client, backend []byte) {
	client, backend = withoutQuery(client), withoutQuery(backend)
	n := 0 // length of the longest common suffix that begins with a slash
	for k := 1; k <= len(client) && k <= len(backend) && client[len(client)-k] == backend[len(backend)-k]; k++ {
		if client[len(client)-k] == '/' {
			n = k
		}
	}
	client, backend = withoutSlash(client[:len(client)-n]), withoutSlash(backend[:len(backend)-n])
	u.prefixes = append(append(u.prefixes[:0], client...), backend...)
	u.client = len(client)
	u.is = string(client) != string(backend)
}

// Reset clears u but keeps its memory.
func (u *Undo) Reset() { u.prefixes, u.client, u.is = u.prefixes[:0], 0, false }

// Is reports whether there is a rewriting to undo.
func (u *Undo) Is() bool { return u.is }

// Append appends the client's form of a path with optional query and fragment. done is false
// if the rules cannot have produced the path, which is then appended unchanged.
func (u *Undo) Append(dst, path []byte) (out []byte, done bool) {
	client, backend := u.prefixes[:u.client], u.prefixes[u.client:]
	if !u.is || !begins(path, backend) {
		return append(dst, path...), false
	}
	rest := path[len(backend):]
	dst = append(dst, client...)
	if len(client) == 0 && (len(rest) == 0 || rest[0] != '/') {
		dst = append(dst, '/')
	}
	return append(dst, rest...), true
}

// begins reports whether the segments of prefix are the first segments of path.
func begins(path, prefix []byte) bool {
	if len(path) < len(prefix) || string(path[:len(prefix)]) != string(prefix) {
		return false
	}
	if len(path) == len(prefix) {
		return true
	}
	c := path[len(prefix)]
	return c == '/' || c == '?' || c == '#'
}

func withoutQuery(path []byte) []byte {
	for i, c := range path {
		if c == '?' {
			return path[:i]
		}
	}
	return path
}

func withoutSlash(path []byte) []byte {
	if n := len(path); n > 0 && path[n-1] == '/' {
		return path[:n-1]
	}
	return path
}
