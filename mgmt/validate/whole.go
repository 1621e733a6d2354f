package validate

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// parted is a number of JSON: sign, digits before and behind the point, exponent.
var parted = regexp.MustCompile(`^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$`)

// maxDigits is how many digits a number has at most that is written out: all that an
// int64 may have.
const maxDigits = 19

// Whole is a number of JSON as its digits alone, when it is a whole one however it is
// written: 5.0, 50e-1 and 0.5E1 are 5. Others are as they came. It moves the point in the
// text, because a float is exact up to 2^53 only.
func Whole(n json.Number) string {
	written := n.String()
	m := parted.FindStringSubmatch(written)
	if m == nil || m[3] == "" && m[4] == "" {
		return written
	}
	digits := strings.TrimLeft(m[2]+m[3], "0")
	kept := strings.TrimRight(digits, "0")
	if kept == "" {
		return "0"
	}
	exponent, err := strconv.ParseInt(cmp.Or(m[4], "0"), 10, 32)
	zeros := exponent + int64(len(digits)-len(kept)-len(m[3])) // behind those that are kept
	if err != nil || zeros < 0 || zeros > int64(maxDigits-len(kept)) {
		return written
	}
	return m[1] + kept + strings.Repeat("0", int(zeros))
}

// isFraction reports whether a value is a number that is not whole.
func isFraction(raw any) bool {
	var text string
	switch v := raw.(type) {
	case float64:
		return true // ParseNumber takes those that are whole
	case json.Number:
		text = Whole(v)
	case string:
		text = v
	}
	m := parted.FindStringSubmatch(text)
	return m != nil && strings.Trim(m[3], "0") != ""
}
