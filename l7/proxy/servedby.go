package proxy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// newServedBy gives each backend the field line that tells clients who served
// them, and the name to look for in answers; empty when nobody is to know.
func newServedBy(s *farm.Service, backends []backend) (name string, err error) {
	if s.ServedBy == "" {
		return "", nil
	}
	if !http1.Token([]byte(s.ServedBy)) || http1.Fixed([]byte(s.ServedBy)) {
		return "", fmt.Errorf("%q cannot be the name of a field that is added", s.ServedBy)
	}
	for i := range backends {
		b := &backends[i]
		v, ok := http1.CheckValue([]byte(strings.TrimSpace(cmp.Or(b.alias, b.origin))))
		if !ok {
			return "", fmt.Errorf("the alias of backend %d is no field value", i)
		}
		b.servedBy = http1.AppendField(nil, s.ServedBy, v)
	}
	return strings.ToLower(s.ServedBy), nil
}

// withServedBy adds who served the request to the lines an answer gets beside
// its own, and keeps what the backend says of it from being passed on: the
// field tells one thing, whoever else may write it.
func (ex *exchange) withServedBy(add []byte) []byte {
	name := ex.service.servedBy
	if name == "" {
		return add
	}
	h := &ex.w.resp.Head
	for i := h.Lookup(name); i >= 0; i = h.Lookup(name) {
		if !h.Remove(i) {
			break
		}
	}
	return ex.w.join(add, ex.backend.servedBy)
}

// join gives lines followed by more. The result is good until the next call on
// the loop, which may be given it.
func (w *worker) join(lines, more []byte) []byte {
	switch {
	case len(more) == 0:
		return lines
	case len(lines) == 0:
		return more
	}
	w.extra = append(append(w.extra[:0], lines...), more...)
	return w.extra
}
