package http

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// judge returns the fault of an answer, or the URL that it redirects to.
func (a *asker) judge(r *answer, where *url.URL) (next *url.URL, err error) {
	line := fmt.Sprintf("%s %s", r.Proto, r.Status)
	if !a.expect.has(r.StatusCode, line) {
		return nil, fmt.Errorf("answered %s, wanted %s", probe.Line(r.Status), &a.expect)
	}
	if !a.expect.given() && redirects(r.StatusCode) {
		next, err = a.follow(r, where)
		if next != nil || err != nil {
			return next, err
		}
	}
	return nil, errors.Join(a.headers(r), a.content(r))
}

func redirects(status int) bool {
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308
}

// follow handles a redirect as the command says.
func (a *asker) follow(r *answer, where *url.URL) (*url.URL, error) {
	switch a.redirect {
	case "ok":
		return nil, nil
	case "unknown", "warning", "critical":
		return nil, fmt.Errorf("answered %s, wanted no redirect", probe.Line(r.Status))
	}
	next, err := where.Parse(r.Header.Get("Location"))
	if err != nil || r.Header.Get("Location") == "" {
		return nil, fmt.Errorf("answered %s without a place to go on to", probe.Line(r.Status))
	}
	if next.Scheme != "http" && next.Scheme != "https" {
		return nil, fmt.Errorf("redirected to %s, which is no page", probe.Line(next.Redacted()))
	}
	next.User, next.Fragment = nil, ""
	a.say("redirected to %s; the backend itself is asked for it", next)
	return next, nil
}

// redirected reports whether a request goes to the port in its URL, which comes from a
// redirect.
func (a *asker) redirected(where *url.URL) bool {
	return a.redirect != "stickyport" && (where.Host != a.authority() || where.Scheme != a.scheme())
}

func (a *asker) headers(r *answer) error {
	if a.header != "" {
		if want := a.header.For(a.to); !hasField(r.Header, want) {
			return fmt.Errorf("%q is not among the fields of the answer", want)
		}
	}
	if a.age == 0 {
		return nil
	}
	modified, err := http.ParseTime(r.Header.Get("Last-Modified"))
	if err != nil {
		return errors.New("the answer does not say when it was modified")
	}
	if old := time.Since(modified); old > a.age {
		return fmt.Errorf("the page is %s old, wanted at most %s", old.Round(time.Second), a.age)
	}
	return nil
}

// hasField reports whether a text is part of a line "Name: value". Names may be in any
// case, since net/http does not keep their case.
func hasField(head http.Header, want string) bool {
	if name, value, whole := strings.Cut(want, ":"); whole {
		want = strings.ToLower(name) + ":" + value
	}
	for name, values := range head {
		for _, v := range values {
			if strings.Contains(strings.ToLower(name)+": "+v, want) || strings.Contains(strings.ToLower(name), strings.ToLower(want)) {
				return true
			}
		}
	}
	return false
}

func (a *asker) content(r *answer) error {
	if a.noBody {
		return nil
	}
	if want := a.text.For(a.to); want != "" && !bytes.Contains(r.body, []byte(want)) {
		return fmt.Errorf("%q is not in the page%s", want, seen(r))
	}
	if a.pattern != nil && a.pattern.Match(r.body) == a.inverted {
		if a.inverted {
			return fmt.Errorf("the page matches %q", a.pattern)
		}
		return fmt.Errorf("the page does not match %q%s", a.pattern, seen(r))
	}
	switch size := len(r.body); {
	case size < a.least:
		return fmt.Errorf("the page has %d bytes, wanted %d at least", size, a.least)
	case a.most >= 0 && (size > a.most || r.cut):
		return fmt.Errorf("the page has %d bytes or more, wanted %d at most", size, a.most)
	}
	return nil
}

// seen returns how many bytes were read, if that is not the whole body.
func seen(r *answer) string {
	if r.cut {
		return fmt.Sprintf(" (its first %d bytes were looked at)", len(r.body))
	}
	return ""
}
