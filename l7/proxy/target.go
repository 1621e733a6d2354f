package proxy

import (
	"regexp"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// target is where a redirect points to. Its text may hold ${VHOST}, the host
// the client asked for, and $1 to $9, what the groups of the service's URL
// rule matched.
type target struct {
	parts []part
	url   *regexp.Regexp // set when a part needs its groups
}

// part is a literal, the host, or a group of the URL rule.
type part struct {
	text  string
	host  bool
	group int // 1 … 9; 0 means none
}

const hostVariable = "${VHOST}"

// newTarget compiles a service's redirect; nil when it has none.
func newTarget(s *farm.Service) (*target, error) {
	if s.Redirect == "" {
		return nil, nil
	}
	t := new(target)
	for rest := s.Redirect; rest != ""; {
		var p part
		p, rest = cutPart(rest)
		t.parts = append(t.parts, p)
		if p.group == 0 || t.url != nil {
			continue
		}
		var err error
		if t.url, err = regexp.Compile(s.URL); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// cutPart takes the first part of a redirect's text.
func cutPart(text string) (p part, rest string) {
	switch {
	case strings.HasPrefix(text, hostVariable):
		return part{host: true}, text[len(hostVariable):]
	case len(text) > 1 && text[0] == '$' && text[1] >= '1' && text[1] <= '9':
		return part{group: int(text[1] - '0')}, text[2:]
	}
	end := strings.IndexByte(text[1:], '$') + 1
	if end == 0 {
		end = len(text)
	}
	return part{text: text[:end]}, text[end:]
}

// appendTo appends the address for a request to the given host and path.
func (t *target) appendTo(dst, host, path []byte) []byte {
	var groups []int
	if t.url != nil {
		groups = t.url.FindSubmatchIndex(path)
	}
	for _, p := range t.parts {
		switch {
		case p.host:
			dst = append(dst, host...)
		case p.group == 0:
			dst = append(dst, p.text...)
		case 2*p.group+1 < len(groups) && groups[2*p.group] >= 0:
			dst = append(dst, path[groups[2*p.group]:groups[2*p.group+1]]...)
		}
	}
	return dst
}
