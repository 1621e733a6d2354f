package load

import (
	"bytes"
	"errors"
	"strconv"
)

// Errors counted in a Result.
var (
	errStatus  = errors.New("status is not 200")
	errFraming = errors.New("response has no usable content-length")
	errLength  = errors.New("body has another length than expected")
	errExtra   = errors.New("bytes after the end of the response")
	errHead    = errors.New("response head is too long")
	errEarly   = errors.New("connection ended before the response was complete")
	errReset   = errors.New("connection was reset")
	errConnect = errors.New("connection was refused")
	errLate    = errors.New("no answer in time")
	// errRequired and errNoCookie mean that the contestant lacks the measured feature.
	errRequired = errors.New("response lacks the field it must have")
	errNoCookie = errors.New("response sets no cookie of the expected name")
)

// framer finds the end of a response head and the length of the body.
//
// A proxy repeats the same head (only a date may change once a second). The last head is
// therefore stored and compared, which costs a tenth of parsing.
type framer struct {
	head    []byte // the last head seen, complete
	body    int    // the content length it declared
	require []byte // a field line every head must have; empty: none
}

func newFramer(require string) framer { return framer{require: []byte(require)} }

// frame returns the lengths of the head at the start of b and of its body. complete is
// false if b ends within the head.
func (f *framer) frame(b []byte) (head, body int, complete bool, err error) {
	if len(f.head) > 0 && bytes.HasPrefix(b, f.head) {
		return len(f.head), f.body, true, nil
	}
	return f.frameSlow(b)
}

func (f *framer) frameSlow(b []byte) (head, body int, complete bool, err error) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return 0, 0, false, nil
	}
	line, rest, _ := bytes.Cut(b[:end+2], []byte("\r\n"))
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
		return 0, 0, false, errStatus
	}
	body = -1
	found := len(f.require) == 0
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		found = found || bytes.EqualFold(line, f.require)
		name, value, _ := bytes.Cut(line, []byte(":"))
		if !bytes.EqualFold(name, []byte("content-length")) {
			continue
		}
		n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
		if err != nil || n < 0 || body >= 0 {
			return 0, 0, false, errFraming
		}
		body = n
	}
	if body < 0 {
		return 0, 0, false, errFraming
	}
	if !found {
		return 0, 0, false, errRequired
	}
	f.head, f.body = append(f.head[:0], b[:end+4]...), body
	return end + 4, body, true, nil
}
