package rest

import (
	"strconv"
	"strings"
	"time"
)

// ParseBack parses an age of at most a year: a duration or a number of days, e.g. 7d. An
// empty text is one hour.
func ParseBack(text string) (time.Duration, bool) {
	const day = 24 * time.Hour
	if text == "" {
		return time.Hour, true
	}
	var back time.Duration
	if days, is := strings.CutSuffix(text, "d"); is {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, false
		}
		back = time.Duration(n) * day
	} else {
		var err error
		if back, err = time.ParseDuration(text); err != nil {
			return 0, false
		}
	}
	return back, back > 0 && back <= 366*day
}
