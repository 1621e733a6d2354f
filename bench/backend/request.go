package backend

import (
	"bytes"
	"errors"
	"strconv"
)

// request holds the required parts of a request head.
type request struct {
	path []byte // valid as long as the head
	body int    // bytes of body that follow
	last bool   // close the connection after the response
}

var (
	errHead    = errors.New("request line is not METHOD SP TARGET SP VERSION")
	errChunked = errors.New("chunked request bodies are not supported")
	errLength  = errors.New("content-length is not a number")
)

// parse parses a complete head, including its empty line.
func parse(head []byte) (request, error) {
	var r request
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	_, target, ok := bytes.Cut(line, []byte(" "))
	end := bytes.LastIndexByte(target, ' ')
	if !ok || end < 0 {
		return r, errHead
	}
	r.path = target[:end]
	r.last = bytes.HasSuffix(target, []byte("/1.0"))
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		// Only names that begin with c or t matter; most lines end here.
		if len(line) == 0 || line[0]|0x20 != 'c' && line[0]|0x20 != 't' {
			continue
		}
		if err := r.field(line); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *request) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("content-length")):
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 0 {
			return errLength
		}
		r.body = n
	case bytes.EqualFold(name, []byte("transfer-encoding")):
		return errChunked
	case bytes.EqualFold(name, []byte("connection")):
		if bytes.EqualFold(value, []byte("close")) {
			r.last = true
		} else if bytes.EqualFold(value, []byte("keep-alive")) {
			r.last = false
		}
	}
	return nil
}
