package http

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// statuses are the answers that are healthy: numbers and ranges of them, and pieces of
// the status line, which is what plugins look for. None: 200 to 399, and the policy for redirects counts.
type statuses struct {
	text   string // as it was written
	ranges [][2]int
	pieces []string
}

// readStatuses reads 200,301-308,"HTTP/1.1 204".
func readStatuses(v string) (statuses, error) {
	s := statuses{text: v}
	for item := range strings.SplitSeq(v, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			return s, errors.New("an empty status: write 200, or 200,301-308")
		}
		from, to, isRange := strings.Cut(item, "-")
		low, err := strconv.Atoi(from)
		high := low
		if err == nil && isRange {
			high, err = strconv.Atoi(to)
		}
		switch {
		case err != nil && strings.ContainsAny(item, " /") || !isRange && (err != nil || low < 100 || low > 999):
			s.pieces = append(s.pieces, item)
		case err != nil, low < 100, high > 999, high < low:
			return s, fmt.Errorf("%q is no status: write 200, or 200,301-308", item)
		default:
			s.ranges = append(s.ranges, [2]int{low, high})
		}
	}
	return s, nil
}

func (s *statuses) given() bool { return s.text != "" }

func (s *statuses) String() string {
	if s.given() {
		return s.text
	}
	return "200-399"
}

// has reports whether an answer is one of them.
func (s *statuses) has(code int, line string) bool {
	if !s.given() {
		return code >= 200 && code < 400
	}
	for _, r := range s.ranges {
		if code >= r[0] && code <= r[1] {
			return true
		}
	}
	for _, p := range s.pieces {
		if strings.Contains(line, p) {
			return true
		}
	}
	return false
}
