package explain

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// asked is a parsed question.
type asked struct {
	head   []byte
	answer []byte // head of a backend response to explain; may be nil
	from   netip.Addr
	secure bool
	name   string // TLS server name
}

// readQuestion returns the bytes that a client would send. The parser for client input
// validates them.
func readQuestion(f *table.Farm, q *explain.Question) (a asked, err error) {
	size := len(q.Method) + len(q.URL) + len(q.SNI)
	for _, line := range slices.Concat(q.Headers, q.Answer) {
		size += len(line)
	}
	if size > explain.MaxQuestion || len(q.Headers) > explain.MaxHeaders || len(q.Answer) > explain.MaxHeaders {
		return a, fmt.Errorf("the request is too long: at most %d bytes and %d headers are allowed", explain.MaxQuestion, explain.MaxHeaders)
	}
	for _, text := range slices.Concat([]string{q.Method, q.URL, q.SNI}, q.Headers, q.Answer) {
		if strings.Contains(text, "\n") {
			return a, errors.New("method, URL, headers and name hold no line ends")
		}
	}
	a.from, a.secure = netip.AddrFrom4([4]byte{127, 0, 0, 1}), f.TLS != nil
	if q.From != "" {
		if a.from, err = netip.ParseAddr(q.From); err != nil {
			return a, fmt.Errorf("%q is no address", q.From)
		}
		a.from = a.from.Unmap()
	}
	host, target := withoutUsualPort(f.Origin, a.secure), q.URL
	if scheme, rest, ok := strings.Cut(q.URL, "://"); ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		a.secure = len(scheme) == len("https")
		end := len(rest)
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			end = i
		}
		if host, target = withoutUsualPort(rest[:end], a.secure), rest[end:]; strings.Contains(host, "@") {
			return a, errors.New("the URL names a user: send the header Authorization instead")
		}
		if !strings.HasPrefix(target, "/") {
			target = "/" + target
		}
	} else if !strings.HasPrefix(q.URL, "/") && q.URL != "*" {
		return a, errors.New("the URL must be a path, or begin with http:// or https://")
	}
	target, _, _ = strings.Cut(target, "#") // clients do not send the fragment
	method := q.Method
	if method == "" {
		method = "GET"
	}
	a.head = fmt.Appendf(nil, "%s %s HTTP/1.1\r\n", method, target)
	named := false
	for _, line := range q.Headers {
		if line == "" {
			return a, errors.New("a header is written as \"Name: value\"")
		}
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "host") {
			if named = true; strings.HasPrefix(q.URL, "/") {
				host = strings.TrimSpace(value)
			}
		}
	}
	if a.name = q.SNI; a.name == "" {
		a.name = nameOfHost(host)
	}
	if !named {
		a.head = fmt.Appendf(a.head, "Host: %s\r\n", host)
	}
	for _, line := range q.Headers {
		a.head = append(append(a.head, line...), "\r\n"...)
	}
	a.head = append(a.head, "\r\n"...)
	a.answer, err = readAnswer(q.Answer)
	return a, err
}

// readAnswer returns a response head that a backend could send. The service decides which
// deviations are accepted.
func readAnswer(lines []string) ([]byte, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	if !strings.HasPrefix(lines[0], "HTTP/") {
		lines = append([]string{"HTTP/1.1 200 OK"}, lines...)
	}
	head := []byte(strings.Join(lines, "\r\n") + "\r\n\r\n")
	_, err := parseAnswer(head, ^http1.Leniency(0))
	return head, err
}

// parseAnswer parses the head of a response without modifying it.
func parseAnswer(head []byte, l http1.Leniency) (*http1.Response, error) {
	r := new(http1.Response)
	r.Reset()
	r.Allow(l)
	switch n, err := r.Parse(bytes.Clone(head)); {
	case err != nil:
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	case n != len(head):
		return nil, errors.New("the answer cannot be read: its head does not end where it should")
	}
	return r, nil
}

// nameOfHost returns the TLS server name for a host: the host, unless it is an address (RFC
// 6066 section 3).
func nameOfHost(authority string) string {
	name := strings.ToLower(string(table.WithoutPort([]byte(authority))))
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return ""
	}
	return name
}

func withoutUsualPort(authority string, secure bool) string {
	if secure {
		return strings.TrimSuffix(authority, ":443")
	}
	return strings.TrimSuffix(authority, ":80")
}
