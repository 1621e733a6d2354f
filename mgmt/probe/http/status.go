package http

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// statuses holds the healthy answers: numbers, ranges of numbers, and parts of the status
// line as in the plugin. If there are none, 200 to 399 is healthy, and the policy for
// redirects applies.
type statuses struct {
	text   string // as written
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

// has reports whether an answer is healthy.
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
