package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/l7/compress"
)

// mayEncode reports whether the answer to a request may have another coding,
// as far as its status tells. Parts of a representation (206) are of the one
// that was asked for, and 304 is about the one that is stored.
func mayEncode(status int) bool {
	switch status {
	case 204, 205, 206, 226:
		return false
	}
	return status < 300 || status >= 400
}

// lists reports whether a comma list has the given word, in lower case. Within
// a quoted string it may find one that is none, which does no harm here.
func lists(v []byte, word string) bool {
	for len(v) > 0 {
		element := v
		if i := bytes.IndexByte(v, ','); i >= 0 {
			element, v = v[:i], v[i+1:]
		} else {
			v = nil
		}
		if compress.Is(bytes.Trim(element, " \t"), word) {
			return true
		}
	}
	return false
}
