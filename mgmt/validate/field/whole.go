package field

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// parted splits a JSON number into sign, digits before and after the point, and exponent.
var parted = regexp.MustCompile(`^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$`)

// maxDigits is the maximum number of digits written out, that of an int64.
const maxDigits = 19

// Whole returns a JSON number in plain digits if it is an integer in any notation: 5.0,
// 50e-1 and 0.5E1 are 5. Others are returned unchanged. It works on the text, because a
// float is exact only up to 2^53.
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
	zeros := exponent + int64(len(digits)-len(kept)-len(m[3])) // zeros to append
	if err != nil || zeros < 0 || zeros > int64(maxDigits-len(kept)) {
		return written
	}
	return m[1] + kept + strings.Repeat("0", int(zeros))
}

// isFraction reports whether a value is a number but not an integer.
func isFraction(raw any) bool {
	var text string
	switch v := raw.(type) {
	case float64:
		return true // ParseNumber has accepted the integral ones
	case json.Number:
		text = Whole(v)
	case string:
		text = v
	}
	m := parted.FindStringSubmatch(text)
	return m != nil && strings.Trim(m[3], "0") != ""
}
