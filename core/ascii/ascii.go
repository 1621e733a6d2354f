// Package ascii compares and converts text in which only ASCII letters have a case, such as
// host names and HTTP field names.
package ascii

// Lower returns c in lower case.
func Lower(c byte) byte {
	if c-'A' < 26 {
		return c | 0x20
	}
	return c
}

// EqualFold reports whether a and b are equal if case is ignored.
func EqualFold[T []byte | string](a []byte, b T) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		if Lower(c) != Lower(b[i]) {
			return false
		}
	}
	return true
}

// Is reports whether b equals a word in lower case if the case of b is ignored.
func Is(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if Lower(c) != word[i] {
			return false
		}
	}
	return true
}

// AppendLower appends b in lower case.
func AppendLower(dst, b []byte) []byte {
	for _, c := range b {
		dst = append(dst, Lower(c))
	}
	return dst
}
